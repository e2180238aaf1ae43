"""Programs over rows: one for each observed set, or one with masks; made once, and None where too large."""

from __future__ import annotations

import sepset as ss
from sepset.inference.compiled.planner import Planner, Settings
from sepset.inference.rows.compiler import RowCompiler
from support.counted_orders import CountedOrders


def compiler_of(model, order=None, memory=2**30):
    return RowCompiler(Planner(model.problem(), Settings(order or ss.graphs.MinFill(), memory, "auto")))


def test_programs_are_made_once():
    orders = CountedOrders()
    compiler = compiler_of(ss.datasets.load("student"), orders)
    first = compiler.program((2, 3), (0,))
    assert compiler.program((2, 3), (0,)) is first
    assert compiler.program((2, 3), (0,), observed=(2, 3)) is not first
    assert compiler.program((2, 3), (), counted=True) is not first
    assert orders.made == 3


def test_findings_are_masks_or_leave_the_program():
    compiler = compiler_of(ss.datasets.load("student"))
    masks, own = compiler.program((2, 3), (0,)), compiler.program((2, 3), (0,), observed=(2, 3))
    assert masks.question.touched == (2, 3)
    assert masks.question.observed == ()
    assert own.question.touched == ()
    assert own.question.observed == (2, 3)
    assert own.work < masks.work


def test_one_target_needs_no_reverse_sweep_and_counts_need_every_factor():
    compiler = compiler_of(ss.datasets.load("student"))
    one, two = compiler.program((2,), (0,)).question, compiler.program((2,), (0, 1)).question
    assert len(one.contraction.steps) == one.contraction.num_forward
    assert len(two.contraction.steps) > two.contraction.num_forward
    assert len(compiler.program((2,), (), counted=True).counted) == 5


def test_too_large_is_none():
    assert compiler_of(ss.datasets.load("student"), memory=100).program((2,), (0,)) is None
