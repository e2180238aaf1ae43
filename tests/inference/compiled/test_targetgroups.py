"""Groups of targets: they cover everything once, change no answer, and never cost more than one tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs as constants
from sepset.inference.compiled.targetgroups import Ancestry, SetCosts, members, merged_groups, target_groups
from sepset.inference.costs import ENTRIES_PER_PLANNED_VARIABLE as OVERHEAD
from sepset.variables.evidence import resolve
from support.method_contract import Truth
from support.random_models import markov_net, random_evidence, structured_net, table_net
from support.tolerances import CLOSE

DIRECTED = [table_net, structured_net]


def cases(kinds=DIRECTED, num=25):
    for kind in kinds:
        for seed in range(num):
            rng = np.random.default_rng([seed, kinds.index(kind)])
            case = kind(rng)
            given, weights = random_evidence(rng, case)
            yield case, given, weights, resolve(given, case.model.variables)


def test_ancestors_are_those_of_the_graph():
    for name in ("student", "asia", "alarm"):
        net = ss.datasets.load(name)
        ancestry = Ancestry.of(net.problem())
        names = net.variables.names
        for i, variable in enumerate(names):
            found = {names[v] for v in members(ancestry.masks[i])}
            assert found == {variable, *ss.graphs.ancestors(net.dag, variable)}
            assert {names[v] for v in members(ancestry.children[i])} == set(net.dag.children(variable))


def grouped(problem, observed, touched, whole=10**18):
    return target_groups(problem, Ancestry.of(problem), observed, touched, whole=whole)


def test_every_hidden_variable_is_in_one_group():
    for case, _, _, evidence in cases():
        problem = case.model.problem()
        groups = grouped(problem, evidence.observed, sorted(evidence.weights))
        hidden = set(range(len(problem.variables))) - set(evidence.observed)
        assert sorted(v for group in groups for v in group) == sorted(hidden)
        assert all(groups)


def test_the_cost_of_a_chain():
    a, b, c = (ss.Discrete(name, 2) for name in "abc")
    rows = [[0.5, 0.5], [0.1, 0.9]]
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, rows, given=a), ss.TableCPD(c, rows, given=b))
    assert SetCosts(net.problem(), []).of(0b111) == 4 + 4 + 3 * OVERHEAD
    assert SetCosts(net.problem(), [1]).of(0b111) == 2 + 2 + 2 * OVERHEAD
    assert SetCosts(net.problem(), []).of(0b011) == 4 + 2 * OVERHEAD
    assert SetCosts(net.problem(), []).of(0) == 0


def wide_net(causes=5, states=8):
    """One effect for each pair of causes: any one is cheap, and all of them together are not."""
    rng = np.random.default_rng(5)
    roots = [ss.Discrete(f"cause {i}", states) for i in range(causes)]
    cpds = [ss.TableCPD(v, rng.dirichlet(np.ones(states))) for v in roots]
    for i, pair in enumerate(itertools.combinations(roots, 2)):
        cpds.append(ss.TableCPD(ss.Discrete(f"effect {i}"), rng.dirichlet([1, 1], (states, states)), given=pair))
    return ss.BayesNet(*cpds)


def test_groups_never_cost_more_than_one_tree():
    split = 0
    models = [(case.model, evidence) for case, _, _, evidence in cases()] + [(wide_net(), ss.variables.Evidence())]
    for model, evidence in models:
        problem, touched = model.problem(), sorted(evidence.weights)
        ancestry, costs = Ancestry.of(problem), SetCosts(problem, evidence.observed)
        below = ancestry.closure([*evidence.observed, *touched])
        hidden = [v for v in range(len(problem.variables)) if v not in set(evidence.observed)]
        whole = costs.of(ancestry.closure(hidden) | below)
        groups = grouped(problem, evidence.observed, touched, whole - OVERHEAD * len(hidden))
        assert sum(costs.of(ancestry.closure(group) | below) for group in groups) <= whole
        split += len(groups) > 1
    assert split


def test_groups_change_no_answer(monkeypatch):
    monkeypatch.setattr(constants, "ENTRIES_PER_SINK_FOR_GROUPS", 0)
    for case, given, weights, _ in cases():
        truth = Truth(case.factors, case.cards, weights)
        if truth.log_z == -np.inf:
            continue
        found = ss.prepare(case.model, method=ss.CliqueTree()).marginals(given=given)
        for name in case.cards:
            np.testing.assert_allclose(found[name].values, truth.marginal([name]), atol=CLOSE)


def test_many_small_trees_instead_of_a_wide_one(monkeypatch):
    net = wide_net()
    whole = ss.prepare(net, method=ss.CliqueTree()).marginals()
    monkeypatch.setattr(constants, "ENTRIES_PER_SINK_FOR_GROUPS", 0)
    engine = ss.prepare(net, method=ss.CliqueTree())
    compiler = engine.prepared.compiler
    groups, _ = compiler.all_marginals(compiler.planner.pattern(ss.variables.Evidence()))
    assert len(groups) > 1
    found = engine.marginals()
    for name in net.variables.names:
        np.testing.assert_allclose(found[name].values, whole[name].values, atol=CLOSE)


class Prices:
    """Costs of sets as given."""

    work = 0

    def __init__(self, prices):
        self.of = prices.__getitem__


def test_sets_merge_while_that_is_no_dearer_and_groups_that_cost_too_much_are_given_up():
    dear = Prices({0b01: 5, 0b10: 5, 0b11: 11})
    assert merged_groups([0b10, 0b01], dear, 11) == [0b01, 0b10]
    assert merged_groups([0b10, 0b01], dear, 10) is None
    assert merged_groups([0b10, 0b01], Prices({0b01: 5, 0b10: 5, 0b11: 10}), 100) is None  # one group is the one tree


def test_what_is_above_the_evidence_comes_with_the_first_group():
    net = wide_net()
    observed = (net.variables.id("effect 0"),)
    groups = grouped(net.problem(), observed, ())
    assert len(groups) > 1
    assert {net.variables.id(v) for v in ss.graphs.ancestors(net.dag, "effect 0")} <= set(groups[0])


@pytest.mark.parametrize("whole", [0, 10**18])
def test_undirected_and_fully_observed_models(whole):
    case = markov_net(np.random.default_rng(1))
    problem = case.model.problem()
    everything = range(len(problem.variables))
    assert grouped(problem, (), (), whole) == (tuple(everything),)
    assert grouped(problem, everything, (), whole) == ()


def test_groups_must_beat_the_one_tree():
    problem = wide_net().problem()
    assert len(grouped(problem, (), ())) > 1
    assert grouped(problem, (), (), whole=0) == (tuple(range(len(problem.variables))),)
