"""The engine: names and states in, results out; observed targets, draws, and every refusal."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.engine.engine import Engine
from support.random_gaussians import hybrid_net, linear_net
from support.tolerances import EXACT, STANDARD_ERRORS

GRADE = ss.Discrete("grade", ("A", "B", "C"))
HONOR = ss.Discrete("honor", (False, True))
LEVEL = ss.Discrete("level", (0, 1, 2))
NET = ss.BayesNet(
    ss.TableCPD(GRADE, [0.2, 0.3, 0.5]),
    ss.TableCPD(HONOR, [[0.1, 0.9], [0.6, 0.4], [1.0, 0.0]], given=GRADE),
    ss.TableCPD(LEVEL, [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]], given=HONOR),
)


@pytest.fixture
def engine():
    return ss.prepare(NET)


def test_observed_targets_are_point_masses(engine):
    answer = engine.query(["honor", "grade"], given={"grade": "B"})
    np.testing.assert_allclose(answer.values, [[0, 0.6, 0], [0, 0.4, 0]])
    assert engine.query("grade", given={"grade": "B"}).values.tolist() == [0, 1, 0]
    both = engine.query(["grade", "honor"], given={"grade": "B", "honor": True})
    assert both.values.tolist() == [[0, 0], [0, 1], [0, 0]]
    assert both.log_partition == pytest.approx(np.log(0.3 * 0.4))
    assert engine.marginals(given={"grade": "B"})["grade"].values.tolist() == [0, 1, 0]


def test_no_target_gives_the_constant_one(engine):
    answer = engine.query([], given={"honor": True})
    assert answer.scope == ()
    assert float(answer.values) == 1.0
    assert answer.log_partition == pytest.approx(np.log(0.18 + 0.12))


def test_a_joint_across_cliques_has_a_plan():
    engine = ss.prepare(ss.datasets.load("asia"))
    apart = engine.joint_plan(["asia", "smoke", "xray"])
    assert apart.targets == ("asia", "smoke", "xray")
    assert (apart.route, apart.cost) == ("merging", apart.reading + apart.merging.cost)
    assert apart.cost < apart.elimination.cost
    assert "lung, smoke, bronc + lung, either, bronc -> lung, either, smoke: 16" in str(apart)
    assert engine.joint_plan(["lung", "smoke"]).route == "clique"
    assert engine.joint_plan(["asia", "smoke"], given={"smoke": "yes"}).targets == ("asia",)
    with pytest.raises(ss.errors.ScopeError, match="Did you mean 'smoke'"):
        engine.joint_plan(["smok"])
    with pytest.raises(ss.errors.NotApplicable, match="VariableElimination has none here"):
        ss.prepare(NET, method=ss.VariableElimination()).joint_plan("grade")


def test_names_and_variables_are_the_same_thing(engine):
    by_name = engine.query(["level"], given={"grade": "A"}).values
    np.testing.assert_array_equal(engine.query(LEVEL, given={GRADE: "A"}).values, by_name)
    np.testing.assert_array_equal(engine.query((v for v in [LEVEL]), given={GRADE: np.str_("A")}).values, by_name)


def test_assignments_cover_what_was_asked(engine):
    assert set(engine.map_assignment(given={"grade": "A"}).assignment) == {"honor", "level"}
    assert engine.map_assignment(given={"grade": "A"}, over=["level", "grade"]).assignment == {"level": 1, "grade": "A"}
    assert engine.map_assignment(given={"grade": "A"}, over="honor").assignment == {"honor": True}
    assert engine.map_assignment(given={"grade": "A", "honor": True, "level": 2}).assignment == {}
    assert engine.map_assignment(over=[]).log_value == pytest.approx(0.0)


def test_draws_keep_types_order_and_seed(engine):
    rows = list(engine.sample(500, given={"honor": True}, seed=4).rows())
    assert list(rows[0]) == ["grade", "honor", "level"]
    assert {row["honor"] for row in rows} == {True}
    assert {type(row["level"]) for row in rows} == {int}
    assert "C" not in {row["grade"] for row in rows}
    assert list(engine.sample(500, given={"honor": True}, seed=4).rows()) == rows
    assert list(engine.sample(500, given={"honor": True}, seed=np.random.default_rng(4)).rows()) == rows
    assert list(engine.sample(500, given={"honor": True}, seed=5).rows()) != rows
    assert len(engine.sample(0)) == 0
    assert len(ss.prepare(ss.MarkovNet()).sample(7)) == 7


def test_draws_of_reals_have_the_posterior_moments():
    rng = np.random.default_rng(1)
    nodes = oracle.random_linear_gaussian(rng, 5)
    net = linear_net(nodes)
    index, mean, cov = oracle.dense_gaussian(nodes)
    seen = nodes[2].child
    rest, mu, sigma = oracle.condition_gaussian(mean, cov, index[seen], [0.7])
    for method in (ss.VariableElimination(), ss.inference.BruteForce()):
        drawn = ss.sample(net, 20_000, given={seen: 0.7}, seed=2, method=method)
        for name, (at,) in index.items():
            column = np.array(drawn.values(name)).reshape(-1)
            if name == seen:
                assert set(column.tolist()) == {0.7}
                continue
            where = rest.index(at)
            assert abs(column.mean() - mu[where]) < STANDARD_ERRORS * np.sqrt(sigma[where, where] / 20_000)
            assert abs(column.var() / sigma[where, where] - 1) < STANDARD_ERRORS * np.sqrt(2 / 20_000)


def test_draws_of_hybrid_models_have_the_posterior_moments():
    rng = np.random.default_rng(3)
    families, cards, nodes = oracle.random_clg(rng, 2, 3)
    net = hybrid_net(families, cards, nodes)
    values = {nodes[-1].child: 0.4}
    mixture = oracle.clg_mixture(families, cards, nodes, None, values)
    mean, cov = mixture.moments()
    drawn = ss.sample(net, 20_000, given=values, seed=5)
    for name, (where,) in mixture.index.items():
        column = np.array(drawn.values(name)).reshape(-1)
        assert abs(column.mean() - mean[where]) < STANDARD_ERRORS * np.sqrt(cov[where, where] / 20_000)
    for name in cards:
        p = np.clip(mixture.discrete_marginal([name], cards), 0.0, 1.0)
        share = np.bincount(drawn.codes(name), minlength=cards[name]) / 20_000
        assert (np.abs(share - p) <= STANDARD_ERRORS * np.sqrt(p * (1 - p) / 20_000) + EXACT).all()


def test_vector_variables():
    p, q = ss.Vector("p", 2), ss.Vector("q", 2)
    net = ss.BayesNet(
        ss.LinearGaussian(p, [1.0, 2.0], covariance=np.eye(2)),
        ss.LinearGaussian(q, [0.0, 0.0], coefficients=np.eye(2), covariance=np.eye(2), given=p),
    )
    answer = ss.query(net, "p", given={"q": [3.0, 0.0]})
    np.testing.assert_allclose(answer.distribution.mu, [2.0, 1.0])
    best = ss.map_assignment(net, given={"q": [3.0, 0.0]}).assignment["p"]
    np.testing.assert_allclose(best, [2.0, 1.0])
    point = ss.marginals(net, given={"q": [3.0, 0.0]})["q"]
    np.testing.assert_allclose(point.mu, [3.0, 0.0])
    with pytest.raises(ss.errors.NotApplicable, match=r"'p', 'q' are vectors. Use prepare\(model\).sample_columns"):
        ss.sample(net, 3, given={"q": [3.0, 0.0]})
    columns = ss.prepare(net).sample_columns(20_000, given={"q": [3.0, 0.0]}, seed=1)
    assert columns["q"].shape == (20_000, 2)
    assert np.abs(columns["p"].mean(axis=0) - [2.0, 1.0]).max() < STANDARD_ERRORS * np.sqrt(0.5 / 20_000)
    with pytest.raises(ss.errors.StateError, match=r"q needs 2 finite number\(s\)"):
        ss.query(net, "p", given={"q": 1.0})


def test_arrays_of_variables():
    spins = ss.Discrete.array("s", (2, 3), states=(-1, 1))
    engine = ss.prepare(ss.MarkovNet.ising(spins, 0.5, field=0.1))
    assert engine.query(spins).values.shape == (2,) * 6
    assert engine.map_assignment(given={"s[0,0]": 1})[spins[1, 2]] in (-1, 1)
    assert engine.map_assignment()[spins].shape == (2, 3)
    rows = list(engine.sample(3, given={spins[0, 0]: 1}).rows())
    assert {row["s[0,0]"] for row in rows} == {1}


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda e: e.query("grad"), ss.errors.ScopeError, "Unknown variable 'grad'. Did you mean 'grade'"),
        (lambda e: e.query(5), ss.errors.ScopeError, "A variable, its name, or several of them were expected; found 5"),
        (lambda e: e.query(None), ss.errors.ScopeError, "several of them were expected; found None"),
        (lambda e: e.query([1]), ss.errors.ScopeError, "A variable or its name was expected; found 1"),
        (lambda e: e.query(["grade", GRADE]), ss.errors.ScopeError, "grade is asked for twice. Name each target once"),
        (lambda e: e.query(ss.Discrete("grade", 3)), ss.errors.ScopeError, "Two different variables share one name"),
        (lambda e: e.query("grade", given={"honor": 1}), ss.errors.StateError, "Unknown state 1 for honor"),
        (
            lambda e: e.query("grade", given={"grade": "D"}),
            ss.errors.StateError,
            "Unknown state 'D' for grade; states are 'A', 'B', 'C'",
        ),
        (lambda e: e.query("grade", given={"level": True}), ss.errors.StateError, "Unknown state True for level"),
        (
            lambda e: e.query("grade", given={ss.Discrete("level", 2): 0}),
            ss.errors.ScopeError,
            "Two different variables share one name",
        ),
        (lambda e: e.query("grade", given={ss.Discrete("other"): 0}), ss.errors.ScopeError, "Unknown variable 'other'"),
        (
            lambda e: e.query("grade", given=["level"]),
            ss.errors.ScopeError,
            "a mapping from variables to states, as in {'xray': 'yes'}; found ['level']",
        ),
        (
            lambda e: e.query("grade", given={"level": 0, LEVEL: 1}),
            ss.errors.ScopeError,
            "level appears twice in the evidence",
        ),
        (
            lambda e: e.query("grade", given={"level": [0, 1]}),
            ss.errors.StateError,
            "a sequence. Write {...} for a subset",
        ),
        (lambda e: e.query("grade", given={"level": set()}), ss.errors.StateError, "leaves no state"),
        (lambda e: e.query("grade", given={"level": ss.Not(0, 1, 2)}), ss.errors.StateError, "leaves no state"),
        (
            lambda e: e.query("grade", given={"level": ss.Likelihood([1, 2])}),
            ss.errors.StateError,
            "has 2 weights; it has 3 states",
        ),
        (
            lambda e: e.query("grade", given={"level": ss.Likelihood([1, np.nan, 0])}),
            ss.errors.StateError,
            "finite weights",
        ),
        (lambda e: e.query("grade", given={"level": ss.Soft([1, 1, 0])}), ss.errors.StateError, "sums to 2"),
        (lambda e: e.map_assignment(over="lvel"), ss.errors.ScopeError, "Did you mean 'level'"),
        (lambda e: e.map_assignment(k=0), ss.errors.ArgumentError, "k= is a whole number of at least 1; found 0"),
        (lambda e: e.map_assignment(k=True), ss.errors.ArgumentError, "found True"),
        (lambda e: e.sample(-1), ss.errors.ArgumentError, "num_rows= is a whole number of at least 0; found -1"),
        (lambda e: e.sample(2.5), ss.errors.ArgumentError, "found 2.5"),
        (lambda e: e.plan("lvel"), ss.errors.ScopeError, "Did you mean 'level'"),
        (lambda e: e.plan("level", given=["grad"]), ss.errors.ScopeError, "Did you mean 'grade'"),
        (lambda e: e.marginals()["lvel"], ss.errors.ScopeError, "Did you mean 'level'"),
        (lambda e: e.query("grade")["D"], ss.errors.StateError, "Unknown state 'D' for grade"),
    ],
)
def test_refusals_say_what_was_found_and_what_is_near(engine, ask, error, message):
    with pytest.raises(error) as refused:
        ask(engine)
    assert message in str(refused.value)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan")])
def test_missing_values_mean_unobserved(engine, missing):
    np.testing.assert_array_equal(engine.query("level", given={"grade": missing}).values, engine.query("level").values)


def test_models_and_methods_are_checked():
    with pytest.raises(ss.errors.ModelError, match="Questions are asked of a model; found 'asia'"):
        Engine("asia")
    for method in ("elimination", ss.CliqueTree):
        with pytest.raises(ss.errors.ArgumentError, match=r"method= takes a method such as CliqueTree\(\)"):
            Engine(NET, method)


def test_a_model_without_variables():
    for model in (ss.BayesNet(), ss.MarkovNet()):
        engine = ss.prepare(model)
        assert dict(engine.marginals()) == {}
        assert float(engine.log_probability()) == 0.0
        assert engine.map_assignment().assignment == {}
        assert engine.plan().largest == 1
        with pytest.raises(ss.errors.ScopeError, match="The model has no variables"):
            engine.query("a")


def test_isolated_variables_count_in_the_total():
    net = ss.MarkovNet(ss.Table(LEVEL, [1, 2, 3]), variables=[LEVEL, GRADE])
    for method in (ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()):
        engine = ss.prepare(net, method=method)
        assert float(engine.log_partition()) == pytest.approx(np.log(18))
        assert engine.log_probability(given={"grade": "A"}).probability == pytest.approx(1 / 3)
        assert engine.log_probability(given={"grade": {"A", "B"}, "level": 2}).probability == pytest.approx(1 / 3)
        assert engine.map_assignment().probability == pytest.approx(3 / 18)
        np.testing.assert_allclose(engine.marginals()["grade"].values, [1 / 3] * 3)


def test_one_engine_serves_many_threads(engine):
    expected = {s: engine.query("level", given={"grade": s}).values.tolist() for s in "ABC"}
    wrong = []

    def ask():
        for s in "ABC" * 20:
            if engine.query("level", given={"grade": s}).values.tolist() != expected[s]:
                wrong.append(s)
            engine.marginals(given={"grade": s})["level"]

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_marginals_know_the_probability_of_the_evidence():
    engine = ss.prepare(ss.datasets.load("asia"))
    given = {"xray": "yes", "smoke": "no"}
    assert engine.marginals(given=given).log_partition == pytest.approx(
        float(engine.log_probability(given=given)), abs=1e-12
    )
    assert engine.retracted_marginals(given=given).log_partition is None
