"""Views of an engine with findings: the same answers, findings added, changed and dropped, nothing changed in place."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.cliquetree.tables import PreparedTables
from support.blocks import in_blocks
from support.counted_orders import CountedOrders
from support.random_models import random_case, random_evidence


@pytest.fixture
def engine():
    return ss.prepare(ss.datasets.load("asia"))


def test_a_view_answers_as_the_engine_does(engine):
    given = {"xray": "yes", "smoke": ss.Likelihood([0.3, 0.9])}
    seen = engine.observe(given)
    np.testing.assert_array_equal(seen.marginals()["lung"].values, engine.marginals(given=given)["lung"].values)
    pair = ["lung", "bronc"]
    np.testing.assert_array_equal(seen.query(pair).values, engine.query(pair, given=given).values)
    assert float(seen.log_probability()) == float(engine.log_probability(given=given))
    assert seen.map_assignment().assignment == engine.map_assignment(given=given).assignment
    assert (
        seen.map_assignment(over="lung", k=2).log_values
        == engine.map_assignment(given=given, over="lung", k=2).log_values
    )
    assert seen.sample(50, seed=3).to_frame("pandas").equals(engine.sample(50, given=given, seed=3).to_frame("pandas"))
    assert dict(seen.value_of_information("lung")) == dict(engine.value_of_information("lung", given=given))
    mine, theirs = seen.retracted_marginals(), engine.retracted_marginals(given=given)
    assert list(mine) == list(theirs) == ["smoke", "xray"]
    np.testing.assert_array_equal(mine["xray"].values, theirs["xray"].values)


@in_blocks("seed", range(20))
def test_findings_one_after_the_other_are_findings_at_once(seed):
    rng = np.random.default_rng([seed, 58])
    case = random_case(rng)
    given, _ = random_evidence(rng, case, most=1.0)
    engine = ss.prepare(case.model)
    at_once, seen = engine.observe(given), engine.observe({})
    for name, finding in given.items():
        seen = seen.observe({name: finding})
    assert dict(seen.given) == dict(at_once.given)
    assert float(seen.log_probability()) == pytest.approx(float(at_once.log_probability()))
    if np.isfinite(float(at_once.log_probability())):
        for v in case.variables:
            np.testing.assert_allclose(seen.marginals()[v].values, at_once.marginals()[v].values)


@pytest.mark.parametrize("seed", range(40))
def test_joints_equal_enumeration_before_and_after_the_tree_is_made(seed, monkeypatch):
    monkeypatch.setattr(costs, "TREE_WORK_PER_VARIABLE", 0)
    rng = np.random.default_rng([seed, 77])
    case = random_case(rng)
    given, found = random_evidence(rng, case, most=0.5)
    seen = ss.prepare(case.model).observe(given)
    if not np.isfinite(float(seen.log_probability())):
        return
    names = [v.name for v in case.variables]
    for _ in range(6):
        asked = [names[i] for i in rng.permutation(len(names))[: int(rng.integers(1, 4))]]
        expected = oracle.conditional(case.factors, case.cards, asked, found)
        np.testing.assert_allclose(seen.query(asked).values, expected, rtol=0, atol=1e-9)


def test_a_view_that_is_asked_for_many_joints_makes_the_tree_once(monkeypatch):
    made = []
    calibrate = PreparedTables.calibrate
    monkeypatch.setattr(PreparedTables, "calibrate", lambda *args: made.append(1) or calibrate(*args))
    net = ss.datasets.load("asia")
    few, many = (ss.prepare(net).observe({"xray": "yes"}) for _ in range(2))
    few.query(["lung", "tub"])
    assert not made
    monkeypatch.setattr(costs, "TREE_WORK_PER_VARIABLE", 1)
    for _ in range(4):
        for other in ("tub", "smoke", "bronc"):
            answer = many.query([other, "lung"])
            np.testing.assert_allclose(answer.values, ss.query(net, [other, "lung"], given={"xray": "yes"}).values)
            assert answer.guarantees["marginals"] is ss.Guarantee.EXACT
    assert len(made) == 1


def test_findings_are_changed_and_dropped(engine):
    first = engine.observe({"xray": "yes", "smoke": "no"})
    changed = first.observe({"xray": "no"})
    dropped = changed.observe({"smoke": None, engine.model["asia"]: float("nan")})
    assert dict(first.given) == {"xray": "yes", "smoke": "no"}
    assert dict(changed.given) == {"smoke": "no", "xray": "no"}
    assert dict(dropped.given) == {"xray": "no"}
    assert dropped.query("lung")["yes"] == pytest.approx(engine.query("lung", given={"xray": "no"})["yes"])


def test_changed_values_plan_nothing_again(engine):
    orders = CountedOrders()
    engine = ss.prepare(engine.model, method=ss.CliqueTree(order=orders))
    engine.observe({"xray": "yes", "smoke": "no"}).marginals()["lung"]
    made = orders.made
    engine.observe({"xray": "no", "smoke": "no"}).marginals()["lung"]
    assert orders.made == made > 0


def test_answers_are_computed_once(engine):
    seen = engine.observe({"xray": "yes"})
    assert seen.marginals() is seen.marginals()
    assert seen.log_probability() is seen.log_probability()


def test_views_are_immutable_and_checked(engine):
    seen = engine.observe({"xray": "yes"})
    with pytest.raises(AttributeError, match="immutable"):
        seen.given = {}
    with pytest.raises(TypeError):
        seen.given["xray"] = "no"
    with pytest.raises(ss.errors.StateError, match="Did you mean 'yes'"):
        seen.observe({"smoke": "yess"})
    with pytest.raises(ss.errors.ScopeError, match="Unknown variable"):
        engine.observe({"smok": "yes"})
    with pytest.raises(ss.ImpossibleEvidence):
        engine.observe({"either": "no", "lung": "yes"}).marginals()
    assert repr(seen).endswith("; xray='yes')")
    assert repr(engine.observe(None)).endswith("; nothing)")


def test_views_survive_pickling(engine):
    seen = engine.observe({"xray": "yes"})
    back = pickle.loads(pickle.dumps(seen))
    assert dict(back.given) == {"xray": "yes"}
    np.testing.assert_array_equal(back.query("lung").values, seen.query("lung").values)


def test_a_query_that_was_asked_before_is_not_planned_again(engine, monkeypatch):
    seen = engine.observe({"xray": "yes"})
    first = seen.query(["lung", "tub"])
    monkeypatch.setattr(
        "sepset.inference.compiled.planner.make_plan", None
    )  # nothing plans: one query is worth no tree
    np.testing.assert_array_equal(seen.query(["lung", "tub"]).values, first.values)
