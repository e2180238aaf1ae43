"""The parameters of each form of CPD: their slopes against differences of tables, their names and their moves."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.numbers import numbers
from sepset.learning.missing.blockparameters import Cells, Contributions, Weights, block_parameters
from support.every_form import A, B, X, all_forms, discrete_forms

FORMS = sorted(discrete_forms(np.random.default_rng(0)))


def flat(cpd):
    return cpd.to_table().values.reshape(-1)


def overlapping(p=0.2, q=0.3):
    """Rules that stand in several sums to one: x=0 is shared by two contexts of a whose other states differ."""
    x = ss.Discrete("x", 3)
    first = [({x: 0}, p), ({A: 0, x: 1}, q), ({A: 0, x: 2}, 1 - p - q)]
    return ss.RuleCPD(x, [*first, ({A: 1, x: 1}, 0.5 * (1 - p)), ({A: 1, x: 2}, 0.5 * (1 - p))])


@pytest.mark.parametrize("form", [*FORMS, "overlapping"])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_differences_of_tables(form, seed):
    rng = np.random.default_rng(seed)
    cpd = overlapping() if form == "overlapping" else discrete_forms(rng)[form]
    block = block_parameters([cpd])
    weights = rng.normal(size=flat(cpd).size)
    slope = block.slope(0, weights)
    assert len(slope) == cpd.num_parameters == len(block.values) == len(set(block.names()))
    for i in range(len(slope)):
        step = 1e-6 * np.eye(len(slope))[i]
        ends = [weights @ flat(block.moved(sign * step)[0]) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


@pytest.mark.parametrize("form", [*FORMS, "overlapping"])
def test_random_parameters_stay_within_the_form(form):
    rng = np.random.default_rng(1)
    cpd = overlapping() if form == "overlapping" else discrete_forms(rng)[form]
    block = block_parameters([cpd])
    made = block.random(rng)[0]
    assert type(made) is type(cpd)
    assert made.num_parameters == cpd.num_parameters
    assert not np.allclose(flat(made), flat(cpd))
    assert flat(made).reshape(-1, cpd.child.num_states).sum(axis=1) == pytest.approx(1.0)
    assert flat(made).min() > 0
    same = block.moved(np.zeros(len(block.values)))[0]
    assert flat(same) == pytest.approx(flat(cpd), abs=1e-15)


def test_zeros_that_mean_something_are_no_parameters():
    a, x = ss.Discrete("a", 3), ss.Discrete("x", ("none", "some", "much"))
    noisy = ss.NoisyMax(x, {a: [[1, 0, 0], [0.5, 0.25, 0.25], [0.2, 0.3, 0.5]]})
    block = block_parameters([noisy])
    assert isinstance(block, Contributions)
    assert block.names() == [f"P(x={s!r} by a={u})" for u in (1, 2) for s in ("some", "much")]
    assert block.values.tolist() == [0.25, 0.25, 0.3, 0.5]
    assert block.random(np.random.default_rng(0))[0].effects[a][0].tolist() == [1, 0, 0]


def test_weights_are_told_apart_from_first_states():
    x = ss.Discrete("x", 3)
    rng = np.random.default_rng(0)
    weights = {A: rng.normal(size=(2, 3)), B: rng.normal(size=(2, 3))}
    cpd = ss.LogisticCPD(x, weights, bias=rng.normal(size=3))
    block = block_parameters([cpd])
    assert isinstance(block, Weights)
    assert block.names()[:3] == ["bias for x=1", "bias for x=2", "weight of a=1 for x=1"]
    table = cpd.to_table().values
    odds = np.log(table / table[..., :1])
    expected = [*odds[0, 0, 1:], *(odds[1, 0] - odds[0, 0])[1:], *(odds[0, 1] - odds[0, 0])[1:]]
    assert block.values == pytest.approx(expected, abs=1e-12)


def test_names_of_cells_and_rules():
    cell = block_parameters([discrete_forms(np.random.default_rng(0))["tree"]])
    assert isinstance(cell, Cells)
    assert cell.names() == ["P(x=0 | a=0)", "P(x=0 | a=1, b=0)", "P(x=0 | a=1, b=1)"]
    shared = block_parameters([overlapping()])
    assert len(shared.values) == 3
    assert all(name.startswith("P(x by the rule ") for name in shared.names())
    assert shared.moved(np.full(3, 5.0)) is None


def test_functions_have_none_and_lines_are_refused():
    forms = all_forms(np.random.default_rng(0))
    assert block_parameters([forms["function"]]) is None
    assert block_parameters([forms["multiplexer"]]) is None
    assert numbers(forms["function"]) == ()
    with pytest.raises(ss.NotApplicable, match="free parameters"):
        block_parameters([forms["line"]])


def test_tied_cpds_move_together():
    rng = np.random.default_rng(2)
    first = ss.NoisyOr(X, {A: 0.3, B: 0.6}, leak=0.1, block="noise")
    second = ss.NoisyOr(ss.Discrete("y"), {A: 0.3, B: 0.6}, leak=0.1, block="noise")
    block = block_parameters([first, second])
    moved = block.moved(np.array([0.1, 0.2, -0.1]))
    assert [c.child.name for c in moved] == ["x", "y"]
    assert flat(moved[0]).tolist() == flat(moved[1]).tolist()
    assert moved[1].leak == pytest.approx(0.2)
    drawn = block.random(rng)
    assert flat(drawn[0]).tolist() == flat(drawn[1]).tolist()
