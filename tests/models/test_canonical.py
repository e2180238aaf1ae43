"""The canonical parameterization of positive distributions (temporal-and-learning-goals U15)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.models.canonical import canonical_form
from support.blocks import in_blocks


def log_joint(net: ss.MarkovNet, scope) -> np.ndarray:
    """The product of a network's factors at every assignment, term by term."""
    shape = [v.num_states for v in scope]
    result = np.zeros(shape)
    for codes in itertools.product(*map(range, shape)):
        states = {v: v.states[c] for v, c in zip(scope, codes, strict=True)}
        result[codes] = sum(net.problem().factor(i).log_value(states) for i in range(net.problem().num_factors))
    return result


@in_blocks("seed", range(20))
def test_all_subsets_give_any_positive_joint(seed):
    rng = np.random.default_rng(seed)
    scope = [ss.Discrete(f"v{i}", int(k)) for i, k in enumerate(rng.integers(1, 4, rng.integers(0, 4)))]
    values = rng.dirichlet(np.ones(max(int(np.prod([v.num_states for v in scope])), 1)))
    net = canonical_form(ss.Table(scope, values))
    expected = np.log(values).reshape([v.num_states for v in scope])
    np.testing.assert_allclose(log_joint(net, scope), expected, atol=1e-10)


@in_blocks("seed", range(10))
def test_the_cliques_of_an_i_map_are_enough(seed):
    rng = np.random.default_rng(seed)
    a, b, c, d = (ss.Discrete(n, int(rng.integers(2, 4))) for n in "abcd")
    edges = [(a, b), (b, c), (c, d), (d, a)]
    tables = [rng.uniform(0.2, 3.0, (x.num_states, y.num_states)) for x, y in edges]
    values = np.einsum("ab,bc,cd,da->abcd", *tables)
    joint = ss.Table([a, b, c, d], values / values.sum())
    reference = {"b": b.states[-1]}
    net = canonical_form(joint, ss.UndirectedGraph.parse("a - b - c - d - a"), reference=reference)
    assert net.problem().num_factors == 1 + 4 + 4
    np.testing.assert_allclose(log_joint(net, [a, b, c, d]), np.log(values / values.sum()), atol=1e-10)
    assert float(ss.log_partition(net)) == pytest.approx(0.0, abs=1e-10)


def test_factors_outside_the_graph_are_one():
    rng = np.random.default_rng(3)
    a, b, c = (ss.Discrete(n) for n in "abc")
    values = np.einsum("ab,bc->abc", rng.uniform(0.2, 1, (2, 2)), rng.uniform(0.2, 1, (2, 2)))
    net = canonical_form(ss.Table([a, b, c], values / values.sum()))
    for i in range(net.problem().num_factors):
        factor = net.problem().factor(i)
        if {"a", "c"} <= {v.name for v in factor.scope}:
            np.testing.assert_allclose(factor.log_values, 0.0, atol=1e-12)


def test_zeros_are_refused():
    with pytest.raises(ss.errors.ModelError, match="positive"):
        canonical_form(ss.Table(ss.Discrete("a"), [0.0, 1.0]))


def test_large_joints_are_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(ss.Table, "ones", lambda *_: pytest.fail("a table was made"))
    chain = [ss.Table([ss.Discrete(f"v{i}"), ss.Discrete(f"v{i + 1}")], [[1, 2], [3, 4]]) for i in range(29)]
    with pytest.raises(ss.TooLarge, match=r"joint table .* 1.07e\+09 entries"):
        canonical_form(ss.MarkovNet(*chain))


def test_joints_beyond_all_floating_point_numbers_are_refused():
    with pytest.raises(ss.TooLarge, match=r"joint table .* 10\^602 entries"):
        canonical_form(ss.MarkovNet(variables=[ss.Discrete(f"v{i}") for i in range(2000)]))


def test_many_subsets_are_refused_and_few_cliques_are_found_without_them():
    scope = [ss.Discrete(f"v{i}") for i in range(17)]
    joint = ss.Table(scope, np.full(2**17, 2.0**-17))
    with pytest.raises(ss.TooLarge, match=r"all subsets .* 1.29e\+08 entries"):
        canonical_form(joint)
    path = ss.UndirectedGraph.parse("; ".join(f"v{i} - v{i + 1}" for i in range(16)))
    assert canonical_form(joint, path).problem().num_factors == 1 + 17 + 16
