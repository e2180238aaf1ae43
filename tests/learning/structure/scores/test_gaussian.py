"""BGe against Student predictions, quadrature and equivalence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.scores.gaussian import BGe


def columns_of(n: int, num_rows: int = 25) -> Columns:
    rng = np.random.default_rng(n)
    cells = rng.normal(size=(num_rows, n)) @ rng.normal(size=(n, n)) + 1.5
    return Columns.of({f"x{k}": cells[:, k] for k in range(n)})


def test_one_column_is_a_product_of_student_predictions() -> None:
    columns = columns_of(1)
    a, freedom, mean = 2.0, 5.0, 0.3
    scale = a * (freedom - 2) / (a + 1)
    size, center, degrees, spread, found = a, mean, freedom, scale, 0.0
    for x in columns.dataset.columns[0]:
        variance = spread * (size + 1) / (size * degrees)
        found += student.logpdf(x, degrees, center, np.sqrt(variance))
        spread += size / (size + 1) * (x - center) ** 2
        center = (size * center + x) / (size + 1)
        size, degrees = size + 1, degrees + 1
    assert BGe(a, freedom, mean=mean).family(0, (), columns) == pytest.approx(found)


@pytest.mark.parametrize("score", [BGe(), BGe(2.5, 9.0, mean=0.5), ss.BIC()], ids=repr)
def test_equivalent_structures_have_equal_scores(score: ss.structure.FamilyScore) -> None:
    scorer = Scorer(columns_of(3), score)
    chain, reverse, fork = [(), (0,), (1,)], [(1,), (2,), ()], [(1,), (), (1,)]
    assert scorer.total(chain) == pytest.approx(scorer.total(reverse)) == pytest.approx(scorer.total(fork))
    full, other = [(), (0,), (0, 1)], [(1, 2), (2,), ()]
    assert scorer.total(full) == pytest.approx(scorer.total(other))


def test_interventions_drop_rows() -> None:
    columns = columns_of(2)
    is_set = np.arange(25) % 3 == 0
    marked = Columns.of({"x0": columns.values[0], "x1": columns.values[1]}, interventions={"x1": is_set})
    natural = Columns.of({"x0": columns.values[0][~is_set], "x1": columns.values[1][~is_set]})
    assert BGe(mean=0.0).family(1, (0,), marked) == pytest.approx(BGe(mean=0.0).family(1, (0,), natural))


def test_bad_settings() -> None:
    with pytest.raises(ss.SepsetError, match="mean_size"):
        BGe(0.0)
    with pytest.raises(ss.SepsetError, match="freedom"):
        BGe(1.0, 2.5).family(0, (), columns_of(2))
    with pytest.raises(ss.errors.NotApplicable, match="discrete"):
        ss.learn_structure({"a": [0, 1, 1]}, score=BGe())
