"""The lists of all DAGs."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ArgumentError, TooLarge
from sepset.graphs.equivalence import cpdag
from sepset.learning.structure.exact.enumeration import all_dags, all_parents, all_scores, num_dags
from support.score_tables import random_table


def test_numbers_of_dags():
    assert [num_dags(n) for n in range(8)] == [1, 1, 3, 25, 543, 29281, 3781503, 1138779265]
    assert [len(all_parents(n)) for n in range(6)] == [num_dags(n) for n in range(6)]


@pytest.mark.parametrize("size", range(4))
def test_every_dag_is_there_once(size):
    graphs = list(all_dags("abcd"[:size]))
    assert len({frozenset(g.edges) for g in graphs}) == num_dags(size)
    assert len({cpdag(g) for g in graphs}) == [1, 1, 2, 11][size]


def test_too_many_and_repeated_names():
    with pytest.raises(TooLarge, match=r"about 4.232e\+604 DAGs over 60 columns"):
        list(all_dags([f"x{k}" for k in range(60)]))
    with pytest.raises(TooLarge, match=r"3.782e\+6 DAGs over 6"):
        all_parents(6)
    with pytest.raises(ArgumentError, match="twice"):
        list(all_dags(["a", "a"]))


def test_scores_are_those_of_the_table():
    table = random_table(np.random.default_rng(1), 3, density=0.6)
    found = [table.score(g) for g in all_dags(table.names)]
    assert np.array_equal(found, all_scores(table))


def test_very_many_columns_are_refused_without_counting_their_dags():
    with pytest.raises(TooLarge, match=r"more than 2\*\*4,999,950,000 DAGs over 100,000 columns"):
        all_parents(100_000)
    assert num_dags(40) > 2 ** (40 * 39 // 2)
