"""Factor marginals: enumeration, and the gradient of the log partition function."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.compiled.factormarginals import from_calibration
from sepset.inference.exact.cliquetree import CliqueTree
from sepset.variables.evidence import resolve
from support.random_models import markov_net, random_evidence, table_net
from support.tolerances import CLOSE


@pytest.mark.parametrize("seed", range(30))
def test_equal_enumerated_marginals(seed):
    rng = np.random.default_rng(seed)
    case = table_net(rng) if seed % 2 else markov_net(rng)
    problem = case.model.problem()
    prepared = CliqueTree().prepare(problem)
    given, plain = random_evidence(rng, case)
    evidence = resolve(given, case.model.variables)
    if oracle.log_z(case.factors, case.cards, plain) == -math.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            prepared.factor_marginals(evidence)
        return
    found = prepared.factor_marginals(evidence)
    tree = from_calibration(prepared.calibrate(evidence), problem, prepared._store, evidence)
    for number, (one, two) in enumerate(zip(found, prepared._store.split(problem, tree), strict=True)):
        names = [problem.variables[v].name for v in problem.scope(number)]
        expected = oracle.conditional(case.factors, case.cards, names, plain)
        np.testing.assert_allclose(one, expected, atol=CLOSE)
        np.testing.assert_allclose(two, expected, atol=CLOSE)


def test_gradient_of_the_log_partition_function():
    rng = np.random.default_rng(1)
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 3)
    table = rng.uniform(0.5, 1.0, (2, 3))
    prepared = CliqueTree().prepare(ss.MarkovNet(ss.Table([a, b], table)).problem())
    evidence = resolve({"a": 1}, prepared.problem.variables)
    gradient = prepared.factor_marginals(evidence)[0]
    for cell in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[cell] = 1e-6
        up = prepared.with_values([table * np.exp(step)]).log_partition(evidence)
        down = prepared.with_values([table * np.exp(-step)]).log_partition(evidence)
        assert (up - down) / 2e-6 == pytest.approx(gradient[cell], abs=1e-8)
