"""Passes of sum-product messages as numbers, whose state has all messages and then all beliefs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.inference.iterate import Info
from sepset.inference.propagation.schedules import Wired, orders_of
from sepset.inference.wiring import Wiring


@dataclass(frozen=True, eq=False)
class NumberPassing(ABC):
    """Passes of sum-product messages, as an iterative method.

    Attributes:
        wiring: the model, without states that arc consistency rules out.
        damping: the part of each old message, with a sum of one, that is kept; none on forests.
        schedule: one of `SCHEDULES` but "residual".
        precision: the type of the numbers.
    """

    wiring: Wiring
    damping: float
    schedule: str
    precision: str = "float64"

    is_max = False

    @property
    @abstractmethod
    def own(self) -> Floats:
        """The numbers of each variable alone."""

    @property
    @abstractmethod
    def num_messages(self) -> int:
        """The number of numbers that all messages have together."""

    @abstractmethod
    def send(self, order: Ints, keep: float, state: Floats, made: Floats, *, is_sequential: bool) -> float:
        """Send the messages of some factors from one state to another; the largest change.

        Args:
            keep: the part of each old message that is kept.
            made: has the beliefs without messages, or for sequential passes those of the state.
        """

    @abstractmethod
    def gather(self, made: Floats) -> None:
        """Compute the beliefs of a state from its messages: products of many changes lose accuracy."""

    @lazy
    def buffers(self) -> tuple[Floats, Floats]:
        """Two states: each pass reads one and writes the other, as fresh memory would cost as much as the pass."""
        size = self.num_messages + len(self.own)
        return np.empty(size, self.precision), np.empty(size, self.precision)

    def weights(self, wiring: Wiring) -> tuple[Floats, Floats]:
        """The weight of each factor, and the counts of the variables."""
        return np.ones(wiring.num_factors), np.ones(wiring.num_variables)

    def step(self, task: Wired, state: Floats, rng: np.random.Generator) -> tuple[Floats, Info]:
        """A pass over all factors, or several of the schedule."""
        changes = []
        for order in orders_of(self.schedule, self.wiring, rng):
            state, change = self._passed(state, order)
            changes.append(change)
        return state, Info(-max(changes), max(changes))

    def _passed(self, state: Floats, order: Ints) -> tuple[Floats, float]:
        num, is_sequential = self.num_messages, self.schedule != "synchronous"
        made = self.buffers[1 if state is self.buffers[0] else 0]
        made[num:] = state[num:] if is_sequential else self.own
        if len(order) < self.wiring.num_factors:
            made[:num] = state[:num]
        keep = 0.0 if self.wiring.is_forest else self.damping
        change = self.send(order, keep, state, made, is_sequential=is_sequential)
        if is_sequential:
            self.gather(made)
        return made, change
