"""Expected statistics and log-likelihoods are those of enumeration over completions, and of dense normals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats as sps

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.priors.weights import NormalWeights
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, ImpossibleEvidence, NotClosed, TooLarge
from sepset.graphs.graph import DAG
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.iterate import Until
from sepset.learning.estimation.estimators import MLE
from sepset.learning.incomplete.em import EM, HardEM, IncrementalEM
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.jointgaussian import joint_gaussian
from sepset.variables.variable import Discrete, Real
from support.learning_cases import mixed, mixed_rows, u
from support.random_incomplete import expected_counts, incomplete, log_likelihood


@given(incomplete())
@settings(max_examples=60)
def test_expected_counts_are_those_of_all_completions(case):
    net, rows = case
    expectation = Expectation.of(Task(net, rows), threads=1)
    found = expectation.expect(net)
    wanted = expected_counts(net, rows)
    for cpds, stats in zip(expectation.blocks.members, found.statistics, strict=True):
        cpd = net.cpds[cpds[0]]
        assert_allclose(stats, wanted[cpd.child.name].reshape(-1), rtol=1e-10, atol=1e-12)
    assert_allclose(found.log_likelihood, log_likelihood(net, rows), rtol=1e-11, atol=1e-11)


@given(incomplete(num_rows=6), st.integers(0, 1000))
@settings(max_examples=25)
def test_weights_count_rows_and_zero_drops_them(case, seed):
    net, rows = case
    counts = np.random.default_rng(seed).integers(0, 3, rows.num_rows)
    repeated = rows.take(np.repeat(np.arange(rows.num_rows), counts))
    weighted = Expectation.of(Task(net, rows, weights=counts.astype(float)), threads=1)
    plain = Expectation.of(Task(net, repeated), threads=1)
    assert weighted.weights.sum() == counts.sum()
    for a, b in zip(weighted.expect(net).statistics, plain.expect(net).statistics, strict=True):
        assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    assert_allclose(weighted.expect(net).log_likelihood, plain.expect(net).log_likelihood, rtol=1e-11, atol=1e-11)


@given(incomplete(num_rows=8))
@settings(max_examples=25)
def test_parts_of_the_rows_add_up(case):
    net, rows = case
    expectation = Expectation.of(Task(net, rows), threads=1)
    number = len(expectation.weights)
    parts = [expectation.expect(net, np.arange(number)[k::2]) for k in range(2)]
    whole = expectation.expect(net)
    assert_allclose(sum(p.log_likelihood for p in parts), whole.log_likelihood, rtol=1e-11, atol=1e-11)
    for i, stats in enumerate(whole.statistics):
        assert_allclose(parts[0].statistics[i] + parts[1].statistics[i], stats, rtol=1e-11, atol=1e-12)


def test_repeated_rows_are_looked_at_once():
    coin = Discrete("coin")
    net = BayesNet(TableCPD(coin, [0.5, 0.5]))
    expectation = Expectation.of(Task(net, Dataset({"coin": [0, 0, 1, None, None]}, [coin])))
    assert expectation.weights.tolist() == [2, 1, 2]


def test_plans_are_made_once(monkeypatch):
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]), TableCPD(Discrete("b"), [[0.5, 0.5]] * 2, given=Discrete("a")))
    expectation = Expectation.of(Task(net, {"a": [0, 1, None], "b": [None, 1, 0]}), threads=1)
    expectation.expect(net)
    monkeypatch.setattr("sepset.inference.rows.batch.make_plan", lambda *a, **k: pytest.fail("planned again"))
    other = BayesNet(
        TableCPD(Discrete("a"), [0.1, 0.9]), TableCPD(Discrete("b"), [[0.5, 0.5]] * 2, given=Discrete("a"))
    )
    assert expectation.expect(other).log_likelihood < 0


def test_impossible_rows_are_named():
    coin = Discrete("coin")
    net = BayesNet(TableCPD(coin, [1.0, 0.0]))
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        Expectation.of(Task(net, {"coin": [0, 1]})).expect(net)


def test_no_rows_and_no_variables():
    empty = Expectation.of(Task(BayesNet(), {}))
    assert empty.expect(BayesNet()).log_likelihood == 0.0
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]))
    found = Expectation.of(Task(net, {"a": []})).expect(net)
    assert (found.log_likelihood, found.statistics[0].tolist()) == (0.0, [0.0, 0.0])


@given(incomplete(num_rows=6))
@settings(max_examples=25)
def test_completed_rows_are_the_most_probable_ones(case):
    from support.random_incomplete import completions

    net, rows = case
    found = Expectation.of(Task(net, rows), threads=1).complete(net)
    best = sum(np.log(max(p for _, p in completions(net, row))) for row in rows.rows())
    assert_allclose(found.log_likelihood, best, rtol=1e-11, atol=1e-11)
    for stats in found.statistics:
        assert_allclose(stats.sum(), rows.num_rows)
        assert (stats == np.round(stats)).all()


def test_impossible_rows_have_their_numbers_in_the_data():
    """Rows that repeat, and rows of weight zero, are left out of the work but not out of the count."""
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [0.5, 0.5]))
    rows = {"a": [0, 0, 1, 0, 1, None], "b": [1, 1, 0, 1, 1, 0]}
    made = Expectation.of(Task(net, rows, weights=np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])))
    with pytest.raises(
        ImpossibleEvidence, match=r"1 of 3 different rows have probability zero: rows 4, counted from 0"
    ):
        made.expect(net)
    with pytest.raises(
        ImpossibleEvidence, match=r"1 of 1 different rows have probability zero: rows 4, counted from 0"
    ):
        made.expect(net, np.array([1]))


# Networks with real variables


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
                log += sps.multivariate_normal.logpdf(seen, mu[o], S[np.ix_(o, o)])
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
    expectation = Expectation.of(task)
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
            total += sps.multivariate_normal.logpdf(row[o], mean[o], S[np.ix_(o, o)])
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
    prior = {"z": Dirichlet(1e12), "x": NormalWeights(1.0)}
    found = fit(net, {"x": x}, HardEM(prior=prior, start="model"), until=Until(steps=100, tolerance=None)).model
    assert_allclose(np.sort(found.cpd("x").intercept.ravel()), np.sort(centers), rtol=1e-9)


def test_conjugate_priors_keep_variances_away_from_zero():
    x = np.array([0.0, 0.0, 0.0, 5.0, 5.1, 4.9, 5.2])
    prior = {"z": Dirichlet(1.0), "x": NormalGamma(0.0, 0.01, shape=1.0, rate=0.5)}
    found = fit(DAG.parse("z -> x"), {"x": x}, EM(prior=prior), variables=[Discrete("z", 2)])
    assert found.model.cpd("x").covariance.min() > 0.05
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()


def test_collapsing_components_say_what_to_do():
    x = np.array([0.0, 0.0, 0.0, 5.0, 5.1, 4.9, 5.2])
    with pytest.raises(NotClosed, match="unbounded"):
        fit(DAG.parse("z -> x"), {"x": x}, EM(), variables=[Discrete("z", 2)], until=Until(steps=500, tolerance=None))


def test_too_many_hidden_states_are_refused_with_the_figure():
    """Contexts of numbers are enumerated; other hidden states are not, however many."""
    states, reals = [Discrete(f"s{i}", 4) for i in range(9)], [Real(f"x{i}") for i in range(3)]
    tables = [TableCPD(s, np.full(4, 0.25)) for s in states]
    beside = BayesNet(*tables, LinearGaussian(u, covariance=1.0))
    assert_allclose(Expectation.of(Task(beside, {"u": [1.0, 2.0]})).expect(beside).statistics[0], np.full(4, 0.5))
    lines = (LinearGaussian(x, covariance=1.0, by=states[3 * i : 3 * i + 3]) for i, x in enumerate(reals))
    net = BayesNet(*tables, *lines)
    with pytest.raises(TooLarge, match="262,144"):
        Expectation.of(Task(net, {"x0": [1.0, 2.0]})).expect(net)


def test_weights_count_rows():
    net = mixed()
    rows = mixed_rows(net, 12, 0.3)
    weights = np.arange(12) % 3
    repeated = rows.take(np.repeat(np.arange(12), weights))
    one = Expectation.of(Task(net, rows, weights=weights.astype(float))).expect(net)
    other = Expectation.of(Task(net, repeated)).expect(net)
    assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-11)


def test_chunks_change_nothing(monkeypatch):
    net = mixed()
    rows = mixed_rows(net, 40, 0.4)
    whole = Expectation.of(Task(net, rows))
    one, hard = whole.expect(net), whole.complete(net)
    monkeypatch.setattr("sepset.inference.costs.CHOICES_AT_ONCE", 7)
    whole = Expectation.of(Task(net, rows))
    other = whole.expect(net)
    assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-12)
    for a, b in zip(one.statistics, other.statistics, strict=True):
        assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    assert_allclose(hard.log_likelihood, whole.complete(net).log_likelihood, rtol=1e-12)


def test_ties_are_completed_once():
    z, r = Discrete("z", 2), Real("r")
    net = BayesNet(TableCPD(z, [0.5, 0.5]), LinearGaussian(r, [1.0, 1.0], covariance=[1.0, 1.0], by=z))
    found = Expectation.of(Task(net, {"r": [0.0, 3.0]})).complete(net)
    assert found.statistics[0].tolist() == [2.0, 0.0]


def test_no_rows_of_mixed_networks():
    net = mixed()
    found = fit(net, mixed_rows(net, 0, 0.0), EM(start="model"))
    assert found.log_likelihood == 0.0
    assert found.model.cpd("u").intercept.tolist() == net.cpd("u").intercept.tolist()


def test_impossible_rows_have_their_numbers_in_the_data_of_mixed_networks():
    d, x = Discrete("d"), Real("x")
    net = BayesNet(TableCPD(d, [1.0, 0.0]), LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=d))
    made = Expectation.of(Task(net, {"d": [0, 0, 0, 1], "x": [1.0, 1.0, None, None]}))
    for act in (made.expect, made.complete):
        with pytest.raises(ImpossibleEvidence, match="rows 3, counted from 0"):
            act(net)


def test_infinite_numbers_are_refused_by_column_and_row():
    with pytest.raises(DataError, match="Column 'y', row 2: inf"):
        fit(DAG.parse("x -> y"), {"x": [0.5, None, 1.5], "y": [1.0, 2.5, np.inf]}, EM())


def test_priors_hold_from_the_start_on():
    """On a perfect line every estimate without the prior has variance zero, the first one included."""
    rows = {"x": [1.0, 2.0, 3.0, None, 4.0], "y": [2.0, 4.0, None, 3.0, 8.0]}
    reals = [Real("x"), Real("y")]
    with pytest.raises(NotClosed, match="prior"):
        fit(DAG.parse("x -> y"), rows, EM(), variables=reals)
    found = fit(DAG.parse("x -> y"), rows, EM(prior=NormalGamma(0.0, 1.0, shape=1.0, rate=1.0)), variables=reals)
    assert found.model.cpd("y").covariance.min() > 0
    assert np.diff(found.trace).min() >= -1e-12 * abs(found.trace[-1])


def test_rows_that_are_too_large_are_refused_before_a_start_is_looked_for(monkeypatch):
    from sepset.learning.incomplete import run

    names = [f"v{i}" for i in range(14)]
    net = BayesNet.random(DAG(names, list(itertools.combinations(names[:-1], 2))[::2]))
    monkeypatch.setattr(run, "start_model", lambda *args: pytest.fail("a start was looked for"))
    with pytest.raises(TooLarge, match="limit"):
        fit(net, {"v0": [0, 1]}, EM(inference=CliqueTree(memory=2**10)))


def steep_net(weight):
    """Two causes and two logistic effects; the log probability of a cell is written out beside."""
    a, b, x, y = (Discrete(name) for name in "abxy")
    net = BayesNet(
        TableCPD(a, [0.3, 0.7]),
        TableCPD(b, [0.6, 0.4]),
        LogisticCPD(x, {a: weight, b: -0.9 * weight}, bias=-0.3 * weight),
        LogisticCPD(y, {x: weight}, bias=-weight),
    )

    def log_probability(i, j, k, m):
        odds = weight * (i - 0.9 * j - 0.3), weight * (k - 1.0)
        logs = [-np.logaddexp(0.0, -s if code else s) for s, code in zip(odds, (k, m), strict=True)]
        return np.log([0.3, 0.7][i]) + np.log([0.6, 0.4][j]) + sum(logs)

    return net, log_probability


@pytest.mark.parametrize("weight", [300.0, 800.0, 2000.0])
def test_steep_logistic_cpds_exclude_nothing(weight):
    net, log_probability = steep_net(weight)
    rows = [(None, 1, 1, None), (None, None, 0, 1), (1, None, 0, 1), (None, 1, None, 1), (0, None, 1, None)]
    counts, total = np.zeros((2, 2, 2, 2)), 0.0
    for row in rows:
        cells = [c for c in np.ndindex(2, 2, 2, 2) if all(r is None or r == v for r, v in zip(row, c, strict=True))]
        logs = np.array([log_probability(*cell) for cell in cells])
        total += np.logaddexp.reduce(logs)
        for cell, log in zip(cells, logs, strict=True):
            counts[cell] += np.exp(log - np.logaddexp.reduce(logs))
    data = {name: [row[i] for row in rows] for i, name in enumerate("abxy")}
    found = Expectation.of(Task(net, data), threads=1).expect(net)
    assert_allclose(found.log_likelihood, total, rtol=1e-12)
    wanted = [counts.sum(axis=(1, 2, 3)), counts.sum(axis=(0, 2, 3)), counts.sum(axis=3), counts.sum(axis=(0, 1))]
    for stats, table in zip(found.statistics, wanted, strict=True):
        assert_allclose(stats, table.reshape(-1), rtol=1e-9, atol=1e-12)
    for method in (EM(), GradientAscent(), HardEM()):
        assert np.isfinite(fit(net, data, method, until=1).log_likelihood)
