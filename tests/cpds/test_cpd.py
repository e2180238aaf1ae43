"""Parameter blocks and the protocol itself."""

from __future__ import annotations

import pytest

from sepset.cpds.cpd import CPD, ContextIndependence, ParameterBlock
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError
from sepset.variables.variable import Discrete


def test_blocks_compare_by_name():
    assert ParameterBlock("a") == ParameterBlock("a") != ParameterBlock("b")
    assert len({ParameterBlock("a"), ParameterBlock("a")}) == 1


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_block_needs_a_name(name):
    with pytest.raises(ModelError, match="non-empty string"):
        ParameterBlock(name)


def test_the_default_block_is_the_childs():
    coin = Discrete("coin")
    assert TableCPD(coin, [0.5, 0.5]).block == ParameterBlock("coin")
    assert TableCPD(coin, [0.5, 0.5], block="shared").block == ParameterBlock("shared")
    assert TableCPD(coin, [0.5, 0.5], block=ParameterBlock("x")).block == ParameterBlock("x")


def test_elements_of_an_array_have_blocks_of_their_own():
    coins = Discrete.array("coin", 2)
    first, second = (TableCPD(c, [0.5, 0.5]) for c in coins)
    assert first.block != second.block


def test_a_table_meets_the_protocol():
    assert isinstance(TableCPD(Discrete("coin"), [0.5, 0.5]), CPD)
    assert not isinstance("no", CPD)


def test_context_independences_are_values():
    a = Discrete("a")
    assert ContextIndependence({"b": 1}, (a,)) == ContextIndependence({"b": 1}, (a,))
