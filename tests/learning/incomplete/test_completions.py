"""EM with real variables is held to dense normal distributions and to enumeration of states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats as sps

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.priors.weights import Normal
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, ImpossibleEvidence, NotClosed, TooLarge
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.learning.estimation.estimators import MLE
from sepset.learning.fit import fit
from sepset.learning.incomplete.completions import Completions
from sepset.learning.incomplete.em import EM, HardEM, IncrementalEM
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.jointgaussian import joint_gaussian
from sepset.variables.variable import Discrete, Real
from support.learning_cases import mixed, mixed_rows, u


def conditioned(net, codes):
    lines = []
    for cpd in net.cpds:
        if isinstance(cpd, LinearGaussian):
            e = 0
            for p in cpd.by:
                e = e * p.num_states + codes[p.name]
            lines.append(LinearGaussian(cpd.child, cpd.intercept[e], coefficients=cpd.coefficients[e],
                                        covariance=cpd.covariance[e], given=cpd.given))  # fmt: skip
    return joint_gaussian(lines)


def plain(net, rows):
    """The log-likelihood and every family's expected moments, row by row, from dense normal distributions."""
    discrete = [x for x in net.variables if isinstance(x, Discrete)]
    total, moments = 0.0, {}
    for row in rows.rows():
        parts = []
        options = [range(x.num_states) if row[x.name] is None else [x.code(row[x.name])] for x in discrete]
        for codes in itertools.product(*options):
            full = dict(zip([x.name for x in discrete], codes, strict=True))
            with np.errstate(divide="ignore"):
                log = sum(
                    float(np.log(c.values[tuple(full[s.name] for s in c.scope)]))
                    for c in net.cpds
                    if isinstance(c, TableCPD)
                )
            joint = conditioned(net, full)
            names = [x.name for x in joint.scope]
            o = [i for i, n in enumerate(names) if row[n] is not None]
            m = [i for i, n in enumerate(names) if row[n] is None]
            seen = np.array([row[names[i]] for i in o])
            S, mu = joint.covariance, joint.mu
            if o:
                log += sps.multivariate_normal(mu[o], S[np.ix_(o, o)]).logpdf(seen)
            gain = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
            mean, cov = np.zeros(len(names)), np.zeros(S.shape)
            mean[o] = seen
            mean[m] = mu[m] + gain @ (seen - mu[o])
            cov[np.ix_(m, m)] = S[np.ix_(m, m)] - gain @ S[np.ix_(o, m)]
            parts.append((full, log, names, mean, cov))
        logs = np.array([p[1] for p in parts])
        top = logs.max()
        share = np.exp(logs - top)
        total += top + np.log(share.sum())
        for weight, (full, _, names, mean, cov) in zip(share / share.sum(), parts, strict=True):
            for cpd in net.cpds:
                place = tuple(full[s.name] for s in cpd.scope if isinstance(s, Discrete))
                if isinstance(cpd, TableCPD):
                    value = weight
                else:
                    at = [names.index(s.name) for s in (*cpd.given, cpd.child)]
                    z = np.concatenate([[1.0], mean[at]])
                    value = weight * np.outer(z, z)
                    value[1:, 1:] += weight * cov[np.ix_(at, at)]
                key = (cpd.child.name, place)
                moments[key] = moments.get(key, 0.0) + value
    return total, moments


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_expected_moments_are_those_of_dense_normals(share):
    net = mixed()
    rows = mixed_rows(net, 25, share)
    task = Task(net, rows)
    expectation = Completions.of(task)
    found = expectation.expect(net)
    total, moments = plain(net, rows)
    assert_allclose(found.log_likelihood, total, rtol=1e-11)
    for members, stats in zip(expectation.blocks.members, found.statistics, strict=True):
        cpd = net.cpds[members[0]]
        if isinstance(cpd, TableCPD):
            shape = stats.reshape([s.num_states for s in cpd.scope])
            for place in np.ndindex(shape.shape):
                assert_allclose(shape[place], moments.get((cpd.child.name, place), 0.0), rtol=1e-9, atol=1e-12)
            continue
        center = np.concatenate([[0.0], expectation.blocks.forms[members[0]].center])
        shift = np.eye(len(center))
        shift[1:, 0] = -center[1:]
        places = itertools.product(*(range(p.num_states) for p in cpd.by))
        for matrix, place in zip(stats, places, strict=True):
            wanted = moments.get((cpd.child.name, place), np.zeros(matrix.shape))
            assert_allclose(matrix, shift @ wanted @ shift.T, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", [EM(start="model"), EM(start="model", acceleration="squarem"),
                                    IncrementalEM(3, start="model"), HardEM(start="model")], ids=repr)  # fmt: skip
@pytest.mark.parametrize("hide", [(), ("h",)])
def test_no_step_lowers_the_objective(method, hide):
    net = mixed()
    rows = mixed_rows(net, 80, 0.2, hide=hide)
    if isinstance(method, HardEM):
        rows = mixed_rows(net, 80, 0.0, hide=("h",))
    found = fit(net, rows, method, until=Until(steps=12, tolerance=None))
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()
    assert_allclose(found.log_likelihood, plain(found.model, rows)[0], rtol=1e-10)


def test_free_energy_starts_at_the_log_likelihood():
    net = mixed()
    rows = mixed_rows(net, 30, 0.3)
    found = fit(net, rows, IncrementalEM(4, start="model"), until=1)
    assert found.trace[0] <= plain(found.model, rows)[0] + 1e-9


def test_complete_rows_take_one_step_to_maximum_likelihood():
    net = mixed()
    rows = net.sample(200, seed=3)
    found, wanted = fit(net, rows, EM(start="model")), fit(net, rows, MLE())
    for cpd in net.cpds[2:]:
        one, other = found.model.cpd(cpd.child), wanted.model.cpd(cpd.child)
        assert_allclose(one.intercept, other.intercept, rtol=1e-9)
        assert_allclose(one.coefficients, other.coefficients, rtol=1e-9)
        assert_allclose(one.covariance, other.covariance, rtol=1e-9)
    assert_allclose(found.log_likelihood, wanted.log_likelihood, rtol=1e-11)


def test_large_means_keep_their_digits():
    rng = np.random.default_rng(0)
    x = 1e8 + rng.normal(size=200)
    y = 2.0 * (x - 1e8) + rng.normal(size=200)
    x[::7] = np.nan
    found = fit(DAG.parse("x -> y"), {"x": x, "y": y}, EM()).model
    assert_allclose(found.cpd("x").covariance.item(), 1.0, atol=0.3)
    assert_allclose(found.cpd("y").coefficients.item(), 2.0, atol=0.2)


def test_bivariate_normal_with_holes_maximizes_the_likelihood():
    rng = np.random.default_rng(1)
    x = rng.normal(size=80)
    y = 1.0 + 2.0 * x + rng.normal(size=80)
    x[:20], y[60:] = np.nan, np.nan
    found = fit(DAG.parse("x -> y"), {"x": x, "y": y}, EM(), until=Until(steps=5000, tolerance=1e-15))

    def score(p):
        mean = np.array([p[0], p[1] + p[2] * p[0]])
        sx, s = np.exp(p[3]), np.exp(p[4])
        S = np.array([[sx, p[2] * sx], [p[2] * sx, p[2] ** 2 * sx + s]])
        total = 0.0
        for row in np.column_stack([x, y]):
            o = ~np.isnan(row)
            total += sps.multivariate_normal(mean[o], S[np.ix_(o, o)]).logpdf(row[o])
        return -total

    from scipy.optimize import minimize

    best = minimize(score, np.zeros(5), method="BFGS", options={"gtol": 1e-7})
    assert_allclose(found.log_likelihood, -best.fun, rtol=1e-9)
    assert_allclose(found.model.cpd("y").coefficients.item(), best.x[2], rtol=1e-4)


def test_mixtures_find_their_components():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 500)
    frame = {"x": rng.normal(np.array([-5.0, 0.0, 5.0])[z]), "y": rng.normal(np.array([2.0, -4.0, 0.0])[z])}
    found = fit(DAG.parse("z -> x; z -> y"), frame, EM(), variables=[Discrete("z", 3)])
    assert_allclose(np.sort(found.model.cpd("x").intercept.ravel()), [-5, 0, 5], atol=0.3)
    assert_allclose(np.sort(found.model.cpd("z").values), np.sort(np.bincount(z) / 500), atol=0.02)


def test_hard_em_on_spheres_is_k_means():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(-2, 1, 40), rng.normal(2, 1, 60)])
    z, r = Discrete("z", 2), Real("x")
    centers = np.array([-0.5, 0.1])
    for _ in range(50):
        near = np.abs(x[:, None] - centers).argmin(axis=1)
        centers = np.array([x[near == k].mean() for k in range(2)])

    class Equal(LinearGaussian):
        """Spheres of one fixed size with equal weights: only the centers are learned."""

        def from_statistics(self, stats, prior=None, *, unseen="raise"):
            made = LinearGaussian.from_statistics(self, stats, prior, unseen=unseen)
            return Equal(self.child, made.intercept[:, 0], covariance=np.ones(2), by=self.by)

    net = BayesNet(TableCPD(z, [0.5, 0.5]), Equal(r, [-0.5, 0.1], covariance=[1.0, 1.0], by=z))
    # A strong prior holds the weights of the spheres equal.
    prior = {"z": Dirichlet(1e12), "x": Normal(1.0)}
    found = fit(net, {"x": x}, HardEM(prior=prior, start="model"), until=Until(steps=100, tolerance=None)).model
    assert_allclose(np.sort(found.cpd("x").intercept.ravel()), np.sort(centers), rtol=1e-9)


def test_conjugate_priors_keep_variances_away_from_zero():
    x = np.array([0.0, 0.0, 0.0, 5.0, 5.1, 4.9, 5.2])
    prior = {"z": Dirichlet(1.0), "x": NormalGamma(0.0, 0.01, 1.0, 0.5)}
    found = fit(DAG.parse("z -> x"), {"x": x}, EM(prior=prior), variables=[Discrete("z", 2)])
    assert found.model.cpd("x").covariance.min() > 0.05
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()


def test_collapsing_components_say_what_to_do():
    x = np.array([0.0, 0.0, 0.0, 5.0, 5.1, 4.9, 5.2])
    with pytest.raises(NotClosed, match="no bound"):
        fit(DAG.parse("z -> x"), {"x": x}, EM(), variables=[Discrete("z", 2)], until=Until(steps=500, tolerance=None))


def test_too_many_hidden_states_are_refused_with_the_figure():
    states = [Discrete(f"s{i}", 4) for i in range(9)]
    net = BayesNet(*(TableCPD(s, np.full(4, 0.25)) for s in states), LinearGaussian(u, covariance=1.0))
    with pytest.raises(TooLarge, match="262,144"):
        Completions.of(Task(net, {"u": [1.0, 2.0]}))


def test_weights_count_rows():
    net = mixed()
    rows = mixed_rows(net, 12, 0.3)
    weights = np.arange(12) % 3
    repeated = rows.take(np.repeat(np.arange(12), weights))
    one = Completions.of(Task(net, rows, weights.astype(float))).expect(net)
    other = Completions.of(Task(net, repeated)).expect(net)
    assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-11)


def test_chunks_change_nothing(monkeypatch):
    net = mixed()
    rows = mixed_rows(net, 40, 0.4)
    whole = Completions.of(Task(net, rows))
    one, hard = whole.expect(net), whole.complete(net)
    monkeypatch.setattr("sepset.learning.incomplete.rowchoices.CHUNK", 7)
    other = whole.expect(net)
    assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-12)
    for a, b in zip(one.statistics, other.statistics, strict=True):
        assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    assert_allclose(hard.log_likelihood, whole.complete(net).log_likelihood, rtol=1e-12)


def test_ties_are_completed_once():
    z, r = Discrete("z", 2), Real("r")
    net = BayesNet(TableCPD(z, [0.5, 0.5]), LinearGaussian(r, [1.0, 1.0], covariance=[1.0, 1.0], by=z))
    found = Completions.of(Task(net, {"r": [0.0, 3.0]})).complete(net)
    assert found.statistics[0].tolist() == [2.0, 0.0]


def test_no_rows():
    net = mixed()
    found = fit(net, mixed_rows(net, 0, 0.0), EM(start="model"))
    assert found.log_likelihood == 0.0
    assert found.model.cpd("u").intercept.tolist() == net.cpd("u").intercept.tolist()


def test_impossible_rows_have_their_numbers_in_the_data():
    d, x = Discrete("d"), Real("x")
    net = BayesNet(TableCPD(d, [1.0, 0.0]), LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=d))
    made = Completions.of(Task(net, {"d": [0, 0, 0, 1], "x": [1.0, 1.0, None, None]}))
    for act in (made.expect, made.complete):
        with pytest.raises(ImpossibleEvidence, match="rows 3, counted from 0"):
            act(net)


def test_infinite_numbers_are_refused_by_column_and_row():
    with pytest.raises(DataError, match="Column 'y', row 2: inf"):
        fit(DAG.parse("x -> y"), {"x": [0.5, None, 1.5], "y": [1.0, 2.5, np.inf]}, EM())


def test_priors_hold_from_the_start_on():
    """On a perfect line every estimate without the prior has variance zero, the first one included."""
    rows = {"x": [1.0, 2.0, 3.0, None, 4.0], "y": [2.0, 4.0, None, 3.0, 8.0]}
    with pytest.raises(NotClosed, match="prior"):
        fit(DAG.parse("x -> y"), rows, EM())
    found = fit(DAG.parse("x -> y"), rows, EM(prior=NormalGamma(0.0, 1.0, 1.0, 1.0)))
    assert found.model.cpd("y").covariance.min() > 0
    assert np.diff(found.trace).min() >= -1e-12 * abs(found.trace[-1])
