"""The tape: products keep what others need, and a step that would only copy is not written."""

from __future__ import annotations

import numpy as np

from sepset.kernels.compiled.tape import (
    ONE,
    STAMP,
    STEPS,
    TENSORS,
    Tape,
    add_step,
    count,
    is_over,
    join,
    restrict,
    stamp,
)


def tape_of(cards, scopes, limit=np.inf):
    """A tape with these inputs, all of them current."""
    room = 20
    start = np.concatenate([[0, 0], np.cumsum([len(s) for s in scopes]), np.zeros(room, int)]).astype(np.int64)
    pool = np.concatenate([*map(np.array, scopes), np.zeros(50)]).astype(np.int64)
    sizes = np.ones(len(scopes) + room)
    sizes[1 : len(scopes) + 1] = [np.prod([cards[r] for r in s]) for s in scopes]
    none, num = np.zeros(1, np.uint8), len(cards)
    marks = np.zeros(num, np.int64), np.zeros(num, np.int64), np.zeros(num + 1, np.int64)
    steps, made = np.zeros((room, 3), np.int64), np.array([len(scopes) + 1, 0, 1])
    tape = Tape(np.array(cards, float), start, pool, sizes, steps, made, *marks, np.array([0.0, limit]), none)
    for t in range(1, len(scopes) + 1):
        count(tape, t, 1)
    return tape


def test_a_product_keeps_what_others_have_and_what_is_stamped():
    tape = tape_of([2, 3, 4, 5], [[0, 1], [1, 2], [2, 3]])
    stamp(tape, np.array([0]), 0, 1)
    length, size, union = join(tape, 1, 2)
    assert tape.scope[:length].tolist() == [0, 2]
    assert (size, union) == (8, 24)


def test_variables_of_one_tensor_are_not_needed():
    tape = tape_of([2, 3, 4, 5], [[0, 1], [1, 2], [2, 3]])
    assert tape.scope[: restrict(tape, 3, 1)].tolist() == [2]


def test_a_step_that_would_copy_is_not_written():
    tape = tape_of([2, 3], [[0, 1]])
    tape.scope[:2] = 0, 1
    assert add_step(tape, 1, ONE, 2) == add_step(tape, ONE, 1, 2) == 1
    assert tape.made[STEPS] == 0
    assert add_step(tape, 1, ONE, 1) == 2
    assert tape.made.tolist() == [3, 1, tape.made[STAMP]]
    assert tape.made[TENSORS] == 3
    assert tape.sizes[2] == 2


def test_entries_beyond_the_limit_are_noticed():
    tape = tape_of([2, 3], [[0, 1]], limit=2.5)
    tape.scope[:2] = 1, 0
    add_step(tape, 1, ONE, 1)
    assert is_over(tape)
