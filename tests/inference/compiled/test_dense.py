"""Dense runs: only what changed is computed, workspaces come back, and interruptions leave none half filled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.question import compile_question
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.plan import make_plan
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.tolerances import CLOSE, EXACT


def chain(num=6):
    rng = np.random.default_rng(1)
    variables = [ss.Discrete(f"x{i}", 3) for i in range(num)]
    pairs = list(itertools.pairwise(variables))
    tables = [rng.uniform(0.1, 1.0, (3, 3)) for _ in pairs]
    return ss.MarkovNet(*(ss.Table(pair, table) for pair, table in zip(pairs, tables, strict=True))), tables


def compile_for(values, plan, **settings):
    return compile_question(values.store.layout, plan, cards=values.problem.variables.cards, **settings)


def values_of(problem):
    return FactorValues(problem, FactorStore.of(problem))


def singles_of(question, values, evidence):
    with run_dense(question, values, evidence) as run:
        return run.singles()


def reached(question, factors):
    """The tensors that depend on some factors (by place), by following the steps."""
    found = {f + 1 for f in factors}
    for result, first, second in question.contraction.steps:
        if {first, second} & found:
            found.add(result)
    return found


def test_an_interrupted_run_keeps_its_workspace_to_itself(monkeypatch):
    case_model = chain()[0]
    problem = case_model.problem()
    plan = make_plan(problem, problem.relevant((), (), constants=True), method=ss.graphs.MinFill())
    values = values_of(problem)
    question = compile_for(values, plan, observed=())

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sepset.kernels.compiled.contraction.run", stop)
    monkeypatch.setattr("sepset.kernels.compiled.contraction.run_briefly", stop)
    with pytest.raises(KeyboardInterrupt):
        run_dense(question, values, Evidence())
    assert question.pool.take(values.store) is None


def test_a_workspace_is_there_again_once_a_run_was_read():
    problem = chain()[0].problem()
    plan = make_plan(problem, problem.relevant((), (), constants=True), method=ss.graphs.MinFill())
    values = values_of(problem)
    question = compile_for(values, plan, observed=())
    with run_dense(question, values, Evidence()):
        assert question.pool.take(values.store) is None
    assert question.pool.take(values.store) is not None


@in_blocks("seed", range(20))
def test_only_what_a_changed_finding_reaches_is_computed_again(seed):
    rng = np.random.default_rng(seed)
    model, tables = chain(7)
    problem, observed = model.problem(), (0, 3, 6)
    plan = make_plan(
        problem, problem.relevant((), observed, constants=True), method=ss.graphs.MinFill(), observed=observed
    )
    values = values_of(problem)
    question = compile_for(values, plan, observed=observed, marginals=(1, 2, 4, 5))
    codes = [0, 0, 0]
    singles_of(question, values, Evidence(dict(zip(observed, codes, strict=True))))
    for _ in range(6):
        place = int(rng.integers(3))
        before, codes[place] = codes[place], int(rng.integers(3))
        found = singles_of(question, values, Evidence(dict(zip(observed, codes, strict=True))))
        space = question.pool.take(values.store)
        mentioning = [i for i, n in enumerate(question.numbers) if observed[place] in problem.scope(int(n))]
        expected = reached(question, mentioning) if codes[place] != before else set()
        assert set(np.flatnonzero(space.dirty).tolist()) == expected
        question.pool.give(values.store, space)
        left = tables[0][codes[0]] * (tables[1] @ tables[2])[:, codes[1]]
        np.testing.assert_allclose(found[question.places[1]], left / left.sum(), rtol=CLOSE)


def test_a_large_joint_takes_the_workspace_in_the_order_asked(monkeypatch):
    net = ss.datasets.load("asia")
    names = ["dysp", "smoke", "asia", "xray", "lung"]
    expected = ss.query(net, names, method=ss.inference.BruteForce()).values
    monkeypatch.setattr(costs, "ENTRIES_TAKEN", 8)
    engine = ss.prepare(net)
    for _ in range(2):  # the second is another array, not the first one overwritten
        found = engine.query(names)
        np.testing.assert_allclose(found.values, expected, atol=EXACT)
    again = engine.query(names, given={"bronc": "yes"})
    np.testing.assert_allclose(found.values, expected, atol=EXACT)
    truth = ss.query(net, names, given={"bronc": "yes"}, method=ss.inference.BruteForce())
    np.testing.assert_allclose(again.values, truth.values, atol=EXACT)
