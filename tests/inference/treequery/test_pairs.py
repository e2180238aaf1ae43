"""All pairs in one sweep equal enumeration, whatever the root, the parts and the zeros."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable, ScopeError, TooLarge
from sepset.graphs.clusters import ClusterTree
from sepset.inference.exact.messages import calibrate
from sepset.inference.treequery.pairs import PairSweep
from sepset.variables.evidence import resolve
from support.blocks import in_blocks
from support.random_trees import calibrated
from support.tolerances import CLOSE


@in_blocks("seed", range(40))
def test_every_pair_is_that_of_enumeration(seed):
    case = calibrated(np.random.default_rng([seed, 29]), num=8)
    if case is None:
        return
    names = list(case.result.tree.variables)
    pairs = PairSweep(case.result.tree, [case.problem.variables[n] for n in names]).run(case.result.beliefs)
    assert list(pairs) == list(itertools.combinations(names, 2))
    assert len(pairs) == len(list(pairs))
    for a, b in itertools.permutations(names, 2):
        np.testing.assert_allclose(pairs[a, b].values, case.marginal([a, b]), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("kept", [0, 2**16])
@pytest.mark.parametrize("seed", range(12))
def test_wide_trees_whose_sepsets_differ(seed, kept, monkeypatch):
    monkeypatch.setattr("sepset.inference.costs.ENTRIES_OF_CACHED_CODES", kept)
    rng = np.random.default_rng([seed, 37])
    core = ["a", "b", "c"]
    inside = [[n for n in core if rng.random() < 0.6] for _ in range(4)]
    clusters = [core, *([*shared[::-1], f"x{i}", f"y{i}"] for i, shared in enumerate(inside))]
    tree = ClusterTree(clusters, [(0, i + 1) for i in range(4)])
    variables = {name: ss.Discrete(name, int(rng.integers(1, 4))) for name in tree.variables}
    factors = [ss.Table.random([variables[n] for n in rng.permutation(c)], rng, zeros=0.1) for c in clusters]
    result = calibrate(tree, factors)
    if result.log_partition == -math.inf:
        return
    pairs = PairSweep(tree, list(variables.values())).run(result.beliefs)
    joint = functools.reduce(lambda f, g: f * g, factors)
    for a, b in itertools.combinations(variables, 2):
        expected = joint.marginalize([n for n in variables if n not in (a, b)]).align([a, b]).values
        np.testing.assert_allclose(pairs[a, b].values, expected / expected.sum(), rtol=0, atol=CLOSE)


def test_sparse_beliefs_and_scopes_in_any_order():
    a, b, c = (ss.Discrete(n, k) for n, k in (("a", 2), ("b", 3), ("c", 2)))
    rng = np.random.default_rng(3)
    joint = rng.random((2, 3)) @ np.diag([1.0, 0.0, 2.0])
    row = rng.random((3, 2))
    row /= row.sum(axis=1, keepdims=True)
    beliefs = [
        ss.factors.SparseTable.from_table(ss.Table((a, b), joint)),
        ss.Table((c, b), (joint.sum(0)[:, None] * row).T),
    ]
    pairs = PairSweep(ClusterTree([("b", "a"), ("b", "c")], [(0, 1)]), [a, b, c]).run(beliefs)
    np.testing.assert_allclose(pairs["a", "c"].values, joint @ row / joint.sum())
    np.testing.assert_allclose(pairs[c, a].values, (joint @ row / joint.sum()).T)
    np.testing.assert_allclose(pairs["a", "b"].values, joint / joint.sum())


def test_the_alarm_network_against_one_query_a_pair():
    net = ss.datasets.load("alarm")
    evidence = resolve({"HR": "LOW", "PRESS": "HIGH"}, net.variables)
    prepared = ss.inference.BeliefUpdate().prepare(net.problem())
    pairs = prepared.pairwise_marginals(evidence)
    assert len(pairs) == 35 * 34 // 2
    names = [v.name for v in net.variables]
    for a, b in list(pairs)[::23]:
        expected = prepared.query([names.index(a), names.index(b)], evidence).distribution
        np.testing.assert_allclose(pairs[a, b].values, expected.values, rtol=0, atol=CLOSE)


def test_empty_and_single():
    assert list(PairSweep(ClusterTree([]), []).run([])) == []
    a = ss.Discrete("a")
    pairs = PairSweep(ClusterTree([("a",)]), [a]).run([ss.Table(a, [1, 2])])
    assert len(pairs) == 0
    with pytest.raises(ScopeError, match="asked for twice"):
        pairs["a", "a"]
    with pytest.raises(ScopeError, match="no pair with 'b'"):
        pairs["a", "b"]
    assert repr(pairs) == "PairwiseMarginals(1 variables)"


def test_too_much_memory_is_refused_with_the_figure():
    a, b = ss.Discrete("a", 100), ss.Discrete("b", 100)
    with pytest.raises(TooLarge, match="All pairs of 2 variables need about"):
        PairSweep(ClusterTree([("a", "b")]), [a, b], memory=1000)


@pytest.mark.parametrize("given", [{}, {"xray": "yes"}, {"dysp": "yes", "asia": "no"}])
def test_every_pair_of_an_engine_is_its_own_query(given):
    asia = ss.datasets.load("asia")
    engine = ss.prepare(asia)
    pairs = engine.pairwise_marginals(given=given)
    assert len(pairs) == 28
    assert len(list(pairs)) == 28
    for first, second in pairs:
        expected = ss.query(asia, [first, second], given=given, method=ss.inference.BruteForce()).values
        np.testing.assert_allclose(pairs[first, second].values, expected, atol=1e-12)
        np.testing.assert_allclose(pairs[second, first].values, expected.T, atol=1e-12)


def test_variables_serve_as_names():
    asia = ss.datasets.load("asia")
    pairs = ss.prepare(asia).pairwise_marginals()
    assert (pairs[asia["lung"], asia["xray"]].values == pairs["lung", "xray"].values).all()
    assert repr(pairs) == "Pairs(8 variables, 28 pairs)"


def test_bad_pairs_of_an_engine_are_refused():
    pairs = ss.prepare(ss.datasets.load("asia")).pairwise_marginals(given={"xray": "yes"})
    with pytest.raises(ScopeError, match="twice"):
        pairs["xray", "xray"]
    with pytest.raises(ScopeError, match="Did you mean 'lung'"):
        pairs["lungs", "smoke"]
    with pytest.raises(ScopeError, match="Did you mean 'lung'"):
        pairs["xray", "lungs"]
    for wrong in ("lung", ("lung", "smoke", "asia"), ("lung", 3), 3):
        with pytest.raises(ScopeError, match="A pair of variables was expected"):
            pairs[wrong]


@pytest.mark.parametrize("given", [{}, {"xray": "yes"}])
def test_what_is_no_pair_is_absent(given):
    pairs = ss.prepare(ss.datasets.load("asia")).pairwise_marginals(given=given)
    assert ("smoke", "xray") in pairs
    for absent in (("lungs", "smoke"), ("xray", "lungs"), ("xray", "xray"), "lung"):
        assert absent not in pairs
        assert pairs.get(absent) is None


def test_methods_without_a_tree_say_so():
    with pytest.raises(NotApplicable, match="Use CliqueTree"):
        ss.prepare(ss.datasets.load("asia"), method=ss.inference.BruteForce()).pairwise_marginals()


def test_pairs_of_a_network_with_numbers_are_asked():
    """y is 1 + 2 x with noise, and the coin is apart."""
    coin, x, y = ss.Discrete("coin"), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(coin, [0.3, 0.7]),
        ss.LinearGaussian(x, 0.5, covariance=2.0),
        ss.LinearGaussian(y, 1.0, coefficients=2.0, covariance=0.5, given=x),
    )
    pairs = ss.prepare(net).pairwise_marginals()
    assert sorted(pairs) == [("coin", "x"), ("coin", "y"), ("x", "y")]
    np.testing.assert_allclose(pairs["y", "x"].covariance, [[8.5, 4.0], [4.0, 2.0]], rtol=1e-12)
    with pytest.raises(ss.errors.ScopeError, match="no pair with 'z'"):
        pairs["x", "z"]
    with pytest.raises(ss.errors.ScopeError, match="twice"):
        pairs["x", "x"]
    seen = ss.prepare(net).pairwise_marginals(given={"x": 1.0})
    with pytest.raises(ss.errors.ScopeError, match="The value of x is known"):
        seen["x", "y"]


@pytest.mark.parametrize("given", [{"c": "u"}, {"x": 1.0}, {"c": "v", "x": 1.0}])
def test_pairs_of_observed_and_real_variables_are_left_out(given):
    """An observed variable has no joint with a real one; what is listed can be shown and written."""
    c, z, x, y = ss.Discrete("c", ("u", "v")), ss.Discrete("z"), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(c, [0.4, 0.6]),
        ss.TableCPD(z, [[0.2, 0.8], [0.7, 0.3]], given=c),
        ss.LinearGaussian(x, [0.0, 3.0], covariance=[1.0, 0.5], by=c),
        ss.LinearGaussian(y, 0.0, coefficients={x: 1.0}, covariance=1.0, given=x),
    )
    found = ss.prepare(net).pairwise_marginals(given=given)
    reals = {"x", "y"}
    listed = {frozenset(p) for p in itertools.combinations("czxy", 2) if not (set(p) & reals and set(p) & set(given))}
    assert {frozenset(pair) for pair in found} == listed
    assert len(found) == len(listed) == len(found.to_dict()["pairs"])
    assert "joint" in str(found)
    np.testing.assert_allclose(found["c", "z"].values, ss.query(net, ["c", "z"], given=given).values, atol=CLOSE)
