"""Completed rows keep what they have and fill the rest as max-product does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ImpossibleEvidence
from sepset.inference.evidencerows import EvidenceRows
from sepset.inference.exact.cliquetree import CliqueTree
from sepset.learning.fit import fit
from sepset.learning.incomplete.em import EM, HardEM
from sepset.learning.incomplete.hard import completed
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.random_incomplete import completions, incomplete


@given(incomplete(num_rows=4))
@settings(max_examples=30)
def test_each_row_is_completed_by_its_most_probable_values(case):
    net, rows = case
    columns, logs = completed(CliqueTree().prepare(net.problem()), EvidenceRows.of(rows, net.variables), net)
    for i, row in enumerate(rows.rows()):
        assert_allclose(np.exp(logs[i]), max(p for _, p in completions(net, row)), rtol=1e-10)
        for variable in net.variables:
            if row[variable.name] is not None:
                assert columns[variable][i] == variable.code(row[variable.name])


def test_impossible_rows_are_refused():
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [0.5, 0.5]))
    rows = Dataset({"a": [1], "b": [None]}, [a, b])
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        completed(CliqueTree().prepare(net.problem()), EvidenceRows.of(rows, net.variables), net)


def test_auxiliaries_are_summed_out_not_maximized():
    causes = [Discrete(f"u{i}") for i in range(4)]
    x = Discrete("x")
    net = BayesNet(*(TableCPD(u, [0.6, 0.4]) for u in causes), NoisyOr(x, dict.fromkeys(causes, 0.7), leak=0.2))
    assert net.cpd("x").auxiliaries
    rows = Dataset({"x": [1, 0, None], "u0": [None, 1, None]}, net.variables, missing_columns="allow")
    _, logs = completed(CliqueTree().prepare(net.problem()), EvidenceRows.of(rows, net.variables), net)
    for log, row in zip(logs, rows.rows(), strict=True):
        assert_allclose(np.exp(log), max(p for _, p in completions(net, row)), rtol=1e-10)


@pytest.mark.parametrize("rows", [{"a": [0, 1, 0], "b": [0, 0, None]}, {"a": [0, 1, 0], "b": [0, None, None]}])
def test_impossible_rows_are_named_with_holes_or_without(rows):
    """Row 1 says what the start excludes; EM refuses it in the same words."""
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], given=a))
    messages = []
    for method in (EM(start="model"), HardEM(start="model")):
        with pytest.raises(ImpossibleEvidence, match="1 of 3 different rows have probability zero: rows 1,") as caught:
            fit(net, rows, method)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_rows_of_weight_zero_may_be_impossible():
    a = Discrete("a")
    found = fit(BayesNet(TableCPD(a, [1.0, 0.0])), {"a": [0, 1]}, HardEM(start="model"), weights=[1.0, 0.0])
    assert found.model.cpd("a").values.tolist() == [1.0, 0.0]
