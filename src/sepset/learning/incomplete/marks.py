"""What an unfinished fit belongs to: a mark of everything that its answer depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np

from sepset.data.dataset import Dataset
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

INDIFFERENT = ("prior", "threads")
"""Settings that marks pass over: answers do not depend on threads, and pseudo-counts tell what a prior amounts to."""

ADDRESS = " at 0x[0-9a-fA-F]+"
"""What the text of some objects says about where they are, which another process would not repeat."""

DRAWN = 2**96
"""Seeds from here on are those that NumPy draws where none is given."""


def about(method: object, task: Task, alphas: object = ()) -> str:
    """What a checkpoint is about: method, network and rows in words, with marks of what they hold.

    Args:
        alphas: what the prior adds to each block's statistics.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin = Task(BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5])), {"coin": [0, 1, None]})
    >>> about("a method", coin)[:66]
    'str of BayesNet(1 variables, 0 edges, 1 parameters) on 3 rows (set'
    """
    marks = {
        "settings": mark((type(method).__name__, tuple(_settings(method, task)), alphas)),
        "network": mark(task.template.cpds),
        "rows": mark(task.dataset),
        "seed": mark(_seed(task.rng)),
    }
    listed = ", ".join(f"{what} {value}" for what, value in marks.items())
    return f"{type(method).__name__} of {task.template!r} on {task.dataset.num_rows} rows ({listed})"


def _seed(rng: np.random.Generator) -> object:
    """What a generator was seeded with, wherever it has got to; None where the machine drew its seed."""
    sequence = rng.bit_generator.seed_seq
    if not isinstance(sequence, np.random.SeedSequence):
        return None
    drawn = isinstance(sequence.entropy, int) and sequence.entropy >= DRAWN
    return None if drawn else (type(rng.bit_generator).__name__, sequence.entropy, sequence.spawn_key)


def _settings(method: object, task: Task) -> Iterator[tuple[str, object]]:
    """The settings that matter; held-out rows as the network sees them."""
    for field in fields(method) if is_dataclass(method) else ():
        value = getattr(method, field.name)
        if field.name == "holdout" and value is not None:
            value = Task(task.template, value).dataset
        if field.name not in INDIFFERENT:
            yield field.name, value


class Hash(Protocol):
    """What bytes are fed to."""

    def update(self, data: Any, /) -> None:
        """Take more bytes."""


def mark(value: object) -> str:
    """Eight letters that differ where values differ: by kind, by number and by every cell of their arrays.

    >>> mark((1, 2)) == mark((1, 2)), mark((1, 2)) == mark((1, 2.0)), mark(np.zeros(2)) == mark(np.zeros((1, 2)))
    (True, False, False)
    """
    made = hashlib.blake2b(digest_size=8)
    _feed(value, made, ())
    return made.hexdigest()


def _feed(value: object, made: Hash, within: tuple[int, ...]) -> None:
    made.update(f"{type(value).__qualname__}:".encode())
    if id(value) in within:
        return
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        made.update(f"{value.dtype.str}{value.shape};".encode())
        made.update(np.ascontiguousarray(value).view(np.uint8).reshape(-1).data if value.size else b"")
        return
    parts = _parts(value)
    if parts is None:
        made.update(f"{re.sub(ADDRESS, '', repr(value))};".encode())
        return
    made.update(f"{len(parts)};".encode())
    for part in parts:
        _feed(part, made, (*within, id(value)))


def _parts(value: object) -> list[object] | None:
    """What a value is made of; None where its text tells all."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | type):
        return None
    if isinstance(value, Dataset):
        return [tuple(value.variables), [value.column(v) for v in value.variables], value.weights]
    if isinstance(value, BayesNet):
        return list(value.cpds)
    if isinstance(value, Discrete):
        return [value.name, *value.states]
    if isinstance(value, np.ndarray | tuple | list):
        return list(value)
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, Set):
        return [*sorted(map(mark, value))]
    names = _names(value)
    return [part for name in names for part in (name, getattr(value, name, None))] if names else None


def _names(value: object) -> list[str]:
    """The public attributes that a value is stored in; what it computes when first read is not among them."""
    if is_dataclass(value) and not isinstance(value, type):
        return [f.name for f in fields(value)]
    slots = [name for kind in type(value).__mro__ for name in _as_tuple(kind.__dict__.get("__slots__", ()))]
    stored = [*slots, *(n for n in getattr(value, "__dict__", {}) if not hasattr(type(value), n))]
    return sorted({name for name in stored if not name.startswith("_")})


def _as_tuple(slots: str | tuple[str, ...]) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)
