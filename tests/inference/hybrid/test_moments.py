"""Moments by a sweep against sums over all joint states, each with its own joint normal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sepset as ss
from sepset.inference.capabilities import moments
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.hybrid.moments import forward_moments, frontier_size, mixed
from sepset.inference.method import FindsMoments

STATES = [ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)]
REALS = [ss.Real("x"), ss.Vector("p", 2), ss.Real("y")]


def network(rng, zeros=0.2):
    """Random tables and lines; discrete and real variables take turns."""
    cpds = []
    for i, state in enumerate(STATES):
        parents = [v for v in STATES[:i] if rng.random() < 0.6]
        values = rng.dirichlet(np.ones(state.num_states), tuple(v.num_states for v in parents))
        values = np.where(rng.random(values.shape) < zeros, 0.0, values) + 1e-300 * np.eye(state.num_states)[0]
        cpds.append(ss.TableCPD.normalized(state, values, given=parents))
        real, by = REALS[i], [v for v in STATES[: i + 1] if rng.random() < 0.6]
        given_ = [v for v in REALS[:i] if rng.random() < 0.7]
        shape, wide = tuple(v.num_states for v in by), sum(v.size for v in given_)
        root = rng.standard_normal((*shape, real.size, real.size))
        line = {
            "coefficients": rng.standard_normal((*shape, real.size, wide)),
            "covariance": root @ root.swapaxes(-1, -2),
        }
        cpds.append(ss.LinearGaussian(real, rng.standard_normal((*shape, real.size)), **line, given=given_, by=by))
    return ss.BayesNet(*cpds)


def enumerated(net, reals, by):
    """Weighted first and second moments, joint state by joint state, from solving x = a + B x + e."""
    spots = dict(zip(REALS, ([0], [1, 2], [3]), strict=True))
    at = [i for v in reals for i in spots[v]]
    shape = tuple(v.num_states for v in by)
    w, first, second = np.zeros(shape), np.zeros((*shape, len(at))), np.zeros((*shape, len(at), len(at)))
    for codes in itertools.product(*(range(v.num_states) for v in STATES)):
        here = dict(zip(STATES, codes, strict=True))
        chance, a, A, C = 1.0, np.zeros(4), np.zeros((4, 4)), np.zeros((4, 4))
        for cpd in net.cpds:
            if cpd.child.is_discrete:
                chance *= cpd.values[tuple(here[v] for v in cpd.scope)]
                continue
            place = np.ravel_multi_index([here[v] for v in cpd.by], [v.num_states for v in cpd.by]) if cpd.by else 0
            rows, columns = spots[cpd.child], [i for v in cpd.given for i in spots[v]]
            a[rows], A[np.ix_(rows, columns)] = cpd.intercept[place], cpd.coefficients[place]
            C[np.ix_(rows, rows)] = cpd.covariance[place]
        inverse = np.linalg.inv(np.eye(4) - A)
        mean, spread = (inverse @ a)[at], (inverse @ C @ inverse.T)[np.ix_(at, at)]
        context = tuple(here[v] for v in by)
        w[context] += chance
        first[context] += chance * mean
        second[context] += chance * (spread + np.outer(mean, mean))
    count = int(np.prod(shape))
    return w.reshape(count), first.reshape(count, len(at)), second.reshape(count, len(at), len(at))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_moments_are_those_of_all_joint_states(seed):
    rng = np.random.default_rng(seed)
    net = network(rng)
    reals = [REALS[int(i)] for i in rng.permutation(3)[: rng.integers(4)]]
    by = [STATES[int(i)] for i in rng.permutation(3)[: rng.integers(4)]]
    found = forward_moments(net.problem(), reals, by)
    w, mean, covariance = found.weights, found.mean, found.covariance
    weights, first, second = enumerated(net, reals, by)
    np.testing.assert_allclose(w, weights, atol=1e-12)
    np.testing.assert_allclose(w[:, None] * mean, first, atol=1e-9)
    outer = mean[:, :, None] * mean[:, None, :]
    np.testing.assert_allclose(w[:, None, None] * (covariance + outer), second, rtol=1e-9, atol=1e-9)


def test_long_chains_have_small_frontiers():
    cpds = []
    for i in range(300):
        s, x = ss.Discrete(f"s{i}"), ss.Real(f"x{i}")
        before = [ss.Discrete(f"s{i - 1}"), ss.Real(f"x{i - 1}")] if i else []
        cpds.append(ss.TableCPD(s, [[0.9, 0.1], [0.1, 0.9]] if i else [0.5, 0.5], given=before[:1]))
        slopes = np.full((2, 1, len(before[1:])), 0.5)
        cpds.append(ss.LinearGaussian(x, [-1.0, 1.0], coefficients=slopes, covariance=1.0, given=before[1:], by=s))
    found = forward_moments(ss.BayesNet(*cpds).problem(), [ss.Real("x299")], [], largest=100)
    w, mean, covariance = found.weights, found.mean, found.covariance
    assert w.tolist() == pytest.approx([1.0])
    assert mean[0, 0] == pytest.approx(0.0, abs=1e-12)
    # x = sum of halves: variance 4/3, and signs that keep with correlation 0.8: (1 + 2 * 0.4 / 0.6) * 4/3
    assert covariance[0, 0, 0] == pytest.approx(4 / 3 + 4 / 3 * (1 + 0.4) / (1 - 0.4), rel=1e-9)


def test_frontiers_that_are_too_large_are_refused():
    states = [ss.Discrete(f"s{i}") for i in range(30)]
    x = ss.Real("x")
    net = ss.BayesNet(
        *(ss.TableCPD(s, [0.5, 0.5]) for s in states),
        *(ss.LinearGaussian(ss.Real(f"x{i}"), [0.0, 1.0], covariance=1.0, by=s) for i, s in enumerate(states)),
        ss.LinearGaussian(
            x, coefficients=np.ones((1, 30)), covariance=1.0, given=[ss.Real(f"x{i}") for i in range(30)]
        ),
    )
    assert forward_moments(net.problem(), [x], [])[1][0, 0] == pytest.approx(15.0)
    assert frontier_size(net.problem(), [x]) < 5_000 < 2**30 < frontier_size(net.problem(), [x, *states])
    with pytest.raises(ss.TooLarge, match="draw samples"):
        forward_moments(net.problem(), [x], states)


def test_mixtures():
    found = mixed(np.array([0.1, 0.3, 0.0, 0.0]), np.array([[0.0], [4.0], [1.0], [2.0]]), np.ones((4, 1, 1)), 2)
    w, mean, covariance = found.weights, found.mean, found.covariance
    assert w.tolist() == pytest.approx([0.4, 0.0])
    assert mean[:, 0].tolist() == pytest.approx([3.0, 0.0])
    assert covariance[0, 0, 0] == pytest.approx(1.0 + 0.25 * 9 + 0.75 * 1)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_lists_and_queries_find_the_same(seed):
    """What a prepared network says at once, by lists or by a sweep, is what single questions say."""
    rng = np.random.default_rng(seed)
    net = network(rng)
    reals = [net.variables.id(REALS[int(i)]) for i in rng.permutation(3)[: rng.integers(1, 4)]]
    by = [net.variables.id(STATES[int(i)]) for i in rng.permutation(3)[: rng.integers(4)]]
    prepared = CliqueTree().prepare(net.problem())
    assert isinstance(prepared, FindsMoments)
    listed = prepared.moments(reals, by)
    weights, first, second = enumerated(net, [net.variables[v] for v in reals], [net.variables[v] for v in by])
    outer = listed.mean[:, :, None] * listed.mean[:, None, :]
    np.testing.assert_allclose(listed.weights, weights, atol=1e-12)
    np.testing.assert_allclose(listed.weights[:, None] * listed.mean, first, atol=1e-9)
    scale = listed.weights[:, None, None]
    np.testing.assert_allclose(scale * (listed.covariance + outer), second, rtol=1e-9, atol=1e-9)
    asked = moments(VariableElimination().prepare(net.problem()), reals, by)
    np.testing.assert_allclose(asked.weights, weights, atol=1e-9)
    live = weights > 1e-12
    np.testing.assert_allclose(asked.mean[live], listed.mean[live], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(asked.covariance[live], listed.covariance[live], rtol=1e-5, atol=1e-5)


def test_auxiliaries_are_summed_out():
    *causes, e = (ss.Discrete(n) for n in "abcfghe")
    x = ss.Real("x")
    cause = ss.NoisyOr(e, dict.fromkeys(causes, 0.3), leak=0.1)
    line = ss.LinearGaussian(x, [0.0, 1.0], covariance=[1.0, 2.0], by=e)
    net = ss.BayesNet(*(ss.TableCPD(v, [0.4, 0.6]) for v in causes), cause, line)
    plain = ss.BayesNet(*(ss.TableCPD(v, [0.4, 0.6]) for v in causes), cause.to_table(), line)
    assert cause.auxiliaries
    for one, other in zip(*(forward_moments(n.problem(), [x], [causes[0]]) for n in (net, plain)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
