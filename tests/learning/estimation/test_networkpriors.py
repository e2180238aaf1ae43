"""Priors of imaginary rows are what adding those rows would be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import oracle
import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.priors.dirichlet import BDeu
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode
from sepset.learning.estimation.networkpriors import BDe, ImaginaryData
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete, Real

A, B, C = Discrete("a"), Discrete("b", 3), Discrete("c")


def random_net(seed, dag="c -> a -> b; c -> b"):
    return BayesNet.random(DAG.parse(dag), states={"a": 2, "b": 3, "c": 2}, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_prior_network_of_any_structure(seed):
    """Pseudo-counts are the prior network's joint, enumerated, times the sample size."""
    prior = random_net(seed)
    cards = {v.name: v.num_states for v in prior.variables}
    families = [(c.child.name, tuple(p.name for p in c.parents), c.values) for c in prior.cpds]
    joint = oracle.bayes_joint(families, cards)
    other = TableCPD(B, np.full((2, 3), 1 / 3), given=C)
    found = BDe(prior, 12.0).hyperparameters([other])
    axes = {name: axis for axis, name in enumerate(cards)}
    expected = np.einsum(joint, list(range(3)), [axes["c"], axes["b"]])
    np.testing.assert_allclose(found, 12.0 * expected.reshape(-1))


def test_a_uniform_network_is_bdeu():
    flat = BayesNet(*(TableCPD(v, np.full(v.num_states, 1 / v.num_states)) for v in (A, B, C)))
    for dag in ("a -> b <- c", "b -> a -> c", "a; b; c"):
        net = BayesNet.random(DAG.parse(dag), states={"a": 2, "b": 3, "c": 2})
        for cpd in net.cpds:
            np.testing.assert_allclose(BDe(flat, 7).hyperparameters([cpd]), BDeu(7).hyperparameters([cpd]))


@pytest.mark.parametrize("seed", range(3))
def test_equivalent_networks_have_equal_evidence(seed):
    prior, data = random_net(seed), random_net(seed + 10).sample(20, seed)
    evidence = [
        fit(DAG.parse(dag), data, Bayes(BDe(prior, 5.0))).posterior.log_marginal_likelihood
        for dag in ("a -> b -> c", "c -> b -> a", "b -> a; b -> c")
    ]
    np.testing.assert_allclose(evidence, evidence[0])


def test_without_data_the_prior_network_is_projected():
    prior = random_net(1)
    empty = Dataset.from_codes(prior.variables, np.zeros((0, 3), np.int64))
    found = fit(prior, empty, Bayes(BDe(prior, 3.0))).model
    for cpd in prior.cpds:
        np.testing.assert_allclose(found.cpd(cpd.child).values, cpd.values)


def test_any_model_can_be_a_prior():
    pair = MarkovNet(random_net(2).markov_net().problem().blocks[0].factor(0, random_net(2).variables))
    child = pair.variables[0]
    found = BDe(pair, 4).hyperparameters([TableCPD(child, np.full(child.num_states, 1 / child.num_states))])
    assert found.sum() == pytest.approx(4.0)


def test_prior_networks_must_cover_and_be_positive():
    lone = BayesNet(TableCPD(A, [0.0, 1.0]))
    with pytest.raises(ModelError, match=r"gives \(a=0\) probability zero"):
        BDe(lone, 1).hyperparameters([TableCPD(A, [0.5, 0.5])])
    with pytest.raises(ScopeError, match="has no Discrete"):
        BDe(lone, 1).hyperparameters([TableCPD(B, [0.2, 0.3, 0.5])])
    with pytest.raises(ModelError, match="sample_size > 0"):
        BDe(lone, 0)


def test_imaginary_rows_are_rows():
    """For tables, lines and logistic CPDs alike: the estimate of both sets of rows together."""
    rng = np.random.default_rng(0)
    x, y = Real("x"), Real("y")
    net = BayesNet(
        TableCPD(A, [0.5, 0.5]),
        LogisticCPD(C, {A: 0.0}),
        LinearGaussian(x, covariance=1.0),
        LinearGaussian(y, coefficients=0.0, covariance=1.0, given=x),
    )

    def draw(num):
        columns = {"a": rng.integers(2, size=num), "c": rng.integers(2, size=num)}
        return Dataset.from_codes(net.variables, columns | {"x": rng.normal(size=num), "y": rng.normal(size=num)})

    data, imagined = draw(30), draw(20)
    joined = fit(net, data.concat(imagined), MLE()).model
    found = fit(net, data, PosteriorMode(ImaginaryData(imagined))).model
    np.testing.assert_allclose(found.cpd("a").values, joined.cpd("a").values)
    np.testing.assert_allclose(found.cpd("c").to_table().values, joined.cpd("c").to_table().values, atol=1e-6)
    np.testing.assert_allclose(found.cpd("y").coefficients, joined.cpd("y").coefficients)
    half = fit(net, data, PosteriorMode(ImaginaryData(imagined, 0.5))).model.cpd("x").intercept[0, 0]
    weights = np.concatenate([np.ones(30), np.full(20, 0.5)])
    assert half == pytest.approx(np.average(np.concatenate([data.values("x"), imagined.values("x")]), weights=weights))


X, Y = Real("x"), Real("y")
GRADE = Discrete("grade", 3)
MIXED = BayesNet(
    TableCPD(A, [0.5, 0.5]),
    LogisticCPD(C, {A: 0.0}),
    NoisyOr(Discrete("on"), {A: 0.3, C: 0.2}, leak=0.1),
    NoisyMax(GRADE, {A: [[1.0, 0.0, 0.0], [0.3, 0.3, 0.4]]}, leak=[0.9, 0.05, 0.05]),
    LinearGaussian(X, covariance=[1.0, 1.0], by=A),
    LinearGaussian(Y, coefficients=0.0, covariance=1.0, given=X),
)


def mixed_rows(num, rng, holes=0.0):
    def hidden(column):
        return [None if rng.random() < holes else value for value in column.tolist()]

    codes = {v.name: rng.integers(v.num_states, size=num) for v in MIXED.variables if v.is_discrete}
    reals = {"x": rng.normal(size=num) + codes["a"], "y": rng.normal(2.0, 3.0, size=num)}
    return {name: hidden(column) for name, column in (codes | reals).items()}


def assert_alike(found, expected, atol):
    for cpd in expected.cpds:
        same = found.cpd(cpd.child)
        if isinstance(cpd, LinearGaussian):
            for name in ("intercept", "coefficients", "covariance"):
                np.testing.assert_allclose(getattr(same, name), getattr(cpd, name), atol=atol)
        else:
            np.testing.assert_allclose(same.to_table().values, cpd.to_table().values, atol=atol)


@pytest.mark.parametrize("method", [PosteriorMode, GradientAscent])
def test_every_kind_of_cpd_learns_from_imaginary_rows(method):
    rng = np.random.default_rng(1)
    data, imagined = mixed_rows(50, rng), mixed_rows(30, rng)
    both = {name: data[name] + imagined[name] for name in data}
    until = Until(steps=3000, tolerance=1e-14)
    found = fit(MIXED, data, method(ImaginaryData(imagined)), until=until).model
    assert_alike(found, fit(MIXED, both, MLE()).model, 1e-4)


def test_holes_and_imaginary_rows():
    """EM climbs the same hill whether rows are imagined or added."""
    rng = np.random.default_rng(2)
    data, imagined = mixed_rows(40, rng, holes=0.15), mixed_rows(30, rng)
    both = {name: data[name] + imagined[name] for name in data}
    until = Until(steps=15)
    found = fit(MIXED, data, EM(ImaginaryData(imagined), start="model"), until=until)
    added = fit(MIXED, both, EM(start="model"), until=until)
    assert_alike(found.model, added.model, 1e-9)
    np.testing.assert_allclose(found.trace, added.trace)
    assert (np.diff(found.trace) >= -1e-9).all()


def test_lines_in_variances():
    """The mode in the variance itself: squares over M + 2."""
    rng = np.random.default_rng(3)
    net = BayesNet(MIXED.cpd("x"), MIXED.cpd("a"), MIXED.cpd("y"))
    data, imagined = ({n: c for n, c in mixed_rows(m, rng).items() if n in "axy"} for m in (30, 20))
    both = fit(net, {n: data[n] + imagined[n] for n in data}, MLE()).model
    counts = np.bincount(data["a"] + imagined["a"])
    for method in (PosteriorMode, EM, GradientAscent):
        prior = ImaginaryData(imagined)
        found = fit(net, data, method(prior, parameterization="theta"), until=Until(steps=3000, tolerance=1e-14)).model
        np.testing.assert_allclose(
            found.cpd("x").covariance.ravel(), both.cpd("x").covariance.ravel() * counts / (counts + 2), rtol=1e-5
        )
        np.testing.assert_allclose(found.cpd("y").covariance, both.cpd("y").covariance * 50 / 52, rtol=1e-5)


def test_the_posterior_of_lines_is_that_of_all_rows():
    """Student t of M - p degrees about least squares on data and imaginary rows; evidence by the chain rule."""
    rng = np.random.default_rng(4)
    net = BayesNet(LinearGaussian(X, covariance=1.0), MIXED.cpd("y"))
    data, imagined = (np.column_stack([rng.normal(size=m), rng.normal(size=m)]) for m in (12, 8))
    columns = [dict(zip("xy", part.T, strict=True)) for part in (data, imagined)]
    found = fit(net, columns[0], Bayes(ImaginaryData(columns[1]))).posterior
    line = stats.linregress(*np.concatenate([data, imagined]).T)
    t = stats.t(18, line.slope, line.stderr)
    np.testing.assert_allclose(found.interval("y", "x", level=0.9), t.interval(0.9))
    none = fit(net, {n: c[:0] for n, c in columns[0].items()}, Bayes(ImaginaryData(columns[1])))
    total, part = 0.0, none.posterior
    for row in data:
        one = {"x": row[:1], "y": row[1:]}
        total += part.log_predictive(one)[0]
        part = part.update(one)
    assert found.log_marginal_likelihood == pytest.approx(total)
    half = fit(net, columns[0], Bayes(ImaginaryData(columns[1], 0.5))).posterior.block("x").contexts[0]
    assert half.shape == pytest.approx(0.5 * (12 + 4 - 1))


def test_too_few_imaginary_rows_make_no_prior_of_a_line():
    net = BayesNet(LinearGaussian(X, covariance=1.0), MIXED.cpd("y"))
    data = {"x": [1.0, 2.0, 4.0], "y": [1.0, 0.0, 2.0]}
    prior = ImaginaryData({"x": [0.0, 1.0], "y": [1.0, 2.0]})
    with pytest.raises(ModelError, match=r"2 imaginary rows give no prior of a regression.*NormalGamma"):
        fit(net, data, Bayes(prior))
    assert fit(net, data, PosteriorMode(prior)).model.cpd("x").intercept[0, 0] == pytest.approx(8.0 / 5.0)
    priors = {"x": prior, "y": NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)}
    assert len(fit(net, data, Bayes(priors)).posterior.blocks) == 2


def test_bayes_of_other_cpds_names_map():
    rows = mixed_rows(20, np.random.default_rng(5))
    with pytest.raises(NotApplicable, match=r"no closed form\. Use PosteriorMode"):
        fit(MIXED, rows, Bayes(ImaginaryData(rows)))
    for method in (PosteriorMode, EM):
        with pytest.raises(NotApplicable, match=r"NoisyOr.*no mode.*softmax"):
            fit(MIXED, rows, method(ImaginaryData(rows), parameterization="theta"))


def test_tied_blocks_pool_imaginary_rows():
    names = "pqr"
    coins = [LogisticCPD(Discrete(n), {A: 0.0}, block="shared") for n in names]
    net = BayesNet(TableCPD(A, [0.5, 0.5]), *coins)
    rng = np.random.default_rng(6)
    data, imagined = ({n: rng.integers(2, size=m) for n in ("a", *names)} for m in (30, 20))
    both = {n: np.concatenate([data[n], imagined[n]]) for n in data}
    expected = fit(net, both, MLE()).model.cpd("q").to_table().values
    for method in (PosteriorMode, EM):
        found = fit(net, data, method(ImaginaryData(imagined)), until=Until(steps=500, tolerance=1e-14)).model
        for n in names:
            np.testing.assert_allclose(found.cpd(n).to_table().values, expected, atol=1e-5)


def test_imaginary_rows_bring_their_weights():
    rows = Dataset({"coin": [0, 1]}, [Discrete("coin")], weights=[3.0, 0.5])
    found = ImaginaryData(rows, 2.0).hyperparameters([TableCPD(Discrete("coin"), [0.5, 0.5])])
    assert found.tolist() == [6.0, 1.0]


def test_imaginary_rows_are_complete():
    with pytest.raises(DataError, match="ImaginaryData needs complete data"):
        ImaginaryData({"a": [0, None]}).hyperparameters([TableCPD(A, [0.5, 0.5])])


def test_a_prior_network_of_other_orders_for_a_wide_tree():
    """States, parents and CPDs in another order: the same imaginary rows at every leaf."""
    rng = np.random.default_rng(0)
    num = 24
    shares, leaves = rng.uniform(0.2, 0.8, num), rng.uniform(0.1, 0.9, num + 1)

    def tree(parents, child, place=0):
        row = {child.states[k]: leaves[place] if child.states[k] else 1.0 - leaves[place] for k in range(2)}
        here = [row[state] for state in child.states]
        if place == num:
            return here
        return ss.cpds.Split(parents[place], {0: tree(parents, child, place + 1), 1: here})

    def network(reversed_names=(), listed=1):
        states = {name: (1, 0) if name in reversed_names else (0, 1) for name in [*(f"p{i}" for i in range(num)), "y"]}
        parents = [ss.Discrete(f"p{i}", states[f"p{i}"]) for i in range(num)]
        child = ss.Discrete("y", states["y"])
        roots = [ss.TableCPD(p, [q if s else 1.0 - q for s in p.states]) for p, q in zip(parents, shares, strict=True)]
        cpds = [*roots, ss.TreeCPD(child, tree(parents, child), given=parents[::listed])]
        return ss.BayesNet(*cpds[::listed])

    data = {f"p{i}": rng.integers(2, size=20).tolist() for i in range(num)} | {"y": rng.integers(2, size=20).tolist()}
    one = ss.fit(network(), data, ss.Bayes(ss.priors.BDe(network(), 8.0))).model
    other = network(("p0", "p3", "y"), -1)
    two = ss.fit(network(), data, ss.Bayes(ss.priors.BDe(other, 8.0))).model
    for place in range(4):
        row = {f"p{i}": int(i == place) for i in range(num)}
        expected = ss.query(one, "y", given=row).values
        np.testing.assert_allclose(ss.query(two, "y", given=row).values, expected, rtol=0, atol=1e-12)
        reach = 8.0 * np.prod(1.0 - shares[:place]) * shares[place]
        here = [
            row
            for row in range(20)
            if data[f"p{place}"][row] == 1 and not any(data[f"p{i}"][row] for i in range(place))
        ]
        on = sum(data["y"][row] for row in here)
        assert expected[1] == pytest.approx((reach * leaves[place] + on) / (reach + len(here)), abs=1e-9)
