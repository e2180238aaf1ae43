"""Baskets: which items each user has viewed, bought or liked, as a sparse matrix with named columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import fraction, generator
from sepset.base.display import Shown, Tabulated
from sepset.base.frozen import Frozen, fill, made
from sepset.base.lazy import lazy
from sepset.base.text import brief, counted, listing, nearest
from sepset.data.frames import opened_frame
from sepset.errors import DataError, ScopeError
from sepset.models.model import offers
from sepset.variables.variable import Discrete

MOST_SHOWN = 10
"""The largest number of items in a display."""


class Baskets(Frozen, Tabulated):
    """The items of many users.

    Args:
        data: a sequence of collections of items; a mapping from users to collections; a matrix, sparse or dense, or a
            data frame with a row per user and a column per item, in which zero and False are absent.
        items: the names of the columns of a matrix; for collections, frames and other baskets all items there are, in
            order, where some are in no basket. By default numbers, or the items in the order in which they occur.

    Attributes:
        matrix: one row per user, one column per item; sparse.
        items: the names of the items.
        users: the names of the users, numbers by default.

    >>> baskets = Baskets([["bread", "milk"], ["beer"], []])
    >>> baskets, baskets.items, len(baskets)
    (Baskets(3 users, 3 items, 3 entries), ('bread', 'milk', 'beer'), 3)
    """

    matrix: Any
    items: tuple[Hashable, ...]
    users: tuple[Hashable, ...]

    def __init__(self, data: object, items: Iterable[Hashable] | None = None) -> None:
        known = None if items is None else _names(items)
        if isinstance(data, Baskets):
            matrix, names, users = data.matrix, data.items, data.users
        elif sparse.issparse(data) or isinstance(data, np.ndarray):
            matrix, names, users = _of_matrix(data, known)
        elif isinstance(data, Mapping):
            matrix, names = _of_collections(data.values(), known)
            users = tuple(data)
        elif offers(data, "columns"):
            matrix, names, users = _of_frame(data)
        else:
            matrix, names = _of_collections(data, known)
            users = tuple(range(matrix.shape[0]))
        if len(names) != matrix.shape[1]:  # those of a matrix
            raise DataError(f"items= names {len(names)} items; the data has {matrix.shape[1]} columns.")
        if known is not None and _names(names) != known:
            matrix, names = _moved(matrix, names, known, "are not in items="), known
        fill(self, matrix=matrix, items=_names(names), users=tuple(users))

    @classmethod
    def from_pairs(cls, users: Iterable[Hashable], items: Iterable[Hashable]) -> Baskets:
        """The baskets of a list of events: a user and an item each; repeated ones count once.

        Args:
            users: one per event.
            items: one per event.

        >>> Baskets.from_pairs(["ann", "bob", "ann"], ["milk", "milk", "beer"]).users
        ('ann', 'bob')
        """
        owners, things = _listed("users", users), _listed("items", items)
        if len(owners) != len(things):
            raise DataError(f"Each event has a user and an item; found {len(owners)} users and {len(things)} items.")
        collected: dict[Hashable, list[Hashable]] = {}
        for owner, thing in zip(owners, things, strict=True):
            collected.setdefault(_named(owner), []).append(thing)
        return cls(collected)

    @property
    def num_items(self) -> int:
        """The number of items."""
        return len(self.items)

    @lazy
    def popularity(self) -> Ints:
        """The number of users of each item."""
        return np.asarray(self.matrix.sum(0), np.int64).reshape(-1)

    @lazy
    def sizes(self) -> Ints:
        """The number of items of each user."""
        return np.asarray(self.matrix.sum(1), np.int64).reshape(-1)

    @lazy
    def variables(self) -> tuple[Discrete, ...]:
        """A variable with the states 0 and 1 for each item."""
        names = [str(item) for item in self.items]
        if len(set(names)) < len(names):
            raise DataError("Two items have the same name as text. Name them differently.")
        return tuple(Discrete(name, (0, 1)) for name in names)

    def take(self, rows: object) -> Baskets:
        """The baskets of some users, by their positions."""
        try:
            chosen = np.arange(len(self))[np.atleast_1d(np.asarray(rows))]
            if chosen.ndim != 1:
                raise ValueError("found several axes")
        except (IndexError, TypeError, ValueError) as error:
            raise ScopeError(f"There are {len(self)} users, by their positions from zero: {error}.") from error
        users = tuple(self.users[k] for k in chosen)
        return made(Baskets, matrix=self.matrix[chosen], items=self.items, users=users)

    def with_matrix(self, matrix: Any) -> Baskets:
        """The same users and items with other entries."""
        try:
            entries = sparse.csr_matrix(matrix)
        except (TypeError, ValueError) as error:
            raise DataError(f"Baskets are a matrix of zeros and ones; found {brief(matrix)}.") from error
        if entries.dtype.kind not in "biuf" or not np.isin(entries.data, (0, 1)).all():
            raise DataError(f"Baskets are a matrix of zeros and ones; found {brief(matrix)}.")
        if entries.shape != self.matrix.shape:
            raise DataError(f"The baskets are a matrix of shape {self.matrix.shape}; found {entries.shape}.")
        return made(Baskets, matrix=entries.astype(np.int32), items=self.items, users=self.users)

    def split(self, share: float = 0.3, *, seed: int | np.random.Generator = 0) -> tuple[Baskets, Baskets]:
        """The baskets of most users, to learn from, and of the others, to test with.

        Args:
            share: of the users to test with.
            seed: a number or a generator.
        """
        order = generator(seed).permutation(len(self))
        num_test = round(fraction("share", share) * len(self))
        return self.take(np.sort(order[num_test:])), self.take(np.sort(order[:num_test]))

    def aligned(self, items: Sequence[Hashable]) -> Baskets:
        """The baskets with these columns; items that are not among them are refused by name.

        Args:
            items: the columns in order; those that are in no basket are empty.
        """
        if self.items == tuple(items):
            return self
        matrix = _moved(self.matrix, self.items, tuple(items), "were not among the items learned from")
        return made(Baskets, matrix=matrix, items=tuple(items), users=self.users)

    def to_frame(self) -> Any:
        """A pandas data frame with a row per user and a column of truth values per item."""
        import pandas as pd

        return pd.DataFrame(self.matrix.toarray().astype(bool), index=list(self.users), columns=list(self.items))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        for k in range(len(self)):
            row = self.matrix.indices[self.matrix.indptr[k] : self.matrix.indptr[k + 1]]
            yield tuple(self.items[j] for j in np.sort(row))

    def __repr__(self) -> str:
        entries = "1 entry" if self.matrix.nnz == 1 else f"{self.matrix.nnz:,} entries"
        return f"Baskets({counted(len(self), 'user')}, {counted(self.num_items, 'item')}, {entries})"

    def _shown(self) -> Shown:
        order = np.argsort(-self.popularity, kind="stable")[:MOST_SHOWN]
        shares: Floats = self.popularity[order] / max(len(self), 1)
        rows = [(str(self.items[k]), f"{self.popularity[k]}", f"{s:.4f}") for k, s in zip(order, shares, strict=True)]
        return Shown(("item", "users", "share"), rows, repr(self), "the most popular items", bars=shares.tolist())


def _moved(matrix: Any, items: Sequence[Hashable], wanted: tuple[Hashable, ...], refusal: str) -> Any:
    """The matrix with other columns, matched by the names of items; raises where one with users is not wanted."""
    place, used = {item: k for k, item in enumerate(wanted)}, np.asarray(matrix.sum(0)).reshape(-1)
    unknown = [item for item, count in zip(items, used, strict=True) if count and item not in place]
    if unknown:
        near = nearest(unknown[0], place) if isinstance(unknown[0], str) else ""
        raise ScopeError(f"{listing(unknown)} {refusal}.{near} Leave them out.")
    entries = matrix.tocoo()
    moved = np.array([place.get(item, -1) for item in items], np.int64)
    shape = (matrix.shape[0], len(place))
    return sparse.csr_matrix((entries.data, (entries.row, moved[entries.col])), shape=shape, dtype=np.int32)


def _of_frame(data: Any) -> tuple[Any, tuple[Hashable, ...], tuple[Hashable, ...]]:
    frame = data if offers(data, "to_numpy") else opened_frame(data).lazy().collect()
    cells = np.asarray(frame.to_numpy()) if len(frame.columns) else np.zeros((len(frame), 0))
    matrix, names, users = _of_matrix(cells, tuple(frame.columns))
    return matrix, names, tuple(frame.index) if offers(frame, "index", "loc") else users


def _of_matrix(data: Any, known: tuple[Hashable, ...] | None) -> tuple[Any, tuple[Hashable, ...], tuple[Hashable, ...]]:
    if data.ndim != 2:
        raise DataError(f"A matrix of baskets has a row per user and a column per item; found shape {data.shape}.")
    try:
        matrix = sparse.csr_matrix(data, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"Baskets need numbers or truth values: {error}") from error
    if not (np.isfinite(matrix.data).all() and (matrix.data >= 0).all()):
        raise DataError("Baskets need finite numbers >= 0, where zero is absent. Fill missing cells with zero.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data[:] = 1.0
    names = tuple(range(matrix.shape[1])) if known is None else known
    return matrix.astype(np.int32), names, tuple(range(matrix.shape[0]))


def _of_collections(data: object, known: tuple[Hashable, ...] | None) -> tuple[Any, tuple[Hashable, ...]]:
    place: dict[Hashable, int] = {} if known is None else {item: k for k, item in enumerate(known)}
    starts, columns = [0], list[int]()
    for basket in _rows(data):
        for item in dict.fromkeys(map(_named, _checked(basket))):
            if known is not None and item not in place:
                near = nearest(item, place) if isinstance(item, str) else ""
                raise ScopeError(f"A basket has {item!r}, which is not in items=.{near}")
            columns.append(place.setdefault(item, len(place)))
        starts.append(len(columns))
    shape = (len(starts) - 1, len(place))
    entries = (np.ones(len(columns), np.int32), np.array(columns, np.int64), np.array(starts, np.int64))
    return sparse.csr_matrix(entries, shape=shape), tuple(place)


def _rows(data: object) -> Iterable[Any]:
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise DataError(f"Baskets are collections of items, a matrix or a data frame; found {brief(data)}.")
    return data


def _checked(basket: object) -> Iterable[Hashable]:
    if isinstance(basket, str) or not isinstance(basket, Iterable):
        raise DataError(f"A basket is a collection of items, such as ['bread', 'milk']; found {brief(basket)}.")
    return basket


def _named(item: Hashable) -> Hashable:
    """The name of an item or a user; raises where nothing can be found by it."""
    try:
        hash(item)
    except TypeError as error:
        raise DataError(f"Items and users are named by texts or numbers; found {brief(item)}.") from error
    if item != item:
        raise DataError("Items and users are named by texts or numbers; found NaN. Leave missing ones out.")
    return item


def _listed(name: str, values: object) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataError(f"{name}= is a sequence of names; found {brief(values)}.")
    return list(values)


def _names(items: object) -> tuple[Hashable, ...]:
    """Names of items; raises where one is named twice."""
    names = tuple(map(_named, _listed("items", items)))
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise DataError(f"Items are named twice: {listing(twice)}.")
    return names
