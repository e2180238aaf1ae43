"""Chains of CPDs along a line: the factors run through the parents in its order, and multiply out to the same table."""

from __future__ import annotations

from functools import reduce
from operator import mul

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.jointstates import Undivided
from sepset.factors.lines import BY_NAME, Line
from sepset.inference.method import dense
from sepset.semiring import MAX, SUM
from support.tolerances import CLOSE

PARENTS = [ss.Discrete(name, k) for name, k in zip("abcdefghij", (2, 2, 3, *[2] * 7), strict=True)]
GRADED = {p: [[1.0, 0.0, 0.0]] * (p.num_states - 1) + [[0.5, 0.3, 0.2]] for p in PARENTS}
CPDS = [
    ss.NoisyOr(ss.Discrete("x"), dict.fromkeys(PARENTS, 0.3), leak=0.1),
    ss.NoisyMax(ss.Discrete("x", 3), GRADED, leak=[0.8, 0.1, 0.1]),
    ss.LogisticCPD(ss.Discrete("x"), {p: np.arange(p.num_states) * 0.5 for p in PARENTS}, bias=-1.0),
]
LINE = Line({name: i for i, name in enumerate("hcajgbfdie")})


def multiplied(parts, scope):
    product = reduce(mul, parts.filled)
    return dense(product.marginalize(list(parts.auxiliaries))).align(scope).values


def order_of(parts):
    """The parents in the order of the factors."""
    return "".join(next(v.name for v in f.scope if v in PARENTS) for f in parts.factors)


@pytest.mark.parametrize("cpd", CPDS, ids=lambda cpd: type(cpd).__name__)
def test_factors_follow_the_line_and_multiply_out(cpd):
    lined = cpd.along(LINE)
    assert order_of(cpd.decomposition()) == "abcdefghij"
    assert order_of(lined.decomposition()) == "hcajgbfdie"
    for semiring in (SUM, MAX):
        parts = lined.decomposed({}, semiring)
        assert order_of(parts) == "hcajgbfdie"
        np.testing.assert_allclose(multiplied(parts, cpd.scope), cpd.to_table().values, atol=CLOSE)
    seen = lined.decomposed({PARENTS[2]: 1, PARENTS[7]: 0}, SUM)
    assert order_of(seen) == "ajgbfdie"


@pytest.mark.parametrize("cpd", CPDS, ids=lambda cpd: type(cpd).__name__)
def test_a_cpd_keeps_its_line_also_with_other_parameters(cpd):
    lined = cpd.along(LINE)
    assert not cpd.line
    assert lined.along(Line({"a": 0})).line is LINE
    made = lined.parameters.random(np.random.default_rng(0))
    assert made.line is LINE
    assert cpd.parameters.random(np.random.default_rng(0)).line is BY_NAME
    assert lined.size == sum(dense(f).size for f in lined.decomposition().filled)


def test_one_factor_with_evidence_has_the_line_of_its_cpd():
    whole = Undivided(CPDS[2])
    assert whole.along(LINE).cpd.line is LINE
    assert Undivided(CPDS[2].along(LINE)).along(Line({"a": 0})).cpd.line is LINE
    table = Undivided(ss.TableCPD(PARENTS[0], [0.5, 0.5]))
    assert table.along(LINE) is table
