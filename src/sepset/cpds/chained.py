"""CPDs whose factors are chains of auxiliary variables through the parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sepset.base.frozen import fill
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import DiscreteCPD
from sepset.factors.lines import BY_NAME, Line
from sepset.variables.variable import Discrete


class ChainedCPD(DiscreteCPD):
    """A CPD of many parents that is a chain of small factors: shared parts of noisy and logistic CPDs.

    A network gives all its chains one line, which depends on the other CPDs. Whoever counts along the factors of a CPD
    asks the same CPD for its order: another of equal parameters may have another one.
    """

    __slots__ = ("line",)
    line: Line
    """Along which the chain runs; by name if the CPD belongs to no network."""

    def _init(self, child: Discrete, given: object, block: ParameterBlock | str | None) -> None:
        super()._init(child, given, block)
        fill(self, line=BY_NAME)

    def along(self, line: Line) -> Self:
        """The same CPD with its chain along a line; one that has a line keeps it."""
        return self if self.line else self._with(line=line)

    @property
    def _order(self) -> Sequence[int]:
        """The places of the parents along the chain."""
        return self.line.order(self.parents)
