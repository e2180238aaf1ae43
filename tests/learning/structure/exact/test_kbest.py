"""The k best DAGs against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ArgumentError, TooLarge
from sepset.learning.structure.exact.enumeration import all_scores
from sepset.learning.structure.exact.kbest import k_best
from support.score_tables import random_table


@pytest.mark.parametrize("k", [1, 7, 1000])
def test_equals_enumeration(k):
    rng = np.random.default_rng(4)
    for size in [0, 1, 2, 3, 4]:
        table = random_table(rng, size)
        every = all_scores(table)
        expected = np.sort(every[every > -np.inf])[::-1][:k]
        found = k_best(table, k)
        assert [r.score for r in found] == pytest.approx(expected.tolist(), abs=1e-10)
        assert len({r.parents for r in found}) == len(found)
        assert [table.score_of(r.parents) for r in found] == pytest.approx(expected.tolist(), abs=1e-10)


def test_refused():
    table = random_table(np.random.default_rng(0), 3)
    with pytest.raises(ArgumentError, match="k= is a whole number of at least 1"):
        k_best(table, 0)
    with pytest.raises(TooLarge, match="partial DAGs"):
        k_best(table, 10**7)
