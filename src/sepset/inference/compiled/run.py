"""Runs: a question after its program ran with findings, from which answers are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.compiled.question import Question


class Run(ABC):
    """A finished run of any executor; answers are copies.

    It is read inside a `with` block, at whose end its workspace becomes available to the next run.

    Attributes:
        question: the question that was run.
        log_partition: the logarithm of the product of the roots, summed (or maximized) over the kept variables.
        is_log: whether tensors hold logarithms; then answers may be beyond the range of floats, and are read as logs.
    """

    __slots__ = ()

    question: Question
    log_partition: float
    is_log: bool = False

    @abstractmethod
    def joint(self) -> Floats:
        """The normalized joint over the kept variables, flat in rank order; undefined if the log partition is -inf."""

    @abstractmethod
    def singles(self) -> Floats:
        """All single marginals, concatenated at the question's `places`; findings are point masses."""

    def log_joint(self) -> Floats:
        """The logarithms of `joint`; tiny probabilities keep theirs if tensors hold logarithms."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.joint()))

    def log_singles(self) -> Floats:
        """The logarithms of `singles`; tiny probabilities keep theirs if tensors hold logarithms."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.singles()))

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Release the workspace."""


class TensorRun(Run):
    """A run that gives access to every tensor of the contraction."""

    __slots__ = ()

    @abstractmethod
    def tensor(self, number: int) -> Floats:
        """The entries of one tensor, flat; a view, for as long as the run is open."""

    @abstractmethod
    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor up to a common factor, flat, and the logarithm of that."""

    @abstractmethod
    def factor_marginal(self, number: int) -> Floats:
        """The normalized marginal over the free variables of a relevant factor, flat in rank order."""

    def factor_marginals(self) -> Floats:
        """Those of all relevant factors, one after the other."""
        return np.concatenate([self.factor_marginal(i) for i in range(len(self.question.numbers))])
