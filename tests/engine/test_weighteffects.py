"""Derivatives in the weights of logistic CPDs against difference quotients in decimal numbers."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext

import pytest

import sepset as ss
from sepset.engine import weighteffects

NAMES = "bias for y=1", "weight of a=1 for y=1", "weight of b=1 for y=1"
A, B, Y = ss.Discrete("a"), ss.Discrete("b"), ss.Discrete("y")


def net(bias, weights):
    cpd = ss.LogisticCPD(Y, dict(zip((A, B), weights, strict=True)), bias=bias)
    return ss.BayesNet(ss.TableCPD(A, [0.625, 0.375]), ss.TableCPD(B, [0.75, 0.25]), cpd)


def posterior(bias, weights):
    """P(a = 1 | y = 1)."""
    part = whole = Decimal(0)
    for a, b in itertools.product((0, 1), repeat=2):
        sizes = [Decimal(x) for x in ("0.625", "0.375")], [Decimal(x) for x in ("0.75", "0.25")]
        score = bias + a * weights[0] + b * weights[1]
        weight = sizes[0][a] * sizes[1][b] / (1 + (-score).exp())
        whole += weight
        part += a * weight
    return part / whole


def derivatives(bias, weights):
    """Symmetric difference quotients with 80 digits."""
    with localcontext() as context:
        context.prec, step = 80, Decimal(10) ** -25
        numbers = [Decimal(bias), *map(Decimal, weights)]
        found = []
        for i in range(3):
            ends = []
            for sign in (1, -1):
                moved = [x + sign * step if j == i else x for j, x in enumerate(numbers)]
                ends.append(posterior(moved[0], moved[1:]))
            found.append(float((ends[0] - ends[1]) / (2 * step)))
        return found


@pytest.mark.parametrize("bias", [-1.0, 5.0, 20.0, 32.0])
@pytest.mark.parametrize("is_tabled", [True, False])
def test_derivatives_have_the_digits_they_claim(monkeypatch, bias, is_tabled):
    """With a large bias the finding is nearly certain, and what weights change is a difference of what cancels."""
    monkeypatch.setattr(weighteffects, "MOST_TABLED", 2**22 if is_tabled else 0)
    weights = [0.5, -0.25]
    found = ss.sensitivity(net(bias, weights), "a", state=1, given={"y": 1})
    claimed = max(1e-9, found.info.get("relative_error", 0.0))
    assert ("derivatives" in found.guarantees) == ("relative_error" in found.info)
    right = dict(zip(NAMES, derivatives(bias, weights), strict=True))
    assert len(found.of("y")) == 3
    for one in found:
        if one.child == "y":
            assert one.derivative == pytest.approx(right[one.name], rel=claimed), one.name
