"""How good a model is: losses, validation and splits, resampling, calibration, goodness of fit, learning curves, bias
and variance.
"""
