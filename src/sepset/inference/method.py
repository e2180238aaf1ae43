"""The shape of direct methods: prepare once, ask many times. Variables travel as positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.checks import number
from sepset.errors import ArgumentError
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.table import Table
from sepset.inference.plan import Plan
from sepset.inference.result import Guarantee, Guarantees
from sepset.problem import Problem
from sepset.variables.evidence import Evidence


def check_settings(order: object, memory: object) -> None:
    """Raise unless these are a way to choose an order, and a number of bytes.

    >>> from sepset.graphs.ordering import MinFill
    >>> check_settings(MinFill(), 4 * 2**30)
    """
    if isinstance(order, type) or not hasattr(order, "arrange"):
        raise ArgumentError(
            f"order= says how elimination orders are chosen, as MinFill() or GivenOrder([...]) do; found {order!r}."
        )
    number("memory= (bytes)", memory, least=0, finite=False)


class Answer(NamedTuple):
    """A normalized distribution over the targets, the logarithm of the evidence's probability, and how good both are.

    Without a guarantee of its own, the answer has the one its method promises.
    """

    distribution: Any
    log_partition: float
    guarantee: Guarantee | None = None


def dense(distribution: Any) -> Any:
    """The answer with discrete ones as tables, so that `values` has one axis a target whatever the factors were."""
    if type(distribution) is Table:
        return distribution
    is_sparse = isinstance(distribution, DiscreteFactor) and not isinstance(distribution, Table)
    return distribution.to_table() if is_sparse else distribution


class Best(NamedTuple):
    """An assignment from position to code (or value), and the logarithm of its unnormalized value."""

    values: Mapping[int, Any]
    log_value: float


@runtime_checkable
class Prepared(Protocol):
    """A method bound to a problem."""

    @property
    def problem(self) -> Problem:
        """The problem it answers questions about."""

    @property
    def method(self) -> Method:
        """The settings it was made with."""

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence; the log partition is -inf where that is impossible."""

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals, and the log partition."""

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out."""

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable."""

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> Plan:
        """What a question would cost."""


@runtime_checkable
class Method(Protocol):
    """A frozen value of settings."""

    def prepare(self, problem: Problem) -> Prepared:
        """The method bound to a problem."""

    def promises(self, problem: Problem) -> Guarantees:
        """What its answers about this problem guarantee."""
