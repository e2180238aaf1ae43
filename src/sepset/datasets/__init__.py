"""Classic small networks, each with its source, authors and license.

>>> load("student")["grade"].states
('A', 'B', 'C')
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from importlib import resources
from typing import TYPE_CHECKING, TypeVar, overload

from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.text import listing, nearest
from sepset.errors import ModelError, ScopeError

if TYPE_CHECKING:
    from sepset.models.bayesnet import BayesNet
    from sepset.models.model import Model

M = TypeVar("M", bound="Model")

__all__ = ["Description", "describe", "load", "names"]


def __dir__() -> list[str]:
    return __all__


_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Description(Report):
    """The description of a network in its data file."""

    name: str
    description: str
    _: KW_ONLY
    source: str
    authors: str
    license: str

    def __repr__(self) -> str:
        return f"Description({self.name!r}: {self.description})"

    def _shown(self) -> Shown:
        return Shown((), [(key, text) for key, text in self.to_dict().items() if key != "name"], self.name)


def names() -> tuple[str, ...]:
    """The names that `load` accepts, sorted.

    >>> names()[:3]
    ('alarm', 'asia', 'cancer')
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


@overload
def load(name: str) -> BayesNet: ...
@overload
def load(name: str, *, kind: type[M]) -> M: ...
@translated
def load(name: str, *, kind: type[Model] | None = None) -> Model:
    """The network with this name; an unknown name raises an error that suggests the nearest one.

    Args:
        name: one of `names()`.
        kind: the class it must have. Type checkers take it from here, and a Bayesian network without it.

    Rows whose published digits do not sum to one are renormalized, which `notes` reports.

    Reference: see NOTICE.
    Guarantee: published digits.
    Tested by: datasets/test_datasets.py::test_networks_are_the_published_ones

    >>> load("asia")
    BayesNet('asia': 8 variables, 8 edges, 18 parameters)
    """
    from sepset.io import json

    model = json.parse(_data(name), f"{name}{_SUFFIX}")
    if kind is not None and not isinstance(model, kind):
        raise ModelError(f"{name!r} is a {type(model).__name__}; kind= asks for a {kind.__name__}.")
    return model


@translated
def describe(name: str) -> Description:
    """The source, authors and license of the network with this name.

    >>> describe("alarm").license
    'CC BY-SA 3.0, https://creativecommons.org/licenses/by-sa/3.0/'
    """
    from sepset.io import json

    return Description(**json.about(_data(name), f"{name}{_SUFFIX}"))


def _data(name: str) -> bytes:
    known = names()
    if name not in known:
        raise ScopeError(f"Unknown dataset {name!r}.{nearest(name, known)} There are {listing(known, len(known))}.")
    return (resources.files(__name__) / f"{name}{_SUFFIX}").read_bytes()
