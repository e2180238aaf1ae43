"""Workspaces between runs: each is handed out once, few are kept, and large ones give their room away."""

from __future__ import annotations

import numpy as np

from sepset.inference.compiled.workspace import Workspace, WorkspacePool


def test_a_new_workspace_is_to_be_computed_whole():
    space = Workspace.of(np.empty(5), np.zeros(3, np.int64), 2)
    assert space.dirty.tolist() == [1, 1, 1]
    assert space.codes.tolist() == [-1, -1]
    assert not space.flags.any()


def test_a_pool_hands_out_each_workspace_once_and_keeps_few():
    store, other = object(), object()
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
