"""Losses against their definitions on written-out joints, and the conventions for what cannot be predicted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, NotApplicable, ScopeError
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from sepset.learning.evaluation.losses import (
    Brier,
    ConditionalLogLoss,
    Hamming,
    LogLoss,
    QuerySuite,
    Risk,
    ZeroOne,
    brier_scores,
    evaluate,
)
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.strategies import bayes_nets, plain_factors
from support.tolerances import CLOSE

A, B, C = Discrete("a", 2), Discrete("b", 3), Discrete("c", 2)


def small_net() -> BayesNet:
    return BayesNet(
        TableCPD(A, [0.3, 0.7]),
        TableCPD(B, [[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]], given=A),
        TableCPD(C, [[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]], given=B),
    )


def joint_of(net) -> np.ndarray:
    factors, cards = plain_factors(net)
    return oracle.joint(factors, cards)


def every_row(net) -> tuple[Dataset, np.ndarray]:
    joint = joint_of(net)
    cells = np.array(list(np.ndindex(*joint.shape)))
    return Dataset.from_codes(net.variables, cells), joint


def losses_of(net, rows, loss) -> np.ndarray:
    return evaluate(net, rows, loss)[loss].rows


def test_log_loss_is_infinite_where_the_model_says_never():
    rows, joint = every_row(small_net())
    found = losses_of(small_net(), rows, LogLoss())
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, -np.log(joint.reshape(-1)))
    assert math.inf in found
    assert evaluate(small_net(), rows)[ss.evaluation.LogLoss()].mean == math.inf


def test_conditional_losses_against_the_joint():
    rows, joint = every_row(small_net())
    conditional = joint / joint.sum(axis=(0, 2), keepdims=True)
    expected = -np.log(np.where(joint > 0, conditional, np.nan)).reshape(-1)
    found = losses_of(small_net(), rows, ConditionalLogLoss(["a", "c"], given="b"))
    np.testing.assert_allclose(found, np.where(np.isnan(expected), np.inf, expected))


@settings(max_examples=50, deadline=None)
@given(bayes_nets(max_variables=4, min_variables=2), st.integers(0, 1000), st.data())
def test_losses_on_random_networks(net, seed, data):
    joint = joint_of(net)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, v.num_states, 5) for v in net.variables], axis=1)
    rows = Dataset.from_codes(net.variables, codes)
    place = data.draw(st.integers(0, len(net.variables) - 1))
    target = net.variables[place]
    found = {kind: losses_of(net, rows, kind(target)) for kind in (ConditionalLogLoss, ZeroOne, Hamming, Brier)}
    for m, row in enumerate(codes.tolist()):
        line = joint[tuple(slice(None) if p == place else c for p, c in enumerate(row))]
        if line.sum() == 0:
            assert [found[k][m] for k in found] == [math.inf, 1.0, 1.0, 2.0]
            continue
        p, y = line / line.sum(), row[place]
        assert found[ConditionalLogLoss][m] == pytest.approx(-math.log(p[y]) if p[y] else math.inf, abs=1e-9)
        if np.ptp(np.sort(p)[-2:]) > 1e-9 or len(p) == 1:
            assert found[ZeroOne][m] == found[Hamming][m] == float(p.argmax() != y)
        assert found[Brier][m] == pytest.approx(sum((p[k] - (k == y)) ** 2 for k in range(len(p))), abs=1e-9)


def test_joint_and_marginal_predictions_can_differ():
    net = BayesNet(TableCPD(A, [0.4, 0.6]), TableCPD(C, [[1.0, 0.0], [0.5, 0.5]], given=A))
    # the joint mode is (0, 0) with 0.4 against 0.3 and 0.3; the marginal modes are 1 and 0
    rows = {"a": [0, 1, 1], "c": [0, 0, 1]}
    assert losses_of(net, rows, ZeroOne(["a", "c"])).tolist() == [0, 1, 1]
    assert losses_of(net, rows, Hamming(["a", "c"], predictor="joint")).tolist() == [0, 1, 2]
    assert losses_of(net, rows, Hamming(["a", "c"])).tolist() == [1, 0, 1]


def test_one_target_has_equal_hamming_and_zero_one_loss():
    rows = small_net().sample(200, seed=1)
    for predictor in ("marginals", "joint"):
        hamming = losses_of(small_net(), rows, Hamming("b", predictor=predictor))
        np.testing.assert_array_equal(hamming, losses_of(small_net(), rows, ZeroOne("b")))


def test_expected_log_loss_is_entropy_plus_divergence():
    rng = np.random.default_rng(0)
    truth = BayesNet(*(TableCPD.normalized(v, rng.random(v.num_states)) for v in (A, B, C)))
    other = BayesNet(*(TableCPD.normalized(v, rng.random(v.num_states)) for v in (A, B, C)))
    rows, joint = every_row(truth)
    risk = evaluate(other, rows.with_weights(joint.reshape(-1)))[ss.evaluation.LogLoss()].mean
    assert risk == pytest.approx(oracle.entropy(joint) + divergence(truth, other).total)


def test_missing_features_are_summed_out_and_missing_targets_refused():
    rows = {"a": [None, 0], "b": [2, 1], "c": [None, 0]}
    joint = joint_of(small_net())
    found = losses_of(small_net(), rows, ConditionalLogLoss("b"))
    assert found[0] == pytest.approx(-math.log(joint[:, 2].sum()))
    assert found[1] == pytest.approx(-math.log(joint[0, 1, 0] / joint[0, :, 0].sum()))
    for loss in (ConditionalLogLoss("a"), ZeroOne("a"), Hamming("a"), Brier("a")):
        with pytest.raises(DataError, match="target 'a' is missing in row 0"):
            evaluate(small_net(), rows, loss)


def test_continuous_targets_have_densities():
    d, x = Discrete("d"), Real("x")
    net = BayesNet(TableCPD(d, [0.25, 0.75]), LinearGaussian(x, [0.0, 2.0], covariance=[0.01, 0.01], by=d))
    found = losses_of(net, {"d": [1], "x": [2.0]}, ConditionalLogLoss("x"))
    assert found[0] == pytest.approx(0.5 * math.log(2 * math.pi * 0.01))
    assert found[0] < 0
    with pytest.raises(NotApplicable, match="ConditionalLogLoss"):
        evaluate(net, {"d": [1], "x": [2.0]}, ZeroOne("x"))


def test_a_suite_is_the_weighted_mean_of_its_queries():
    rows = small_net().sample(50, seed=2)
    suite = QuerySuite([("b", ["a"]), (["a", "c"], []), ("c", "a")], weights=[3, 1, 0])
    parts = [losses_of(small_net(), rows, loss) for loss in suite.losses]
    np.testing.assert_allclose(losses_of(small_net(), rows, suite), (3 * parts[0] + parts[1]) / 4)
    table = evaluate(small_net(), rows, *suite.losses)
    assert [loss.name for loss in table] == [
        "conditional log-loss of b given a",
        "conditional log-loss of a, c given nothing",
        "conditional log-loss of c given a",
    ]
    for bad in ([], [("a", "b")]):
        with pytest.raises(ArgumentError):
            QuerySuite(bad, weights=[-1.0])


def test_weights_of_rows_are_repetitions():
    rows = small_net().sample(30, seed=3)
    counts = np.random.default_rng(0).integers(0, 4, 30)
    weighted = evaluate(small_net(), rows.with_weights(counts), ZeroOne("a"))[ss.evaluation.ZeroOne("a")]
    repeated = evaluate(small_net(), rows.take(np.repeat(np.arange(30), counts)), ZeroOne("a"))[
        ss.evaluation.ZeroOne("a")
    ]
    assert weighted.mean == pytest.approx(repeated.mean)


def test_impossible_rows_of_weight_zero_do_not_count():
    risk = Risk("log-loss", np.array([math.inf, 1.0, 3.0]), weights=np.array([0.0, 1.0, 1.0]))
    assert (risk.mean, float(risk)) == (2.0, 2.0)
    assert risk.standard_error == pytest.approx(1.0)
    assert math.isnan(Risk("x", np.zeros(0), weights=np.zeros(0)).mean)
    assert math.isnan(Risk("x", np.array([math.inf, 1.0]), weights=np.ones(2)).standard_error)


def test_standard_errors_are_those_of_a_mean():
    rows = np.random.default_rng(1).random(40)
    assert Risk("x", rows, weights=np.ones(40)).standard_error == pytest.approx(rows.std(ddof=1) / math.sqrt(40))


def test_brier_scores_by_hand():
    assert brier_scores(np.array([[0.7, 0.2, 0.1]]), np.array([1]))[0] == pytest.approx(0.49 + 0.64 + 0.01)


def test_bad_losses_are_refused():
    rows = small_net().sample(3, seed=0)
    with pytest.raises(ArgumentError, match=r"LogLoss\(\)"):
        evaluate(small_net(), rows, LogLoss)
    with pytest.raises(ScopeError, match="Two losses"):
        evaluate(small_net(), rows, LogLoss(), LogLoss())
    with pytest.raises(ArgumentError, match="'marginals' or 'joint'"):
        Hamming("a", predictor="best")
    with pytest.raises(DataError, match="needs rows"):
        evaluate(small_net(), rows[:0])
    found = evaluate(small_net(), rows)
    with pytest.raises(ScopeError, match=r"looked up by its loss, a value; found 'log-loss'\. There are LogLoss\(\)"):
        found["log-loss"]
    with pytest.raises(ScopeError, match="No loss is called '0/1 loss of a'"):
        found[ZeroOne("a")]
    with pytest.raises(ScopeError, match="both target and given"):
        evaluate(small_net(), rows, ConditionalLogLoss("a", given=["a", "b"]))


def test_evaluations_print():
    from rich.console import Console

    console = Console(record=True, width=100)
    console.print(evaluate(small_net(), small_net().sample(20, seed=0), LogLoss(), ZeroOne("b")))
    assert "0/1 loss of b" in console.export_text()
    assert "20 rows" in repr(evaluate(small_net(), small_net().sample(20, seed=0))[ss.evaluation.LogLoss()])


def test_unknown_losses_are_absent():
    coin = ss.BayesNet(ss.TableCPD(ss.Discrete("coin"), [0.25, 0.75]))
    found = ss.evaluate(coin, {"coin": [0, 1]})
    assert ss.evaluation.LogLoss() in found
    assert ss.evaluation.ZeroOne("coin") not in found
    assert "log-loss" not in found
    assert 3 not in found
    assert found.get(ss.evaluation.ZeroOne("coin")) is None
    assert found.get(ss.evaluation.ZeroOne("coin"), 7) == 7


def test_losses_are_values_and_keys():
    coin = ss.Discrete("coin")
    found = ss.evaluate(ss.BayesNet(ss.TableCPD(coin, [0.25, 0.75])), {"coin": [0, 1]}, ZeroOne(["coin"]))
    assert found[ZeroOne("coin")] is found[ZeroOne(("coin",))] is found[ZeroOne(coin)]
    assert ZeroOne("a", given=["b"]) == ZeroOne(["a"], given="b")
    assert hash(QuerySuite([("a", ["b"]), (["a", "c"], [])])) == hash(QuerySuite([("a", "b"), (("a", "c"), ())]))
    assert len({Hamming("a"), Hamming(["a"]), Hamming("a", predictor="joint")}) == 2


def test_a_brier_score_has_one_target_in_any_form():
    net = small_net()
    rows = net.sample(20, seed=0)
    expected = evaluate(net, rows, Brier("b"))[Brier("b")].rows
    for target in (["b"], ("b",), iter(["b"]), [B], B):
        np.testing.assert_array_equal(losses_of(net, rows, Brier(target)), expected)
    assert Brier(["b"], given=["a"]) == Brier("b", given="a")
    for targets in (["a", "b"], []):
        with pytest.raises(ArgumentError, match=f"one target; found {len(targets)}"):
            Brier(targets)


def test_losses_take_names_from_any_iterable():
    net = small_net()
    rows = net.sample(20, seed=0)
    for kind in (ConditionalLogLoss, ZeroOne, Hamming):
        loss = kind(iter(["a", "b"]), given=iter(["c"]))
        assert loss == kind(("a", "b"), given=["c"])
        np.testing.assert_array_equal(losses_of(net, rows, loss), losses_of(net, rows, kind(["a", "b"], given=["c"])))
    suite = QuerySuite(iter([(iter(["a"]), ["b"])]), weights=iter([2.0]))
    assert suite == QuerySuite([("a", "b")], weights=[2.0])


def test_losses_that_are_no_keys_are_refused():
    class Listed:
        name = "listed"
        __hash__ = None

        def rows(self, engine, data):
            return np.zeros(data.num_rows)

    coin = ss.BayesNet(ss.TableCPD(ss.Discrete("coin"), [0.25, 0.75]))
    with pytest.raises(ArgumentError, match="A loss is a frozen value"):
        ss.evaluate(coin, {"coin": [0, 1]}, Listed())


@pytest.mark.parametrize("method", [None, ss.VariableElimination(), ss.inference.BruteForce()])
def test_any_method_evaluates(method):
    rows = small_net().sample(40, seed=3)
    losses = LogLoss(), ZeroOne(["a", "c"]), Brier("b"), ConditionalLogLoss("a", given="c"), Hamming(["a", "b"])
    found, expected = evaluate(small_net(), rows, *losses, method=method), evaluate(small_net(), rows, *losses)
    for loss in losses:
        np.testing.assert_allclose(found[loss].rows, expected[loss].rows, atol=CLOSE)
    assert found.guarantees == {"risk": ss.Guarantee.EXACT}
    assert found.method == (ss.CliqueTree() if method is None else method)
    assert found.status is ss.Status.COMPLETED
