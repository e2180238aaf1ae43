"""Undirected forests against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable
from support.score_tables import dependent_rows


def forests(names):
    """All sets of pairs without a cycle."""
    pairs = list(itertools.combinations(names, 2))
    for size in range(len(names)):
        for chosen in itertools.combinations(pairs, size):
            joined = {name: {name} for name in names}
            for a, b in chosen:
                if joined[a] is joined[b]:
                    break
                union = joined[a] | joined[b]
                joined |= dict.fromkeys(union, union)
            else:
                yield chosen


def mutual_information(rows, a, b):
    table = np.zeros((max(rows[a]) + 1, max(rows[b]) + 1))
    np.add.at(table, (rows[a], rows[b]), 1.0 / len(rows[a]))
    seen = table > 0
    return float((table[seen] * np.log(table / np.outer(table.sum(1), table.sum(0)))[seen]).sum())


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_forests_against_enumeration(gamma):
    for seed in range(3):
        rows = {name: np.asarray(column) for name, column in dependent_rows(seed, 4, 60).items()}
        cards = {name: len(set(column.tolist())) for name, column in rows.items()}

        def weight(pair, rows=rows, cards=cards):
            count = (cards[pair[0]] - 1) * (cards[pair[1]] - 1)
            charge = 0.5 * math.log(60) + 2.0 * gamma * math.log(len(rows))
            return 60 * mutual_information(rows, *pair) - count * charge

        coded = {name: np.unique(column, return_inverse=True)[1] for name, column in rows.items()}
        best = max(sum(weight(pair, coded) for pair in chosen) for chosen in forests(list(rows)))
        found = ss.learn_structure(rows, method=ss.structure.Forest(gamma))
        assert sum(weight(pair, coded) for pair in found.graph.edges) == pytest.approx(best)
        alone = ss.structure.score(ss.DAG(list(rows), []), rows).total
        assert found.score == pytest.approx(alone + best)
        assert found.gap == 0.0


def test_gaussian_forests_and_their_parameters():
    x = np.random.default_rng(0).normal(size=(3, 200))
    rows = {"a": x[0], "b": x[0] + x[1], "c": x[2]}
    found = ss.learn_structure(rows, method=ss.structure.Forest(1.0))
    assert found.graph == ss.UndirectedGraph.parse("a - b; c")
    assert found.fit().log_likelihood == pytest.approx(ss.fit(ss.DAG.parse("b -> a; c"), rows).log_likelihood)


def test_what_does_not_apply():
    rows = {"a": [0, 1, 0], "b": [1, 1, 0]}
    with pytest.raises(NotApplicable, match="constraints"):
        ss.learn_structure(
            rows, method=ss.structure.Forest(), constraints=ss.structure.Constraints(forbidden=["a -> b"])
        )
    with pytest.raises(NotApplicable, match="equal on all"):
        ss.learn_structure(rows, method=ss.structure.Forest(), score=ss.K2())
    with pytest.raises(ArgumentError, match="gamma"):
        ss.structure.Forest(1.5)
