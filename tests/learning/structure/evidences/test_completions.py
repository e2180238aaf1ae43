"""The sum over completions against each completion by itself, and against an integral."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import logsumexp

import sepset as ss
from sepset.errors import DataError, TooLarge


@pytest.mark.parametrize("prior", [ss.K2(), ss.BDeu(3)], ids=repr)
def test_every_completion_by_itself(prior: object) -> None:
    """Each completed data set scored as complete rows."""
    a, b = [0, 0, 1, None, 1, None], ["u", None, "w", "v", None, None]
    graph, states = ss.DAG.parse("a -> b"), ("u", "v", "w")
    variables = [ss.Discrete("a"), ss.Discrete("b", states)]
    total = []
    for fill in itertools.product((0, 1), (0, 1), states, states, states):
        left, right = iter(fill[:2]), iter(fill[2:])
        rows = {
            "a": [next(left) if x is None else x for x in a],
            "b": [next(right) if x is None else x for x in b],
        }
        total.append(ss.structure.score(graph, rows, score=prior, variables=variables).total)
    found = ss.structure.log_evidence(
        graph, {"a": a, "b": b}, method=ss.structure.CompletionSum(prior), variables=variables
    )
    assert found.value == pytest.approx(float(logsumexp(total)), abs=1e-9)
    assert found.info["completions"] == str(len(total))


def test_the_integral_over_two_coins() -> None:
    """A hidden mixture of two known coins: an integral over its three parameters, one of them in closed form."""
    rows = {"h": [None, None, 1, 0], "x": [1, 0, 1, 1]}
    found = ss.structure.log_evidence(
        ss.DAG.parse("h -> x"),
        rows,
        method=ss.structure.CompletionSum(ss.K2()),
        variables=[ss.Discrete("h"), ss.Discrete("x")],
    )

    def given_children(p: float, q: float) -> float:
        """The integral over P(h = 1) = t of a polynomial in t, by Gauss-Legendre nodes, which are exact for it."""
        nodes, weights = np.polynomial.legendre.leggauss(8)
        t = 0.5 * (nodes + 1.0)
        one = t * q + (1.0 - t) * p
        return float(0.5 * weights @ (one * (1.0 - one) * t * q * (1.0 - t) * p))

    value, _ = dblquad(given_children, 0.0, 1.0, 0.0, 1.0, epsabs=1e-12)
    assert found.value == pytest.approx(np.log(value), abs=1e-8)


def test_a_tree_cpd_and_shared_parameters() -> None:
    """Coins that share their parameters are one longer sequence."""
    coins = [ss.TableCPD(ss.Discrete(n), [0.5, 0.5], block="coin") for n in "ab"]
    rows = {"a": [0, 1, 1], "b": [1, 1, 0]}
    found = ss.structure.log_evidence(
        ss.BayesNet(*coins), rows, method=ss.structure.CompletionSum(ss.priors.Dirichlet(1))
    )
    assert found.value == pytest.approx(ss.learning.log_polya([1, 1], [2, 4]), abs=1e-12)


def test_refusals() -> None:
    rows = {"a": [0, 1, None] * 30, "b": [None, 1, 0] * 30}
    with pytest.raises(TooLarge, match="CheesemanStutz"):
        ss.structure.log_evidence(ss.DAG.parse("a -> b"), rows, method=ss.structure.CompletionSum(most=50))
    with pytest.raises(DataError, match="whole"):
        ss.structure.log_evidence(
            ss.DAG.parse("a"), {"a": [0, 1]}, method=ss.structure.CompletionSum(), weights=[0.5, 1.0]
        )
