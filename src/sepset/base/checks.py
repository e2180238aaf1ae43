"""Checks of arguments and settings: an error names the argument, the values it may have, and what was found.

Arguments of functions and methods raise `ArgumentError`. Parameters of variables, models and priors raise `ModelError`
(`check_positive`, `check_finite` and `finite_array`, which name their owner); rows and their weights raise `DataError`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.frames import without_labels
from sepset.base.frozen import read_only
from sepset.base.text import alternatives, brief, nearest
from sepset.errors import ArgumentError, DataError, ModelError, SepsetError

T = TypeVar("T")

Seed: TypeAlias = int | np.random.Generator
"""A seed, or a generator."""

SEEDS = (int, np.integer, np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
"""The types of seeds."""


def is_number(value: object) -> bool:
    """Whether a value is a single real number; booleans are not.

    >>> is_number(2), is_number(np.float32(0.5)), is_number(True), is_number("2")
    (True, True, False, False)
    """
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """A number as a float; infinite if it is larger than any.

    >>> as_float(2), as_float(-(10**400))
    (2.0, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(
    name: str, value: object, least: int = 0, *, otherwise: str = "", error: type[SepsetError] = ArgumentError
) -> int:
    """The value as an int, after checking that it is an integer of at least `least`.

    Args:
        name: the name of the argument.
        otherwise: what else the argument may be, such as "None for all processors", for the message only.
        error: the type of the exception.

    >>> whole("folds", 5, least=2)
    5
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    also = f", or {otherwise}" if otherwise else ""
    raise error(f"{_argument(name)} is a whole number of at least {least}{also}; found {brief(value)}.")


def below(name: str, value: object, limit: int) -> int:
    """The value as an int, after checking that it is a position among `limit` things.

    >>> below("row", 2, 3)
    2
    """
    if whole(name, value) < limit:
        return int(value)  # type: ignore[call-overload, no-any-return]  # whole, as checked
    raise ArgumentError(f"{_argument(name)} is a position below {limit}; found {brief(value)}.")


def number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    finite: bool = True,
    otherwise: str = "",
) -> float:
    """The value as a float, after checking that it is a number in this range.

    Args:
        least: the smallest value allowed.
        above: a bound that the value must exceed.
        finite: whether infinity raises an error; NaN always does.
        otherwise: what else the argument may be, for the message only.

    >>> number("rate", 0.1, above=0)
    0.1
    """
    if is_number(value):
        found = as_float(value)
        inside = (least is None or found >= least) and (above is None or found > above)
        if inside and not math.isnan(found) and not (finite and math.isinf(found)):
            return found
    limit = f" >= {least:g}" if least is not None else f" > {above:g}" if above is not None else ""
    also = f", or {otherwise}" if otherwise else ""
    raise ArgumentError(
        f"{_argument(name)} is a {'finite ' if finite else ''}number{limit}{also}; found {brief(value)}."
    )


def fraction(name: str, value: object, *, ends: bool = False) -> float:
    """The value as a float, after checking that it lies between 0 and 1.

    Args:
        ends: whether 0 and 1 themselves are allowed.

    >>> fraction("level", 0.95)
    0.95
    """
    if is_number(value) and (0 < value < 1 or (ends and value in (0, 1))):  # type: ignore[operator]  # a number
        return float(value)  # type: ignore[arg-type]  # a number, as checked
    where = "from 0 to 1" if ends else "between 0 and 1"
    raise ArgumentError(f"{_argument(name)} is a number {where}; found {brief(value)}.")


def one_of(name: str, value: T, options: Iterable[object], *, otherwise: str = "") -> T:
    """The value itself, after checking that it is one of the options.

    Args:
        otherwise: what else the argument may be, for the message only.

    >>> one_of("kind", "map", ("map", "mean"))
    'map'
    """
    known = tuple(options)
    for option in known:
        if isinstance(value, type(option)) and value == option:
            return value
    may = alternatives(known) if not otherwise else f"{', '.join(map(repr, known))} or {otherwise}"
    raise ArgumentError(f"{_argument(name)} is {may}; found {brief(value)}.{nearest(value, known)}")


def check_takes(function: object, count: int, what: str) -> None:
    """Raise if a function cannot be called with so many values; one that does not say is called anyway.

    Args:
        what: what the values are, for the message.

    >>> check_takes(max, 2, "parents")
    """
    import inspect

    if not callable(function):
        raise ArgumentError(f"A function of the states of {count} {what} was expected; found {brief(function)}.")
    try:
        inspect.signature(function).bind(*[None] * count)
    except ValueError:  # a function of C, which does not say
        return
    except TypeError:
        takes = inspect.signature(function)
        raise ArgumentError(f"The function takes {takes}; there are {count} {what}, one value for each.") from None


def one_axis(name: str, values: ArrayLike, *, error: type[SepsetError] = DataError) -> Floats:
    """The values as an array of numbers with one axis.

    >>> one_axis("scores", [1, 0.5])
    array([1. , 0.5])
    """
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        found = np.zeros(())
    if found.ndim != 1:
        raise error(f"{_argument(name)} are numbers in one row; found {brief(values)}.")
    return found


def generator(seed: Seed) -> np.random.Generator:
    """A generator with this seed, or the given generator itself, whose state advances.

    >>> int(generator(0).integers(100)) == int(generator(np.random.default_rng(0)).integers(100))
    True
    """
    try:
        if seed is None or (isinstance(seed, SEEDS) and not isinstance(seed, bool)):
            return np.random.default_rng(seed)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"seed= is a whole number of at least 0, or a numpy.random.Generator; found {brief(seed)}.")


def row_weights(weights: ArrayLike, num_rows: int, owner: object = None) -> Floats:
    """A read-only copy of row weights: one per row, finite and not negative; an error names the first invalid row.

    Args:
        owner: the object they were given to, for the message.

    >>> row_weights([1, 0.5], 2)
    array([1. , 0.5])
    """
    try:
        array = np.array(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{_of(owner)}Weights are numbers, one per row; found {brief(weights)}.") from error
    if array.shape != (num_rows,):
        shape = f"the shape {array.shape} for {num_rows} rows"
        raise DataError(f"{_of(owner)}Weights are numbers, one per row; found {shape}.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        found = f"row {row} has {array[row]}. Drop that row."
        raise DataError(f"{_of(owner)}Weights are finite and not negative; {found}")
    with np.errstate(over="ignore"):
        if not np.isfinite(array.sum()):
            raise DataError(f"{_of(owner)}Weights add up to more than a float holds. Divide them by the largest.")
    return read_only(array)


def _of(owner: object) -> str:
    return "" if owner is None else f"{owner!r}: "


def check_positive(owner: str, **values: Any) -> None:
    """Raise unless each hyperparameter is a finite number above zero.

    >>> check_positive("BDeu", sample_size=10)
    """
    for name, value in values.items():
        if not (is_number(value) and 0 < as_float(value) < math.inf):
            raise ModelError(f"{owner} needs a finite {name} > 0; found {brief(value)}.")


def check_finite(owner: str, **values: Any) -> None:
    """Raise unless each hyperparameter is a finite number.

    >>> check_finite("NormalGamma", mean=-2.5)
    """
    for name, value in values.items():
        if not (is_number(value) and math.isfinite(as_float(value))):
            raise ModelError(f"{owner} needs a finite {name}; found {brief(value)}.")


def finite_array(owner: str, name: str, values: ArrayLike) -> Floats:
    """A new array of these numbers, after checking that there are some and that all are finite.

    >>> finite_array("Dirichlet", "alpha", [1, 2]).tolist()
    [1.0, 2.0]
    """
    numbers = without_labels(values, name)
    try:
        found = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{owner} needs numbers as {name}; found {brief(values)}.") from error
    if not found.size or not np.isfinite(found).all():
        raise ModelError(f"{owner} needs finite {name}; found {found.tolist()}.")
    return found


def _argument(name: str) -> str:
    """`folds=` for an argument by its name; other descriptions as they are."""
    return f"{name}=" if name.isidentifier() else name
