from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import FileFormatError, NotApplicable
from sepset.factors.block import FactorBlock, Single
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.hybrid import CanonicalTable
from sepset.factors.potentials import (
    AllDifferent,
    AtLeastOne,
    Cardinality,
    Ising,
    Parity,
    Potential,
    Potts,
    RobustPotts,
    TruncatedLinear,
    TruncatedQuadratic,
)
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.io.cursor import JsonSource
from sepset.io.jsonfactors import block_document, factor_document, read_block, read_factor
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real, Vector
from support.strategies import scopes, tables, variable_lists


def cursor(document):
    return JsonSource(json.dumps(document, allow_nan=False), "f.json").root()


@st.composite
def placed_tables(draw):
    variables = draw(variable_lists(0, 4))
    return Universe(variables), draw(tables(draw(scopes(variables))))


@given(placed_tables())
def test_tables_come_back(case):
    variables, table = case
    back = read_factor(cursor(factor_document(table)), variables)
    assert back.scope == table.scope
    assert back.flat.tobytes() == table.flat.tobytes()


@given(placed_tables())
def test_sparse_tables_come_back(case):
    variables, table = case
    sparse = SparseTable.from_table(table)
    back = read_factor(cursor(factor_document(sparse)), variables)
    assert isinstance(back, SparseTable)
    assert back.codes.tolist() == sparse.codes.tolist()
    assert back.logs.tobytes() == sparse.logs.tobytes()


A, B, X, P = Discrete("a", 2), Discrete("b", 3), Real("x"), Vector("p", 2)
KNOWN = Universe([A, B, X, P])


@pytest.mark.parametrize("logs", [[0.0, -1e5], [-1e300, 5.0], [-np.inf, 700.0], [-800.0, -801.0], [-np.inf, -np.inf]])
def test_tables_beyond_the_range_of_floats_come_back(logs):
    table = Table.from_log(A, logs)
    back = read_factor(cursor(factor_document(table)), KNOWN)
    for state in A.states:
        assert back.log_value({"a": state}) == pytest.approx(table.log_value({"a": state}), rel=1e-15)


def test_scaled_tables_come_back_bit_for_bit():
    table = Table(A, [3.0, 5.0])
    for _ in range(8):
        table = table * table
    back = read_factor(cursor(factor_document(table)), KNOWN)
    assert back.log_values == pytest.approx(table.log_values, rel=1e-15)


@pytest.mark.parametrize(
    "factor",
    [
        CanonicalGaussian((X,), [[2.0]], h=[1.0], g=-3.0),
        CanonicalGaussian((P, X), np.eye(3), h=[1.0, 2.0, 3.0], g=0.5),
        CanonicalTable((A, X), [[[1.0]], [[2.0]]], h=[[0.0], [1.0]], g=[0.0, -np.inf]),
        CanonicalTable((B, A, P), np.tile(np.eye(2), (6, 1, 1)), h=np.zeros((6, 2)), g=np.arange(6.0)),
    ],
)
def test_gaussian_factors_come_back(factor):
    back = read_factor(cursor(factor_document(factor)), KNOWN)
    assert type(back) is type(factor)
    assert back.scope == factor.scope
    for key in ("K", "h", "g"):
        assert getattr(back.forms, key).tobytes() == getattr(factor.forms, key).tobytes()


PIXELS = Universe([Discrete.array("pixel", (3, 3), states=2)])
POTENTIALS = [
    Potts(1.5),
    Ising(-0.5),
    TruncatedLinear(2.0, 3.0),
    TruncatedLinear(2.0),
    TruncatedQuadratic(1.0, 2.0),
    Parity(),
    AtLeastOne(),
    AllDifferent(),
    RobustPotts(1.5),
    Cardinality((0.0, -np.inf, 1.0)),
]


@pytest.mark.parametrize("potential", POTENTIALS, ids=repr)
def test_potentials_come_back(potential):
    block = FactorBlock([[0, 1], [4, 2]], (2, 2), values=potential)
    back = read_block(cursor(block_document(block)), PIXELS)
    assert back.potential == potential
    assert back.scopes.tolist() == block.scopes.tolist()


@pytest.mark.parametrize("space", ["linear", "log"])
@pytest.mark.parametrize("rows", [1, 3])
def test_blocks_of_values_come_back(space, rows):
    values = np.random.default_rng(0).random((rows, 4))
    values[0, 1] = 0.0 if space == "linear" else -np.inf
    block = FactorBlock([[0, 1], [1, 2], [7, 3]], (2, 2), values=values, space=space)
    back = read_block(cursor(block_document(block)), PIXELS)
    assert (back.space, back.shared) == (space, rows == 1)
    assert back.values.tobytes() == block.values.tobytes()


def test_singles_and_empty_blocks_come_back():
    single = Single(Table(A, [1, 2]), [0])
    assert read_block(cursor(block_document(single)), KNOWN).values.tolist() == [1, 2]
    empty = FactorBlock(np.zeros((0, 2), np.int64), (2, 2), values=Potts(1.0))
    assert len(read_block(cursor(block_document(empty)), PIXELS)) == 0


class Own(Potential):
    def check(self, cards):
        pass

    def log_values(self, codes):
        return np.zeros(codes.shape[:-1])


def test_what_has_no_form():
    with pytest.raises(NotApplicable, match="no form for the potential"):
        block_document(FactorBlock([[0, 1]], (2, 2), values=Own()))
    with pytest.raises(NotApplicable, match="no form for the factor"):
        factor_document(object())
    with pytest.raises(NotApplicable, match="no form for"):
        block_document(object())


TABLE = {"kind": "table", "scope": ["a"], "values": [1, 2]}
BLOCK = {"kind": "block", "cards": [2, 2], "count": 1, "scopes": [0, 1], "values": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("document", "variables", "message"),
    [
        (TABLE | {"kind": "cable"}, KNOWN, "expected one of table"),
        (TABLE | {"values": [1]}, KNOWN, "has 1 numbers; it needs 2"),
        (TABLE | {"values": [1, -2]}, KNOWN, "finite values >= 0"),
        (TABLE | {"scope": ["a", "a"]}, KNOWN, "it needs 4"),
        (TABLE | {"scope": ["a", "a"], "values": [1, 2, 3, 4]}, KNOWN, "a"),
        (TABLE | {"scope": ["x"]}, KNOWN, "discrete"),
        ({"kind": "sparse", "scope": ["a"], "codes": [2], "logs": [0]}, KNOWN, "found"),
        ({"kind": "sparse", "scope": ["a"], "codes": [0, 1], "logs": [0]}, KNOWN, "1 rows of 1 codes"),
        ({"kind": "sparse", "scope": ["a"], "codes": [0, 0], "logs": [0, 1]}, KNOWN, "twice"),
        ({"kind": "gaussian", "scope": ["x"], "K": [1, 2], "h": [0], "g": [0]}, KNOWN, "expected 1 numbers"),
        ({"kind": "gaussian", "scope": ["a"], "K": [1], "h": [0], "g": [0]}, KNOWN, "continuous"),
        (BLOCK | {"scopes": [0]}, PIXELS, "need 2 positions"),
        (BLOCK | {"scopes": [0, 9]}, PIXELS, "not above 8"),
        (BLOCK | {"scopes": [0, 0]}, PIXELS, "twice"),
        (BLOCK | {"cards": [2, 3]}, PIXELS, "no variable with the numbers of states"),
        (BLOCK | {"cards": [2] * 40, "scopes": [0] * 40}, PIXELS, "expected 1099511627776 numbers"),
        (BLOCK | {"values": [1]}, PIXELS, "expected 4 numbers"),
        (BLOCK | {"potential": {"kind": "pots"}}, PIXELS, "expected one of"),
        (BLOCK | {"potential": {"kind": "cardinality", "logs": [0]}}, PIXELS, "two or more log values"),
        (BLOCK | {"potential": {"kind": "cardinality", "logs": [0, 1]}}, PIXELS, "1 binary variables"),
        (BLOCK | {"potential": {"kind": "potts"}}, PIXELS, "'weight'"),
        (BLOCK | {"potential": {"kind": "potts", "weight": 1, "limit": 2}}, PIXELS, "unknown key"),
    ],
)
def test_what_is_refused(document, variables, message):
    with pytest.raises(FileFormatError) as caught:
        read_block(cursor(document), variables)
    assert message in str(caught.value)
