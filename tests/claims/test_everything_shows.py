"""Everything that a user holds shows its numbers: printed, in one line, by Rich, in notebooks, and as plain values."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sepset as ss
from support.blocks import in_blocks
from support.everything import ANSWERS, EVERYTHING, LONG, RESULTS, engine, hybrid, made, net
from support.terminal import printed
from support.tolerances import EXACT

VOID = {"br", "img", "hr", "meta", "input", "wbr"}


class Tags(HTMLParser):
    """The text of HTML, after checking that every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@in_blocks("name", list(EVERYTHING))
def test_everything_shows_itself_in_four_ways(name):
    found = made(name)
    line, text, rich, page = repr(found), str(found), printed(found), "".join(Tags(found._repr_html_()).text)
    assert line.isprintable()
    assert " at 0x" not in line + text + rich + page
    assert "<object" not in line + text + page
    for shown in (text, rich, page):
        assert shown.strip()


@in_blocks("name", list(ANSWERS | RESULTS))
def test_results_are_plain_values(name):
    """What JSON holds is the dictionary, to the last digit, and nothing in it is not finite."""
    found = made(name)
    plain = found.to_dict()
    assert plain
    assert json.loads(found.to_json()) == plain
    assert " at 0x" not in found.to_json()


@in_blocks("name", list(ANSWERS | RESULTS))
def test_what_is_told_is_found_by_names_and_not_by_sentences(name):
    found = made(name)
    keys = {*getattr(found, "info", ()), *getattr(found, "guarantees", ()), *getattr(found, "terms", ())}
    assert [key for key in keys if isinstance(key, str) and not key.isidentifier()] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_the_numbers_of_an_answer_are_in_all_of_its_texts(name):
    found = made(name)
    for shown in (str(found), printed(found), found._repr_html_()):
        assert re.search(r"\d", shown)


@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_what_is_long_is_cut_and_counted(make):
    found = make()
    text = str(found)
    assert len(text.splitlines()) <= 56
    assert max(map(len, text.splitlines())) <= 400
    assert re.search(r"first \d+ of [\d,]+", text)
    assert len(repr(found)) < 600


@in_blocks("name", list(EVERYTHING))
def test_what_a_prompt_shows_is_short(name):
    """A line with what matters: no arrays, and no fields of fields."""
    line = repr(made(name))
    assert len(line) <= 250
    assert "array(" not in line
    assert line.count("(") <= 8


def test_best_assignments_tell_the_evidence():
    best = made("best assignment")
    assert str(best).startswith("given d=yes: log value")
    assert "given d=yes" in best._repr_html_()
    assert best.to_dict()["given"] == {"d": "yes"}
    assert str(made("best assignments")).startswith("log value")


def test_views_tell_their_findings_as_answers_do():
    assert str(made("view")).splitlines()[0] == str(made("marginals")).splitlines()[0] == "given d=yes"
    assert str(engine().observe({})).startswith("without findings")


def test_a_joint_of_discrete_and_real_variables_shows_probabilities_and_moments():
    """P(a) = (1/4, 3/4); x has mean 0.5 and deviation 1 given low, mean 2.5 and deviation 0.5 given high."""
    found = ss.query(hybrid(), ["a", "x"])
    assert str(found).splitlines()[1:] == [
        "  a     probability  x mean  x deviation",
        "  low          0.25     0.5            1",
        "  high         0.75     2.5          0.5",
    ]
    frame = found.to_frame()
    assert frame["a"].tolist() == ["low", "high"]
    np.testing.assert_allclose(frame[["probability", "x mean", "x deviation"]], [[0.25, 0.5, 1], [0.75, 2.5, 0.5]])
    assert found.to_dict()["probabilities"][1] == pytest.approx(
        {"a": "high", "probability": 0.75, "mean": 2.5, "variance": 0.25}
    )
    with pytest.raises(ss.SepsetError, match="x is continuous"):
        np.asarray(found)


def test_a_state_without_probability_has_no_moments():
    cpd = ss.TableCPD(ss.Discrete("a", ("low", "high")), [0.0, 1.0])
    model = ss.BayesNet(cpd, ss.LinearGaussian(ss.Real("x"), [0.5, 2.5], covariance=1.0, by=cpd.child))
    text = str(ss.query(model, ["a", "x"])).splitlines()
    assert text[2].split() == ["low", "0"]
    assert text[3].split() == ["high", "1", "2.5", "1"]


def test_the_correlations_of_real_answers():
    """x has variance 1 given low, y = 1.5 + 2 x + noise of variance 1/2: the correlation is 2 / sqrt(4.5)."""
    line = str(ss.query(hybrid(), ["x", "y"], given={"a": "low"})).splitlines()[2].split()
    assert float(line[-1]) == pytest.approx(2 / np.sqrt(4.5), abs=1e-4)


def test_a_linear_gaussian_shows_its_equation():
    lines = [line.split() for line in str(hybrid().cpd("y")).splitlines()]
    assert lines[1:] == [["intercept", "x", "deviation"], ["1.5", "2", "0.707107"]]


@pytest.mark.parametrize("name", ["query", "joint query", "marginals", "max marginals", "information"])
def test_answers_are_mappings(name):
    found = made(name)
    keys = list(found)
    assert len(found) == len(keys) == len(dict(found))
    assert all(key in found for key in keys)
    assert "nothing of the kind" not in found
    assert found.get("nothing of the kind", 3) == 3
    assert [key for key, _ in found.items()] == keys


def test_names_that_are_also_titles_keep_their_states():
    """A variable called like a column of the table is not overwritten by it."""
    p, m = ss.Discrete("probability", ("u", "v")), ss.Discrete("mean", ("s", "t"))
    x = ss.Real("x")
    model = ss.BayesNet(
        ss.TableCPD(p, [0.25, 0.75]), ss.TableCPD(m, [0.5, 0.5]), ss.LinearGaussian(x, [1.0, 2.0], covariance=1.0, by=m)
    )
    assert ss.query(model, "probability").to_dict()["probabilities"][0] == {"probability": "u", "probability_": 0.25}
    row = ss.query(model, ["mean", "x"]).to_dict()["probabilities"][1]
    assert row == pytest.approx({"mean": "t", "probability": 0.5, "mean_": 2.0, "variance": 1.0})


@pytest.mark.parametrize("state", [np.inf, -np.inf])
def test_states_that_are_not_finite_are_written_in_words(state):
    variable = ss.Discrete("limit", (0.0, state))
    model = ss.BayesNet(ss.TableCPD(variable, [0.25, 0.75]))
    rows = json.loads(ss.query(model, "limit").to_json())["probabilities"]
    assert rows[1] == {"limit": str(state), "probability": 0.75}
    assert json.loads(ss.map_assignment(model).to_json())["assignments"][0]["assignment"] == {"limit": str(state)}
    assert json.loads(ss.marginals(model, given={"limit": state}).to_json())["given"] == {"limit": str(state)}


def test_comparisons_count_one_variable():
    before, after = ss.query(net(), "a"), ss.query(net(), "a", given={"d": "yes"})
    assert repr(before.compare(after)).startswith("Comparison(1 variable; ")
    changes = before.compare(after).to_dict()["changes"]
    assert [row["after"] for row in changes] == pytest.approx([after[row["state"]] for row in changes], abs=EXACT)


NOT_HELD = {
    "BayesNetClassifier", "BayesNetImputer", "Discretizer",  # scikit-learn shows its estimators
    "Persistency", "TreePosterior",  # methods
    "MarkovFitResult", "MergeOrder", "StrongLocalMaximum",  # shown as their base classes, which are here
}  # fmt: skip
"""Public classes with a display of which none is made here."""


def public_classes(place=ss, deep=2):
    """The classes of the public names, of namespaces too."""
    for name in dir(place):
        found = None if name.startswith("_") else getattr(place, name)
        if isinstance(found, type):
            yield found
        elif deep and getattr(found, "__spec__", None) and found.__name__.startswith("sepset"):
            yield from public_classes(found, deep - 1)


def test_nothing_that_shows_itself_is_left_out():
    kinds = {base for name in EVERYTHING for base in type(made(name)).__mro__}
    shown = {one for one in public_classes() if hasattr(one, "_repr_html_")}
    assert {one.__name__ for one in shown - kinds} <= NOT_HELD


@pytest.mark.parametrize("name", ["counts", "moments", "empirical distribution", "pairs"])
def test_what_is_counted_prints_its_numbers(name):
    assert re.search(r"\d", str(made(name)).split("\n", 1)[1])


def test_the_counts_of_rows_by_hand():
    found = ss.data.Counts.of({"a": [0, 0, 1], "b": ["x", "y", "y"]}, [("a", ()), ("b", ("a",))])
    assert [line.split() for line in str(found).splitlines()[2:]] == [
        ["a", "0", "2,", "1", "1"],
        ["b", "a=0", "x", "1,", "y", "1"],
        ["b", "a=1", "x", "0,", "y", "1"],
    ]


def test_moments_by_hand():
    """1 and 3: mean 2, deviation 1."""
    found = ss.data.Moments.of({"x": [1.0, 3.0, 8.0], "k": ["a", "a", "b"]}, ["x"], given="k")
    assert [line.split() for line in str(found).splitlines()[2:]] == [["a", "2", "2", "1"], ["b", "1", "8", "0"]]


def test_a_parameter_tells_its_value_and_slope():
    """P(lung | smoke=yes) is the parameter itself: the slope is one."""
    found = ss.sensitivity(ss.datasets.load("asia"), "lung", state="yes", given={"smoke": "yes"})[0]
    assert str(found) == "P(lung='yes' | smoke='yes') = 0.1, derivative +1"
    assert found.to_dict()["state"] == "yes"


def test_guarantees_and_states_of_runs_print_as_words():
    found = ss.query(net(), "a")
    assert (str(found.guarantees["marginals"]), f"{found.status}") == ("exact", "completed")


def test_a_function_in_a_setting_is_named():
    def expert(xs, ys, given):
        return True

    assert repr(ss.structure.Callback(expert)) == "Callback(function=expert)"
