r"""The free parameters of a discrete network, and derivatives of what is observed by them.

A multinomial with $k$ cells has $k - 1$ free parameters; the last cell is what the others leave. With $A_c$ the
derivative of $P(\mathbf y)$ by the entries that cell $c$ stands for, moving $\theta_c$ changes $P(\mathbf y)$ by
$A_c - A_{\text{last}}$. Each $A$ is exact, from one forward and one reverse sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD, decode
from sepset.cpds.multinomials import multinomials
from sepset.errors import NotApplicable
from sepset.evidence import Evidence
from sepset.factors.algebra import num_entries
from sepset.inference.derivatives import Derivatives
from sepset.learning.sharing import blocks_of
from sepset.models.bayesnet import BayesNet

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BlockParameters:
    """The multinomials of one parameter block.

    Attributes:
        cpds: the tied CPDs.
        cells: for each of them the cell of every entry of its table.
        free: the cells that are free parameters.
        last: for each free cell, the cell that gives way.
        rate: how much it gives way.
    """

    cpds: tuple[Any, ...]  # CPDs and Multinomials at once, which no one name says
    cells: tuple[Ints, ...]
    free: Ints
    last: Ints
    rate: Array

    @classmethod
    def of(cls, cpds: Sequence[CPD]) -> BlockParameters | None:
        """The parameters of tied CPDs; None where they have none."""
        if all(isinstance(cpd, DiscreteCPD) and not cpd.num_parameters for cpd in cpds):
            return None
        tied: tuple[Any, ...] = tuple(cpds)
        if any(multinomials(cpd) is None for cpd in tied):
            raise NotApplicable(
                f"{cpds[0]!r} is not made of multinomials. Give tables, trees or rules; to_table() turns a discrete "
                "CPD into a table, which has parameters of its own."
            )
        groups, share = tied[0].groups, tied[0].multiplicities
        last_of = {int(group): cell for cell, group in enumerate(groups)}
        last = np.array([last_of[int(group)] for group in groups])
        free = np.flatnonzero(last != np.arange(len(last)))
        cells = tuple(cpd.cells(decode(np.arange(num_entries(cpd.scope)), cpd.scope)) for cpd in tied)
        return cls(tied, cells, free, last[free], share[free] / share[last[free]])

    @property
    def parameters(self) -> Array:
        """The probabilities of all cells."""
        return np.array(self.cpds[0].parameters)

    def names(self) -> list[str]:
        """Each free parameter as a conditional probability."""
        cpd = self.cpds[0]
        codes = decode(np.arange(num_entries(cpd.scope)), cpd.scope)[cpd.child]
        found = []
        for cell in self.free.tolist():
            state = cpd.child.states[int(codes[np.argmax(self.cells[0] == cell)])]
            context = cpd.describe_group(int(cpd.groups[cell])).strip("()") if cpd.parents else ""
            found.append(f"P({cpd.child.name}={state!r}{' | ' if context else ''}{context})")
        return found

    def moved(self, parameters: Array, step: Array) -> Array:
        """All cells after the free ones moved."""
        new = parameters.copy()
        new[self.free] += step
        np.subtract.at(new, self.last, self.rate * step)
        return new

    def rebuilt(self, parameters: Array) -> list[CPD]:
        """The CPDs with these probabilities."""
        return [cpd.from_statistics(parameters * cpd.multiplicities) for cpd in self.cpds]


@dataclass(frozen=True, eq=False)
class FreeParameters:
    """The free parameters of a network of tables, trees and rules, in the order of its blocks.

    Args:
        model: the network.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], given=a))
    >>> FreeParameters(net).names
    ('P(a=0)', 'P(b=0 | a=0)', 'P(b=0 | a=1)')
    """

    model: BayesNet
    blocks: tuple[BlockParameters, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = (BlockParameters.of(cpds) for cpds in blocks_of(self.model).values())
        object.__setattr__(self, "blocks", tuple(block for block in found if block is not None))

    def __len__(self) -> int:
        return sum(len(block.free) for block in self.blocks)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Each parameter as a conditional probability."""
        return tuple(name for block in self.blocks for name in block.names())

    @property
    def values(self) -> Array:
        """The parameters of the model."""
        return np.concatenate([block.parameters[block.free] for block in self.blocks] or [np.zeros(0)])

    def moved(self, step: Array) -> BayesNet | None:
        """The network with its parameters moved; None where a probability would leave [0, 1]."""
        made: list[CPD] = []
        start = 0
        for block in self.blocks:
            new = block.moved(block.parameters, step[start : start + len(block.free)])
            if (new < 0).any():
                return None
            made += block.rebuilt(new)
            start += len(block.free)
        return self.model.with_cpds(*made)

    def random(self, rng: np.random.Generator) -> BayesNet:
        """The network with random parameters, away from zero."""
        drawn = [block.rebuilt(rng.gamma(2.0, size=len(block.parameters)) + 0.05) for block in self.blocks]
        return self.model.with_cpds(*(cpd for cpds in drawn for cpd in cpds))

    @cached_property
    def _derivatives(self) -> Derivatives:
        tables = BayesNet(*(cpd.to_table() for cpd in self.model.cpds))  # type: ignore[attr-defined]  # discrete
        return Derivatives(tables.problem())

    @cached_property
    def _factor(self) -> dict[str, int]:
        return {cpd.child.name: number for number, cpd in enumerate(self.model.cpds)}

    def gradient(self, codes: dict[int, int], *, power: float = 0.0) -> tuple[float, Array]:
        r"""$\log P(\mathbf y)$, and $\partial P(\mathbf y) / \partial \theta$ over $P(\mathbf y)$ to some power.

        Args:
            codes: $\mathbf y$ by position.
            power: 0 for the derivative itself, 1 for that of the logarithm; 0 is used where $P(\mathbf y) = 0$.
        """
        found = self._derivatives.gradient(Evidence(codes))
        reference = power * found.log_partition if found.log_partition > -np.inf else 0.0
        parts = []
        for block in self.blocks:
            total = np.zeros(len(block.parameters))
            for cpd, cells in zip(block.cpds, block.cells, strict=True):
                entries = found.relative(self._factor[cpd.child.name], reference)
                if entries is not None:
                    total += np.bincount(cells, entries.reshape(-1), len(total))
            parts.append(total[block.free] - block.rate * total[block.last])
        return found.log_partition, np.concatenate(parts or [np.zeros(0)])
