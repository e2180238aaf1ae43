"""Cells, groups and multiplicities agree with the definition of each CPD."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.noisy import NoisyOr
from sepset.cpds.parameters import child_states, multinomials
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.variables.variable import Discrete
from support import random_models
from support.cpd_contract import all_rows


@pytest.mark.parametrize("seed", range(10))
def test_rows_use_the_parameter_that_is_their_probability(seed):
    rng = np.random.default_rng(seed)
    for cpd in (c for c in random_models.structured_net(rng).model.cpds if multinomials(c)):
        rows = all_rows(cpd)
        np.testing.assert_allclose(cpd.parameters[cpd.cells(rows)], np.exp(cpd.log_probability(rows)), atol=1e-12)
        assert cpd.statistics(rows).tolist() == np.bincount(cpd.cells(rows), minlength=len(cpd.parameters)).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_groups_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    for cpd in (c for c in random_models.structured_net(rng).model.cpds if multinomials(c)):
        try:
            groups = cpd.groups
        except NotApplicable:
            continue
        sums = np.bincount(groups, weights=cpd.multiplicities * cpd.parameters)
        np.testing.assert_allclose(sums, 1.0, atol=1e-9)
        assert all(cpd.describe_group(g).startswith("(") for g in range(len(sums)))


def test_other_cpds_are_none():
    assert multinomials(NoisyOr(Discrete("x"), {Discrete("a"): 0.5})) is None


def test_rules_that_contexts_share_have_no_groups():
    a, x = Discrete("a"), Discrete("x", 3)
    shared = RuleCPD(x, [({x: 0}, 0.5), ({a: 0, x: 1}, 0.5), ({a: 0, x: 2}, 0.0), ({a: 1, x: {1, 2}}, 0.25)])
    with pytest.raises(NotApplicable, match="several contexts share"):
        _ = shared.groups


def test_cells_know_their_states():
    x, u = Discrete("x", 3), Discrete("u")
    assert child_states(TableCPD(x, np.full((2, 3), 1 / 3), given=u), 3).argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    rules = RuleCPD(x, [({x: {1, 2}}, 0.25), ({x: 0}, 0.5)])
    assert child_states(rules, 3).tolist() == [[False, True, True], [True, False, False]]
