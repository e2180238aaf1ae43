"""Programs over rows: what varies, how many lanes, and which results need rescaling."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.inference import costs
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.rows.program import LoadedRows
from sepset.kernels.kernel import Kernel
from sepset.kernels.rows import batches


def program_of(net, columns, targets, observed=()):
    prepared = CliqueTree().prepare(net.problem())
    return prepared, prepared.rows.compiler.program(columns, targets, observed=observed)


def test_what_no_finding_reaches_is_shared():
    net = ss.datasets.load("student")
    _, masks = program_of(net, (2, 3), (0,))
    num_factors = len(masks.question.numbers)
    assert not masks.varies[: num_factors + 1].any()
    assert masks.varies[num_factors + 1 : num_factors + 3].all()
    assert masks.varies[masks.question.contraction.roots].all()
    assert set(masks.places) == {0}


def test_reduced_factors_move_instead_of_masks():
    net = ss.datasets.load("student")
    prepared, own = program_of(net, (2, 3), (0,), (2, 3))
    assert not len(own.likelihoods)
    assert len(own.moving) == 2
    assert own.work < program_of(net, (2, 3), (0,))[1].work
    loaded = LoadedRows.of(own, prepared.store)
    codes = np.array([[0, 1], [2, 0]], np.int32)
    log_partition, flat, totals, wide = loaded.run(codes, np.ones(2), np.zeros(1, np.uint8))
    engine = ss.prepare(net)
    for row, (grade, sat) in enumerate([("A", "high"), ("C", "low")]):
        answer = engine.query("difficulty", given={"grade": grade, "sat": sat})
        np.testing.assert_allclose(flat[row], answer.values)
        assert np.isclose(log_partition[row], answer.log_partition)
    assert not wide.any()
    assert not len(totals)


def test_fewer_lanes_for_larger_workspaces(monkeypatch):
    net = ss.datasets.load("student")
    assert program_of(net, (2, 3), (0,))[1].lanes == 32
    monkeypatch.setattr(costs, "CACHED_WORKSPACE_BYTES", 0)
    assert program_of(net, (2, 3), (0,))[1].lanes == 8


def test_checks_only_where_numbers_may_leave_the_range():
    variables = [ss.Discrete(f"x{i}", 2) for i in range(60)]
    pairs = list(itertools.pairwise(variables))
    mild = ss.MarkovNet(*(ss.Table([a, b], [[1.0, 0.5], [0.5, 1.0]]) for a, b in pairs))
    steep = ss.MarkovNet(*(ss.Table([a, b], [[1.0, 1e-9], [1e-9, 1.0]]) for a, b in pairs))
    for net, some in ((mild, False), (steep, True)):
        prepared, program = program_of(net, (0, 30), (59,))
        assert LoadedRows.of(program, prepared.store).checks.any() == some


def test_canceled_runs_stop_at_once():
    net = ss.datasets.load("student")
    prepared, program = program_of(net, (2, 3), (0,))
    codes = np.zeros((100, 2), np.int32)
    _, flat, _, _ = LoadedRows.of(program, prepared.store).run(codes, np.ones(100), np.ones(1, np.uint8))
    assert np.isnan(flat).all()


class Soon:
    """A cancellation after some reads."""

    def __init__(self, after: int) -> None:
        self.after, self.reads = after, 0

    def __getitem__(self, _: int) -> int:
        self.reads += 1
        return int(self.reads > self.after)


def test_a_block_of_rows_heeds_a_cancellation_before_each_instruction(monkeypatch):
    prepared, program = program_of(ss.datasets.load("student"), (2, 3), (0,))
    loaded, codes, soon = LoadedRows.of(program, prepared.store), np.zeros((4, 2), np.int32), Soon(2)
    for name, made in list(vars(batches).items()):
        if isinstance(made, Kernel) or hasattr(made, "py_func"):
            monkeypatch.setattr(batches, name, made.function if isinstance(made, Kernel) else made.py_func)
    _, flat, _, _ = loaded.run(codes, np.ones(4), soon)
    assert np.isnan(flat).all()
    assert len(program.ops) > 2
    assert soon.reads == 4  # before three instructions, and after the last
