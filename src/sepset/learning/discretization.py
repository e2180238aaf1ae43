r"""Numbers as states: cuts of a column by width, by quantiles, or by the entropy of another column.

With cuts $c_1 < \dots < c_k$ the states are $(-\infty, c_1), [c_1, c_2), \dots, [c_k, \infty)$, so that new rows always
have one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import listing, nearest
from sepset.data.binding import infer_variable
from sepset.data.columns import levels_of
from sepset.data.dataset import Dataset
from sepset.data.export import with_columns
from sepset.data.frames import Frame, open_frame
from sepset.errors import DataError
from sepset.learning.assessment import Assessment
from sepset.variables.variable import Discrete

Kind: TypeAlias = Literal["quantile", "width", "entropy"]
"""How cuts are chosen."""


@dataclass(frozen=True, eq=False, repr=False)
class Discretization(Assessment):
    """The cuts of some columns; they apply to further rows as to those they were made from.

    Attributes:
        cuts: the cuts of each column, increasing.
        data: the rows they were made from, with states in place of numbers.

    >>> found = discretize({"age": [20.5, 31.0, 40.2, 61.8], "sex": ["f", "m", "m", "f"]}, bins=2)
    >>> found.cuts["age"], found.transform({"age": [3.0, None, 99.0]})["age"]
    ((35.6,), ['(-inf, 35.6)', None, '[35.6, inf)'])
    """

    cuts: Mapping[str, tuple[float, ...]]
    data: Any = field(repr=False)

    @property
    def variables(self) -> tuple[Discrete, ...]:
        """The columns as variables, their states in increasing order."""
        return tuple(Discrete(name, labels(cuts)) for name, cuts in self.cuts.items())

    def transform(self, data: Any) -> Any:
        """The rows with states in place of numbers: a frame for a frame of the same library, a mapping for a mapping, a
        dataset, with its weights, for a dataset.

        Args:
            data: a frame with all columns that have cuts; others stay as they are. Missing cells stay missing.
        """
        return _transformed(data, self.cuts)

    def _shown(self) -> Shown:
        rows = [(v.name, str(v.num_states), ", ".join(map(str, v.states))) for v in self.variables]
        return Shown(("column", "states", "intervals"), rows, words=3)

    def __repr__(self) -> str:
        counted = ", ".join(f"{name}[{len(cuts) + 1}]" for name, cuts in self.cuts.items())
        return f"Discretization({counted})"


@translated
def discretize(
    data: Any,
    columns: str | Iterable[str] | None = None,
    *,
    method: Kind = "quantile",
    bins: int = 4,
    target: str | None = None,
) -> Discretization:
    r"""The columns of numbers as ordered states, with their cuts for further rows.

    Args:
        data: a frame of any library, a dataset, or a mapping of columns. The weights of a dataset count: whole numbers
            as so many rows.
        columns: the columns to cut; by default those that would be real variables.
        method: "quantile" for about equally many rows in each state; "width" for intervals of equal width; "entropy"
            for the cuts that tell most about `target`, as many as their description is worth.
        bins: the number of states; columns with many equal values may have fewer. The largest number for "entropy".
        target: the column that "entropy" predicts, discrete.

    Reference: Fayyad & Irani (1993), Multi-interval discretization of continuous-valued attributes, for "entropy".
    Guarantee: heuristic; every number has a state.
    Tested by: learning/test_discretization.py::test_entropy_is_that_of_all_cuts

    >>> print(discretize({"age": [20.5, 31.0, 40.2, 61.8]}, bins=2, method="width"))
    column  states                      intervals
    age          2  (-inf, 41.15), [41.15, inf)
    """
    one_of("method", method, get_args(Kind))
    whole("bins", bins, least=1)
    frame = _frame_of(data)
    names = _chosen(frame, columns, target, _real_names(data))
    classes = _classes(frame, method, target)
    weights = data.weights if isinstance(data, Dataset) else None
    cuts = {name: _cuts(frame.numbers(name), name, method, bins, classes, weights) for name in names}
    return Discretization(cuts, _transformed(data, cuts))


def labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """The intervals between cuts, written with as few digits as tell them apart.

    >>> labels((1.0, 2.5))
    ('(-inf, 1)', '[1, 2.5)', '[2.5, inf)')
    """
    texts = [f"{cut:.6g}" for cut in cuts]
    if len(set(texts)) < len(texts):
        texts = [repr(float(cut)) for cut in cuts]
    if not texts:
        return ("(-inf, inf)",)
    between = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
    return (f"(-inf, {texts[0]})", *between, f"[{texts[-1]}, inf)")


def _frame_of(data: Any) -> Frame:
    return open_frame(dict(data) if isinstance(data, Dataset) else data)


def _real_names(data: Any) -> list[str] | None:
    """The names of the real variables of a dataset; None where types are to be inferred."""
    return [v.name for v in data.variables if not isinstance(v, Discrete)] if isinstance(data, Dataset) else None


def _transformed(native: Any, cuts: Mapping[str, tuple[float, ...]]) -> Any:
    frame = _frame_of(native)
    cells = {}
    for name, own in cuts.items():
        values = frame.numbers(name)
        codes = np.searchsorted(own, values, side="right").astype(np.int32)
        cells[name] = (Discrete(name, labels(own)), np.where(np.isnan(values), np.int32(-1), codes))
    return _with_states(native, cells) if isinstance(native, Dataset) else with_columns(native, cells)


def _with_states(data: Dataset, cells: Mapping[str, tuple[Discrete, Ints]]) -> Dataset:
    """The dataset with these variables and codes in place of its own."""
    both = [cells.get(v.name, (v, data.column(v))) for v in data.variables]
    made = Dataset.from_codes([v for v, _ in both], {v.name: column for v, column in both}, weights=data.weights)
    return made.with_notes(data.notes)


def _chosen(frame: Frame, columns: str | Iterable[str] | None, target: str | None, real: list[str] | None) -> list[str]:
    """The columns to cut; by default those that are real variables, or would be."""
    if columns is None:
        if real is None:
            real = [n for n in frame.names if not isinstance(infer_variable(n, frame.read(n)), Discrete)]
        own = [name for name in real if name != target]
        if not own:
            raise DataError(f"No column holds real numbers among {listing(frame.names)}. Name the columns to cut.")
        return own
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in frame.names:
            raise DataError(f"No column {name!r}; columns are {listing(frame.names)}.{nearest(name, frame.names)}")
    if target in names:
        raise DataError(f"{target!r} is the target, and stays as it is. Leave it out of the columns.")
    return names


def _classes(frame: Frame, method: str, target: str | None) -> Ints | None:
    """The codes of the target, -1 where it is missing; None where it is not asked for."""
    if (method == "entropy") != (target is not None):
        raise DataError('Cuts by entropy need target=, a discrete column; other methods have none: method="entropy".')
    if target is None:
        return None
    column = frame.read(target) if target in frame.names else None
    if column is None or not isinstance(infer_variable(target, column), Discrete):
        found = f"not there.{nearest(target, frame.names)}" if column is None else "a column of real numbers."
        raise DataError(f"The target {target!r} is {found} It must be discrete.")
    return np.asarray(levels_of(column).codes, np.int64)


def _cuts(
    values: Floats, name: str, method: str, bins: int, classes: Ints | None, weights: Floats | None
) -> tuple[float, ...]:
    counts = np.ones(len(values)) if weights is None else weights
    seen = ~np.isnan(values) & (counts > 0)
    if not np.isfinite(values[seen]).all():
        raise DataError(f"Column {name!r} holds infinite numbers. Replace them before it is cut.")
    if not seen.any():
        raise DataError(f"Column {name!r} has no numbers in {len(values):,} rows, so it has no cuts.")
    if classes is not None:
        seen &= classes >= 0
        return _entropy_cuts(values[seen], classes[seen], bins, counts[seen])
    low, high = values[seen].min(), values[seen].max()
    if method == "width":
        shares = np.arange(1, bins) / bins
        cuts = low * (1.0 - shares) + high * shares
    else:
        cuts = _quantiles(values[seen], np.arange(1, bins) / bins, None if weights is None else counts[seen])
    return tuple(float(cut) for cut in np.unique(cuts) if low < cut <= high)


def _quantiles(values: Floats, shares: Floats, counts: Floats | None) -> Floats:
    """The quantiles of values that occur so often: of so many rows, interpolated; of fractions of rows, the first
    value that reaches each share.
    """
    if counts is None:
        return np.quantile(values, shares)
    order = np.argsort(values, kind="stable")
    known, reached = values[order], np.cumsum(counts[order])
    if (counts != np.trunc(counts)).any():
        return np.asarray(known[np.minimum(np.searchsorted(reached, shares * reached[-1]), len(known) - 1)])
    places = shares * (reached[-1] - 1.0)
    low, high = (known[np.searchsorted(reached, rounded(places), side="right")] for rounded in (np.floor, np.ceil))
    part = places - np.floor(places)
    return np.asarray(low * (1.0 - part) + high * part)


def _entropy_cuts(values: Floats, classes: Ints, bins: int, counts: Floats) -> tuple[float, ...]:
    r"""The cuts of largest gain of information, best first, while each is worth its description and bins are left.

    A cut of $n$ rows with $k$ classes into parts with $k_1$ and $k_2$ is accepted if its gain in bits exceeds
    $$\frac{\log_2(n - 1) + \log_2(3^k - 2) - (k H - k_1 H_1 - k_2 H_2)}{n}$$
    """
    order = np.argsort(values, kind="stable")
    known, codes = np.unique(classes[order], return_inverse=True)
    ones = np.zeros((len(values), len(known)))
    ones[np.arange(len(values)), codes] = counts[order]
    totals = np.vstack([np.zeros(len(known)), np.cumsum(ones, axis=0)])
    found: list[float] = []
    open_parts = [_best_cut(values[order], totals, 0, len(values))]
    while len(found) < bins - 1:
        place = max(range(len(open_parts)), key=lambda i: open_parts[i][0], default=-1)
        if place < 0 or open_parts[place][0] == -np.inf:
            break
        _, cut, first, middle, last = open_parts.pop(place)
        found.append(cut)
        open_parts += [_best_cut(values[order], totals, *ends) for ends in ((first, middle), (middle, last))]
    return tuple(sorted(found))


def _best_cut(values: Floats, totals: Floats, first: int, last: int) -> tuple[float, float, int, int, int]:
    """The gain (in bits, of all rows) of the best cut of some rows, the cut, and where it divides them.

    The gain is minus infinity where no cut is worth its description.
    """
    none = (-np.inf, 0.0, first, first, last)
    middles = np.arange(first + 1, last)
    middles = middles[values[middles] > values[middles - 1]]
    if not len(middles):
        return none
    whole_counts = totals[last] - totals[first]
    left, right = totals[middles] - totals[first], totals[last] - totals[middles]
    bits, left_bits, right_bits = _bits(whole_counts[None]), _bits(left), _bits(right)
    gains = bits[0] - left_bits - right_bits
    best = int(gains.argmax())
    size, kinds = whole_counts.sum(), [np.count_nonzero(counts) for counts in (whole_counts, left[best], right[best])]
    entropies = [bits[0] / size, left_bits[best] / left[best].sum(), right_bits[best] / right[best].sum()]
    saved = kinds[0] * entropies[0] - kinds[1] * entropies[1] - kinds[2] * entropies[2]
    price = np.log2(max(size - 1.0, 1.0)) + kinds[0] * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** -kinds[0]) - saved
    if not gains[best] > price:
        return none
    middle = int(middles[best])
    cut = values[middle - 1] / 2 + values[middle] / 2
    return float(gains[best]), float(max(cut, np.nextafter(values[middle - 1], np.inf))), first, middle, last


def _bits(counts: Floats) -> Floats:
    r"""The entropies in bits, times the number of rows: $\sum_c m_c \log_2 (m / m_c)$."""
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.ones_like(counts), where=counts > 0)
    return np.asarray(-(counts * np.log2(shares)).sum(axis=1))
