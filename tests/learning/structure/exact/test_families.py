"""Tables of all families against single ones; bounds; pruned against unpruned under constraints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import TooLarge
from sepset.graphs.graph import DAG
from sepset.learning.structure import costs
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact import families
from sepset.learning.structure.exact.dynamic import best_dag, dense_scores
from sepset.learning.structure.exact.families import (
    bound_above,
    ceiling,
    dense_families,
    estimated_sets,
    greedy_family,
    num_families,
    score_table,
    useful_parents,
)
from sepset.learning.structure.exact.knownorder import KnownOrder
from sepset.learning.structure.exact.scoretable import ScoreTable, bits
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import AIC, BIC, LogLikelihood
from sepset.learning.structure.structureprior import EdgePenalty, PriorNetwork, UniformSizes
from support.score_tables import dependent_rows

SCORES = [BIC(), AIC(), LogLikelihood(), BDeu(2.0), K2()]
PRIORS = [None, EdgePenalty(0.3), PriorNetwork(DAG.parse("x0 -> x1; x2; x3"), 0.2), UniformSizes()]
CONSTRAINTS = [
    Constraints(),
    Constraints(required=[("x0", "x1")], forbidden=[("x2", "x3")], max_parents=2),
    Constraints(tiers=[["x2"], ["x0", "x1"], ["x3"]], within_tiers=False),
]


def columns(weights=None):
    rows = dependent_rows(0, 4, 60, states=3)
    rows["x3"] = rows["x3"] % 2
    return Columns.of(rows, weights=weights)


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("weights", [None, np.arange(60) % 3, np.linspace(0.1, 2.0, 60)], ids=["one", "whole", "any"])
def test_tables_are_scores_of_families(score, weights):
    data = columns(weights)
    for prior, constraints in itertools.product(PRIORS, CONSTRAINTS):
        scorer, allowed = Scorer(data, score, prior), constraints.bind(data.names)
        table = score_table(scorer, allowed)
        for child in range(4):
            masks, scores = table.of(child)
            assert all(allowed.permits(_with(allowed, child, m)) for m in masks)
            expected = [scorer.family(child, bits(m)) for m in masks.tolist()]
            assert scores.tolist() == pytest.approx(expected, abs=1e-8)
        assert np.allclose(dense_families(scorer, allowed), dense_scores(table))


def _with(allowed, child, mask):
    """The required parents of all columns, and these of one."""
    parents = [np.flatnonzero(allowed.required[:, v]).tolist() for v in range(4)]
    parents[child] = list(bits(mask))
    return parents


@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_pruned_is_unpruned_under_constraints(score, monkeypatch):
    data = columns()
    for prior, constraints in itertools.product(PRIORS, CONSTRAINTS):
        scorer, allowed = Scorer(data, score, prior), constraints.bind(data.names)
        best = best_dag(dense_families(scorer, allowed)).score
        for limit in (1 << 26, 0):  # sums over all sets, and sets level by level with bounds
            monkeypatch.setattr(families, "MOST_SETS", max(limit, 64))
            of_families = families.FamilySums.of if limit else staticmethod(lambda _: None)
            monkeypatch.setattr(families.FamilySums, "of", of_families)
            pruned = score_table(scorer, allowed, pruned=True)
            monkeypatch.undo()
            assert best_dag(dense_scores(pruned)).score == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_bounds_hold_for_all_supersets(score, prior):
    for data in (columns(), columns(np.linspace(0.1, 2.0, 60)), columns(1 + np.arange(60) % 2)):
        scorer = Scorer(data, score, prior)
        for child in range(4):
            others = [p for p in range(4) if p != child]
            sets = [u for k in range(4) for u in itertools.combinations(others, k)]
            for inner in sets:
                bound = bound_above(scorer, child, inner)
                assert all(scorer.family(child, u) <= bound + 1e-9 for u in sets if set(inner) <= set(u))


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_ceilings_hold_for_all_sets(score, prior):
    """Against all allowed sets; without a penalty or a prior the ceiling of the likelihood is reached."""
    for data in (columns(), columns(np.linspace(0.1, 2.0, 60))):
        scorer = Scorer(data, score, prior)
        for constraints in CONSTRAINTS:
            allowed = constraints.bind(data.names)
            for child in range(4):
                best = score_table(scorer, allowed).of(child)[1].max()
                found = ceiling(scorer, allowed, child)
                assert best <= found + 1e-9
                if isinstance(score, LogLikelihood) and prior is None and allowed.max_parents == 3:
                    assert best == pytest.approx(min(found, 0.0), abs=1e-9)


def test_estimates_of_the_number_of_sets():
    """Exact up to seven candidates; near the number where there are more, from a small part of the scores."""
    for seed, score in ((1, BIC()), (2, BDeu(3.0))):
        data = Columns.of(dependent_rows(seed, 8, 60, states=3))
        scorer, allowed = Scorer(data, score), Constraints(required=[("x0", "x1")]).bind(data.names)
        number = sum(len(families.bounded_families(scorer, allowed, v)[0]) for v in range(8))
        assert estimated_sets(scorer, allowed) == pytest.approx(number, rel=1e-12)
    data = Columns.of(dependent_rows(3, 12, 60))
    free = Constraints().bind(data.names)
    number = sum(len(families.bounded_families(Scorer(data, BIC()), free, v)[0]) for v in range(12))
    probing = Scorer(data, BIC())
    assert estimated_sets(probing, free) == pytest.approx(number, rel=0.25)
    assert probing.num_scores < number / 2


def test_bounds_leave_sets_uncounted():
    data = Columns.of(dependent_rows(1, 7, 40, states=4))
    scorer = Scorer(data, BIC())
    found = families.bounded_families(scorer, Constraints().bind(data.names), 0)
    assert len(found[0]) < 22  # of 64
    table = ScoreTable.of_children(data.names, [found] + [(np.zeros(1, np.int64), np.zeros(1))] * 6)
    assert table.of(0)[1][0] == pytest.approx(dense_families(scorer, Constraints().bind(data.names))[0].max(), abs=1e-9)


def test_numbers_of_families_for_a_known_order():
    """Of sets with up to d parents along an order, all children together: the sum of C(n, k) for k = 1 to d + 1."""
    for n, d, expected in [(10, 2, 175), (10, 3, 385), (37, 3, 74518)]:
        along = sum(len(list(itertools.combinations(range(i), k))) for i in range(n) for k in range(d + 1))
        assert along == expected
    assert num_families(5, 3) == 5 * 15


def test_missing_cells_and_interventions_are_asked_one_by_one():
    rows = dependent_rows(2, 3, 30)
    data = Columns.of(rows, interventions={"x1": np.arange(30) < 10})
    scorer = Scorer(data, BDeu(1.0))
    allowed = Constraints().bind(data.names)
    table = score_table(scorer, allowed)
    assert table.family(1, 0b101) == pytest.approx(scorer.family(1, [0, 2]))
    assert np.allclose(dense_families(scorer, allowed), dense_scores(table))


def test_too_many_columns_or_sets(monkeypatch):
    data = Columns.of({f"x{i}": [0, 1] for i in range(63)})
    with pytest.raises(TooLarge, match="up to 62 columns; found 63"):
        score_table(Scorer(data, BIC()), Constraints().bind(data.names))
    small = columns()
    free = Constraints().bind(small.names)
    monkeypatch.setattr(families, "MOST_FAMILIES", 31)
    with pytest.raises(TooLarge, match=r"4 columns have 32 parent sets .* about 512 B and 6.6e-05 s.*max_parents="):
        score_table(Scorer(small, BIC()), free)
    monkeypatch.setattr(families, "MOST_SETS", 5)
    monkeypatch.setattr(families, "MOST_ASKED", 15)
    for is_pruned in (False, True):
        with pytest.raises(TooLarge, match=r"parent sets that may be the best.*the limit is 15 sets"):
            score_table(Scorer(small, BIC()), free, pruned=is_pruned)


def test_more_parents_are_of_no_use():
    """No set larger than the bound is better than its best subset, with and without required parents."""
    data = Columns.of(dependent_rows(1, 7, 40, states=3))
    scorer = Scorer(data, BIC())
    for constraints in (Constraints(), Constraints(required=[("x0", "x1")], forbidden=[("x2", "x1")])):
        allowed = constraints.bind(data.names)
        for child in (0, 1):
            most = useful_parents(scorer, allowed, child)
            assert 1 < most < 5
            masks, scores = score_table(scorer, allowed).of(child)
            sizes = np.bitwise_count(np.asarray(masks))
            assert scores[sizes > most].max() < scores[sizes == allowed.required[:, child].sum()].max()
        assert ExactSearch("astar").learn(StructureTask(data, BIC(), None, constraints)).score == pytest.approx(
            ExactSearch("dynamic").learn(StructureTask(data, BIC(), None, constraints)).score
        )
    assert useful_parents(Scorer(data, BDeu(1.0)), Constraints(max_parents=3).bind(data.names), 0) == 3


def test_too_many_parent_sets_are_refused_before_they_are_scored():
    """60 columns, any parents: the evidence excludes few sets; greedy parents of one column tell that."""
    rng = np.random.default_rng(0)
    data = Columns.of({f"x{i}": rng.integers(0, 2, 100) for i in range(60)})
    task = StructureTask(data, BDeu(1.0))
    with pytest.raises(TooLarge, match=r"60 columns have at least .* parent sets .* s; the limit is"):
        ExactSearch().learn(task)
    assert task.scorer.num_scores < 2_000


def test_tables_that_take_much_longer_than_the_time_left_are_refused_before_the_work(monkeypatch):
    monkeypatch.setattr(costs, "SECONDS_ASKED", 10.0)
    rows = ss.sample(ss.datasets.load("alarm"), 500, seed=1).to_frame()
    rows = rows[[name for name in rows if rows[name].nunique() > 1]]
    with pytest.raises(TooLarge, match=r"s are left\. Set max_parents="):
        ss.learn_structure(rows, method=ss.ExactSearch(), until=ss.Until(seconds=600))


def test_greedy_parents():
    """One by one, each the best that is allowed, by scores of whole graphs."""
    data = Columns.of(dependent_rows(2, 5, 200))
    scorer = Scorer(data, BIC())
    allowed = Constraints(required=[("x4", "x2")], forbidden=[("x1", "x2")], max_parents=3).bind(data.names)
    parents, score = greedy_family(scorer, allowed, 2)
    expected = [4]
    while len(expected) < 3:
        scores = {p: scorer.family(2, [*expected, p]) for p in (0, 3) if p not in expected}
        best = max(scores, key=lambda p: scores[p])
        if scores[best] <= scorer.family(2, expected):
            break
        expected.append(best)
    assert parents == sorted(expected)
    assert score == pytest.approx(scorer.family(2, expected))


def test_a_known_order_of_many_columns_is_refused_before_the_work():
    """The last columns of an order have most of the sets: what they take is estimated before the first are scored."""
    rng = np.random.default_rng(0)
    rows = {f"x{k}": rng.integers(0, 2, 1_000) for k in range(40)}
    task = StructureTask(Columns.of(rows), BIC())
    with pytest.raises(TooLarge, match=r"40 columns have at least .* take about .*iB and .* s; the limit is"):
        KnownOrder(list(rows)).learn(task)
    assert task.scorer.num_scores <= 40 * 39 * 4
    few = StructureTask(Columns.of(rows), BIC(), constraints=Constraints(max_parents=2))
    assert KnownOrder(list(rows)).learn(few).gap == 0.0
