"""Answers in plain values."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sepset as ss
from sepset.inference.documents import distribution_document, plain_state

STUDENT = ss.datasets.load("student")


@pytest.mark.parametrize("given", [None, {"grade": "C"}, {"grade": {"A", "B"}, "sat": ss.Likelihood([0.2, 0.8])}])
def test_a_query_says_the_question_and_every_number(given):
    answer = ss.query(STUDENT, ["intelligence", "letter"], given=given)
    found = json.loads(answer.to_json())
    assert found["targets"] == ["intelligence", "letter"]
    assert found["given"].keys() == (given or {}).keys()
    rows = {(row["intelligence"], row["letter"]): row["probability"] for row in found["probabilities"]}
    assert rows == dict(answer)
    assert found["log_partition"] == answer.log_partition
    assert found["guarantees"]["marginals"] == "exact"


def test_marginals_of_every_variable():
    answers = ss.marginals(STUDENT, given={"grade": "C"})
    found = answers.to_dict()["marginals"]
    for name, answer in answers.items():
        assert [row["probability"] for row in found[name]] == answer.values.tolist()
        assert tuple(row[name] for row in found[name]) == answer.scope[0].states


def test_real_answers_have_moments():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, intercept=1.0, covariance=2.0),
        ss.LinearGaussian(y, coefficients=1.0, intercept=0.0, covariance=1.0, given=x),
    )
    found = ss.query(net, "x", given={"y": 3.0}).to_dict()
    assert (found["given"], found["mean"], found["variance"]) == (
        {"y": 3.0},
        pytest.approx(7 / 3),
        pytest.approx(2 / 3),
    )


def test_only_stored_entries_are_written():
    coin = ss.Discrete("coin", (np.int64(0), 1))
    assert json.dumps(distribution_document(ss.Table(coin, [0.5, 0.5]))["probabilities"])


def test_assignments_with_their_values():
    best = ss.map_assignment(STUDENT, k=3, given={"grade": "C"})
    found = json.loads(best.to_json())
    assert [dict(one["assignment"]) for one in found["assignments"]] == [dict(a) for a in best.assignments]
    assert [one["log_value"] for one in found["assignments"]] == list(best.log_values)
    assert found["bound"] == best.bound
    x = ss.Real("x")
    real = ss.map_assignment(ss.BayesNet(ss.LinearGaussian(x, intercept=1.0, covariance=2.0)))
    assert json.loads(real.to_json())["assignments"][0]["assignment"] == {"x": plain_state(real.assignment["x"])}


def test_states_beside_reals_have_moments_each():
    d, e, x = ss.Discrete("d", ("u", "v")), ss.Discrete("e", ("u", "v")), ss.Real("x")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.25, 0.75]),
        ss.TableCPD(e, [[1.0, 0.0], [0.0, 1.0]], given=d),
        ss.LinearGaussian(x, [0.0, 5.0], covariance=[1.0, 2.0], by=d),
    )
    rows = json.loads(ss.query(net, ["d", "x"]).to_json())["probabilities"]
    assert [row["d"] for row in rows] == ["u", "v"]
    assert [row["probability"] for row in rows] == pytest.approx([0.25, 0.75])
    assert [(row["mean"], row["variance"]) for row in rows] == [pytest.approx((0, 1)), pytest.approx((5, 2))]
    rows = json.loads(ss.query(net, ["d", "e", "x"]).to_json())["probabilities"]
    assert [row.get("mean") for row in rows] == [0.0, None, None, pytest.approx(5.0)]
