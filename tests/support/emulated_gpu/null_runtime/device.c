// How many devices there are, and what each says of itself.
#include "null_runtime.h"
#include <stdlib.h>
#include <string.h>

__thread int current_device = 0;

int num_devices(void) {
  const char *text = getenv("NULL_GPUS");
  int count = text ? atoi(text) : 1;
  return count < 1 ? 1 : count > MAX_DEVICES ? MAX_DEVICES : count;
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = num_devices();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= num_devices()) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}

// The sizes are an H100's, but for the memory: nothing here is fast enough to fill more.
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "null GPU");
  properties->totalGlobalMem = device_bytes();
  properties->major = 9;
  properties->multiProcessorCount = 132;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->sharedMemPerBlock = 49152;
  properties->sharedMemPerBlockOptin = 232448;
  properties->regsPerBlock = 65536;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->l2CacheSize = 50 << 20;
  properties->memoryBusWidth = 5120;
  properties->textureAlignment = 512;
  properties->uuid.bytes[0] = (char)device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMultiProcessorCount: *value = 132; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    default: *value = 1;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
  snprintf(text, length, "0000:%02x:00.0", device);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int block_size, size_t shared_bytes, unsigned flags) {
  *blocks = 2;
  return cudaSuccess;
}

// The error of a launch is kept until it is asked for: PyTorch asks after each launch and ignores
// what the launch itself returns. All other errors are returned alone.
static __thread cudaError_t last_error = cudaSuccess;

cudaError_t cudaPeekAtLastError(void) { return last_error; }

cudaError_t cudaGetLastError(void) {
  cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char *cudaGetErrorName(cudaError_t error) { return "an error of the null runtime"; }

const char *cudaGetErrorString(cudaError_t error) {
  switch ((int)error) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNotSupported: return "a kernel was launched that the emulation does not replace";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureUnjoined: return "a stream of the capture was not joined to its first";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    default: return "an error of the null runtime";
  }
}

// Kernels are replaced, one operation of PyTorch at a time. One that is launched all the same would
// leave its results unwritten.
static long num_launches = 0;

static cudaError_t launched(void) {
  __sync_fetch_and_add(&num_launches, 1);
  return last_error = cudaErrorNotSupported;
}

// How many there were since the last call.
long null_gpu_take_launches(void) { return __sync_lock_test_and_set(&num_launches, 0); }

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launched();
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return launched();
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launched();
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                void **arguments) {
  return launched();
}

// What the compiler puts into every library with kernels.
void **__cudaRegisterFatBinary(void *binary) {
  static void *handle;
  return &handle;
}

char __cudaInitModule(void **module) { return 1; }
