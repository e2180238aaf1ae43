"""The argument of a failed call that is not what its parameter is annotated with.

Nothing is checked before a call: a function that fails with an error of Python's own is looked at afterwards, so that
right calls cost nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import itertools
import re
import sys
import types
import typing
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from numbers import Integral, Real as AnyNumber
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.text import brief

MOST_ITEMS = 1000
"""The items of a collection that are looked at."""

LARGEST = 2**63 - 1
"""The largest integer that arrays and lengths have."""

UNKNOWN = object()


def misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The first argument that does not fit: what it should be, and what it is; empty if all fit.

    >>> def ask(model: str, *, given: Mapping[str, int] | None = None): ...
    >>> misfit(ask, ("asia",), {"given": 3})
    'given= is a mapping or None; found 3.'
    """
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if _holds_beyond(value):
            return f"{name}= has a number too large for the machine; found {brief(value)}."
        hint = _resolved(parameter.annotation, function)
        if parameter.kind is parameter.VAR_POSITIONAL:
            wrong = next((item for item in value if not fits(item, hint)), UNKNOWN)
        else:
            wrong = UNKNOWN if parameter.kind is parameter.VAR_KEYWORD or fits(value, hint) else value
        if wrong is not UNKNOWN and name not in ("self", "cls"):
            return f"{name}= is {described(hint)}; found {brief(wrong)}."
        if parameter.kind is not parameter.VAR_POSITIONAL and _is_beyond(value):
            return f"{name}= is too large for a number of the machine; found {brief(value)}."
    return ""


def misfit_within(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The first setting of an argument of ours, or of a setting of it, that does not fit; empty if all fit.

    Values are made without a look at their parts, so that a mistake in one may come to light where they are used.

    >>> @dataclasses.dataclass
    ... class Rule:
    ...     share: float
    >>> Rule.__module__ = "sepset.base.annotations"
    >>> def hide(rule: Rule): ...
    >>> misfit_within(hide, (Rule("much"),), {})
    "share= of Rule is a number; found 'much'."
    """
    given = inspect.signature(function).bind(*args, **kwargs).arguments.values()
    waiting, seen = deque(given), dict[int, Any]()
    while waiting and len(seen) < MOST_ITEMS:
        value = waiting.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # kept, so that no other value gets its number
        if isinstance(value, tuple | list | Mapping) and len(value) <= MOST_ITEMS:
            waiting += value.values() if isinstance(value, Mapping) else value
        elif is_ours(value):
            for name, hint, setting in settings(value):
                if not fits(setting, hint):
                    return f"{name}= of {type(value).__name__} is {described(hint)}; found {brief(setting)}."
                waiting.append(setting)
    return ""


def is_ours(value: Any) -> bool:
    """Whether a value of ours is made of settings."""
    return dataclasses.is_dataclass(value) and type(value).__module__.startswith("sepset.")


def settings(value: Any) -> Iterator[tuple[str, Any, Any]]:
    """The name, kind and value of each public setting; one that is still being made has not all of them."""
    for field in dataclasses.fields(value):
        home = next(base for base in type(value).__mro__ if field.name in vars(base).get("__annotations__", ()))
        if field.init and not field.name.startswith("_") and hasattr(value, field.name):
            yield field.name, _meant(field.type, vars(sys.modules[home.__module__])), _kept(getattr(value, field.name))


def _kept(setting: Any) -> Any:
    """A setting as it was given: arrays without axes are numbers that were made arrays."""
    if isinstance(setting, np.bool_):
        return bool(setting)
    return setting[None] if isinstance(setting, np.ndarray) and setting.ndim == 0 else setting


def _is_beyond(value: Any) -> bool:
    return isinstance(value, int) and not -LARGEST <= value <= LARGEST


def _holds_beyond(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(map(_is_beyond, value[:MOST_ITEMS]))


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """The type that an annotation means; `Any` if it is not known when the program runs."""
    return _meant(annotation, getattr(inspect.unwrap(function), "__globals__", {}))


def _meant(annotation: Any, around: dict[str, Any]) -> Any:
    """The type that an annotation in a module means; `Any` if it is not known when the program runs."""
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    known: dict[str, Any] = {}
    holder = types.SimpleNamespace(__annotations__={"its": annotation})
    while True:
        try:
            return typing.get_type_hints(holder, around, known, include_extras=True)["its"]
        except NameError as error:
            missing = error.name or ""
            found = _of_checkers(missing, sys.modules.get(around.get("__name__", "")))
            if found is None or missing in known:
                return Any
            known[missing] = found
        except (AttributeError, TypeError):
            return Any


def _of_checkers(name: str, module: types.ModuleType | None) -> Any:
    """The thing that a module imports from another one of ours for type checkers alone; None if it does not."""
    try:
        tree = ast.parse(inspect.getsource(module)) if module is not None else ast.Module([], [])
    except (OSError, TypeError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sepset."):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return getattr(importlib.import_module(node.module or ""), alias.name, None)
    return None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the annotated kind, as far as that can be told.

    >>> fits(3, int | None), fits(3, float), fits("a", float), fits(["a", 1], list[str])
    (True, True, False, False)
    """
    if hint is Any or hint is object or isinstance(hint, str | typing.TypeVar | typing.ForwardRef):
        return True
    if hint == ArrayLike:
        return _is_numeric(value)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in _parts(inner))
    if origin is typing.Literal:
        return any(value is part or (type(value) is type(part) and value == part) for part in inner)
    if hint is None or hint is type(None):
        return value is None
    if origin is typing.Annotated:
        return fits(value, inner[0])
    kind = origin or hint
    if kind is np.ndarray:
        return _is_array(value, inner)
    return _is_of(value, kind) and _items_fit(value, kind, inner)


def _is_array(value: Any, inner: tuple[Any, ...]) -> bool:
    """Whether a value is an array with axes, of numbers unless it may be of anything."""
    is_any = not inner or typing.get_args(inner[-1])[:1] in ((Any,), (np.object_,))
    return isinstance(value, np.ndarray) and value.ndim > 0 and (is_any or value.dtype.kind in "biuf")


def _parts(inner: tuple[Any, ...]) -> list[Any]:
    """The members of a union, in which all that NumPy makes arrays of is one."""
    arrays = typing.get_args(ArrayLike)
    if not set(arrays).issubset(inner):
        return list(inner)
    return [*(part for part in inner if part not in arrays), ArrayLike]


def _is_numeric(value: Any) -> bool:
    """Whether NumPy makes an array of numbers of a value."""
    try:
        return value is not None and np.asarray(value, np.float64).dtype == np.float64
    except (TypeError, ValueError):
        return False


def _is_of(value: Any, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, AnyNumber | np.bool_) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in _members(kind)) and not isinstance(value, type)
    try:
        return isinstance(value, kind)
    except TypeError:  # an alias that cannot be asked
        return True


def _members(protocol: type) -> set[str]:
    """The names of what all objects of a protocol have.

    >>> class Named(typing.Protocol):
    ...     name: str
    ...     def shown(self): ...
    >>> sorted(_members(Named))
    ['name', 'shown']
    """
    bases = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    found = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return {name for name in found if name in ("__call__", "__getitem__", "__len__") or not name.startswith("_")}


def _items_fit(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:
    """Whether the items of a collection fit; those of an iterator cannot be looked at."""
    if not inner or not isinstance(value, Collection) or kind is type:
        return True
    if isinstance(value, Mapping):
        pairs = itertools.islice(value.items(), MOST_ITEMS)
        return all(fits(k, inner[0]) and (len(inner) != 2 or fits(v, inner[1])) for k, v in pairs)
    if kind is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(fits, value, inner))
    if isinstance(value, str):
        return fits(value, inner[0])
    return all(fits(item, inner[0]) for item in itertools.islice(value, MOST_ITEMS))


def described(hint: Any) -> str:
    """A type in words.

    >>> described(int | None), described(Iterable[str]), described(Callable[[int], float])
    ('a whole number or None', 'several strings', 'a function')
    """
    if hint == ArrayLike:
        return "numbers"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        words = list(dict.fromkeys(described(part) for part in _parts(inner)))
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    if origin is typing.Literal:
        return " or ".join(map(repr, inner))
    kind = origin or hint
    if kind in WORDS:
        return WORDS[kind]
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping"
    if isinstance(kind, type) and issubclass(kind, Iterable) and inner:
        return _several(described(inner[0]))
    if kind is Callable or (isinstance(kind, type) and kind.__name__ == "Callable"):
        return "a function"
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "True or False",
    type(None): "None",
    None: "None",
    np.ndarray: "an array",
}


def _several(words: str) -> str:
    """Several of a kind in words; of many kinds, or of collections, just several.

    >>> _several("a string or a whole number"), _several("a string, a Real or a Vector"), _several("several strings")
    ('several strings or whole numbers', 'several strings, Reals or Vectors', 'a list of lists')
    """
    if words.startswith("several"):
        return "a list of lists"
    parts = [part.removeprefix("an ").removeprefix("a ") + "s" for part in re.split(", | or ", words)]
    return f"several {' or '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}"
