"""Learned structures: their parts, displays, parameters, and tasks that are refused."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureMethod, StructureTask

mpl.use("Agg")


@pytest.fixture(scope="module")
def found() -> ss.structure.Learned[ss.DAG]:
    return ss.learn_structure(ss.datasets.load("sprinkler").sample(2_000, seed=1), method=ss.HillClimb())


def test_everything_is_shown(found: ss.structure.Learned[ss.DAG]) -> None:
    shown = str(found)
    for word in ("structure", "score", "families scored", "local optimum", "HillClimb"):
        assert word in shown
    assert f"{found.score:.7g}" in repr(found)
    assert "<table" in found._repr_html_()
    assert "<svg" in found._repr_html_()
    axes = found.plot_trace()
    assert len(axes.lines) == 1
    plt.close(axes.figure)
    axes = found.plot()
    assert sum(patch.get_gid() == "edge" for patch in axes.patches) == found.graph.num_edges
    plt.close(axes.figure)


def test_parameters_of_the_learned_structure(found: ss.structure.Learned[ss.DAG]) -> None:
    data = ss.datasets.load("sprinkler").sample(2_000, seed=1)
    one, other = found.fit().model, ss.fit(found.graph, data).model
    assert one.log_probability(dict(ss.Dataset(data).row(0))) == pytest.approx(
        other.log_probability(ss.Dataset(data).row(0))
    )
    assert found.fit(ss.Bayes(ss.BDeu(1.0))).posterior is not None


def test_contexts_without_rows_and_missing_cells_are_fitted() -> None:
    rows = {"a": ["x", "x", "y", "y", "x"], "b": ["u", "v", "u", "u", "u"], "c": ["p", "q", "q", "p", "p"]}
    graph = ss.DAG("abc", [("a", "c"), ("b", "c")])
    learned = ss.learn_structure(
        rows, method=ss.structure.KnownOrder("abc"), constraints=ss.structure.Constraints(required=graph.edges)
    )
    fitted = learned.fit().model.cpd("c")
    assert fitted.values[fitted.parents[0].code("y"), fitted.parents[1].code("v")] == pytest.approx([0.5, 0.5])
    rows["c"][0] = None
    learned = ss.learn_structure(
        rows, missing="available", constraints=ss.structure.Constraints(required=[("a", "c")], max_parents=1)
    )
    value = learned.fit().model.cpd("c").values[0]  # of the two rows with x and c, one is p and one is q
    assert value == pytest.approx([0.5, 0.5], abs=1e-3)


def test_no_bound_means_no_gap(found: ss.structure.Learned[ss.DAG]) -> None:
    assert found.bound == np.inf == found.gap


def test_a_start_must_fit() -> None:
    columns = Columns.of({"a": [0, 1], "b": [1, 0]})
    task = StructureTask(columns, ss.BIC(), start=ss.DAG.parse("a -> z"))
    with pytest.raises(ss.SepsetError, match="one node per column"):
        task.start_parents()
    forbidden = StructureTask(
        columns, ss.BIC(), constraints=ss.structure.Constraints(forbidden=["a -> b"]), start=ss.DAG.parse("a -> b")
    )
    with pytest.raises(ss.SepsetError, match="constraints"):
        forbidden.start_parents()
    with pytest.raises(ss.errors.NotApplicable, match="score="):
        StructureTask(columns).scorer


def test_classes_need_equivalent_scores() -> None:
    columns = Columns.of({"a": [0, 1], "b": [1, 0]})
    StructureTask(columns, ss.BIC()).require_equivalent("GES")
    with pytest.raises(ss.errors.NotApplicable, match=r"K2\(\) is not"):
        StructureTask(columns, ss.K2()).require_equivalent("GES")


METHODS = [ss.HillClimb(), ss.GES(), ss.structure.KES(), ss.structure.BOSS(), ss.structure.FirstAscent()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_checkpoint_belongs_to_its_rows_and_settings(tmp_path: Path, method: StructureMethod[ss.DAG]) -> None:
    rng = np.random.default_rng(0)
    one, other = ({name: rng.integers(0, 2, 200) for name in "abc"} for _ in range(2))
    file = tmp_path / "search"
    first = ss.learn_structure(one, method=method, checkpoint=file)
    assert ss.learn_structure(one, method=method, checkpoint=file).graph == first.graph
    strict = ss.structure.Constraints(max_parents=1)
    for data, options in (
        (other, {}),
        (one, {"constraints": strict}),
        (one, {"score": ss.BDeu(3.0)}),
        (one, {"seed": 7}),
    ):
        with pytest.raises(ss.errors.DataError, match="belongs to"):
            ss.learn_structure(data, method=method, checkpoint=file, **options)  # type: ignore[call-overload]


def test_a_chain_belongs_to_its_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    one, other = ({name: rng.integers(0, 2, 50) for name in "abc"} for _ in range(2))
    chain, file = ss.OrderMCMC(num_samples=20), tmp_path / "chain"
    ss.structure_posterior(one, method=chain, checkpoint=file)
    with pytest.raises(ss.errors.DataError, match="belongs to"):
        ss.structure_posterior(other, method=chain, checkpoint=file)


def _trial(seed: int) -> tuple[dict[str, list[int]], list[list[str]]]:
    """Rows of two coins, some of which were set: `b` in the first third, `a` in the second."""
    rng = np.random.default_rng(seed)
    rows = {"a": rng.integers(2, size=60).tolist(), "b": rng.integers(3, size=60).tolist()}
    rows["a"][:4], rows["b"][:4] = [0, 0, 1, 1], [0, 1, 2, 0]
    return rows, [["b"]] * 20 + [["a"]] * 20 + [[]] * 20


def _frequencies(rows: dict[str, list[int]], counted: range | list[int], weights: np.ndarray) -> np.ndarray:
    """The frequencies of `b` given `a` in some rows, by a loop."""
    table = np.zeros((2, 3))
    for row in counted:
        table[rows["a"][row], rows["b"][row]] += weights[row]
    return table / table.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_which_a_variable_was_set_do_not_count_in_its_cpd(weighted: bool) -> None:
    rows, interventions = _trial(seed=3)
    weights = np.linspace(0.5, 2.0, 60) if weighted else np.ones(60)
    found = ss.learn_structure(
        rows,
        method=ss.HillClimb(),
        weights=weights if weighted else None,
        interventions=interventions,
        constraints=ss.structure.Constraints(required=["a -> b"]),
    )
    fitted = found.fit()
    a, b = np.array(rows["a"]), fitted.model.cpd("b")
    free_a = np.r_[0:20, 40:60]
    share = weights[free_a][a[free_a] == 1].sum() / weights[free_a].sum()
    expected = _frequencies(rows, list(range(20, 60)), weights)
    np.testing.assert_allclose(fitted.model.cpd("a").values, [1 - share, share])
    np.testing.assert_allclose(b.values.reshape(2, 3), expected)
    summed = sum(weights[m] * np.log([1 - share, share][rows["a"][m]]) for m in free_a)
    summed += sum(weights[m] * np.log(expected[rows["a"][m], rows["b"][m]]) for m in range(20, 60))
    assert fitted.log_likelihood == pytest.approx(summed)


def test_other_estimates_leave_set_rows_out_too() -> None:
    rows, interventions = _trial(seed=4)
    found = ss.learn_structure(
        rows, interventions=interventions, constraints=ss.structure.Constraints(required=["a -> b"])
    )
    counts = np.bincount(np.array(rows["a"])[np.r_[0:20, 40:60]], minlength=2)
    for method in (ss.Bayes(ss.priors.Dirichlet(2.0)), ss.PosteriorMode(ss.priors.Dirichlet(2.0))):
        np.testing.assert_allclose(found.fit(method).model.cpd("a").values, (counts + 1) / (counts.sum() + 2))
    with pytest.raises(ss.SepsetError, match="Interventions set 'a', 'b'"):
        found.fit(ss.EM())


def test_lines_and_set_rows() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=50)
    y = 2 * x + rng.normal(size=50)
    is_set = np.arange(50) < 15
    y[is_set] = 9.0
    found = ss.learn_structure(
        {"x": x, "y": y},
        method=ss.HillClimb(),
        interventions={"y": is_set},
        constraints=ss.structure.Constraints(required=["x -> y"]),
    )
    slope, intercept = np.polyfit(x[~is_set], y[~is_set], 1)
    model = found.fit().model
    variance = np.mean((y - slope * x - intercept)[~is_set] ** 2)
    expected = -0.5 * np.log(2 * np.pi * variance) - (1.0 - 0.3 * slope - intercept) ** 2 / (2 * variance)
    expected += -0.5 * np.log(2 * np.pi * np.var(x)) - (0.3 - np.mean(x)) ** 2 / (2 * np.var(x))
    assert model.log_probability({"x": 0.3, "y": 1.0}) == pytest.approx(expected)
