"""Tables for terminals and notebooks show what users wrote, whatever it looks like."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest
from rich.console import Console

import sepset as ss
from sepset.base.display import Shown, Tabulated, html_table, rich_table

STRANGE = ["x[t]", "[/b]", "[bold]y", "<script>", "a & b"]


def printed_text(what):
    console = Console(record=True, width=200)
    console.print(what)
    return console.export_text()


@pytest.mark.parametrize("text", STRANGE)
def test_names_are_no_markup(text):
    shown = Shown([text, "second"], [[text, text], ["plain", "1"]], title=text, caption=text)
    assert printed_text(rich_table(shown)).count(text) == 5
    page = html_table(shown)
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert page.count(escaped) == 5
    assert "<script>" not in page


def test_facts_have_no_head():
    facts = Shown((), [["model", "x[t]"], ["rows", "20"]], title="Fit")
    assert html_table(facts) == (
        "<table><caption>Fit</caption><tbody><tr><th>model</th><td>x[t]</td></tr><tr><th>rows</th><td>20</td></tr>"
        "</tbody></table>"
    )
    lines = printed_text(rich_table(facts)).splitlines()
    assert sum("model" in line and "x[t]" in line for line in lines) == 1


def test_nothing_to_show():
    assert html_table(Shown((), [])) == "<table><tbody></tbody></table>"
    assert printed_text(rich_table(Shown(["only"], []))).count("only") == 1


@dataclass(frozen=True, slots=True)
class Answer(Tabulated):
    name: str

    def _shown(self):
        return Shown(["name"], [[self.name]])


def test_results_stay_values_with_slots():
    answer = Answer("x")
    assert not hasattr(answer, "__dict__")
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert "x" in printed_text(answer)


def test_results_of_learning_show_brackets_in_names():
    rows = {"x[t]": ["p[i]", "q[i]"] * 10, "y[t]": ["u", "v"] * 10}
    graph = ss.DAG(["x[t]", "y[t]"], [("x[t]", "y[t]")])
    learner = ss.Learner(graph, ss.Bayes(ss.K2()))
    model = ss.fit(graph, rows, ss.Bayes(ss.K2())).model
    loss = ss.ZeroOne("y[t]")
    for shown in (
        ss.evaluate(model, rows, loss),
        ss.cross_validate(learner, rows, loss, split=ss.KFold(2)),
        ss.select_learner({"y[t]": learner}, rows, loss, split=ss.KFold(2)),
        ss.nested_cross_validate({"a": learner}, rows, loss, outer=ss.KFold(2), inner=ss.KFold(2)),
        ss.learning_curve({"y[t]": learner}, rows, [5], repeats=1),
        ss.missing_patterns(rows),
        ss.fit(graph, rows, ss.Bayes({"x[t]": ss.K2(), "y[t]": ss.K2()})),
        ss.calibration_curve(model, rows, "y[t]"),
    ):
        assert "y[t]" in printed_text(shown), type(shown)
        assert "y[t]" in shown._repr_html_(), type(shown)


def test_every_result_shows_brackets_in_names():
    name, other = "x[bold]", "y[/b]"
    rows = {name: ["p", "q", "p", "q"] * 5, other: ["u", "v", "v", "v"] * 5}
    graph = ss.DAG([name, other], [(name, other)])
    fitted = ss.fit(graph, rows, ss.Bayes(ss.K2()))
    engine = ss.prepare(fitted.model)
    for shown in (
        fitted.posterior,
        fitted.fragmentation,
        ss.divergence(fitted.model, fitted.model),
        ss.identifiability(fitted.model, [other]),
        engine.value_of_information(other),
        engine.value_of_information(name),
        engine.sensitivity(other, "u"),
    ):
        assert name in printed_text(shown) or other in printed_text(shown), type(shown)
        assert printed_text(shown).count("[") == shown._repr_html_().count("["), type(shown)
    assert name in printed_text(fitted.posterior)
    assert name in printed_text(ss.identifiability(fitted.model, [other]))
    assert name in printed_text(engine.value_of_information(other))
    assert "P(y[/b]='u' | x[bold]='p')" in printed_text(engine.sensitivity(other, "u"))
