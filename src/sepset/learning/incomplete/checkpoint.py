"""Checkpoints of unfinished fits, and fingerprints of everything that their results depend on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol

import numpy as np

from sepset.cpds.cpd import CPD
from sepset.cpds.registry import tag_of as tag_of_cpd
from sepset.data.dataset import Dataset
from sepset.errors import DataError, NotApplicable
from sepset.factors.labels import name_of
from sepset.inference.checkpoint import tag_of, tagged_class
from sepset.learning.blocks import Blocks
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

INDIFFERENT = ("prior", "threads")
"""Settings that fingerprints leave out: results do not depend on threads, and the terms of a prior are included."""

ADDRESS = " at 0x[0-9a-fA-F]+"
"""The memory address in the text of some objects, which differs between processes."""

DRAWN = 2**96
"""Seeds of at least this size are those that NumPy draws where none is given."""


def about(method: object, task: Task, terms: object = ()) -> str:
    """The task that a checkpoint belongs to: method, network and rows in words, with fingerprints of their contents.

    Args:
        terms: the terms that the prior adds to each block.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin = Task(BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5])), {"coin": [0, 1, None]})
    >>> about("a method", coin)[:59]
    'str of BayesNet(1 variable, 0 edges, 1 parameter) on 3 rows'
    """
    prints = {
        "settings": fingerprint((type(method).__name__, tuple(_settings(method, task)), terms)),
        "network": fingerprint(task.template.cpds),
        "rows": fingerprint(task.dataset),
        "seed": fingerprint(seed_of(task.rng)),
    }
    listed = ", ".join(f"{what} {value}" for what, value in prints.items())
    return f"{type(method).__name__} of {task.template!r} on {task.dataset.num_rows} rows ({listed})"


def seed_of(rng: np.random.Generator) -> object:
    """The seed of a generator, whatever its state; None where the machine drew its seed."""
    sequence = rng.bit_generator.seed_seq
    if not isinstance(sequence, np.random.SeedSequence):
        return None
    drawn = isinstance(sequence.entropy, int) and sequence.entropy >= DRAWN
    return None if drawn else (type(rng.bit_generator).__name__, sequence.entropy, sequence.spawn_key)


def _settings(method: object, task: Task) -> Iterator[tuple[str, object]]:
    """The settings that results depend on; held-out rows as the network sees them."""
    for setting in fields(method) if is_dataclass(method) else ():
        value = getattr(method, setting.name)
        if setting.name == "holdout" and value is not None:
            value = Task(task.template, value).dataset
        if setting.name not in INDIFFERENT:
            yield setting.name, value


class Hash(Protocol):
    """A hash function that takes bytes piece by piece."""

    def update(self, data: Any, /) -> None:
        """Take more bytes."""


def fingerprint(value: object) -> str:
    """Sixteen hexadecimal digits that differ where values differ, in type, value or any cell of their arrays.

    >>> fingerprint((1, 2)) == fingerprint((1, 2)), fingerprint((1, 2)) == fingerprint((1, 2.0))
    (True, False)
    >>> fingerprint(np.zeros(2)) == fingerprint(np.zeros((1, 2)))
    False
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
        made.update(f"{_text(value)};".encode())
        return
    made.update(f"{len(parts)};".encode())
    for part in parts:
        _feed(part, made, (*within, id(value)))


def _text(value: object) -> str:
    """The text of a value, which tells neither its place in memory nor the module of its class."""
    if isinstance(value, type):
        return value.__qualname__
    return "" if type(value).__repr__ is object.__repr__ else re.sub(ADDRESS, "", repr(value))


def _parts(value: object) -> list[object] | None:
    """The parts of a value; None where its text determines it."""
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
        return [*sorted(map(fingerprint, value))]
    names = _names(value)
    return [part for name in names for part in (name, getattr(value, name, None))] if names else None


def _names(value: object) -> list[str]:
    """The public attributes that a value is stored in, without those computed when first read."""
    if is_dataclass(value) and not isinstance(value, type):
        return [f.name for f in fields(value)]
    slots = [name for kind in type(value).__mro__ for name in _as_tuple(kind.__dict__.get("__slots__", ()))]
    stored = [*slots, *(n for n in getattr(value, "__dict__", {}) if not hasattr(type(value), n))]
    return sorted({name for name in stored if not name.startswith("_")})


def _as_tuple(slots: str | tuple[str, ...]) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


KIND = "is"
"""The key under which a dictionary says what it represents."""


@dataclass(frozen=True, slots=True, eq=False)
class IterateCodec:
    """Iterates as plain values: a network is stored as the tags and arrays of its CPDs, which must fit the template.

    Args:
        blocks: the network that is being fitted, and the statistics of its blocks.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> from sepset.learning.incomplete.run import EMTask
    >>> from sepset.learning.task import Task
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.3, 0.7]))
    >>> task = EMTask.of(Task(net, {"coin": [0, None]}))
    >>> codec = IterateCodec(task.expectation.blocks)
    >>> codec.unpack(codec.pack(task.evaluate(net))).model.cpd("coin").values.tolist()
    [0.3, 0.7]
    """

    blocks: Blocks = field(repr=False)

    def pack(self, state: Any) -> object:
        """The iterate as nested dictionaries and arrays."""
        return self._packed(state)

    def unpack(self, content: Any) -> Any:
        """The iterate that was packed; raises if its network or statistics have another shape."""
        is_iterate = isinstance(content, dict) and content.get(KIND) == "iterate"
        state = self._unpacked(content)
        if not is_iterate or not isinstance(state.model, BayesNet):
            raise DataError("It does not hold the state of an iteration.")
        shapes = [np.shape(s) for s in state.statistics]
        expected = [self.blocks.forms[block[0]].zero.shape for block in self.blocks.members]
        if shapes != expected:
            raise DataError(f"Its statistics have the shapes {shapes}; expected {expected}.")
        return state

    def _packed(self, value: Any) -> object:
        if isinstance(value, BayesNet):
            return {
                KIND: "network",
                "cpds": [{KIND: tag_of_cpd(c), **c.parameters.arrays} for c in self._fitting(value)],
            }
        if is_dataclass(value):
            own = {f.name: self._packed(getattr(value, f.name)) for f in fields(value)}
            return {KIND: tag_of(type(value)), **own}
        if type(value) in (tuple, list):
            return type(value)(map(self._packed, value))
        if isinstance(value, dict):
            return {KIND: "dict", "content": {key: self._packed(v) for key, v in value.items()}}
        return value

    def _fitting(self, model: BayesNet) -> tuple[Any, ...]:
        """The CPDs of a network, after checking that their kinds are those of the template."""
        for cpd, own in zip(model.cpds, self.blocks.template.cpds, strict=True):
            if type(cpd) is not type(own) or cpd.scope != own.scope:
                raise NotApplicable(f"A checkpoint keeps the arrays of {own!r}; found {name_of(cpd)} in its place.")
        return model.cpds

    def _unpacked(self, content: Any) -> Any:
        if type(content) in (tuple, list):
            return type(content)(map(self._unpacked, content))
        if not isinstance(content, dict):
            return content
        kind = content[KIND]
        if kind == "network":
            return self._network(content["cpds"])
        if kind == "dict":
            return {key: self._unpacked(v) for key, v in content["content"].items()}
        made = {key: self._unpacked(v) for key, v in content.items() if key != KIND}
        return tagged_class(kind)(**made)

    def _network(self, content: Any) -> BayesNet:
        pairs = zip(self.blocks.template.cpds, content, strict=True)
        return self.blocks.template.with_parameters(_restored(cpd, dict(arrays)) for cpd, arrays in pairs)


def _restored(cpd: CPD, arrays: dict[str, Any]) -> CPD:
    """The CPD with the arrays of a checkpoint, which are those of its kind."""
    tag = arrays.pop(KIND)
    if tag != tag_of_cpd(cpd):
        raise DataError(f"It holds a CPD of the kind {tag!r} in place of {name_of(cpd)}.")
    made: CPD = cpd.parameters.with_arrays(arrays)
    return made
