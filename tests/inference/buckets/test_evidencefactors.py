"""Evidence enters a problem: reduced factors, and likelihoods as factors of their own."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.inference.buckets.evidencefactors import likelihoods, observed_states, reduced_factors
from sepset.variables.evidence import resolve

A, B, X = ss.Discrete("a", ("u", "v")), ss.Discrete("b", 3), ss.Real("x")


def model():
    return ss.BayesNet(
        ss.TableCPD(A, [0.4, 0.6]),
        ss.TableCPD(B, [[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], given=A),
        ss.LinearGaussian(X, [0.0, 1.0], covariance=1.0, by=A),
    )


def test_hard_findings_become_states_and_values():
    net = model()
    states = observed_states(net.problem(), resolve({"b": 2, "x": 1.5}, net.variables))
    assert states[B] == 2
    assert states[X].tolist() == [1.5]


def test_factors_are_taken_at_the_evidence_and_likelihoods_follow():
    net = model()
    evidence = resolve({"b": 2, "a": ss.Likelihood([1, 3])}, net.variables)
    factors = reduced_factors(net.problem(), evidence)
    assert [tuple(v.name for v in f.scope) for f in factors] == [("a",), ("a",), ("a", "x"), ("a",)]
    np.testing.assert_allclose(factors[1].values, [0.7, 0.0])
    np.testing.assert_allclose(factors[3].values, [1, 3])
    assert len(reduced_factors(net.problem(), evidence, [0])) == 2
    assert [f.scope for f in likelihoods(net.problem(), evidence)] == [(A,)]


def test_without_evidence_factors_are_not_copied():
    net = model()
    mine = reduced_factors(net.problem(), resolve(None, net.variables))
    assert all(f is g for f, g in zip(mine, net.problem().factors(), strict=True))


def test_a_factor_is_shown_only_its_own_findings():
    """So that evidence on thousands of variables costs each factor no more than its scope."""
    shown = []

    class Spy(ss.Table):
        __slots__ = ()

        def condition(self, assignment):
            shown.append({v.name for v in assignment})
            return super().condition(assignment)

    variables = [ss.Discrete(f"x{i}", 2) for i in range(5)]
    factors = [Spy((u, v), np.ones((2, 2))) for u, v in itertools.pairwise(variables)]
    net = ss.MarkovNet(*factors)
    reduced_factors(net.problem(), resolve({"x0": 0, "x4": 1}, net.variables))
    assert shown == [{"x0"}, {"x4"}]
