r"""The free parameters of a discrete network, and derivatives of what is observed by them.

With $g$ the derivative of $P(\mathbf y)$ by the entries of a CPD's table, exact from one forward and one reverse sweep,
the chain rule through the CPD's own parameters gives the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.inference.compiled.gradients import Derivatives
from sepset.learning.blocks import blocks_of
from sepset.learning.missing.blockparameters import BlockParameters, block_parameters
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, eq=False)
class FreeParameters:
    """The free parameters of a network of discrete CPDs, in the order of its blocks.

    Args:
        model: the network.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], given=a))
    >>> FreeParameters(net).names
    ('P(a=0)', 'P(b=0 | a=0)', 'P(b=0 | a=1)')
    """

    model: BayesNet
    blocks: tuple[BlockParameters, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = (block_parameters(cpds) for cpds in blocks_of(self.model).values())
        object.__setattr__(self, "blocks", tuple(block for block in found if block is not None))

    def __len__(self) -> int:
        return sum(self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(block.values) for block in self.blocks]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each parameter is called: a conditional probability, a contribution, or a weight."""
        return tuple(name for block in self.blocks for name in block.names())

    @property
    def values(self) -> Floats:
        """The parameters of the model."""
        return np.concatenate([np.zeros(0), *(block.values for block in self.blocks)])

    def moved(self, step: Floats) -> BayesNet | None:
        """The network with its parameters moved; None where a probability would leave [0, 1]."""
        made: list[CPD] = []
        for block, part in zip(self.blocks, np.split(step, np.cumsum(self._sizes))[:-1], strict=True):
            moved = block.moved(part)
            if moved is None:
                return None
            made += moved
        return self.model.with_cpds(*made)

    def random(self, rng: np.random.Generator) -> BayesNet:
        """The network with random parameters, away from zero."""
        return self.model.with_cpds(*(cpd for block in self.blocks for cpd in block.random(rng)))

    @cached_property
    def _derivatives(self) -> Derivatives:
        tables = BayesNet(*(cpd.to_table() for cpd in self.model.cpds))  # type: ignore[attr-defined]  # discrete
        return Derivatives(tables.problem())

    @cached_property
    def _factor(self) -> dict[str, int]:
        return {cpd.child.name: number for number, cpd in enumerate(self.model.cpds)}

    def gradient(self, codes: dict[int, int], *, power: float = 0.0) -> tuple[float, Floats]:
        r"""$\log P(\mathbf y)$, and $\partial P(\mathbf y) / \partial \theta$ over $P(\mathbf y)$ to some power.

        Args:
            codes: $\mathbf y$ by position.
            power: 0 for the derivative itself, 1 for that of the logarithm; 0 is used where $P(\mathbf y) = 0$.
        """
        found = self._derivatives.gradient(Evidence(codes))
        reference = power * found.log_partition if found.log_partition > -np.inf else 0.0
        parts = [np.zeros(0)]
        for block, size in zip(self.blocks, self._sizes, strict=True):
            total = np.zeros(size)
            for place, cpd in enumerate(block.cpds):
                entries = found.relative(self._factor[cpd.child.name], reference)
                if entries is not None:
                    total += block.slope(place, entries.reshape(-1))
            parts.append(total)
        return found.log_partition, np.concatenate(parts)
