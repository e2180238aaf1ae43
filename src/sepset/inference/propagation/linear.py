r"""Sum-product messages as numbers instead of logarithms: several times faster, for factors within bounds.

Messages have a sum of one, so that a product of those to variable $i$ is at least $e^{-r_i}$ with

$$r_i = \sum_{f \ni i} (\max \theta_f - \min \theta_f + \log |x_i|) + \max \theta_i - \min \theta_i.$$

Log values that differ by at most a few hundred together, and variables of few enough factors, have products that are
numbers; beliefs are then those of log messages up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.threads import interruptible
from sepset.errors import NotApplicable
from sepset.inference.propagation.numberpassing import NumberPassing
from sepset.inference.propagation.schedules import Wired
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.linear import linear_energy, linear_gather, linear_pass
from sepset.kernels.propagation.wires import POTTS, TABLE

WIDEST = {"float64": 300.0, "float32": 40.0}
"""The largest sum of the ranges of log values around one variable, by the type of numbers."""


def log_ranges(wiring: Wiring) -> Floats:
    """The difference of the largest and the smallest log value of each factor; inf if one is zero."""
    plugs, out = wiring.plugs, np.abs(wiring.plugs.weights).astype(np.float64)
    tables = plugs.kinds == TABLE
    if tables.any():
        starts, which = np.unique(plugs.places[tables], return_inverse=True)
        top, low = np.maximum.reduceat(plugs.tables, starts), np.minimum.reduceat(plugs.tables, starts)
        out[tables] = np.where(low > -np.inf, top - low, np.inf)[which] if np.isfinite(low).all() else np.inf
    return out


def is_bounded(wiring: Wiring, precision: str) -> bool:
    """Whether messages stay within the range of numbers: all factors are tables and equal states, none extreme."""
    plugs, most = wiring.plugs, WIDEST[precision]
    if (plugs.kinds > POTTS).any() or np.abs(plugs.tables).max(initial=0.0) > most:
        return False
    span = span_of(wiring, most)
    if span > most:
        return False
    others = int(np.diff(plugs.starts).max(initial=1)) - 1
    slots = int(wiring.degrees.max(initial=0)) * float(np.log(plugs.cards.max(initial=1)))
    if others * (span + slots) <= 2.0 * most:
        return True
    products = _around(wiring) + _width(wiring.unary) + wiring.degrees * np.log(plugs.cards)
    return bool(_of_others(wiring, products).max(initial=0.0) <= 2.0 * most)


def span_of(wiring: Wiring, most: float) -> float:
    """The largest sum of the ranges of log values around one variable, or a larger number that is at most `most`."""
    quick = float(log_ranges(wiring).max(initial=0.0)) * int(wiring.degrees.max(initial=0))
    wide = _width(wiring.unary)
    return quick + wide if quick + wide <= most else float(_around(wiring).max(initial=0.0)) + wide


def _around(wiring: Wiring) -> Floats:
    """The sum of the ranges of the factors of each variable."""
    ranges = log_ranges(wiring)[wiring.factors]
    return np.asarray(np.bincount(wiring.plugs.scope, ranges, minlength=wiring.num_variables), np.float64)


def _width(logs: Floats) -> float:
    """The difference of the largest and the smallest of some log values that are not -inf."""
    possible = logs if np.isfinite(logs).all() else logs[logs > -np.inf]
    return float(possible.max() - possible.min()) if len(possible) else 0.0


def _of_others(wiring: Wiring, numbers: Floats) -> Floats:
    """For each factor the sum of the numbers of its variables, less the smallest of them."""
    if not wiring.num_factors:
        return np.zeros(0)
    each, starts = numbers[wiring.plugs.scope], wiring.plugs.starts[:-1]
    return np.asarray(np.add.reduceat(each, starts) - np.minimum.reduceat(each, starts))


def require_bounded(wiring: Wiring, method: object, precision: str) -> None:
    """Raise if messages of numbers could leave their range."""
    if not is_bounded(wiring, precision):
        raise NotApplicable(
            f"{type(method).__name__}(domain='linear') takes positive tables and weights of equal states whose log "
            f"values are at most {WIDEST[precision]:g} in size, differ by no more around one variable, and are not of "
            "so many factors that products of their messages are too small for a number. Use domain='log'."
        )


class Numbers(NamedTuple):
    """The exponentials of a model: of weights, tables, and single variables; of the last, less their largest logs."""

    gains: Floats
    values: Floats
    unary: Floats
    tops: float


@dataclass(frozen=True, eq=False)
class LinearPassing(NumberPassing):
    """Passes of sum-product messages, a number for each state."""

    @lazy
    def numbers(self) -> Numbers:
        """The exponentials of the model."""
        plugs, kind = self.wiring.plugs, np.dtype(self.precision)
        sizes = np.diff(plugs.states)
        tops = np.maximum.reduceat(self.wiring.unary, plugs.states[:-1]) if len(sizes) else np.zeros(0)
        tops = np.where(tops > -np.inf, tops, 0.0)
        arrays = plugs.weights, plugs.tables, self.wiring.unary - np.repeat(tops, sizes)
        gains, values, unary = (np.exp(array).astype(kind) for array in arrays)
        return Numbers(gains, values, unary, float(tops.sum()))

    @property
    def own(self) -> Floats:
        """The numbers of the states of each variable alone."""
        return self.numbers.unary

    @property
    def num_messages(self) -> int:
        """One number for each state of each slot."""
        return int(self.wiring.wires.messages[-1])

    def init(self, task: Wired, rng: np.random.Generator) -> Floats:
        """Uniform messages, and the beliefs that they give."""
        wires, unary = self.wiring.wires, self.numbers.unary
        sizes = np.diff(wires.messages)
        state = np.empty(int(wires.messages[-1]) + len(unary), self.precision)
        messages = state[: len(state) - len(unary)]
        messages[:] = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        linear_gather(wires, unary, messages, state[len(messages) :])
        return state

    def send(self, order: Ints, keep: float, state: Floats, made: Floats, *, is_sequential: bool) -> float:
        """Send the messages of some factors from one state to another; the largest change of a log message."""
        num, widest, kind = self.num_messages, self.wiring.widest, state.dtype.type
        beliefs = (made if is_sequential else state)[num:]
        how = order, kind(keep), is_sequential, beliefs, made[num:], state[:num], made[:num]
        room = np.empty(widest, kind), np.empty(widest, kind), np.empty(widest, np.int64)
        gains, values = self.numbers.gains, self.numbers.values
        return float(interruptible(partial(linear_pass, self.wiring.wires, gains, values, *how, *room)))

    def gather(self, made: Floats) -> None:
        """Compute the products of the messages."""
        num = self.num_messages
        linear_gather(self.wiring.wires, self.own, made[:num], made[num:])

    def gathered(self, wiring: Wiring, state: Floats) -> tuple[Floats, float]:
        """The normalized log beliefs of the variables, and the sum of their log totals, for messages with a sum of one.

        Log messages have a maximum of zero instead; the log partition is the same.
        """
        beliefs, sums = self._normalized(state)
        with np.errstate(divide="ignore"):
            return np.log(beliefs), self.numbers.tops + float(np.log(sums).sum())

    def _normalized(self, state: Floats) -> tuple[Floats, Floats]:
        """The beliefs with a sum of one, and their sums before."""
        states = self.wiring.plugs.states
        beliefs = state[int(self.wiring.wires.messages[-1]) :].astype(np.float64)
        sums = np.add.reduceat(beliefs, states[:-1]) if len(beliefs) else np.ones(0)
        return np.divide(beliefs, np.repeat(sums, np.diff(states))), sums

    def factor_totals(self, wiring: Wiring, state: Floats, logs: Floats, *, is_bound: bool) -> float:
        """The sum of the log totals of all factor beliefs, for messages with a sum of one."""
        beliefs, widest = self._normalized(state)[0], wiring.widest
        messages = state[: int(wiring.wires.messages[-1])].astype(np.float64)
        gains, values = (array.astype(np.float64) for array in self.numbers[:2])
        room = np.empty(widest), np.empty(widest), np.empty(widest, np.int64)
        return float(interruptible(partial(linear_energy, wiring.wires, gains, values, beliefs, messages, *room)))

    def log_messages(self, wiring: Wiring, state: Floats) -> Floats:
        """The log messages of a state, each with a maximum of zero."""
        places = wiring.wires.messages
        logs = np.log(state[: int(places[-1])].astype(np.float64))
        if len(logs):
            logs -= np.repeat(np.maximum.reduceat(logs, places[:-1]), np.diff(places))
        return read_only(logs)
