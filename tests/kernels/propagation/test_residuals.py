"""A heap of factors by the change of their messages."""

import numpy as np

from sepset.kernels.propagation.residuals import sift


def test_the_largest_key_is_first_after_any_change():
    rng = np.random.default_rng(0)
    keys, heap, places = np.zeros(17), np.arange(17), np.arange(17)
    for _ in range(300):
        f = int(rng.integers(17))
        keys[f] = rng.integers(0, 9)
        sift(heap, places, keys, places[f])
        assert keys[heap[0]] == keys.max()
        assert heap[places].tolist() == list(range(17))
