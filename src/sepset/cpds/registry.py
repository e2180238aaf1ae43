"""The classes of CPDs, by the tags that files and checkpoints use."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self, TypeVar

from sepset.base.arraytypes import Floats, Ints
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import Scope
from sepset.factors.labels import name_of
from sepset.variables.variable import Discrete, Vector

KINDS: dict[str, type[Restorable]] = {}
"""The classes of CPDs by tag."""


class Fields(Protocol):
    """The entries of a file about one CPD; one that is not of the requested type raises an error with its place."""

    def __contains__(self, key: str) -> bool: ...
    def __getitem__(self, key: str) -> Self: ...
    def __iter__(self) -> Iterator[Self]: ...

    def keys(self, *allowed: str) -> None:
        """Raise if there are keys other than the allowed ones."""

    def items(self) -> list[tuple[str, Self]]:
        """The entries of an object."""

    def text(self) -> str:
        """The value as a string."""

    def whole(self, least: int = 0, most: int = ...) -> int:
        """The value as a whole number between two limits."""

    def wholes(self, least: int = 0, most: int = ...) -> Ints:
        """The value, a list of whole numbers between two limits."""

    def array(self, shape: tuple[int, ...]) -> Floats:
        """The value, numbers in any nesting, as an array of this shape; -1 stands for any number of rows."""

    def error(self, message: str) -> Exception:
        """The error about this value."""


class Restorable(Protocol):
    """A CPD that files can store: `parameters` gives its form and arrays, and `from_form` builds it from them."""

    @classmethod
    def from_form(cls, child: Any, fields: Fields, *, parents: Any, block: str | None) -> Self:
        """The CPD described by a file.

        Args:
            child: the child variable.
            parents: in the order of the CPD.
            fields: the entries of `parameters.form` and of `parameters.arrays`.
            block: the name of its parameters, if it is not the child's.
        """


R = TypeVar("R", bound=type[Restorable])


def registered(tag: str) -> Callable[[R], R]:
    """A decorator that lets files and checkpoints store the CPDs of a class.

    Args:
        tag: the name of the class in files, whatever its module. A class that is defined again replaces the first.
    """

    def register(kind: R) -> R:
        if tag in KINDS and KINDS[tag].__qualname__ != kind.__qualname__:
            raise ModelError(f"The tag {tag!r} is that of {KINDS[tag].__name__}. Give {kind.__name__} one of its own.")
        KINDS[tag] = kind
        return kind

    return register


def tag_of(cpd: object) -> str:
    """The tag of a CPD's class; raises if it has none.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> tag_of(TableCPD(Discrete("coin"), [0.5, 0.5]))
    'table'
    """
    for tag, kind in KINDS.items():
        if type(cpd) is kind:
            return tag
    raise NotApplicable(f"Files have no form for {name_of(cpd)}. Use `registered` on its class, or a TableCPD.")


def kinds() -> dict[str, type[Restorable]]:
    """The classes of all CPDs by tag, including those of this package.

    >>> kinds()["table"].__name__
    'TableCPD'
    """
    _import_all()
    return KINDS


@functools.cache
def _import_all() -> None:
    """Import the modules of this package, once, so that their classes are registered."""
    package = importlib.import_module(__package__ or "sepset.cpds")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def discrete_and_real(parents: Scope) -> tuple[tuple[Discrete, ...], tuple[Vector, ...]]:
    """The discrete parents, and the real ones."""
    return tuple(p for p in parents if isinstance(p, Discrete)), tuple(p for p in parents if isinstance(p, Vector))
