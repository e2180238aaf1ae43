"""Divergences of Gaussian networks with noises of all sizes against rational arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import sepset as ss
from sepset.learning.evaluation.divergence import decimalgaps
from sepset.learning.evaluation.divergence.discrete import Truth
from sepset.learning.evaluation.divergence.gaussian import GaussianTruth
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from support import rational_normals

REALS = [ss.Real("x"), ss.Real("y"), ss.Vector("p", 2), ss.Real("z")]


def line(rng, child, given_, reach, shape=()):
    """A random line; deviations of its noises differ by up to so many powers of ten."""
    size, width = child.size, sum(v.size for v in given_)
    deviation = 10.0 ** rng.uniform(-reach, reach, (*shape, size))
    turn = rng.uniform(-0.5, 0.5, (*shape, 1, 1)) * (1 - np.eye(size)) + np.eye(size)
    covariance = deviation[..., :, None] * turn * deviation[..., None, :]
    return {
        "intercept": rng.standard_normal((*shape, size)) * rng.choice([0.0, 1.0, 1000.0]),
        "coefficients": rng.standard_normal((*shape, size, width)),
        "covariance": (covariance + covariance.swapaxes(-1, -2)) / 2,
    }


def network(rng, reach, share=0.7):
    order = [REALS[int(i)] for i in rng.permutation(len(REALS))]
    cpds = []
    for place, child in enumerate(order):
        given_ = [v for v in order[:place] if rng.random() < share]
        parts = line(rng, child, given_, reach)
        cpds.append(ss.LinearGaussian(child, parts.pop("intercept"), **parts, given=given_))
    return ss.BayesNet(*cpds)


def regressed(rng, net, variables, factor, share=1.0):
    """A network over a random graph with the regressions of another, and covariances that are so many times larger."""
    mean, covariance = rational_normals.moments(net, variables)
    ends = np.cumsum([v.size for v in variables]).tolist()
    spots = {v: list(range(end - v.size, end)) for v, end in zip(variables, ends, strict=True)}
    order = [variables[int(i)] for i in rng.permutation(len(variables))]
    cpds = []
    for place, child in enumerate(order):
        given_ = [v for v in order[:place] if rng.random() < share]
        u, y = [i for v in given_ for i in spots[v]], spots[child]
        left, a = covariance[np.ix_(y, y)], mean[y]
        slopes = np.zeros((len(y), 0))
        if u:
            B = rational_normals.solved(covariance[np.ix_(u, u)], covariance[np.ix_(u, y)])[0].T
            left, a, slopes = left - B @ covariance[np.ix_(u, y)], a - B @ mean[u], B
        floats = [np.array(part, float) for part in (a, slopes, left)]
        cpds.append(
            ss.LinearGaussian(child, floats[0], coefficients=floats[1], covariance=floats[2] * factor, given=given_)
        )
    return ss.BayesNet(*cpds)


def are_covariances(net):
    """Whether the floats are covariances: those nearest to one need not be."""
    found = (rational_normals.fractions(cpd.covariance[0]) for cpd in net.cpds)
    return all(C[0, 0] > 0 and (len(C) == 1 or C[0, 0] * C[1, 1] > C[0, 1] * C[1, 0]) for C in found)


def exact(p, q, variables=REALS):
    return rational_normals.normal_kl(*(rational_normals.moments(net, variables) for net in (p, q)))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 2.0, 6.0, 12.0]), st.sampled_from([None, 1.5, 1.0 + 1e-6]))
@settings(max_examples=60, deadline=None)
def test_divergences_meet_rational_arithmetic(seed, reach, factor):
    """Permuted graphs, with random lines or those of the truth but for a factor of the noise."""
    rng = np.random.default_rng(seed)
    p = network(rng, reach)
    q = network(rng, reach) if factor is None else regressed(rng, p, REALS, factor)
    assume(are_covariances(q))
    found, expected = divergence(p, q), exact(p, q)
    assert found.total == pytest.approx(expected, rel=1e-9, abs=1e-30)
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}
    assert found.structure >= 0
    assert min(found.families.values()) >= 0


@pytest.mark.parametrize("noise", [1.0, 1e-4, 1e-8, 1e-10, 1e-12, 1e-30, 1e12])
@pytest.mark.parametrize("factor", [1.5, 1.0 + 2.0**-20, 1.0])
def test_reversed_graphs_with_the_regressions_of_the_truth(noise, factor):
    x, y, z = variables = [ss.Real(n) for n in "xyz"]
    p = ss.BayesNet(
        ss.LinearGaussian(x, 0.3, covariance=1.0),
        ss.LinearGaussian(y, 0.1, coefficients=1.7, covariance=noise**2, given=x),
        ss.LinearGaussian(z, 0.7, coefficients=[[0.9, -1.3]], covariance=noise**2, given=(x, y)),
    )
    q = regressed(np.random.default_rng(0), p, variables, factor)
    assert {v: q.parents(v) for v in "xyz"} != {v: p.parents(v) for v in "xyz"}
    found = divergence(p, q)
    assert found.total == pytest.approx(exact(p, q, variables), rel=1e-9, abs=1e-30)
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}


A, B = ss.Discrete("a", 2), ss.Discrete("b", 3)


def mixed_network(rng, tables, reach):
    order, cpds = [REALS[int(i)] for i in rng.permutation(len(REALS))], list(tables)
    for place, child in enumerate(order):
        given_, by = [v for v in order[:place] if rng.random() < 0.7], [v for v in (A, B) if rng.random() < 0.6]
        parts = line(rng, child, given_, reach, tuple(v.num_states for v in by))
        cpds.append(ss.LinearGaussian(child, parts.pop("intercept"), **parts, given=given_, by=by))
    return ss.BayesNet(*cpds)


def lines_at(net, states):
    lines = []
    for cpd in net.cpds:
        if not cpd.child.is_discrete:
            place = np.ravel_multi_index([states[v] for v in cpd.by], [v.num_states for v in cpd.by]) if cpd.by else 0
            parts = {"coefficients": cpd.coefficients[place], "covariance": cpd.covariance[place], "given": cpd.given}
            lines.append(ss.LinearGaussian(cpd.child, cpd.intercept[place], **parts))
    return ss.BayesNet(*lines)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 3.0, 8.0]))
@settings(max_examples=25, deadline=None)
def test_contexts_meet_rational_arithmetic(seed, reach):
    rng = np.random.default_rng(seed)
    tables = [ss.TableCPD(A, rng.dirichlet([1.0, 1.0])), ss.TableCPD(B, rng.dirichlet(np.ones(3), 2), given=A)]
    p, q = mixed_network(rng, tables, reach), mixed_network(rng, tables, reach)
    terms = []
    for a in range(2):
        for b in range(3):
            ours, theirs = (lines_at(net, {A: a, B: b}) for net in (p, q))
            terms.append(float(tables[0].values[a] * tables[1].values[a, b]) * exact(ours, theirs))
    found = divergence(p, q)
    assert found.total == pytest.approx(math.fsum(terms), rel=1e-9)
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, 2.0, 4.0]), st.sampled_from([None, 1.5, 1.0 + 1e-4]))
@settings(max_examples=60, deadline=None)
def test_floats_bound_their_errors(seed, reach, factor):
    rng = np.random.default_rng(seed)
    p = network(rng, reach)
    q = network(rng, reach) if factor is None else regressed(rng, p, REALS, factor)
    assume(are_covariances(q))
    truth = GaussianTruth(p)
    gaps = [truth.gap(q, v.name) for v in REALS]
    total = math.fsum(gap.graph + gap.parameters for gap in gaps)
    assert abs(total - exact(p, q)) <= math.fsum(gap.error for gap in gaps) + 1e-15 * abs(total)


def test_what_takes_too_many_digits_is_an_estimate(monkeypatch):
    rng = np.random.default_rng(0)
    plain, other = network(rng, 0.0), network(rng, 0.0)
    x, y = ss.Real("x"), ss.Real("y")
    cause = ss.LinearGaussian(x, covariance=1.0)
    far = ss.BayesNet(cause, ss.LinearGaussian(y, coefficients=0.3, covariance=1e-24, given=x))
    turned = regressed(np.random.default_rng(0), far, [y, x], 1.5)
    if turned.parents("y"):
        turned = regressed(np.random.default_rng(0), far, [x, y], 1.5)
    assert turned.parents("x")
    assert divergence(far, turned).guarantees == {"divergence": ss.Guarantee.EXACT}
    expected = divergence(plain, other).total
    monkeypatch.setattr(decimalgaps, "MOST_STEPS", 0)
    assert divergence(far, turned).guarantees == {"divergence": ss.Guarantee.ESTIMATE}
    found = divergence(plain, other)
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}
    assert found.total == pytest.approx(expected, rel=1e-12)
    assert Truth(plain).parts(other).error < 1e-9 * expected


def test_deterministic_relations_in_another_graph():
    """With y = 2x in both, the divergence is that of the other two."""
    x, y, z = (ss.Real(n) for n in "xyz")
    p = ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=3.0),
        ss.LinearGaussian(y, 5.0, coefficients=2.0, covariance=0.0, given=x),
        ss.LinearGaussian(z, coefficients=0.7, covariance=0.5, given=y),
    )

    def other(slope, noise, start=-2.5):
        return ss.BayesNet(
            ss.LinearGaussian(z, 0.25, covariance=2.0),
            ss.LinearGaussian(y, coefficients=0.3, covariance=1.5, given=z),
            ss.LinearGaussian(x, start, coefficients=slope, covariance=noise, given=y),
        )

    ours = ss.BayesNet(
        ss.LinearGaussian(y, 7.0, covariance=12.0), ss.LinearGaussian(z, coefficients=0.7, covariance=0.5, given=y)
    )
    theirs = ss.BayesNet(*other(0.5, 0.0).cpds[:2])
    found = divergence(p, other(0.5, 0.0))
    assert found.total == pytest.approx(exact(ours, theirs, [y, z]), rel=1e-12)
    assert found.structure == pytest.approx(0.0, abs=1e-30)
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}
    for q in (other(0.5, 1e-300), other(0.25, 0.0), other(0.5, 0.0, -2.0)):
        assert divergence(p, q).total == math.inf
        assert divergence(q, p).total == math.inf
    assert divergence(p, ss.BayesNet(*(ss.LinearGaussian(v, covariance=1.0) for v in (x, y, z)))).structure == math.inf


def test_deterministic_relations_in_some_contexts():
    d, x, y = ss.Discrete("d"), ss.Real("x"), ss.Real("y")
    table = ss.TableCPD(d, [0.25, 0.75])
    p = ss.BayesNet(
        table,
        ss.LinearGaussian(x, covariance=1.0),
        ss.LinearGaussian(y, coefficients=[[[2.0]], [[1.0]]], covariance=[0.0, 1.0], given=x, by=d),
    )
    q = ss.BayesNet(
        table,
        ss.LinearGaussian(y, covariance=[4.0, 4.0], by=d),
        ss.LinearGaussian(x, coefficients=[[[0.5]], [[0.5]]], covariance=[0.0, 0.5], given=y, by=d),
    )
    # where y = 2x both agree; else x given y is the same and the variance of y is 2, not 4
    expected = 0.75 * 0.5 * (0.5 - 1.0 + math.log(2.0))
    assert divergence(p, q).total == pytest.approx(expected, rel=1e-12)
    assert divergence(q, p).total == pytest.approx(0.75 * 0.5 * (exact_pair() * 2), rel=1e-12)


def exact_pair():
    """Of the second network from the first where neither is deterministic."""
    x, y = ss.Real("x"), ss.Real("y")
    first = ss.BayesNet(
        ss.LinearGaussian(x, covariance=1.0), ss.LinearGaussian(y, coefficients=1.0, covariance=1.0, given=x)
    )
    second = ss.BayesNet(
        ss.LinearGaussian(y, covariance=4.0), ss.LinearGaussian(x, coefficients=0.5, covariance=0.5, given=y)
    )
    return exact(second, first, [x, y])
