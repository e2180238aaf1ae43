"""Bounds of partial assignments under tangents, against enumerated completions."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.factors.table import Table
from sepset.inference.buckets.regrets import Buckets, Logs
from support.tolerances import CLOSE

VS = [ss.Discrete(f"v{i}", 2 + i % 2) for i in range(5)]
PAIRS = [(0, 1), (1, 2), (1, 3), (3, 4), (0, 4)]
SLOPES = np.array([[-1.0, -0.5], [-3.0, 0.0], [0.0, 0.0]])


def model():
    rng = np.random.default_rng(4)
    tables = [Table((VS[a], VS[b]), rng.random((VS[a].num_states, VS[b].num_states))) for a, b in PAIRS]
    return tables, {v: -rng.random((v.num_states, 2)) for v in VS[1:]}


def value(tables, terms, row, slope):
    """The log value of one assignment under one tangent."""
    total = sum(np.log(t.values[tuple(row[v] for v in t.scope)]) for t in tables)
    return total + sum(terms[v][row[v]] @ slope for v in terms)


def test_every_partial_assignment_has_the_bound_of_its_best_completion():
    tables, terms = model()
    rows = [dict(zip(VS, codes, strict=True)) for codes in itertools.product(*(range(v.num_states) for v in VS))]
    buckets = Buckets(map(Logs.of, tables), [VS[i] for i in (2, 4, 0, 3, 1)], terms, 2)
    found = buckets.regrets(SLOPES)
    assert buckets.bounds(SLOPES).tolist() == found.bounds.tolist()
    walk = list(found.walk())
    assert {level.variable for level in walk} == set(VS)
    for row in rows[::5]:
        bounds, assigned = found.bounds.copy(), []
        for level in walk:
            place = 0
            for v in level.sepset:
                assert v in assigned
                place = place * v.num_states + row[v]
            bounds += level.regrets[place, row[level.variable]]
            assigned.append(level.variable)
            for slope, bound in zip(SLOPES, bounds, strict=True):
                same = (other for other in rows if all(other[v] == row[v] for v in assigned))
                best = max(value(tables, terms, other, slope) for other in same)
                np.testing.assert_allclose(bound, best, rtol=CLOSE)
                assert bound >= best


def test_impossible_states_have_infinite_regret():
    a, b = VS[0], VS[2]
    buckets = Buckets([Logs.of(Table((a, b), [[0.0, 0.0], [1.0, 2.0]]))], [b, a], {}, 0)
    found = buckets.regrets(np.zeros((1, 0)))
    assert found.levels[a].regrets[0, :, 0].tolist() == [-np.inf, 0.0]
    assert found.levels[b].regrets[0, :, 0].tolist() == [-np.inf, -np.inf]
