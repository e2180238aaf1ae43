r"""Corrections of p-values for the number of tests.

$$\begin{aligned}
\text{Bonferroni} &: N p_i & \text{Šidák} &: 1 - (1 - p_i)^N \\
\text{Holm} &: \max_{j \le i} (N - j + 1)\, p_{(j)} & \text{Benjamini-Hochberg} &: \min_{j \ge i} \tfrac{N}{j}\, p_{(j)}
\end{aligned}$$
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction, whole
from sepset.errors import ArgumentError


class Correction(Protocol):
    """A correction of p-values for the number of tests."""

    def adjusted(self, p_values: ArrayLike) -> Floats:
        """The p-values to compare with the level of all tests together."""
        ...


@dataclass(frozen=True)
class Bonferroni:
    """Bonferroni's correction: the probability of any false rejection is at most the level, whatever the dependences.

    Reference: Koller & Friedman, section 18.2.2.4.
    Guarantee: family-wise error.
    Tested by: learning/structure/independence/test_corrections.py::test_levels_of_one_test

    >>> Bonferroni().level_of_each(0.05, 100), Bonferroni().adjusted([0.01, 0.6]).tolist()
    (0.0005, [0.02, 1.0])
    """

    def level_of_each(self, level: float, num_tests: int) -> float:
        """The level of each of so many tests."""
        return fraction("level", level) / whole("num_tests", num_tests, least=1)

    def adjusted(self, p_values: ArrayLike) -> Floats:
        """The p-values to compare with the level of all tests together."""
        p = checked(p_values)
        return np.minimum(p * len(p), 1.0)


@dataclass(frozen=True)
class Sidak:
    """Šidák's correction: the probability of any false rejection is the level if tests are independent.

    Reference: Koller & Friedman, exercise 18.3; Šidák (1967).
    Guarantee: family-wise error for independent tests.
    Tested by: learning/structure/independence/test_corrections.py::test_levels_of_one_test

    >>> round(Sidak().level_of_each(0.05, 100), 9)
    0.000512801
    """

    def level_of_each(self, level: float, num_tests: int) -> float:
        """The level of each of so many tests."""
        return float(-np.expm1(np.log1p(-fraction("level", level)) / whole("num_tests", num_tests, least=1)))

    def adjusted(self, p_values: ArrayLike) -> Floats:
        """The p-values to compare with the level of all tests together."""
        p = checked(p_values)
        with np.errstate(divide="ignore"):
            found: Floats = -np.expm1(len(p) * np.log1p(-p))
        return found


@dataclass(frozen=True)
class Holm:
    """Holm's correction: as Bonferroni's, and it rejects at least as much.

    Reference: Holm (1979).
    Guarantee: family-wise error.
    Tested by: learning/structure/independence/test_corrections.py::test_step_procedures_by_definition

    >>> Holm().adjusted([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """

    def adjusted(self, p_values: ArrayLike) -> Floats:
        """The p-values to compare with the level of all tests together."""
        p = checked(p_values)
        order = np.argsort(p, kind="stable")
        steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
        return _in_place(np.minimum(steps, 1.0), order)


@dataclass(frozen=True)
class BenjaminiHochberg:
    """Benjamini and Hochberg's correction: the expected share of false rejections among all is at most the level.

    Reference: Benjamini & Hochberg (1995).
    Guarantee: false discovery rate for independent or positively dependent tests.
    Tested by: learning/structure/independence/test_corrections.py::test_step_procedures_by_definition

    >>> BenjaminiHochberg().adjusted([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """

    def adjusted(self, p_values: ArrayLike) -> Floats:
        """The p-values to compare with the level of all tests together."""
        p = checked(p_values)
        order = np.argsort(p, kind="stable")
        steps = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
        return _in_place(np.minimum(steps, 1.0), order)


def checked(p_values: ArrayLike) -> Floats:
    """The p-values as an array; raises if one is not from 0 to 1."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ArgumentError("p-values are a list of numbers from 0 to 1.")
    return p


def _in_place(values: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    found = np.empty_like(values)
    found[order] = values
    return found
