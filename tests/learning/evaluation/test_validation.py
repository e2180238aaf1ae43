"""Validation against plain loops over rows, both means, and the optimism of choosing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import BDeu
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.estimation.estimators import Bayes
from sepset.learning.evaluation.losses import LogLoss, ZeroOne, evaluate
from sepset.learning.evaluation.splits import Holdout, KFold, LeaveOneOut
from sepset.learning.evaluation.validation import (
    Learner,
    cross_validate,
    learned,
    nested_cross_validate,
    select_learner,
    train_and_test,
)
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

COIN = Discrete("coin")


class RowNumber:
    """A loss that is the number in a column, whatever the model."""

    name = "row number"

    def rows(self, engine, data):
        return data.values("number")


def fair(data: Dataset) -> BayesNet:
    from sepset.cpds.lineargaussian import LinearGaussian
    from sepset.variables.variable import Real

    return BayesNet(TableCPD(COIN, [0.5, 0.5]), LinearGaussian(Real("number"), covariance=1.0))


def smoothed(data: Dataset) -> BayesNet:
    """The coin with one more of each, counted by hand."""
    counts = np.bincount(data.codes("coin"), minlength=2) + 1.0
    return BayesNet(TableCPD(COIN, counts / counts.sum()))


def numbered(num: int) -> Dataset:
    return Dataset({"coin": [m % 2 for m in range(num)], "number": [float(m) for m in range(num)]})


def test_both_means_are_there_and_named():
    """Ten rows 0..9 in folds of 4, 3 and 3: the mean of fold means is not the mean."""
    found = cross_validate(fair, numbered(10), RowNumber(), split=KFold(3), seed=0).risk
    assert [len(r.rows) for r in found.tested] == [4, 3, 3]
    assert found.pooled_mean == float(found) == 4.5
    by_hand = np.mean([r.rows.mean() for r in found.tested])
    assert found.mean_of_folds == pytest.approx(by_hand)
    assert found.spread == pytest.approx(np.std([r.rows.mean() for r in found.tested], ddof=1))


def test_the_published_difference_of_the_means():
    class InOrder:
        def num_rounds(self, data):
            return 3

        def rounds(self, data, rng):
            for part in ([0, 1, 2, 3], [4, 5, 6], [7, 8, 9]):
                yield np.isin(np.arange(10), part)

    found = cross_validate(fair, numbered(10), RowNumber(), split=InOrder()).risk
    assert found.mean_of_folds == pytest.approx(4.8333, abs=5e-5)
    assert found.pooled_mean == 4.5


def test_equal_folds_have_equal_means():
    found = cross_validate(fair, numbered(12), RowNumber(), split=KFold(3)).risk
    assert found.mean_of_folds == pytest.approx(found.pooled_mean)


def test_folds_by_hand():
    data = Dataset({"coin": np.random.default_rng(0).integers(0, 2, 23).tolist()}, [COIN])
    found = cross_validate(smoothed, data, LogLoss(), ZeroOne("coin"), split=KFold(4), seed=3, training=True)
    seen = np.concatenate(found.rows)
    assert sorted(seen.tolist()) == list(range(23))
    codes = data.codes("coin").astype(int)
    for part, tested, trained in zip(found.rows, found[LogLoss()].tested, found[LogLoss()].trained, strict=True):
        train = np.delete(codes, part)
        p = (np.bincount(train, minlength=2) + 1) / (len(train) + 2)
        np.testing.assert_allclose(tested.rows, -np.log(p[codes[part]]))
        assert trained.mean == pytest.approx(-np.log(p[train]).mean())
    assert found[LogLoss()].gap == pytest.approx(found[LogLoss()].pooled_mean - found[LogLoss()].training_mean)
    assert math.isnan(cross_validate(smoothed, data, split=KFold(4)).risk.training_mean)


def test_leaving_one_out_by_hand():
    codes = [0, 0, 1, 1, 1, 0, 1]
    found = cross_validate(smoothed, Dataset({"coin": codes}, [COIN]), split=LeaveOneOut()).risk
    expected = [-math.log((codes.count(c) - 1 + 1) / (len(codes) - 1 + 2)) for c in codes]
    np.testing.assert_allclose(found.pooled.rows, expected)
    assert found.mean_of_folds == pytest.approx(found.pooled_mean)
    by_folds = cross_validate(smoothed, Dataset({"coin": codes}, [COIN]), split=KFold(len(codes))).risk
    assert by_folds.pooled_mean == pytest.approx(found.pooled_mean)


def test_holdout_is_train_and_test():
    data = numbered(40)
    found = cross_validate(smoothed, data, split=Holdout(0.3), seed=5)
    test = found.rows[0]
    train = np.setdiff1d(np.arange(40), test)
    by_hand = train_and_test(smoothed, data.take(train), test=data.take(test))
    assert found.risk.pooled_mean == pytest.approx(by_hand[LogLoss()].mean)
    assert math.isnan(found.risk.spread)
    np.testing.assert_array_equal(cross_validate(smoothed, data, split=Holdout(0.3), seed=5).rows[0], test)


def test_learners_are_fits():
    data = Dataset({"a": [0, 1, 1, 0, 1], "b": [1, 0, 1, 1, 0]})
    dag = DAG.parse("a -> b")
    assert evaluate(Learner(dag)(data), data)[LogLoss()].mean == pytest.approx(-fit(dag, data).log_likelihood / 5)
    assert learned(lambda rows: fit(dag, rows), data).variables.names == ("a", "b")
    with pytest.raises(ModelError, match="made 3"):
        learned(lambda rows: 3, data)


def test_weights_count_in_training_and_testing():
    base = Dataset({"a": [0, 1, 1, 0, 1, 0, 0, 1], "b": [1, 0, 1, 1, 0, 0, 1, 1]})
    weights = np.array([1, 2, 1, 3, 1, 1, 2, 1])
    mask = np.isin(np.arange(8), [0, 2, 6])
    spread = np.repeat(np.arange(8), weights)

    class Fixed:
        def __init__(self, mask):
            self.mask = mask

        def num_rounds(self, data):
            return 1

        def rounds(self, data, rng):
            yield self.mask

    learner = Learner(DAG.parse("a; b"))
    weighted = cross_validate(learner, base.with_weights(weights), split=Fixed(mask)).risk.pooled_mean
    repeated = cross_validate(learner, base.take(spread), split=Fixed(mask[spread])).risk.pooled_mean
    assert weighted == pytest.approx(repeated)


def null_data(seed: int) -> Dataset:
    """A label that depends on nothing."""
    rng = np.random.default_rng(seed)
    return Dataset({f"x{k}": rng.integers(0, 2, 60) for k in range(8)} | {"y": rng.integers(0, 2, 60)})


def test_the_score_of_the_selected_is_optimistic_and_the_nested_one_is_not():
    candidates = {f"x{k}": Learner(DAG.parse(f"x{k} -> y")) for k in range(8)}
    inner, outer = [], []
    for seed in range(6):
        nested = nested_cross_validate(
            candidates, null_data(seed), loss=ZeroOne("y"), outer=KFold(4), inner=KFold(4), seed=seed
        )
        inner.append(nested.inner_score)
        outer.append(nested.risk.pooled_mean)
    assert np.mean(inner) < 0.45
    assert np.mean(outer) > np.mean(inner) + 0.03
    assert abs(np.mean(outer) - 0.5) < 5 * 0.5 / math.sqrt(6 * 60)


def test_selection_fits_the_best_to_all_rows():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 200)
    data = Dataset({"x": x, "y": np.where(rng.random(200) < 0.9, x, 1 - x)})
    candidates = {"apart": Learner(DAG.parse("x; y")), "joined": Learner(DAG.parse("x -> y"))}
    found = select_learner(candidates, data, split=KFold(5), seed=1)
    assert found.name == "joined"
    assert found.score == found.validations["joined"].risk.pooled_mean < found.validations["apart"].risk.pooled_mean
    whole = fit(DAG.parse("x -> y"), data).model
    np.testing.assert_allclose(found.model.cpd("y").values, whole.cpd("y").values)


def test_candidates_are_given_the_same_rounds_and_ties_go_to_the_first():
    found = select_learner({"b": smoothed, "a": smoothed}, numbered(20), split=Holdout(0.5, repeats=2), seed=4)
    assert found.name == "b"
    for one, other in zip(found.validations["a"].rows, found.validations["b"].rows, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ArgumentError, match="come by name"):
        select_learner({}, numbered(4))


def test_training_validation_and_test_rows():
    nested = nested_cross_validate({"a": smoothed}, numbered(40), outer=Holdout(0.25), inner=Holdout(0.25))
    assert [len(p) for p in nested.validation.rows] == [10]
    assert [len(p) for p in nested.selections[0].validations["a"].rows] == [7]
    assert nested.choices == ("a",)


def test_validations_print_and_name_their_losses():
    from rich.console import Console

    found = cross_validate(smoothed, numbered(20), LogLoss(), ZeroOne("coin"), training=True)
    console = Console(record=True, width=120)
    console.print(found)
    console.print(select_learner({"a": smoothed}, numbered(20)))
    text = console.export_text()
    assert "training mean" in text
    assert "best: a" in text
    assert list(found) == [LogLoss(), ZeroOne("coin")]
    assert len(found) == 2
    with pytest.raises(ScopeError, match="Did you mean"):
        found[ZeroOne("coins")]
    assert "mean of folds" in repr(found.risk)


def test_nested_rounds_are_shown_with_what_was_chosen():
    from rich.console import Console

    nested = nested_cross_validate({"only": smoothed}, numbered(40), outer=KFold(2), inner=KFold(2))
    assert "chosen: only, only" in repr(nested)
    console = Console(record=True, width=120)
    console.print(nested)
    text = console.export_text()
    assert f"{nested.inner_score:.6g}" in text
    assert f"{nested.risk.pooled_mean:.6g}" in text


def test_what_is_no_split_and_no_procedure_is_refused():
    with pytest.raises(ArgumentError, match=r"KFold\(5\).*found 5"):
        cross_validate(smoothed, numbered(10), split=5)
    with pytest.raises(ArgumentError, match=r"Learner\(dag, method\)"):
        cross_validate(DAG.parse("coin"), numbered(10))
    with pytest.raises(ArgumentError, match="come by name"):
        select_learner(smoothed, numbered(10))


def test_bars_on_request(capsys):
    cross_validate(smoothed, numbered(20), progress=True)
    evaluate(smoothed(numbered(20)), numbered(20), progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    cross_validate(smoothed, numbered(20))
    assert capsys.readouterr().err == ""


def test_rounds_without_weight_do_not_count():
    rows = Dataset({"x": [0, 1, 0, 1], "y": [0, 1, 0, 0]}, weights=[1, 0, 1, 1])
    found = cross_validate(Learner(DAG.parse("x -> y"), Bayes(BDeu(2))), rows, LogLoss(), split=LeaveOneOut())[
        LogLoss()
    ]
    counted = [risk.mean for risk in found.tested if risk.weights[0] > 0]
    assert len(counted) == 3
    assert found.mean_of_folds == pytest.approx(np.mean(counted))
    assert found.pooled_mean == pytest.approx(np.mean(counted))
    assert found.spread == pytest.approx(np.std(counted, ddof=1))


def test_unknown_losses_are_absent():
    found = ss.cross_validate(
        ss.evaluation.Learner(ss.DAG.parse("coin")), {"coin": [0, 1] * 10}, split=ss.evaluation.KFold(2)
    )
    assert ss.evaluation.LogLoss() in found
    assert ss.evaluation.ZeroOne("coin") not in found
    assert found.get(ss.evaluation.ZeroOne("coin"), 7) == 7
    with pytest.raises(ss.errors.ScopeError, match="looked up by its loss"):
        found["log-loss"]


class Interrupted:
    """A method whose fits Ctrl-C ends with the best so far."""

    def fit(self, task):
        return replace(Bayes(BDeu(1)).fit(task), status=ss.Status.INTERRUPTED)


@pytest.mark.parametrize(
    "procedure",
    [
        Learner(DAG.parse("a -> b"), Interrupted()),
        lambda rows: fit(DAG.parse("a -> b"), rows, Interrupted()),
    ],
    ids=["learner", "function"],
)
def test_an_interrupted_fit_ends_the_validation(procedure):
    with pytest.raises(KeyboardInterrupt):
        cross_validate(procedure, {"a": [0, 1] * 10, "b": [0, 0, 1, 1] * 5})
