// A CUDA driver without a GPU; build.py adds all else that PyTorch asks for by name.
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}

int cuCtxGetCurrent(void **context) {
  *context = (void *)1;
  return 0;
}

int cuGetErrorString(int error, const char **text) {
  *text = "an error of the null driver";
  return 0;
}

// A kernel that is launched by way of the driver is none of those that are replaced.
int cuLaunchKernel(void) { return 801; }  // CUDA_ERROR_NOT_SUPPORTED
int cuLaunchKernelEx(void) { return 801; }
int cuLaunchCooperativeKernel(void) { return 801; }
