"""Real variables that are fixed by others: interventions, lines without noise, and variances estimated as zero.

A line of zero variance is a law, $Y = a + b X$, and an intervention is one without parents. Both are degenerate
Gaussians: the joint is still Gaussian in moment form, and every conditional of it follows by linear algebra.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import sepset as ss
from support.tolerances import CLOSE, EXACT, STANDARD_ERRORS

W, X, Y, Z = map(ss.Real, "WXYZ")
C = ss.Discrete("C", ("off", "on"))
METHODS = [
    None,
    ss.VariableElimination(),
    ss.CliqueTree(),
    ss.inference.BeliefUpdate(),
    ss.inference.ShaferShenoy(),
    ss.inference.BruteForce(),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)


def each(cases):
    """Every case with every method."""
    asked = [
        pytest.param(method, *case, id=f"{case[0]} given {case[1]} by {type(method).__name__}")
        for case in cases
        for method in METHODS
    ]
    return pytest.mark.parametrize(("method", *CASE[: len(cases[0])]), asked)


CASE = ("targets", "given", "mean", "covariance")
CHAIN = ss.BayesNet(
    ss.LinearGaussian(X, 0.0, covariance=1.0),
    ss.LinearGaussian(Y, 1.0, coefficients={X: 2.0}, covariance=0.5, given=X),
    ss.LinearGaussian(Z, 0.0, coefficients={Y: 1.0}, covariance=0.5, given=Y),
)
SET = CHAIN.do({"Y": 1.0})  # X ~ N(0, 1), Y = 1, Z ~ N(1, 0.5), X and Z independent

# X and W are independent; Y = 1 + 2 X - W without noise; Z is Y with noise
LAW = ss.BayesNet(
    ss.LinearGaussian(X, 0.5, covariance=1.0),
    ss.LinearGaussian(W, -1.0, covariance=3.0),
    ss.LinearGaussian(Y, 1.0, coefficients={X: 2.0, W: -1.0}, covariance=0.0, given=[X, W]),
    ss.LinearGaussian(Z, 0.0, coefficients={Y: 1.0}, covariance=0.5, given=Y),
)
NAMES = "XWYZ"
LAW_MEAN = np.array([0.5, -1.0, 3.0, 3.0])
_BASE = np.diag([1.0, 3.0, 0.5])  # of X, W and the noise of Z
_RISE = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, -1.0, 0.0], [2.0, -1.0, 1.0]])
LAW_COVARIANCE = _RISE @ _BASE @ _RISE.T


def conditioned(targets, given):
    """Mean and covariance of some variables of LAW, by the Schur complement; a pseudo-inverse for what is fixed."""
    t, e = ([NAMES.index(n) for n in names] for names in (targets, given))
    gain = LAW_COVARIANCE[np.ix_(t, e)] @ np.linalg.pinv(LAW_COVARIANCE[np.ix_(e, e)])
    mean = LAW_MEAN[t] + gain @ (np.array(list(given.values())) - LAW_MEAN[e])
    return mean, LAW_COVARIANCE[np.ix_(t, t)] - gain @ LAW_COVARIANCE[np.ix_(e, t)]


def assert_gaussian(answer, mean, covariance):
    np.testing.assert_allclose(answer.distribution.mu, mean, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(answer.distribution.covariance, covariance, rtol=0, atol=CLOSE)


@each(
    [
        ("Z", {}, [1.0], [[0.5]]),
        ("X", {}, [0.0], [[1.0]]),
        ("Y", {}, [1.0], [[0.0]]),
        ("X", {"Z": 7.0}, [0.0], [[1.0]]),
        ("Z", {"Y": 1.0}, [1.0], [[0.5]]),
        (["X", "Z"], {}, [0.0, 1.0], [[1.0, 0.0], [0.0, 0.5]]),
        (["Z", "Y"], {}, [1.0, 1.0], [[0.5, 0.0], [0.0, 0.0]]),
    ]
)
def test_an_intervention_on_a_real_variable_cuts_it_off_and_fixes_it(method, targets, given, mean, covariance):
    assert_gaussian(ss.query(SET, targets, given=given, method=method), mean, covariance)


@every_method
def test_evidence_has_its_density_under_an_intervention(method):
    found = float(ss.log_probability(SET, given={"X": 0.3, "Z": 1.3}, method=method))
    assert found == pytest.approx(norm.logpdf(0.3) + norm.logpdf(1.3, 1.0, np.sqrt(0.5)), abs=CLOSE)


def test_marginals_and_mode_under_an_intervention():
    found = ss.marginals(SET, given={"Z": 2.0})
    assert [float(found[name].mean()) for name in "XYZ"] == pytest.approx([0.0, 1.0, 2.0], abs=EXACT)
    assert [float(found[name].variance()) for name in "XYZ"] == pytest.approx([1.0, 0.0, 0.0], abs=EXACT)
    assert ss.map_assignment(SET).assignment == pytest.approx({"X": 0.0, "Y": 1.0, "Z": 1.0}, abs=CLOSE)


def test_draws_given_evidence_under_an_intervention():
    rows = ss.sample(SET, 4000, given={"Z": 3.0}, seed=0).to_frame("pandas")
    assert (rows["Y"] == 1.0).all()
    assert (rows["Z"] == 3.0).all()
    assert abs(rows["X"].mean()) < STANDARD_ERRORS / np.sqrt(4000)
    assert abs(rows["X"].var() - 1.0) < STANDARD_ERRORS * np.sqrt(2 / 4000)


def test_draws_under_an_intervention():
    rows = ss.sample(SET, 4000, seed=0).to_frame("pandas")
    assert (rows["Y"] == 1.0).all()
    assert abs(rows["Z"].mean() - 1.0) < STANDARD_ERRORS * np.sqrt(0.5 / 4000)


@pytest.mark.parametrize("state", C.states)
def test_an_intervention_on_a_real_child_says_nothing_about_its_discrete_parent(state):
    net = ss.BayesNet(
        ss.TableCPD(C, [0.3, 0.7]),
        ss.LinearGaussian(X, [0.0, 5.0], covariance=[1.0, 2.0], by=C),
        ss.LinearGaussian(Y, [0.0, 1.0], coefficients=[1.0, -1.0], covariance=[1.0, 4.0], given=X, by=C),
    )
    changed = net.do({"X": 2.0})
    assert ss.query(changed, "C").values.tolist() == pytest.approx([0.3, 0.7], abs=EXACT)
    answer = ss.query(changed, "Y", given={"C": state})
    assert float(answer.mean()) == pytest.approx({"off": 2.0, "on": -1.0}[state], abs=CLOSE)
    assert float(answer.variance()) == pytest.approx({"off": 1.0, "on": 4.0}[state], abs=CLOSE)


@pytest.mark.parametrize("value", [1.0, 2.0])
def test_a_finding_on_what_was_set_agrees_with_it_or_is_impossible(value):
    if value == 1.0:
        assert_gaussian(ss.query(SET, "Z", given={"Y": value}), [1.0], [[0.5]])
    else:
        with pytest.raises(ss.ImpossibleEvidence):
            ss.query(SET, "Z", given={"Y": value})


@each(
    [
        ("Y", {}),
        ("X", {}),
        ("Z", {}),
        ("XW", {"Y": 2.0}),
        ("XWZ", {"Y": 2.0}),
        ("XWY", {"Z": 2.0}),
        ("W", {"X": 1.0, "Y": 2.0}),
        ("ZXWY", {}),
        ("Y", {"X": 1.0, "W": 0.0}),
    ]
)
def test_a_line_without_noise_is_a_law_between_its_variables(method, targets, given):
    assert_gaussian(ss.query(LAW, list(targets), given=given, method=method), *conditioned(targets, given))


@every_method
def test_the_density_of_what_a_law_determines(method):
    """Y = 1 + 2 X - W is N(3, 2^2 + 3), and its noisy copy has half a unit more."""
    found = [float(ss.log_probability(LAW, given={name: 2.0}, method=method)) for name in "YZ"]
    assert found == pytest.approx([norm.logpdf(2.0, 3.0, np.sqrt(v)) for v in (7.0, 7.5)], abs=CLOSE)


def test_findings_against_a_law_are_impossible():
    with pytest.raises(ss.ImpossibleEvidence):
        ss.query(LAW, "Z", given={"X": 0.0, "W": 0.0, "Y": 5.0})
    assert float(ss.log_probability(LAW, given={"X": 0.0, "W": 0.0, "Y": 5.0})) == -np.inf


def test_the_mode_obeys_the_law():
    """Given Z the mode is the mean, and its Y follows from its X and W."""
    found = ss.map_assignment(LAW, given={"Z": 2.0}).assignment
    mean, _ = conditioned("XWY", {"Z": 2.0})
    assert [found[name] for name in "XWY"] == pytest.approx(mean.tolist(), abs=CLOSE)
    assert found["Y"] == pytest.approx(1.0 + 2.0 * found["X"] - found["W"], abs=CLOSE)


def test_draws_given_evidence_obey_the_law():
    rows = ss.sample(LAW, 2000, given={"Z": 2.0}, seed=0).to_frame("pandas")
    np.testing.assert_allclose(rows["Y"], 1.0 + 2.0 * rows["X"] - rows["W"], rtol=0, atol=1e-6)
    mean, covariance = conditioned("XWY", {"Z": 2.0})
    assert (np.abs(rows[list("XWY")].mean() - mean) < STANDARD_ERRORS * np.sqrt(np.diag(covariance) / 2000)).all()


# In one context X is a constant, in the other it has a spread.
SWITCH = ss.BayesNet(
    ss.TableCPD(C, [0.3, 0.7]),
    ss.LinearGaussian(X, [0.0, 5.0], covariance=[1.0, 0.0], by=C),
    ss.LinearGaussian(Y, 0.0, coefficients={X: 1.0}, covariance=0.25, given=X),
)


def test_a_context_without_noise_beside_one_with_it():
    """Given Y the contexts weigh as N(y; 0, 1.25) and N(y; 5, 0.25)."""
    weights = np.array([0.3 * norm.pdf(4.0, 0.0, np.sqrt(1.25)), 0.7 * norm.pdf(4.0, 5.0, 0.5)])
    share = weights / weights.sum()
    assert ss.query(SWITCH, "C", given={"Y": 4.0}).values.tolist() == pytest.approx(share.tolist(), abs=CLOSE)
    mean, spread = np.array([4.0 * 0.8, 5.0]), np.array([0.2, 0.0])
    answer = ss.query(SWITCH, "X", given={"Y": 4.0})
    assert float(answer.mean()) == pytest.approx(share @ mean, abs=CLOSE)
    assert float(answer.variance()) == pytest.approx(share @ (spread + mean**2) - (share @ mean) ** 2, abs=CLOSE)
    assert ss.query(SWITCH, "C").values.tolist() == pytest.approx([0.3, 0.7], abs=EXACT)


def test_a_deterministic_line_below_the_query_is_barren():
    """A deterministic relation below the query and the evidence is pruned."""
    above = ss.BayesNet(
        ss.TableCPD(C, [0.3, 0.7]),
        ss.LinearGaussian(X, [0.0, 5.0], covariance=[1.0, 2.0], by=C),
        ss.LinearGaussian(Y, 0.0, coefficients={X: 1.0}, covariance=0.0, given=X),
    )
    weights = np.array([0.3 * norm.pdf(3.0), 0.7 * norm.pdf(3.0, 5.0, np.sqrt(2.0))])
    assert ss.query(above, "C", given={"X": 3.0}).values.tolist() == pytest.approx((weights / weights.sum()).tolist())


@pytest.mark.parametrize(
    ("rows", "covariance"),
    [
        pytest.param({"c": [0, 0, 1], "x": [1.0, 2.0, 3.0]}, "own", id="a class of one row"),
        pytest.param({"c": [0, 0, 1, 1], "x": [1.0, 2.0, 3.0, 3.0]}, "own", id="a feature constant in a class"),
        pytest.param({"c": [0, 0, 1, 1], "x": [2.0, 2.0, 2.0, 2.0]}, "shared", id="a constant feature"),
        pytest.param({"c": [0, 0, 1, 1], "x": [2.0, 2.0, 3.0, 3.0]}, "shared", id="a feature that is the class"),
        pytest.param(
            {"c": [0, 0, 0, 1, 1, 1], "w": [1.0, 2.0, 4.0, 0.0, 1.0, 5.0], "x": [2.0, 4.0, 8.0, 0.0, 2.0, 10.0]},
            "shared",
            id="a feature twice another",
        ),
    ],
)
def test_discriminant_analysis_refuses_zero_variances_as_the_likelihood_does(rows, covariance):
    """The likelihood is unbounded there, and `MLE` says so of the same lines."""
    with pytest.raises(ss.errors.DataError, match=r"\bx\b"):
        ss.classify.discriminant_analysis(rows, "c", covariance=covariance)
