// A CUDA runtime without a GPU. "Device" memory is host memory, everything is done at once, and
// kernels are not run at all: emulation.py replaces them. What the files here do not define,
// build.py adds as functions that return success.
#pragma once
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <driver_types.h>
#include <stdio.h>

#define MAX_DEVICES 16

extern __thread int current_device;

int num_devices(void);         // device.c
size_t device_bytes(void);     // memory.c: of each device
int is_capturing(cudaStream_t stream);  // streams.c

// Whoever observes the runtime learns of these, outside of captures. It is called for those that the
// host may wait in, and answers other than 0 where it does a copy or a fill itself, later. Events are
// kept in a journal for it: allocators record and query them while they hold locks, and who holds
// these must not wait for Python.
enum {
  RECORDED, AWAITED, EVENT_DESTROYED,  // in the journal
  EVENT_SYNCHRONIZED, STREAM_SYNCHRONIZED, DEVICE_SYNCHRONIZED, COPIED, FILLED, FREED,
};
typedef int (*observer_t)(int what, const void *a, const void *b, size_t size, const void *stream);
int observed(int what, const void *a, const void *b, size_t size, cudaStream_t stream);  // streams.c
