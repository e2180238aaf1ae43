"""Programs: the instructions do what the steps say, as loops and by panels, summing and maximizing."""

from __future__ import annotations

import numpy as np

from sepset.inference.compiled.program import Workspace, WorkspacePool
from sepset.kernels.compiled import instructions as columns
from sepset.kernels.compiled.costs import ALIGNED_ENTRIES, LINE_ENTRIES
from support.blocks import in_blocks
from support.kernel_calls import run as kernel_run
from support.random_contractions import assembled, contracted, product_sum, random_network, summed


def run(program, tables, maximize=False):
    w = np.full(program.size, np.nan)
    w[0] = 1.0
    for offset, table in zip(program.offsets[1:].tolist(), tables, strict=False):
        w[offset : offset + table.size] = table.reshape(-1)
    exponents, flags = np.zeros(program.num_tensors, np.int64), np.zeros(2, np.int64)
    kernel_run(w, ops=program.ops, groups=program.groups, exponents=exponents, flags=flags, maximize=maximize)
    made = program.contraction

    def read(tensor):
        start = int(program.offsets[tensor])
        shape = [made.cards[r] for r in made.scopes[tensor]]
        return w[start : start + int(np.prod(shape))].reshape(shape) * 2.0 ** exponents[tensor]

    return read


@in_blocks("seed", range(20))
def test_every_instruction_is_its_step(seed):
    made, network = contracted(random_network(np.random.default_rng(seed)), targets=True)
    program = assembled(made)
    assert len(program.ops) == len(made.steps)
    assert program.num_forward == made.num_forward
    read = run(program, network.tables)
    for result, first, second in made.steps:
        scopes = made.scopes[first], made.scopes[second], made.scopes[result]
        truth = product_sum(read(first), scopes[0], read(second), scopes[1], scopes[2])
        np.testing.assert_allclose(read(result), truth, rtol=1e-12)


@in_blocks("seed", range(12))
def test_wide_tables_run_by_panels_with_the_same_numbers(seed):
    rng = np.random.default_rng(seed)
    made, network = contracted(random_network(rng, num=6, largest=24, num_factors=5, arity=4), targets=True)
    program = assembled(made)
    read = run(program, network.tables)
    for result, first, second in made.steps:
        scopes = made.scopes[first], made.scopes[second], made.scopes[result]
        truth = product_sum(read(first), scopes[0], read(second), scopes[1], scopes[2])
        np.testing.assert_allclose(read(result), truth, rtol=1e-12)


def test_some_of_the_wide_ones_run_by_panels():
    kinds = set()
    for seed in range(12):
        made, _ = contracted(
            random_network(np.random.default_rng(seed), num=6, largest=24, num_factors=5, arity=4), targets=True
        )
        kinds |= set(assembled(made).ops[:, columns.KIND].tolist())
    assert {columns.LOOPS, columns.PANELS} <= kinds


@in_blocks("seed", range(12))
def test_maximizing_gives_the_largest_product(seed):
    made, network = contracted(random_network(np.random.default_rng(seed), num=5, largest=6))
    read = run(assembled(made), network.tables, maximize=True)
    best = np.prod([read(root).max() for root in made.roots])
    np.testing.assert_allclose(best, summed(network, (), largest=True), rtol=1e-12)


def test_tensors_lie_end_to_end_large_ones_at_a_line_and_scratch_comes_behind():
    made, _ = contracted(random_network(np.random.default_rng(3), num=5, largest=12, num_factors=6, arity=4))
    program = assembled(made)
    ends = program.offsets + made.sizes.astype(int)
    gaps, is_large = program.offsets[1:] - ends[:-1], made.sizes[1:] >= ALIGNED_ENTRIES
    assert program.offsets[0] == 0
    assert (gaps[~is_large] == 0).all()
    assert ((gaps >= 0) & (gaps < LINE_ENTRIES)).all()
    assert (program.offsets[1:][is_large] % LINE_ENTRIES == 0).all()
    assert program.size >= ends[-1]
    assert (program.ops[:, columns.SCRATCH] == ends[-1]).all()
    assert program.nbytes == 8 * program.size


def test_a_new_workspace_is_to_be_computed_whole():
    space = Workspace.of(np.empty(5), np.zeros(3, np.int64), 2)
    assert space.dirty.tolist() == [1, 1, 1]
    assert space.codes.tolist() == [-1, -1]
    assert not space.flags.any()


def test_a_pool_hands_out_each_workspace_once_and_keeps_few():
    store, other = object(), object()
    pool = WorkspacePool(2)
    assert pool.take(store) is None
    first, *more = (Workspace(*(np.empty(2) for _ in range(6))) for _ in range(4))
    pool.give(store, first)
    assert pool.take(other) is None, "another store's numbers are of no use"
    assert pool.take(store) is first
    assert pool.take(store) is None
    for workspace in more:
        pool.give(store, workspace)
    assert [pool.take(store) for _ in range(3)] == [more[2], more[1], None], "the latest first: it is in a cache"
    pool.give(store, more[0])
    pool.give(other, more[1])
    assert pool.take(store) is more[0], "also from behind those of another store"
    assert [pool.take(other), pool.take(other)] == [more[1], None]


def test_a_pool_of_large_workspaces_gives_their_room_to_new_numbers():
    stores = [object() for _ in range(3)]
    pool = WorkspacePool(4, memory=8 * 250)
    first, second = (Workspace(np.empty(100), *(np.empty(0),) * 5) for _ in range(2))
    assert pool.room(100) is not pool.room(100)
    pool.give(stores[0], first)
    assert pool.room(100) is not first.values  # two have room
    pool.give(stores[1], second)
    assert pool.room(100) is first.values
    assert pool.take(stores[0]) is None
    assert pool.take(stores[1]) is second
    huge = Workspace(np.empty(1000), *(np.empty(0),) * 5)
    pool.give(stores[2], huge)
    assert pool.take(stores[2]) is huge  # one is always kept


def test_one_large_workspace_is_idle_at_a_time():
    first, second = (WorkspacePool(memory=8 * 100) for _ in range(2))
    large = Workspace.of(np.zeros(101), np.zeros(1, np.int64), 0)
    first.give("a", large)
    assert first.take("a") is large
    first.give("a", large)
    assert len(first.room(101)) == 101  # its own
    first.give("a", large)
    assert len(second.room(101)) == 101  # that of the other question is freed before there is a new one
    assert first.take("a") is None
