"""How good a model is: losses, validation, calibration, divergences, resampling and goodness of fit."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
