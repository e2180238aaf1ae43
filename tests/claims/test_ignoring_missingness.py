"""What is claimed of learning with missing data: when ignoring the mechanism is right, and what likelihoods lose."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.api.learning import fit
from sepset.learning.incomplete.em import EM
from sepset.learning.missing.mechanisms import MAR, MCAR, MNAR, Hiding, hide_cells
from support.tolerances import printed

ROWS = 30_000
SICK, COMPLAINT, XRAY = (ss.Discrete(n, (False, True)) for n in ("sick", "complaint", "xray"))
TRUTH = ss.BayesNet(
    ss.TableCPD(SICK, [0.7, 0.3]),
    ss.TableCPD(COMPLAINT, [[0.8, 0.2], [0.3, 0.7]], given=SICK),
    ss.TableCPD(XRAY, [[0.9, 0.1], [0.2, 0.8]], given=SICK),
)
PER_COMPLAINT = {"xray": Hiding({False: 0.8, True: 0.1}, given="complaint")}
SHARE = 0.7 * 0.1 + 0.3 * 0.8


def estimated_share(data, names):
    """P(xray) in a network over these columns fitted by EM: the marginal that a wrong treatment of holes biases."""
    dag = ss.DAG(names, list(itertools.pairwise(names)))
    model = fit(dag, data.select(names), EM()).model
    return float(ss.query(model, "xray")[True])


@pytest.mark.parametrize(
    ("mechanism", "consistent"),
    [
        (MCAR({"xray": 0.5}), True),
        (MAR(PER_COMPLAINT), True),
        (MNAR({"xray": Hiding([0.1, 0.7], given="xray")}), False),
    ],
    ids=["MCAR", "MAR", "MNAR"],
)
def test_ignoring_the_mechanism_is_right_at_random_only(mechanism, consistent):
    """Theorem 19.1, by simulation: EM without any model of the mechanism."""
    data = hide_cells(TRUTH.sample(ROWS, seed=0), mechanism, seed=1)
    found = estimated_share(data, ["complaint", "xray"])
    assert (abs(found - SHARE) < 5 * np.sqrt(0.25 * 4 / ROWS)) == consistent


def test_recording_the_reason_restores_missing_at_random():
    """Exercise 19.2: X-rays taken when the complaint asks for one, learned with and without the complaint."""
    data = hide_cells(TRUTH.sample(ROWS, seed=2), MAR(PER_COMPLAINT), seed=3)
    allowed = 5 * np.sqrt(0.25 * 4 / ROWS)
    assert abs(estimated_share(data, ["complaint", "xray"]) - SHARE) < allowed
    assert abs(estimated_share(data, ["xray"]) - SHARE) > allowed


def two_effects(theta):
    """A hidden coin with two effects, in five numbers."""
    h, x, y = ss.Discrete("h"), ss.Discrete("x"), ss.Discrete("y")
    t, a, b, c, d = theta
    return ss.BayesNet(
        ss.TableCPD(h, [t, 1 - t]),
        ss.TableCPD(x, [[a, 1 - a], [b, 1 - b]], given=h),
        ss.TableCPD(y, [[c, 1 - c], [d, 1 - d]], given=h),
    )


def test_the_likelihood_has_several_maxima():
    """A hidden variable's labels exchanged: two maxima of one height, and less between them."""
    data = ss.Dataset.from_codes(
        [ss.Discrete("x"), ss.Discrete("y")], np.array([[0, 0]] * 40 + [[0, 1]] * 10 + [[1, 0]] * 10 + [[1, 1]] * 40)
    )
    one, other = (0.5, 0.9, 0.1, 0.9, 0.1), (0.5, 0.1, 0.9, 0.1, 0.9)
    middle = tuple(np.mean([one, other], axis=0))
    found = [fit(two_effects(start), data, EM(start="model")) for start in (one, other)]
    assert found[0].log_likelihood == pytest.approx(found[1].log_likelihood, abs=1e-6)
    apart = found[0].model.cpd("x").values[0, 0] - found[1].model.cpd("x").values[0, 0]
    assert abs(apart) > 0.5
    assert ss.prepare(two_effects(middle)).log_probabilities(data).sum() < found[0].log_likelihood - 5


def test_the_likelihood_does_not_decompose():
    """With x missing in a row, the likelihood of theta(y | x0) depends on theta(y | x1): a mixed second difference."""
    x, y = ss.Discrete("x"), ss.Discrete("y")
    codes = np.array([[1, 1]] * 3 + [[1, 0]] * 2 + [[0, 1]] * 2 + [[0, 0]])

    def log_likelihood(a, b, rows):
        net = ss.BayesNet(ss.TableCPD(x, [0.4, 0.6]), ss.TableCPD(y, [[1 - a, a], [1 - b, b]], given=x))
        return ss.prepare(net).log_probabilities(ss.Dataset.from_codes([x, y], rows)).sum()

    def mixed(rows):
        corners = [log_likelihood(a, b, rows) for a, b in itertools.product((0.4, 0.6), (0.3, 0.7))]
        return corners[0] - corners[1] - corners[2] + corners[3]

    assert mixed(codes) == pytest.approx(0.0, abs=1e-12)
    holes = np.concatenate([codes, [[-1, 1]] * 4])
    assert abs(mixed(holes)) > 0.1


PAIR = ss.DAG.parse("x -> y")
COUNTS = {(1, 1): 13, (1, 0): 16, (0, 1): 10, (0, 0): 4}


def paired_rows(counts):
    """Rows in these numbers; None is a missing cell."""
    cells = [cell for cell, count in counts.items() for _ in range(count)]
    return {"x": [x for x, _ in cells], "y": [y for _, y in cells]}


def test_the_worked_pair_without_holes():
    """Equation 19.1: exponents 29, 14, 10, 4, 13 and 16."""
    rows = paired_rows(COUNTS)
    found = fit(PAIR, rows)
    assert ss.data.Counts.of(rows, ["x", ("y", ("x",))])["x"].tolist() == [14.0, 29.0]
    assert ss.data.Counts.of(rows, [("y", ("x",))])["y"].tolist() == [[4.0, 10.0], [16.0, 13.0]]
    np.testing.assert_allclose(found.model.cpd("x").values[1], 29 / 43)
    np.testing.assert_allclose(found.model.cpd("y").values[:, 1], [10 / 14, 13 / 29])
    np.testing.assert_allclose([29 / 43, 10 / 14, 13 / 29], [0.674419, 0.714286, 0.448276], atol=printed(6))
    assert found.log_likelihood == pytest.approx(-55.454815, abs=printed(6))


def test_the_worked_pair_with_a_hole_and_both_ways_to_fill_it():
    """Equation 19.2: a sum over the completions, also of the evidence; the missing x is 1 with probability 45/76."""
    rest = COUNTS | {(0, 1): 9}
    filled = [paired_rows(rest | {cell: rest[cell] + 1}) for cell in ((0, 1), (1, 1))]
    assert ss.data.Counts.of(filled[1], ["x", ("y", ("x",))]).table(["x", "y"]).tolist() == [[4.0, 9.0], [16.0, 14.0]]
    evidence = [fit(PAIR, rows, ss.Bayes(ss.K2())).posterior.log_marginal_likelihood for rows in filled]
    np.testing.assert_allclose(evidence, [-59.920028, -59.547353], atol=printed(6))
    total = np.logaddexp(*evidence)
    assert total == pytest.approx(-59.023282, abs=printed(6))
    assert np.exp(evidence[1] - total) == pytest.approx(45 / 76, rel=1e-12)
    holes = fit(PAIR, paired_rows(rest | {(None, 1): 1}), EM(), until=ss.Until(steps=60, tolerance=None))
    bic = holes.log_likelihood - 0.5 * holes.model.num_parameters * np.log(43)
    assert bic == pytest.approx(-60.234012, abs=printed(6))
    joint = np.logaddexp(*(holes.model.log_probability(rows).sum() for rows in filled))
    assert joint == pytest.approx(holes.log_likelihood, rel=1e-12)  # the factored sum


def test_the_hidden_tosses_of_a_thumbtack():
    """Examples 19.3 and 19.4: 30 heads, 20 tails and 50 unseen, hidden at random or only because they were tails."""
    unseen = {"toss": ["heads"] * 30 + ["tails"] * 20 + [None] * 50}
    at_random = fit(ss.DAG.parse("toss"), unseen, EM(), until=ss.Until(steps=60, tolerance=None))
    tails = fit(ss.DAG.parse("toss"), {"toss": ["heads"] * 30 + ["tails"] * 70})
    found = [float(f.model.cpd("toss").values[0]) for f in (at_random, tails)]
    np.testing.assert_allclose(found, [0.6, 0.3], atol=1e-9)


@pytest.mark.parametrize("theta", [(0.5, 0.5, 0.5), (0.5, 0.8, 0.2)])
def test_parameters_that_no_data_tell_apart(theta):
    """Example 19.6: a hidden coin that chooses between two others; whatever is tossed, both say the same."""
    h, x = ss.Discrete("h"), ss.Discrete("x")
    t, one, zero = theta
    net = ss.BayesNet(ss.TableCPD(h, [1 - t, t]), ss.TableCPD(x, [[1 - zero, zero], [1 - one, one]], given=h))
    assert ss.query(net, "x")[1] == pytest.approx(0.5, rel=1e-12)
    data = ss.Dataset.from_codes([x], {"x": [0, 1, 1, 1]})
    assert ss.prepare(net).log_probabilities(data).sum() == pytest.approx(4 * np.log(0.5), rel=1e-12)
