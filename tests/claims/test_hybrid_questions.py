"""Models with discrete and real variables: the questions that a discrete model answers, asked of them.

The model is a mixture of six Gaussians, one for each joint state of a and b. Everything expected is computed from that
mixture: weights, means and covariances written out, and integrals over one real variable by quadrature.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import rel_entr
from scipy.stats import multivariate_normal, norm

import sepset as ss
from support.tolerances import CLOSE

A, B, X, Y = ss.Discrete("a"), ss.Discrete("b", 3), ss.Real("x"), ss.Real("y")
P_A, P_B = np.array([0.3, 0.7]), np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
X_MEAN, X_VAR = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.5])
Y_AT, Y_RISE, Y_VAR = np.array([0.0, -1.0]), np.array([1.0, 0.5]), np.array([1.0, 0.3])
HYBRID = ss.BayesNet(
    ss.TableCPD(A, P_A),
    ss.TableCPD(B, P_B, given=A),
    ss.LinearGaussian(X, X_MEAN, covariance=X_VAR, by=B),
    ss.LinearGaussian(Y, Y_AT, coefficients=Y_RISE, covariance=Y_VAR, given=X, by=A),
)
GAUSSIAN = ss.BayesNet(
    ss.LinearGaussian(X, 1.0, covariance=2.0),
    ss.LinearGaussian(Y, 0.0, coefficients={X: 0.5}, covariance=1.0, given=X),
)
G_MEAN, G_COV = np.array([1.0, 0.5]), np.array([[2.0, 1.0], [1.0, 1.5]])
CELLS = list(itertools.product(range(2), range(3)))


def moments(a, b):
    """Mean and covariance of (x, y) in one joint state."""
    rise = Y_RISE[a]
    covariance = X_VAR[b] * np.outer([1.0, rise], [1.0, rise]) + np.diag([0.0, Y_VAR[a]])
    return np.array([X_MEAN[b], Y_AT[a] + rise * X_MEAN[b]]), covariance


def weights(given=None, p_a=P_A, p_b=P_B):
    """P(a, b, findings) as a 2 by 3 array, and mean and covariance of (x, y) in each state given the findings."""
    found, parts = np.zeros((2, 3)), {}
    given = dict(given or {})
    seen = [i for i, name in enumerate("xy") if name in given]
    for a, b in CELLS:
        mean, covariance = moments(a, b)
        found[a, b] = p_a[a] * p_b[a, b] * (given.get("a", a) == a) * (given.get("b", b) == b)
        if seen:
            values = np.array([given["xy"[i]] for i in seen])
            inner = covariance[np.ix_(seen, seen)]
            found[a, b] *= multivariate_normal.pdf(values, mean[seen], inner)
            gain = covariance[:, seen] @ np.linalg.inv(inner)
            mean, covariance = mean + gain @ (values - mean[seen]), covariance - gain @ covariance[seen, :]
        parts[a, b] = mean, covariance
    return found, parts


def posterior(given=None, **parameters):
    found, _ = weights(given, **parameters)
    return found / found.sum()


def mixture(given=None):
    """Mean and covariance of (x, y) given the findings."""
    found, parts = weights(given)
    share = found / found.sum()
    mean = sum(share[c] * parts[c][0] for c in CELLS)
    second = sum(share[c] * (parts[c][1] + np.outer(parts[c][0], parts[c][0])) for c in CELLS)
    return mean, second - np.outer(mean, mean)


def density(a, x, given=None):
    """P(a, x | findings)."""
    found, parts = weights(given)
    share = found / found.sum()
    return sum(share[a, b] * norm.pdf(x, parts[a, b][0][0], np.sqrt(parts[a, b][1][0, 0])) for b in range(3))


def refused(*kinds, why):
    return pytest.mark.xfail(strict=True, raises=kinds, reason=why)


MIXED = refused(ss.errors.NotClosed, why="a joint with a mixture in a discrete state has no factor to be returned in")
EVIDENCE = [{}, {"y": 0.3}, {"y": -1.2}]


@pytest.mark.parametrize("given", EVIDENCE, ids=str)
def test_a_joint_of_everything_hidden(given):
    found = ss.query(HYBRID, ["a", "b", "x"], given=given)
    share, parts = posterior(given), weights(given)[1]
    for a, b in CELLS:
        mean, covariance = parts[a, b]
        expected = np.log(share[a, b]) + norm.logpdf(0.4, mean[0], np.sqrt(covariance[0, 0]))
        assert found.distribution.log_value({"a": a, "b": b, "x": 0.4}) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("given", EVIDENCE, ids=str)
@MIXED
def test_a_joint_of_a_discrete_and_a_real_variable(given):
    """b is summed out: in each state of a there is a mixture over b."""
    found = ss.query(HYBRID, ["a", "x"], given=given)
    for a, x in itertools.product(range(2), (-0.5, 0.4, 2.0)):
        assert found.distribution.log_value({"a": a, "x": x}) == pytest.approx(np.log(density(a, x, given)), abs=CLOSE)


ROWS = {"a": [0, 1, None, 1], "y": [0.3, 1.0, -1.2, None]}


def findings(row):
    return {name: column[row] for name, column in ROWS.items() if column[row] is not None}


def test_a_frame_predicts_real_variables():
    found = ss.predict(HYBRID, ROWS, targets=["x"])
    expected = [mixture(findings(row)) for row in range(4)]
    np.testing.assert_allclose(found.mean("x"), [mean[0] for mean, _ in expected], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found.variance("x"), [cov[0, 0] for _, cov in expected], rtol=0, atol=CLOSE)


def test_a_frame_predicts_whatever_it_has_no_column_for():
    found = ss.predict(HYBRID, ROWS)
    assert [v.name for v in found.targets] == ["b", "x"]
    expected = [posterior(findings(row)).sum(axis=0) for row in range(4)]
    np.testing.assert_allclose(found.probabilities("b"), expected, rtol=0, atol=CLOSE)
    means = [mixture(findings(row))[0][0] for row in range(4)]
    np.testing.assert_allclose(found.mean("x"), means, rtol=0, atol=CLOSE)


def test_a_frame_predicts_by_regression():
    """E[x | y] = 1 + (y - 0.5) / 1.5, with the variance 2 - 1 / 1.5."""
    ys = np.array([0.3, 1.0, -2.0])
    found = ss.predict(GAUSSIAN, {"y": ys.tolist()}, targets="x")
    np.testing.assert_allclose(found.mean("x"), 1.0 + (ys - 0.5) / 1.5, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found.variance("x"), 2.0 - 1.0 / 1.5, rtol=0, atol=CLOSE)


def test_a_frame_predicts_discrete_variables_of_a_hybrid():
    found = ss.predict(HYBRID, ROWS, targets="b").probabilities("b")
    expected = [posterior(findings(row)).sum(axis=0) for row in range(4)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("given", EVIDENCE[1:], ids=str)
def test_the_best_state_of_some_discrete_variables(given):
    found = ss.map_assignment(HYBRID, given=given, over=["a"])
    value = weights(given)[0].sum(axis=1)
    assert found.assignment == {"a": int(value.argmax())}
    assert found.log_value == pytest.approx(np.log(value.max()), abs=CLOSE)


def test_the_best_value_of_a_real_variable_of_a_gaussian():
    found = ss.map_assignment(GAUSSIAN, over=["x"])
    assert found.assignment["x"] == pytest.approx(1.0, abs=CLOSE)
    assert found.log_value == pytest.approx(norm.logpdf(0.0, 0.0, np.sqrt(2.0)), abs=CLOSE)


MODES = refused(ss.errors.NotClosed, why="the largest value of a mixture is not looked for")


def largest(function, spots):
    """The maximum of a function of one number, from many starts."""
    tries = [minimize_scalar(lambda x: -function(x), bracket=(s - 0.2, s + 0.2)) for s in spots]
    best = min(tries, key=lambda t: t.fun)
    return float(best.x), -float(best.fun)


@pytest.mark.parametrize("given", EVIDENCE, ids=str)
@MODES
def test_the_best_value_of_a_real_variable_with_the_others_summed_out(given):
    found = ss.map_assignment(HYBRID, given=given, over=["x"])
    total = weights(given)[0].sum()
    place, value = largest(lambda x: total * sum(density(a, x, given) for a in (0, 1)), np.linspace(-3, 5, 17))
    assert found.assignment["x"] == pytest.approx(place, abs=1e-5)
    assert found.log_value == pytest.approx(np.log(value), abs=CLOSE)


@pytest.mark.parametrize("given", EVIDENCE[1:], ids=str)
@MODES
def test_the_best_pair_of_a_state_and_a_value(given):
    found = ss.map_assignment(HYBRID, given=given, over=["a", "x"])
    total = weights(given)[0].sum()
    tries = {a: largest(lambda x, a=a: total * density(a, x, given), np.linspace(-3, 5, 17)) for a in (0, 1)}
    best = max(tries, key=lambda a: tries[a][1])
    assert found.assignment["a"] == best
    assert found.assignment["x"] == pytest.approx(tries[best][0], abs=1e-5)
    assert found.log_value == pytest.approx(np.log(tries[best][1]), abs=CLOSE)


def best_contexts(given):
    """Each joint state with its weight times the largest density of what is hidden and the value there, best first."""
    found, parts = weights(given)
    ranked = []
    for a, b in CELLS:
        mean, covariance = parts[a, b]
        top = np.log(found[a, b]) - 0.5 * np.log(2 * np.pi * covariance[0, 0])
        ranked.append((top, {"a": a, "b": b, "x": mean[0]}))
    return sorted(ranked, key=lambda entry: -entry[0])


def test_the_k_best_states_each_with_its_best_values():
    found = ss.map_assignment(HYBRID, given={"y": 0.3}, k=4)
    for (value, assignment), got, log in zip(
        best_contexts({"y": 0.3}), found.assignments, found.log_values, strict=False
    ):
        assert got == pytest.approx(assignment, abs=CLOSE)
        assert log == pytest.approx(value, abs=CLOSE)
    assert len(found.assignments) == 4


def test_the_k_best_states_of_discrete_variables():
    found = ss.map_assignment(HYBRID, given={"y": 0.3}, over=["a", "b"], k=6)
    value = weights({"y": 0.3})[0]
    order = sorted(CELLS, key=lambda cell: -value[cell])
    assert [(x["a"], x["b"]) for x in found.assignments] == order
    assert list(found.log_values) == pytest.approx([np.log(value[cell]) for cell in order], abs=CLOSE)


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.9])
def test_sensitivity_to_tables_beside_real_findings(theta):
    found = ss.sensitivity(HYBRID, "a", state=1, given={"y": 0.3})
    assert found.probability == pytest.approx(posterior({"y": 0.3})[1].sum(), abs=CLOSE)
    seen = 0
    for parameter in (*found.of("a"), *found.of("b")):
        p_a, p_b = P_A.copy(), P_B.copy()
        row = p_a if parameter.child == "a" else p_b[parameter.parents["a"]]
        state, rest = parameter.state, 1.0 - row[parameter.state]
        row *= (1.0 - theta) / rest
        row[state] = theta
        expected = posterior({"y": 0.3}, p_a=p_a, p_b=p_b)[1].sum()
        assert parameter.probability(theta) == pytest.approx(expected, abs=CLOSE)
        seen += 1
    assert seen == 2 + 6


PAIRS = refused(ss.errors.NotClosed, why="a pair of a state and a number is a mixture in each state")


def test_all_pairs_of_a_gaussian():
    found = ss.prepare(GAUSSIAN).pairwise_marginals()["x", "y"]
    np.testing.assert_allclose(found.mu, G_MEAN, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found.covariance, G_COV, rtol=0, atol=CLOSE)


@PAIRS
def test_all_pairs_of_a_hybrid():
    given = {"y": 0.3}
    found = ss.prepare(HYBRID).pairwise_marginals(given=given)
    np.testing.assert_allclose(found["a", "b"].values, posterior(given), rtol=0, atol=CLOSE)
    assert found["a", "x"].log_value({"a": 1, "x": 0.5}) == pytest.approx(np.log(density(1, 0.5, given)), abs=CLOSE)


@refused(ss.errors.NotApplicable, why="joints are planned for discrete models only")
def test_the_joint_of_a_hybrid_can_be_planned():
    plan = ss.prepare(HYBRID).joint_plan(["a", "x"], given={"y": 0.3})
    assert plan.targets == ("a", "x")
    assert plan.cost > 0


INFORMATION = refused(ss.errors.NotApplicable, why="information is measured between discrete variables only")


def test_the_entropy_of_one_gaussian_answer():
    assert ss.query(GAUSSIAN, "x").entropy() == pytest.approx(0.5 * np.log(2 * np.pi * np.e * 2.0), abs=CLOSE)


def test_entropies_of_a_gaussian():
    engine = ss.prepare(GAUSSIAN)
    assert engine.entropy("x") == pytest.approx(0.5 * np.log(2 * np.pi * np.e * 2.0), abs=CLOSE)
    assert engine.entropy("x", on="y") == pytest.approx(0.5 * np.log(2 * np.pi * np.e * (2.0 - 1.0 / 1.5)), abs=CLOSE)
    both = 0.5 * np.log((2 * np.pi * np.e) ** 2 * np.linalg.det(G_COV))
    assert engine.entropy(["x", "y"]) == pytest.approx(both, abs=CLOSE)


GAUSSIAN_INFORMATION = -0.5 * np.log(1.0 - 1.0 / 3.0)  # the squared correlation is 1 / (2 * 1.5)


def test_the_mutual_information_of_a_gaussian():
    assert ss.prepare(GAUSSIAN).mutual_information("x", "y") == pytest.approx(GAUSSIAN_INFORMATION, abs=CLOSE)


@INFORMATION
def test_what_a_real_variable_tells_about_another():
    found = ss.value_of_information(GAUSSIAN, "x", candidates=["y"])
    assert found["y"] == pytest.approx(GAUSSIAN_INFORMATION, abs=CLOSE)


def information_about_a(given):
    """I(a; x | findings), by an integral over x."""
    share = posterior(given).sum(axis=1)

    def integrand(x):
        parts = np.array([density(a, x, given) for a in (0, 1)])
        return rel_entr(parts, share * parts.sum()).sum()

    return quad(integrand, -15.0, 20.0, epsabs=1e-12, limit=400)[0]


@pytest.mark.parametrize("given", EVIDENCE, ids=str)
@INFORMATION
def test_what_a_real_variable_tells_about_a_state(given):
    engine = ss.prepare(HYBRID)
    expected = information_about_a(given)
    assert engine.mutual_information("a", "x", given=given) == pytest.approx(expected, abs=1e-6)
    assert engine.value_of_information("a", candidates=["x", "b"], given=given)["x"] == pytest.approx(
        expected, abs=1e-6
    )


@refused(AssertionError, why="only discrete variables are candidates")
def test_the_best_thing_to_observe_next_may_be_real():
    """By default every other unobserved variable is a candidate, the real ones too."""
    found = ss.prepare(HYBRID).value_of_information("a")
    assert set(found) == {"b", "x", "y"}


METHODS = (
    ss.VariableElimination(),
    ss.CliqueTree(),
    ss.inference.BeliefUpdate(),
    ss.inference.BruteForce(),
    ss.inference.ShaferShenoy(),
    ss.inference.RecursiveConditioning(),
    ss.inference.CutsetConditioning(),
)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("given", EVIDENCE, ids=str)
def test_every_method_answers_for_hybrids(method, given):
    share, (mean, covariance) = posterior(given), mixture(given)
    np.testing.assert_allclose(
        ss.query(HYBRID, ["a", "b"], given=given, method=method).values, share, rtol=0, atol=CLOSE
    )
    found = ss.query(HYBRID, "x", given=given, method=method)
    assert float(found.mean()) == pytest.approx(mean[0], abs=CLOSE)
    assert float(found.variance()) == pytest.approx(covariance[0, 0], abs=CLOSE)
    log = float(ss.log_probability(HYBRID, given=given, method=method))
    assert log == pytest.approx(np.log(weights(given)[0].sum()), abs=CLOSE)


def test_a_real_variable_given_its_markov_blanket():
    """x given y is 1 + (y - 0.5) / 1.5 with variance 4/3."""
    (found,) = GAUSSIAN.markov_net().conditional("x").factors()
    for x, y in ((0.2, 0.5), (-1.0, 2.0)):
        expected = norm.logpdf(x, 1.0 + (y - 0.5) / 1.5, np.sqrt(4.0 / 3.0))
        assert found.log_value({"x": x, "y": y}) == pytest.approx(expected, abs=CLOSE)


def test_a_real_variable_given_its_discrete_and_real_neighbors():
    (found,) = HYBRID.markov_net().conditional("x").factors()
    mean, covariance = (part[0] for part in weights({"a": 1, "b": 2, "y": 0.3})[1][1, 2])
    expected = norm.logpdf(0.7, mean, np.sqrt(covariance[0]))
    assert found.log_value({"a": 1, "b": 2, "x": 0.7, "y": 0.3}) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_discrete_variable_beside_real_ones_is_answered_or_refused_with_a_reason(name):
    """Given reals its states weigh like densities, which no table holds."""
    point = {"a": 1, "b": 2, "x": 0.7, "y": 0.3}
    try:
        found = HYBRID.markov_net().conditional(name)
    except ss.SepsetError:
        return
    share = posterior({"x": 0.7, "y": 0.3, **({"b": 2} if name == "a" else {"a": 1})})
    assert found.log_value(point) == pytest.approx(np.log(share[1, 2]), abs=CLOSE)
