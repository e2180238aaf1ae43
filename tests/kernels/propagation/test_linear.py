"""Messages as numbers: sums of equal states without cancellation."""

import numpy as np
import pytest

from sepset.kernels.propagation.linear import spread


@pytest.mark.parametrize("gain", [0.0, 1e-200, 0.3, 1.0, 5.0, 1e100])
def test_messages_of_equal_states_keep_their_digits(gain):
    h = np.array([1e-30, 1.0, 3e-30, 2e-25])
    out = np.empty(4)
    spread(h, gain, h.sum(), out)
    expected = np.array([gain * h[y] + sum(h[x] for x in range(4) if x != y) for y in range(4)])
    assert out == pytest.approx(expected / expected.sum(), rel=1e-13)
