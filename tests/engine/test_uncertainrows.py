"""Rows with uncertain findings, each against one question."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.engine.uncertainrows import split_cells
from support.tolerances import CLOSE

ASIA = ss.datasets.load("asia")
LIKELY, SOFT = ss.Likelihood([0.9, 0.2]), ss.Soft([0.3, 0.7])
CELLS = {
    "xray": ["yes", LIKELY, None, SOFT, "yes", LIKELY],
    "smoke": ["no", None, "yes", "yes", "no", "no"],
    "dysp": [None, {"yes"}, ss.Not("yes"), None, None, None],
}
METHODS = [None, ss.VariableElimination(), ss.inference.BruteForce(), ss.inference.RecursiveConditioning()]


def rows(cells):
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("given", [{}, {"bronc": LIKELY}, {"bronc": SOFT, "asia": "yes"}], ids=str)
def test_every_row_is_its_own_question(method, given):
    engine = ss.prepare(ASIA, method=method)
    found = engine.predict(CELLS, targets=["lung", "tub", ("either", "lung")], given=given)
    assert [v.name for v in found.targets] == ["lung", "tub"]
    for row, cells in enumerate(rows(CELLS)):
        evidence = {**cells, **given}
        for name in ("lung", "tub"):
            expected = engine.query(name, given=evidence).values
            np.testing.assert_allclose(found.probabilities(name)[row], expected, atol=CLOSE)
        joint = engine.query(["either", "lung"], given=evidence).values
        np.testing.assert_allclose(found.probabilities(("either", "lung"))[row], joint, atol=CLOSE)
        plain = {name: f for name, f in evidence.items() if not isinstance(f, ss.Soft)}
        assert found.log_probability[row] == pytest.approx(float(engine.log_probability(given=plain)), abs=CLOSE)


def test_a_frame_of_pandas_holds_uncertain_cells():
    frame = pd.DataFrame(CELLS, index=list("uvwxyz"))
    found = ss.predict(ASIA, frame, targets="lung")
    np.testing.assert_allclose(
        found.probabilities("lung"), ss.predict(ASIA, CELLS, targets="lung").probabilities("lung"), atol=CLOSE
    )
    assert list(found.states.index) == list("uvwxyz")


def test_joints_of_plain_rows_and_observed_members():
    cells = {"xray": ["yes", "no", "yes"], "smoke": ["yes", None, "yes"]}
    found = ss.predict(ASIA, cells, targets=[("lung", "bronc"), "tub"])
    for row, given in enumerate(rows(cells)):
        expected = ss.query(ASIA, ["lung", "bronc"], given=given).values
        np.testing.assert_allclose(found.probabilities(("lung", "bronc"))[row], expected, atol=CLOSE)
    with pytest.raises(ss.errors.ScopeError, match=r"was not predicted; joints are \('lung', 'bronc'\)"):
        found.probabilities(("bronc", "lung"))


def test_findings_of_all_rows_are_no_targets_by_default():
    found = ss.predict(ASIA, {"xray": ["yes", "no"]}, given={"smoke": "yes", "dysp": LIKELY})
    assert [v.name for v in found.targets] == ["asia", "tub", "lung", "bronc", "either"]


def test_likelihoods_for_all_rows_stay_a_batch(monkeypatch):
    """Many rows with one likelihood are not asked one at a time."""
    engine = ss.prepare(ASIA)
    monkeypatch.setattr(type(engine.prepared), "query", lambda *_: pytest.fail("one question for one row"))
    cells = {"xray": ["yes", "no"] * 500, "smoke": [None, "no", "yes", "yes"] * 250}
    assert len(engine.predict(cells, targets="lung", given={"dysp": LIKELY})) == 1000


def test_impossible_rows_with_uncertain_findings():
    cells = {"lung": ["yes", "no"], "either": [ss.Likelihood([0.0, 1.0]), None]}
    with pytest.raises(ss.ImpossibleEvidence, match="1 of 2 rows have probability zero: 0"):
        ss.predict(ASIA, cells, targets="tub")
    found = ss.predict(ASIA, cells, targets="tub", on_impossible="null")
    assert found.codes("tub").tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: ss.predict(ASIA, {"xray": ["yes"]}, given={"xray": "no"}),
            ss.errors.ScopeError,
            "'xray' has a column",
        ),
        (lambda: ss.predict(ASIA, {"xray": [LIKELY, ss.Not("maybe")]}), ss.errors.DataError, "Row 1: .*'maybe'"),
        (lambda: ss.predict(ASIA, {"xray": [object()]}), ss.errors.DataError, "xray"),
        (
            lambda: ss.prepare(ASIA).log_probabilities({"xray": ["yes"]}, given={"lung": SOFT}),
            ss.errors.NotApplicable,
            "no probability of its own",
        ),
    ],
    ids=["twice", "no state", "no finding", "soft"],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_real_targets_under_uncertain_findings():
    """A mixture with two means: the weights of its parts move with the finding."""
    d, x, y = ss.Discrete("d"), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.25, 0.75]),
        ss.LinearGaussian(x, [0.0, 4.0], covariance=[1.0, 2.0], by=d),
        ss.LinearGaussian(y, 0.0, coefficients={x: 1.0}, covariance=1.0, given=x),
    )
    found = ss.predict(net, {"d": [ss.Likelihood([3.0, 1.0]), 0, ss.Soft([0.1, 0.9]), None]}, targets=["x"])
    share = np.array([0.5, 1.0, 0.1, 0.25])
    means = 4.0 * (1 - share)
    np.testing.assert_allclose(found.mean("x"), means, atol=CLOSE)
    np.testing.assert_allclose(found.variance("x"), share * 1.0 + (1 - share) * (2.0 + 16.0) - means**2, atol=CLOSE)
    frame = found.to_frame()
    assert list(frame.columns) == ["x", "variance(x)"]
    with pytest.raises(ss.errors.ScopeError, match="x is continuous and has no states"):
        found.probabilities("x")
    observed = ss.predict(net, {"y": [0.5, None]}, targets=["d", "x"], given={"d": LIKELY})
    single = ss.query(net, "d", given={"y": 0.5, "d": LIKELY}).values
    np.testing.assert_allclose(observed.probabilities("d")[0], single, atol=CLOSE)


def test_cells_are_told_apart():
    columns, cells = split_cells({"xray": ["yes", LIKELY], "other": [SOFT, 1]}, ASIA.variables)
    assert columns == {"xray": ["yes", None]}
    assert cells == {1: {"xray": LIKELY}}
