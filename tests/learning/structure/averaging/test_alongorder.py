"""Posteriors given an order: worked numbers, predictions that sum to one, draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.learning.structure.averaging.alongorder import AlongOrder
from sepset.learning.structure.averaging.exhaustive import Exhaustive
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from support.score_tables import COUNTS_22, ROW_22

THREE = Columns.of(ROW_22, weights=COUNTS_22)


def test_worked_numbers():
    task = StructureTask(THREE, BDeu(1.0))
    expected = {"abc": -86.789862, "bac": -86.789862, "acb": -86.108696, "cab": -86.108696}
    expected |= {"bca": -86.103944, "cba": -86.103944}
    for order, value in expected.items():
        assert AlongOrder(order, num_graphs=0).average(task).log_evidence == pytest.approx(value, abs=1e-6)


def test_edges_against_enumeration_and_draws():
    for constraints in (Constraints(), Constraints(max_parents=1)):
        task = StructureTask(THREE, BDeu(1.0), constraints=constraints)
        every = Exhaustive().average(task)
        forward = [not (g[1, 0] or g[2, 0] or g[2, 1]) for g in every.parents]
        weights = every.weights * forward
        found = AlongOrder("abc", num_graphs=4000).average(task)
        assert found.edges == pytest.approx(np.tensordot(weights / weights.sum(), every.parents, 1), abs=1e-12)
        assert np.tensordot(found.weights, found.parents, 1) == pytest.approx(found.edges, abs=0.04)


def test_predictions_sum_to_one():
    found = AlongOrder("bca").average(StructureTask(THREE, BDeu(1.0)))
    rows = itertools.product((0, 1), repeat=3)
    total = sum(np.exp(found.log_predictive({"a": [a], "b": [b], "c": [c]})) for a, b, c in rows)
    assert total == pytest.approx(1.0, abs=1e-9)
