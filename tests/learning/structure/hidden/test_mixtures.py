"""Mixtures of networks and trees: monotone, one component is the search itself, components that differ are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.hidden.mixtures import weighted
from support.incomplete_rows import random_network


def two_kinds(num_rows: int = 600) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """In the first kind a and b agree and c and d do; in the second a and d do and b and c do not."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, num_rows)
    a, c = rng.integers(0, 2, (2, num_rows))

    def noisy(x: np.ndarray) -> np.ndarray:
        return np.where(rng.random(num_rows) < 0.95, x, 1 - x)

    b = np.where(kind == 0, noisy(a), noisy(1 - c))
    d = np.where(kind == 0, noisy(c), noisy(a))
    mark = np.where(rng.random(num_rows) < 0.9, kind, 1 - kind)
    return {"a": a, "b": b, "c": c, "d": d, "mark": mark}, kind


@pytest.mark.parametrize("kind", [ss.structure.MixtureOfTrees, ss.structure.MixtureOfNetworks])
def test_the_score_never_decreases(kind: type) -> None:
    data = random_network(np.random.default_rng(1), (2, 3, 2, 2)).sample(200)
    found = ss.learn_structure(data, method=kind(3), until=6)
    assert np.diff(found.trace).min() >= -1e-7
    likelihood = float(found.log_probability(data).sum())
    free = sum(net.num_parameters for net in found.components) + 2
    assert found.score == pytest.approx(likelihood - 0.5 * np.log(200) * free)
    assert found.weights.sum() == pytest.approx(1.0)


def test_trees_that_differ_are_found() -> None:
    data, kind = two_kinds()
    found = ss.learn_structure(data, method=ss.structure.MixtureOfTrees(2), seed=1)
    assert found.score > ss.learn_structure(data, method=ss.ChowLiu()).score + 20
    edges = {frozenset(map(frozenset, net.dag.edges)) for net in found.components}
    first, second = (frozenset(map(frozenset, pairs)) for pairs in (("ab", "cd"), ("ad", "bc")))
    assert edges == {first, second}
    right = (found.responsibilities(data).argmax(axis=1) == kind).mean()
    assert max(right, 1 - right) > 0.8


def test_one_component_is_the_search_itself() -> None:
    data = random_network(np.random.default_rng(2), (2, 3, 2, 2)).sample(300)
    found = ss.learn_structure(data, method=ss.structure.MixtureOfNetworks(1))
    plain = ss.learn_structure(data, method=ss.HillClimb())
    assert found.score == pytest.approx(plain.score)
    assert ss.graphs.cpdag(found.components[0].dag) == plain.cpdag


def test_the_model_answers_questions() -> None:
    data, _ = two_kinds(200)
    found = ss.learn_structure(data, method=ss.structure.MixtureOfTrees(2), until=5)
    assert float(ss.log_partition(found.model)) == pytest.approx(0.0, abs=1e-9)
    cells = {name: column[:5] for name, column in data.items()}
    share = found.responsibilities(cells)
    for row in range(5):
        one = {name: int(column[row]) for name, column in cells.items()}
        assert float(ss.log_probability(found.model, given=one)) == pytest.approx(found.log_probability(cells)[row])
        assert ss.query(found.model, "component", given=one).values == pytest.approx(share[row])
    with pytest.raises(NotApplicable, match="components"):
        found.fit()


def test_resumed_is_uninterrupted(tmp_path: Path) -> None:
    data, _ = two_kinds(150)
    method = ss.structure.MixtureOfTrees(2)
    whole = ss.learn_structure(data, method=method, until=6)
    for steps in (2, 6):
        found = ss.learn_structure(data, method=method, until=steps, checkpoint=tmp_path / "run")
    assert found.trace.tolist() == whole.trace.tolist()


def test_shares_keep_the_penalty_of_all_rows() -> None:
    columns = Columns.of({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]})
    half = weighted(columns, np.array([0.5, 0.5, 0.5, 0.5]))
    assert half.total == 4
    assert half.counts(0, ()).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("rows", "options", "text"),
    [
        ({"a": [0, 1], "x": [0.5, 1.5]}, {}, "discrete columns"),
        ({"a": [0, 1], "b": [0, 1]}, {"score": ss.BDeu(1.0)}, r"BIC\(\)"),
        ({"a": [0, 1], "component": [0, 1]}, {}, "another name"),
        ({"a": [0, 1], "b": [0, 1]}, {"structure_prior": ss.structure.EdgePenalty(1.0)}, "structure_prior"),
    ],
)
def test_what_is_refused(rows: dict[str, list[float]], options: dict[str, object], text: str) -> None:
    with pytest.raises(NotApplicable, match=text):
        ss.learn_structure(rows, method=ss.structure.MixtureOfTrees(2), **options)
