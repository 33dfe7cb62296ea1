// Device memory and pinned memory, both of the host, counted against the size of a device.
#include "null_runtime.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 65536

static struct block {
  char *start;
  size_t size;
  int type, device;
} blocks[MAX_BLOCKS];
static int num_blocks = 0;
static size_t allocated[MAX_DEVICES], pinned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

size_t device_bytes(void) {
  const char *text = getenv("NULL_GPU_BYTES");
  return text ? strtoull(text, 0, 10) : 8ull << 30;
}

// How much memory can be pinned.
static size_t pinned_limit(void) {
  const char *text = getenv("NULL_GPU_PINNED_BYTES");
  return text ? strtoull(text, 0, 10) : (size_t)-1;
}

static cudaError_t allocate(void **place, size_t size, int type) {
  *place = 0;
  size_t alignment = type == cudaMemoryTypeDevice ? 512 : 4096;
  size_t rounded = (size + alignment - 1) / alignment * alignment;
  pthread_mutex_lock(&lock);
  int on_device = type == cudaMemoryTypeDevice;
  size_t *used = on_device ? &allocated[current_device] : &pinned;
  int fits = *used + size <= (on_device ? device_bytes() : pinned_limit());
  int i = 0;
  while (i < num_blocks && blocks[i].start) i++;
  char *start = fits && i < MAX_BLOCKS ? aligned_alloc(alignment, rounded) : 0;
  if (start) {
    blocks[i] = (struct block){start, size, type, current_device};
    if (i == num_blocks) num_blocks++;
    *used += size;
  }
  pthread_mutex_unlock(&lock);
  if (!start) return cudaErrorMemoryAllocation;
  memset(start, 0xff, size);  // NaN, for all who read too early
  *place = start;
  return cudaSuccess;
}

static cudaError_t release(void *place) {
  if (place) observed(FREED, place, 0, 0, 0);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < num_blocks; i++)
    if (place && blocks[i].start == place) {
      *(blocks[i].type == cudaMemoryTypeDevice ? &allocated[blocks[i].device] : &pinned) -= blocks[i].size;
      blocks[i].start = 0;
      free(place);
      break;
    }
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **place, size_t size) {
  return allocate(place, size, cudaMemoryTypeDevice);
}

cudaError_t cudaFree(void *place) { return release(place); }

cudaError_t cudaHostAlloc(void **place, size_t size, unsigned flags) {
  return allocate(place, size, cudaMemoryTypeHost);
}

cudaError_t cudaFreeHost(void *place) { return release(place); }

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  *total = device_bytes();
  *free_bytes = *total - allocated[current_device];
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *place) {
  memset(attributes, 0, sizeof *attributes);
  attributes->type = cudaMemoryTypeUnregistered;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < num_blocks; i++) {
    struct block *b = &blocks[i];
    if (b->start && (char *)place >= b->start && (char *)place < b->start + b->size) {
      attributes->type = b->type;
      attributes->device = b->device;
      attributes->devicePointer = (void *)place;
      attributes->hostPointer = b->type == cudaMemoryTypeHost ? (void *)place : 0;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}

// The allocation that an address lies in: what type of memory it is, or 0.
int null_gpu_block_of(char *place, char **start, size_t *size) {
  int type = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < num_blocks && !type; i++) {
    struct block *b = &blocks[i];
    if (b->start && place >= b->start && place < b->start + b->size) {
      type = b->type;
      *start = b->start;
      *size = b->size;
    }
  }
  pthread_mutex_unlock(&lock);
  return type;
}

// Copies and fills. During a capture they do nothing: emulation.py records and replays them.
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  observed(DEVICE_SYNCHRONIZED, 0, 0, 0, 0);
  memmove(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (is_capturing(stream) || observed(COPIED, to, from, size, stream)) return cudaSuccess;
  memmove(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
  for (size_t row = 0; row < height; row++)
    cudaMemcpyAsync((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind,
                    stream);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *place, int value, size_t size) {
  memset(place, value, size);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *place, int value, size_t size, cudaStream_t stream) {
  if (is_capturing(stream) || observed(FILLED, place, (void *)(size_t)(value & 255), size, stream))
    return cudaSuccess;
  memset(place, value, size);
  return cudaSuccess;
}
