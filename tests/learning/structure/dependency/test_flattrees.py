"""Flat trees: every row of every CPD is found again."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.learning.structure.dependency.flattrees import FlatTrees
from sepset.variables.universe import Universe

A, B, C = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)


def row(trees: FlatTrees, variable: int, codes: tuple[int, ...]) -> list[float]:
    node = int(trees.roots[variable])
    while trees.tested[node] >= 0:
        node = int(trees.branches[trees.starts[node] + codes[trees.tested[node]]])
    start = int(trees.starts[node])
    return trees.values[start : start + trees.cards[variable]].tolist()


def test_rows_are_found() -> None:
    rng = np.random.default_rng(0)
    table = ss.TableCPD(A, rng.dirichlet(np.ones(2), (2, 3)), given=(C, B))
    leaf = ss.TableCPD(B, [0.2, 0.3, 0.5])
    tree = ss.TreeCPD(C, ss.cpds.Split(B, {(0, 2): [0.1, 0.9], 1: ss.cpds.Split(A, {0: [0.4, 0.6], 1: [0.7, 0.3]})}))
    cpds = (table, leaf, tree)
    variables = Universe([A, B, C])
    trees = FlatTrees.of(cpds, variables)
    assert trees is not None
    for codes in itertools.product(range(2), range(3), range(2)):
        rows = {v: np.array([code]) for v, code in zip((A, B, C), codes, strict=True)}
        for k, cpd in enumerate(cpds):
            assert row(trees, k, codes) == cpd.probabilities(rows, 1)[0].tolist()


def test_wide_tables_have_none() -> None:
    many = [ss.Discrete(f"x{k}") for k in range(20)]
    wide = ss.LogisticCPD(A, dict.fromkeys(many, 0.1))
    others = [ss.TableCPD(v, [0.5, 0.5]) for v in many]
    assert FlatTrees.of((wide, *others), Universe([A, *many])) is None
