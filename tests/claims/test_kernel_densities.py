"""Networks with a kernel density: whatever needs no integral over it is answered as for any other CPD.

A kernel CPD has a density at every point and can be drawn from. Below the query and the evidence it is barren; observed
with its parents it is a number, with only its discrete parents unknown one number for each of their states; unobserved
below observed parents it is a mixture of Gaussians, one for each of its rows.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

import sepset as ss
from support.tolerances import CLOSE, STANDARD_ERRORS

C, D, U, X = ss.Discrete("c", ("a", "b")), ss.Discrete("d"), ss.Real("u"), ss.Real("x")
P_C, P_D = np.array([0.3, 0.7]), np.array([[0.8, 0.2], [0.1, 0.9]])
SAMPLES = {"a": ([0.0, 1.0], [0.0, 2.0]), "b": ([0.5, 2.0, 3.0], [1.0, 4.0, 5.0])}  # u and x of the stored rows
WIDTH_U, WIDTH_X = 0.5, 0.7
NET = ss.BayesNet(
    ss.TableCPD(C, P_C),
    ss.TableCPD(D, P_D, given=C),
    ss.LinearGaussian(U, [0.0, 1.0], covariance=[1.0, 2.0], by=C),
    ss.KernelCPD(
        X,
        {
            "c": ["a", "a", "b", "b", "b"],
            "u": [*SAMPLES["a"][0], *SAMPLES["b"][0]],
            "x": [*SAMPLES["a"][1], *SAMPLES["b"][1]],
        },
        width=[WIDTH_U, WIDTH_X],
        given=U,
        by=C,
    ),
)
ROWS = {"c": ["a", "b", "b", "a"], "d": [0, 1, 0, 1], "u": [0.5, 1.0, 2.5, -0.3], "x": [1.0, 3.0, 4.0, 0.2]}


def shares(c, u):
    """The weights of the stored rows given the parents."""
    weights = norm.pdf(u, SAMPLES[c][0], WIDTH_U)
    return weights / weights.sum()


def density(c, u, x):
    return shares(c, u) @ norm.pdf(x, SAMPLES[c][1], WIDTH_X)


def joint(c, d, u, x):
    place = C.states.index(c)
    line = norm.pdf(u, place, [1.0, np.sqrt(2.0)][place])
    return P_C[place] * P_D[place, d] * line * density(c, u, x)


def rows(without=()):
    return {name: column for name, column in ROWS.items() if name not in without}


def each_row():
    return zip(*ROWS.values(), strict=True)


def class_posteriors():
    """P(c | d, u, x) of every row."""
    weights = np.array([[joint(c, d, u, x) for c in C.states] for _, d, u, x in each_row()])
    return weights / weights.sum(axis=1, keepdims=True)


def test_a_barren_kernel_density_is_pruned():
    expected = P_C * P_D[:, 1] / (P_C @ P_D[:, 1])
    np.testing.assert_allclose(ss.query(NET, "c", given={"d": 1}).values, expected, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(ss.marginals(NET)["d"].values, P_C @ P_D, rtol=0, atol=CLOSE)
    assert float(ss.query(NET, "u").mean()) == pytest.approx(0.7, abs=CLOSE)
    assert ss.map_assignment(NET, over=["c", "d"]).assignment == {"c": "b", "d": 1}


def test_the_class_of_an_observed_point():
    """Bayes' rule with the densities of both classes."""
    for (_, d, u, x), expected in zip(each_row(), class_posteriors(), strict=True):
        found = ss.query(NET, "c", given={"d": d, "u": u, "x": x})
        np.testing.assert_allclose(found.values, expected, rtol=0, atol=CLOSE)


def test_the_classes_of_a_frame_of_points():
    found = ss.predict(NET, rows(without=["c"]), targets="c").probabilities("c")
    np.testing.assert_allclose(found, class_posteriors(), rtol=0, atol=CLOSE)


def test_the_classes_of_a_frame_by_a_classifier():
    found = np.exp(ss.classify.Classifier(NET, "c").predict(rows(without=["c"])).log_probabilities)
    np.testing.assert_allclose(found, class_posteriors(), rtol=0, atol=CLOSE)


def test_missing_classes_are_filled_in():
    found = ss.impute(NET, {**ROWS, "c": [None] * 4}).dataset["c"].tolist()
    assert found == [C.states[i] for i in class_posteriors().argmax(axis=1)]


def test_the_density_of_a_point():
    for c, d, u, x in each_row():
        found = float(ss.log_probability(NET, given={"c": c, "d": d, "u": u, "x": x}))
        assert found == pytest.approx(np.log(joint(c, d, u, x)), abs=CLOSE)


def test_the_child_is_a_mixture_given_its_parents():
    for c, _, u, _ in each_row():
        found, weights, centers = ss.query(NET, "x", given={"c": c, "u": u}), shares(c, u), np.array(SAMPLES[c][1])
        mean = weights @ centers
        assert float(found.mean()) == pytest.approx(mean, abs=CLOSE)
        assert float(found.variance()) == pytest.approx(weights @ (centers - mean) ** 2 + WIDTH_X**2, abs=CLOSE)


@pytest.mark.parametrize("given", [{"c": "a"}, {"c": "b", "d": 1}, {"c": "b", "u": 1.5}], ids=str)
def test_draws_below_observed_roots(given):
    """Evidence without unobserved ancestors needs no weights: what is below is drawn forward."""
    drawn = ss.sample(NET, 4000, given=given, seed=0).to_frame("pandas")
    c = given["c"]
    u = drawn["u"].to_numpy()
    if "u" in given:
        assert (u == given["u"]).all()
    weights = np.array([shares(c, value) for value in u])
    centers = np.array(SAMPLES[c][1])
    expected = weights @ centers
    spread = weights @ centers**2 - expected**2 + WIDTH_X**2
    error = (drawn["x"].to_numpy() - expected).mean()
    assert abs(error) < STANDARD_ERRORS * np.sqrt(spread.mean() / 4000)


def test_complete_rows_have_their_densities():
    expected = [np.log(joint(*row)) for row in each_row()]
    np.testing.assert_allclose(NET.log_probability(ss.Dataset(ROWS, NET.variables)), expected, rtol=0, atol=CLOSE)


def test_the_log_loss_of_complete_rows():
    (found,) = ss.evaluate(NET, ROWS, ss.evaluation.LogLoss()).values()
    assert found.mean == pytest.approx(-np.mean([np.log(joint(*row)) for row in each_row()]), abs=CLOSE)


def test_the_conditional_log_loss_of_the_class():
    (found,) = ss.evaluate(NET, ROWS, ss.evaluation.ConditionalLogLoss("c")).values()
    places = [C.states.index(c) for c in ROWS["c"]]
    assert found.mean == pytest.approx(-np.log(class_posteriors()[np.arange(4), places]).mean(), abs=CLOSE)


def test_the_fit_of_complete_rows():
    found = ss.evaluation.goodness_of_fit(NET, ROWS, num_draws=19)
    assert found.statistic == pytest.approx(-np.mean([np.log(joint(*row)) for row in each_row()]), abs=CLOSE)
    assert found.draws.shape == (19,)


def test_rows_are_left_out_one_at_a_time():
    """The density of each point from all the others, at a width that is given."""
    points = np.array([0.0, 0.4, 1.1, 2.5, 2.7])
    learner = ss.evaluation.Learner(ss.BayesNet(ss.KernelCPD(X, width=0.7)), ss.MLE())
    found = ss.cross_validate(learner, {"x": points.tolist()}, split=ss.evaluation.LeaveOneOut()).risk.pooled_mean
    kernels = norm.pdf(points[:, None], points[None, :], 0.7) * (1.0 - np.eye(5))
    assert found == pytest.approx(-np.log(kernels.sum(axis=1) / 4).mean(), abs=CLOSE)


def test_a_refusal_names_ways_that_exist():
    """The posterior of an unobserved real parent has no closed form; the refusal says what there is instead."""
    with pytest.raises(ss.errors.NotApplicable) as refused:
        ss.query(NET, "u", given={"x": 1.0})
    assert "to_linear_gaussian" in str(refused.value)
    assert "likelihood weighting" not in str(refused.value)


@pytest.mark.parametrize("parents", [(), ("a", "b")])
def test_a_hidden_kernel_node_with_any_number_of_discrete_parents_is_a_mixture(parents):
    """Its mean is that of its rows in each joint state, weighted by the probability of the state."""
    by = [ss.Discrete(name) for name in parents]
    cells = list(itertools.product((0, 1), repeat=len(by)))
    rows = {name: [cell[i] for cell in cells for _ in range(2)] for i, name in enumerate(parents)}
    rows["x"] = [3.0 * i + 0.5 * (i % 3) for i in range(2 * len(cells))]
    net = ss.BayesNet(*(ss.TableCPD(v, [0.3, 0.7]) for v in by), ss.KernelCPD(ss.Real("x"), rows, width=0.5, by=by))
    weights = [np.prod([0.7 if code else 0.3 for code in cell]) for cell in cells]
    means = np.mean(np.reshape(rows["x"], (len(cells), 2)), axis=1)
    assert float(ss.query(net, "x").mean()) == pytest.approx(float(np.dot(weights, means)), abs=1e-9)


def test_missing_cells_below_an_observed_number_are_imputed():
    """The mode of a mixture of kernels, weighed by how near each is to the parent, by a fine grid."""
    rng = np.random.default_rng(3)
    x, y, z = ss.Real("x"), ss.Real("y"), ss.Real("z")
    centers, values = rng.normal(size=30), rng.normal(size=30)
    below = ss.KernelCPD(y, {x: centers, y: values}, width=[0.3, 0.4], given=x)
    line = ss.LinearGaussian(z, 0.0, coefficients={y: 2.0}, covariance=0.5, given=y)
    net = ss.BayesNet(ss.LinearGaussian(x, 0.0, covariance=1.0), below, line)
    filled = ss.impute(net, {"x": [0.1, 0.2], "y": [0.3, None]}).dataset
    grid = np.linspace(-4.0, 4.0, 400_001)
    weights = np.exp(-0.5 * ((0.2 - centers) / 0.3) ** 2)
    density = sum(w * np.exp(-0.5 * ((grid - v) / 0.4) ** 2) for w, v in zip(weights, values, strict=True))
    assert filled.values("y")[0] == 0.3
    assert filled.values("y")[1] == pytest.approx(grid[np.argmax(density)], abs=1e-4)
