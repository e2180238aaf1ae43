"""Likelihood scores: worked numbers, information forms, equivalence and monotonicity."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.likelihood import AIC, BIC, LogLikelihood
from support import rational_normals

COINS = {"x": ["h", "h", "t", "t"], "y": ["h", "t", "h", "t"]}
COUNTS = [27, 22, 25, 26]


def scorer_of(score: ss.structure.FamilyScore) -> Scorer:
    return Scorer(Columns.of(COINS, weights=COUNTS), score)


def test_worked_numbers() -> None:
    information = 0.00185330
    gain = {s: scorer_of(s).family(1, [0]) - scorer_of(s).family(1, []) for s in (LogLikelihood(), BIC(), AIC())}
    assert gain[LogLikelihood()] == pytest.approx(100 * information, abs=1e-6)
    assert gain[BIC()] == pytest.approx(-2.1173, abs=1e-4)
    assert gain[AIC()] == pytest.approx(100 * information - 1, abs=1e-6)
    published = {
        ss.K2(): (-142.69890, -143.92374, -143.92258),
        ss.BDeu(1.0): (-143.59117, -146.26047, -146.26047),
        ss.BDeu(10.0): (-140.98095, -142.07546, -142.07546),
    }
    for score, expected in published.items():
        scorer = scorer_of(score)
        found = (scorer.total([[], []]), scorer.total([[], [0]]), scorer.total([[1], []]))
        assert found == pytest.approx(expected, abs=1e-5)


def test_the_example_against_k2() -> None:
    columns = Columns.of({"x": [0, 0, 1], "y": [0, 1, 0]}, weights=[1, 1, 0])
    k2, bdeu = Scorer(columns, ss.K2()), Scorer(columns, ss.BDeu(1.0))
    assert np.exp(k2.total([[], [0]])) == pytest.approx(1 / 18)
    assert np.exp(k2.total([[1], []])) == pytest.approx(1 / 24)
    assert np.exp(bdeu.total([[], [0]])) == pytest.approx(0.03125) == np.exp(bdeu.total([[1], []]))


@pytest.mark.parametrize(
    ("score", "first"),
    [
        (BIC(), (646, 119, 41, 18)),
        (ss.K2(), (424, 60, 14, 3)),
        (ss.BDeu(1.0), (775, 152, 55, 26)),
        (ss.BDeu(4.0), (526, 89, 29, 12)),
    ],
    ids=repr,
)
def test_the_size_from_which_an_edge_is_preferred(score: ss.structure.FamilyScore, first: tuple[int, ...]) -> None:
    for p, expected in zip((0.05, 0.10, 0.15, 0.20), first, strict=True):
        cells = np.array([0.25 + p / 2, 0.25 - p / 2, 0.25 - p / 2, 0.25 + p / 2])

        def gain(size: int, cells: np.ndarray = cells) -> float:
            scorer = Scorer(Columns.of(COINS, weights=size * cells), score)
            return scorer.family(1, [0]) - scorer.family(1, [])

        assert gain(expected) > 0
        assert gain(expected - 1) <= 0


@pytest.mark.parametrize(("p", "information"), [(0.05, 0.005008), (0.10, 0.020136), (0.15, 0.045701), (0.20, 0.082283)])
def test_an_edge_gains_the_information_of_its_ends(p: float, information: float) -> None:
    cells = np.array([0.25 + p / 2, 0.25 - p / 2, 0.25 - p / 2, 0.25 + p / 2])
    scorer = Scorer(Columns.of(COINS, weights=1_000 * cells), ss.structure.LogLikelihood())
    assert (scorer.family(1, [0]) - scorer.family(1, [])) / 1_000 == pytest.approx(information, abs=1e-6)


def random_columns(seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (50, 4))
    rows[:, 2] ^= rows[:, 0] & rows[:, 1]
    return Columns.of({name: rows[:, k] for k, name in enumerate("abcd")})


def entropy(columns: Columns, chosen: tuple[int, ...]) -> float:
    p = columns.joint(chosen).reshape(-1) / columns.total
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def test_information_forms() -> None:
    columns = random_columns(0)
    scorer = Scorer(columns, LogLikelihood())
    parents = [(), (0,), (0, 1), (1,)]
    by_information = [
        -entropy(columns, (k,)) + (entropy(columns, (k,)) + entropy(columns, p) - entropy(columns, (*p, k)) if p else 0)
        for k, p in enumerate(parents)
    ]
    assert scorer.total(parents) == pytest.approx(columns.total * sum(by_information))
    violations = 0.0
    for k, p in enumerate(parents):
        rest = tuple(j for j in range(k) if j not in p)
        if rest:
            violations += entropy(columns, (k, *p)) + entropy(columns, (*rest, *p)) - entropy(columns, (k, *rest, *p))
            violations -= entropy(columns, p) if p else 0.0
    assert scorer.total(parents) / columns.total == pytest.approx(-entropy(columns, (0, 1, 2, 3)) - violations)


@pytest.mark.parametrize("seed", range(3))
def test_more_parents_never_lower_the_likelihood(seed: int) -> None:
    scorer = Scorer(random_columns(seed), LogLikelihood())
    for child, size in itertools.product(range(4), range(3)):
        for parents in itertools.combinations([k for k in range(4) if k != child], size):
            added = scorer.additions(child, parents)
            assert (added[~np.isnan(added)] >= scorer.family(child, parents) - 1e-9).all()


def test_bad_settings() -> None:
    with pytest.raises(ss.SepsetError, match="penalty"):
        BIC(penalty=-1.0)


@pytest.mark.parametrize("kind", rational_normals.HARD_KINDS)
def test_scores_of_numbers_keep_their_digits(kind):
    data = rational_normals.hard_columns(3, kind)
    columns = Columns.of(data)
    a, b, y = (columns.names.index(name) for name in "aby")
    left = rational_normals.regression(data, "y", ("a", "b"))[2] / 30
    log_left = math.log(left.numerator) - math.log(left.denominator)
    expected = -15.0 * (math.log(2 * math.pi) + log_left + 1.0)
    assert LogLikelihood().family(y, (a, b), columns) == pytest.approx(expected, rel=1e-9)
    assert LogLikelihood().additions(y, (a,), np.array([b]), columns)[0] == pytest.approx(expected, rel=1e-9)
