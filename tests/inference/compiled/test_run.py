"""Runs by any executor: the same question read the same way gives the same values."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.logspace import run_log
from sepset.inference.compiled.run import Run, TensorRun
from sepset.inference.compiled.store import FactorValues
from sepset.inference.compiled.supports import support_program
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.random_models import table_net
from support.tolerances import CLOSE


def by_supports(question, values, evidence):
    return support_program(question, values.store).run(values, evidence)


EXECUTORS = {"dense": run_dense, "logarithms": run_log, "supports": by_supports}


def case_of(seed):
    rng = np.random.default_rng(seed)
    case = table_net(rng)
    seen = rng.permutation(len(case.variables))[:1].tolist()
    evidence = Evidence({v: int(rng.integers(case.variables[v].num_states)) for v in seen})
    given = {case.variables[v].name: code for v, code in evidence.codes.items()}
    tables = ss.CliqueTree(zeros="dense").prepare(case.model.problem())
    return case, tables, evidence, given


@in_blocks("seed", range(12))
@pytest.mark.parametrize("execute", EXECUTORS.values(), ids=EXECUTORS)
def test_every_executor_reads_what_enumeration_has(seed, execute):
    case, tables, evidence, given = case_of(seed)
    values = FactorValues(tables.problem, tables.store)
    pattern = tables.compiler.planner.pattern(evidence)
    hidden = tables.compiler.planner.hidden(pattern)
    log_z = oracle.log_z(case.factors, case.cards, given)
    with execute(tables.compiler.question("marginals", hidden, pattern), values, evidence) as run:
        assert isinstance(run, Run)
        assert run.log_partition == pytest.approx(log_z, abs=CLOSE)
        if log_z > -np.inf:
            for v, place in run.question.places.items():
                expected = oracle.conditional(case.factors, case.cards, [case.variables[v].name], given)
                np.testing.assert_allclose(run.singles()[place], expected, atol=CLOSE)
    if not hidden or log_z == -np.inf:
        return
    with execute(tables.compiler.question("joint", hidden[:2], pattern), values, evidence) as run:
        names = [case.variables[v].name for v in run.question.joint_positions]
        expected = oracle.conditional(case.factors, case.cards, names, given)
        np.testing.assert_allclose(run.joint(), expected.reshape(-1), atol=CLOSE)


@in_blocks("seed", range(6))
def test_tensors_in_logarithms_are_those_of_linear_numbers(seed):
    _, tables, evidence, _ = case_of(seed)
    values = FactorValues(tables.problem, tables.store)
    question = tables.compiler.question("factors", (), tables.compiler.planner.pattern(evidence))
    with run_dense(question, values, evidence) as linear, run_log(question, values, evidence) as logs:
        assert isinstance(linear, TensorRun)
        assert isinstance(logs, TensorRun)
        assert logs.log_partition == pytest.approx(linear.log_partition, abs=CLOSE)
        for number in range(question.program.num_tensors):
            (a, scale), (b, shift) = linear.scaled(number), logs.scaled(number)
            np.testing.assert_allclose(a * np.exp(scale), b * np.exp(shift), rtol=1e-9, atol=1e-300)
