"""Priors are checked, and give the pseudo-counts of a block's cells."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.multinomials import Multinomials
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.priors.dirichlet import K2, BDeu, ContextStrength, Dirichlet, DirichletMixture
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.variables.variable import Discrete
from support import random_models
from support.blocks import in_blocks

A, B, X = Discrete("a"), Discrete("b", 3), Discrete("x", 3)
TABLE = TableCPD(X, np.full((2, 3, 3), 1 / 3), given=(A, B))


def pseudo_counts_of(prior, cpds):
    return cpds[0].parameters.pseudo_counts(prior, cpds)


def test_pseudo_counts_broadcast():
    assert Dirichlet(2).pseudo_counts((2, 2)).tolist() == [[2, 2], [2, 2]]
    assert Dirichlet([1, 3]).pseudo_counts((2, 2)).tolist() == [[1, 3], [1, 3]]
    assert Dirichlet([[1, 2], [3, 4]]).pseudo_counts((2, 2)).tolist() == [[1, 2], [3, 4]]
    assert Dirichlet([1, 2, 3, 4]).pseudo_counts((2, 2)).tolist() == [[1, 2], [3, 4]]


def test_pseudo_counts_of_the_wrong_shape_are_refused():
    with pytest.raises(ModelError, match=r"\(3,\) do not fit 2 contexts by 2 states"):
        Dirichlet([1, 2, 3]).pseudo_counts((2, 2))


@pytest.mark.parametrize("alpha", [0, -1, np.nan, np.inf, [1, -2], [1, 0]])
def test_pseudo_counts_are_finite_and_positive(alpha):
    with pytest.raises(ModelError, match="finite pseudo-counts"):
        Dirichlet(alpha)


def test_dirichlets_are_read_only_and_print():
    prior = Dirichlet([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        prior.alpha[0] = 3
    assert repr(prior) == "Dirichlet([1.0, 2.0])"


@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan, "3"])
@pytest.mark.parametrize("kind", [NormalWeights, LaplaceWeights, BDeu, ContextStrength])
def test_sizes_are_positive(kind, value):
    with pytest.raises(ModelError, match=f"{kind.__name__} needs a finite .* > 0"):
        kind(value)


@pytest.mark.parametrize("mean", [(0.5, 0.6), (1.0, 0.0), (-0.5, 1.5)])
def test_means_are_distributions(mean):
    with pytest.raises(ModelError, match="sum to one"):
        ContextStrength(1, mean)


def test_three_strengths_have_three_meanings():
    """Per cell, per context, and for the whole network."""
    assert pseudo_counts_of(K2(), [TABLE]).tolist() == [1.0] * 18
    assert pseudo_counts_of(Dirichlet(0.5), [TABLE]).sum() == 9.0
    per_context = pseudo_counts_of(ContextStrength(6), [TABLE]).reshape(6, 3)
    np.testing.assert_allclose(per_context.sum(axis=1), 6.0)
    np.testing.assert_allclose(pseudo_counts_of(BDeu(6), [TABLE]).sum(), 6.0)
    skewed = pseudo_counts_of(ContextStrength(4, (0.25, 0.25, 0.5)), [TABLE]).reshape(6, 3)
    np.testing.assert_allclose(skewed, np.tile([1, 1, 2], (6, 1)))
    with pytest.raises(ModelError, match="mean over 2 states"):
        pseudo_counts_of(ContextStrength(4, (0.5, 0.5)), [TABLE])


@in_blocks("seed", range(10))
def test_bdeu_gives_each_block_its_prior_mass(seed):
    """The pseudo-counts of a leaf, rule or part are the sums over the table's cells it stands for."""
    net = random_models.structured_net(np.random.default_rng(seed)).model
    for cpd in (c for c in net.cpds if isinstance(c.parameters, Multinomials)):
        full = np.prod([v.num_states for v in cpd.scope])
        cells = np.indices([v.num_states for v in cpd.scope]).reshape(len(cpd.scope), -1)
        expected = cpd.statistics(dict(zip(cpd.scope, cells, strict=True)), np.full(full, 8.0 / full))
        np.testing.assert_allclose(pseudo_counts_of(BDeu(8), [cpd]), expected)


def test_shared_blocks_count_local_priors_once_and_bdeu_each_time():
    other = TableCPD(Discrete("y", 3), np.full((2, 3, 3), 1 / 3), given=(A, B), block="x")
    np.testing.assert_allclose(pseudo_counts_of(K2(), [TABLE, other]), 1.0)
    np.testing.assert_allclose(pseudo_counts_of(BDeu(9), [TABLE, other]), 1.0)


def test_cells_of_several_states():
    cpd = RuleCPD(X, [({X: 0}, 0.5), ({X: {1, 2}}, 0.25)])
    np.testing.assert_allclose(pseudo_counts_of(ContextStrength(6), [cpd]), [2, 4])
    np.testing.assert_allclose(pseudo_counts_of(BDeu(6), [cpd]), [2, 4])
    np.testing.assert_allclose(pseudo_counts_of(Dirichlet([1, 5]), [cpd]), [1, 5])
    np.testing.assert_allclose(pseudo_counts_of(Dirichlet([1, 2, 5]), [cpd]), [1, 7])
    np.testing.assert_allclose(pseudo_counts_of(ContextStrength(6, (0.2, 0.5, 0.3)), [cpd]), [1.2, 4.8])
    np.testing.assert_allclose(pseudo_counts_of(Dirichlet(3), [cpd]), [3, 3])


@pytest.mark.parametrize("seed", range(4))
def test_rules_stand_in_any_order(seed):
    """Pseudo-counts belong to states, whatever the order of the rules."""
    rules = [({B: b, X: x}, 1 / 3) for b in range(3) for x in range(3)]
    order = np.random.default_rng(seed).permutation(9)
    cpd = RuleCPD(X, [rules[i] for i in order], given=B)
    for prior in (Dirichlet([1, 2, 5]), ContextStrength(6, (0.2, 0.5, 0.3)), Dirichlet([[1], [2], [3]]), K2(), BDeu(5)):
        plain = pseudo_counts_of(prior, [RuleCPD(X, rules, given=B)])
        found = pseudo_counts_of(prior, [cpd])
        if isinstance(prior, Dirichlet) and prior.alpha.shape == (3, 1):
            assert sorted(found.tolist()) == sorted(plain.tolist())
        else:
            np.testing.assert_allclose(found, plain[order])


def test_parts_have_their_share():
    cpd = PartitionCPD(X, [0, 0, 1], distributions=np.full((2, 3), 1 / 3), given=B)
    np.testing.assert_allclose(pseudo_counts_of(BDeu(9), [cpd]), [2, 2, 2, 1, 1, 1])


def test_other_cpds_and_priors_are_refused():
    gate = NoisyOr(Discrete("c"), {A: 0.5})
    with pytest.raises(NotApplicable, match="is not made of multinomials"):
        BDeu(1).hyperparameters([gate])
    with pytest.raises(NotApplicable, match="takes a Dirichlet prior"):
        pseudo_counts_of(NormalWeights(1.0), [TABLE])
    with pytest.raises(NotApplicable, match="pseudo-counts such as"):
        gate.from_statistics(gate.statistics({A: np.array([0]), gate.child: np.array([0])}), BDeu(1))


def test_cpds_take_every_prior_of_theirs():
    stats = np.arange(18.0)
    np.testing.assert_allclose(
        TABLE.from_statistics(stats, BDeu(18)).values, TABLE.from_statistics(stats, Dirichlet(1)).values
    )
    np.testing.assert_allclose(
        TABLE.from_statistics(stats, K2()).values, TABLE.from_statistics(stats, ContextStrength(3)).values
    )


@pytest.mark.parametrize(
    ("weights", "alphas"), [([1.0], [1.0, 2.0]), ([], []), ([0.0, 1.0], [1.0, 2.0]), ([np.nan], [1.0])]
)
def test_mixtures_need_positive_weights(weights, alphas):
    with pytest.raises(ModelError, match=r"positive weight for each component|finite weights"):
        DirichletMixture(weights, alphas)


def test_mixtures_print():
    assert repr(DirichletMixture([1, 1], [1, [2, 3]])) == "DirichletMixture([0.5, 0.5], [1.0, [2.0, 3.0]])"
