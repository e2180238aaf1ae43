"""Rewritten problems: the model's own variables keep their positions, and sums over the parts are the whole."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.rewriting import functional, rewritten
from sepset.semiring import MAX, SUM
from sepset.variables.evidence import Evidence
from support.tolerances import CLOSE

CAUSES = [ss.Discrete(f"c{i}") for i in range(7)]
NET = ss.BayesNet(
    *(ss.TableCPD(c, [0.8, 0.2]) for c in CAUSES),
    ss.NoisyOr(ss.Discrete("y"), {c: 0.1 + 0.1 * i for i, c in enumerate(CAUSES)}, leak=0.05),
)


@pytest.mark.parametrize("semiring", [SUM, MAX], ids=str)
def test_parts_are_the_conditional(semiring):
    problem = NET.problem()
    parts = {i: form.source.decomposed({}, semiring) for i, form in enumerate(problem.forms)}
    made, places, homes = rewritten(problem, range(problem.num_factors), parts)
    assert made.variables.names[: problem.num_visible] == NET.variables.names
    assert all(places[v] == i for i, v in enumerate(NET.variables))
    assert set(homes) == set(parts)
    for code in (0, 1):
        found = ss.CliqueTree().prepare(made).log_partition(Evidence({7: code}))
        expected = np.log(ss.query(NET, "y").values[code])
        assert found == pytest.approx(expected, abs=1e-12)


def test_functional_problems_have_one_product_per_joint_state():
    made = functional(NET.problem())
    assert set(made.functions) == set(range(made.num_visible, len(made.variables)))


NAMES = [f"x{i}" for i in range(40)]


@pytest.fixture(scope="module")
def net():
    rng = np.random.default_rng(1)
    x, y = [ss.Discrete(name) for name in NAMES], ss.Discrete("y")
    weights = dict(zip(x, rng.normal(size=40).tolist(), strict=True))
    return ss.BayesNet(*(ss.TableCPD(v, [0.6, 0.4]) for v in x), ss.LogisticCPD(y, weights, bias=-1.0))


def test_a_wide_cpd_below_set_parents(net):
    """What follows from `do` on roots is what follows from observing them."""
    known = {name: i % 2 for i, name in enumerate(NAMES[:35])}
    cut, seen = net.do(known), {**known, "y": 1}
    expected = ss.query(net, "y", given=known).values
    np.testing.assert_allclose(ss.query(cut, "y").values, expected, atol=CLOSE)
    np.testing.assert_allclose(ss.log_probability(cut, given={"y": 1}).value, np.log(expected[1]), atol=CLOSE)
    for name in ("x36", "x3"):
        found = ss.query(cut, name, given={"y": 1}).values
        given = {k: v for k, v in seen.items() if k != name}
        own = ss.query(net, name, given=given).values if name == "x36" else [0.0, 1.0]
        np.testing.assert_allclose(found, own, atol=CLOSE)
    row = ss.predict(cut, {"x36": [1]}, targets="y").probabilities("y")[0]
    np.testing.assert_allclose(row, ss.query(net, "y", given={**known, "x36": 1}).values, atol=CLOSE)
    found = ss.map_assignment(cut, over=["x36", "x37"], given={"y": 1})
    assert found.assignment == ss.map_assignment(net, over=["x36", "x37"], given=seen).assignment
    drawn = ss.sample(cut, 20, given={"y": 1}, seed=0)
    assert {name: set(drawn.codes(name).tolist()) for name in known} == {k: {v} for k, v in known.items()}


def test_what_contradicts_a_set_value_is_impossible(net):
    cut = net.do(dict.fromkeys(NAMES, 1))
    with pytest.raises(ss.errors.ImpossibleEvidence):
        ss.query(cut, "y", given={"x3": 0})
    found = ss.query(cut, "y", given={"x3": ss.Likelihood([0.5, 0.25])}).values
    np.testing.assert_allclose(found, ss.query(net, "y", given=dict.fromkeys(NAMES, 1)).values, atol=CLOSE)


def test_a_kernel_density_below_a_set_number():
    x, y = ss.Real("x"), ss.Real("y")
    rows = {"x": [0.0, 1.0, 2.5], "y": [1.0, 0.5, 3.0]}
    kernels = ss.cpds.KernelCPD(y, rows, width=0.7, given=x)
    net = ss.BayesNet(ss.LinearGaussian(x, 0.0, covariance=1.0), kernels)
    shares = np.exp(-0.5 * ((1.2 - np.array(rows["x"])) / 0.7) ** 2)
    expected = float(shares @ rows["y"] / shares.sum())
    np.testing.assert_allclose(ss.query(net.do({"x": 1.2}), "y").mean(), expected, atol=CLOSE)
    drawn = ss.sample(net.do({"x": 1.2}), 10, given={"y": 0.5}, seed=0)
    assert drawn.values("x").tolist() == [1.2] * 10
