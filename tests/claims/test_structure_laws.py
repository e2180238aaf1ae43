"""Laws of every method of structure learning: it heeds the time, and a weight means a repeated row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.structure.averaging.posterior import StructureAveraging
from sepset.learning.structure.learned import StructureMethod
from support.structure_methods import (
    BY_PENALTY,
    BY_TESTS,
    CHAINS,
    MIXTURES,
    SEARCHES,
    SUMS,
    WITHOUT,
    rows_for,
    score_for,
)

ST = ss.structure
LEARNERS = [*SEARCHES, *WITHOUT, *MIXTURES, *BY_TESTS, *BY_PENALTY]


def test_every_method_is_listed() -> None:
    """Methods that are added later must be added here."""
    kinds = {type(method) for method in (*LEARNERS, *CHAINS, *SUMS)}
    public = [getattr(ST, name) for name in dir(ST)]
    for kind in public:
        is_method = isinstance(kind, type) and (callable(getattr(kind, "learn", None)) or hasattr(kind, "average"))
        if is_method and kind not in (StructureAveraging, ST.ConditionalLearner):
            assert kind in kinds or issubclass(kind, ST.ConditionalLearner), f"{kind.__name__} is in no list"


@pytest.mark.parametrize("method", LEARNERS, ids=lambda m: repr(m)[:40])
def test_no_time_at_all(method: StructureMethod[Any]) -> None:
    """Every method ends with some structure, and says why."""
    until = ss.Until(seconds=0, tolerance=None)
    found = ss.learn_structure(rows_for(method), method=method, score=score_for(method), until=until)
    assert found.status.value == "time limit"
    assert found.guarantees["structure"].value != "exact" or method in BY_PENALTY
    assert not found.score > found.bound


@pytest.mark.parametrize("method", [*CHAINS, *SUMS], ids=lambda m: repr(m)[:40])
def test_averages_without_time(method: StructureAveraging) -> None:
    """Nothing can be said after no time: the errors say so."""
    with pytest.raises((ss.TooLarge, NotApplicable), match=r"(was not done after|was ended).*Give it more"):
        ss.structure_posterior(rows_for(method), method=method, until=ss.Until(seconds=0, tolerance=None))


def repeated(rows: Any) -> tuple[Any, Any, Any]:
    """Rows, whole weights some of which are zero, and the rows repeated so often, in another order."""
    rng = np.random.default_rng(8)
    frame = rows.to_frame("pandas") if isinstance(rows, ss.Dataset) else rows
    columns = {name: np.asarray(frame[name]) for name in frame}
    weights = rng.integers(0, 4, len(next(iter(columns.values()))))
    order = rng.permutation(np.repeat(np.arange(len(weights)), weights))
    return columns, weights, {name: values[order] for name, values in columns.items()}


@pytest.mark.parametrize(
    "method",
    [*LEARNERS, ss.PC(test=ST.Permutation(num_draws=99)), ss.GES()],
    ids=lambda m: repr(m)[:40],
)
def test_weights_are_repeated_rows(method: StructureMethod[Any]) -> None:
    """The same seed gives the same structure, whatever the order of the repeated rows."""
    rows, weights, again = repeated(rows_for(method))
    until = 5 if method in MIXTURES else None
    one = ss.learn_structure(rows, method=method, score=score_for(method), weights=weights, seed=3, until=until)
    other = ss.learn_structure(again, method=method, score=score_for(method), seed=3, until=until)
    assert one.graph == other.graph
    assert one.score == pytest.approx(other.score, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("method", [*CHAINS, *SUMS], ids=lambda m: repr(m)[:40])
def test_weights_are_repeated_rows_of_averages(method: StructureAveraging) -> None:
    rows, weights, again = repeated(rows_for(method))
    one = ss.structure_posterior(rows, method=method, weights=weights, seed=3)
    np.testing.assert_allclose(one.edges, ss.structure_posterior(again, method=method, seed=3).edges, atol=1e-9)


@pytest.mark.parametrize(
    "score",
    [ST.Holdout(), ST.CrossValidated(5), ST.LeaveOneOut(), ST.QNML(), ST.FNML(), ST.BDs(1.0), ss.K2()],
    ids=repr,
)
def test_weights_are_repeated_rows_of_scores(score: Any) -> None:
    rows, weights, again = repeated(rows_for(None))
    one = ss.learn_structure(rows, method=ss.HillClimb(), score=score, weights=weights)
    other = ss.learn_structure(again, method=ss.HillClimb(), score=score)
    assert one.graph == other.graph
    assert one.score == pytest.approx(other.score, rel=1e-9)


def bad_inputs(rows: Any) -> dict[str, tuple[Any, dict[str, Any], str]]:
    """Rows and options that no method takes, and a word of the error."""
    frame = rows.to_frame("pandas") if isinstance(rows, ss.Dataset) else rows
    columns = {name: np.asarray(frame[name]) for name in frame}
    first, second, third = list(columns)[:3]
    size, rules = len(columns[first]), ST.Constraints
    return {
        "no weight": (columns, {"weights": np.zeros(size)}, "weight"),
        "a negative weight": (columns, {"weights": np.append(-1.0, np.ones(size - 1))}, "not negative"),
        "a weight that is no number": (columns, {"weights": np.append(np.nan, np.ones(size - 1))}, "finite"),
        "a constant column": (columns | {third: columns[third][:1].repeat(size)}, {}, third),
        "a cycle": (columns, {"constraints": rules(required=[(first, second), (second, first)])}, "cycle"),
        "required and forbidden": (
            columns,
            {"constraints": rules(required=[(first, second)], forbidden=[(first, second)])},
            second,
        ),
        "against the tiers": (
            columns,
            {"constraints": rules(required=[(second, first)], tiers=[[first], [second, third]])},
            first,
        ),
        "too many parents": (
            columns,
            {"constraints": rules(required=[(first, third), (second, third)], max_parents=1)},
            "max_parents",
        ),
        "a column that is not there": (columns, {"constraints": rules(required=[(first, "nobody")])}, "nobody"),
    }


@pytest.mark.parametrize("method", [*LEARNERS, *CHAINS, *SUMS], ids=lambda m: repr(m)[:40])
def test_bad_input_is_one_clear_error(method: Any) -> None:
    rows = rows_for(method)
    for what, (columns, options, word) in bad_inputs(rows).items():
        learn = ss.structure_posterior if method in (*CHAINS, *SUMS) else ss.learn_structure
        with pytest.raises(ss.errors.SepsetError) as caught:
            learn(columns, method=method, **options)
        assert word in str(caught.value), (what, str(caught.value))
        assert len(str(caught.value)) < 600
