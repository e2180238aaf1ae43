"""Rows dealt into parts: holdout splits and folds, stratified or not, by one systematic draw."""

from __future__ import annotations

import numpy as np

from sepset.base import checks
from sepset.base.arraytypes import Bools, Ints
from sepset.errors import DataError


def dealt(num_rows: int, rng: np.random.Generator, strata: Ints | None = None) -> Ints:
    """A random place for each row such that the rows of each stratum have consecutive places.

    >>> sorted(dealt(4, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3]
    """
    order = rng.permutation(num_rows)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    places = np.empty(num_rows, np.int64)
    places[order] = np.arange(num_rows)
    return places


def in_first_part(places: Ints, fraction: float) -> Bools:
    r"""Which rows belong to the first part, of $\lfloor f M + 1/2 \rfloor$ rows; a stratum's share is right within one.

    >>> in_first_part(np.arange(4), 0.5).tolist()
    [True, False, True, False]
    """
    share = checks.fraction("fraction", fraction)
    first = np.floor((places + 1) * share + 0.5) > np.floor(places * share + 0.5)
    if first.all() or not first.any():
        raise DataError(f"A fraction {fraction} of {len(places)} rows leaves one part empty. Give more rows.")
    return np.asarray(first)


def fold_numbers(places: Ints, folds: int) -> Ints:
    """The fold of each row, 0 to `folds - 1`; sizes, also within each stratum, differ by one at most.

    >>> fold_numbers(np.arange(5), 2).tolist()
    [0, 1, 0, 1, 0]
    """
    count = checks.whole("folds", folds, least=2)
    if count > len(places):
        raise DataError(f"{len(places)} rows make at most {len(places)} folds; found {folds!r}.")
    return np.asarray(places % count)
