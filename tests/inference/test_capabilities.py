"""What any method can do by plain questions: rows one after the other, counts, new numbers; as by a capability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.capabilities import (
    answer_rows,
    expected_counts,
    factor_marginals,
    row_by_row,
    summed_marginals,
    with_values,
)
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.exact.bruteforce import BruteForce
from sepset.inference.method import AnswersRows, Calibrates, CountsRows, TakesValues
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.random_findings import dataset, evidence_of, log_of, random_codes
from support.random_models import markov_net, random_evidence, table_net
from support.tolerances import CLOSE


@dataclass(frozen=True)
class OnlyQuestions:
    """A method of one's own, that answers three questions and can do nothing else."""

    def prepare(self, problem):
        return PreparedQuestions(problem, self)

    def promises(self, problem):
        return BruteForce().promises(problem)


class PreparedQuestions:
    def __init__(self, problem, method):
        self.problem, self.method = problem, method
        self._inner = BruteForce().prepare(problem)

    def query(self, targets, evidence):
        return self._inner.query(targets, evidence)

    def marginals(self, evidence):
        return lambda target: self.query([target], evidence).distribution, self.log_partition(evidence)

    def log_partition(self, evidence):
        return self._inner.log_partition(evidence)


def random_net(seed):
    rng = np.random.default_rng(seed)
    return rng, table_net(rng) if seed % 2 else markov_net(rng)


def test_clique_trees_of_discrete_problems_have_every_capability():
    net = ss.datasets.load("student")
    able, plain = CliqueTree().prepare(net.problem()), OnlyQuestions().prepare(net.problem())
    for capability in (TakesValues, AnswersRows, CountsRows, Calibrates):
        assert isinstance(able, capability)
        assert not isinstance(plain, capability)


@in_blocks("seed", range(12))
def test_factor_marginals_by_queries_are_those_of_enumeration(seed):
    rng, case = random_net(seed)
    problem = case.model.problem()
    prepared = OnlyQuestions().prepare(problem)
    given, plain = random_evidence(rng, case)
    evidence = resolve(given, case.model.variables)
    if oracle.log_z(case.factors, case.cards, plain) == -math.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            factor_marginals(prepared, evidence)
        return
    for number, found in enumerate(factor_marginals(prepared, evidence)):
        names = [problem.variables[v].name for v in problem.scope(number)]
        np.testing.assert_allclose(found, oracle.conditional(case.factors, case.cards, names, plain), atol=CLOSE)


@in_blocks("seed", range(6))
def test_counts_by_queries_are_sums_of_enumerated_marginals(seed):
    rng, case = random_net(seed)
    problem = case.model.problem()
    codes = random_codes(rng, case.variables, 6)
    weights = rng.integers(0, 4, len(codes)).astype(float)
    evidence = [evidence_of(case.variables, codes, row) for row in range(len(codes))]
    rows = EvidenceRows.of(dataset(case.variables, codes), problem.variables)
    found = summed_marginals(OnlyQuestions().prepare(problem), rows, weights, Workers())
    np.testing.assert_allclose(found.log_partition, [log_of(case, one) for one in evidence], atol=CLOSE)
    for number, counts in enumerate(found.factors):
        names = [problem.variables[v].name for v in problem.scope(number)]
        total = np.zeros([case.cards[name] for name in names])
        for row in np.flatnonzero(found.log_partition > -np.inf):
            total = total + weights[row] * oracle.conditional(case.factors, case.cards, names, evidence[row])
        np.testing.assert_allclose(counts, total, atol=CLOSE)


def test_expected_counts_of_any_method_refuse_impossible_rows():
    a = ss.Discrete("a", 2)
    prepared = OnlyQuestions().prepare(ss.BayesNet(ss.TableCPD(a, [1.0, 0.0])).problem())
    rows = dataset([a], np.array([[0], [1]]))
    assert expected_counts(prepared, rows, weights=np.array([2.0, 0.0])).factors[0].tolist() == [2.0, 0.0]
    with pytest.raises(ss.ImpossibleEvidence, match=r"^1 of 2 rows"):
        expected_counts(prepared, rows)


def test_new_numbers_by_preparing_again():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    first = [[0.9, 0.1], [0.4, 0.6]]
    net = ss.BayesNet(ss.TableCPD(a, [0.3, 0.7]), ss.TableCPD(b, first, given=a))
    prepared, table = OnlyQuestions().prepare(net.problem()), np.array([0.5, 0.5])
    changed = with_values(prepared, {0: table})
    table[:] = 0.0  # the new problem has its own numbers
    assert changed.query([1], Evidence()).distribution.values.round(12).tolist() == [0.65, 0.35]
    assert prepared.query([1], Evidence()).distribution.values.round(12).tolist() == [0.55, 0.45]
    with pytest.raises(ss.errors.ModelError, match="must sum to one"):
        with_values(prepared, {0: [0.5, 0.6]})


def test_factors_of_continuous_variables_are_refused():
    x, a = ss.Real("x"), ss.Discrete("a", 2)
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=a))
    prepared = ss.VariableElimination().prepare(net.problem())
    with pytest.raises(ss.errors.NotApplicable, match="discrete scopes"):
        factor_marginals(prepared, Evidence())
    with pytest.raises(ss.errors.NotApplicable, match="Factor 1 is over continuous variables"):
        with_values(prepared, {1: [1.0]})


@pytest.mark.parametrize("targets", [[], [1], [0, 3]])
def test_methods_without_batches_agree_with_those_that_have_them(targets):
    net = ss.datasets.load("student")
    codes = random_codes(np.random.default_rng(0), net.variables, 25)
    rows = EvidenceRows.of(dataset(net.variables, codes), net.variables, without=targets)
    plain, fast = BruteForce().prepare(net.problem()), CliqueTree().prepare(net.problem())
    assert not isinstance(plain, AnswersRows)
    assert isinstance(fast, AnswersRows)
    done = []
    slow = answer_rows(plain, rows, targets, Workers(report=lambda i, n: done.append((i, n))))
    quick = answer_rows(fast, rows, targets, Workers(1))
    np.testing.assert_allclose(slow.log_partition, quick.log_partition, atol=CLOSE)
    for v in targets:
        np.testing.assert_allclose(slow.probabilities[v], quick.probabilities[v], atol=CLOSE)
    distinct = len(rows.distinct()[0])
    assert done == [(i + 1, distinct) for i in range(distinct)]


def test_impossible_rows_are_nan():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]), ss.TableCPD(b, [[0.5, 0.5], [0.1, 0.9]], given=a))
    rows = EvidenceRows.of(dataset([a, b], np.array([[1, -1], [0, -1]])), net.variables)
    found = row_by_row(BruteForce().prepare(net.problem()), rows, [1])
    assert found.log_partition.tolist() == [-np.inf, 0.0]
    assert np.isnan(found.probabilities[1][0]).all()
    np.testing.assert_allclose(found.probabilities[1][1], [0.5, 0.5])
