"""Runs: a question after its program ran with findings, from which answers are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from sepset.base.arraytypes import Floats
from sepset.inference.compiled.question import Question


class Run(ABC):
    """A finished run of any executor; answers are copies.

    It is read inside a `with` block, at whose end its workspace becomes available to the next run.

    Attributes:
        question: the question that was run.
        log_partition: the logarithm of the product of the roots, summed (or maximized) over the kept variables.
    """

    __slots__ = ()

    question: Question
    log_partition: float

    @abstractmethod
    def joint(self) -> Floats:
        """The normalized joint over the kept variables, flat in rank order; undefined if the log partition is -inf."""

    @abstractmethod
    def singles(self) -> Floats:
        """All single marginals, concatenated at the question's `places`; findings are point masses."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Release the workspace."""


class TensorRun(Run):
    """A run that gives access to every tensor of the contraction.

    Attributes:
        is_log: whether tensors hold logarithms.
    """

    __slots__ = ()

    is_log: bool

    @abstractmethod
    def tensor(self, number: int) -> Floats:
        """The entries of one tensor, flat; a view, for as long as the run is open."""

    @abstractmethod
    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor up to a common factor, flat, and the logarithm of that."""

    @abstractmethod
    def factor_marginal(self, number: int) -> Floats:
        """The normalized marginal over the free variables of a relevant factor, flat in rank order."""
