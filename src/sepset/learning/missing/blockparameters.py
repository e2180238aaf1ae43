r"""The free parameters of one parameter block, whatever form its CPDs have.

Each form has parameters $\varphi$ of its own, and a table $\theta_{x \mid \mathbf u}(\varphi)$ that follows from them.
What is asked of all is the transposed derivative $g \mapsto (\partial\theta / \partial\varphi)^\top g$, so that one
sweep of exact inference gives the slope of $P(\mathbf y)$ by the parameters a CPD really has:

- cells of multinomials, less those that give way so that rows sum to one;
- for noisy-or and noisy-max, the contributions of each parent's state, in each of which the table is linear;
- for logistic CPDs, weights and biases, first states held fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD, decode
from sepset.cpds.influences import Influences
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.numbers import numbers, with_numbers
from sepset.cpds.parameters import multinomials
from sepset.cpds.rules import RuleCPD
from sepset.cpds.tying import multiplicities
from sepset.errors import NotApplicable
from sepset.factors.algebra import num_entries

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class BlockParameters(Protocol):
    """The free parameters of tied CPDs."""

    @property
    def cpds(self) -> tuple[Any, ...]:
        """The tied CPDs."""

    @property
    def values(self) -> Floats:
        """The parameters."""

    def names(self) -> list[str]:
        """What each of them is called."""

    def slope(self, place: int, slope: Floats) -> Floats:
        """The slope by the parameters, from that by the entries of the table of one of the CPDs."""

    def moved(self, step: Floats) -> list[CPD] | None:
        """The CPDs with their parameters moved; None where a probability would leave [0, 1]."""

    def random(self, rng: np.random.Generator) -> list[CPD]:
        """The CPDs with random parameters, away from zero."""


def block_parameters(cpds: Sequence[CPD]) -> BlockParameters | None:
    """The parameters of tied CPDs; None where they have none.

    >>> from sepset.variables.variable import Discrete
    >>> block_parameters([NoisyOr(Discrete("x"), {Discrete("u"): 0.3}, leak=0.1)]).names()
    ['P(x=1 by itself)', 'P(x=1 by u=1)']
    """
    tied: tuple[Any, ...] = tuple(cpds)
    if all(isinstance(cpd, DiscreteCPD) and not cpd.num_parameters for cpd in tied):
        return None
    if all(multinomials(cpd) is not None for cpd in tied):
        return Cells(tied)
    if all(isinstance(cpd, NoisyOr | NoisyMax) for cpd in tied):
        return Contributions(tied)
    if all(isinstance(cpd, LogisticCPD) for cpd in tied):
        return Weights(tied)
    raise NotApplicable(
        f"{cpds[0]!r} does not say what its free parameters are. Give tables, trees, rules, noisy-or, noisy-max or "
        "logistic CPDs; to_table() turns a discrete CPD into a table, which has parameters of its own."
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """Tables, trees, rules and partitions: probabilities of cells under sums to one."""

    cpds: tuple[Any, ...]  # CPDs and Multinomials at once, which no one name says

    @cached_property
    def _cells(self) -> tuple[Ints, ...]:
        """For each CPD the cell of every entry of its table."""
        return tuple(cpd.cells(decode(np.arange(num_entries(cpd.scope)), cpd.scope)) for cpd in self.cpds)

    @cached_property
    def _free(self) -> tuple[Ints, csr_array]:
        """The cells that are free, and how all cells move with each of them."""
        cpd = self.cpds[0]
        if isinstance(cpd, RuleCPD) and _overlap(cpd):
            return _null_space(multiplicities(cpd.rule_of, len(cpd.probability)))
        from scipy.sparse import csr_array

        groups, share = cpd.groups, cpd.multiplicities
        last_of = {int(group): cell for cell, group in enumerate(groups)}
        last = np.array([last_of[int(group)] for group in groups])
        free = np.flatnonzero(last != np.arange(len(last)))
        ones, which = np.ones(len(free)), np.arange(len(free))
        rates = np.concatenate([ones, -share[free] / share[last[free]]])
        places = np.tile(which, 2), np.concatenate([free, last[free]])
        return free, csr_array((rates, places), shape=(len(free), len(groups)))

    @property
    def values(self) -> Floats:
        """The probabilities of the free cells."""
        return np.asarray(self.cpds[0].parameters[self._free[0]])

    def names(self) -> list[str]:
        """Each as a conditional probability."""
        cpd, found = self.cpds[0], []
        codes = decode(np.arange(num_entries(cpd.scope)), cpd.scope)[cpd.child]
        for cell in self._free[0].tolist():
            if isinstance(cpd, RuleCPD) and _overlap(cpd):
                rule = ", ".join(f"{name}={state!r}" for name, state in cpd.rules[cell].context.items())
                found.append(f"P({cpd.child.name} by the rule {rule})")
                continue
            state = cpd.child.states[int(codes[np.argmax(self._cells[0] == cell)])]
            context = cpd.describe_group(int(cpd.groups[cell])).strip("()") if cpd.parents else ""
            found.append(f"P({cpd.child.name}={state!r}{' | ' if context else ''}{context})")
        return found

    def slope(self, place: int, slope: Floats) -> Floats:
        """The slope by the free cells; others give way."""
        total = np.bincount(self._cells[place], slope, len(self.cpds[0].parameters))
        return np.asarray(self._free[1] @ total)

    def moved(self, step: Floats) -> list[CPD] | None:
        """The CPDs with the free cells moved; None where a cell would leave [0, 1]."""
        new = self.cpds[0].parameters + step @ self._free[1]
        return None if (new < 0).any() else [_with_cells(cpd, new) for cpd in self.cpds]

    def random(self, rng: np.random.Generator) -> list[CPD]:
        """The CPDs with random cells."""
        drawn = rng.gamma(2.0, size=len(self.cpds[0].parameters)) + 0.05
        return [cpd.from_statistics(drawn * cpd.multiplicities) for cpd in self.cpds]


def _with_cells(cpd: Any, cells: Floats) -> CPD:
    if isinstance(cpd, RuleCPD) and _overlap(cpd):
        return with_numbers(cpd, [cells])
    made: CPD = cpd.from_statistics(cells * cpd.multiplicities)
    return made


def _overlap(cpd: RuleCPD) -> bool:
    """Whether contexts share rules, so that a rule stands in several sums to one."""
    table = multiplicities(cpd.rule_of, len(cpd.probability))
    return bool(((table > 0).sum(axis=0) > 1).any())


def _null_space(table: Floats) -> tuple[Ints, csr_array]:
    r"""The free cells under $N\theta = 1$, and a direction for each that keeps all sums."""
    from scipy.linalg import qr
    from scipy.sparse import csr_array

    _, R, order = qr(table, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(R)) > 1e-10 * abs(R[0, 0])).sum())
    bound, free = order[:rank], np.sort(order[rank:])
    at = np.argsort(order)[free]
    directions = np.zeros((len(free), table.shape[1]))
    directions[np.arange(len(free)), free] = 1.0
    directions[:, bound] = -np.linalg.solve(R[:rank, :rank], R[:rank, at]).T
    return free.astype(np.int64), csr_array(directions)


@dataclass(frozen=True, eq=False)
class Contributions:
    r"""Noisy-or and noisy-max: what each state of each parent, and the leak, contribute by themselves.

    The table is linear in each row of contributions, so that its derivative is a difference of two tables:
    $\theta(\text{row} = \delta_z) - \theta(\text{row} = \delta_0)$.
    """

    cpds: tuple[Any, ...]

    def _places(self) -> Iterator[tuple[int, int, int]]:
        """The array, row and level of each parameter; the lowest level gives way."""
        cpd = self.cpds[0]
        for number, rows in enumerate(cpd._free()):
            for row in np.flatnonzero(rows).tolist():
                for level in range(1, cpd.child.num_states):
                    yield number, row, level

    @property
    def values(self) -> Floats:
        """The probabilities of the contributions above the lowest."""
        tables = self._tables()
        return np.array([tables[number][row, level] for number, row, level in self._places()])

    def names(self) -> list[str]:
        """Each as the probability of a level that something brings about by itself."""
        cpd, found = self.cpds[0], []
        for number, row, level in self._places():
            state = cpd.child.states[cpd.influences.order[level]]
            cause = (
                "itself" if number == 0 else f"{cpd.parents[number - 1].name}={cpd.parents[number - 1].states[row]!r}"
            )
            found.append(f"P({cpd.child.name}={state!r} by {cause})")
        return found

    def slope(self, place: int, slope: Floats) -> Floats:
        """The slope by the contributions."""
        return np.asarray(self._derivatives @ slope)

    def moved(self, step: Floats) -> list[CPD] | None:
        """The CPDs with their contributions moved; None where one would leave [0, 1]."""
        tables = self._tables()
        for (number, row, level), change in zip(self._places(), step, strict=True):
            tables[number][row, level] += change
            tables[number][row, 0] -= change
        return None if any((t < 0).any() for t in tables) else self._made(tables)

    def random(self, rng: np.random.Generator) -> list[CPD]:
        """The CPDs with random contributions where they are free."""
        tables = self._tables()
        for number, rows in enumerate(self.cpds[0]._free()):
            drawn = rng.gamma(2.0, size=tables[number].shape) + 0.05
            tables[number][rows] = (drawn / drawn.sum(axis=1, keepdims=True))[rows]
        return self._made(tables)

    def _tables(self) -> list[Floats]:
        leak, *effects = numbers(self.cpds[0])
        return [leak[None].copy(), *(e.copy() for e in effects)]

    def _made(self, tables: list[Floats]) -> list[CPD]:
        return [with_numbers(cpd, [tables[0][0], *tables[1:]]) for cpd in self.cpds]

    @cached_property
    def _derivatives(self) -> Floats:
        """The table's derivative by each parameter, one row each."""
        cpd, levels = self.cpds[0], np.eye(self.cpds[0].child.num_states)
        count = num_entries(cpd.parents)
        codes = [np.asarray(c, np.int64) for c in decode(np.arange(count), cpd.parents).values()]
        found = []
        for number, row, level in self._places():
            ends = []
            for end in (level, 0):
                tables = self._tables()
                tables[number][row] = levels[end]
                changed = Influences(tables[0][0], tuple(tables[1:]), cpd.influences.order)
                ends.append(changed.probabilities(codes, count).reshape(-1))
            found.append(ends[0] - ends[1])
        return np.array(found)


@dataclass(frozen=True, eq=False)
class Weights:
    r"""Logistic CPDs: biases and weights, those of first states held fixed.

    $$\frac{\partial \theta_{x \mid \mathbf u}}{\partial w_{i,s,c}} = 1[u_i = s]\, \theta_{x \mid \mathbf u}
    \left(1[x = c] - \theta_{c \mid \mathbf u}\right)$$
    """

    cpds: tuple[Any, ...]

    def _places(self) -> Iterator[tuple[int, int, int]]:
        """The array (0 for the bias), the state of the parent and that of the child."""
        cpd = self.cpds[0]
        states = range(1, cpd.child.num_states)
        yield from ((0, 0, c) for c in states)
        for number, parent in enumerate(cpd.parents, 1):
            yield from ((number, s, c) for s in range(1, parent.num_states) for c in states)

    @property
    def values(self) -> Floats:
        """The weights, less those of first states."""
        bias, *weights = (a - a[..., :1] for a in numbers(self.cpds[0]))
        bias = bias + sum((w[0] for w in weights), np.zeros_like(bias))
        arrays = [bias[None], *(w - w[:1] for w in weights)]
        return np.array([arrays[number][s, c] for number, s, c in self._places()])

    def names(self) -> list[str]:
        """Each as a bias or weight."""
        cpd, found = self.cpds[0], []
        for number, s, c in self._places():
            parent = cpd.parents[number - 1]
            what = "bias" if number == 0 else f"weight of {parent.name}={parent.states[s]!r}"
            found.append(f"{what} for {cpd.child.name}={cpd.child.states[c]!r}")
        return found

    def slope(self, place: int, slope: Floats) -> Floats:
        """The slope by the weights."""
        cpd = self.cpds[0]
        table = cpd.to_table().values.reshape(-1, cpd.child.num_states)
        towards = table * slope.reshape(table.shape)
        by_logit = towards - table * towards.sum(axis=1, keepdims=True)
        codes = [*decode(np.arange(len(table)), cpd.parents).values()]
        return np.array([by_logit[slice(None) if n == 0 else codes[n - 1] == s, c].sum() for n, s, c in self._places()])

    def moved(self, step: Floats) -> list[CPD]:
        """The CPDs with their weights moved."""
        bias, *weights = (a.copy() for a in numbers(self.cpds[0]))
        arrays = [bias[None], *weights]
        for (number, s, c), change in zip(self._places(), step, strict=True):
            arrays[number][s, c] += change
        return [with_numbers(cpd, [bias, *weights]) for cpd in self.cpds]

    def random(self, rng: np.random.Generator) -> list[CPD]:
        """The CPDs with random weights."""
        drawn = [rng.standard_normal(a.shape) for a in numbers(self.cpds[0])]
        return [with_numbers(cpd, drawn) for cpd in self.cpds]
