"""The kernel of relaxations: its functions and slopes against differences, its bounds against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.base.threads import NEVER
from sepset.inference.buckets.relaxed import room
from sepset.kernels.buckets.causes import FIRST, REST, Causes
from sepset.kernels.buckets.relaxation import begin, branch
from sepset.kernels.buckets.shares import bound, set_chords, set_sums


def small(seed, kinds=(REST, FIRST, REST)):
    """Five variables of two or three states under functions of one argument, in plain arrays."""
    rng = np.random.default_rng(seed)
    cards = [2, 3, 2, 2, 3]
    states = np.cumsum([0, *cards])
    own = np.concatenate([np.log(rng.dirichlet(np.ones(c))) for c in cards])
    width = len(kinds)
    terms = [np.vstack([np.zeros(width), -rng.exponential(size=(c - 1, width))]) for c in cards]
    numbers = np.tile(np.arange(width), len(cards))
    causes = Causes(
        states,
        own,
        np.arange(len(cards) + 1) * width,
        numbers,
        states * width,
        np.concatenate([t.reshape(-1) for t in terms]),
        np.full(width, -0.01),
        np.arange(width),
        np.arange(width + 1),
        np.array(kinds),
        np.where(np.array(kinds) == REST, -1e-6, np.inf),
    )
    return causes, cards, terms


def enumerated(causes, cards, terms):
    codes = np.indices(cards).reshape(len(cards), -1)
    total = sum(causes.own[causes.states[i] + codes[i]] for i in range(len(cards)))
    sums = causes.sums + sum(terms[i][codes[i]] for i in range(len(cards)))
    for f, kind in enumerate(causes.kinds):
        s = sums[:, f]
        total = total + (np.log(-np.expm1(s)) if kind == REST else -np.logaddexp(0.0, s))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_best_are_those_of_enumeration(seed):
    causes, cards, terms = small(seed)
    for k in (1, 4):
        here, path = room(causes)
        best, found = np.full(k, -np.inf), np.zeros(k * len(cards), np.int64)
        begin(causes, here, path, 10**6, 20, best, found, NEVER)
        branch(causes, here, path, 10**9, 8, best, found, NEVER)
        assert path.now[2] == 1
        np.testing.assert_allclose(best, np.sort(enumerated(causes, cards, terms))[::-1][:k], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_relaxation_is_a_bound(seed):
    """Also at shares at which nothing was maximized."""
    causes, cards, terms = small(seed)
    top = enumerated(causes, cards, terms).max()
    here, _ = room(causes)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        here.shares[:] = rng.exponential(size=len(here.shares))
        set_chords(causes, here)
        set_sums(causes, here)
        assert bound(causes, here) >= top


def test_a_canceled_search_stops_at_once():
    causes, cards, _ = small(0)
    here, path = room(causes)
    branch(causes, here, path, 10**9, 8, np.full(1, -np.inf), np.zeros(len(cards), np.int64), np.ones(1, np.uint8))
    assert path.now[2] == 0
    assert path.now[3] == 0


def test_pairs_are_tried_while_there_is_work_left_and_nothing_after_a_cancel():
    causes = small(0)[0]
    spent = []
    for work, cancel in ((10**6, 0), (0, 0), (10**6, 1)):
        here, path = room(causes)
        best, found = np.full(1, -np.inf), np.full(len(causes.states) - 1, -1)
        begin(causes, here, path, work, 1, best, found, np.array([cancel], np.uint8))
        spent.append(int(path.now[3]))
    assert spent[0] > spent[1] > spent[2]


def test_what_is_always_read_counts_as_work():
    """A call without any work left reads all terms once, which takes long if it is interpreted."""
    causes, _, _ = small(0)
    here, path = room(causes)
    for each in (begin, branch):
        assert each.work(causes, here, path, 0) > len(causes.terms)
