"""Methods: frozen values that answer questions about problems and say how far the answers can be trusted. The modules
here are the contracts that all rooms share: methods, plans, results, the driver of iterative methods and its
checkpoints.
"""
