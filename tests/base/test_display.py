"""Tables for terminals and notebooks show names and states exactly as users wrote them."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest

import sepset as ss
from sepset.base.display import (
    Shown,
    Tabulated,
    html_table,
    html_text,
    plain,
    rich_table,
    rich_text,
    shortened,
    text_table,
)
from support.terminal import printed, without_styles

STRANGE = ["x[t]", "[/b]", "[bold]y", "<script>", "a & b"]


@pytest.mark.parametrize("text", STRANGE)
def test_names_are_not_markup(text):
    shown = Shown([text, "second"], [[text, text], ["plain", "1"]], title=text, caption=text)
    assert printed(rich_table(shown)).count(text) == 5
    page = html_table(shown)
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert page.count(escaped) == 5
    assert "<script>" not in page
    assert text_table(shown).count(text) == 5
    assert text in printed(rich_text(text))
    assert html_text(text) == f"<code>{escaped}</code>"


def test_plain_text_has_words_on_the_left_and_numbers_on_the_right():
    shown = Shown(("state", "of", "value"), [["low", "a", "0.5"], ["high", "bc", "10"]], "Title", "caption", words=2)
    assert text_table(shown).splitlines() == [
        "Title",
        "  state  of  value",
        "  low    a     0.5",
        "  high   bc     10",
        "caption",
    ]
    assert text_table(Shown((), [["width", "3"], ["cost", "12 steps"]])) == "width 3\ncost  12 steps"
    assert text_table(Shown((), [])) == ""


def test_bars_are_drawn_alike_everywhere():
    shown = Shown(("state", "value"), [["low", "0.25"], ["high", "1"]], bars=[0.25, 1.0])
    for text in (text_table(shown), printed(rich_table(shown))):
        assert sorted(line.count("█") for line in text.splitlines() if "█" in line) == [5, 20]
    assert [float(width) for width in re.findall(r"width:([\d.]+)%", html_table(shown))] == [25.0, 100.0]


def test_words_are_aligned_to_the_left_in_notebooks():
    html = html_table(Shown(("state", "value"), [["low", "0.25"]], title="P(x)"))
    assert re.findall(r"<(\w+) style=\"text-align:left[^\"]*\">([^<]*)<", html) == [
        ("caption", "P(x)"),
        ("th", "state"),
        ("td", "low"),
    ]


def test_only_short_titles_keep_to_one_line():
    assert "nowrap" in html_table(Shown((), [], title="P(x)"))
    assert "nowrap" not in html_table(Shown((), [], title="P(x | " + "y=1, " * 40))


def test_long_tables_are_cut_and_counted():
    long = Shown([f"c{k}" for k in range(20)], [["0"] * 20 for _ in range(70)], caption="note", bars=[0.5] * 70)
    cut = shortened(long)
    assert (len(cut.rows), len(cut.head), {len(row) for row in cut.rows}, len(cut.bars)) == (50, 16, {16}, 50)
    assert cut.caption == "note; first 50 of 70 rows; first 16 of 20 columns"
    short = Shown(("a",), [["1"]], caption="note")
    assert shortened(short) == short


def test_plain_values():
    assert plain({"a": (1, np.int64(2)), "b": {"c": np.array([np.nan, -np.inf, 0.5])}}) == {
        "a": [1, 2],
        "b": {"c": [None, None, 0.5]},
    }
    assert plain({1: "x"}) == [{"key": 1, "value": "x"}]
    assert plain(Shown(("a",), [["1"]]))["rows"] == [["1"]]


def test_facts_have_no_head():
    facts = Shown((), [["model", "x[t]"], ["rows", "20"]], title="Fit")
    assert without_styles(html_table(facts)).replace(' style="text-align:left;white-space:nowrap"', "") == (
        "<table><caption>Fit</caption><tbody><tr><th>model</th><td>x[t]</td></tr><tr><th>rows</th><td>20</td></tr>"
        "</tbody></table>"
    )
    lines = printed(rich_table(facts)).splitlines()
    assert sum("model" in line and "x[t]" in line for line in lines) == 1


def test_nothing_to_show():
    assert html_table(Shown((), [])) == "<table><tbody></tbody></table>"
    assert printed(rich_table(Shown(["only"], []))).count("only") == 1


@dataclass(frozen=True, slots=True)
class Answer(Tabulated):
    name: str

    def _shown(self):
        return Shown(["name"], [[self.name]])


def test_results_stay_values_with_slots():
    answer = Answer("x")
    assert not hasattr(answer, "__dict__")
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert "x" in printed(answer)


def test_results_of_learning_show_brackets_in_names():
    rows = {"x[t]": ["p[i]", "q[i]"] * 10, "y[t]": ["u", "v"] * 10}
    graph = ss.DAG(["x[t]", "y[t]"], [("x[t]", "y[t]")])
    learner = ss.evaluation.Learner(graph, ss.Bayes(ss.K2()))
    model = ss.fit(graph, rows, ss.Bayes(ss.K2())).model
    loss = ss.evaluation.ZeroOne("y[t]")
    for shown in (
        ss.evaluate(model, rows, loss),
        ss.cross_validate(learner, rows, loss, split=ss.evaluation.KFold(2)),
        ss.evaluation.select_learner({"y[t]": learner}, rows, loss=loss, split=ss.evaluation.KFold(2)),
        ss.evaluation.nested_cross_validate(
            {"a": learner}, rows, loss=loss, outer=ss.evaluation.KFold(2), inner=ss.evaluation.KFold(2)
        ),
        ss.evaluation.learning_curve({"y[t]": learner}, rows, sizes=[5], repeats=1),
        ss.missing.missing_patterns(rows),
        ss.fit(graph, rows, ss.Bayes({"x[t]": ss.K2(), "y[t]": ss.K2()})),
        ss.evaluation.calibration_curve(model, rows, target="y[t]"),
    ):
        assert "y[t]" in printed(shown), type(shown)
        assert "y[t]" in shown._repr_html_(), type(shown)


def test_models_plans_and_answers_show_brackets_in_names():
    name, other = "x[bold]", "y[/b]"
    x, y = ss.Discrete(name, ("p[i]", "q")), ss.Real(other)
    net = ss.BayesNet(
        ss.TableCPD(x, [0.5, 0.5]), ss.LinearGaussian(y, [0.0, 1.0], covariance=1.0, by=x), name=name, notes=[other]
    )
    for shown in (net, ss.query(net, x), net.cpd(x), ss.Table(x, [1, 2]), ss.Dataset({name: ["p[i]"]}), ss.plan(net)):
        assert name in printed(shown), type(shown)
        assert name in shown._repr_html_(), type(shown)
    assert other in printed(net)
    assert other in printed(ss.query(net, y))
    states = ss.BayesNet(ss.TableCPD(x, [0.5, 0.5]), ss.TableCPD(ss.Discrete(other), [[0.5, 0.5]] * 2, given=x))
    assert name in printed(ss.map_assignment(states))
    assert name in printed(ss.prepare(states).joint_plan([x]))


def test_every_result_shows_brackets_in_names():
    name, other = "x[bold]", "y[/b]"
    rows = {name: ["p", "q", "p", "q"] * 5, other: ["u", "v", "v", "v"] * 5}
    graph = ss.DAG([name, other], [(name, other)])
    fitted = ss.fit(graph, rows, ss.Bayes(ss.K2()))
    engine = ss.prepare(fitted.model)
    for shown in (
        fitted.posterior,
        fitted.coverage,
        ss.evaluation.divergence(fitted.model, fitted.model),
        ss.missing.identifiability(fitted.model, [other]),
        engine.value_of_information(other),
        engine.value_of_information(name),
        engine.sensitivity(other, state="u"),
    ):
        assert name in printed(shown) or other in printed(shown), type(shown)
        assert printed(shown).count("[") == shown._repr_html_().count("["), type(shown)
    assert name in printed(fitted.posterior)
    assert name in printed(ss.missing.identifiability(fitted.model, [other]))
    assert name in printed(engine.value_of_information(other))
    assert "P(y[/b]='u' | x[bold]='p')" in printed(engine.sensitivity(other, state="u"))
