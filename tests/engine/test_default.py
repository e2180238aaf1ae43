"""The method that answers where none is named."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.engine.default import DEFAULT_METHOD
from sepset.inference.result import Guarantee

A, X = ss.Discrete("a"), ss.Real("x")
COIN = ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]))


def test_clique_trees_answer_every_question():
    answers = [ss.query(COIN, "a"), ss.log_probability(COIN), ss.log_partition(COIN), ss.map_assignment(COIN)]
    assert {answer.method for answer in answers} == {ss.CliqueTree()}
    assert (
        ss.marginals(COIN).about.method == ss.predict(COIN, {"b": [0], "a": [0]}, targets="a").method == DEFAULT_METHOD
    )


def test_it_promises_what_its_answers_are():
    hybrid = ss.BayesNet(*COIN.cpds, ss.LinearGaussian(X, [0.0, 1.0], covariance=1.0, by=A))
    assert set(ss.prepare(COIN).promises.values()) == {Guarantee.EXACT}
    assert ss.prepare(hybrid).promises["marginals"] is Guarantee.HEURISTIC
    assert ss.prepare(hybrid).query("x").guarantees["marginals"] is Guarantee.EXACT


def test_prepare_and_query_use_one_method():
    engine = ss.prepare(COIN)
    assert engine.method == ss.query(COIN, "a").method == ss.CliqueTree()
    assert repr(engine) == "Engine(BayesNet(1 variable, 0 edges, 1 parameter), CliqueTree)"


def test_the_memory_limit_reaches_the_plan():
    spins = ss.Discrete.array("s", (12, 12), states=(-1, 1))
    engine = ss.prepare(ss.MarkovNet.ising(spins, 0.3), method=ss.CliqueTree(memory=1000))
    for ask in (engine.marginals, engine.log_partition, engine.map_assignment, lambda: engine.query("s[0,0]")):
        with pytest.raises(ss.TooLarge):
            ask()
