"""Factors, blocks of factors and named potentials in our JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.factors.block import Block, FactorBlock, Single
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
from sepset.factors.regression import Regression
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.io.cursor import Cursor
from sepset.io.jsonvariables import continuous_all, discrete_all, found_all, names
from sepset.variables.universe import Universe

Document: TypeAlias = dict[str, Any]

_POTENTIALS: dict[str, type[Potential]] = {
    "all_different": AllDifferent,
    "at_least_one": AtLeastOne,
    "cardinality": Cardinality,
    "ising": Ising,
    "parity": Parity,
    "potts": Potts,
    "robust_potts": RobustPotts,
    "truncated_linear": TruncatedLinear,
    "truncated_quadratic": TruncatedQuadratic,
}


def block_document(block: Block) -> Document:
    """A block of factors, or its only factor, as JSON."""
    if isinstance(block, Single):
        return factor_document(block.value)
    if not isinstance(block, FactorBlock):
        raise NotApplicable(f"JSON has no form for {block!r}. Write its factors one by one.")
    document: Document = {"kind": "block", "cards": list(block.cards), "scopes": block.scopes.reshape(-1).tolist()}
    document["count"] = len(block)
    if block.potential is not None:
        return document | {"potential": _potential_document(block.potential)}
    assert block.values is not None, "a block without a potential has values"
    key = "logs" if block.space == "log" else "values"
    return document | {key: _logs_document(block.values.reshape(-1))}


def _potential_document(potential: Potential) -> Document:
    kind = next((name for name, known in _POTENTIALS.items() if type(potential) is known), None)
    if kind is None or not dataclasses.is_dataclass(potential):
        raise NotApplicable(f"JSON has no form for the potential {potential!r}. Give the block its values instead.")
    if isinstance(potential, Cardinality):
        return {"kind": kind, "logs": _logs_document(np.array(potential.log_numbers))}
    numbers = dataclasses.asdict(potential)
    return {"kind": kind} | {key: number for key, number in numbers.items() if number != math.inf}


def factor_document(factor: Factor) -> Document:
    """One factor as JSON.

    >>> from sepset.variables.variable import Discrete
    >>> factor_document(Table(Discrete("a"), [1, 2]))
    {'kind': 'table', 'scope': ['a'], 'values': [1.0, 2.0]}
    """
    if isinstance(factor, Table):
        return {"kind": "table", "scope": names(factor.scope)} | _table_numbers(factor)
    if isinstance(factor, SparseTable):
        codes = factor.codes.reshape(-1).tolist()
        return {"kind": "sparse", "scope": names(factor.scope), "codes": codes, "logs": factor.logs.tolist()}
    if isinstance(factor, Regression):
        factor = factor.canonical
    if isinstance(factor, CanonicalGaussian | CanonicalTable):
        kind = "gaussian" if isinstance(factor, CanonicalGaussian) else "gaussian_table"
        forms = factor.forms
        arrays = {key: getattr(forms, key).reshape(-1).tolist() for key in ("K", "h")}
        return {"kind": kind, "scope": names(factor.scope)} | arrays | {"g": _logs_document(forms.g)}
    raise NotApplicable(f"JSON has no form for the factor {factor!r}.")


def _table_numbers(table: Table) -> Document:
    """The values if floats represent them exactly, otherwise their logarithms."""
    values = table.values.reshape(-1)
    if table.space == "linear" and np.array_equal(np.ldexp(values, -table.exponent), table.flat):
        return {"values": values.tolist()}
    return {"logs": _logs_document(table.log_values.reshape(-1))}


def _logs_document(logs: Floats) -> list[float | None]:
    return [None if number == -math.inf else number for number in logs.tolist()]


def read_block(item: Cursor, variables: Universe) -> Factor | FactorBlock:
    """The factor or block of factors in an entry."""
    if item["kind"].text() != "block":
        return read_factor(item, variables)
    item.keys("kind", "cards", "scopes", "count", "values", "logs", "potential")
    cards = tuple(item["cards"].wholes(1).tolist())
    count = item["count"].whole()
    scopes = item["scopes"].wholes(0, max(len(variables) - 1, 0))
    if scopes.size != count * len(cards):
        raise item["scopes"].error(f"{count} factors of {len(cards)} variables need {count * len(cards)} positions")
    rows = scopes.reshape(count, len(cards))
    if (variables.cards[rows] != np.array(cards, np.int64)).any():
        raise item["scopes"].error(f"a position has no variable with the numbers of states {list(cards)}")
    if "potential" in item:
        potential = _read_potential(item["potential"])
        return item.made(lambda: FactorBlock(rows, cards, values=potential))
    return _read_valued(item, rows, cards)


def _read_valued(item: Cursor, rows: Any, cards: tuple[int, ...]) -> FactorBlock:
    key = "values" if "values" in item else "logs"
    flat = item[key].reals() if key == "values" else item[key].logs()
    size = math.prod(cards)
    if flat.ndim != 1 or flat.size not in (size, len(rows) * size):
        raise item[key].error(f"expected {size} numbers, or {len(rows) * size}")
    space: Any = "linear" if key == "values" else "log"
    return item.made(lambda: FactorBlock(rows, cards, values=flat.reshape(-1, size), space=space))


def _read_potential(item: Cursor) -> Potential:
    kind = item["kind"].text()
    if kind not in _POTENTIALS:
        raise item["kind"].error(f"expected one of {', '.join(_POTENTIALS)}")
    if kind == "cardinality":
        item.keys("kind", "logs")
        logs = item["logs"].logs()
        return item.made(lambda: Cardinality(tuple(np.atleast_1d(logs).reshape(-1).tolist())))
    make: Any = _POTENTIALS[kind]
    fields = [field.name for field in dataclasses.fields(make)]
    item.keys("kind", *fields)
    required = [field.name for field in dataclasses.fields(make) if field.default is dataclasses.MISSING]
    numbers = {key: item[key].real() for key in fields if key in item or key in required}
    potential: Potential = item.made(lambda: make(**numbers))
    return potential


def read_factor(item: Cursor, variables: Universe) -> Factor:
    """The factor in an entry."""
    kind = item["kind"].text()
    readers: dict[str, Callable[[Cursor, Universe], Factor]] = {
        "table": _read_table,
        "sparse": _read_sparse,
        "gaussian": _read_gaussian,
        "gaussian_table": _read_gaussian_table,
    }
    if kind not in readers:
        raise item["kind"].error(f"expected one of {', '.join(readers)}")
    return readers[kind](item, variables)


def _read_table(item: Cursor, variables: Universe) -> Table:
    item.keys("kind", "scope", "values", "logs")
    scope = discrete_all(item["scope"], variables)
    key = "values" if "values" in item else "logs"
    numbers = item[key].reals() if key == "values" else item[key].logs()
    size = math.prod(variable.num_states for variable in scope)
    if numbers.shape != (size,):
        raise item[key].error(f"the table has {numbers.size} numbers; it needs {size}")
    if key == "values":
        return item[key].made(lambda: Table(scope, numbers))
    return item[key].made(lambda: Table.from_log(scope, numbers))


def _read_sparse(item: Cursor, variables: Universe) -> SparseTable:
    item.keys("kind", "scope", "codes", "logs")
    scope = discrete_all(item["scope"], variables)
    logs = item["logs"].logs()
    codes = item["codes"].wholes()
    if codes.size != logs.size * len(scope):
        raise item["codes"].error(f"{logs.size} rows of {len(scope)} codes were expected; found {codes.size} codes")
    rows = codes.reshape(logs.size, len(scope))
    return item.made(lambda: SparseTable.from_log(scope, rows, logs=logs))


def _read_gaussian(item: Cursor, variables: Universe) -> CanonicalGaussian:
    item.keys("kind", "scope", "K", "h", "g")
    scope = continuous_all(item["scope"], variables)
    size = sum(variable.size for variable in scope)
    K, h, g = _forms(item, 1, size)
    return item.made(lambda: CanonicalGaussian(scope, K[0], h=h[0], g=float(g[0])))


def _read_gaussian_table(item: Cursor, variables: Universe) -> CanonicalTable:
    item.keys("kind", "scope", "K", "h", "g")
    scope = found_all(item["scope"], variables)
    size = sum(getattr(variable, "size", 0) for variable in scope)
    entries = math.prod(getattr(variable, "num_states", 1) for variable in scope)
    K, h, g = _forms(item, entries, size)
    return item.made(lambda: CanonicalTable(scope, K, h=h, g=g))


def _forms(item: Cursor, entries: int, size: int) -> tuple[Floats, Floats, Floats]:
    K, h, g = item["K"].reals(), item["h"].reals(), item["g"].logs()
    for key, array, length in (("K", K, entries * size * size), ("h", h, entries * size), ("g", g, entries)):
        if array.shape != (length,):
            raise item[key].error(f"expected {length} numbers; found {array.size}")
    return K.reshape(entries, size, size), h.reshape(entries, size), g
