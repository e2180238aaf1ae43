"""One call against the stages it is made of: the same order, the same steps, the same instructions."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference.compiled import question
from sepset.inference.compiled.contraction import Contraction
from sepset.inference.compiled.planner import Planner, Settings
from sepset.inference.compiled.program import Program
from sepset.inference.compiled.question import compile_greedily, compile_question
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.random_models import markov_net, table_net

MEMORY = 2**30


@pytest.fixture(autouse=True)
def _at_hand(monkeypatch):
    """The call is compiled here and now, where it is not on disk."""
    monkeypatch.setattr(question, "is_at_hand", lambda kernel: True)


def planner_of(model):
    return Planner(model.problem(), Settings(ss.graphs.Portfolio(), MEMORY, "auto"))


def both(model, kind, targets=(), observed=(), touched=()):
    """A question by stages, and in one call."""
    planner = planner_of(model)
    weights = {v: np.ones(model.variables[v].num_states) for v in touched}
    pattern = planner.pattern(Evidence(dict.fromkeys(observed, 0), weights))
    plan = planner.plan(kind, targets, pattern)
    relevant = plan.relevant
    inside = tuple(v for v in pattern.touched if v in set(relevant.variables))
    asked = targets if kind == "group" else planner.hidden(pattern)
    about = {
        "cards": planner.cards(None),
        "observed": pattern.observed,
        "touched": inside,
        "kept": targets if kind == "joint" else (),
        "marginals": np.array(asked, dtype=np.int64) if kind in ("marginals", "group") else None,
        "factors": kind == "factors",
        "maximize": kind == "mode",
        "memory": MEMORY,
    }
    layout = planner.layout(None)
    attempt = compile_greedily(layout, numbers=relevant.numbers, hidden=relevant.places, **about, effort=-1e9)
    return compile_question(layout, plan, **about, search=0.0), attempt, plan


def assert_same(first, second, kind, left_out=()):
    for field in dataclasses.fields(kind):
        if field.name not in left_out:
            one, other = getattr(first, field.name), getattr(second, field.name)
            for a, b in zip(*((part if isinstance(part, tuple) else (part,)) for part in (one, other)), strict=True):
                np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.mark.parametrize("kind", ["joint", "marginals", "group", "mode", "factors"])
@in_blocks("seed", range(12))
def test_one_call_is_the_stages_one_after_the_other(kind, seed):
    rng = np.random.default_rng(seed)
    case = markov_net(rng) if seed % 3 == 0 else table_net(rng)
    order = rng.permutation(len(case.variables)).tolist()
    observed, touched = order[: seed % 2], order[1 : 1 + seed % 3]
    targets = tuple(order[-2:]) if len(order) - len(observed) >= 2 else ()
    if kind == "group" and not targets:
        pytest.skip("nothing to ask for")
    question, attempt, plan = both(case.model, kind, targets if kind in ("joint", "group") else (), observed, touched)
    made = attempt.question
    assert attempt.entries == pytest.approx(plan.total_size)
    np.testing.assert_array_equal(made.order, question.order)
    assert_same(made.program, question.program, Program, ("contraction",))
    assert_same(made.contraction, question.contraction, Contraction, ("boxes",))  # which end with room that is not used
    assert made.contraction.inboxes == question.contraction.inboxes
    for part in ("observed", "touched", "kept", "maximize", "reads_singles", "need"):
        assert getattr(made, part) == getattr(question, part), part
    for part in ("group", "start", "members"):
        np.testing.assert_array_equal(getattr(made.tree, part), getattr(question.tree, part))


def test_nothing_is_compiled_that_is_too_large_or_not_settled():
    planner = planner_of(ss.MarkovNet.ising(ss.Discrete.array("s", (3, 3), states=(-1, 1)), 0.3))
    relevant = planner.relevant("marginals", (), planner.pattern(Evidence()))
    about = {"cards": planner.cards(None), "numbers": relevant.numbers, "hidden": relevant.places, "observed": ()}

    def attempt(**settings):
        return compile_greedily(planner.layout(None), **about, **{"memory": MEMORY, "effort": -1e9} | settings)

    whole = attempt()
    assert whole.question is not None
    assert attempt(most=whole.entries).question is not None
    for settings in ({"most": whole.entries - 1}, {"memory": 8}, {"effort": 1e9}):
        found = attempt(**settings)
        assert found.question is None
        assert found.total == whole.total
    need = whole.question.need
    assert attempt(memory=need).question is not None
    assert attempt(memory=need - 1).question is None


def test_an_order_that_adds_no_edge_is_taken_at_any_price():
    planner = planner_of(ss.datasets.load("student"))
    relevant = planner.relevant("marginals", (), planner.pattern(Evidence()))
    about = {"cards": planner.cards(None), "numbers": relevant.numbers, "hidden": relevant.places, "observed": ()}
    assert compile_greedily(planner.layout(None), **about, memory=MEMORY, effort=1e9).question is not None


def test_a_problem_without_variables():
    question, attempt, _ = both(ss.MarkovNet(), "joint")
    assert attempt.question.program.size == question.program.size
    assert attempt.total == -math.inf
