r"""The parameters of a network as one vector without constraints: logits, weights, regressions and log deviations.

With $\theta = \text{softmax}(\lambda)$ the slope of the log-likelihood is a difference of expected counts,

$$\frac{\partial \ell}{\partial \lambda_{x \mid \mathbf u}}
= \bar M[x, \mathbf u] - \theta_{x \mid \mathbf u}\,\bar M[\mathbf u],$$

and every other CPD has its own by the chain rule.

Reference: Koller & Friedman, lemma 19.1 and section 19.2.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.learning.blocks import Blocks, FlatStatistics, PriorTerms, with_shared
from sepset.models.bayesnet import BayesNet


@dataclass(frozen=True, slots=True, eq=False)
class ParameterVector:
    """The parameters of a network as one vector, each block once; its length is the same whatever their values.

    Attributes:
        blocks: the network's blocks.
        bounds: where each block's part of the vector starts.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.25, 0.75]))
    >>> vector = ParameterVector.of(Blocks.of(net, {}))
    >>> np.exp(vector.pack(net)).tolist(), vector.slope(net, (np.array([3.0, 5.0]),), [None]).tolist()
    ([0.25, 0.75], [1.0, -1.0])
    """

    blocks: Blocks
    bounds: Ints = field(repr=False)

    @classmethod
    def of(cls, blocks: Blocks) -> ParameterVector:
        """The vector of a network's parameters."""
        sizes = [len(own.coordinates) for own in blocks.firsts(blocks.template)]
        return cls(blocks, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    def pack(self, model: BayesNet) -> Floats:
        """The vector of a network."""
        return _joined(own.coordinates for own in self.blocks.firsts(model))

    def unpack(self, x: Floats) -> BayesNet:
        """The network at a vector."""
        template = self.blocks.template
        made: list[CPD] = list(template.cpds)
        for k, block in enumerate(self.blocks.members):
            first = self.blocks.forms[block[0]].at(x[self.bounds[k] : self.bounds[k + 1]])
            for i, cpd in zip(block, with_shared([template.cpds[i] for i in block], first), strict=True):
                made[i] = cpd
        return self.blocks.template.with_parameters(made)

    def slope(self, model: BayesNet, statistics: FlatStatistics, terms: PriorTerms) -> Floats:
        """The gradient of log-likelihood and smooth log prior, from the statistics expected at the network."""
        rows = zip(self.blocks.firsts(model), statistics, terms, strict=True)
        return _joined(own.slope(stats, term) for own, stats, term in rows)

    def curvature(self, model: BayesNet, statistics: FlatStatistics, terms: PriorTerms) -> Floats:
        """The information of completed rows, coordinate by coordinate."""
        rows = zip(self.blocks.firsts(model), statistics, terms, strict=True)
        return _joined(own.curvature(stats, term) for own, stats, term in rows)

    def units(self, model: BayesNet, statistics: FlatStatistics) -> Floats:
        """Changes of the vector, one per column, that matter about as much to a row of the statistics."""
        found = np.zeros((int(self.bounds[-1]),) * 2)
        pairs = zip(self.blocks.firsts(model), statistics, strict=True)
        for first, last, (own, stats) in zip(self.bounds[:-1], self.bounds[1:], pairs, strict=True):
            found[first:last, first:last] = own.units(stats)
        return found

    def kinks(self, terms: PriorTerms) -> Floats:
        r"""The sharpness of a Laplace prior's kink at zero along each coordinate: $1 / s$ for weights, else zero.

        The slope leaves such a prior out; see `steepest` for both together.
        """
        pairs = zip(self.blocks.firsts(self.blocks.template), terms, strict=True)
        return _joined(own.kinks(term) for own, term in pairs)

    def written(self, model: BayesNet) -> list[Floats]:
        """The parameters of each block as its CPDs are written with them."""
        return [own.written for own in self.blocks.firsts(model)]


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])
