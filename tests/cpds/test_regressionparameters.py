"""Regressions from moments about any center, their modes, and the expected moments of incomplete rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sepset as ss
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.priors.weights import NormalWeights
from sepset.errors import NotApplicable, NotClosed
from sepset.variables.variable import Discrete, Real
from support import rational_normals

x, y = Real("x"), Real("y")
LINES = [LinearGaussian(x, 1.0, covariance=4.0), LinearGaussian(y, 0.5, coefficients=2.0, covariance=1.0, given=x)]


def test_estimates_do_not_depend_on_the_center():
    rng = np.random.default_rng(0)
    columns = {x: rng.normal(5, 1, 50), y: rng.normal(-3, 1, 50)}
    made = []
    for center in ([0.0, 0.0], [5.0, -3.0]):
        own = replace(LINES[1].parameters, origin=np.array(center))
        stats = own.tally(columns, np.ones(50))
        made.append(own.estimate(stats))
        logs = made[-1].log_probability(columns)
        assert_allclose(own.of(made[-1]).score(stats), logs.sum(), rtol=1e-9)
    assert_allclose(made[0].intercept, made[1].intercept, rtol=1e-9)
    slope, intercept = np.polyfit(columns[x], columns[y], 1)
    assert_allclose([made[1].coefficients.item(), made[1].intercept.item()], [slope, intercept], rtol=1e-8)


def test_contexts_without_mass_keep_their_line():
    d = Discrete("d")
    line = LinearGaussian(x, [1.0, 7.0], covariance=[1.0, 2.0], by=d)
    own = replace(line.parameters, origin=np.array([3.0]))
    found = own.estimate(own.tally({d: np.array([0, 0]), x: np.array([2.0, 4.0])}, np.ones(2)))
    assert_allclose(found.intercept.ravel(), [3.0, 7.0])
    assert_allclose(found.covariance.ravel(), [1.0, 2.0])
    assert own.of(found).score(own.zero) == 0.0


def test_modes_are_where_the_objective_is_largest():
    line, prior = LINES[0], NormalGamma(1.0, 2.0, shape=3.0, rate=4.0)
    own = line.parameters
    stats = own.tally({x: np.array([0.5, 2.0, 4.0])}, np.ones(3))
    for is_theta in (False, True):
        term = own.prior_term(prior, [line], is_theta=is_theta)
        best = own.estimate(stats, term)
        top = own.of(best).score(stats) + own.of(best).log_prior(term)
        for da, dv in ((0.05, 1), (-0.05, 1), (0, 1.1), (0, 0.9)):
            other = line.with_parameters(best.intercept + da, best.coefficients, covariance=best.covariance * dv)
            assert own.of(other).score(stats) + own.of(other).log_prior(term) < top


def test_priors_on_coefficients_and_others():
    own = LINES[1].parameters
    assert own.log_prior(own.prior_term(NormalWeights(1.0), [LINES[1]])) == -2.0
    assert own.log_prior(None) == 0.0
    with pytest.raises(
        NotApplicable, match="NormalGamma, LinearNormalGamma, NormalWeights, LaplaceWeights or ImaginaryData"
    ):
        own.prior_term(Dirichlet(1.0), [LINES[1]])


@pytest.mark.parametrize("seed", range(20))
def test_coefficients_of_named_priors_go_to_their_parents(seed):
    """Whatever the order in which the prior names the parents, and in which the CPD lists them; by the closed form."""
    rng = np.random.default_rng(seed)
    u, v, w = Real("u"), ss.Vector("v", 2), Real("w")
    parents, num = [u, v, w], 7
    rows = {u: rng.normal(size=num), v: rng.normal(size=(num, 2)), w: rng.normal(size=num), y: rng.normal(size=num)}
    root = rng.normal(size=(5, 5))
    mean, precision = rng.normal(size=5), root @ root.T + 0.1 * np.eye(5)
    z = np.column_stack([np.ones(num), rows[u], rows[v], rows[w]])
    expected = np.linalg.solve(precision + z.T @ z, precision @ mean + z.T @ rows[y])
    places = {"u": [1], "v": [2, 3], "w": [4]}
    named, listed = ([parents[i] for i in rng.permutation(3)] for _ in range(2))
    order = [0, *(i for p in named for i in places[p.name])]
    prior = ss.priors.LinearNormalGamma(
        mean[order],
        precision[np.ix_(order, order)],
        shape=2.0,
        rate=1.0,
        given=named if seed % 2 else [p.name for p in named],
    )
    line = LinearGaussian(y, coefficients=np.zeros(4), covariance=1.0, given=listed)
    found = line.parameters.posterior(prior, [line], line.scatters(rows)).contexts[0]
    assert_allclose(found.mean, expected[[0, *(i for p in listed for i in places[p.name])]], rtol=1e-7, atol=1e-9)
    several = ss.priors.LinearNormalInverseWishart(
        mean[order][:, None], precision[np.ix_(order, order)], degrees=4.0, scale=[[2.0]], given=named
    )
    again = line.parameters.posterior(several, [line], line.scatters(rows)).contexts[0]
    assert_allclose(again.mean[:, 0], found.mean, rtol=1e-9)
    assert_allclose(again.precision, found.precision, rtol=1e-9)


def test_named_priors_meet_networks_by_name():
    rng = np.random.default_rng(3)
    frame = {name: rng.normal(size=9) for name in "uvy"}
    prior = ss.priors.LinearNormalGamma([0.0, 5.0, -5.0], [1.0, 9.0, 4.0], shape=2.0, rate=1.0, given=["v", "u"])
    others = ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
    z = np.column_stack([np.ones(9), frame["v"], frame["u"]])
    precision = np.diag([1.0, 9.0, 4.0])
    _, of_v, of_u = np.linalg.solve(precision + z.T @ z, precision @ [0.0, 5.0, -5.0] + z.T @ frame["y"])
    for dag in (ss.DAG(["u", "v", "y"], [("u", "y"), ("v", "y")]), ss.DAG(["v", "u", "y"], [("v", "y"), ("u", "y")])):
        cpd = ss.fit(dag, frame, ss.Bayes([prior, others])).model.cpd("y")
        slopes = dict(zip([v.name for v in cpd.given], cpd.coefficients.ravel(), strict=True))
        assert slopes == pytest.approx({"v": of_v, "u": of_u}, rel=1e-9)
    with pytest.raises(NotApplicable, match=r"given=\('v', 'u'\)"):
        ss.fit(ss.DAG(["u", "w", "y"], [("u", "y"), ("w", "y")]), {**frame, "w": frame["v"]}, ss.Bayes(prior))


def test_moments_move_from_one_center_to_another():
    rng = np.random.default_rng(1)
    columns, weights = {x: rng.normal(50, 1, 20), y: rng.normal(size=20)}, rng.random(20)
    near, far = (replace(LINES[1].parameters, origin=np.array(c)) for c in ([50.0, 0.0], [-3.0, 2.0]))
    assert_allclose(near.recentered(far.tally(columns, weights), far.center), near.tally(columns, weights), rtol=1e-9)


def test_tied_regressions_count_about_one_center():
    u, v = Real("u"), Real("v")
    columns = {u: np.array([1.0, np.nan, 3.0]), v: np.array([10.0, 20.0, 30.0])}
    first, second = (LinearGaussian(r, covariance=1.0, block="k").parameters.for_rows(columns) for r in (u, v))
    assert first.center.tolist() == [2.0]
    assert second.center.tolist() == [20.0]
    assert second.about(first).center.tolist() == [2.0]


def test_certain_relations_are_refused():
    certain = LinearGaussian(y, 0.0, coefficients=1.0, covariance=0.0, given=x)
    with pytest.raises(NotClosed, match="unbounded"):
        _ = certain.parameters.engine_values


def test_the_engine_sees_numbers_relative_to_the_origin():
    """The regression of shifted values has the same density, and its moments are about the block's center again."""
    rng = np.random.default_rng(1)
    columns = {x: rng.normal(5, 1, 20), y: rng.normal(-3, 1, 20)}
    plain = LINES[1].parameters
    own = replace(plain, origin=np.array([5.0, -3.0]), shared=np.array([1.0, 2.0]))
    (made,) = own.engine_values
    shifted = made.log_densities(np.zeros(20, int), columns[x][:, None] - 5.0, columns[y][:, None] + 3.0)
    assert_allclose(shifted, LINES[1].log_probability(columns), rtol=1e-12)
    z = np.stack([np.ones(20), columns[x] - 5.0, columns[y] + 3.0])
    assert_allclose(own.expected([(z @ z.T)[None]]), own.tally(columns, np.ones(20)))
    assert own.engine_form is LINES[1]


@pytest.mark.parametrize("kind", rational_normals.HARD_KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_estimates_keep_their_digits(kind, seed):
    columns = rational_normals.hard_columns(seed, kind)
    slopes, _, left = rational_normals.regression(columns, "y", ("a", "b"))
    found = ss.fit(ss.DAG.parse("a -> y <- b"), columns, ss.MLE())
    cpd = found.model.cpd("y")
    own = dict(zip((v.name for v in cpd.given), cpd.coefficients[0][0], strict=True))
    for name, slope in zip("ab", slopes, strict=True):
        assert own[name] == pytest.approx(float(slope), rel=1e-6)
    assert cpd.covariance[0, 0, 0] == pytest.approx(float(left / 30), rel=1e-8)
    singles = [rational_normals.regression(columns, name, ())[2] for name in "ab"]
    expected = sum(-15.0 * (math.log(2 * math.pi) + _log(s / 30) + 1.0) for s in (left, *singles))
    assert found.log_likelihood == pytest.approx(expected, rel=1e-9)


def _log(fraction):
    return math.log(fraction.numerator) - math.log(fraction.denominator)


def _with_units(shared: str | None, scale: float):
    rng = np.random.default_rng(3)
    d, y = Discrete("d"), Real("y")
    columns = {d: rng.integers(0, 2, 80), y: rng.normal(5.0, 1.0, 80) * scale}
    given = [Real("u"), Real("v")]
    for v in given:
        columns[v] = rng.normal(1e3, 1.0, 80) / scale
    covariance = np.full((2, 1, 1), 2.5 * scale**2)
    cpd = LinearGaussian(y, coefficients=np.zeros((2, 1, 2)), covariance=covariance, given=given, by=d, shared=shared)
    own = cpd.parameters.for_rows(columns)
    stats = own.tally(columns, np.ones(80))
    return own, stats, own.units(stats)


def _slopes_along(own, stats, units):
    steps = 1e-5 * units.T
    x = own.coordinates
    slopes = [own.of(own.at(x + s)).score_slope(stats) - own.of(own.at(x - s)).score_slope(stats) for s in steps]
    return -(np.array(slopes) / 2e-5) @ units


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shared", [None, "covariance"])
def test_units_have_the_information_of_the_rows(shared, scale):
    own, stats, units = _with_units(shared, scale)
    found, counts = _slopes_along(own, stats, units), stats[:, 0, 0]
    lines = [c * 4 + np.arange(3) for c in range(2)] if shared is None else [c * 3 + np.arange(3) for c in range(2)]
    for at, count in zip(lines, counts, strict=True):
        assert_allclose(found[np.ix_(at, at)], count * np.eye(3), atol=1e-6 * count)


def test_contexts_without_rows_have_units():
    own, stats, _ = _with_units(None, 1.0)
    stats[1] = 0.0
    units = own.units(stats)
    assert_allclose(units[4:7, 4:7], np.sqrt(2.5) * np.eye(3))
    assert units[7, 7] == 1.0
