r"""Moments by group-bys: the mean of each context first, then sums of products about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.data.columns import numbers_of
from sepset.data.frames import Frame
from sepset.data.pushdown import Groups, LazyRows, Scope, collected
from sepset.data.requirements import missing_message
from sepset.errors import DataError
from sepset.variables.variable import Vector


def lazy_moments(rows: LazyRows, reals: Sequence[Vector], scope: Scope) -> tuple[Floats, Floats, Floats, int]:
    r"""The total weight, mean and scatter of each context, flat in C order, and the number of rows.

    With centres $c$ near the means, $\delta = \frac1M \sum_m w_m (x[m] - c)$ is small and nothing cancels in

    $$\bar x = c + \delta, \qquad S = \sum_m w_m (x[m] - c)(x[m] - c)^\top - M \delta \delta^\top.$$
    """
    cells = _cells(rows, reals, scope)
    sums = _sums(rows, cells, len(reals), len(scope))
    first = collected([sums])[0]
    groups = rows.read(first, scope)
    groups.require_complete("Moments")
    _require_numbers(first, groups, reals)
    second = collected([_products(cells, sums, first, len(reals), len(scope))])[0]
    return _assembled(rows, second, len(reals), scope, int(groups.num_rows.sum()))


def _cells(rows: LazyRows, reals: Sequence[Vector], scope: Scope) -> Any:
    """Keys, numbers and weights under names of our own."""
    import narwhals.stable.v2 as nw

    numbers = [column.cast(nw.Float64) for column in rows.renamed([v.name for v in reals], "x")]
    chosen = [*rows.renamed([v.name for v in scope], "key"), *numbers]
    if rows.weights is not None:
        return rows.frame.select(*chosen, rows.weight_column())
    return rows.frame.select(*chosen).with_columns(weight=nw.lit(1.0))


def _by(cells: Any, num_keys: int, sums: Sequence[Any]) -> Any:
    keys = [f"key{place}" for place in range(num_keys)]
    return cells.group_by(keys).agg(*sums) if keys else cells.select(*sums)


def _sums(rows: LazyRows, cells: Any, size: int, num_keys: int) -> Any:
    """Rows, weights and weighted sums of each context."""
    import narwhals.stable.v2 as nw

    weighed = cells.with_columns(*((nw.col(f"x{i}") * nw.col("weight")).alias(f"wx{i}") for i in range(size)))
    numbers = [nw.col(f"wx{i}").sum().alias(f"s{i}") for i in range(size)]
    known = [nw.col(f"x{i}").count().alias(f"n{i}") for i in range(size)]
    return _by(weighed, num_keys, [*rows.weight_sums(), *numbers, *known])


def _require_numbers(frame: Frame, groups: Groups, reals: Sequence[Vector]) -> None:
    for place, variable in enumerate(reals):
        missing = groups.num_rows - numbers_of(frame.read(f"n{place}"))
        if missing.any():
            raise DataError(missing_message("Moments", variable.name, int(missing.sum())))
        if not np.isfinite(numbers_of(frame.read(f"s{place}"))[groups.num_rows > 0]).all():
            raise DataError(
                f"Column {variable.name!r} holds NaN or infinity, which has no moments. "
                "Where it stands for a missing cell use EM, or leave those rows out."
            )


def _products(cells: Any, sums: Any, first: Frame, size: int, num_keys: int) -> Any:
    """Weighted sums of differences from the centres, and of their products."""
    import narwhals.stable.v2 as nw

    if num_keys:
        centres = sums.with_columns(*((nw.col(f"s{i}") / nw.col("sum")).alias(f"c{i}") for i in range(size)))
        keys = [f"key{place}" for place in range(num_keys)]
        centred = cells.join(centres.select(*keys, *(f"c{i}" for i in range(size))), on=keys, how="inner")
    else:
        total = numbers_of(first.read("sum"))[0] or 1.0
        numbers = (float(numbers_of(first.read(f"s{i}"))[0]) / total for i in range(size))
        centred = cells.with_columns(*(nw.lit(value).alias(f"c{i}") for i, value in enumerate(numbers)))
    apart = centred.with_columns(*((nw.col(f"x{i}") - nw.col(f"c{i}")).alias(f"e{i}") for i in range(size)))
    weighed = apart.with_columns(*((nw.col(f"e{i}") * nw.col("weight")).alias(f"we{i}") for i in range(size)))
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]
    paired = weighed.with_columns(*((nw.col(f"we{i}") * nw.col(f"e{j}")).alias(f"p{i}_{j}") for i, j in pairs))
    kept = [nw.col(f"c{i}").min().alias(f"c{i}") for i in range(size)]
    added = [nw.col(name).sum() for name in (*(f"we{i}" for i in range(size)), *(f"p{i}_{j}" for i, j in pairs))]
    return _by(paired, num_keys, [nw.len().alias("rows"), nw.col("weight").sum().alias("sum"), *kept, *added])


def _assembled(
    rows: LazyRows, frame: Frame, size: int, scope: Scope, num_rows: int
) -> tuple[Floats, Floats, Floats, int]:
    groups = rows.read(frame, scope, is_checked=True)
    places, num_contexts = groups.places(scope), groups.table(scope).size
    count, mean = np.zeros(num_contexts), np.zeros((num_contexts, size))
    scatter = np.zeros((num_contexts, size, size))
    some = numbers_of(frame.read("sum")) > 0  # a context without weight has no mean
    at = places[some]
    total = numbers_of(frame.read("sum"))[some]
    delta = np.stack([numbers_of(frame.read(f"we{i}"))[some] for i in range(size)], axis=1) / total[:, None]
    count[at] = total
    mean[at] = np.stack([numbers_of(frame.read(f"c{i}"))[some] for i in range(size)], axis=1) + delta
    for i in range(size):
        for j in range(i + 1):
            product = numbers_of(frame.read(f"p{i}_{j}"))[some] - total * delta[:, i] * delta[:, j]
            scatter[at, i, j] = scatter[at, j, i] = product
    return count, mean, scatter, num_rows
