"""Compiled questions: one for all values of a pattern, planned again when they are asked often, refused in time."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.graphs.ordering import DEFAULT_ORDER
from sepset.inference import costs
from sepset.inference.compiled import planner as planning, question as questions
from sepset.inference.compiled.compiler import Compiler
from sepset.inference.compiled.planner import Planner, Settings
from sepset.inference.compiled.question import HASTY
from sepset.kernels.kernel import load
from sepset.variables.evidence import Evidence

MIN_FILL = ss.graphs.MinFill()


def compiler_of(model, zeros="auto", memory=2**30, order=MIN_FILL):
    return Compiler(Planner(model.problem(), Settings(order, memory, zeros)))


def test_one_question_serves_all_values_of_a_pattern():
    compiler = compiler_of(ss.datasets.load("student"))
    first = compiler.planner.pattern(Evidence({2: 0}))
    other = compiler.planner.pattern(Evidence({2: 1}))
    assert compiler.question("joint", (0, 1), first) is compiler.question("joint", (0, 1), other)
    assert compiler.question("joint", (0,), first) is not compiler.question("joint", (0, 1), first)


def test_what_each_kind_of_question_reads():
    compiler = compiler_of(ss.datasets.load("student"))
    pattern = compiler.planner.pattern(Evidence({2: 0}))
    joint = compiler.question("joint", (1, 0), pattern)
    assert set(joint.joint_positions) == {0, 1}
    assert not joint.reads_singles
    marginals = compiler.question("marginals", (0, 1, 3, 4), pattern)
    assert marginals.reads_singles
    assert list(marginals.places) == [0, 1, 3, 4, 2]
    assert compiler.question("mode", (), pattern).maximize
    assert len(compiler.question("factors", (), pattern).factor_homes) == 5
    assert not compiler.question("draws", (), pattern).factor_homes


def test_likelihoods_enter_where_they_are_relevant():
    net = ss.datasets.load("student")
    compiler, ids = compiler_of(net), net.variables.id
    pattern = compiler.planner.pattern(Evidence({}, {ids("sat"): [1.0, 0.5], ids("letter"): [0.2, 1.0]}))
    assert compiler.question("joint", (), pattern).touched == tuple(sorted((ids("sat"), ids("letter"))))
    assert compiler.question("group", (ids("difficulty"),), pattern).touched


def test_groups_become_one_program_when_they_keep_being_asked_for(monkeypatch):
    groups = ((0, 2, 4), (1, 3))
    monkeypatch.setattr(planning, "target_groups", lambda *args, whole, cards: groups)
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS", 0)
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS_LATER", 0)
    compiler = compiler_of(ss.datasets.load("student"))
    pattern = compiler.planner.pattern(Evidence())
    for _ in range(costs.USES_BEFORE_SEARCH):
        assert compiler.all_marginals(pattern) == (groups, None)
    found, question = compiler.all_marginals(pattern)
    assert found == groups
    assert question.is_shared
    assert question.reads_singles
    assert sorted(question.places) == [0, 1, 2, 3, 4]
    assert compiler.all_marginals(pattern)[1] is question


def test_supports_are_looked_at_where_there_are_zeros():
    net = ss.datasets.load("asia")
    assert compiler_of(net, zeros="dense").supports is None
    assert compiler_of(net, zeros="sparse").supports is not None
    compiler = compiler_of(net)
    question = compiler.question("joint", (0,), compiler.planner.pattern(Evidence()))
    assert all(compiler.supports.program(question) is None for _ in range(2 * costs.USES_BEFORE_SUPPORTS))
    assert compiler_of(ss.datasets.load("student")).supports is None  # every number is positive


def test_a_program_beyond_the_memory_is_refused():
    compiler = compiler_of(ss.datasets.load("alarm"), memory=2000)
    with pytest.raises(ss.TooLarge, match="the limit is"):
        compiler.question("marginals", (), compiler.planner.pattern(Evidence()))


@pytest.mark.parametrize(("cost", "expected"), [(1e12, 0), (0.0, 1)])
def test_a_search_shorter_than_its_calls_is_not_begun(monkeypatch, cost, expected):
    """Any tables but those of trees are worth a search that takes no time."""
    load()  # interpreted kernels leave the choice to a search
    monkeypatch.setattr(questions, "is_at_hand", lambda kernel: True)
    searches = []
    plan = Planner.plan
    monkeypatch.setattr(Planner, "plan", lambda *args, **about: searches.append(args) or plan(*args, **about))
    monkeypatch.setattr(questions, "HASTY", (cost, 0.0, *HASTY[2:]))
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS", 10**9)
    compiler = compiler_of(ss.MarkovNet.potts(ss.Discrete.array("pixel", (4, 4), states=3), 0.5), order=DEFAULT_ORDER)
    question = compiler.all_marginals(compiler.planner.pattern(Evidence()))[1]
    assert len(searches) == expected
    assert sorted(question.places) == list(range(16))
