"""Tilts change what is drawn, and weights undo that exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.learning.structure.averaging.candidates import CandidateTable
from sepset.learning.structure.averaging.correction import Tilt, drawn_graphs, extensions, fitted_tilt
from sepset.learning.structure.constraints import Constraints
from support.stationary import DATA, SCORER, TABLE, all_graphs


def some_tilt():
    rng = np.random.default_rng(0)
    return Tilt(rng.normal(size=(4, 4)), rng.normal(size=4))


@pytest.mark.parametrize("candidates", [None, [[1], [0, 2], [], [0, 1, 2]]])
def test_tilted_scores_are_those_of_families(candidates):
    allowed = Constraints().bind(DATA.names)
    table = TABLE if candidates is None else CandidateTable.of(SCORER, allowed, candidates)
    tilt = some_tilt()
    tilted = tilt.table(table)
    for v in range(4):
        known = [u for u in table.cands[v].tolist() if u >= 0]
        further = [None, *[u for u in table.outs[v].tolist() if u >= 0]]
        sets = list(itertools.product(further, range(1 << len(known))))
        for place, (more, subset) in enumerate(sets):
            parents = [u for i, u in enumerate(known) if subset >> i & 1] + [u for u in [more] if u is not None]
            wanted = SCORER.family(v, parents) + tilt.edges[parents, v].sum() + (not parents) * tilt.roots[v]
            assert tilted.scores[table.starts[v] + place] == pytest.approx(wanted)


def test_weights_undo_the_tilt():
    """Over all orders and DAGs, tilted shares times weights are in proportion to the scores of DAGs."""
    graphs, shares = all_graphs()
    tilt = some_tilt()
    drawn = np.log(shares) + tilt.total(graphs) + extensions(graphs)
    again = np.exp(drawn + tilt.log_weights(graphs))
    assert again == pytest.approx(shares)


def test_weights_vary_less_when_tilted():
    graphs, shares = all_graphs()

    def effective(tilt):
        drawn = shares * np.exp(tilt.total(graphs) + extensions(graphs))
        weights = np.exp(tilt.log_weights(graphs))
        return (drawn @ weights) ** 2 / (drawn.sum() * (drawn @ weights**2))

    tilt = fitted_tilt(TABLE, np.arange(4))
    assert effective(tilt) > 0.8
    assert effective(tilt) > effective(Tilt.none(4)) + 0.1


def test_draws_follow_the_order():
    for graph in drawn_graphs(np.array([2, 0, 3, 1]), TABLE, 20, np.random.default_rng(0)):
        assert not graph[[0, 3, 1, 3, 1, 1], [2, 2, 2, 0, 0, 3]].any()
