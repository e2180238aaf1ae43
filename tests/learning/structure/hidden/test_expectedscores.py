"""Expected counts and scores of any family, against enumeration of all completions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.hidden import expectedscores
from sepset.learning.structure.hidden.expectedscores import ExpectedScorer
from sepset.learning.structure.hidden.missingcells import Completions
from support.incomplete_rows import completions, masked_rows, random_network


def scorer_of(seed: int, score: object) -> tuple[ExpectedScorer, list[tuple[int, np.ndarray, float]]]:
    rng = np.random.default_rng(seed)
    net = random_network(rng, (2, 3, 2, 2))
    data = masked_rows(net, 12, 0.45, rng).with_weights(rng.uniform(0.5, 2.0, 12))
    columns = Columns(data, missing="available")
    parents = [sorted(columns.names.index(p) for p in net.parents(name)) for name in columns.names]
    weights = np.asarray(data.weights)
    every = [(row, codes, chance * weights[row]) for row, codes, chance in completions(net, data)]
    return ExpectedScorer(columns, Completions.of(columns, parents, net, rng), score), every


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_all_families_are_those_of_enumeration(seed: int) -> None:
    scorer, every = scorer_of(seed, ss.BIC())
    cards = scorer.columns.cards.tolist()
    for child in range(4):
        others = [c for c in range(4) if c != child]
        for parents in itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(4)):
            table = np.zeros([cards[c] for c in (*parents, child)])
            for _, codes, mass in every:
                table[tuple(codes[[*parents, child]])] += mass
            assert scorer.counts(child, parents) == pytest.approx(table, abs=1e-12)


@pytest.mark.parametrize("score", [ss.BIC(), ss.structure.AIC(), ss.BDeu(3.0), ss.K2()], ids=repr)
def test_scores_are_those_of_weighted_completed_rows(score: object, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, every = scorer_of(1, score)
    mass = np.array([m for *_, m in every])
    rows = ss.Dataset.from_codes(scorer.columns.variables, np.array([c for _, c, _ in every])).with_weights(mass)
    plain = Scorer(Columns(rows), score)
    for child in range(4):
        for parents in ((), ((child + 1) % 4,), ((child + 1) % 4, (child + 2) % 4)):
            assert scorer.additions(child, parents) == pytest.approx(plain.additions(child, parents), nan_ok=True)
            assert scorer.family(child, parents) == pytest.approx(plain.family(child, parents))
    monkeypatch.setattr(expectedscores, "MOST_CELLS", 1)
    sparse = ExpectedScorer(scorer.columns, scorer.completions, score)
    assert sparse.additions(0, (1, 2)) == pytest.approx(plain.additions(0, (1, 2)), nan_ok=True)
    assert math.isfinite(scorer.total([[], [0], [0, 1], []]))


@pytest.mark.parametrize("score", [ss.structure.FNML(), ss.structure.LeaveOneOut(), ss.structure.BDs(1.0)], ids=repr)
def test_scores_that_need_whole_counts_are_refused(score: object) -> None:
    with pytest.raises(NotApplicable, match=r"expected counts.*BIC\(\)"):
        ss.learn_structure({"a": [0, 1, None], "b": [0, 1, 1]}, method=ss.StructuralEM(), score=score)
