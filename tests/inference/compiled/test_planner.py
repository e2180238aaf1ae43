"""Plans of patterns: shared where they are the same, pruned for joints and groups, kept for other values."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.graphs import costs as ordering_costs
from sepset.inference import costs
from sepset.inference.compiled import planner as module
from sepset.inference.compiled.planner import Pattern, Planner, Settings
from sepset.variables.evidence import Evidence
from support.counted_orders import CountedOrders


def planner_of(model, order=None, memory=2**30, zeros="auto"):
    return Planner(model.problem(), Settings(order or ss.graphs.MinFill(), memory, zeros))


def test_what_asks_about_everything_shares_one_plan():
    orders = CountedOrders()
    planner = planner_of(ss.datasets.load("asia"), orders)
    pattern = planner.pattern(Evidence({0: 1}))
    whole = planner.plan("marginals", planner.hidden(pattern), pattern)
    assert all(planner.plan(kind, (), pattern) is whole for kind in ("mode", "draws", "factors"))
    assert planner.plan("marginals", (), planner.pattern(Evidence({0: 0}))) is whole  # values are input to runs
    assert orders.made == 1
    assert set(whole.relevant.variables) == set(range(1, 8))


def test_joints_need_their_ancestors_and_groups_no_constants():
    net = ss.datasets.load("student")
    planner, ids = planner_of(net), net.variables.id
    pattern = planner.pattern(Evidence({ids("difficulty"): 0}))
    joint = planner.plan("joint", (ids("sat"),), pattern)
    assert set(joint.relevant.variables) == {ids("intelligence"), ids("sat")}
    assert len(joint.relevant.factors) == 3  # the finding on difficulty scales the total
    assert joint.targets == ("sat",)
    group = planner.plan("group", (ids("sat"),), pattern)
    assert len(group.relevant.factors) == 2
    assert joint.positions[-1] == ids("sat")  # kept to the end


def test_the_unobserved_are_hidden():
    planner = planner_of(ss.datasets.load("student"))
    assert planner.hidden(Pattern((0, 3), (), None)) == (1, 2, 4)
    assert planner.hidden(Pattern((), (), None)) == (0, 1, 2, 3, 4)


def test_domains_are_looked_at_where_tables_are_large_and_zeros_count(monkeypatch):
    net = ss.datasets.load("asia")
    assert planner_of(net).domains is None  # small tables are quicker than a look at their zeros
    assert planner_of(net, zeros="sparse").domains is not None
    monkeypatch.setattr(costs, "ENTRIES_FOR_SMALLER_DOMAINS", 0)
    assert planner_of(net).domains is not None
    assert planner_of(net, zeros="dense").domains is None
    monkeypatch.setattr(costs, "VARIABLES_ALWAYS_PLANNED", 7)
    assert planner_of(net).domains is None


def test_states_that_zeros_rule_out_make_smaller_plans(monkeypatch):
    monkeypatch.setattr(costs, "ENTRIES_FOR_SMALLER_DOMAINS", 0)
    monkeypatch.setattr(costs, "BITS_FOR_SMALLER_DOMAINS", 1e-9)
    a, b = ss.Discrete("a", 4), ss.Discrete("b", 4)
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.0, 0.5, 0.0]), ss.TableCPD(b, np.eye(4), given=a))
    planner = planner_of(net)
    pattern = planner.pattern(Evidence())
    assert planner.cards(pattern.states).tolist() == [2, 2]
    assert planner.plan("marginals", (), pattern).largest == 4
    assert planner.layout(pattern.states).offsets.tolist() == [0, 2, 6]
    assert planner.layout(None).offsets.tolist() == [0, 4, 20]


def test_groups_are_looked_for_where_the_one_tree_is_large(monkeypatch):
    looks = []
    monkeypatch.setattr(
        module, "target_groups", lambda *args, whole, cards: looks.append(whole) or ((0,), (1, 2, 3, 4))
    )
    planner = planner_of(ss.datasets.load("student"))
    pattern = planner.pattern(Evidence())
    size = planner.plan("marginals", (), pattern).total_size
    assert planner.groups(pattern, size) == ((0, 1, 2, 3, 4),)  # two sinks: twice the entries are asked for
    assert not looks
    assert planner.groups(pattern, size // 2 - 1) == ((0,), (1, 2, 3, 4))
    assert looks == [size]
    undirected = planner_of(ss.MarkovNet(ss.Table(ss.Discrete("a"), [1.0, 2.0])))
    assert undirected.groups(undirected.pattern(Evidence()), 0) == ((0,),)


def test_a_problem_far_beyond_the_memory_is_refused_while_planning(monkeypatch):
    monkeypatch.setattr(ordering_costs, "READS_BEFORE_REFUSAL", 0)
    spins = ss.Discrete.array("s", (40, 40), states=(-1, 1))
    planner = planner_of(ss.MarkovNet.ising(spins, 0.3), memory=1000)
    with pytest.raises(ss.TooLarge):
        planner.plan("marginals", (), planner.pattern(Evidence()))
    assert planner.plan("marginals", (), planner.pattern(Evidence()), to_run=False).width >= 40


def test_plans_without_a_program_are_those_of_the_smallest_tables():
    """Those with one have few separators, though larger cliques."""
    spins = ss.Discrete.array("s", (40, 40), states=(-1, 1))
    model = ss.MarkovNet.ising(spins, 0.3)
    assert ss.plan(model).width == ss.plan(model, spins[0, 0]).width == 40
    with pytest.raises(ss.TooLarge, match=r"width 40\)"):
        ss.query(model, spins[0, 0])
    assert ss.plan(model, spins[0, 0], method=ss.VariableElimination()).width == 40
