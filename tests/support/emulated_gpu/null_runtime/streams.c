// Streams, events and captures. All work is done when it is given, so an event has happened once it
// is recorded, unless an observer keeps queues of its own. Captures follow CUDA's rules: a stream joins one by waiting for an event of it, must
// be waited for again before it ends, and the host must not wait meanwhile.
#include "null_runtime.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct stream {
  unsigned long long capture;  // the number of the capture it is part of, or 0
  int is_unjoined;             // its work has yet to be waited for by the capture's first stream
  struct stream *next;
};

struct event {
  struct timespec at;
  unsigned long long capture;
  struct stream *stream;
  size_t is_pending;  // the number of the record that an observer has yet to reach
};

static struct stream *streams = 0;
static unsigned long long num_captures = 0;
static int num_open = 0;  // captures under way
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Streams 0, 1 and 2 are the default ones, which no capture can begin on.
static struct stream *known(cudaStream_t stream) {
  return (size_t)stream > 2 ? (struct stream *)stream : 0;
}

int is_capturing(cudaStream_t stream) { return known(stream) && known(stream)->capture; }

static observer_t observer = 0;
static int is_late = 0;  // whether work is done by the observer, later

struct entry {
  int what;
  struct event *event;
  const void *stream;
  size_t number;  // of the record
};

static struct entry *journal = 0;
static size_t num_entries = 0, num_taken = 0, room = 0, num_records = 0;

void null_gpu_observe(observer_t given, int late) {
  observer = given;
  is_late = given && late;
  num_entries = num_taken = 0;
}

int observed(int what, const void *a, const void *b, size_t size, cudaStream_t stream) {
  return observer ? observer(what, a, b, size, stream) : 0;
}

static void note(int what, struct event *event, const void *stream) {
  if (!observer) return;
  pthread_mutex_lock(&lock);
  if (num_entries == room) journal = realloc(journal, (room = 2 * room + 64) * sizeof *journal);
  if (what == RECORDED) event->is_pending = is_late ? ++num_records : 0;
  journal[num_entries++] = (struct entry){what, event, stream, event->is_pending};
  pthread_mutex_unlock(&lock);
}

// The next entry of the journal; 0 where there is none.
int null_gpu_next_entry(struct entry *entry) {
  pthread_mutex_lock(&lock);
  int is_there = num_taken < num_entries;
  if (is_there)
    *entry = journal[num_taken++];
  else
    num_entries = num_taken = 0;
  pthread_mutex_unlock(&lock);
  return is_there;
}

// The observer has done all work before that record of an event.
void null_gpu_is_over(struct event *event, size_t number) {
  if (event->is_pending == number) event->is_pending = 0;
}

static cudaError_t waits(int is_forbidden) {
  return is_forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  struct stream *made = calloc(1, sizeof *made);
  pthread_mutex_lock(&lock);
  made->next = streams;
  streams = made;
  pthread_mutex_unlock(&lock);
  *stream = (cudaStream_t)made;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return cudaStreamCreateWithPriority(stream, 0, 0);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
  *priority = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  int is_forbidden = known(stream) ? is_capturing(stream) : num_open;
  if (!is_forbidden) observed(STREAM_SYNCHRONIZED, 0, 0, 0, stream);
  return waits(is_forbidden);
}

cudaError_t cudaDeviceSynchronize(void) {
  if (!num_open) observed(DEVICE_SYNCHRONIZED, 0, 0, 0, 0);
  return waits(num_open);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (is_capturing(stream)) return waits(1);
  return is_late ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  *event = calloc(1, sizeof(struct event));
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  note(EVENT_DESTROYED, (struct event *)event, 0);
  if (!observer) free(event);  // else the journal has it
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t recorded, cudaStream_t stream, unsigned flags) {
  struct event *event = (struct event *)recorded;
  clock_gettime(CLOCK_MONOTONIC, &event->at);
  event->stream = known(stream);
  event->capture = event->stream ? event->stream->capture : 0;
  if (!event->capture) note(RECORDED, event, stream);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

// Whether an event belongs to a capture that is still under way.
static int is_of_capture(struct event *event) {
  return event->capture && event->stream && event->stream->capture == event->capture;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (is_of_capture((struct event *)event)) return waits(1);
  return ((struct event *)event)->is_pending ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  int is_forbidden = is_of_capture((struct event *)event);
  if (!is_forbidden) observed(EVENT_SYNCHRONIZED, event, 0, 0, 0);
  return waits(is_forbidden);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  struct timespec *a = &((struct event *)start)->at, *b = &((struct event *)end)->at;
  *milliseconds = (b->tv_sec - a->tv_sec) * 1e3 + (b->tv_nsec - a->tv_nsec) / 1e6;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t waiting, cudaEvent_t awaited, unsigned flags) {
  struct stream *stream = known(waiting);
  struct event *event = (struct event *)awaited;
  int is_of = is_of_capture(event);
  if (stream && stream->capture && !is_of && event->stream)
    return cudaErrorStreamCaptureIsolation;
  if (!is_of) {
    note(AWAITED, event, waiting);
    return cudaSuccess;
  }
  if (!stream) return cudaErrorStreamCaptureUnsupported;
  if (!stream->capture) {
    stream->capture = event->capture;
    stream->is_unjoined = 1;
  }
  if (event->stream != stream) event->stream->is_unjoined = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t begun, enum cudaStreamCaptureMode mode) {
  struct stream *stream = known(begun);
  if (!stream || stream->capture) return cudaErrorStreamCaptureUnsupported;
  stream->capture = ++num_captures;
  stream->is_unjoined = 0;
  num_open++;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t ended, cudaGraph_t *graph) {
  unsigned long long capture = known(ended) ? known(ended)->capture : 0;
  if (!capture) return cudaErrorIllegalState;
  int is_unjoined = 0;
  pthread_mutex_lock(&lock);
  for (struct stream *stream = streams; stream; stream = stream->next)
    if (stream->capture == capture) {
      stream->capture = 0;
      is_unjoined |= stream != known(ended) && stream->is_unjoined;
    }
  pthread_mutex_unlock(&lock);
  num_open--;
  *graph = calloc(1, 64);
  return is_unjoined ? cudaErrorStreamCaptureUnjoined : cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  *status = is_capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *capture, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *num_dependencies) {
  cudaStreamIsCapturing(stream, status);
  if (capture) *capture = is_capturing(stream) ? known(stream)->capture : 0;
  if (graph) *graph = (cudaGraph_t)1;
  if (num_dependencies) *num_dependencies = 0;
  return cudaSuccess;
}

// A graph is what emulation.py recorded; here it has one node, so that nobody calls it empty.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *instance, cudaGraph_t graph,
                                          unsigned long long flags) {
  *instance = calloc(1, 64);
  return cudaSuccess;
}
