"""Families with few parameters: saturated cases, linear Gaussians, recovered parents, fitted networks, bad input."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.localfit import LocalFit


def causes(num_rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Four of six causes turn the effect on, each with probability a half."""
    rng = np.random.default_rng(seed)
    found = {f"c{k}": rng.integers(0, 2, num_rows) for k in range(6)}
    off = 0.95 * np.prod([np.where(found[f"c{k}"] == 1, 0.5, 1.0) for k in range(4)], axis=0)
    return found | {"x": (rng.random(num_rows) > off).astype(int)}


@pytest.mark.parametrize("penalty", ["bic", "aic", "none"])
def test_forms_that_are_tables(penalty: str) -> None:
    """With one binary parent, forms of as many parameters as a table have its likelihood; so without parents."""
    same = {"bic": ss.BIC(), "aic": ss.structure.AIC(), "none": ss.structure.LogLikelihood()}[penalty]
    columns = Columns.of({"u": [0, 0, 0, 0, 1, 1, 1], "x": [0, 0, 0, 1, 1, 0, 1]})
    for form in (ss.NoisyOr, ss.NoisyMax, ss.LogisticCPD, ss.TableCPD):
        for parents in ((), (0,)):
            expected = same.family(1, parents, columns)
            assert LocalFit(form, penalty=penalty).family(1, parents, columns) == pytest.approx(expected, abs=1e-6)


def test_linear_gaussians_are_gaussian_scores() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 60))
    data = {"a": a, "b": b, "y": a - 2 * b + rng.normal(size=60)}
    graph = ss.DAG("aby", [("a", "y"), ("b", "y")])
    one = ss.structure.score(graph, data, score=LocalFit(ss.LinearGaussian))
    assert dict(one) == pytest.approx(dict(ss.structure.score(graph, data, score=ss.BIC())))
    found = ss.learn_structure(data, method=ss.GES(), score=LocalFit(ss.LinearGaussian))
    assert type(found.fit().model.cpd("y")) is ss.LinearGaussian


def test_a_noisy_or_affords_more_parents_than_a_table() -> None:
    data = causes(400)
    known = ss.structure.Constraints(tiers=[[f"c{k}" for k in range(6)], ["x"]])
    score = LocalFit({"x": ss.NoisyOr})
    found = ss.learn_structure(data, method=ss.HillClimb(), score=score, constraints=known)
    tables = ss.learn_structure(data, method=ss.HillClimb(), constraints=known)
    assert set(found.graph.parents("x")) == {"c0", "c1", "c2", "c3"} > set(tables.graph.parents("x"))
    fitted = found.fit()
    assert type(fitted.model.cpd("x")) is ss.NoisyOr
    assert type(fitted.model.cpd("c0")) is ss.TableCPD
    penalty = 0.5 * math.log(400) * (5 + 6)
    assert found.score == pytest.approx(fitted.log_likelihood - penalty, abs=1e-4)


def test_weights_interventions_and_permuted_columns() -> None:
    data = causes(80, 3)
    weights = np.random.default_rng(0).integers(0, 3, 80)
    names = list(data)
    repeated = Columns.of({name: np.repeat(column, weights) for name, column in data.items()})
    away = np.arange(80) % 4 == 0
    for form in (ss.NoisyOr, ss.LogisticCPD):
        score = LocalFit(form, penalty="aic")
        found = score.family(6, (0, 1, 2), Columns.of(data, weights=weights))
        assert found == pytest.approx(score.family(6, (0, 1, 2), repeated), abs=1e-7)
        marked = score.family(6, (0, 1), Columns.of(data, interventions={"x": away}))
        kept = Columns.of({name: column[~away] for name, column in data.items()})
        assert marked == pytest.approx(score.family(6, (0, 1), kept), abs=1e-7)
        back = Columns.of({name: data[name] for name in reversed(names)}, weights=weights)
        assert found == pytest.approx(score.family(0, (4, 5, 6), back), abs=1e-7)


def test_a_form_of_your_own() -> None:
    def always_on_leak(child: ss.Discrete, parents: tuple[ss.Discrete, ...]) -> ss.NoisyOr:
        return ss.NoisyOr(child, dict.fromkeys(parents, 0.5), leak=0.5)

    data = causes(100, 5)
    columns = Columns.of(data)
    expected = LocalFit(ss.NoisyOr).family(6, (0, 1), columns)
    assert LocalFit(always_on_leak).family(6, (0, 1), columns) == pytest.approx(expected, abs=1e-5)
    assert not LocalFit(always_on_leak).is_concave
    assert LocalFit(ss.NoisyOr).is_concave
    assert not LocalFit({"x": ss.NoisyMax}).is_concave


def test_bad_input() -> None:
    data = causes(30)
    with pytest.raises(ss.errors.ArgumentError, match="penalty"):
        LocalFit(ss.NoisyOr, penalty="mdl")
    with pytest.raises(ss.errors.ArgumentError, match="LocalFit takes"):
        LocalFit("noisy_or")
    with pytest.raises(ss.errors.ArgumentError, match="LocalFit takes"):
        LocalFit([ss.NoisyOr])
    with pytest.raises(ss.errors.ScopeError, match="z"):
        ss.learn_structure(data, method=ss.HillClimb(), score=LocalFit({"z": ss.NoisyOr}))
    with pytest.raises(ss.errors.NotApplicable, match="discrete"):
        ss.learn_structure(data, method=ss.HillClimb(), score=LocalFit(ss.LinearGaussian))
    with pytest.raises(ss.errors.NotApplicable, match="Name another form"):
        ss.learn_structure(data, method=ss.HillClimb(), score=LocalFit({"x": ss.LinearGaussian}))
    with pytest.raises(ss.errors.ModelError, match="NoisyMax"):
        ss.learn_structure({"x": [0, 1, 2, 1]}, method=ss.HillClimb(), score=LocalFit(ss.NoisyOr))


def test_settings_are_shown_and_kept(tmp_path: Path) -> None:
    assert repr(LocalFit(ss.NoisyOr)) == "LocalFit(NoisyOr, penalty='bic')"
    assert repr(LocalFit({"x": ss.LogisticCPD})) == "LocalFit({'x': LogisticCPD}, penalty='bic')"
    kept, score, data = tmp_path / "search.checkpoint", LocalFit({"x": ss.NoisyOr}), causes(60)
    whole = ss.learn_structure(data, method=ss.HillClimb(), score=score)
    ss.learn_structure(data, method=ss.HillClimb(), score=score, until=ss.Until(steps=1), checkpoint=kept)
    assert ss.learn_structure(data, method=ss.HillClimb(), score=score, checkpoint=kept).graph == whole.graph
