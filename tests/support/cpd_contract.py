"""What every discrete CPD owes, checked against a table that the caller writes by plain enumeration."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from rich.console import Console

import oracle
from sepset.cpds.cpd import CPD
from sepset.factors.table import Table
from support.tolerances import EXACT, STANDARD_ERRORS


def joint_states(variables):
    return itertools.product(*(range(v.num_states) for v in variables))


def dense(factor):
    """A factor as the oracle takes it: names and an array."""
    table = factor if isinstance(factor, Table) else factor.to_table()
    return tuple(v.name for v in table.scope), np.array(table.values)


def product_of_factors(cpd):
    """The factors multiplied out and summed over the auxiliaries, by the oracle's plain loops."""
    variables = (*cpd.scope, *cpd.auxiliaries)
    cards = {v.name: v.num_states for v in variables}
    array = oracle.joint([dense(f) for f in cpd.factors()], cards)
    return array.sum(axis=tuple(range(len(cpd.scope), len(variables))))


def all_rows(cpd):
    """Every joint state as columns of codes, in C order."""
    cells = np.array(list(joint_states(cpd.scope))).reshape(-1, len(cpd.scope))
    return {v: cells[:, axis] for axis, v in enumerate(cpd.scope)}


def droppable(table, scope, fixed, tolerance):
    """The parents outside `fixed` (codes by axis) across which all rows of the table agree, by plain loops."""
    parents = range(len(scope) - 1)
    found = []
    for axis in parents:
        if axis in fixed:
            continue
        same = True
        for cell in joint_states(scope):
            if all(cell[a] == code for a, code in fixed.items()):
                first = (*cell[:axis], 0, *cell[axis + 1 :])
                same = same and abs(table[cell] - table[first]) <= tolerance
        if same:
            found.append(scope[axis])
    return tuple(found)


def check_factors(cpd, table):
    np.testing.assert_allclose(product_of_factors(cpd), table, rtol=0, atol=EXACT)
    size = sum(f.size for f in cpd.factors())
    if len(cpd.factors()) > 1:
        assert size < math.prod(v.num_states for v in cpd.scope)
    assert len({v.name for v in (*cpd.scope, *cpd.auxiliaries)}) == len(cpd.scope) + len(cpd.auxiliaries)


def check_numbers(cpd, table):
    np.testing.assert_allclose(cpd.to_table().values, table, rtol=0, atol=EXACT)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(cpd.log_probability(all_rows(cpd)), np.log(table).reshape(-1), rtol=0, atol=1e-9)


def check_irrelevance(cpd, table, tolerance):
    parents = cpd.parents
    for chosen in itertools.chain.from_iterable(itertools.combinations(range(len(parents)), r) for r in range(3)):
        for codes in joint_states([parents[axis] for axis in chosen]):
            fixed = dict(zip(chosen, codes, strict=True))
            context = {parents[axis].name: parents[axis].states[code] for axis, code in fixed.items()}
            assert cpd.irrelevant(context) == droppable(table, cpd.scope, fixed, tolerance), context
    for independence in cpd.contexts():
        assert independence.irrelevant
        assert set(independence.irrelevant) <= set(cpd.irrelevant(independence.context))


def check_sampling(cpd, table, seed):
    """Frequencies within five standard errors, and never a state of probability zero."""
    rng = np.random.default_rng(seed)
    each = 4_000
    flat = table.reshape(-1, cpd.child.num_states)
    cells = np.repeat(np.array(list(joint_states(cpd.parents))).reshape(len(flat), -1), each, axis=0)
    rows = {v: cells[:, axis] for axis, v in enumerate(cpd.parents)}
    drawn = cpd.sample(rows, len(flat) * each, rng).reshape(len(flat), each)
    for row, codes in zip(flat, drawn, strict=True):
        frequency = np.bincount(codes, minlength=cpd.child.num_states) / each
        error = np.sqrt(np.maximum(row * (1 - row), 0.0) / each)  # rounding may put a row a little above one
        assert (np.abs(frequency - row) <= STANDARD_ERRORS * error + 1e-12).all()


def random_rows(cpd, num_rows, seed):
    rng = np.random.default_rng(seed)
    rows = {v: rng.integers(v.num_states, size=num_rows) for v in cpd.parents}
    return {**rows, cpd.child: cpd.sample(rows, num_rows, rng)}


def assert_same_statistics(first, second):
    if isinstance(first, np.ndarray):
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-9)
    else:
        assert first.codes.tolist() == second.codes.tolist()
        np.testing.assert_allclose(first.counts, second.counts, rtol=0, atol=1e-9)


def check_statistics(cpd, seed):
    rows = random_rows(cpd, 101, seed)
    weights = np.random.default_rng(seed).random(101)
    for w in (None, weights):
        parts = [
            cpd.statistics({v: c[part] for v, c in rows.items()}, None if w is None else w[part])
            for part in (slice(0, 40), slice(40, None))
        ]
        assert_same_statistics(parts[0] + parts[1], cpd.statistics(rows, w))
    learned = cpd.from_statistics(cpd.statistics(rows))
    assert type(learned) is type(cpd)
    assert (learned.scope, learned.block) == (cpd.scope, cpd.block)
    # No CPD of this form fits better than the estimate.
    assert learned.log_probability(rows).sum() >= cpd.log_probability(rows).sum() - 1e-6


def check_manners(cpd, table):
    assert isinstance(cpd, CPD)
    assert cpd.scope == (*cpd.parents, cpd.child)
    assert repr(cpd).startswith(f"{type(cpd).__name__}({cpd.child.name}[{cpd.child.num_states}]")
    with pytest.raises(AttributeError, match="immutable"):
        cpd.child = cpd.child
    again = pickle.loads(pickle.dumps(cpd))
    np.testing.assert_array_equal(again.to_table().values, cpd.to_table().values)
    assert again.block == cpd.block
    console = Console(width=200)
    with console.capture() as captured:
        console.print(cpd)
    assert cpd.child.name in captured.get()
    assert cpd._repr_html_().startswith("<table>")
    frame = cpd.to_frame()
    numbers = frame.iloc[:, len(cpd.parents) :].to_numpy()
    np.testing.assert_allclose(numbers, table.reshape(-1, cpd.child.num_states), rtol=0, atol=EXACT)


def check_contract(cpd, table, *, seed=0, tolerance=0.0):
    """All of it."""
    table = np.asarray(table, dtype=float)
    check_factors(cpd, table)
    check_numbers(cpd, table)
    check_irrelevance(cpd, table, tolerance)
    check_sampling(cpd, table, seed)
    check_statistics(cpd, seed)
    check_manners(cpd, table)
