"""The public functions: each hands its question to the method named, or to the default one."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import sepset as ss
from sepset.api import questions as verbs
from sepset.engine import assignments
from support.tolerances import CLOSE, STANDARD_ERRORS

METHODS = [None, ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()]


@pytest.fixture(scope="module")
def asia():
    return ss.datasets.load("asia")


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_verb_takes_any_method(asia, method):
    given = {"xray": "yes", "smoke": "no"}
    expected = ss.query(asia, ["lung", "tub"], given=given)
    assert ss.query(asia, ["lung", "tub"], given=given, method=method).values == pytest.approx(expected.values)
    answers = ss.marginals(asia, given=given, method=method)
    assert answers["lung"].values == pytest.approx(expected.values.sum(axis=1))
    assert float(ss.log_probability(asia, given=given, method=method)) == pytest.approx(expected.log_partition)
    assert float(ss.log_partition(asia, given=given, method=method)) == pytest.approx(expected.log_partition)
    assert ss.map_assignment(asia, given=given, method=method).assignment["lung"] == "no"
    assert len(ss.sample(asia, 3, given=given, method=method)) == 3
    assert ss.plan(asia, "lung", given=given, method=method).observed == ("smoke", "xray")


def test_results_remember_their_method(asia):
    assert isinstance(ss.query(asia, "lung").method, ss.CliqueTree)
    assert isinstance(ss.marginals(asia).about.method, ss.CliqueTree)
    assert ss.query(asia, "lung", method=ss.inference.BruteForce()).method == ss.inference.BruteForce()


def test_settings_are_keywords_of_fixed_names():
    for name in ("query", "marginals", "log_probability", "log_partition", "map_assignment", "sample", "plan"):
        parameters = inspect.signature(getattr(verbs, name)).parameters
        for keyword in ("given", "method"):
            assert parameters[keyword].kind is inspect.Parameter.KEYWORD_ONLY
        assert getattr(ss, name) is getattr(verbs, name)


def test_a_model_that_samples_itself_does_so_without_evidence(asia):
    assert list(ss.sample(asia, 5, seed=3).rows()) == list(asia.sample(5, seed=3).rows())
    rows = list(ss.sample(asia, 8000, seed=1, method=ss.VariableElimination()).rows())
    share = np.mean([row["smoke"] == "yes" for row in rows])
    assert abs(share - 0.5) < STANDARD_ERRORS * 0.5 / np.sqrt(8000)
    assert len(ss.sample(asia, 4, given={"smoke": None, "xray": None})) == 4
    for wrong in (-1, 1.5, "3", True):
        for given in (None, {"smoke": "yes"}):
            with pytest.raises(ss.errors.ArgumentError, match="num_rows= is a whole number of at least 0"):
                ss.sample(asia, wrong, given=given)


def test_log_probability_divides_by_the_partition_function():
    net = ss.datasets.load("misconception")
    name = net.variables.names[0]
    state = net[name].states[0]
    share = ss.log_probability(net, given={name: state}).probability
    assert share == pytest.approx(ss.query(net, name)[state])
    assert float(ss.log_probability(net)) == pytest.approx(0.0, abs=1e-12)


def test_impossible_evidence_has_log_probability_minus_infinity(asia):
    given = {"lung": "yes", "either": "no"}
    assert float(ss.log_probability(asia, given=given)) == -np.inf
    assert ss.log_probability(asia, given=given).probability == 0.0
    with pytest.raises(ss.ImpossibleEvidence, match="lung='yes', either='no' contradict each other"):
        ss.query(asia, "smoke", given=given)


def test_a_frame_of_answers_is_a_table(asia):
    frame = ss.query(asia, ["lung", "tub"]).distribution.to_frame()
    assert len(frame) == 4


def test_a_plan_may_be_looked_for_longer():
    network = ss.datasets.load("hailfinder")
    longer = ss.plan(network, seconds=0.2)
    assert longer.total_size <= ss.plan(network).total_size
    assert sorted(longer.order) == sorted(network.variables.names)
    with pytest.raises(ss.errors.NotApplicable, match="Portfolio"):
        ss.plan(network, seconds=1.0, method=ss.VariableElimination())


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_a_seed_that_is_none_is_refused_wherever_draws_are_made(seed):
    net = ss.datasets.load("asia")
    draws = [
        lambda: net.sample(3, seed=seed),
        lambda: ss.sample(net, 3, given={"xray": "yes"}, seed=seed),
        lambda: ss.query(net, "lung").sample(3, seed=seed),
        lambda: ss.BayesNet.random(5, seed=seed),
        lambda: ss.Table.random(net["lung"], seed=seed),
        lambda: ss.prepare(net).check(seed=seed),
    ]
    for draw in draws:
        with pytest.raises(ss.errors.ArgumentError, match=r"seed= is a whole number of at least 0, or a .*Generator"):
            draw()


@pytest.mark.parametrize("method", [None, ss.VariableElimination()])
def test_analyses_are_those_of_the_engine(method):
    net, given = ss.datasets.load("student"), {"grade": "C"}
    engine = ss.prepare(net)
    mine = ss.sensitivity(net, "intelligence", state="high", given=given, method=method)
    theirs = engine.sensitivity("intelligence", state="high", given=given)
    np.testing.assert_allclose(mine.derivatives, theirs.derivatives)
    values = ss.value_of_information(net, "intelligence", given=given, method=method)
    assert dict(values) == pytest.approx(dict(engine.value_of_information("intelligence", given=given)))
    some = ss.value_of_information(net, "intelligence", candidates=["letter"], given=given, method=method)
    assert list(some) == ["letter"]


def test_predictions_are_those_of_the_engine():
    net = ss.datasets.load("asia")
    rows = net.sample(40, seed=0).select(["xray", "dysp", "smoke"])
    for method in (None, ss.inference.BruteForce()):
        found = ss.predict(net, rows, targets=["lung"], method=method, threads=1, progress=False)
        expected = ss.prepare(net).predict(rows, targets=["lung"])
        np.testing.assert_allclose(found.probabilities("lung"), expected.probabilities("lung"), atol=CLOSE)
        assert isinstance(found.states, ss.Dataset)


def test_a_search_comes_before_exact_answers_that_take_long(monkeypatch):
    rng = np.random.default_rng(0)
    pixel = ss.Discrete.array("pixel", (5, 5))
    net = ss.MarkovNet.potts(pixel, 0.7, log_values=rng.normal(size=(5, 5, 2)))
    exact = ss.map_assignment(net)
    assert "search" not in exact.info
    monkeypatch.setattr(assignments, "TIMED", 1)
    assert "search" not in ss.map_assignment(net).info
    monkeypatch.setattr(assignments, "LONG", 0.0)
    found = ss.map_assignment(net)
    assert found.info["search"] == "MinCut"
    assert "seconds" in str(found.info["why"])
    assert dict(found.assignment) == dict(exact.assignment)
    assert "search" not in ss.map_assignment(net, k=2).info


def test_an_exact_answer_follows_a_search_without_proof(monkeypatch):
    from sepset.inference.map.choice import automatic

    rng = np.random.default_rng(1)
    spin = ss.Discrete.array("spin", (6, 6), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, 3.0 * rng.normal(size=len(spin.grid_edges())))
    exact = ss.map_assignment(glass)
    for name, value in {"TIMED": 1, "LONG": 0.0}.items():
        monkeypatch.setattr(assignments, name, value)
    for stage in ("_pursued", "_closed"):
        monkeypatch.setattr(automatic, stage, lambda task, found, budget: found)  # no proof
    monkeypatch.setattr(automatic, "LargeNeighborhood", lambda restarts: ss.ICM())
    assert "search" not in ss.map_assignment(glass).info
    assert ss.map_assignment(glass).log_value == pytest.approx(exact.log_value)
    stopped = ss.map_assignment(glass, until=2)
    assert "search" in stopped.info
    assert stopped.log_value <= exact.log_value + 1e-9


def test_an_exact_answer_follows_a_search_that_cannot_begin(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = ss.Discrete.array("x", (500,)), ss.Discrete.array("y", (10,), states=10)
    pairs = np.stack([np.arange(499), np.arange(1, 500)], axis=1)
    net = ss.MarkovNet(
        ss.factors.FactorBlock(pairs, (2, 2), values=rng.normal(size=(499, 4)), space="log"),
        ss.factors.FactorBlock(500 + np.arange(10)[None], (10,) * 10, values=ss.potentials.AllDifferent()),
        variables=[x, y],
    )
    exact = ss.map_assignment(net)
    monkeypatch.setattr(assignments, "LONG", -1.0)
    again = ss.map_assignment(net)
    assert again.guarantees["assignment"] is ss.Guarantee.EXACT
    assert again.log_value == exact.log_value
