"""The engine of family scores: as the scores themselves, kept, in batches, with priors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure import costs, familyscores
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer, check_kinds
from sepset.learning.structure.scores.evidence import BDs, LeaveOneOut
from sepset.learning.structure.scores.gaussian import BGe
from sepset.learning.structure.scores.likelihood import AIC, BIC, LogLikelihood
from sepset.learning.structure.scores.normalized import FNML, QNML
from sepset.learning.structure.structureprior import EdgePenalty, EdgeProbabilities
from support.blocks import in_blocks
from support.enumerated_classes import classes, parents_of

SCORES = [BIC(), AIC(), LogLikelihood(), ss.BDeu(7.0), ss.K2()]


def columns_of(seed: int, num_rows: int = 60) -> Columns:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, num_rows), rng.integers(0, 3, num_rows)
    c = (a + b + (rng.random(num_rows) < 0.3)) % 2
    d, e = rng.integers(0, 4, num_rows), np.zeros(num_rows, int)
    weights = [None, rng.integers(0, 3, num_rows), rng.random(num_rows)][seed % 3]
    return Columns.of(dict(zip("abcde", (a, b, c, d, e), strict=True)), weights=weights)


@pytest.mark.parametrize("score", SCORES, ids=repr)
@in_blocks("seed", range(6))
def test_the_engine_is_the_score(score: ss.structure.FamilyScore, seed: int) -> None:
    columns = columns_of(seed)
    scorer = Scorer(columns, score)
    for child in range(5):
        others = [k for k in range(5) if k != child]
        sets = [s for size in range(5) for s in itertools.combinations(others, size)]
        expected = np.array([score.family(child, s, columns) for s in sets])
        assert scorer.families(child, sets) == pytest.approx(expected, rel=1e-10, abs=1e-9)
        by_set = dict(zip(sets, expected, strict=True))
        for parents in ([], others[:1], others[1:3]):
            toggled = scorer.toggles(child, parents)
            assert np.isnan(toggled[child])
            for x in others:
                changed = tuple(sorted({*parents} ^ {x}))
                assert toggled[x] == pytest.approx(by_set[changed], rel=1e-10, abs=1e-9)


def test_families_are_computed_once() -> None:
    scorer = Scorer(columns_of(0), BIC())
    first = scorer.families(0, [(1,), (2,), (1, 2), ()])
    computed = scorer.num_scores
    assert np.array_equal(scorer.families(0, [(1,), (2,), (1, 2), ()]), first)
    assert scorer.family(0, (2, 1)) == first[2]
    assert scorer.num_scores == computed


def test_the_prior_belongs_to_families() -> None:
    columns = columns_of(1)
    odds = EdgeProbabilities({("a", "c"): 0.9, ("b", "c"): 0.2})
    plain, weighed, penalized = (
        Scorer(columns, BIC()),
        Scorer(columns, BIC(), odds),
        Scorer(columns, BIC(), EdgePenalty(0.1)),
    )
    assert weighed.family(2, (0, 1)) - plain.family(2, (0, 1)) == pytest.approx(np.log(9) + np.log(0.25))
    assert penalized.family(2, (0, 1)) - plain.family(2, (0, 1)) == pytest.approx(2 * np.log(0.1))
    for scorer in (weighed, penalized):
        added = scorer.additions(2, (0,))
        assert added[1] == pytest.approx(scorer.family(2, (0, 1)))
        assert np.isnan(added[[0, 2]]).all()
    assert plain.is_equivalent
    assert penalized.is_equivalent
    assert not weighed.is_equivalent


def test_available_cases_are_scaled_to_all_rows() -> None:
    a, b = [0, 0, 1, 1, 0, 1], [0, 1, None, 1, 0, None]
    columns = Columns.of({"a": a, "b": b}, missing="available")
    counts = np.array([[2, 1], [0, 1]])
    likelihood = 2 * np.log(2 / 3) + np.log(1 / 3)
    assert Scorer(columns, LogLikelihood()).family(1, (0,)) == pytest.approx(likelihood * 6 / counts.sum())


def test_rows_set_by_intervention_count_for_other_families_only() -> None:
    rng = np.random.default_rng(3)
    rows = {"a": rng.integers(0, 2, 50), "b": rng.integers(0, 2, 50)}
    is_set = rng.random(50) < 0.4
    scorer = Scorer(Columns.of(rows, interventions={"b": is_set}), ss.BDeu(1.0))
    natural = {name: cells[~is_set] for name, cells in rows.items()}
    assert scorer.family(1, (0,)) == pytest.approx(Scorer(Columns.of(natural), ss.BDeu(1.0)).family(1, (0,)))
    assert scorer.family(0, (1,)) == pytest.approx(Scorer(Columns.of(rows), ss.BDeu(1.0)).family(0, (1,)))


def test_members_of_a_class_have_equal_scores_if_the_score_says_so() -> None:
    """All 185 classes of DAGs over four columns, with equal and with fractional weights."""
    reals = dict(zip("abcd", np.random.default_rng(0).normal(size=(4, 30)), strict=True))
    for seed in (0, 2):
        states = columns_of(seed)
        four = Columns(states.dataset.select(list("abcd")))
        prior = ss.BayesNet.random(
            ss.DAG("abcd", [("a", "b"), ("b", "c"), ("a", "d")]),
            states={v.name: v.states for v in four.variables},
            seed=1,
        )
        own = [*SCORES, ss.priors.BDe(prior, 4.0), LeaveOneOut(ss.BDeu(3.0)), BDs(2.0), FNML(), QNML()]
        cases = [(four, score) for score in own if seed == 0 or not isinstance(score, FNML | QNML)]
        for columns, score in [*cases, (Columns.of(reals), BIC()), (Columns.of(reals), BGe())]:
            scorer, spread = Scorer(columns, score), 0.0
            for members in classes(4).values():
                totals = [scorer.total(parents_of(edges, 4)) for edges in members]
                spread = max(spread, max(totals) - min(totals))
            assert (spread < 1e-9) == score.is_equivalent, (score, spread)


def test_the_evidence_of_a_prior_network() -> None:
    columns = columns_of(2)
    uniform = ss.BayesNet(*(ss.TableCPD(v, np.full(v.num_states, 1 / v.num_states)) for v in columns.variables))
    one, other = Scorer(columns, ss.priors.BDe(uniform, 5.0)), Scorer(columns, ss.BDeu(5.0))
    for child, parents in [(0, ()), (2, (0, 1)), (3, (0, 2))]:
        assert one.family(child, parents) == pytest.approx(other.family(child, parents))


def test_a_score_must_fit_the_columns() -> None:
    mixed = Columns.of({"a": [0, 1, 1], "x": [0.5, 1.25, 2.5]})
    with pytest.raises(ss.errors.NotApplicable, match="'x' is real"):
        Scorer(mixed, ss.K2())
    with pytest.raises(ss.errors.NotApplicable, match="score="):
        check_kinds("bic", mixed)


@pytest.mark.parametrize("num_rows", [1, 63, 64, 65, 200])
def test_sets_of_rows_count_as_rows_do(monkeypatch: pytest.MonkeyPatch, num_rows: int) -> None:
    rng = np.random.default_rng(num_rows)
    cells = {f"v{k}": rng.integers(0, k % 4 + 1, num_rows) for k in range(9)}
    columns = Columns.of({**cells, "row": np.arange(num_rows)})
    assert columns.is_unit
    for score in (BIC(), ss.BDeu(2.0)):
        by_bits = Scorer(columns, score)
        found = [by_bits.additions(0, p) for p in ((), (1,), (2, 3))]
        with monkeypatch.context() as patch:
            patch.setattr(costs, "CELLS_BY_BITS", -1)
            by_rows = Scorer(columns, score)
            expected = [by_rows.additions(0, p) for p in ((), (1,), (2, 3))]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    "score", [BIC(), ss.BDeu(2.0), ss.structure.BDs(2.0), ss.structure.FNML(), ss.structure.LeaveOneOut()], ids=repr
)
def test_joint_states_as_intersections_give_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch, score: ss.structure.FamilyScore
) -> None:
    """To the last bit: many candidates, then single families, some of whose contexts have no rows."""
    rng = np.random.default_rng(5)
    columns = Columns.of({f"v{k}": rng.integers(0, k % 4 + 1, 70) for k in range(9)})
    assert columns.is_unit
    families = [(3, ()), (3, (2,)), (5, (2, 6)), (7, (1, 3)), (1, (2, 3, 5)), (0, (1,)), (8, ())]
    by_bits = Scorer(columns, score)
    found = [by_bits.additions(child, parents) for child, parents in families]
    singles = [by_bits.family(child, (*parents, 4)) for child, parents in families]
    with monkeypatch.context() as patch:
        patch.setattr(costs, "CELLS_BY_BITS", -1)
        by_rows = Scorer(columns, score)
        np.testing.assert_array_equal(found, [by_rows.additions(child, parents) for child, parents in families])
        assert singles == [by_rows.family(child, (*parents, 4)) for child, parents in families]


@pytest.mark.parametrize(
    "score", [*SCORES, ss.structure.BDs(2.0), ss.structure.FNML(), ss.structure.LeaveOneOut()], ids=repr
)
def test_large_tables_count_only_cells_with_rows(
    monkeypatch: pytest.MonkeyPatch, score: ss.structure.FamilyScore
) -> None:
    monkeypatch.setattr(familyscores, "MOST_CELLS", 0)
    for seed in (0, 1):
        columns = columns_of(seed)
        sparse = Scorer(columns, score)
        for child, parents in [(0, ()), (2, (0, 1)), (3, (0, 2)), (4, (1,))]:
            expected = score.family(child, parents, columns)
            assert sparse.family(child, parents) == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_columns_with_as_many_states_as_rows() -> None:
    rng = np.random.default_rng(0)
    names = [str(k) for k in range(20_000)]
    columns = Columns.of({"one": names, "two": rng.permutation(names).tolist(), "coin": rng.integers(0, 2, 20_000)})
    scorer = Scorer(columns, LogLikelihood())
    assert scorer.family(0, (1,)) == pytest.approx(0.0, abs=1e-6)
    assert scorer.family(0, ()) == pytest.approx(-20_000 * np.log(20_000))
    with pytest.raises(ss.TooLarge, match="cells"):
        columns.counts(0, (1,))


def test_scores_that_need_complete_rows_say_so() -> None:
    rows = Columns.of({"x": [0.5, None, 1.5, 2.25], "y": [1.0, 2.5, 0.25, 3.5]}, missing="available")
    with pytest.raises(ss.errors.NotApplicable, match="complete rows"):
        Scorer(rows, ss.structure.BGe())
    states = Columns.of({"x": [0, None, 1, 1], "y": [1, 0, 0, 1]}, missing="available")
    with pytest.raises(ss.errors.NotApplicable, match="impute"):
        Scorer(states, ss.structure.Holdout())


def test_interventions_and_missing_cells_together() -> None:
    a, b = [0, 0, 1, 1, 0, 1], [0, 1, None, 1, 0, 1]
    was_set = [False, False, False, False, False, True]
    columns = Columns.of({"a": a, "b": b}, missing="available", interventions={"b": was_set})
    likelihood = 2 * np.log(2 / 3) + np.log(1 / 3)
    assert Scorer(columns, LogLikelihood()).family(1, (0,)) == pytest.approx(likelihood * 5 / 4)


def _never_together(seed: int) -> dict[str, list[int | None]]:
    """Columns `a` and `b` of which no row has both, and a complete one."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 2, (3, 40)).tolist()
    return {"a": [*a[:20], *[None] * 20], "b": [*[None] * 20, *b[20:]], "c": c}


SUMS = [LogLikelihood(), ss.BIC(), ss.structure.AIC(), ss.BDeu(1.0), ss.structure.BDs(1.0), ss.structure.QNML()]


@pytest.mark.parametrize("score", SUMS, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_family_that_no_row_observes_is_no_perfect_fit(
    score: ss.structure.FamilyScore, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sparse:
        monkeypatch.setattr("sepset.learning.structure.familyscores.MOST_CELLS", 1)
    scorer = Scorer(Columns.of(_never_together(0), missing="available"), score)
    assert scorer.family(0, (1,)) == scorer.family(2, (0, 1)) == -np.inf == scorer.additions(1, ())[0]
    assert np.isfinite([scorer.family(0, ()), scorer.family(2, (0,)), scorer.family(1, (2,))]).all()
    found = ss.learn_structure(_never_together(0), method=ss.HillClimb(), score=score, missing="available")
    assert not found.graph.has_edge("a", "b")
    assert not found.graph.has_edge("b", "a")
    assert np.isfinite(found.score)


def test_real_columns_that_no_row_has_together() -> None:
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 40))
    x[:20], y[20:] = np.nan, np.nan
    rows = {"x": x, "y": y, "z": z, "k": ["u", "v"] * 20}
    scorer = Scorer(Columns.of(rows, missing="available"), ss.BIC())
    assert scorer.family(0, (1,)) == scorer.family(2, (0, 1)) == scorer.family(0, (1, 3)) == -np.inf
    assert np.isfinite([scorer.family(0, ()), scorer.family(0, (2, 3))]).all()
    found = ss.learn_structure(rows, missing="available")
    assert not found.graph.has_edge("x", "y")
    assert not found.graph.has_edge("y", "x")


def test_a_column_that_no_row_observes_is_isolated() -> None:
    rows = _never_together(2) | {"gone": [None] * 40, "all": [0, 1] * 20}
    data = ss.Dataset(rows, [ss.Discrete(name, 2) for name in rows])
    found = ss.learn_structure(data, missing="available", interventions={"all": [True] * 40}, method=ss.HillClimb())
    assert np.isfinite(found.score)
    assert "gone" not in {end for edge in found.graph.edges for end in edge}
    assert not found.graph.parents("all")


def test_required_edges_need_rows() -> None:
    known = ss.structure.Constraints(required=["a -> b"])
    with pytest.raises(ss.errors.DataError, match="require edges from 'a' to 'b'"):
        ss.learn_structure(_never_together(3), constraints=known, missing="available")
