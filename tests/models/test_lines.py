"""The line of a network: of its structure alone, whatever the names and the order in which things are listed."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.factors.chains import BY_NAME
from sepset.models.lines import choices_of, line_through


def causes(names, links):
    """Binary causes with these names; each pair of numbers is an edge."""
    variables = [ss.Discrete(name) for name in names]
    cpds = []
    for i, variable in enumerate(variables):
        parents = [variables[a] for a, b in links if b == i]
        cpds.append(ss.TableCPD(variable, np.full([2] * (len(parents) + 1), 0.5), given=parents))
    return variables, cpds


def finding(name, parents):
    return ss.NoisyOr(ss.Discrete(name), dict.fromkeys(parents, 0.2), leak=0.1)


def path(num):
    return [(i, i + 1) for i in range(num - 1)]


def along(line, names):
    return [line.places[name] for name in names]


@pytest.mark.parametrize("seed", range(5))
def test_dependent_causes_are_lined_up_whatever_their_names(seed):
    names = [f"c{i}" for i in np.random.default_rng(seed).permutation(30)]
    variables, cpds = causes(names, path(30))
    mixed = np.random.default_rng(seed + 1).permutation(30)
    found = along(line_through([*cpds, finding("x", [variables[i] for i in mixed])]), names)
    assert found in ([*range(30)], [*range(30)][::-1])


def test_the_order_in_which_things_are_listed_makes_no_difference():
    rng = np.random.default_rng(3)
    names = [f"c{i}" for i in rng.permutation(20)]
    links = [(int(rng.integers(b)), b) for b in range(1, 20)]
    chosen = [rng.choice(20, 8, replace=False) for _ in range(4)]
    lines = []
    for seed in range(4):
        mix = np.random.default_rng(seed).permutation
        variables, cpds = causes(names, links)
        findings = [finding(f"f{j}", [variables[some[i]] for i in mix(8)]) for j, some in enumerate(chosen)]
        cpds += findings
        lines.append(ss.BayesNet([cpds[i] for i in mix(len(cpds))]).line)
    assert all(line == lines[0] for line in lines)


def test_children_of_chains_come_after_their_parents():
    variables, cpds = causes("dbca", path(4))
    first = finding("a0", variables)
    second = finding("a1", [first.child, *variables])
    third = finding("a2", [second.child, first.child, *variables])
    places = line_through([*cpds, first, second, third]).places
    assert max(places[name] for name in "dbca") < places["a0"] < places["a1"]
    assert "a2" not in places


def test_deep_trees_are_joined_along_their_gates():
    """A tree that looks at one cause after the other, none of which depend on each other."""
    names = [f"c{i}" for i in np.random.default_rng(2).permutation(12)]
    variables, cpds = causes(names, [])
    root = [0.3, 0.7]
    for v in variables[::-1]:
        root = ss.cpds.Split(v, {0: root, 1: [0.6, 0.4]})
    tree = ss.TreeCPD(ss.Discrete("t"), root)
    assert tree.auxiliaries
    found = along(line_through([*cpds, tree, finding("x", variables)]), names)
    steps = np.abs(np.diff(found))
    assert steps.max() <= 2  # the last two causes are tested at the same gate


def test_networks_without_wide_cpds_have_no_line():
    variables, cpds = causes("abc", path(3))
    assert line_through(cpds) is BY_NAME
    assert line_through([]) is BY_NAME
    net = ss.BayesNet(*cpds)
    assert net.line is BY_NAME
    assert net.lined_up is net
    narrow = ss.BayesNet(*cpds, finding("x", variables[:2]))
    assert narrow.line is BY_NAME
    assert narrow.lined_up is narrow


def test_tables_of_many_parents_join_neighbors_alone():
    """Parents of one state make no table larger."""
    variables = [ss.Discrete(f"c{i:02d}", 1) for i in range(40)]
    cpds = [ss.TableCPD(v, [1.0]) for v in variables]
    wide = ss.TableCPD(ss.Discrete("t"), np.full([1] * 40 + [2], 0.5), given=variables[::-1])
    effects = {v: [0.1] for v in variables}
    net = ss.BayesNet(*cpds, wide, ss.NoisyOr(ss.Discrete("x"), effects, leak=0.1))
    assert along(net.line, [v.name for v in variables]) in ([*range(40)], [*range(40)][::-1])
    assert ss.query(net, "x").values[0] == pytest.approx(0.9**41)


def test_a_network_is_equal_to_itself_before_and_after_its_line_is_known():
    variables, cpds = causes("dbca", path(4))
    one, other = (ss.BayesNet(*cpds, finding("x", variables)) for _ in range(2))
    one.problem()
    assert one == other
    assert one.cpds == one.cpds
    assert not any(getattr(cpd, "line", BY_NAME) for cpd in one.cpds)


def nested(variables, rng, depth, others=()):
    """Tests that each branch goes through in an order of its own."""
    if depth == 0:
        return [0.4, 0.6]
    chosen = rng.choice([v for v in variables if v not in others])
    return ss.cpds.Split(chosen, {s: nested(variables, rng, depth - 1, (*others, chosen)) for s in (0, 1)})


def one_by_one(variables):
    """The first that is on ends the tests."""
    first, *rest = variables
    return ss.cpds.Split(first, {0: one_by_one(rest) if rest else [0.5, 0.5], 1: [0.1, 0.9]})


def test_trees_that_test_in_many_orders_are_choices():
    variables, roots = causes([f"c{i}" for i in range(20)], [])
    mixed = ss.TreeCPD(ss.Discrete("x"), nested(variables, np.random.default_rng(0), 7), given=variables)
    plain = ss.TreeCPD(ss.Discrete("y"), one_by_one(variables))
    assert choices_of([*roots, mixed, plain]) == {"x"}
    assert choices_of([*roots, plain]) == frozenset()


def test_trees_over_dependent_causes_in_another_order_are_choices():
    variables, chain = causes([f"c{i}" for i in range(40)], path(40))
    mixed = [variables[i] for i in np.random.default_rng(0).permutation(40)]
    assert choices_of([*chain, ss.TreeCPD(ss.Discrete("x"), one_by_one(mixed))]) == {"x"}
    assert choices_of([*chain, ss.TreeCPD(ss.Discrete("x"), one_by_one(variables))]) == frozenset()


def test_many_trees_with_the_same_tests_are_no_choices():
    """Ten choices would be open at once, each among 41 leaves; so are ten gates, of two states."""
    variables, roots = causes([f"c{i}" for i in range(40)], [])
    trees = [ss.TreeCPD(ss.Discrete(f"x{k}"), one_by_one(variables)) for k in range(10)]
    assert choices_of([*roots, *trees]) == frozenset()
