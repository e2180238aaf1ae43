"""Tangents of functions of many variables are bounds that touch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import TooLarge
from sepset.inference.buckets.bounded import Bounded
from support.tolerances import CLOSE

VS, ON = [ss.Discrete(f"c{i}") for i in range(4)], ss.Discrete("y")


def bounded(cpd):
    return Bounded(ON, 1, cpd.concave({ON: 1}), tuple(range(4)))


@pytest.mark.parametrize(
    "cpd",
    [
        ss.NoisyOr(ON, dict(zip(VS, [0.2, 0.5, 0.9, 0.99], strict=True)), leak=0.05),
        ss.LogisticCPD(ON, dict(zip(VS, [0.2, -1.5, 2.0, 1.0], strict=True)), bias=-1.0),
    ],
    ids=["noisy-or", "logistic"],
)
def test_a_tangent_is_above_and_touches(cpd):
    one = bounded(cpd)
    for codes in itertools.product(range(2), repeat=4):
        at = one.inside(one.sums(dict(enumerate(codes))), {})
        part, scale = one.tangent(at, {})
        for other in itertools.product(range(2), repeat=4):
            row = dict(zip(VS, np.array(other)[:, None], strict=True))
            own = cpd.log_probability({**row, ON: np.array([1])})[0]
            bound = scale + sum(np.log(f.values[row[f.scope[0]][0]]) for f in part.factors[1:])
            sums = one.sums(dict(enumerate(other)))
            np.testing.assert_allclose(bound - own, one.above(sums, at), atol=CLOSE)
            assert bound >= own - CLOSE
            if other == codes:
                np.testing.assert_allclose(bound, own, rtol=CLOSE)
    assert np.isfinite(one.middle).all()


def test_contributions_beyond_the_range_of_numbers_are_refused():
    one = bounded(ss.LogisticCPD(ON, dict.fromkeys(VS, 2000.0)))
    with pytest.raises(TooLarge, match="Observe c0"):
        one.tangent(np.array([500.0]), {})
