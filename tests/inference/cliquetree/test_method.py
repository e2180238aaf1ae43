"""Clique trees as a method: what they promise, what they refuse, and what answers for which problem."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.inference.cliquetree.tables import PreparedTables
from sepset.inference.exact.tree import PreparedTree
from sepset.inference.result import Guarantee


def test_discrete_problems_are_compiled_and_others_are_not():
    assert isinstance(ss.CliqueTree().prepare(ss.datasets.load("student").problem()), PreparedTables)
    sensor = ss.BayesNet(ss.LinearGaussian(ss.Real("x"), 0.0, covariance=1.0))
    assert isinstance(ss.CliqueTree().prepare(sensor.problem()), PreparedTree)


def test_a_tree_too_large_is_refused_with_the_figure():
    spins = ss.Discrete.array("s", (40, 40), states=(-1, 1))
    with pytest.raises(ss.TooLarge, match=r"entries \((width \d+\), about .*B in total|8.0 TiB at 8 bytes each)"):
        ss.marginals(ss.MarkovNet.ising(spins, 0.3), method=ss.CliqueTree(order=ss.graphs.MinFill()))


def test_the_guarantee_says_where_a_shape_was_lost():
    d, x = ss.Discrete("d"), ss.Real("x")
    discrete = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]))
    gaussian = ss.BayesNet(ss.LinearGaussian(x, covariance=1.0))
    hybrid = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 5.0], covariance=1.0, by=d))
    for model in (discrete, gaussian):
        assert set(ss.CliqueTree().promises(model.problem()).values()) == {Guarantee.EXACT}
    answers = ss.marginals(hybrid)
    assert answers.guarantees["marginals"] is Guarantee.HEURISTIC
    assert answers.guarantees["moments"] is Guarantee.EXACT
    assert isinstance(answers["x"], ss.Gaussian)
    answer = ss.query(hybrid, "x", method=ss.CliqueTree())
    assert answer.guarantees["marginals"] is Guarantee.EXACT
    assert isinstance(answer.distribution, ss.GaussianMixture)


def test_unknown_uses_of_zeros_are_refused():
    with pytest.raises(
        ss.errors.ArgumentError, match=r"zeros= is 'auto', 'dense' or 'sparse'; found 'spare'\. Did you mean 'sparse'\?"
    ):
        ss.CliqueTree(zeros="spare")
