"""Symbolic elimination: the same figures as elimination by name, exact however large."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ScopeError
from sepset.graphs.ordering import MinFill, Portfolio
from sepset.graphs.symbolic import symbolic_elimination
from support.blocks import in_blocks
from support.random_contractions import eliminated, neighbors, random_network, rows


@in_blocks("seed", range(20))
def test_figures_agree_with_the_named_elimination(seed):
    network = random_network(np.random.default_rng(seed), num=1 + seed % 9)
    symbolic, ranked = eliminated(network)
    named = symbolic.named
    assert symbolic.names == named.order
    assert symbolic.width == named.width
    assert (symbolic.largest, symbolic.total_size) == (named.largest, named.total_size)
    assert list(symbolic.sizes) == list(named.sizes)
    scopes = [[symbolic.names[r] for r in scope] for scope in ranked.scopes]
    firsts = np.array([min(scope) for scope in ranked.scopes if scope], dtype=np.int64)
    assert symbolic.cost(firsts) == named.cost(scopes)


def test_sizes_beyond_floats_are_exact():
    clique = [list(range(70))]
    symbolic = symbolic_elimination(
        tuple(map(str, range(70))), rows(neighbors(70, clique)), (3,) * 70, np.zeros(70, np.int64), MinFill()
    )
    assert symbolic.largest == symbolic.total_size == 3**70
    assert symbolic.cost(np.zeros(1, np.int64)) == sum(3**i for i in range(1, 71))


def test_nothing_to_eliminate():
    symbolic = symbolic_elimination((), rows([]), (), np.zeros(0, np.int64), Portfolio())
    assert (symbolic.width, symbolic.largest, symbolic.total_size, symbolic.names) == (0, 1, 0, ())


def test_a_method_that_forgets_a_node_is_refused():
    class Forgetful:
        def arrange(self, task):
            return range(len(task.nodes) - 1)

    with pytest.raises(ScopeError, match="each of the 3 nodes once"):
        symbolic_elimination(tuple("abc"), rows([[], [], []]), (2, 2, 2), np.zeros(3, np.int64), Forgetful())
