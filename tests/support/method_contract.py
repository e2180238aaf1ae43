"""What every direct method owes, by what it promises: its answers beside enumeration. List a method once to test it."""

from __future__ import annotations

import itertools
import math
from functools import cached_property

import numpy as np
import pytest

import oracle
from sepset.engine.engine import Engine
from sepset.errors import ImpossibleEvidence
from sepset.inference.conflict import minimal_conflict
from sepset.inference.result import Guarantee
from sepset.variables.evidence import resolve
from support.tolerances import CLOSE, EXACT, STANDARD_ERRORS, TIE


class Truth:
    """The answers by enumeration for one model and evidence, both as plain data."""

    def __init__(self, factors, cards, weights):
        self.factors, self.cards, self.weights = factors, cards, weights
        self.names = list(cards)

    @cached_property
    def logs(self):
        return oracle.log_joint(self.factors, self.cards, self.weights)

    @cached_property
    def log_z(self):
        return oracle.log_sum(self.logs)

    @cached_property
    def posterior(self):
        return np.exp(self.logs - self.log_z)

    def marginal(self, names):
        axes = [self.names.index(n) for n in names]
        rest = tuple(i for i in range(len(self.names)) if i not in axes)
        kept = sorted(axes)
        return self.posterior.sum(axis=rest).transpose([kept.index(a) for a in axes])

    def log_marginal(self, names):
        if len(names) == len(self.names):
            return self.logs.transpose([self.names.index(n) for n in names])
        return oracle.project(self.logs, self.cards, names, lambda values: oracle.log_sum(np.array(values)))

    def is_possible(self, names):
        """Whether the findings on these names alone have positive probability."""
        kept = {n: w for n, w in self.weights.items() if n in names}
        return oracle.log_z(self.factors, self.cards, kept) > -math.inf


def check_method(method, case, given, weights, rng):
    """Every kind of question about one model under one evidence."""
    engine = Engine(case.model, method)
    promised = method.promises(case.model.problem())
    truth = Truth(case.factors, case.cards, weights)
    if truth.log_z == -math.inf:
        check_impossible(engine, truth, given)
        return
    if promised["log_partition"] is Guarantee.EXACT:
        check_log_partition(engine, case, truth, given)
    if promised["marginals"] is Guarantee.EXACT:
        check_marginals(engine, truth, given)
        check_query(engine, truth, given, rng)
    if promised["assignment"] is Guarantee.EXACT:
        check_best(engine, truth, given, rng)


def check_impossible(engine, truth, given):
    """Every question is refused, and the findings to blame are minimal."""
    if engine.prepared.problem.is_normalized or truth.is_possible(()):
        assert float(engine.log_probability(given=given)) == -math.inf
    for ask in (
        lambda: engine.query(truth.names[:1], given=given),
        lambda: engine.marginals(given=given),
        lambda: engine.map_assignment(given=given),
        lambda: engine.sample(1, given=given),
    ):
        with pytest.raises(ImpossibleEvidence):
            ask()
    evidence = resolve(given, engine.model.variables)
    blamed = [engine.model.variables[v].name for v in minimal_conflict(engine.prepared, evidence)]
    assert not truth.is_possible(blamed)
    for name in blamed:
        assert truth.is_possible([n for n in blamed if n != name])


def check_log_partition(engine, case, truth, given):
    log_z = engine.log_partition(given=given)
    assert float(log_z) == pytest.approx(truth.log_z, abs=CLOSE)
    assert log_z.gap == 0.0
    prior = 0.0 if case.normalized else oracle.log_z(case.factors, case.cards)
    assert float(engine.log_probability(given=given)) == pytest.approx(truth.log_z - prior, abs=CLOSE)


def check_marginals(engine, truth, given):
    answers = engine.marginals(given=given)
    assert list(answers) == truth.names
    for name in truth.names:
        np.testing.assert_allclose(answers[name].values, truth.marginal([name]), rtol=0, atol=EXACT)


def check_query(engine, truth, given, rng):
    names = [truth.names[i] for i in rng.permutation(len(truth.names))[: int(rng.integers(0, 4))]]
    answer = engine.query([engine.model[n] if rng.random() < 0.5 else n for n in names], given=given)
    assert [v.name for v in answer.scope] == names
    assert answer.log_partition == pytest.approx(truth.log_z, abs=CLOSE)
    np.testing.assert_allclose(answer.values, truth.marginal(names), rtol=0, atol=EXACT)


def check_best(engine, truth, given, rng):
    observed = {engine.model.variables[v].name for v in resolve(given, engine.model.variables).observed}
    hidden = [n for n in truth.names if n not in observed]
    check_ranking(engine.map_assignment(given=given, k=4), engine, truth, hidden)
    some = [truth.names[i] for i in rng.permutation(len(truth.names))[: int(rng.integers(0, 4))]]
    check_ranking(engine.map_assignment(given=given, over=some, k=3), engine, truth, some)


def check_ranking(result, engine, truth, over):
    """The best values in order, reached by assignments that differ; ties may come in any order."""
    logs = truth.log_marginal(over)
    ranked = np.sort(logs[logs > -math.inf])[::-1]
    assert len(result.log_values) == len(result.assignments)
    np.testing.assert_allclose(result.log_values, ranked[: len(result.log_values)], rtol=0, atol=TIE)
    limit = 4 if len(result.log_values) == 4 else 3
    assert len(result.log_values) in (min(len(ranked), limit), min(len(ranked), 4))
    cells = [tuple(engine.model[n].code(one[n]) for n in over) for one in result.assignments]
    assert len(set(cells)) == len(cells)
    for one, cell, value in zip(result.assignments, cells, result.log_values, strict=True):
        assert list(one) == [n for n in one if n in over]
        assert set(one) == set(over)
        assert logs[cell] == pytest.approx(value, abs=TIE)
    assert result.probability == pytest.approx(math.exp(result.log_value - truth.log_z), rel=1e-9)


def check_sampling(method, case, given, weights, num_rows=4000, seed=0):
    """Frequencies of single states and pairs within five standard errors; impossible states never appear."""
    truth = Truth(case.factors, case.cards, weights)
    if truth.log_z == -math.inf:
        return
    drawn = Engine(case.model, method).sample(num_rows, given=given, seed=seed)
    assert len(drawn) == num_rows
    names = truth.names
    rows = np.array([[case.model[n].code(row[n]) for n in names] for row in drawn.rows()], dtype=np.int64).reshape(
        num_rows, len(names)
    )
    groups = [[n] for n in names] + [list(pair) for pair in itertools.combinations(names, 2)][:4]
    for group in groups:
        p = np.clip(truth.marginal(group), 0.0, 1.0)
        codes = rows[:, [names.index(n) for n in group]]
        counts = np.zeros(p.shape)
        np.add.at(counts, tuple(codes.T), 1.0)
        error = STANDARD_ERRORS * np.sqrt(p * (1 - p) / num_rows)
        assert (np.abs(counts / num_rows - p) <= error + EXACT).all()
