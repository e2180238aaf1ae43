"""All compiled functions, in folders that mirror their callers. Kernels do not check their arguments: callers do."""
