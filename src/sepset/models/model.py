r"""The base of all models: named variables in order, and a problem that gives the factors.

$$P(\mathbf x) = \frac1Z \prod_i \phi_i(\mathbf x_{D_i})$$
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sepset.errors import ModelError
from sepset.problem import Problem
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete, VariableLike, Vector

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@runtime_checkable
class Model(Protocol):
    """An object with variables, a name, notes and a problem; methods require nothing else.

    >>> from sepset.models.markovnet import MarkovNet
    >>> isinstance(MarkovNet(variables=[Discrete("a")]), Model)
    True
    """

    @property
    def variables(self) -> Variables:
        """The model's own variables, in order."""

    @property
    def name(self) -> str:
        """The name of the model, possibly empty."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that a file reader or a conversion left about it."""

    def problem(self) -> Problem:
        """The normal form: variables, factors and conditionals, unpruned and without evidence."""

    def __getitem__(self, variable: VariableLike) -> Discrete | Vector: ...

    def __contains__(self, variable: object) -> bool: ...

    def __len__(self) -> int: ...


MODEL_MEMBERS = ("variables", "name", "notes", "problem", "__getitem__", "__contains__", "__len__")
"""The members that a type must have to be a model."""


def offers(value: object, *members: str) -> bool:
    """Whether a value's type has these members; unlike `isinstance` with a protocol, no property is evaluated.

    >>> offers(Discrete("a"), "name", "states"), offers(3, "name")
    (True, False)
    """
    own = getattr(value, "__dict__", {})
    return not isinstance(value, type) and all(hasattr(type(value), m) or m in own for m in members)


def is_factor(value: object) -> bool:
    """Whether a value behaves as a factor."""
    return offers(value, "scope", "marginalize", "eliminate", "condition", "log_value", "normalize")


def is_cpd(value: object) -> bool:
    """Whether a value behaves as a CPD."""
    return offers(value, "child", "parents", "auxiliaries", "factors", "sample", "log_probability")


class NamedModel(ABC):
    """Shared parts of the models: lookup by name, a cached problem, immutability, and printing."""

    variables: Variables
    name: str
    notes: tuple[str, ...]

    def _fill(self, name: str, notes: Iterable[str], **parts: object) -> None:
        """Set the parts of the model, once, in its constructor."""
        if not isinstance(name, str):
            raise ModelError(f"A model's name is a string; found {name!r}.")
        lines = (notes,) if isinstance(notes, str) else tuple(notes)
        self.__dict__.update(name=name, notes=lines, **parts)

    @abstractmethod
    def _build(self) -> Problem:
        """The problem, built on first access."""

    @abstractmethod
    def _facts(self) -> Iterator[tuple[str, str]]:
        """The rows of this model's summary: a label and a value each."""

    @cached_property
    def _problem(self) -> Problem:
        return self._build()

    def problem(self) -> Problem:
        """The normal form that every method takes: variables, factors and conditionals; built once."""
        return self._problem

    def __getitem__(self, variable: VariableLike) -> Discrete | Vector:
        return self.variables[variable]

    def __contains__(self, variable: object) -> bool:
        return variable in self.variables

    def __iter__(self) -> Iterator[Discrete | Vector]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __bool__(self) -> bool:
        return True

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A {type(self).__name__} is immutable; build a new one instead of setting {name!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A {type(self).__name__} is immutable; cannot delete {name!r}.")

    def __repr__(self) -> str:
        title = f"{self.name!r}: " if self.name else ""
        return f"{type(self).__name__}({title}{', '.join(f'{value} {what}' for what, value in self._counts())})"

    def _counts(self) -> Iterator[tuple[str, str]]:
        return (pair for pair in self._facts() if pair[1].isdigit())

    def __rich__(self) -> RichTable:
        from rich.table import Table as RichTable

        table = RichTable(title=self.name or None, show_header=False)
        table.add_column(style="bold")
        table.add_column(justify="right")
        for what, value in (("kind", type(self).__name__), *self._facts(), *(("note", n) for n in self.notes)):
            table.add_row(what, value)
        return table

    def _repr_html_(self) -> str:
        facts = (("kind", type(self).__name__), *self._facts(), *(("note", n) for n in self.notes))
        rows = "".join(f"<tr><th>{html.escape(w)}</th><td>{html.escape(v)}</td></tr>" for w, v in facts)
        caption = f"<caption>{html.escape(self.name)}</caption>" if self.name else ""
        return f"<table>{caption}<tbody>{rows}</tbody></table>"

    @abstractmethod
    def to_networkx(self) -> Any:
        """The model's graph as a networkx graph."""
