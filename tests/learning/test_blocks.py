"""Tied CPDs are fitted as if their rows were stacked; blocks have pseudo-counts, and what is negligible is zero."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ModelError, NotApplicable
from sepset.learning.blocks import Blocks, blocks_of, tie
from sepset.learning.estimation.estimators import MLE, Bayes
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

A, B, C, D = (Discrete(n) for n in "abcd")


def uniform(child, *parents, block=None):
    shape = [v.num_states for v in (*parents, child)]
    return TableCPD(child, np.full(shape, 1 / child.num_states), given=parents, block=block)


CHAIN = tie(BayesNet(uniform(A), uniform(B, A), uniform(C, B), uniform(D, C)), {"step": ["b", "c", "d"]})


def random_chain(num, seed):
    return Dataset.from_codes([A, B, C, D], np.random.default_rng(seed).integers(2, size=(num, 4)))


def test_pooled_counts():
    data = random_chain(40, 0)
    found = fit(CHAIN, data).model
    counts = np.zeros((2, 2))
    for row in data.matrix().tolist():
        for before, after in itertools.pairwise(row):
            counts[before, after] += 1
    for name in "bcd":
        np.testing.assert_allclose(found.cpd(name).values, counts / counts.sum(axis=1, keepdims=True))
    assert found.num_parameters == 3
    assert found.cpd("b").block == found.cpd("d").block


def test_the_pooled_estimate_is_a_weighted_average():
    data = random_chain(60, 1)
    pooled = fit(CHAIN, data).model.cpd("b").values
    apart = fit(BayesNet(uniform(A), uniform(B, A), uniform(C, B), uniform(D, C)), data).model
    weights = np.array([np.bincount(data.codes(p), minlength=2) for p in "abc"], dtype=float)
    mean = sum(w[:, None] * apart.cpd(n).values for w, n in zip(weights, "bcd", strict=True))
    np.testing.assert_allclose(pooled, mean / weights.sum(axis=0)[:, None])


def test_one_dirichlet_a_block_but_one_share_of_bdeu_an_occurrence():
    empty = Dataset.from_codes([A, B, C, D], np.zeros((0, 4), np.int64))
    once = fit(CHAIN, empty, Bayes(Dirichlet(2))).posterior.block("step")
    np.testing.assert_allclose(once.prior, np.full((1, 4), 2.0))
    spread = fit(CHAIN, empty, Bayes(BDeu(4))).posterior.block("step")
    np.testing.assert_allclose(spread.prior, np.full((1, 4), 3.0))


def test_exact_predictive_of_a_chain_by_sequential_prediction():
    data = random_chain(7, 2)
    posterior = fit(CHAIN, data, Bayes(Dirichlet(0.5))).posterior
    counts = np.full((2, 2), 0.5)
    for row in data.matrix().tolist():
        for before, after in itertools.pairwise(row):
            counts[before, after] += 1
    first = np.bincount(data.codes("a"), minlength=2) + 0.5
    total = 0.0
    for row in itertools.product((0, 1), repeat=4):
        urn, expected = counts.copy(), math.log(first[row[0]] / first.sum())
        for before, after in itertools.pairwise(row):
            expected += math.log(urn[before, after] / urn[before].sum())
            urn[before, after] += 1
        found = posterior.log_predictive(dict(zip("abcd", row, strict=True)))[0]
        assert found == pytest.approx(expected)
        total += math.exp(found)
    assert total == pytest.approx(1.0)


def test_contexts_in_parts_across_variables():
    """Two children with different parents share two multinomials; counts are pooled over both."""
    b = PartitionCPD(B, [0, 1], distributions=[[0.5, 0.5]] * 2, given=A, block="shared")
    c = PartitionCPD(C, [[0, 0], [0, 1]], distributions=[[0.5, 0.5]] * 2, given=(A, B), block="shared")
    net = BayesNet(uniform(A), b, c)
    rng = np.random.default_rng(4)
    rows = rng.integers(2, size=(50, 3))
    counts = np.zeros((2, 2))
    for a, x, y in rows.tolist():
        counts[a, x] += 1
        counts[a * x, y] += 1
    data = Dataset.from_codes([A, B, C], rows)
    found = fit(net, data).model
    for name in "bc":
        np.testing.assert_allclose(found.cpd(name).distributions, counts / counts.sum(axis=1, keepdims=True))
    posterior = fit(net, data, Bayes(Dirichlet(1))).posterior
    cells = [dict(zip("abc", row, strict=True)) for row in itertools.product((0, 1), repeat=3)]
    assert sum(math.exp(posterior.log_predictive(cell)[0]) for cell in cells) == pytest.approx(1.0)


def test_noisy_or_can_be_shared():
    first = NoisyOr(C, {A: 0.5}, leak=0.1, block="gate")
    second = NoisyOr(D, {B: 0.5}, leak=0.1, block="gate")
    net = BayesNet(uniform(A), uniform(B), first, second)
    rng = np.random.default_rng(5)
    rows = rng.integers(2, size=(80, 4))
    found = fit(net, Dataset.from_codes([A, B, C, D], rows), MLE()).model
    stacked = np.concatenate([rows[:, [0, 2]], rows[:, [1, 3]]])
    alone = BayesNet(uniform(A), NoisyOr(C, {A: 0.5}, leak=0.1))
    one = fit(alone, Dataset.from_codes([A, C], stacked), MLE()).model.cpd("c")
    for name in "cd":
        assert found.cpd(name).leak == pytest.approx(one.leak, abs=1e-5)
        np.testing.assert_allclose(found.cpd(name).to_table().values, one.to_table().values, atol=1e-5)


def test_what_cannot_be_shared_is_refused():
    wide = Discrete("w", 3)
    with pytest.raises(ModelError, match="cannot share it"):
        tie(BayesNet(uniform(A), uniform(wide)), {"x": ["a", "w"]})
    with pytest.raises(ModelError, match="in two groups"):
        tie(BayesNet(uniform(A), uniform(B)), {"x": ["a"], "y": ["a", "b"]})
    net = BayesNet(uniform(A, block="x"), uniform(B, A, block="x"))
    with pytest.raises(ModelError, match="name the parameter block 'x'"):
        blocks_of(net)
    with pytest.raises(ModelError, match="name the parameter block 'x'"):
        fit(net, {"a": [0], "b": [1]})


def test_shared_parameters_couple_the_variables_of_a_row():
    """Figure 17.10: given their parents, two tied children are not independent once parameters are integrated out."""
    net = BayesNet(uniform(A), uniform(B, A, block="g"), uniform(C, A, block="g"))
    posterior = fit(net, {"a": [0, 1], "b": [0, 1], "c": [0, 1]}, Bayes(Dirichlet(1))).posterior
    table = np.array(
        [[math.exp(posterior.log_predictive({"a": 0, "b": b, "c": c})[0]) for c in (0, 1)] for b in (0, 1)]
    )
    table /= table.sum()
    assert abs(table[0, 0] - table[0].sum() * table[:, 0].sum()) > 0.01


def blocks():
    tied = [TableCPD(v, [0.25, 0.75], block="coin") for v in (A, B)]
    return Blocks.of(BayesNet(*tied, TableCPD(Discrete("c", 1), [1.0])), {})


def test_tied_statistics_are_summed_and_shared():
    found = blocks()
    assert found.members == ((0, 1), (2,))
    stats = found.pooled([np.array([1.0, 2.0]), np.array([0.0, 3.0]), np.array([6.0])], 6.0)
    assert stats[0].tolist() == [1.0, 5.0]
    made = found.maximize(found.template, stats, (None, None))
    assert made.cpd("a").values.tolist() == made.cpd("b").values.tolist() == [1 / 6, 5 / 6]


def test_what_no_posterior_notices_is_zero():
    stats = blocks().pooled([np.array([1e-40, 2.0]), np.array([0.0, 3.0]), np.array([5.0])], 5.0)
    assert stats[0].tolist() == [0.0, 5.0]
    kept = blocks().pooled([np.array([1e-20, 2.0]), np.array([0.0, 3.0]), np.array([5.0])], 5.0)
    assert kept[0][0] == 1e-20


def test_pseudo_counts_and_their_density():
    found = blocks()
    assert found.prior_terms(None) == (None, None)
    soft, theta = found.prior_terms(Dirichlet(3.0)), found.prior_terms(Dirichlet(3.0), is_theta=True)
    assert (soft[0].counts.tolist(), theta[0].counts.tolist()) == ([3.0, 3.0], [2.0, 2.0])
    np.testing.assert_allclose(found.log_prior(found.template, soft), 3 * np.log(0.25) + 3 * np.log(0.75))
    both = found.prior_terms(BDeu(4.0))[0].counts  # of both coins, for the shared block
    np.testing.assert_allclose(both, [4.0, 4.0])
    with pytest.raises(NotApplicable, match="no mode"):
        found.prior_terms(Dirichlet(0.5), is_theta=True)


def test_score_is_the_log_likelihood_of_completed_rows():
    found = blocks()
    stats = (np.array([2.0, 0.0]), np.array([1.0]))
    np.testing.assert_allclose(found.score(found.template, stats), 2 * np.log(0.25))
