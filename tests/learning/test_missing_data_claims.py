"""What is claimed of learning with missing data: when ignoring the mechanism is right, and what likelihoods lose."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.learning.availablecases import observed_log_likelihood
from sepset.learning.em import EM
from sepset.learning.fit import fit
from sepset.learning.mechanisms import MAR, MCAR, MNAR, Hiding, mask

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
    data = mask(TRUTH.sample(ROWS, seed=0), mechanism, seed=1)
    found = estimated_share(data, ["complaint", "xray"])
    assert (abs(found - SHARE) < 5 * np.sqrt(0.25 * 4 / ROWS)) == consistent


def test_recording_the_reason_restores_missing_at_random():
    """Exercise 19.2: X-rays taken when the complaint asks for one, learned with and without the complaint."""
    data = mask(TRUTH.sample(ROWS, seed=2), MAR(PER_COMPLAINT), seed=3)
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
    assert observed_log_likelihood(two_effects(middle), data) < found[0].log_likelihood - 5


def test_the_likelihood_does_not_decompose():
    """With x missing in a row, the likelihood of theta(y | x0) depends on theta(y | x1): a mixed second difference."""
    x, y = ss.Discrete("x"), ss.Discrete("y")
    codes = np.array([[1, 1]] * 3 + [[1, 0]] * 2 + [[0, 1]] * 2 + [[0, 0]])

    def log_likelihood(a, b, rows):
        net = ss.BayesNet(ss.TableCPD(x, [0.4, 0.6]), ss.TableCPD(y, [[1 - a, a], [1 - b, b]], given=x))
        return observed_log_likelihood(net, ss.Dataset.from_codes([x, y], rows))

    def mixed(rows):
        corners = [log_likelihood(a, b, rows) for a, b in itertools.product((0.4, 0.6), (0.3, 0.7))]
        return corners[0] - corners[1] - corners[2] + corners[3]

    assert mixed(codes) == pytest.approx(0.0, abs=1e-12)
    holes = np.concatenate([codes, [[-1, 1]] * 4])
    assert abs(mixed(holes)) > 0.1
