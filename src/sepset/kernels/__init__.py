"""Every compiled function. Kernels trust their arguments: callers validate."""
