"""A model with a prepared method: the only place where models meet methods. Questions about one set of findings,
calibrated views, predictions of whole frames, sensitivity, value of information, and checks of its invariants.
"""
