"""Regressions that share one covariance are one regression on indicators of the contexts: dense formulas say so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import invgamma, multivariate_t, t

import sepset as ss
from support.tolerances import CLOSE

C, D = ss.Discrete("c", ("a", "b", "z")), ss.Discrete("d", ("no", "yes"))
X, U = ss.Real("x"), ss.Real("u")


def rows(seed=0, num=60):
    rng = np.random.default_rng(seed)
    c, d, u = rng.integers(3, size=num), rng.integers(2, size=num), rng.normal(2.0, 3.0, size=num)
    x = np.array([1.0, -2.0, 4.0])[c] + np.array([0.5, -1.0])[d] * u + 0.7 * rng.normal(size=num)
    return {"c": [C.states[i] for i in c], "d": [D.states[i] for i in d], "u": u.tolist(), "x": x.tolist()}


def network(shared="covariance", by=(C, D)):
    states = [v.num_states for v in by]
    line = ss.LinearGaussian(X, np.zeros(states), coefficients=0.0, covariance=1.0, given=U, by=by, shared=shared)
    plain = [ss.TableCPD(v, np.full(v.num_states, 1.0 / v.num_states)) for v in (C, D)]
    return ss.BayesNet(*plain, ss.LinearGaussian(U, covariance=1.0), line)


def design(data, by=(C, D)):
    """Indicators of the contexts, each times (1, u): the columns of one regression."""
    codes = [np.array([v.states.index(s) for s in data[v.name]]) for v in by]
    entry = np.ravel_multi_index(codes, [v.num_states for v in by])
    num = int(np.prod([v.num_states for v in by]))
    z = np.column_stack([np.ones(len(entry)), data["u"]])
    whole = np.zeros((len(entry), num, 2))
    whole[np.arange(len(entry)), entry] = z
    return whole.reshape(len(entry), -1), np.asarray(data["x"])


def lines(cpd):
    return np.column_stack([cpd.intercept[:, 0], cpd.coefficients[:, 0, 0]])


def test_maximum_likelihood_is_one_regression_on_indicators():
    Z, y = design(rows())
    beta = np.linalg.lstsq(Z, y, rcond=None)[0]
    found = ss.fit(network(), rows()).model.cpd("x")
    np.testing.assert_allclose(lines(found), beta.reshape(-1, 2), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.covariance.ravel(), ((y - Z @ beta) ** 2).mean(), rtol=1e-9)
    assert found.num_parameters == 13
    assert found.shared == "covariance"


def test_parents_and_states_in_another_order():
    again = ss.Discrete("c", ("z", "a", "b"))
    other = ss.LinearGaussian(
        X, np.zeros((2, 3)), coefficients=0.0, covariance=1.0, given=U, by=(D, again), shared="covariance"
    )
    tables = ss.TableCPD(again, [1 / 3] * 3), ss.TableCPD(D, [0.5, 0.5]), ss.LinearGaussian(U, covariance=1.0)
    one, two = (ss.fit(net, rows()).model.cpd("x") for net in (network(), ss.BayesNet(*tables, other)))
    moved = two.parameters.over((*one.parents, one.child))
    assert moved.shared == "covariance"
    np.testing.assert_allclose(moved.intercept, one.intercept, rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved.covariance, one.covariance, rtol=1e-9)


def test_the_posterior_is_that_of_one_regression():
    """Normal-gamma in closed form, from the whole design matrix."""
    Z, y = design(rows())
    strength, shape, rate, mean = 2.0, 3.0, 1.5, 0.5
    center = np.tile([mean, 0.0], 6)
    precision = strength * np.eye(12) + Z.T @ Z
    beta = np.linalg.solve(precision, strength * center + Z.T @ y)
    apart = y - Z @ beta
    after = rate + 0.5 * (apart @ apart + strength * ((beta - center) ** 2).sum())
    posterior = ss.fit(
        network(), rows(), priors(ss.priors.NormalGamma(mean, strength, shape=shape, rate=rate))
    ).posterior
    found = posterior.mean_model().cpd("x")
    np.testing.assert_allclose(lines(found), beta.reshape(-1, 2), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.covariance.ravel(), after / (shape + 30.0 - 1.0), rtol=1e-9)
    assert posterior.interval("x", "variance") == pytest.approx(invgamma(shape + 30.0, scale=after).interval(0.95))
    scale = np.sqrt(after / (shape + 30.0) * np.linalg.inv(precision)[3, 3])
    asked = posterior.interval("x", "u", given={"c": "a", "d": "yes"})
    assert asked == pytest.approx(t(2.0 * shape + 60.0, beta[3], scale).interval(0.95))
    spread = np.eye(60) + Z @ Z.T / strength
    evidence = multivariate_t(Z @ center, rate / shape * spread, df=2.0 * shape).logpdf(y)
    assert posterior.block("x").log_marginal_likelihood() == pytest.approx(evidence, abs=1e-8)
    assert [row.count("variance") for row in posterior.to_frame("pandas")["parameter"]].count(1) == 2  # of x and of u


def priors(line):
    other = ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
    return ss.Bayes({"x": line, "u": other, ...: ss.priors.Dirichlet(1.0)})


@pytest.mark.parametrize(
    "prior",
    [
        ss.priors.NormalGamma(0.5, 2.0, shape=3.0, rate=1.5),
        ss.priors.LinearNormalGamma([0.0, 1.0], [2.0, 3.0], shape=2.0, rate=1.0),
    ],
)
def test_batches_and_predictions_are_one_evidence(prior):
    """The density of all rows is that of the first ones, times each next one given those before it."""
    data = rows(1, 24)
    parts = [{name: column[at] for name, column in data.items()} for at in (slice(0, 20), slice(20, 24))]
    first, whole = (ss.fit(network(), part, priors(prior)).posterior for part in (parts[0], data))
    gain = whole.log_marginal_likelihood - first.log_marginal_likelihood
    assert first.log_joint_predictive(parts[1]) == pytest.approx(gain, abs=1e-8)
    total, seen = 0.0, first
    for i in range(4):
        row = {name: column[i : i + 1] for name, column in parts[1].items()}
        total += float(seen.log_predictive(row)[0])
        seen = seen.update(row)
    assert total == pytest.approx(gain, abs=1e-8)
    assert seen.downdate(parts[1]).block("x").log_marginal_likelihood() == pytest.approx(
        first.block("x").log_marginal_likelihood(), abs=1e-8
    )


def test_tied_uses_of_one_row_share_the_variance():
    """Two children of one block: a row is evidence about the variance twice, whatever their contexts."""
    y = ss.Real("y")
    e = ss.Discrete("e", C.states)
    line = [
        ss.LinearGaussian(v, covariance=1.0, by=by, block="line", shared="covariance") for v, by in ((X, C), (y, e))
    ]
    net = ss.BayesNet(ss.TableCPD(C, [1 / 3] * 3), ss.TableCPD(e, [1 / 3] * 3), *line)
    prior = ss.Bayes({"line": ss.priors.NormalGamma(0.0, 2.0, shape=3.0, rate=1.0), ...: ss.priors.Dirichlet(1.0)})
    data = {"c": ["a", "b"], "e": ["b", "b"], "x": [1.0, 2.0], "y": [0.5, -1.0]}
    posterior = ss.fit(net, data, prior).posterior
    Z = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    values = np.array([1.0, 0.5, 2.0, -1.0])
    evidence = multivariate_t(np.zeros(4), 1.0 / 3.0 * (np.eye(4) + Z @ Z.T / 2.0), df=6.0).logpdf(values)
    assert posterior.block("line").log_marginal_likelihood() == pytest.approx(evidence, abs=CLOSE)
    for states in (["a", "b"], ["z", "z"]):
        row = {"c": states[:1], "e": states[1:], "x": [0.3], "y": [2.0]}
        more = posterior.update(row).block("line").log_marginal_likelihood()
        gain = posterior.block("line").log_predictive(columns(net, row))[0]
        assert gain == pytest.approx(more - posterior.block("line").log_marginal_likelihood(), abs=CLOSE)


def columns(net, row):
    found = {}
    for name, cells in row.items():
        v = net[name]
        is_real = isinstance(v, ss.Vector)
        found[v] = np.array(cells, dtype=float) if is_real else np.array([v.states.index(s) for s in cells])
    return found


def test_a_known_mean_shares_its_precision():
    line = ss.LinearGaussian(X, covariance=1.0, by=C, shared="covariance")
    net = ss.BayesNet(ss.TableCPD(C, [1 / 3] * 3), line)
    data = {"c": ["a", "a", "b"], "x": [1.0, 2.0, 6.0]}
    prior = ss.Bayes({"x": ss.priors.GammaPrecision(2.0, 1.0, mean=1.0), ...: ss.priors.Dirichlet(1.0)})
    found = ss.fit(net, data, prior)
    np.testing.assert_allclose(found.model.cpd("x").covariance.ravel(), (1.0 + 13.0) / 2.5, rtol=1e-12)
    evidence = multivariate_t(np.ones(3), 0.5 * np.eye(3), df=4.0).logpdf([1.0, 2.0, 6.0])
    assert found.posterior.block("x").log_marginal_likelihood() == pytest.approx(evidence, abs=CLOSE)
    assert len(set(found.posterior.sample_model(1).cpd("x").covariance.ravel())) == 1


def objective(Z, y, log_prior):
    """The log posterior of coefficients and the log variance of the dense regression."""

    def value(at):
        beta, variance = at[:-1], np.exp(at[-1])
        return (
            0.5 * len(y) * np.log(variance) + 0.5 * ((y - Z @ beta) ** 2).sum() / variance - log_prior(beta, variance)
        )

    return value


@pytest.mark.parametrize("is_theta", [False, True], ids=["log variance", "variance"])
def test_the_mode_maximizes_the_posterior(is_theta):
    Z, y = design(rows())
    prior, how = ss.priors.NormalGamma(0.0, 2.0, shape=3.0, rate=1.5), "theta" if is_theta else "softmax"

    def log_prior(beta, variance):
        normal = -0.5 * len(beta) * np.log(variance) - (beta**2).sum() / variance
        return normal - (3.0 + is_theta) * np.log(variance) - 1.5 / variance

    best = minimize(objective(Z, y, log_prior), np.zeros(13), method="BFGS", options={"gtol": 1e-9}).x
    estimator = ss.PosteriorMode([prior, ss.priors.Dirichlet(2.0)], parameterization=how)
    found = ss.fit(network(), rows(), estimator).model.cpd("x")
    np.testing.assert_allclose(lines(found).ravel(), best[:-1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.covariance.ravel(), np.exp(best[-1]), rtol=1e-5)


def test_penalties_depend_on_the_shared_variance():
    Z, y = design(rows())
    slopes = np.tile([0.0, 1.0], 6)

    def log_prior(beta, variance):
        return -0.5 * (slopes * beta**2).sum() / 0.04

    best = minimize(objective(Z, y, log_prior), np.zeros(13), method="BFGS", options={"gtol": 1e-9}).x
    estimator = ss.PosteriorMode([ss.priors.NormalWeights(0.2), ss.priors.Dirichlet(2.0)])
    found = ss.fit(network(), rows(), estimator).model.cpd("x")
    np.testing.assert_allclose(lines(found).ravel(), best[:-1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.covariance.ravel(), np.exp(best[-1]), rtol=1e-5)


@pytest.mark.parametrize(
    "prior", [None, ss.priors.NormalGamma(0.0, 2.0, shape=3.0, rate=1.5), ss.priors.NormalWeights(0.3)]
)
@pytest.mark.parametrize("how", ["softmax", "theta"])
def test_slopes_are_differences_of_the_objective(prior, how):
    cpd = ss.fit(network(), rows()).model.cpd("x")
    data = {name: column for name, column in rows().items() if name != "unused"}
    own = cpd.parameters.for_rows(columns(network(), data))
    stats = own.tally(columns(network(), data), np.ones(60))
    term = None if prior is None else own.prior_term(prior, [cpd], is_theta=how == "theta")
    at = own.coordinates + 0.1 * np.random.default_rng(3).normal(size=13)
    assert at.shape == (13,)

    def value(x):
        moved = own.of(own.at(x))
        return moved.score(stats) + moved.log_prior(term)

    numeric = [(value(at + h) - value(at - h)) / 2e-6 for h in 1e-6 * np.eye(13)]
    np.testing.assert_allclose(own.of(own.at(at)).slope(stats, term), numeric, rtol=1e-4, atol=1e-4)
    assert (own.of(own.at(at)).information(stats) > 0).all()


def test_an_unseen_context_has_the_shared_variance():
    data = rows()
    kept = [i for i, c in enumerate(data["c"]) if c != "z"]
    part = {name: [column[i] for i in kept] for name, column in data.items()}
    Z, y = design(part)
    beta = np.linalg.lstsq(Z, y, rcond=None)[0]
    for unseen in ("keep", "marginal"):
        found = ss.fit(network(), part, ss.MLE(unseen=unseen)).model.cpd("x")
        np.testing.assert_allclose(found.covariance.ravel(), ((y - Z @ beta) ** 2).mean(), rtol=1e-9)
        np.testing.assert_allclose(lines(found)[:4].ravel(), beta[:8], rtol=0, atol=1e-9)


def test_em_never_lowers_the_likelihood_of_a_mixture():
    """A hidden class with one variance for all: the likelihood grows to a point where its gradient is zero."""
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(-3.0, 1.0, 60), rng.normal(2.0, 1.0, 40)])
    line = ss.LinearGaussian(X, [-1.0, 1.0], covariance=4.0, by=D, shared="covariance")
    net = ss.BayesNet(ss.TableCPD(D, [0.5, 0.5]), line)
    fitted = ss.fit(net, {"x": x.tolist(), "d": [None] * 100}, ss.EM(start="model"), until=ss.Until(steps=500)).model
    found, weights = fitted.cpd("x"), fitted.cpd("d").values
    assert found.covariance[0] == found.covariance[1]
    means, variance = found.intercept.ravel(), float(found.covariance[0, 0, 0])
    terms = weights * np.exp(-0.5 * (x[:, None] - means) ** 2 / variance)
    share = terms / terms.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(share.T @ x / share.sum(axis=0), means, atol=1e-4)
    assert (share * (x[:, None] - means) ** 2).sum() / 100.0 == pytest.approx(variance, abs=1e-4)
    climbed = ss.fit(
        net, {"x": x.tolist(), "d": [None] * 100}, ss.GradientAscent(start="model"), until=ss.Until(steps=500)
    ).model
    assert climbed.cpd("x").covariance[0, 0, 0] == pytest.approx(variance, rel=1e-3)


def test_imaginary_rows():
    """Two rows in each context are enough together, though not in each."""
    line = ss.LinearGaussian(X, covariance=1.0, by=D, shared="covariance")
    net = ss.BayesNet(ss.TableCPD(D, [0.5, 0.5]), line)
    imaginary = {"d": ["no", "no", "yes"], "x": [0.0, 2.0, 5.0]}
    data = {"d": ["no", "yes", "yes"], "x": [1.0, 4.0, 9.0]}
    found = ss.fit(net, data, ss.Bayes(ss.priors.ImaginaryData(imaginary)))
    assert found.model.cpd("x").intercept.ravel().tolist() == pytest.approx([1.0, 6.0])
    squares = 2.0 + 0.0 + (np.array([5.0, 4.0, 9.0]) - 6.0) @ (np.array([5.0, 4.0, 9.0]) - 6.0)
    np.testing.assert_allclose(found.model.cpd("x").covariance.ravel(), squares / (6.0 - 2.0 - 2.0))
    few = ss.priors.ImaginaryData({"d": ["no", "yes"], "x": [0.0, 5.0]})
    with pytest.raises(ss.errors.ModelError, match="imaginary rows give no prior"):
        ss.fit(net, data, ss.Bayes(few))


def test_vectors_share_a_covariance_matrix():
    v = ss.Vector("v", 2)
    cpd = ss.LinearGaussian(v, covariance=np.eye(2), by=D, shared="covariance")
    rng = np.random.default_rng(2)
    y, d = rng.normal(size=(30, 2)) @ [[1.0, 0.5], [0.0, 2.0]], rng.integers(2, size=30)
    found = cpd.from_statistics(cpd.scatters({v: y, D: d}))
    centered = y - np.stack([y[d == k].mean(axis=0) for k in (0, 1)])[d]
    np.testing.assert_allclose(found.covariance, np.stack([centered.T @ centered / 30.0] * 2), rtol=1e-12)
    assert found.num_parameters == 7
    post = cpd.parameters.posterior(
        ss.priors.NormalInverseWishart([0, 0], 1.0, degrees=5.0, scale=np.eye(2)), [cpd], cpd.scatters({v: y, D: d})
    )
    total = 0.0
    seen = cpd.parameters.posterior(
        ss.priors.NormalInverseWishart([0, 0], 1.0, degrees=5.0, scale=np.eye(2)),
        [cpd],
        cpd.scatters({v: y[:0], D: d[:0]}),
    )
    for i in range(30):
        row = {v: y[i : i + 1], D: d[i : i + 1]}
        total += float(seen.log_predictive(row)[0])
        seen = seen.updated(cpd.scatters(row))
    assert total == pytest.approx(post.log_marginal_likelihood(), abs=1e-8)


def test_draws_have_the_moments_of_the_posterior():
    line = ss.LinearGaussian(X, covariance=1.0, by=D, shared="covariance")
    data = {X: np.array([1.0, 2.0, 6.0, 7.0, 9.0]), D: np.array([0, 0, 1, 1, 1])}
    post = line.parameters.posterior(ss.priors.NormalGamma(0.0, 1.0, shape=4.0, rate=3.0), [line], line.scatters(data))
    rng = np.random.default_rng(0)
    drawn = [post.sampled_cpds(rng)[0] for _ in range(4000)]
    (mean,) = post.mean_cpds()
    assert all(cpd.covariance[0, 0, 0] == cpd.covariance[1, 0, 0] for cpd in drawn)
    np.testing.assert_allclose(np.mean([c.covariance for c in drawn], axis=0), mean.covariance, rtol=0.05)
    np.testing.assert_allclose(np.mean([c.intercept for c in drawn], axis=0), mean.intercept, atol=0.15)


def test_the_density_integrates_to_one_at_its_mean():
    """Of two means and one variance, as a product of a gamma and two normal densities."""
    prior = ss.priors.NormalGamma(0.5, 2.0, shape=3.0, rate=1.5)
    line = ss.LinearGaussian(X, [1.0, -1.0], covariance=0.8, by=D, shared="covariance")
    none = line.scatters({X: np.zeros(0), D: np.zeros(0, np.int64)})
    post = line.parameters.posterior(prior, [line], none)
    from scipy.stats import norm

    expected = invgamma(3.0, scale=1.5).logpdf(0.8)
    expected += norm(0.5, np.sqrt(0.8 / 2.0)).logpdf([1.0, -1.0]).sum()
    assert post.log_density(line, "theta") == pytest.approx(expected)
    assert post.log_density(line, "softmax") == pytest.approx(expected + np.log(0.8))


def test_files_and_words(tmp_path):
    fitted = ss.fit(network(), rows()).model
    ss.write(fitted, tmp_path / "net.json")
    again = ss.read(tmp_path / "net.json")
    assert again.cpd("x").shared == "covariance"
    np.testing.assert_array_equal(again.cpd("x").covariance, fitted.cpd("x").covariance)
    assert "shared covariance" in repr(fitted.cpd("x"))
    text = (tmp_path / "net.json").read_text()
    ss.write(network(None), tmp_path / "plain.json")
    assert "shared" in text
    assert "shared" not in (tmp_path / "plain.json").read_text()
    with pytest.raises(ss.errors.ModelError, match="share one covariance"):
        ss.LinearGaussian(X, covariance=[1.0, 2.0], by=D, shared="covariance")
    with pytest.raises(ss.errors.ArgumentError, match="shared"):
        ss.LinearGaussian(X, covariance=1.0, by=D, shared="variance")


def test_a_shared_variance_and_a_separate_one_are_not_tied():
    y = ss.Real("y")
    lines = [
        ss.LinearGaussian(v, covariance=1.0, by=D, block="line", shared=how)
        for v, how in ((X, "covariance"), (y, None))
    ]
    with pytest.raises(ss.errors.ModelError, match="line"):
        ss.fit(ss.BayesNet(ss.TableCPD(D, [0.5, 0.5]), *lines), {"d": ["no"], "x": [1.0], "y": [2.0]})


def test_a_perfect_fit_is_refused_and_can_be_floored():
    line = ss.LinearGaussian(X, covariance=1.0, by=D, shared="covariance")
    net = ss.BayesNet(ss.TableCPD(D, [0.5, 0.5]), line)
    data = {"d": ["no", "no", "yes", "yes"], "x": [3.0, 3.0, 5.0, 5.0]}
    with pytest.raises(ss.errors.DataError, match="unbounded"):
        ss.fit(net, data)
    floored = ss.fit(net, data, ss.MLE(min_variance=0.25)).model.cpd("x")
    assert floored.covariance.ravel().tolist() == [0.25, 0.25]
    one = ss.fit(net, {**data, "x": [3.0, 3.0, 5.0, 7.0]}).model.cpd("x")
    assert one.covariance.ravel().tolist() == pytest.approx([0.5, 0.5])  # one constant context is no obstacle


def test_questions_see_an_ordinary_line():
    fitted, plain = ss.fit(network(), rows()).model, network(None)
    same = plain.with_cpds(
        *(cpd for cpd in fitted.cpds if cpd.child != X),
        plain.cpd("x").with_parameters(
            fitted.cpd("x").intercept, fitted.cpd("x").coefficients, covariance=fitted.cpd("x").covariance
        ),
    )
    for given in itertools.islice(({"x": v} for v in (-1.0, 4.0)), 2):
        one, two = (ss.query(net, "c", given=given).values for net in (fitted, same))
        np.testing.assert_allclose(one, two, rtol=0, atol=CLOSE)
