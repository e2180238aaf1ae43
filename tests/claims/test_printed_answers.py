"""Answers show their numbers wherever they are printed, and can be handled as what they are.

The network is a -> b with P(a) = (0.2, 0.8), P(b | a) = ((0.3, 0.7), (0.6, 0.4)), so P(b) = (0.54, 0.46).
"""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

import sepset as ss
from support.terminal import printed
from support.tolerances import EXACT

A, B = ss.Discrete("a", ("low", "high")), ss.Discrete("b", ("no", "yes"))


def model() -> ss.BayesNet:
    return ss.BayesNet(ss.TableCPD(A, [0.2, 0.8]), ss.TableCPD(B, [[0.3, 0.7], [0.6, 0.4]], given=A))


def answer() -> ss.inference.QueryResult:
    return ss.query(model(), "b")


SHOWN = {
    "query": (answer, ("no", "0.54", "yes", "0.46")),
    "marginals": (lambda: ss.marginals(model()), ("a", "0.2", "0.8", "b", "0.54", "0.46")),
    "CPD": (lambda: model().cpd("b"), ("low", "high", "no", "yes", "0.3", "0.7", "0.6", "0.4")),
    "table": (lambda: ss.Table(A, [0.25, 0.5]), ("low", "0.25", "high", "0.5")),
}


@pytest.mark.parametrize(("shown", "parts"), SHOWN.values(), ids=SHOWN)
def test_printing_shows_the_numbers(shown, parts):
    text = str(shown())
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(("shown", "parts"), SHOWN.values(), ids=SHOWN)
def test_the_representation_is_one_line_with_the_numbers(shown, parts):
    text = repr(shown())
    assert "\n" not in text
    assert [part for part in parts if part[0].isdigit() and part not in text] == []


def test_marginals_are_a_table_in_a_terminal():
    text = printed(ss.marginals(model()))
    assert [part for part in SHOWN["marginals"][1] if part not in text] == []


@pytest.mark.parametrize(
    ("shown", "parts"),
    [
        pytest.param(answer, SHOWN["query"][1], id="query"),
        pytest.param(
            lambda: ss.marginals(model()),
            SHOWN["marginals"][1],
            id="marginals",
        ),
        pytest.param(
            lambda: ss.map_assignment(model(), k=3),
            ("high", "low", "no", "yes", "0.48", "0.32", "0.14"),
            id="three best states",
        ),
        pytest.param(
            lambda: ss.prepare(model()).observe({"a": "low"}),
            ("a", "low", "b", "0.7"),
            id="view",
        ),
        pytest.param(
            lambda: ss.graphs.active_trail(model().dag, "a", "b"),
            ("a", "b"),
            id="trail",
        ),
        pytest.param(
            lambda: ss.graphs.independences(ss.DAG.parse("a -> b -> c"))[0],
            ("a", "b", "c"),
            id="independence",
        ),
    ],
)
def test_a_notebook_shows_the_numbers(shown, parts):
    text = shown()._repr_html_()
    assert [part for part in parts if part not in text] == []


def test_marginals_as_a_frame():
    cells = {str(cell) for row in ss.marginals(model()).to_frame().to_numpy() for cell in row}
    assert {"0.2", "0.8"} <= cells


def test_marginals_as_a_picture():
    pytest.importorskip("matplotlib").use("agg")
    assert ss.marginals(model()).plot() is not None


def test_names_of_what_an_answer_can_do_work():
    assert answer().mode() is not None
    assert answer().entropy() == pytest.approx(-sum(p * np.log(p) for p in (0.54, 0.46)), abs=EXACT)


@pytest.mark.parametrize("name", ["plot", "to_frame", "mode", "mean", "entropy", "sample"])
def test_completion_finds_what_an_answer_can_do(name):
    assert name in dir(answer())


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param(dict, {"no": 0.54, "yes": 0.46}, id="dict"),
        pytest.param(list, ["no", "yes"], id="list"),
        pytest.param(lambda found: "no" in found, True, id="a state"),
        pytest.param(lambda found: "A" in found, False, id="no state"),
    ],
)
def test_an_answer_is_a_mapping_from_states_to_probabilities(read, expected):
    found = read(answer())
    assert found == (pytest.approx(expected) if isinstance(expected, dict) else expected)


def test_an_answer_is_an_array():
    found = np.asarray(answer())
    assert found.shape == (2,)
    np.testing.assert_allclose(found, [0.54, 0.46], atol=EXACT)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_bars_are_drawn_relative_to_one(share):
    def longest(*values: float) -> int:
        lines = printed(ss.query(ss.BayesNet(ss.TableCPD(ss.Discrete("x", len(values)), values)), "x")).splitlines()
        return max(line.count("█") for line in lines)

    whole = longest(1.0, 0.0)
    assert longest(*[share] * int(1 / share)) == pytest.approx(share * whole, abs=1)


def test_the_progress_bar_of_a_fit_that_converges_does_not_end_early(monkeypatch):
    tasks = []

    class Recorded(Progress):
        def stop(self) -> None:
            tasks.extend((task.completed, task.total) for task in self.tasks)
            super().stop()

    monkeypatch.setattr("rich.progress.Progress", Recorded)
    rows = {"a": ["low", "high", None, "low", "high", "high"], "b": ["no", None, "yes", "no", "yes", "no"]}
    found = ss.fit(model().dag, rows, ss.EM(), progress=True)
    assert found.status is ss.Status.CONVERGED
    assert tasks
    assert all(total is None or completed == total for completed, total in tasks)
