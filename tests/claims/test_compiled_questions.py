"""Compiled questions in whole, beside enumeration: every factor's marginal, maxima, refusals, and many threads."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.errors import TooLarge
from sepset.inference.compiled import question as compiled
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.question import compile_question
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.plan import make_plan
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.random_models import markov_net, table_net
from support.tolerances import CLOSE

SEEDS = range(30)


def compile_for(values, plan, **settings):
    return compile_question(values.store.layout, plan, cards=values.problem.variables.cards, **settings)


def values_of(problem):
    return FactorValues(problem, FactorStore.of(problem))


def log_partition_of(question, values, evidence):
    with run_dense(question, values, evidence) as run:
        return run.log_partition


def singles_of(question, values, evidence):
    with run_dense(question, values, evidence) as run:
        return run.singles()


def compiled_question(case, observed=(), touched=(), **settings):
    """A question about everything unobserved, and the values it runs with."""
    problem = case.model.problem()
    relevant = problem.relevant((), observed, touched=touched, constants=True, prune=False)
    plan = make_plan(problem, relevant, method=ss.graphs.MinFill(), observed=observed)
    values = values_of(problem)
    return compile_for(values, plan, observed=observed, touched=touched, **settings), values


def random_question(rng, case, **settings):
    """Findings on some variables, weights on others, and the same as the oracle takes them."""
    cards = [v.num_states for v in case.variables]
    chosen = rng.permutation(len(cards)).tolist()
    observed, touched = sorted(chosen[: len(cards) // 3]), sorted(chosen[len(cards) // 3 :][: len(cards) // 3])
    evidence = Evidence(
        {v: int(rng.integers(cards[v])) for v in observed}, {v: rng.uniform(0.1, 1.0, cards[v]) for v in touched}
    )
    given = {case.variables[v].name: finding for v, finding in {**evidence.codes, **evidence.weights}.items()}
    question, values = compiled_question(case, observed, touched, **settings)
    return question, values, evidence, given


@in_blocks("seed", SEEDS)
@pytest.mark.parametrize("draw", [markov_net, table_net])
def test_the_marginal_over_every_factor(seed, draw):
    rng = np.random.default_rng(seed)
    case = draw(rng)
    question, values, evidence, given = random_question(rng, case, factors=True)
    log_z = oracle.log_z(case.factors, case.cards, given)
    found = log_partition_of(question, values, evidence)
    assert found == log_z or math.isclose(found, log_z, rel_tol=CLOSE, abs_tol=CLOSE)
    if log_z == -math.inf:
        return
    problem = case.model.problem()
    position = {v: r for r, v in enumerate(question.ids)}
    for i, number in enumerate(question.numbers.tolist()):
        scope = sorted((v for v in problem.scope(number) if v in position), key=position.__getitem__)
        expected = oracle.conditional(case.factors, case.cards, [problem.variables[v].name for v in scope], given)
        with run_dense(question, values, evidence) as run:
            marginal = run.factor_marginal(i)
        np.testing.assert_allclose(marginal, expected.ravel(), rtol=CLOSE, atol=CLOSE)


@in_blocks("seed", SEEDS)
def test_maximizing_finds_the_largest_value(seed):
    rng = np.random.default_rng(seed)
    case = markov_net(rng)
    question, values, evidence, given = random_question(rng, case, maximize=True)
    best = float(oracle.log_joint(case.factors, case.cards, given).max())
    found = log_partition_of(question, values, evidence)
    assert found == best or math.isclose(found, best, rel_tol=CLOSE, abs_tol=CLOSE)


def chain(num=6):
    rng = np.random.default_rng(1)
    variables = [ss.Discrete(f"x{i}", 3) for i in range(num)]
    pairs = list(itertools.pairwise(variables))
    tables = [rng.uniform(0.1, 1.0, (3, 3)) for _ in pairs]
    return ss.MarkovNet(*(ss.Table(pair, table) for pair, table in zip(pairs, tables, strict=True))), tables


def test_too_large_is_refused_before_anything_is_allocated(monkeypatch):
    def fail(*_):
        raise AssertionError("nothing may be laid out or allocated")

    problem = chain()[0].problem()
    plan = make_plan(problem, problem.relevant((), (), constants=True), method=ss.graphs.MinFill())
    values = values_of(problem)
    question = compile_for(values, plan, observed=())
    tables = 8 * question.contraction.entries
    assert tables <= question.program.nbytes <= question.need
    compile_for(values, plan, observed=(), memory=question.need)
    with pytest.raises(TooLarge, match="the limit is"):
        compile_for(values, plan, observed=(), memory=question.need - 1)
    monkeypatch.setattr(compiled, "assemble", fail)
    with pytest.raises(TooLarge, match="the limit is"):
        compile_for(values, plan, observed=(), memory=tables - 1)


def test_threads_share_a_question():
    model, tables = chain()
    problem = model.problem()
    relevant = problem.relevant((), (0, 5), constants=True)
    plan = make_plan(problem, relevant, method=ss.graphs.MinFill(), observed=(0, 5))
    values = values_of(problem)
    question = compile_for(values, plan, observed=(0, 5), marginals=(3,))
    place = question.places[3]

    def ask(codes):
        return singles_of(question, values, Evidence(dict(zip((0, 5), codes, strict=True))))[place]

    asked = [(a, b) for a in range(3) for b in range(3)] * 40
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, asked))
    left, right = np.linalg.multi_dot(tables[:3]), np.linalg.multi_dot(tables[3:])
    for (a, b), answer in zip(asked, found, strict=True):
        weights = left[a] * right[:, b]
        np.testing.assert_allclose(answer, weights / weights.sum(), rtol=CLOSE)
