"""Regressions of families: maxima by least squares, context by context, and what cannot be fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import sepset as ss
from sepset.learning.structure import regressions
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.regressions import added_residuals, fitted


def mixed(seed: int = 0, num_rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, num_rows)
    x = rng.normal(size=num_rows) + a
    y = 2 * x - a + rng.normal(size=num_rows) * (1 + a)
    return pd.DataFrame({"a": a.astype(str), "x": x, "y": y, "b": rng.integers(0, 2, num_rows).astype(str)})


def by_least_squares(frame: pd.DataFrame, child: str, real: list[str], by: list[str]) -> float:
    found = 0.0
    groups = [frame] if not by else [part for _, part in frame.groupby(by)]
    for part in groups:
        design = np.column_stack([np.ones(len(part)), part[real]])
        fit = design @ np.linalg.lstsq(design, part[child], rcond=None)[0]
        found += norm.logpdf(part[child], fit, np.sqrt(np.mean((part[child] - fit) ** 2))).sum()
    return found


@pytest.mark.parametrize("seed", range(3))
def test_families_by_least_squares(seed: int) -> None:
    frame = mixed(seed)
    columns = Columns.of(frame)
    place = {name: k for k, name in enumerate(columns.names)}
    for real, by in [([], []), (["x"], []), ([], ["a"]), (["x"], ["a"]), (["x"], ["a", "b"])]:
        parents = tuple(sorted(place[name] for name in (*real, *by)))
        fit = fitted(place["y"], parents, columns)
        assert fit.log_likelihood == pytest.approx(by_least_squares(frame, "y", real, by))
        contexts = {0: 1, 1: 3, 2: 6}[len(by)]
        assert fit.num_parameters == contexts * (len(real) + 2)


def test_all_additions_at_once() -> None:
    rng = np.random.default_rng(5)
    cells = rng.normal(size=(50, 5)) @ rng.normal(size=(5, 5))
    columns = Columns.of({f"x{k}": cells[:, k] for k in range(5)})
    for score in (ss.BIC(), ss.structure.AIC()):
        scorer = Scorer(columns, score)
        for parents in ((), (0,), (1, 3)):
            added = scorer.additions(2, parents)
            for x in set(range(5)) - {2, *parents}:
                assert added[x] == pytest.approx(score.family(2, tuple(sorted((*parents, x))), columns))


def test_structures_of_real_and_mixed_columns() -> None:
    frame = mixed(1, 600)
    found = ss.learn_structure(frame)
    assert {frozenset(e) for e in found.graph.directed} == {frozenset("ax"), frozenset("ay"), frozenset("xy")}
    assert set(found.graph.parents("a")) | set(found.graph.parents("b")) <= {"a", "b"}
    assert found.fit().model.cpd("y") is not None
    real = ss.learn_structure(frame[["x", "y"]], score=ss.structure.BGe())
    assert real.graph.num_edges == 1


def test_missing_cells_use_the_rows_that_have_them() -> None:
    frame = mixed(2)
    frame.loc[::7, "x"] = np.nan
    columns = Columns.of(frame, missing="available")
    part = frame.dropna()
    fit = fitted(2, (0, 1), columns)
    assert fit.share == pytest.approx(len(part) / len(frame))
    assert fit.log_likelihood == pytest.approx(by_least_squares(part, "y", ["x"], ["a"]))


def test_collinear_and_constant_columns_are_named() -> None:
    x = np.random.default_rng(0).normal(size=40)
    with pytest.raises(ss.errors.DataError, match="'double' is a linear function of 'x'"):
        ss.learn_structure({"x": x, "double": 2 * x + 1})
    with pytest.raises(ss.errors.DataError, match="constant"):
        ss.learn_structure(ss.Dataset({"x": x, "c": np.full(40, 1.5)}, [ss.Real("x"), ss.Real("c")]))


def test_few_rows_allow_few_parents() -> None:
    rng = np.random.default_rng(1)
    columns = Columns.of({f"x{k}": rng.normal(size=5) for k in range(6)})
    assert fitted(0, (1, 2, 3, 4), columns).log_likelihood == -np.inf
    assert ss.learn_structure({f"x{k}": rng.normal(size=5) for k in range(6)}).score > -np.inf


def test_rows_set_by_intervention_do_not_count() -> None:
    frame = mixed(3)
    was_set = np.arange(len(frame)) % 3 == 0
    natural = Columns.of(frame[~was_set])
    marked = Columns.of(frame, interventions={"y": was_set})
    for score in (ss.structure.LogLikelihood(), ss.structure.AIC()):
        assert Scorer(marked, score).family(2, (0, 1)) == pytest.approx(Scorer(natural, score).family(2, (0, 1)))


def test_more_parents_than_rows_are_judged_without_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = Columns.of({f"x{i}": rng.normal(size=8) for i in range(30)})
    monkeypatch.setattr(regressions, "no_rows", lambda *sizes: pytest.fail("squares of all columns"))
    assert fitted(0, tuple(range(1, 30)), columns) == (-np.inf, 31, 1.0)


@pytest.mark.parametrize("parents", [(), (4,), (4, 7)])
def test_added_parents_are_those_of_whole_families(parents: tuple[int, ...]) -> None:
    """From one scatter matrix, of which only the rows and the diagonal are read."""
    rng = np.random.default_rng(1)
    columns = Columns.of({f"x{i}": rng.normal(size=60) for i in range(9)})
    candidates = np.array([0, 2, 5, 8])
    found = added_residuals(1, parents, candidates, columns.moments().scatter)
    for x, residual in zip(candidates.tolist(), found.tolist(), strict=True):
        design = np.column_stack([np.ones(60), columns.values[[*parents, x]].T])
        left = columns.values[1] - design @ np.linalg.lstsq(design, columns.values[1], rcond=None)[0]
        assert residual == pytest.approx(left @ left, rel=1e-10)
