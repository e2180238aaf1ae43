"""Available-case estimates: plain counts, and what is consistent under which mechanism."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sepset as ss
from sepset.api.learning import fit
from sepset.graphs.graph import DAG
from sepset.learning.missing.availablecases import AvailableCases
from sepset.learning.missing.mechanisms import MAR, MCAR, MNAR, Hiding, hide_cells
from support.tolerances import EXACT

A, B = ss.Discrete("a", 2), ss.Discrete("b", 2)
TRUTH = ss.BayesNet(ss.TableCPD(A, [0.3, 0.7]), ss.TableCPD(B, [[0.8, 0.2], [0.4, 0.6]], given=A))
ROWS = 40_000


def estimate(data, method):
    return fit(TRUTH, data, method).model


def test_counts_of_the_rows_that_have_the_family():
    codes = np.array([[0, 0], [0, 1], [0, -1], [1, 1], [1, -1], [1, -1], [-1, 0]])
    found = estimate(ss.Dataset.from_codes([A, B], codes), AvailableCases())
    assert found.cpd("a").values == pytest.approx([3 / 6, 3 / 6], abs=EXACT)
    assert found.cpd("b").values == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]), abs=EXACT)


def reversed_structure():
    """The same joint as B -> A: the estimate of P(b) needs weights when b hides with a."""
    return DAG.parse("b -> a")


@pytest.mark.parametrize(
    ("mechanism", "plain", "weighted"),
    [
        (MCAR({"b": 0.5}), True, True),
        (MAR({"b": Hiding([0.1, 0.8], given="a")}), False, True),
        (MNAR({"b": Hiding([0.1, 0.8], given="b")}), False, False),
    ],
    ids=["MCAR", "MAR", "MNAR"],
)
def test_what_is_consistent_where(mechanism, plain, weighted):
    data = hide_cells(TRUTH.sample(ROWS, seed=0), mechanism, seed=1)
    truth = 0.3 * 0.2 + 0.7 * 0.6
    for method, consistent in ((AvailableCases(), plain), (AvailableCases(given="a"), weighted)):
        found = fit(reversed_structure(), data, method).model.cpd("b")[()][1]
        assert (abs(found - truth) < 5 * np.sqrt(0.25 * 3 / ROWS)) == consistent, (method, found)


def test_missingness_may_depend_on_columns_outside_the_network():
    data = hide_cells(TRUTH.sample(ROWS, seed=3), MAR({"b": Hiding([0.1, 0.8], given="a")}), seed=4)
    alone = fit(DAG.parse("b"), data, AvailableCases(given="a"))
    assert alone.model.cpd("b")[()][1] == pytest.approx(0.48, abs=0.02)
    assert alone.info["fewest_rows"] == int((~data.is_missing("b")).sum())


def test_real_families():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(500)
    y = 1 + 2 * x + rng.standard_normal(500)
    y[::3] = np.nan
    found = fit(DAG.parse("x -> y"), {"x": x, "y": y}, AvailableCases()).model.cpd("y")
    seen = ~np.isnan(y)
    assert [found.coefficients[0, 0, 0], found.intercept[0, 0]] == pytest.approx(np.polyfit(x[seen], y[seen], 1))


def test_tied_families_pool_their_cases():
    coins = [ss.Discrete(name) for name in "cd"]
    net = ss.BayesNet(*(ss.TableCPD(c, [0.5, 0.5], block="coin") for c in coins))
    codes = np.array([[0, -1], [1, -1], [-1, 1], [1, 1]])
    found = fit(net, ss.Dataset.from_codes(coins, codes), AvailableCases()).model
    assert found.cpd("c").values == pytest.approx([0.2, 0.8], abs=EXACT)
    assert found.cpd("d").values == pytest.approx([0.2, 0.8], abs=EXACT)


@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_likelihood_is_the_sum_over_all_completions(num_rows, seed):
    """Proposition 19.1, with every completion of every missing cell written out."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 2, (num_rows, 2))
    weights = rng.random(num_rows)
    total = 0.0
    for row, weight in zip(codes, weights, strict=True):
        choices = [range(2) if c < 0 else (c,) for c in row]
        total += weight * np.log(
            sum([0.3, 0.7][a] * [[0.8, 0.2], [0.4, 0.6]][a][b] for a, b in itertools.product(*choices))
        )
    data = ss.Dataset.from_codes([A, B], codes, weights=weights)
    assert data.weights @ ss.prepare(TRUTH).log_probabilities(data) == pytest.approx(total, abs=1e-10)


def test_the_fit_tells_the_likelihood_of_all_rows():
    data = ss.Dataset.from_codes([A, B], np.array([[0, 0], [1, -1], [-1, 1], [1, 1]]))
    found = fit(TRUTH, data, AvailableCases())
    assert found.log_likelihood == pytest.approx(ss.prepare(found.model).log_probabilities(data).sum(), abs=EXACT)


def test_what_is_refused():
    apart = ss.Dataset.from_codes([A, B], np.array([[0, -1], [-1, 1]]))
    with pytest.raises(ss.errors.DataError, match="never seen together"):
        estimate(apart, AvailableCases())
    partly = ss.Dataset.from_codes([A, B], np.array([[0, 1], [1, -1]]))
    with pytest.raises(ss.errors.DataError):
        estimate(partly, AvailableCases())
    assert estimate(partly, AvailableCases(unseen="uniform")).cpd("b").values[1] == pytest.approx([0.5, 0.5])
    with pytest.raises(ss.errors.ArgumentError, match="Did you mean 'uniform'"):
        AvailableCases(unseen="unform")


def test_contexts_without_cases_follow_every_policy():
    partly = ss.Dataset.from_codes([A, B], np.array([[0, 1], [0, 1], [0, 0], [1, -1]]))
    marginal = estimate(partly, AvailableCases(unseen="marginal")).cpd("b").values
    np.testing.assert_allclose(marginal, [[1 / 3, 2 / 3], [1 / 3, 2 / 3]])
    smooth = estimate(partly, AvailableCases(prior=ss.BDeu(4))).cpd("b").values
    np.testing.assert_allclose(smooth, [[2 / 5, 3 / 5], [1 / 2, 1 / 2]])


def test_mixed_networks_take_one_prior_a_kind():
    rows = {"k": ["p", "p", "q", None], "x": [1.0, 3.0, 5.0, 7.0]}
    several = [ss.priors.Dirichlet(1), ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)]
    found = fit(ss.DAG.parse("k -> x"), rows, AvailableCases(prior=several), variables=[ss.Real("x")]).model
    np.testing.assert_allclose(found.cpd("k").values, [3 / 5, 2 / 5])
    np.testing.assert_allclose(found.cpd("x").intercept[:, 0], [4 / 3, 5 / 2])  # (0 + 1 + 3) / 3, (0 + 5) / 2
    assert repr(AvailableCases(given="k")) == "AvailableCases(given=('k',))"


@pytest.mark.parametrize("rows", [{"a": [1.0, 1.0, None]}, {"a": [2.0, None, 2.0, 2.0]}])
def test_constant_columns_are_refused_as_by_maximum_likelihood(rows):
    complete = {"a": [x for x in rows["a"] if x is not None]}
    with pytest.raises(ss.errors.DataError, match="the variance is zero") as expected:
        fit(ss.DAG.parse("a"), complete, ss.MLE())
    with pytest.raises(ss.errors.DataError) as found:
        fit(ss.DAG.parse("a"), rows, AvailableCases())
    assert str(found.value) == str(expected.value)
    kept = fit(ss.DAG.parse("a"), rows, AvailableCases(prior=ss.priors.NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)))
    assert kept.model.cpd("a").covariance.min() > 0
