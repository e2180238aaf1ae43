"""The default choice of method."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.inference.result import Guarantee

A, X = ss.Discrete("a"), ss.Real("x")


@pytest.mark.parametrize("task", ["query", "marginals", "log_partition", "map", "sample", "plan"])
def test_clique_trees_answer_every_question(task):
    order = ss.MinFill()
    assert ss.Auto(order=order, memory=123).select(task) == ss.CliqueTree(order=order, memory=123)


def test_it_promises_what_its_methods_do():
    discrete = ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]))
    hybrid = ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]), ss.LinearGaussian(X, [0.0, 1.0], covariance=1.0, by=A))
    assert set(ss.Auto().promises(discrete.problem()).values()) == {Guarantee.EXACT}
    assert ss.Auto().promises(hybrid.problem())["marginals"] is Guarantee.HEURISTIC
    assert ss.prepare(hybrid).query("x").guarantees["marginals"] is Guarantee.EXACT


def test_it_is_what_prepare_uses():
    engine = ss.prepare(ss.BayesNet(ss.TableCPD(A, [0.5, 0.5])))
    assert engine.method == ss.Auto()
    assert repr(engine) == "Engine(BayesNet(1 variables, 0 edges, 1 parameters), Auto)"


def test_the_memory_limit_reaches_the_plan():
    spins = ss.Discrete.array("s", (12, 12), states=(-1, 1))
    engine = ss.prepare(ss.MarkovNet.ising(spins, 0.3), method=ss.Auto(memory=1000))
    for ask in (engine.marginals, engine.log_partition, engine.map_assignment, lambda: engine.query("s[0,0]")):
        with pytest.raises(ss.TooLarge):
            ask()
