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
