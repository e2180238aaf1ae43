"""Completed rows keep what they have and fill the rest as max-product does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from random_incomplete import completions, incomplete
from sepset.cpds.table import TableCPD
from sepset.errors import ImpossibleEvidence
from sepset.inference.cliquetree import CliqueTree
from sepset.inference.findings import Findings
from sepset.learning.hard import completed
from sepset.models.bayesnet import BayesNet
from sepset.variables import Discrete


@given(incomplete(num_rows=4))
@settings(max_examples=30)
def test_each_row_is_completed_by_its_most_probable_values(case):
    net, rows = case
    columns, logs = completed(CliqueTree().prepare(net.problem()), Findings.of(rows, net.variables), net)
    for i, row in enumerate(rows.rows()):
        assert_allclose(np.exp(logs[i]), max(p for _, p in completions(net, row)), rtol=1e-10)
        for variable in net.variables:
            if row[variable.name] is not None:
                assert columns[variable][i] == variable.code(row[variable.name])


def test_impossible_rows_are_refused():
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [0.5, 0.5]))
    from sepset.data.dataset import Dataset

    rows = Dataset({"a": [1], "b": [None]}, [a, b])
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        completed(CliqueTree().prepare(net.problem()), Findings.of(rows, net.variables), net)
