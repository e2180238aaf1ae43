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
from sepset.inference.compiled.question import Workspace, WorkspacePool, compile_question
from sepset.inference.compiled.store import FactorStore
from sepset.inference.plan import make_plan
from sepset.variables.evidence import Evidence
from support.random_models import markov_net, table_net
from support.tolerances import CLOSE

SEEDS = range(30)


def compiled_question(case, observed=(), touched=(), **settings):
    """A question about everything unobserved, and the store it reads."""
    problem = case.model.problem()
    relevant = problem.relevant((), observed, touched=touched, constants=True, prune=False)
    plan = make_plan(problem, relevant, method=ss.MinFill(), observed=observed)
    store = FactorStore.of(problem)
    return compile_question(problem, store, plan, observed=observed, touched=touched, **settings), store


def random_question(rng, case, **settings):
    """Findings on some variables, weights on others, and the same as the oracle takes them."""
    cards = [v.num_states for v in case.variables]
    chosen = rng.permutation(len(cards)).tolist()
    observed, touched = sorted(chosen[: len(cards) // 3]), sorted(chosen[len(cards) // 3 :][: len(cards) // 3])
    evidence = Evidence(
        {v: int(rng.integers(cards[v])) for v in observed}, {v: rng.uniform(0.1, 1.0, cards[v]) for v in touched}
    )
    given = {case.variables[v].name: finding for v, finding in {**evidence.codes, **evidence.weights}.items()}
    question, store = compiled_question(case, observed, touched, **settings)
    return question, store, evidence, given


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("draw", [markov_net, table_net])
def test_the_marginal_over_every_factor(seed, draw):
    rng = np.random.default_rng(seed)
    case = draw(rng)
    question, store, evidence, given = random_question(rng, case, factors=True)
    log_z = oracle.log_z(case.factors, case.cards, given)
    found = question.ask(store, evidence, lambda run: run.log_partition)
    assert found == log_z or math.isclose(found, log_z, rel_tol=CLOSE, abs_tol=CLOSE)
    if log_z == -math.inf:
        return
    problem = case.model.problem()
    position = {v: r for r, v in enumerate(question.ids)}
    for i, number in enumerate(question.plan.relevant.factors):
        scope = sorted((v for v in problem.scope(number) if v in position), key=position.__getitem__)
        expected = oracle.conditional(case.factors, case.cards, [problem.variables[v].name for v in scope], given)
        values = question.ask(store, evidence, lambda run, i=i: run.factor_marginal(i))
        np.testing.assert_allclose(values, expected.ravel(), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_maximizing_finds_the_largest_value(seed):
    rng = np.random.default_rng(seed)
    case = markov_net(rng)
    question, store, evidence, given = random_question(rng, case, maximize=True)
    best = float(oracle.log_joint(case.factors, case.cards, given).max())
    found = question.ask(store, evidence, lambda run: run.log_partition)
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
    plan = make_plan(problem, problem.relevant((), (), constants=True), method=ss.MinFill())
    store = FactorStore.of(problem)
    question = compile_question(problem, store, plan, observed=())
    need = 8 * question.contraction.entries
    assert need <= question.program.nbytes
    compile_question(problem, store, plan, observed=(), memory=need)
    monkeypatch.setattr(compiled, "assemble", fail)
    with pytest.raises(TooLarge, match="the limit is"):
        compile_question(problem, store, plan, observed=(), memory=need - 1)


def test_threads_share_a_question():
    model, tables = chain()
    problem = model.problem()
    relevant = problem.relevant((), (0, 5), constants=True)
    plan = make_plan(problem, relevant, method=ss.MinFill(), observed=(0, 5))
    store = FactorStore.of(problem)
    question = compile_question(problem, store, plan, observed=(0, 5), marginals=(3,))
    place = question.places[3]

    def ask(codes):
        return question.marginals(store, Evidence(dict(zip((0, 5), codes, strict=True))))[1][place]

    asked = [(a, b) for a in range(3) for b in range(3)] * 40
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, asked))
    left, right = np.linalg.multi_dot(tables[:3]), np.linalg.multi_dot(tables[3:])
    for (a, b), values in zip(asked, found, strict=True):
        weights = left[a] * right[:, b]
        np.testing.assert_allclose(values, weights / weights.sum(), rtol=CLOSE)


def test_a_pool_hands_out_each_workspace_once_and_keeps_few():
    store, other = (FactorStore.of(chain(num)[0].problem()) for num in (2, 3))
    pool = WorkspacePool(2)
    assert pool.take(store) is None
    first, *more = (Workspace(*(np.empty(2) for _ in range(5))) for _ in range(4))
    pool.give(store, first)
    assert pool.take(other) is None, "another store's numbers are of no use"
    assert pool.take(store) is first
    assert pool.take(store) is None
    for workspace in more:
        pool.give(store, workspace)
    assert [pool.take(store) for _ in range(3)] == [more[1], more[2], None]


def test_a_pool_of_large_workspaces_gives_their_room_to_new_numbers():
    stores = [object() for _ in range(3)]
    pool = WorkspacePool(4, memory=8 * 250)
    first, second = (Workspace(np.empty(100), *(np.empty(0),) * 4) for _ in range(2))
    assert pool.room(100) is not pool.room(100)
    pool.give(stores[0], first)
    assert pool.room(100) is not first.values  # two have room
    pool.give(stores[1], second)
    assert pool.room(100) is first.values
    assert pool.take(stores[0]) is None
    assert pool.take(stores[1]) is second
    huge = Workspace(np.empty(1000), *(np.empty(0),) * 4)
    pool.give(stores[2], huge)
    assert pool.take(stores[2]) is huge  # one is always kept


def test_an_interrupted_run_keeps_its_workspace_to_itself():
    case_model = chain()[0]
    problem = case_model.problem()
    plan = make_plan(problem, problem.relevant((), (), constants=True), method=ss.MinFill())
    store = FactorStore.of(problem)
    question = compile_question(problem, store, plan, observed=())

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        question.ask(store, Evidence(), stop)
    assert question.pool.take(store) is None


def reached(question, factors):
    """The tensors that depend on some factors (by place), by following the steps."""
    found = {f + 1 for f in factors}
    for result, first, second in question.contraction.steps:
        if {first, second} & found:
            found.add(result)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_only_what_a_changed_finding_reaches_is_computed_again(seed):
    rng = np.random.default_rng(seed)
    model, tables = chain(7)
    problem, observed = model.problem(), (0, 3, 6)
    plan = make_plan(problem, problem.relevant((), observed, constants=True), method=ss.MinFill(), observed=observed)
    store = FactorStore.of(problem)
    question = compile_question(problem, store, plan, observed=observed, marginals=(1, 2, 4, 5))
    codes = [0, 0, 0]
    question.marginals(store, Evidence(dict(zip(observed, codes, strict=True))))
    for _ in range(6):
        place = int(rng.integers(3))
        before, codes[place] = codes[place], int(rng.integers(3))
        _, values, _ = question.marginals(store, Evidence(dict(zip(observed, codes, strict=True))))
        space = question.pool.take(store)
        mentioning = [i for i, n in enumerate(question.numbers) if observed[place] in problem.scope(int(n))]
        expected = reached(question, mentioning) if codes[place] != before else set()
        assert set(np.flatnonzero(space.dirty).tolist()) == expected
        question.pool.give(store, space)
        left = tables[0][codes[0]] * (tables[1] @ tables[2])[:, codes[1]]
        np.testing.assert_allclose(values[question.places[1]], left / left.sum(), rtol=CLOSE)
