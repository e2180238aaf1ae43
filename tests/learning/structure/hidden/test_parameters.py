"""Parameters within structural EM: the score of observed cells, and how much a change of structure raises it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.hidden.expectedscores import ExpectedScorer
from sepset.learning.structure.hidden.missingcells import Completions
from sepset.learning.structure.hidden.parameters import Parameters
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.structureprior import EdgePenalty
from support.incomplete_rows import masked_rows, random_network


def parents_in(dag: ss.DAG) -> list[list[int]]:
    return [sorted(dag.nodes.index(p) for p in dag.parents(name)) for name in dag.nodes]


@pytest.mark.parametrize("seed", range(3))
def test_the_score_rises_at_least_as_much_as_the_expected_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, (2, 3, 2, 2))
    columns = Columns(masked_rows(net, 100, 0.35, rng), missing="available")
    task = StructureTask(columns, ss.BIC(), EdgePenalty(0.3))
    before = parents_in(net.dag)
    fitted = Parameters.of(task, before).started(rng).after(2)
    completions = Completions.of(columns, before, fitted.model, rng)
    scorer = ExpectedScorer(columns, completions, ss.BIC(), task.structure_prior)
    for _ in range(8):
        other = parents_in(random_network(rng, (2, 3, 2, 2)).dag)
        gain = scorer.total(other) - scorer.total(before)
        assert Parameters.of(task, other).maximized(scorer).score - fitted.score >= gain - 1e-8


@pytest.mark.parametrize("score", [ss.BDeu(1.5), ss.K2()], ids=repr)
def test_the_bayesian_score_is_a_lower_bound_on_the_sum_over_completions(score: object) -> None:
    rng = np.random.default_rng(1)
    net = random_network(rng, (2, 2, 2))
    columns = Columns(masked_rows(net, 9, 0.35, rng), missing="available")
    cells = np.argwhere(columns.codes < 0)
    evidences = {}
    graphs = [[[], [0], [1]], [[1], [], [0, 1]], [[], [], []]]
    for states in itertools.product(range(2), repeat=len(cells)):
        codes = columns.codes.copy()
        codes[tuple(cells.T)] = states
        rows = ss.Dataset.from_codes(columns.variables, codes.T).with_weights(columns.weights)
        scorer = Scorer(Columns(rows), score)
        for k, graph in enumerate(graphs):
            evidences.setdefault(k, []).append(scorer.total(graph))
    for k, graph in enumerate(graphs):
        exact = logsumexp(evidences[k])
        bound = Parameters.of(StructureTask(columns, score), graph).started(rng).settled().score
        assert bound <= exact + 1e-9


def test_arrays_restore_the_network() -> None:
    rng = np.random.default_rng(2)
    net = random_network(rng, (2, 3, 1, 2))
    columns = Columns(masked_rows(net, 30, 0.3, rng), missing="available")
    own = Parameters.of(StructureTask(columns, ss.BIC()), parents_in(net.dag))
    fitted = own.started(rng).after(3)
    again = own.at(fitted.arrays)
    assert again.score == fitted.score
    for one, other in zip(again.model.cpds, fitted.model.cpds, strict=True):
        assert np.array_equal(one.values, other.values)
