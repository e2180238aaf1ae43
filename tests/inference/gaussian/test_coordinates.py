"""Scalar regressions of networks, vectors and joint normal distributions, by dense linear algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sepset as ss
from sepset.factors.moments import Gaussian
from sepset.graphs.graph import ancestors
from sepset.inference import costs
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.models.jointgaussian import joint_gaussian
from support.hybrid_rows import random_case
from support.tolerances import CLOSE

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
D, E = ss.Discrete("d", 2), ss.Discrete("e", 3)
X, Y, P, Q = ss.Real("x"), ss.Real("y"), ss.Vector("p", 2), ss.Vector("q", 3)


def dense(coordinates, entries):
    """The mean and covariance of all coordinates, from x = a + B x + noise."""
    size = len(coordinates)
    a, B, c = np.zeros(size), np.zeros((size, size)), np.zeros(size)
    for i, (part, e) in enumerate(zip(coordinates.all, entries, strict=True)):
        a[i], c[i] = part.intercept[e], part.variance[e]
        B[i, part.parents] = part.slopes[e]
    inverse = np.linalg.inv(np.eye(size) - B)
    return inverse @ a, inverse @ np.diag(c) @ inverse.T


def random_covariance(rng, shape, size, rank=None):
    root = rng.normal(size=(*shape, size, size if rank is None else rank))
    return root @ np.swapaxes(root, -1, -2)


def vector_net(rng, rank=None):
    """x given d, p given x by (d, e), q given (p, x): vectors between numbers."""
    return ss.BayesNet(
        ss.TableCPD(D, [0.5, 0.5]),
        ss.TableCPD(E, [0.2, 0.3, 0.5]),
        ss.LinearGaussian(
            Q, rng.normal(size=3), coefficients=rng.normal(size=(3, 3)),
            covariance=random_covariance(rng, (), 3, rank), given=(P, X),
        ),
        ss.LinearGaussian(
            P, rng.normal(size=(2, 3, 2)), coefficients=rng.normal(size=(2, 3, 2, 1)),
            covariance=random_covariance(rng, (2, 3), 2, rank), given=X, by=(D, E),
        ),
        ss.LinearGaussian(X, rng.normal(size=2), covariance=rng.random(2) + 0.1, by=D),
    )  # fmt: skip


@given(seeds, st.sampled_from([None, 1]))
@settings(max_examples=40, deadline=None)
def test_vectors_become_scalar_regressions_with_the_same_joint(rng, rank):
    net = vector_net(rng, rank)
    found = Coordinates.of(net.problem())
    assert len(found) == 6
    assert found.contexts == (0, 1)
    assert found.reals == (4,)
    for d, e in itertools.product(range(2), range(3)):
        contexts = np.array([[d, e]])
        entries = [int(found.entry(part.by, contexts)[0]) for part in found.all]
        mean, covariance = dense(found, entries)
        lines = [conditioned(cpd, {"d": d, "e": e}) for cpd in net.cpds[2:]]
        joint = joint_gaussian(lines)
        order = [net.variables.id(v) for v in joint.scope]
        at = np.concatenate([found.families[v].own for v in order])
        np.testing.assert_allclose(mean[at], joint.mu, atol=CLOSE)
        np.testing.assert_allclose(covariance[np.ix_(at, at)], joint.covariance, atol=1e-8)


def conditioned(cpd, states):
    e = 0
    for v in cpd.by:
        e = e * v.num_states + states[v.name]
    return ss.LinearGaussian(
        cpd.child, cpd.intercept[e], coefficients=cpd.coefficients[e], covariance=cpd.covariance[e], given=cpd.given
    )


@given(seeds, st.sampled_from([None, 2]))
@settings(max_examples=40, deadline=None)
def test_a_joint_distribution_is_a_chain_of_regressions(rng, rank):
    mean, covariance = rng.normal(size=6), random_covariance(rng, (), 6, rank)
    found = Coordinates.of_gaussian(Gaussian((X, Q, P), mean, covariance=covariance), (2, 0, 1))
    made = dense(found, [0] * 6)
    np.testing.assert_allclose(made[0], mean, atol=1e-7)
    np.testing.assert_allclose(made[1], covariance, atol=1e-7)
    assert {v: f.own.tolist() for v, f in found.families.items()} == {2: [0], 0: [1, 2, 3], 1: [4, 5]}
    if rank is not None:
        assert sum(float(part.variance[0]) > 0 for part in found.all) == rank


@pytest.mark.parametrize("most", [0, costs.NUMBERS_SWEPT])
@pytest.mark.parametrize("seed", range(10))
def test_parents_come_first(seed, most, monkeypatch):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", most)
    net, _, _ = random_case(seed)
    found = Coordinates.of(net.problem())
    own = np.eye(len(found), dtype=np.bool_)
    is_above, depends = found.ancestors(own), found.needed(own)
    assert all((part.parents < i).all() for i, part in enumerate(found.all))
    above = {n: set(ancestors(net.dag, [n], inclusive=True)) for n in net.variables.names}
    names = {int(f.own[0]): net.variables[v].name for v, f in found.families.items()}
    for i, j in itertools.product(range(len(found)), repeat=2):
        assert is_above[i, j] == (names[j] in above[names[i]])
    for i, name in names.items():
        states = {net.variables[v].name for v, flag in zip(found.contexts, depends[i], strict=True) if flag}
        assert states == {v.name for v in net.cpd(name).by}


def test_flat_parameters():
    net = vector_net(np.random.default_rng(0))
    found = Coordinates.of(net.problem())
    start, above, first, slope_first = found.flat.structure
    for i, part in enumerate(found.all):
        assert above[start[i] : start[i + 1]].tolist() == part.parents.tolist()
        num, width = part.slopes.shape
        np.testing.assert_array_equal(found.flat.intercept[first[i] : first[i] + num], part.intercept)
        np.testing.assert_array_equal(found.flat.variance[first[i] : first[i] + num], part.variance)
        slopes = found.flat.slopes[slope_first[i] : slope_first[i] + num * width]
        np.testing.assert_array_equal(slopes.reshape(num, width), part.slopes)


def test_moments_are_split_by_family():
    net = vector_net(np.random.default_rng(0))
    found = Coordinates.of(net.problem())
    total = int(found.layout[2][-1])
    parts = found.split(np.arange(total, dtype=float))
    assert {net.variables[v].name: p.shape for v, p in parts.items()} == {
        "x": (2, 2, 2), "p": (6, 4, 4), "q": (1, 7, 7),
    }  # fmt: skip
    for part in parts.values():
        np.testing.assert_array_equal(part, np.swapaxes(part, 1, 2))
    assert total == sum(p.size for p in parts.values())


def test_new_values_keep_the_structure():
    net = vector_net(np.random.default_rng(0))
    found = Coordinates.of(net.problem())
    other = vector_net(np.random.default_rng(1)).problem().regressions
    made = found.with_values(other)
    assert made.families is found.families
    x = net.variables.id(X)
    np.testing.assert_array_equal(made.all[made.column(x)].intercept, other[x].intercept[:, 0])


@pytest.mark.parametrize(
    "net",
    [
        ss.BayesNet(ss.TableCPD(D, [0.5, 0.5])),
        ss.BayesNet(ss.LinearGaussian(X, covariance=1.0)).markov_net(),
        ss.MarkovNet(ss.factors.CanonicalGaussian(X, 1.0, h=0.0)),
    ],
    ids=["discrete", "a product", "a potential"],
)
def test_other_problems_have_none(net):
    assert Coordinates.of(net.problem()) is None
