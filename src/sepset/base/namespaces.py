"""Namespaces: modules whose public names are imported on first use, as `sepset.surface` lists them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sepset import surface

INNER = frozenset(("Evidence", "Problem"))
"""The public classes of which each question makes objects: what they are made of is not looked at."""


def namespace(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module whose public names are imported when they are first used.

    Args:
        module: the package itself, or one of the namespaces in `sepset.surface`.

    >>> find, names, _ = namespace("sepset.priors")
    >>> find("BDeu").__module__, "BDeu" in names()
    ('sepset.cpds.priors.dirichlet', True)
    """
    homes = surface.homes_in(module)
    names = sorted(homes)

    def find(name: str) -> Any:
        if name.startswith("__"):  # asked by Python and its tools, of every module
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if name not in homes:
            from sepset.base.foreign import hint  # only for a wrong name
            from sepset.base.text import nearest

            others = hint(name)
            here = surface.elsewhere(name)
            advice = here + others.replace("It is", "What others call so is") if here else others
            advice = advice or nearest(name, names, cutoff=0.6)
            raise AttributeError(f"module {module!r} has no attribute {name!r}.{advice}")
        home = import_module(f"sepset.{homes[name]}")
        value = home if homes[name] == name else getattr(home, name)
        if isinstance(value, type) and name not in INNER and not issubclass(value, BaseException):
            from sepset.base.foreign import takes_names

            value = takes_names(value)
        setattr(import_module(module), name, value)
        return value

    return find, lambda: names, names
