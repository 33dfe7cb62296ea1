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

// Whoever observes the runtime learns of these, outside of captures. It may answer other than 0: that an
// event or a stream has work left to do, or that it does a copy itself, later.
enum {
  RECORDED, AWAITED, EVENT_SYNCHRONIZED, STREAM_SYNCHRONIZED, DEVICE_SYNCHRONIZED, EVENT_QUERIED,
  STREAM_QUERIED, COPIED, FILLED, FREED, EVENT_DESTROYED,
};
typedef int (*observer_t)(int what, const void *a, const void *b, size_t size, const void *stream);
extern observer_t observer;  // streams.c
int observed(int what, const void *a, const void *b, size_t size, cudaStream_t stream);
