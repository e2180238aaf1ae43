r"""Structure priors that are products over families: a factor for each edge, and one for each number of parents.

$$\log P(\mathcal G) = \sum_{X \to Y} w_{XY} + \sum_Y s_{|\text{Pa}_Y|} + \text{const}$$
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import gammaln

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction, number
from sepset.base.text import listing, nearest
from sepset.errors import ScopeError
from sepset.graphs.graph import DAG


@runtime_checkable
class StructurePrior(Protocol):
    """A prior over structures in the form above.

    Attributes:
        is_equivalent: whether I-equivalent structures have equal prior probability.
    """

    @property
    def is_equivalent(self) -> bool:
        """Whether I-equivalent structures have equal prior probability."""

    def log_odds(self, names: Sequence[str]) -> Floats:
        """The term of each edge, from row to column."""

    def log_sizes(self, n: int) -> Floats:
        """The term of each number of parents, from 0 to `n` - 1."""


class _OverEdges:
    """A prior whose terms are all of edges."""

    __slots__ = ()

    def log_sizes(self, n: int) -> Floats:
        """Zeros: the number of parents does not matter beyond its edges."""
        return np.zeros(max(n, 1))


@dataclass(frozen=True, slots=True)
class UniformStructures(_OverEdges):
    r"""All structures are equally probable.

    Reference: Koller & Friedman, section 18.3.6.1.
    Guarantee: exact.
    Tested by: learning/structure/test_structureprior.py::test_priors_against_enumeration

    >>> UniformStructures().log_odds(("a", "b")).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """

    is_equivalent = True
    """Whether I-equivalent structures are equally probable."""

    def log_odds(self, names: Sequence[str]) -> Floats:
        """Zeros."""
        return np.zeros((len(names), len(names)))


@dataclass(frozen=True, slots=True)
class EdgePenalty(_OverEdges):
    r"""Each edge makes a structure less probable: $P(\mathcal G) \propto c^{|\mathcal G|}$.

    Args:
        factor: $c$, positive.

    Reference: Koller & Friedman, section 18.3.6.1.
    Guarantee: exact.
    Tested by: learning/structure/test_structureprior.py::test_priors_against_enumeration

    >>> EdgePenalty(0.5).log_odds(("a", "b"))[0, 1].round(4)
    np.float64(-0.6931)
    """

    factor: float

    def __post_init__(self) -> None:
        number("EdgePenalty(factor=)", self.factor, above=0)

    is_equivalent = True
    """True: I-equivalent structures have as many edges."""

    def log_odds(self, names: Sequence[str]) -> Floats:
        """The logarithm of the factor for every edge."""
        return np.full((len(names), len(names)), np.log(self.factor))


@dataclass(frozen=True, slots=True)
class EdgeProbabilities(_OverEdges):
    r"""Each edge is present independently, with its own probability.

    $$w_{XY} = \log \frac{\kappa_{XY}}{1 - \kappa_{XY}}$$

    With an order, edges against it are impossible (Buntine's prior).

    Args:
        probabilities: $\kappa$ for edges `(source, target)`.
        default: for all other edges.
        order: names from first to last; edges go forward only.

    Reference: Koller & Friedman, section 18.8; Buntine (1991).
    Guarantee: exact.
    Tested by: learning/structure/test_structureprior.py::test_priors_against_enumeration

    >>> EdgeProbabilities({("a", "b"): 0.9}).log_odds(("a", "b")).round(3).tolist()
    [[0.0, 2.197], [0.0, 0.0]]
    """

    probabilities: Mapping[tuple[str, str], float] = field(default_factory=dict, hash=False)
    default: float = 0.5
    _: KW_ONLY
    order: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        fraction("EdgeProbabilities(default=)", self.default)
        for edge, probability in self.probabilities.items():
            fraction(f"EdgeProbabilities[{edge!r}]", probability, ends=True)

    @property
    def is_equivalent(self) -> bool:
        """Only if every edge has one probability and there is no order."""
        return self.order is None and all(p == self.default for p in self.probabilities.values())

    def log_odds(self, names: Sequence[str]) -> Floats:
        """The logarithm of the odds of each edge."""
        kappa = np.full((len(names), len(names)), float(self.default))
        for (source, target), probability in self.probabilities.items():
            kappa[_place(source, names), _place(target, names)] = probability
        with np.errstate(divide="ignore"):
            odds = np.log(kappa) - np.log1p(-kappa)
        if self.order is not None:
            ranks = np.array([_rank(name, self.order) for name in names])
            odds[ranks[:, None] > ranks[None, :]] = -np.inf
        return np.asarray(odds)


@dataclass(frozen=True, slots=True)
class PriorNetwork(_OverEdges):
    r"""Structures near a given one are more probable: $P(\mathcal G) \propto \kappa^{\delta}$.

    $\delta$ counts the parents that differ, over all variables.

    Args:
        graph: the expected structure.
        factor: $\kappa$, between 0 and 1.

    Reference: Koller & Friedman, section 18.8; Heckerman, Geiger & Chickering (1995).
    Guarantee: exact.
    Tested by: learning/structure/test_structureprior.py::test_priors_against_enumeration

    >>> PriorNetwork(DAG.parse("a -> b"), 0.1).log_odds(("a", "b")).round(3).tolist()
    [[-2.303, 2.303], [-2.303, -2.303]]
    """

    graph: DAG
    factor: float = 0.5

    def __post_init__(self) -> None:
        fraction("PriorNetwork(factor=)", self.factor)

    is_equivalent = False
    """False: it counts directed edges."""

    def log_odds(self, names: Sequence[str]) -> Floats:
        """An expected edge gains what an unexpected one costs."""
        odds = np.full((len(names), len(names)), np.log(self.factor))
        for source, target in self.graph.directed:
            odds[_place(source, names), _place(target, names)] *= -1
        return odds


@dataclass(frozen=True, slots=True)
class UniformSizes:
    r"""Every number of parents is equally probable, and so are parent sets of one size.

    $$P(\text{Pa}) \propto \binom{n - 1}{|\text{Pa}|}^{-1}$$

    Reference: Friedman & Koller (2003); Koivisto & Sood (2004).
    Guarantee: exact.
    Tested by: learning/structure/test_structureprior.py::test_priors_against_enumeration

    >>> UniformSizes().log_sizes(3).round(3).tolist()
    [0.0, -0.693, 0.0]
    """

    is_equivalent = True
    """True: reversing a covered edge exchanges the sizes of two parent sets."""

    def log_odds(self, names: Sequence[str]) -> Floats:
        """Zeros."""
        return np.zeros((len(names), len(names)))

    def log_sizes(self, n: int) -> Floats:
        """The logarithm of one over the number of sets of each size."""
        sizes = np.arange(max(n, 1))
        return np.asarray(gammaln(sizes + 1) + gammaln(n - sizes) - gammaln(n))


def _place(name: str, names: Iterable[str]) -> int:
    listed = list(names)
    if name not in listed:
        raise ScopeError(f"The structure prior names {name!r}, which is not a column.{nearest(name, listed)}")
    return listed.index(name)


def _rank(name: str, order: Sequence[str]) -> int:
    if name not in order:
        raise ScopeError(f"The order of the structure prior leaves out {name!r}; it has {listing(order)}.")
    return order.index(name)
