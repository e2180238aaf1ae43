"""Cells, groups and multiplicities agree with the definition of each CPD; estimates are ratios of counts."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.multinomials import Multinomials, exponents, from_logits, logits
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import NormalWeights
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.variables.variable import Discrete
from support import random_models
from support.blocks import in_blocks
from support.cpd_contract import all_rows


def multinomial_cpds(seed):
    """The CPDs of a random network that are made of multinomials."""
    net = random_models.structured_net(np.random.default_rng(seed)).model
    return [cpd for cpd in net.cpds if isinstance(cpd.parameters, Multinomials)]


@in_blocks("seed", range(10))
def test_rows_use_the_cell_that_is_their_probability(seed):
    for cpd in multinomial_cpds(seed):
        rows, own = all_rows(cpd), cpd.parameters
        cells = own.cells(rows)
        np.testing.assert_allclose(own.probabilities[cells], np.exp(cpd.log_probability(rows)), atol=1e-12)
        assert cpd.statistics(rows).tolist() == np.bincount(cells, minlength=len(own.probabilities)).tolist()


@in_blocks("seed", range(10))
def test_groups_sum_to_one(seed):
    for cpd in multinomial_cpds(seed):
        own = cpd.parameters
        try:
            groups = own.groups
        except NotApplicable:
            continue
        sums = np.bincount(groups, weights=own.multiplicities * own.probabilities)
        np.testing.assert_allclose(sums, 1.0, atol=1e-9)
        np.testing.assert_allclose(own.group_sums(own.multiplicities * own.probabilities), 1.0, atol=1e-9)
        assert all(own.describe_context(g).startswith("(") for g in range(len(sums)))


def test_other_cpds_are_none():
    assert not isinstance(NoisyOr(Discrete("x"), {Discrete("a"): 0.5}).parameters, Multinomials)


def test_rules_that_contexts_share_have_no_groups():
    a, x = Discrete("a"), Discrete("x", 3)
    shared = RuleCPD(x, [({x: 0}, 0.5), ({a: 0, x: 1}, 0.5), ({a: 0, x: 2}, 0.0), ({a: 1, x: {1, 2}}, 0.25)])
    with pytest.raises(NotApplicable, match="several contexts share"):
        _ = shared.parameters.groups


def test_cells_know_their_states():
    x, u = Discrete("x", 3), Discrete("u")
    table = TableCPD(x, np.full((2, 3), 1 / 3), given=u)
    assert table.parameters.child_states.argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    rules = RuleCPD(x, [({x: {1, 2}}, 0.25), ({x: 0}, 0.5)])
    assert rules.parameters.child_states.tolist() == [[False, True, True], [True, False, False]]


def test_estimates_are_ratios_of_counts():
    x, u = Discrete("x"), Discrete("u")
    cpd = TableCPD(x, [[0.5, 0.5], [0.1, 0.9]], given=u)
    counts = np.array([3.0, 1.0, 0.0, 0.0])
    assert cpd.from_statistics(counts).values.tolist() == [[0.75, 0.25], [0.5, 0.5]]
    smoothed = cpd.from_statistics(counts, Dirichlet([1, 3]), unseen="raise")
    assert smoothed.values.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    with pytest.raises(DataError, match=r"1 of 2 contexts never occur in the data: \(u=1\)"):
        cpd.from_statistics(counts, unseen="raise")
    assert cpd.parameters.maximized(counts, unseen="keep").values[1].tolist() == [0.1, 0.9]


def test_other_priors_and_policies_are_refused():
    coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    with pytest.raises(NotApplicable, match="Dirichlet"):
        coin.from_statistics(np.ones(2), NormalWeights(1.0))
    with pytest.raises(ArgumentError, match="'uniform' or 'raise'; found 'zero'"):
        coin.from_statistics(np.ones(2), unseen="zero")


def test_logits_of_zeros_stay_zero():
    rows = np.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(from_logits(logits(rows)), rows, atol=1e-15)
    assert from_logits(logits(rows) + np.array([[5.0, 1.0, -1.0]]))[0, 0] == 0.0


def test_modes_of_probabilities_need_pseudo_counts_of_at_least_one():
    assert exponents(np.array([1.0, 3.0]), True, "me").tolist() == [0.0, 2.0]
    assert exponents(np.array([0.5, 3.0]), False, "me").tolist() == [0.5, 3.0]
    with pytest.raises(NotApplicable, match="no mode"):
        exponents(np.array([0.5, 3.0]), True, "me")


def combs(num):
    """A tree and rules that look at one parent after the other until one is on."""
    parents, y = [ss.Discrete(f"p{i}") for i in range(num)], ss.Discrete("y")
    at = np.linspace(0.1, 0.9, num + 1)

    def split(place):
        row = [1.0 - at[place], at[place]]
        return row if place == num else ss.cpds.Split(parents[place], {0: split(place + 1), 1: row})

    contexts = [dict.fromkeys(parents[:i], 0) | ({parents[i]: 1} if i < num else {}) for i in range(num + 1)]
    rules = [({**context, y: x}, p) for context, q in zip(contexts, at, strict=True) for x, p in ((0, 1 - q), (1, q))]
    roots = [ss.TableCPD(p, [0.8, 0.2]) for p in parents]
    forms = {"tree": ss.TreeCPD(y, split(0), given=parents), "rules": ss.RuleCPD(y, rules, given=parents)}
    return {name: ss.BayesNet(*roots, cpd) for name, cpd in forms.items()}


@pytest.mark.parametrize("num", [9, 10])
@pytest.mark.parametrize("form", ["tree", "rules"])
@pytest.mark.parametrize("method", [ss.EM, ss.HardEM], ids=lambda m: m.__name__)
def test_cells_counted_by_factors_are_those_counted_by_joint_states(form, method, num, monkeypatch):
    net = combs(num)[form]
    rows = net.sample(80, seed=0).matrix().astype(np.int64)
    rows[np.random.default_rng(0).random(rows.shape) < 0.3] = -1
    data = ss.Dataset.from_codes(net.variables, rows)

    def fitted():
        return ss.fit(net, data, method(start="model"), until=ss.Until(steps=3, tolerance=None)).model

    expected = fitted()
    monkeypatch.setattr(Multinomials, "is_factored", property(lambda own: not own.is_table))
    assert net.cpds[-1].parameters.for_rows({}).entry_cells is not None
    for cpd, other in zip(fitted().cpds, expected.cpds, strict=True):
        np.testing.assert_allclose(cpd.parameters.probabilities, other.parameters.probabilities, atol=1e-9)


@pytest.mark.parametrize("form", ["tree", "rules"])
def test_pseudo_counts_of_a_prior_network_by_factors(form, monkeypatch):
    net = combs(9)[form]
    prior = ss.priors.BDe(ss.BayesNet.random(net.dag, seed=3), 5.0)
    expected = prior.hyperparameters([net.cpds[-1]])
    monkeypatch.setattr(Multinomials, "is_factored", property(lambda own: not own.is_table))
    np.testing.assert_allclose(prior.hyperparameters([net.cpds[-1]]), expected, atol=1e-9)
