"""Compiled tests of independence against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats

from sepset.kernels.structure import independence as kernels

NEVER = np.zeros(1, np.uint8)


def logarithms(total):
    counts = np.arange(total + 1.0)
    return np.where(counts > 0, counts * np.log(np.maximum(counts, 1)), 0.0)


def by_definition(codes, weights, x, y, given, kind):
    """The statistic and degrees of freedom, stratum by stratum, by scipy."""
    seen = (codes[[x, y, *given]] >= 0).all(axis=0)
    statistic = degrees = 0.0
    for key in {tuple(k) for k in codes[list(given)][:, seen].T.tolist()}:
        rows = seen & (codes[list(given)] == np.array(key, codes.dtype).reshape(-1, 1)).all(axis=0)
        table = np.zeros((5, 5))
        np.add.at(table, (codes[x, rows], codes[y, rows]), weights[rows])
        table = table[table.any(axis=1)][:, table.any(axis=0)]
        if min(table.shape) > 1:
            power = "log-likelihood" if kind == kernels.G_TEST else "pearson"
            found = stats.chi2_contingency(table, correction=False, lambda_=power)
            statistic, degrees = statistic + found.statistic, degrees + found.dof
    return statistic, degrees


@pytest.mark.parametrize("kind", [kernels.G_TEST, kernels.PEARSON])
@pytest.mark.parametrize("form", ["unit", "whole", "real", "missing"])
def test_statistics_by_definition(kind, form):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, [[2], [3], [4], [2], [3]], (5, 300)).astype(np.int8)
    codes[1] = np.where(rng.random(300) < 0.6, codes[0], codes[1])
    if form == "missing":
        codes[rng.random(codes.shape) < 0.1] = -1
    cards = np.array([2, 3, 4, 2, 3])
    weights = {"whole": rng.integers(0, 4, 300, np.int32), "real": rng.random(300)}.get(form, np.ones(300, np.int32))
    given_weights = weights[:1] if form in ("unit", "missing") else weights
    table = np.zeros(0) if form == "real" else logarithms(int(weights.sum()))
    for given in [(), (2,), (2, 3), (2, 3, 4), (4, 2, 3)]:
        out = np.empty((1, 3))
        asked = (table, kind, 0.0, 0, np.array([1]), np.array(given, np.int64), out)
        kernels.outcomes(codes, cards, given_weights, *asked)
        statistic, degrees = by_definition(codes, weights, 0, 1, given, kind)
        np.testing.assert_allclose(out[0], [statistic, degrees, special.chdtrc(degrees, statistic)], rtol=1e-8)


def test_tails_of_chi_square():
    for degrees, share in itertools.product((1.0, 2.0, 5.0, 40.0, 999.0), (0.01, 0.5, 0.9, 1.0, 1.1, 2.0, 6.0)):
        wanted = special.chdtrc(degrees, share * degrees)
        assert kernels.chi_square_tail(share * degrees, degrees) == pytest.approx(wanted, rel=1e-10)
    assert kernels.chi_square_tail(0.0, 3.0) == 1.0
    assert kernels.chi_square_tail(5.0, 0.0) == 1.0
    assert kernels.chi_square_tail(np.inf, 2.0) == 0.0 or kernels.chi_square_tail(1e6, 2.0) == 0.0


def test_subsets_come_in_order():
    places, found = np.arange(2), [(0, 1)]
    while kernels.next_subset(places, 4) >= 0:
        found.append(tuple(places.tolist()))
    assert found == list(itertools.combinations(range(4), 2))
    assert kernels.next_subset(np.arange(0), 4) == -1


def test_equal_rows_are_grouped():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, (4, 200)).astype(np.int8)
    ids = np.empty(200, np.int32)
    groups = kernels.group_equal(codes, np.full(4, 3), np.array([0, 2]), 200, ids)
    pairs = [tuple(row) for row in codes[[0, 2]].T.tolist()]
    assert groups == len(set(pairs)) == len(set(zip(ids.tolist(), pairs, strict=True)))
    assert kernels.group_equal(codes, np.full(4, 3), np.array([0, 2]), 5, ids) == -1


@pytest.mark.parametrize("is_full", [False, True])
def test_separating_sets_are_those_of_single_tests(is_full):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 400)
    noisy = [np.where(rng.random(400) < 0.7, x, rng.integers(0, 2, 400)) for _ in range(4)]
    codes, cards, weights = np.array([x, *noisy], np.int8), np.full(5, 2), np.ones(1, np.int32)
    adjacent = ~np.eye(5, dtype=bool)
    for size in range(4):
        done, best, chosen = np.eye(5, dtype=bool)[0], np.full(5, -1.0), np.full((5, size), -1)
        asked = (np.arange(1, 5), adjacent, 0, size, 0.2, done, best, chosen, NEVER)
        count = kernels.separate(codes, cards, weights, logarithms(400), kernels.G_TEST, is_full, *asked)
        wanted, tests = np.full(5, -1.0), 0
        for given in itertools.combinations(range(1, 5), size):
            for y in range(1, 5):
                if y not in given and wanted[y] <= 0.2:
                    out, full = np.empty((1, 3)), float(2**size if is_full else 0)
                    where = (0, np.array([y]), np.array(given, np.int64), out)
                    kernels.outcomes(codes, cards, weights, logarithms(400), kernels.G_TEST, full, *where)
                    wanted[y], tests = max(wanted[y], out[0, 2]), tests + 1
        np.testing.assert_allclose(best[1:], wanted[1:], rtol=1e-9)
        assert count == tests
        assert (done[1:] == (wanted[1:] > 0.2)).all()


def test_questions_of_an_earlier_turn_are_not_asked_again():
    adjacent = ~np.eye(4, dtype=bool)
    assert kernels.is_asked(adjacent, 1, 2, np.array([3]))
    assert not kernels.is_asked(adjacent, 2, 1, np.array([3]))
    assert not kernels.is_asked(adjacent, 1, 3, np.array([3]))
    adjacent[1, 3] = False
    assert kernels.is_asked(adjacent, 2, 1, np.array([3]))
