"""Every choice of hidden contexts of every row, once; and nothing that no number depends on."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.evidencerows import EvidenceRows
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.hybrid.choices import Choices
from sepset.inference.hybrid.rows import HybridRows

A, D, E = ss.Discrete("a", 2), ss.Discrete("d", 2), ss.Discrete("e", 3)
X, Y = ss.Real("x"), ss.Real("y")
NET = ss.BayesNet(
    ss.TableCPD(A, [0.5, 0.5]),
    ss.TableCPD(D, [[0.3, 0.7], [0.5, 0.5]], given=A),
    ss.TableCPD(E, [[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]], given=D),
    ss.LinearGaussian(X, [0.0, 2.0, 4.0], covariance=[1.0, 0.5, 2.0], by=E),
    ss.LinearGaussian(Y, [0.0, 1.0], coefficients=1.0, covariance=1.0, given=X, by=D),
)
COORDINATES = Coordinates.of(NET.problem())


def rows_of(codes, reals):
    return EvidenceRows((0, 1, 2), np.array(codes, np.int32), (3, 4), np.array(reals))


ROWS = rows_of(
    [[-1, -1, -1], [0, 0, -1], [-1, -1, 2], [1, 1, 0], [-1, -1, -1]],
    [[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]],
)


def all_choices(choices):
    """The contexts enumerated for each row, and where its other codes are."""
    found = {}
    for part in choices.each():
        for owner, state in zip(part.owner, part.states, strict=True):
            row = int(part.rows[owner])
            found.setdefault(row, []).append(tuple(choices.states.codes[state].tolist()))
    return found


def test_choices_are_all_joint_states_of_hidden_contexts():
    choices = Choices(COORDINATES, ROWS)
    assert choices.coordinates.contexts == (1, 2)
    assert choices.numbers.tolist() == [6, 3, 2, 1, 6]
    assert choices.states.positions == (0, 1, 2)
    found = all_choices(choices)
    for row, codes in enumerate(ROWS.codes.tolist()):
        options = [[codes[0]], *(range(n) if c < 0 else [c] for c, n in zip(codes[1:], (2, 3), strict=True))]
        assert sorted(found[row]) == sorted(itertools.product(*options))


def test_contexts_of_numbers_that_nobody_asks_for_stay_hidden():
    """x found needs e alone; y found needs both; nothing found needs neither, unless it is asked for."""
    choices = Choices(COORDINATES, ROWS, wanted=())
    assert choices.numbers.tolist() == [3, 3, 1, 1, 1]
    assert all_choices(choices)[4] == [(-1, -1, -1)]
    assert [c[1] for c in all_choices(choices)[0]] == [-1, -1, -1]
    asked = Choices(COORDINATES, ROWS, wanted=(), targets=(1,))
    assert asked.numbers.tolist() == [6, 3, 2, 1, 2]


def test_rows_that_look_alike_share_their_states():
    same = rows_of([[0, -1, 1]] * 50, np.arange(100.0).reshape(50, 2))
    choices = Choices(COORDINATES, same)
    assert len(choices.states) == 2
    (part,) = choices.parts
    assert part.states.reshape(50, 2).tolist() == [[0, 1]] * 50
    assert len(part.groups.kinds) == 2


def test_parts_are_bounded_and_hold_every_row_once(monkeypatch):
    whole = all_choices(Choices(COORDINATES, ROWS))
    for name, value in (("CHOICES_AT_ONCE", 4), ("GAIN_ENTRIES_AT_ONCE", 6)):
        with monkeypatch.context() as patch:
            patch.setattr(costs, name, value)
            parts = list(Choices(COORDINATES, ROWS).each())
            assert len(parts) > 1
            assert sorted(r for part in parts for r in part.rows.tolist()) == [0, 1, 2, 3, 4]
            assert all_choices(Choices(COORDINATES, ROWS)) == whole


def test_what_groups_miss_and_find():
    (part,) = Choices(COORDINATES, ROWS).parts
    for owner, group, values in zip(part.owner, part.group, part.values, strict=True):
        reals = ROWS.reals[part.rows[owner]]
        np.testing.assert_array_equal(values, reals)
        np.testing.assert_array_equal(part.groups.kinds[group], np.where(np.isnan(reals), 2, 1))
    codes = Choices(COORDINATES, ROWS).states.codes[part.states]
    np.testing.assert_array_equal(part.groups.entries[part.group, 0], codes[:, 2])
    np.testing.assert_array_equal(part.groups.entries[part.group, 1], codes[:, 1])


def test_no_rows_and_no_contexts():
    nothing = ROWS.take(np.zeros(0, np.int64))
    assert Choices(COORDINATES, nothing).parts == ()
    line = ss.BayesNet(ss.LinearGaussian(X, covariance=1.0))
    rows = EvidenceRows((), np.zeros((3, 0), np.int32), (0,), np.array([[1.0], [np.nan], [2.0]]))
    choices = Choices(Coordinates.of(line.problem()), rows)
    assert choices.numbers.tolist() == [1, 1, 1]
    (part,) = choices.parts
    assert sorted(part.rows.tolist()) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_many_contexts(seed):
    """Forty contexts of three states: more joint states than whole numbers, all but one found."""
    rng = np.random.default_rng(seed)
    states = [ss.Discrete(f"s{i}", 3) for i in range(40)]
    reals = [ss.Real(f"x{i}") for i in range(40)]
    net = ss.BayesNet(
        *(ss.TableCPD(s, np.full(3, 1 / 3)) for s in states),
        *(ss.LinearGaussian(x, [0.0, 1.0, 2.0], covariance=1.0, by=s) for x, s in zip(reals, states, strict=True)),
    )
    codes = rng.integers(3, size=(20, 40)).astype(np.int32)
    codes[np.arange(20), rng.integers(40, size=20)] = -1
    rows = EvidenceRows(tuple(range(40)), codes, tuple(range(40, 80)), rng.normal(size=(20, 40)))
    choices = Choices(Coordinates.of(net.problem()), rows)
    assert (choices.numbers == 3).all()
    (part,) = choices.parts
    assert len(part.owner) == 60
    assert len(part.groups.kinds) == 60


class Unsearched(tuple):
    """Positions that may be gone through, but not searched for each of many others."""

    __slots__ = ()

    def __contains__(self, item):
        raise AssertionError("a search among all positions")

    def index(self, *args):
        raise AssertionError("a search among all positions")


def test_no_position_is_searched_for_among_all():
    """With many contexts and many columns, a search for each would take the time of their product."""
    coordinates = replace(COORDINATES, contexts=Unsearched(COORDINATES.contexts))
    rows = replace(ROWS, positions=Unsearched(ROWS.positions))
    numbers = HybridRows(coordinates).num_choices(rows, (2, 3))
    np.testing.assert_array_equal(numbers, HybridRows(COORDINATES).num_choices(ROWS, (2, 3)))
    np.testing.assert_array_equal(Choices(coordinates, rows).states.codes, Choices(COORDINATES, ROWS).states.codes)
