"""Results: what comes back, how it prints, and how it is looked into."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.inference.result import (
    Guarantee,
    LogProbabilityResult,
    MarginalsResult,
    QueryResult,
    Status,
)
from support.terminal import printed

A, B = ss.Discrete("a", ("u", "v")), ss.Discrete("b", 3)
EXACT = {"log_partition": Guarantee.EXACT, "marginals": Guarantee.EXACT, "assignment": Guarantee.EXACT}
ABOUT = {"method": ss.inference.BruteForce(), "guarantees": EXACT}


def query():
    return QueryResult(ss.Table((A, B), np.arange(6) / 15), -1.0, **ABOUT)


def test_a_query_result_stands_for_its_distribution():
    answer = query()
    assert answer.scope == (A, B)
    assert answer.values.shape == (2, 3)
    assert answer[{"a": "v", "b": 2}] == pytest.approx(5 / 15)
    assert answer.entropy() == pytest.approx(answer.distribution.entropy())
    assert answer.status is Status.COMPLETED
    assert repr(answer).startswith("QueryResult(Table(a[2], b[3]); log_partition: exact")
    assert answer._repr_html_().startswith("<table")
    assert "b" in printed(answer)
    with pytest.raises(AttributeError):
        answer.nonsense
    with pytest.raises(AttributeError):
        answer.log_partition = 0.0


def test_results_survive_pickling():
    again = pickle.loads(pickle.dumps(query()))
    np.testing.assert_array_equal(again.values, query().values)
    assert again.guarantees == EXACT


def test_the_line_about_marginals_has_the_first_numbers():
    tables = [ss.Table(ss.Discrete(name, ("x", "y")), [0.25, 0.75]) for name in "abcde"]
    answers = MarginalsResult({t.scope[0].name: i for i, t in enumerate(tables)}, tables.__getitem__, **ABOUT)
    numbers = "; ".join(f"{name}: x 0.25, y 0.75" for name in "abc")
    assert repr(answers) == f"MarginalsResult(5 variables; {numbers}; ...)"


def test_marginals_are_read_when_asked_and_once():
    read = []

    def lookup(position):
        read.append(position)
        return "AB"[position]

    answers = MarginalsResult({"a": 0, "b": 1}, lookup, **ABOUT)
    assert (len(answers), list(answers)) == (2, ["a", "b"])
    assert read == []
    assert answers["a"] == answers[A] == "A"
    assert read == [0]
    assert "b" in answers
    assert B in answers
    assert "zz" not in answers
    assert dict(answers) == {"a": "A", "b": "B"}
    assert answers.guarantees is EXACT
    assert answers.status is Status.COMPLETED
    with pytest.raises(ss.errors.ScopeError, match=r"There is no marginal of 'bb'. Did you mean 'b'"):
        answers["bb"]
    with pytest.raises(ss.errors.ScopeError, match=r"no marginal of 7\. There are those of 'a', 'b'\."):
        answers[7]
    assert (answers.get("bb"), answers.get("bb", "none"), answers.get(B)) == (None, "none", "B")


def test_log_probabilities_are_numbers_with_bounds():
    exact = LogProbabilityResult(-2.0, -2.0, upper=-2.0, **ABOUT)
    assert (float(exact), exact.gap) == (-2.0, 0.0)
    assert exact.probability == pytest.approx(math.exp(-2))
    assert repr(exact) == "LogProbabilityResult(-2; exact)"
    bounded = LogProbabilityResult(-2.0, -3.0, upper=-1.0, **ABOUT)
    assert bounded.gap == 2.0
    assert LogProbabilityResult(-2.0, **ABOUT).gap == math.inf
    impossible = LogProbabilityResult(-math.inf, -math.inf, upper=-math.inf, **ABOUT)
    assert (impossible.probability, impossible.gap) == (0.0, 0.0)
    assert LogProbabilityResult(5000.0, **ABOUT).probability == math.inf


@pytest.mark.parametrize("kind", [Guarantee, Status])
def test_words_print_as_their_names(kind):
    assert [repr(one) for one in kind] == [one.name for one in kind]


def test_brackets_in_names_and_states_are_no_markup():
    from rich.console import Console

    console = Console(record=True, width=80)
    coin = ss.Discrete("x[bold]", ("[red]", "tail"))
    console.print(ss.map_assignment(ss.BayesNet(ss.TableCPD(coin, [0.7, 0.3]))))
    shown = console.export_text()
    assert "x[bold]" in shown
    assert "[red]" in shown


def test_an_answer_has_what_its_distribution_has():
    joint = ss.query(ss.datasets.load("student"), ["intelligence", "grade"], given={"letter": "weak"})
    table = joint.distribution
    assert joint.mode() == table.mode()
    assert joint.entropy() == table.entropy()
    assert joint.sample(3, 1) == table.sample(3, 1)
    assert joint.to_frame().equals(table.to_frame())
    assert np.array_equal(joint.condition({"grade": "A"}).values, table.condition({"grade": "A"}).values)
    assert {"values", "scope", "mean", "mode", "entropy", "sample", "interval", "plot", "to_frame"} <= set(dir(joint))


def test_the_probability_of_some_targets_is_refused():
    joint = ss.query(ss.datasets.load("student"), ["intelligence", "grade"])
    with pytest.raises(ss.errors.ScopeError, match="needs a state of every variable; missing 'grade'"):
        joint[{"intelligence": "high"}]


def test_real_answers_have_moments():
    x = ss.Real("x")
    answer = ss.query(ss.BayesNet(ss.LinearGaussian(x, 2.0, covariance=4.0)), "x")
    assert (answer.mean(), answer.variance()) == (2.0, 4.0)
    low, high = answer.interval(0.6826894921370859)
    assert (low, high) == (pytest.approx(0.0), pytest.approx(4.0))


def test_a_plot_onto_another_picture():
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    axes.imshow([[0.0, 1.0]])
    assert ss.query(ss.datasets.load("asia"), ["lung", "tub"]).plot(axes).images
