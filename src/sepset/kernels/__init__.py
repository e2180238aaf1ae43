"""Every compiled function, in rooms that mirror their users. Kernels trust their arguments: callers validate."""
