"""Shared parts of the network formats: variables and tables as a file states them, and the network built from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.text import nearest
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.errors import FileFormatError, SepsetError
from sepset.models.bayesnet import BayesNet
from sepset.models.drawing import BLANK, Drawing
from sepset.variables.variable import Discrete, State

TOLERANCE = 1e-6
"""The distance from one that any row's sum may have."""

COARSE = 2e-2
"""The largest distance from one that is put down to the digits printed."""

MARGIN = 1e-12
"""For rounding: three times 0.333333 differs from one by 1e-6."""

NEGLIGIBLE = 1e-6
"""A number that is negative by less is a zero, as single precision leaves it."""

T = TypeVar("T")
EPSILON = float(np.finfo(np.float64).eps)


class Source(Protocol):
    """A file that can report where something is; the reader of each format decides what its marks mean."""

    def error(self, message: str, mark: int) -> FileFormatError:
        """The error about the element at `mark`."""


@dataclass(frozen=True, slots=True)
class VariableRecord:
    """A variable as a file states it."""

    name: str
    states: tuple[State, ...]
    mark: int


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A conditional table: values in C order over the parents, then the child, and the mark of each row."""

    child: str
    parents: tuple[str, ...]
    values: Floats
    mark: int
    rows: Sequence[int] = ()


Maker: TypeAlias = Callable[[Discrete, tuple[Discrete, ...]], CPD]


@dataclass(frozen=True, slots=True)
class MadeRecord:
    """A CPD that is not a table, constructed when its variables are known."""

    child: str
    parents: tuple[str, ...]
    make: Maker
    mark: int


@dataclass(frozen=True, slots=True)
class NetworkRecord:
    """A network as a file states it."""

    variables: tuple[VariableRecord, ...]
    cpds: tuple[TableRecord | MadeRecord, ...]
    name: str = ""
    notes: tuple[str, ...] = ()
    drawing: Drawing = BLANK


@dataclass(frozen=True, slots=True)
class Reading:
    """The treatment of rows that do not sum to one.

    Attributes:
        normalize: divide them by their sums; else they are kept as written.
        tolerance: the largest deviation of a row's sum from one; None for what its printed digits allow.
        has_weights: whether rows may be weights, as in potentials of Hugin.
    """

    normalize: bool = True
    tolerance: float | None = None
    has_weights: bool = False

    def are_weights(self, rows: Floats) -> Bools:
        """Which rows are weights: a number exceeds one, or the sum is at least 1.5, which no rounding explains."""
        if not self.has_weights:
            return np.zeros(len(rows), dtype=np.bool_)
        found: Bools = (rows > 1).any(axis=1) | (rows.sum(axis=1) >= 1.5)
        return found

    def allowed(self, row: Floats) -> float:
        """How far from one the sum of this row may be."""
        if self.tolerance is not None:
            return self.tolerance + MARGIN
        if self.are_weights(row[None])[0]:
            return math.inf
        return max(TOLERANCE, min(printing_error(row), COARSE)) + MARGIN


READING = Reading()
"""The default reading."""


def printing_error(row: Floats) -> float:
    r"""The largest error of the sum of numbers that were rounded or cut off on printing.

    With $d$ decimals each of $n$ numbers is off by less than $10^{-d}$; with $s$ significant digits a number $x$ is off
    by less than $10^{1 - s} \cdot 10^{\lfloor \log_{10} x \rfloor}$. Trailing zeros are not printed, so that the number
    with the most digits tells $d$ and $s$.

    >>> round(printing_error(np.array([0.333, 0.333, 0.333])), 9)
    0.003
    """
    shown = [np.format_float_scientific(x, trim="-").split("e") for x in row[row > 0].tolist()]
    digits = [len(mantissa.replace(".", "")) for mantissa, _ in shown]
    powers = [int(power) for _, power in shown]
    decimals = max((d - 1 - p for d, p in zip(digits, powers, strict=True)), default=0)
    significant = sum(10.0 ** (p + 1 - max(digits)) for p in powers)
    return max(len(row) * 10.0**-decimals, significant)


@dataclass(slots=True)
class Misses:
    """Rows that were renormalized, as the reading wants it, for the note about them."""

    reading: Reading = READING
    rows: int = 0
    largest: float = 0.0
    where: str = ""
    children: list[str] = field(default_factory=list)
    negatives: int = 0
    weights: int = 0

    def add(self, child: str, misses: Floats) -> None:
        """Count the rows of a child that did not sum to one, and record the largest deviation."""
        self.rows += int(np.count_nonzero(misses))
        self.children.append(child)
        if misses.max() > self.largest:
            self.largest, self.where = float(misses.max()), child

    def settled(self, child: str, rows: Floats, error: Callable[[int, float], FileFormatError]) -> tuple[Floats, float]:
        """The rows, normalized or as written, and how far from one they may sum; what was changed is counted."""
        scaled, missed = normalized_rows(rows, error, self.reading)
        if missed is None or not self.reading.normalize:
            return rows, max(TOLERANCE, 0.0 if missed is None else float(missed.max())) + MARGIN
        if self.reading.has_weights:
            is_weight = self.reading.are_weights(rows)
            self.weights += int(np.count_nonzero(missed[is_weight]))
            missed[is_weight] = 0.0
        if missed.any():
            self.add(child, missed)
        return scaled, TOLERANCE + MARGIN

    def note(self) -> tuple[str, ...]:
        """The notes for the model; none if every row was a distribution."""
        notes = []
        if self.rows:
            cpds = f"{len(self.children)} CPD{'s' * (len(self.children) > 1)}"
            notes.append(
                f"Renormalized {self.rows} row{'s' * (self.rows > 1)} of {cpds} on reading; "
                f"the largest deviation from one was {self.largest:.3g}, in that of {self.where}."
            )
        if self.weights:
            notes.append(f"Took {self.weights} row{'s' * (self.weights > 1)} as weights and divided by their sums.")
        if self.negatives:
            notes.append(f"Took {self.negatives} negative number{'s' * (self.negatives > 1)} above -1e-6 as zero.")
        return tuple(notes)


def network(record: NetworkRecord, source: Source, reading: Reading) -> BayesNet:
    """The Bayesian network that a record describes; any fault raises a `FileFormatError` with its position."""
    variables = _variables(record.variables, source)
    cpds = _by_child(record, variables, source)
    _refuse_cycle(cpds, source)
    misses = Misses(reading)
    made = [_cpd(cpds[name], variables, source, misses) for name in variables]
    mark = record.variables[0].mark if record.variables else 0
    notes = (*record.notes, *misses.note())
    return guarded(lambda: BayesNet(*made, name=record.name, notes=notes, drawing=record.drawing), source, mark)


def guarded(make: Callable[[], T], source: Source, mark: int) -> T:
    """The result of `make`; a `SepsetError` is raised again as an error about the file, at `mark`."""
    try:
        return make()
    except FileFormatError:
        raise
    except SepsetError as error:
        raise source.error(str(error), mark) from error


def _variables(records: tuple[VariableRecord, ...], source: Source) -> dict[str, Discrete]:
    found: dict[str, Discrete] = {}
    for record in records:
        if record.name in found:
            raise source.error(f"the variable {record.name!r} is declared twice", record.mark)
        try:
            found[record.name] = Discrete(record.name, record.states)
        except SepsetError as error:
            raise source.error(str(error), record.mark) from error
    return found


def _by_child(
    record: NetworkRecord, variables: Mapping[str, Discrete], source: Source
) -> dict[str, TableRecord | MadeRecord]:
    """The CPDs by child, after checking that each variable has exactly one and that its parents exist.

    A variable of one state needs none.
    """
    found: dict[str, TableRecord | MadeRecord] = {}
    for cpd in record.cpds:
        check_family(cpd.child, cpd.parents, variables, source, cpd.mark)
        if cpd.child in found:
            raise source.error(f"{cpd.child!r} has a second conditional distribution; it takes one", cpd.mark)
        found[cpd.child] = cpd
    for variable in record.variables:
        if variable.name not in found and len(variable.states) == 1:
            found[variable.name] = TableRecord(variable.name, (), np.ones(1), variable.mark)
        elif variable.name not in found:
            raise source.error(f"the variable {variable.name!r} has no conditional distribution", variable.mark)
    return found


def check_family(
    child: str, parents: Sequence[str], variables: Mapping[str, object], source: Source, mark: int
) -> None:
    """Raise if a name is not declared, or if a parent is named twice or is the child itself."""
    for name in (child, *parents):
        if name not in variables:
            raise source.error(f"no variable {name!r} is declared.{nearest(name, variables)}", mark)
    if len({child, *parents}) <= len(parents):
        raise source.error(f"{child!r} and its parents {list(parents)} name one variable twice", mark)


def _refuse_cycle(cpds: Mapping[str, TableRecord | MadeRecord], source: Source) -> None:
    """Raise if the CPDs have a directed cycle: removing childless variables repeatedly leaves some."""
    children = dict.fromkeys(cpds, 0)
    for cpd in cpds.values():
        for parent in cpd.parents:
            children[parent] += 1
    barren = [name for name, count in children.items() if not count]
    left = dict(cpds)
    while barren:
        for parent in left.pop(barren.pop()).parents:
            children[parent] -= 1
            if not children[parent]:
                barren.append(parent)
    if left:
        trail = _cycle(left)
        raise source.error(f"the arcs {' -> '.join(trail)} make a cycle", cpds[trail[0]].mark)


def _cycle(cpds: Mapping[str, TableRecord | MadeRecord]) -> list[str]:
    """A directed cycle among CPDs that all have children; in arc order, with its first name repeated at the end."""
    children = {parent: name for name, cpd in cpds.items() for parent in cpd.parents}
    walk, seen = next(iter(cpds)), dict[str, int]()
    while walk not in seen:
        seen[walk] = len(seen)
        walk = children[walk]
    return [*list(seen)[seen[walk] :], walk]


def _cpd(
    record: TableRecord | MadeRecord,
    variables: Mapping[str, Discrete],
    source: Source,
    misses: Misses,
) -> CPD:
    child, parents = variables[record.child], tuple(variables[name] for name in record.parents)
    if isinstance(record, MadeRecord):
        make = record.make
        return guarded(lambda: make(child, parents), source, record.mark)
    rows = _rows(record, child, parents, source)
    if rows.min(initial=0.0) < 0:
        misses.negatives += int(np.count_nonzero(rows < 0))
        rows = np.maximum(rows, 0.0)
    kept, tolerance = misses.settled(
        child.name, rows, lambda row, total: _row_error(record, parents, source, row, total)
    )
    return guarded(lambda: TableCPD(child, kept.reshape(-1), given=parents, tolerance=tolerance), source, record.mark)


def _rows(record: TableRecord, child: Discrete, parents: tuple[Discrete, ...], source: Source) -> Floats:
    size = math.prod(p.num_states for p in parents) * child.num_states
    if record.values.size != size:
        raise source.error(f"the table of {child.name} has {record.values.size} numbers; it needs {size}", record.mark)
    return record.values.reshape(-1, child.num_states)


def normalized_rows(
    rows: Floats, error: Callable[[int, float], FileFormatError], reading: Reading = READING
) -> tuple[Floats, Floats | None]:
    """The rows, normalized, and each one's deviation from one; raises if one deviates by more than is allowed.

    Rows that deviate only by rounding are left unchanged, so that written values are read back exactly.
    """
    totals = rows.sum(axis=1)
    off = np.abs(totals - 1.0)
    rounding = (rows.shape[1] + 8) * EPSILON
    certain = TOLERANCE if reading.tolerance is None else min(TOLERANCE, reading.tolerance)
    most = off.max(initial=0.0)
    if most <= rounding:
        return rows, None
    for place in np.flatnonzero(off > certain + rounding).tolist() if most > certain + rounding else ():
        if off[place] > reading.allowed(rows[place]) or not totals[place] > 0 or not np.isfinite(totals[place]):
            raise error(place, float(totals[place]))
    scale = np.where(off > rounding, totals, 1.0)
    return rows / scale[:, None], np.where(off > rounding, off, 0.0)


def _row_error(
    record: TableRecord, parents: tuple[Discrete, ...], source: Source, row: int, total: float
) -> FileFormatError:
    mark = record.rows[row] if len(record.rows) else record.mark
    return source.error(wrong_sum(record.child, parents, row, total), mark)


def wrong_sum(child: str, parents: Sequence[Discrete], row: int, total: float) -> str:
    """The message about a row that does not sum to one; no tolerance makes a distribution of zeros.

    >>> wrong_sum("a", (), 0, 0.9)
    'the row of a sums to 0.9; it should sum to one (read(..., tolerance=) allows more)'
    """
    advice = " (read(..., tolerance=) allows more)" if total > 0.0 else ""
    return f"{row_name(child, parents, row)} sums to {total:.9g}; it should sum to one{advice}"


def row_name(child: str, parents: Sequence[Discrete], row: int) -> str:
    """The description of a row of a conditional table.

    >>> row_name("c", [Discrete("a"), Discrete("b", "xyz")], 4)
    "the row of c given a=1, b='y'"
    """
    if not parents:
        return f"the row of {child}"
    codes = []
    for parent in reversed(parents):
        row, code = divmod(row, parent.num_states)
        codes.append(code)
    states = [f"{p.name}={p.states[c]!r}" for p, c in zip(parents, reversed(codes), strict=True)]
    return f"the row of {child} given {', '.join(states)}"
