r"""The base of all models: named variables in order, and a problem that gives the factors.

$$P(\mathbf x) = \frac1Z \prod_i \phi_i(\mathbf x_{D_i})$$
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Any, ClassVar, Protocol, runtime_checkable

from sepset.base.display import Shown, Tabulated, html_table, shortened
from sepset.base.equality import same_value
from sepset.base.foreign import Hinting, often
from sepset.base.frozen import Frozen, fill
from sepset.base.lazy import lazy
from sepset.base.memory import pause_collection, uncollected
from sepset.base.text import counted
from sepset.errors import ModelError
from sepset.graphs.pictures.sketch import Sketched
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector

LARGE = 20_000
"""The number of variables from which the collector pauses when a problem is made: what a program holds is much then."""

SECONDS_OF_PAUSE = 5.0
"""How long: until a first question is refused, on a machine that is not idle."""

FIRST_NAMES = 8
"""The number of variables that a summary of a model names."""


@runtime_checkable
class Model(Protocol):
    """An object with variables, a name, notes and a problem; methods require nothing else.

    >>> from sepset.models.markovnet import MarkovNet
    >>> isinstance(MarkovNet(variables=[Discrete("a")]), Model)
    True
    """

    @property
    def variables(self) -> Universe:
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


class NamedModel(Frozen, Sketched, Tabulated, Hinting):
    """Shared parts of the models: lookup by name, a cached problem, immutability, equality, and printing.

    Models are equal if they are of one class and have the same variables in the same order and the same numbers; their
    names and notes do not count.
    """

    _CONTENTS: ClassVar[tuple[str, ...]]
    """The attributes, besides the variables, that make two models of this class equal."""

    variables: Universe
    name: str
    notes: tuple[str, ...]

    def _fill(self, name: str, notes: Iterable[str], **parts: object) -> None:
        """Set the parts of the model, once, in its constructor."""
        if not isinstance(name, str):
            raise ModelError(f"A model's name is a string; found {name!r}.")
        lines = (notes,) if isinstance(notes, str) else tuple(notes)
        fill(self, name=name, notes=lines, **parts)

    @abstractmethod
    def _build(self) -> Problem:
        """The problem, built on first access."""

    @abstractmethod
    def _facts(self) -> Iterator[tuple[str, str]]:
        """The rows of this model's summary: a label and a value each."""

    @lazy
    def _problem(self) -> Problem:
        is_large = len(self.variables) >= LARGE
        if is_large:  # also while the factors are laid out, where an earlier pause would end
            pause_collection(SECONDS_OF_PAUSE)
        with uncollected():
            made = self._build()
        if is_large:
            pause_collection(SECONDS_OF_PAUSE)
        return made

    @often
    def problem(self) -> Problem:
        """The normal form that every method takes: variables, factors and conditionals; built once."""
        return self._problem

    @often
    def as_written(self) -> Problem:
        """The normal form with the factors as they were given, even if methods take others that are smaller."""
        return self.problem()

    def __getitem__(self, variable: VariableLike) -> Discrete | Vector:
        return self.variables.named(variable)

    def __contains__(self, variable: object) -> bool:
        return variable in self.variables

    def __iter__(self) -> Iterator[Discrete | Vector]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedModel):
            return NotImplemented
        if self is other:
            return True
        if type(self) is not type(other) or self.variables != other.variables:
            return False
        return all(same_value(getattr(self, name), getattr(other, name)) for name in self._CONTENTS)

    def __hash__(self) -> int:
        return hash((type(self), self.variables))

    def __repr__(self) -> str:
        title = f"{self.name!r}: " if self.name else ""
        return f"{type(self).__name__}({title}{', '.join(starmap(counted, self._counts()))})"

    def _counts(self) -> Iterator[tuple[int, str]]:
        return ((int(number), what.removesuffix("s")) for what, number in self._facts() if number.isdigit())

    def _shown(self) -> Shown:
        names = [v.name for v in self.variables[:FIRST_NAMES]]
        told = ", ".join([*names, *(["..."] if len(self) > FIRST_NAMES else [])])
        facts = (("kind", type(self).__name__), *self._facts(), *([("names", told)] if names else []))
        return Shown((), (*facts, *(("note", note) for note in self.notes)), self.name)

    def _repr_html_(self) -> str:
        from sepset.graphs.pictures.picture import with_picture

        return with_picture(html_table(shortened(self._shown())), len(self), self)

    @abstractmethod
    def to_networkx(self) -> Any:
        """The model's graph as a networkx graph."""
