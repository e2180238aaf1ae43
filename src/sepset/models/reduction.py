r"""Reduction of a problem by evidence, and powers of its factors, one block at a time.

$$\phi[\mathbf e](\mathbf y) = \phi(\mathbf y, \mathbf e)$$

Reference: Koller & Friedman, definition 4.5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.data.duplicates import group_codes
from sepset.errors import NotClosed, TooLarge
from sepset.factors.algebra import MAX_ENTRIES
from sepset.factors.block import Block, FactorBlock, Single
from sepset.factors.potentials import Potential
from sepset.factors.table import Table
from sepset.problem import Problem
from sepset.variables.array import VariableArray
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

WIDE = 2**10
"""The entries of a table above which evidence leaves a named potential without one, where it can."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """The observed values, and the numbering of the remaining variables.

    Attributes:
        kept: the remaining variables.
        new_id: the new position of each old one, -1 if observed.
        code: the observed code of each old position, -1 if unobserved.
        values: the observed states and numbers by variable.
    """

    kept: Universe
    new_id: Ints
    code: Ints
    values: dict[Any, Any]


def reduced(problem: Problem, evidence: Evidence) -> tuple[Universe, tuple[Block, ...]]:
    """The variables without a known value, and the factors reduced; likelihoods become factors of their own."""
    plan = _plan(problem.variables, evidence)
    blocks = [new for block in problem.blocks for new in _reduce_block(block, plan)]
    for place, weights in sorted(evidence.weights.items()):
        variable = problem.variables[place]
        assert isinstance(variable, Discrete)  # only discrete variables have weights
        blocks.append(Single(Table(variable, weights), [plan.new_id[place]]))
    return plan.kept, tuple(blocks)


def _plan(variables: Universe, evidence: Evidence) -> Reduction:
    observed = np.zeros(len(variables), bool)
    observed[list(evidence.observed)] = True
    code = np.full(len(variables), -1, np.int64)
    code[list(evidence.codes)] = list(evidence.codes.values())
    values: dict[Any, Any] = {}
    for place in evidence.observed:
        variable = variables[place]
        known = evidence.reals.get(place)
        values[variable] = variable.states[evidence.codes[place]] if isinstance(variable, Discrete) else known
    new_id = np.where(observed, -1, np.cumsum(~observed) - 1)
    return Reduction(Universe(_kept_parts(variables, observed)), new_id, code, values)


def _kept_parts(variables: Universe, observed: Bools) -> Iterator[Any]:
    """The remaining parts: arrays without an observed element stay lazy, others yield their unobserved elements."""
    start = 0
    for part in variables.parts:
        size = len(part) if isinstance(part, VariableArray) else 1
        here = observed[start : start + size]
        if not here.any():
            yield part
        elif isinstance(part, VariableArray):
            yield from (part.element(int(i)) for i in np.flatnonzero(~here))
        start += size


def _reduce_block(block: Any, plan: Reduction) -> Iterator[Block]:
    if isinstance(block, FactorBlock):
        yield from _reduce_many(block, plan)
        return
    factor = block.factor(0, plan.kept) if not isinstance(block, Single) else block.value
    if (plan.new_id[block.scopes[0]] < 0).any():
        factor = factor.condition({v: plan.values[v] for v in factor.scope if v in plan.values})
    yield Single(factor, plan.kept.ids(factor.scope))


def _reduce_many(block: FactorBlock, plan: Reduction) -> Iterator[Block]:
    """The block of untouched factors, then one block for each set of observed axes."""
    scopes = plan.new_id[block.scopes]
    known = scopes < 0
    touched = known.any(axis=1)
    if not touched.all() or not len(block):
        content = _content(block, np.flatnonzero(~touched))
        yield FactorBlock(scopes[~touched].astype(block.scopes.dtype), block.cards, values=content, space=block.space)
    if not touched.any():
        return
    rows = np.flatnonzero(touched)
    first, which = group_codes(known[rows], [2] * block.arity)
    for number, pattern in enumerate(known[rows[first]]):
        chosen = rows[which == number]
        if _is_wide(block, pattern):
            yield from _reduce_wide(block, plan, chosen, pattern)
            continue
        logs = _slices(block, chosen, pattern, plan.code[block.scopes[chosen][:, pattern]])
        rest = tuple(c for c, fixed in zip(block.cards, pattern, strict=True) if not fixed)
        if rest:
            yield FactorBlock(scopes[chosen][:, ~pattern], rest, values=logs, space="log")
        else:
            yield Single(Table.from_log((), [logs.sum()]), np.zeros(0, np.int64))


def _is_wide(block: FactorBlock, pattern: Bools) -> bool:
    """Whether a table of the axes that are not observed is worth avoiding, and the potential may avoid it."""
    size = math.prod(c for c, fixed in zip(block.cards, pattern, strict=True) if not fixed)
    if block.potential is None or size <= WIDE:
        return False
    return block.potential.reduced([0] * int(pattern.sum()), int((~pattern).sum())) is not None


def _reduce_wide(block: FactorBlock, plan: Reduction, rows: Ints, pattern: Bools) -> Iterator[Block]:
    """The part of a potential of many variables that observed codes leave, without a table."""
    cards = tuple(c for c, fixed in zip(block.cards, pattern, strict=True) if not fixed)
    assert block.potential is not None  # as asked
    for row in rows:
        own = plan.new_id[block.scopes[row]][~pattern]
        rest = block.potential.reduced(plan.code[block.scopes[row][pattern]].tolist(), len(own))
        assert rest is not None  # as asked
        if rest.potential is not None:
            yield FactorBlock(own[None].astype(block.scopes.dtype), cards, values=rest.potential)
        if not rest.is_possible:
            yield Single(Table.from_log((), [-np.inf]), np.zeros(0, np.int64))
        for place, card in zip(own, cards, strict=True) if rest.ruled_out else ():
            variable = plan.kept[int(place)]
            assert isinstance(variable, Discrete)  # potentials are functions of states
            yield Single(Table(variable, ~np.isin(np.arange(card), rest.ruled_out)), [place])


def _content(block: FactorBlock, rows: Ints) -> Floats | Potential:
    if block.potential is not None:
        return block.potential
    assert block.values is not None  # a block without potential has values
    return block.values if block.shared else block.values[rows]


def _slices(block: FactorBlock, rows: Ints, pattern: Bools, codes: Ints) -> Floats:
    """The logarithms `[rows, rest]` of factors at the observed codes of the axes in `pattern`."""
    fixed, free = np.flatnonzero(pattern), np.flatnonzero(~pattern)
    size = math.prod(block.cards[a] for a in free)
    if size * len(rows) > MAX_ENTRIES:
        raise TooLarge(f"Reducing {block!r} by evidence would take {size * len(rows):.3g} numbers.")
    cells = np.array(list(itertools.product(*(range(block.cards[a]) for a in free))), np.int64).reshape(size, -1)
    first, which = group_codes(codes, [block.cards[a] for a in fixed])
    distinct = codes[first]
    full = np.empty((len(distinct), size, block.arity), np.int64)
    full[:, :, fixed] = distinct[:, None, :]
    full[:, :, free] = cells[None]
    if block.potential is not None:
        return np.asarray(block.potential.log_values(full)[which])
    places = np.asarray(np.ravel_multi_index(tuple(np.moveaxis(full, 2, 0)), block.cards))[which]
    assert block.values is not None  # a block without potential has values
    source = np.zeros(len(rows), np.int64) if block.shared else rows
    picked = block.values[source[:, None], places]
    if block.space == "log":
        return np.asarray(picked)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(picked))


def scaled_block(block: Any, scale: float, variables: Universe) -> Block:
    r"""The block of $\phi_i^s$; $0^0 = 1$."""
    if not isinstance(block, FactorBlock):
        return Single(block.factor(0, variables) ** scale, block.scopes[0])
    power = None if block.potential is None or scale == 0 else block.potential.power(scale)
    if power is not None:
        return FactorBlock(block.scopes, block.cards, values=power)
    logs = _all_logs(block)
    if scale < 0 and (logs == -np.inf).any():
        raise NotClosed(f"{block!r} ** {scale:g} raises a zero to a negative power.")
    return FactorBlock(block.scopes, block.cards, values=logs * scale if scale else np.zeros_like(logs), space="log")


def _all_logs(block: FactorBlock) -> Floats:
    if block.potential is not None:
        return block.potential.log_table(block.cards).reshape(1, -1)
    assert block.values is not None  # a block without potential has values
    if block.space == "log":
        return block.values
    with np.errstate(divide="ignore"):
        return np.log(block.values)
