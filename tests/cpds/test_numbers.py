"""The numbers of a CPD can be taken out and put back, to the bit, and only numbers that fit."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.numbers import numbers, with_numbers
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.variables.variable import Real
from support.every_form import A, B, X, all_forms

NAMES = sorted(all_forms(np.random.default_rng(0)))


def cells(cpd, rng):
    """Log probabilities of random rows."""
    columns = {v: rng.integers(v.num_states, size=20) if v.is_discrete else rng.normal(size=20) for v in cpd.scope}
    return cpd.log_probability(columns)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_move_from_one_cpd_to_another(name):
    one, other = (all_forms(np.random.default_rng(seed))[name] for seed in (1, 2))
    made = with_numbers(other, [a.copy() for a in numbers(one)])
    assert type(made) is type(one)
    assert made.block == other.block
    assert [a.tobytes() for a in numbers(made)] == [a.tobytes() for a in numbers(one)]
    assert not any(a.flags.writeable for a in numbers(made))
    left, right = (cells(cpd, np.random.default_rng(3)) for cpd in (made, one))
    assert left.tobytes() == right.tobytes()
    if numbers(one):
        assert cells(other, np.random.default_rng(3)).tobytes() != right.tobytes()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("function", "multiplexer")])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(name, bad):
    cpd = all_forms(np.random.default_rng(1))[name]
    arrays = [a.copy() for a in numbers(cpd)]
    arrays[-1].reshape(-1)[0] = bad
    with pytest.raises(ModelError, match="finite"):
        with_numbers(cpd, arrays)


@pytest.mark.parametrize("name", ["table", "tree", "rules", "partition", "noisy-or", "noisy-max"])
def test_rows_that_do_not_sum_to_one_are_refused(name):
    cpd = all_forms(np.random.default_rng(1))[name]
    for shift in (0.25, -2.0):
        arrays = [a.copy() for a in numbers(cpd)]
        arrays[0].reshape(-1)[0] += shift
        with pytest.raises(ModelError, match="sum to one"):
            with_numbers(cpd, arrays)


def test_numbers_of_another_shape_are_refused():
    cpd = TableCPD(X, np.full((2, 2, 2), 0.5), given=(A, B))
    for values in ([], [np.full(4, 0.5)], [np.full((2, 2, 2), 0.5)], [np.full(8, 0.5)] * 2):
        with pytest.raises(ModelError, match="shapes"):
            with_numbers(cpd, values)


def test_cpds_made_of_rows_have_no_such_numbers():
    with pytest.raises(NotApplicable, match="does not say"):
        numbers(KernelCPD(Real("r"), {"r": [0.0, 1.0]}, width=1.0))
