"""Small problems with many zeros, and all kinds of questions about them held to enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from support.tolerances import CLOSE

CARDS = {"a": 3, "b": 2, "c": 4, "d": 1, "e": 3}
SCOPES = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "b"), ("a",)]
NAMES = list(CARDS)


def zero_case(seed, zeros=0.45):
    rng = np.random.default_rng(seed)
    shapes = [[CARDS[name] for name in scope] for scope in SCOPES]
    tables = [rng.random(shape) * (rng.random(shape) > zeros) for shape in shapes]
    return list(zip(SCOPES, tables, strict=True))


def model_of(factors):
    variables = {name: ss.Discrete(name, card) for name, card in CARDS.items()}
    tables = [ss.Table([variables[n] for n in scope], table) for scope, table in factors]
    return ss.MarkovNet(*tables, variables=variables.values())


def evidence_of(given):
    codes = {NAMES.index(n): f for n, f in given.items() if isinstance(f, int)}
    return ss.variables.Evidence(codes, {NAMES.index(n): f for n, f in given.items() if not isinstance(f, int)})


def check(engine, factors, given):
    """All kinds of questions against enumeration."""
    evidence = evidence_of(given)
    log_z = oracle.log_z(factors, CARDS, given)
    assert engine.log_partition(evidence) == pytest.approx(log_z, rel=CLOSE, abs=CLOSE)
    hidden = [v for v in range(len(NAMES)) if v not in evidence.codes]
    if log_z == -math.inf:
        assert engine.best(evidence, hidden).log_value == -math.inf
        return
    truth = oracle.marginals(factors, CARDS, given)
    read, found = engine.marginals(evidence)
    assert found == pytest.approx(log_z, rel=CLOSE, abs=CLOSE)
    for v, name in enumerate(NAMES):
        np.testing.assert_allclose(read(v).values, truth[name], rtol=CLOSE, atol=1e-300)
    pair = [hidden[-1], hidden[0]]
    expected = oracle.conditional(factors, CARDS, [NAMES[v] for v in pair], given)
    np.testing.assert_allclose(engine.query(pair, evidence).distribution.values, expected, rtol=CLOSE, atol=1e-300)
    cells, log_best = oracle.map_assignments(factors, CARDS, given)
    best = engine.best(evidence, hidden)
    assert best.log_value == pytest.approx(log_best, rel=CLOSE, abs=CLOSE)
    assert {**evidence.codes, **best.values} in [{NAMES.index(n): s for n, s in cell.items()} for cell in cells]
    for (scope, _), marginal in zip(factors, engine.factor_marginals(evidence), strict=True):
        np.testing.assert_allclose(marginal, oracle.conditional(factors, CARDS, scope, given), rtol=CLOSE, atol=1e-300)
    logs = oracle.log_joint(factors, CARDS, given)
    drawn = {**evidence.codes, **engine.sample(20, evidence, np.random.default_rng(0))}
    rows = np.stack([np.broadcast_to(drawn[v], 20) for v in range(len(NAMES))])
    assert (logs[tuple(rows)] > -math.inf).all()
