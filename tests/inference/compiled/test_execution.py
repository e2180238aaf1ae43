"""The choice of an executor: linear where values allow, logarithms else, supports where they are there."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.compiled.dense import DenseRun
from sepset.inference.compiled.execution import is_linear, run, run_tensors
from sepset.inference.compiled.logspace import LogRun
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.compiled.supports import SupportRun
from sepset.variables.evidence import Evidence
from support.tolerances import CLOSE


def engine_of(model, **settings):
    return ss.CliqueTree(**settings).prepare(model.problem()).tables


def asked(tables, evidence, kind="joint", targets=(0,)):
    compiler = tables.compiler
    return compiler.question(kind, targets, compiler.planner.pattern(evidence))


def test_numbers_and_likelihoods_that_leave_room_are_linear():
    narrow, wide = (ss.MarkovNet(ss.Table(ss.Discrete("a"), [1.0, low])) for low in (1e-100, 1e-200))
    assert is_linear(FactorStore.of(narrow.problem()), Evidence())
    assert not is_linear(FactorStore.of(wide.problem()), Evidence())
    store = FactorStore.of(narrow.problem())
    assert is_linear(store, Evidence({}, {0: np.array([1.0, 0.0])}))
    assert is_linear(store, Evidence({}, {0: np.array([0.0, 0.0])}))
    assert not is_linear(store, Evidence({}, {0: np.array([1.0, 1e-200])}))


@pytest.mark.parametrize(("given", "kind"), [([0.2, 1.0], DenseRun), ([1e-200, 1.0], LogRun)])
def test_the_evidence_decides_between_linear_numbers_and_logarithms(given, kind):
    net = ss.datasets.load("asia")
    tables, weights = engine_of(net), np.array(given)
    values, evidence = FactorValues(tables.problem, tables.store), Evidence({}, {1: weights})
    question = asked(tables, evidence, targets=(1,))
    for found in (run(question, values, evidence, None), run_tensors(question, values, evidence)):
        with found:
            assert isinstance(found, kind)
            mass = ss.query(net, "tub", method=ss.inference.BruteForce()).values * weights
            np.testing.assert_allclose(found.joint(), mass / mass.sum(), rtol=CLOSE)
            assert found.log_partition == pytest.approx(np.log(mass.sum()), abs=CLOSE)


def test_a_range_that_shows_only_in_the_run_turns_to_logarithms():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    tables = engine_of(ss.MarkovNet(*(ss.Table((a, b), [[1.0, 2.0**-100], [1.0, 2.0**-95]]) for _ in range(6))))
    values = FactorValues(tables.problem, tables.store)
    assert is_linear(tables.store, Evidence())
    with run_tensors(asked(tables, Evidence(), targets=(0, 1)), values, Evidence()) as found:
        assert isinstance(found, LogRun)
        assert found.log_partition == pytest.approx(np.log(2.0 + 2.0**-600 + 2.0**-570), abs=CLOSE)


def test_supports_run_joints_and_singles_and_nothing_else():
    net = ss.datasets.load("asia")
    tables = engine_of(net, zeros="sparse")
    values, supports = FactorValues(tables.problem, tables.store), tables.compiler.supports
    for kind, targets in (("joint", (3,)), ("marginals", tuple(range(8)))):
        question = asked(tables, Evidence(), kind, targets)
        with run(question, values, Evidence(), supports) as found:
            assert isinstance(found, SupportRun)
        with run_tensors(question, values, Evidence()) as found:
            assert isinstance(found, DenseRun)
