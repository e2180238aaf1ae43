"""Factors over arrays: their positions, their shapes, and their numbering in a model."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ModelError, ScopeError
from sepset.factors.potentials import Parity, Potts
from sepset.factors.table import Table
from sepset.models.blocks import over_scopes, pairwise, unary
from sepset.models.markovnet import MarkovNet
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

pixel = Discrete.array("pixel", (2, 2), states=3)


def test_unary_one_factor_a_variable():
    logs = np.arange(12.0).reshape(2, 2, 3)
    bound = unary(pixel, logs).bind(Universe([Discrete("first"), pixel]))
    assert bound.scopes.tolist() == [[1], [2], [3], [4]]
    assert bound.factor(2, Universe([Discrete("first"), pixel])).log_values.tolist() == pytest.approx([6, 7, 8])
    shared = unary(pixel, [0.0, 1.0, 2.0]).bind(Universe([pixel]))
    assert shared.shared
    assert len(shared) == 4
    single = unary(Discrete("a"), [0.0, -1.0]).bind(Universe([Discrete("z"), Discrete("a")]))
    assert single.scopes.tolist() == [[1]]
    with pytest.raises(ModelError, match=r"shape \(2, 2, 3\) or \(3,\)"):
        unary(pixel, np.zeros((2, 2)))


def test_pairwise_over_grids_and_pairs():
    grid = pairwise(pixel.grid_edges(), Potts(2.0)).bind(Universe([pixel]))
    assert grid.scopes.tolist() == [[0, 2], [1, 3], [0, 1], [2, 3]]
    a, b, c = (Discrete(n) for n in "abc")
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    both = pairwise([(a, b), (c, b)], table).bind(Universe([c, b, a]))
    assert both.scopes.tolist() == [[2, 1], [0, 1]]
    assert both.factor(0, Universe([c, b, a])).values.tolist() == table.tolist()
    assert pairwise([(a, b)], Table((a, b), table)).bind(Universe([a, b])).factor(0, Universe([a, b])).size == 4
    each = pairwise([(a, b), (b, c)], np.stack([table, np.log(table)]), space="log").bind(Universe([a, b, c]))
    assert each.factor(1, Universe([a, b, c])).values == pytest.approx(table)
    with pytest.raises(ModelError, match="pairs of variables"):
        pairwise([(a, b, c)], np.ones((2, 2, 2)))


def test_blocks_of_any_arity():
    bit = Discrete.array("bit", 6)
    checks = over_scopes([[0, 1, 2], [3, 4, 5]], Parity(), array=bit)
    assert repr(checks) == "FactorArray(2 factors of 3 variables over 'bit')"
    assert checks.bind(Universe([bit])).cards == (2, 2, 2)
    mixed = over_scopes([(Discrete("a"), pixel[0, 1]), (Discrete("b"), pixel[1, 1])], np.ones((2, 3)))
    assert mixed.cards() == (2, 3)


def test_no_factors_at_all():
    lone = Discrete.array("lone", (1, 1))
    for empty in (over_scopes([], np.ones((2, 2))), pairwise([], Potts(1.0)), pairwise(lone.grid_edges(), Potts(1.0))):
        assert len(empty) == 0
        assert len(empty.bind(Universe([lone]))) == 0
    assert MarkovNet.potts(lone, 1.0).num_factors == 0


def test_refusals():
    a, b, c = Discrete("a"), Discrete("b", 3), Discrete("c")
    with pytest.raises(ModelError, match="one shape"):
        over_scopes([(a, c), (a, b)], np.ones((2, 2)))
    with pytest.raises(ModelError, match="equally many variables"):
        over_scopes([(a, c), (a,)], np.ones((2, 2)))
    with pytest.raises(ModelError, match=r"values of shape \(2, 2\) or \(1, 2, 2\)"):
        over_scopes([(a, c)], np.ones((3, 3)))
    with pytest.raises(ScopeError, match="positions 0 to 3"):
        over_scopes([[0, 4]], Potts(1.0), array=pixel)
    with pytest.raises(ScopeError, match="matrix of positions"):
        over_scopes([0, 1], Potts(1.0), array=pixel)
    with pytest.raises(ScopeError, match="Unknown array"):
        unary(pixel, [0.0, 0.0, 0.0]).bind(Universe([a]))
