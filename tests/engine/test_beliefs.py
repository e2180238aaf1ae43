"""Beliefs in pictures: the numbers of queries, the evidence, the information of edges."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.engine.beliefs import NARROWEST, WIDEST, believed, require_strengths, strengthened

STUDENT = ss.datasets.load("student")


def test_rows_are_marginals():
    found = believed(ss.draw(STUDENT).sketch, [ss.prepare(STUDENT).observe({"grade": "C"})])
    for box in found.boxes:
        answer = ss.query(STUDENT, box.name, given={"grade": "C"}) if box.name != "grade" else {"A": 0, "B": 0, "C": 1}
        for row in box.rows:
            assert row.shares[0] == pytest.approx(answer[row.label])


def test_evidence_of_all_kinds_is_marked_and_told():
    given = {"grade": {"A", "B"}, "sat": ss.Likelihood([0.9, 0.1]), "letter": None}
    found = believed(ss.draw(STUDENT).sketch, [ss.prepare(STUDENT).observe(given)])
    assert [box.name for box in found.boxes if box.observed] == ["grade", "sat"]
    assert found.caption.startswith("given grade = ")


def test_two_cases():
    engine = ss.prepare(STUDENT)
    found = believed(ss.draw(STUDENT).sketch, [engine.observe({}), engine.observe({"grade": "C"})])
    assert found.cases == ("without evidence", "given grade = C")
    rows = {box.name: box.rows for box in found.boxes}["intelligence"]
    assert rows[1].shares == pytest.approx((0.3, 0.0789), abs=1e-4)


def test_real_variables_show_moments():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=4.0),
        ss.LinearGaussian(y, 0.0, coefficients=[2.0], given=x, covariance=1.0),
    )
    rows = {box.name: [row.label for row in box.rows] for box in ss.draw(net, given={"x": 1.5}).sketch.boxes}
    assert rows == {"x": ["1.5"], "y": ["3 ± 1"]}


def test_strengths_are_mutual_information():
    engine = ss.prepare(STUDENT)
    found = strengthened(ss.draw(STUDENT).sketch, engine, None)
    values = {(found.boxes[link.source].name, found.boxes[link.target].name): link.width for link in found.links}
    information = {edge: engine.mutual_information(*edge) for edge in values}
    most = max(information.values())
    for edge, width in values.items():
        assert width == pytest.approx(NARROWEST + (WIDEST - NARROWEST) * information[edge] / most)


def test_strengths_without_any_information():
    coin = ss.Discrete("coin", ("head", "tail"))
    other = ss.Discrete("other", ("head", "tail"))
    net = ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5]), ss.TableCPD(other, [[0.5, 0.5], [0.5, 0.5]], given=coin))
    (link,) = strengthened(ss.draw(net).sketch, ss.prepare(net), None).links
    assert link.width == NARROWEST


def test_two_variables_that_depend_on_many_are_asked_about_first(monkeypatch):
    names = [*(f"u{i}" for i in range(8)), *(f"a{i}" for i in range(8)), "w0", "w1"]
    edges = [(f"a{i}", f"a{i + 1}") for i in range(7)] + [("w0", "w1")]
    asked = []
    monkeypatch.setattr(ss.inference.Engine, "mutual_information", lambda engine, *pair, given: asked.append(pair))
    require_strengths(ss.prepare(ss.BayesNet.random(ss.DAG(names, edges), seed=0)), None)
    require_strengths(ss.prepare(ss.BayesNet.random(ss.DAG(names), seed=0)), None)  # there are no edges
    first = ss.BayesNet.random(ss.DAG(["b", "c", *names], [("b", "c")]), seed=0)
    require_strengths(ss.prepare(first), None)
    assert [set(pair) for pair in asked] == [{"a6", "a7"}, {"b", "c"}]
