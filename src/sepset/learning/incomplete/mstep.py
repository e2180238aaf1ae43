"""The M-step: from expected statistics of parameter blocks to a network, with or without a prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.learning.blocks import blocks_of
from sepset.learning.estimation.maximization import prior_for
from sepset.learning.incomplete.families import Estimated, joined
from sepset.models.bayesnet import BayesNet

Statistics: TypeAlias = tuple[Floats, ...]
"""One array a parameter block, in the order of `blocks_of`."""

NEGLIGIBLE = 1e-30
"""Expected counts below this share of all rows are zero: no row's posterior knows the difference.

Where a posterior avoids these cells, the likelihood loses less than this share of itself, so that steps stay monotone;
kept, they shrink by squares until no number can hold them.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Reestimation:
    """The blocks of a network and how each is estimated.

    Attributes:
        template: says which CPDs there are, and which share parameters.
        families: how each CPD is seen, in the order of the network's CPDs.
        members: the positions of each block's CPDs.
    """

    template: BayesNet
    families: tuple[Estimated, ...] = field(repr=False)
    members: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, template: BayesNet, family: Callable[[CPD, CPD], Estimated]) -> Reestimation:
        """The blocks of a network.

        Args:
            family: how to see a CPD, given the first of its block.
        """
        place = {cpd.child.name: i for i, cpd in enumerate(template.cpds)}
        members = tuple(tuple(place[c.child.name] for c in cpds) for cpds in blocks_of(template).values())
        families: dict[int, Estimated] = {}
        for block in members:
            families.update({i: family(template.cpds[i], template.cpds[block[0]]) for i in block})
        return cls(template, tuple(families[i] for i in range(len(place))), members)

    def pooled(self, per_cpd: Sequence[Any], total: float) -> Statistics:
        """The statistics of each block from those of its CPDs; what is negligible beside `total` rows is zero."""
        made = []
        for members in self.members:
            family = self.families[members[0]]
            stats = np.array(sum(per_cpd[i] for i in members) + family.nothing(self.template.cpds[members[0]]))
            if family.is_counted:
                stats[stats < NEGLIGIBLE * total] = 0.0
            stats.setflags(write=False)
            made.append(stats)
        return tuple(made)

    def alphas(self, prior: object, *, is_theta: bool = False) -> tuple[Any, ...]:
        """What a prior adds to each block; None without one, and for blocks without parameters."""
        return tuple(self._alpha(members, prior, is_theta) for members in self.members)

    def _alpha(self, members: tuple[int, ...], prior: object, is_theta: bool) -> Any:
        cpds = [self.template.cpds[i] for i in members]
        if prior is None or not cpds[0].num_parameters:
            return None
        chosen = prior_for(prior, cpds)
        return None if chosen is None else self.families[members[0]].alpha(cpds, chosen, is_theta)

    def log_prior(self, model: BayesNet, alphas: Sequence[Any]) -> float:
        """The log density of the network's parameters, up to a constant."""
        firsts = [members[0] for members in self.members]
        return float(sum(self.families[i].log_prior(model.cpds[i], a) for i, a in zip(firsts, alphas, strict=True)))

    def joined(
        self, model: BayesNet, statistics: Statistics, alphas: Sequence[Any]
    ) -> tuple[Statistics, tuple[Any, ...]]:
        """The statistics with those of imaginary rows at these parameters, and what is left of the prior."""
        rows = zip((members[0] for members in self.members), statistics, alphas, strict=True)
        pairs = [joined(self.families[i], model.cpds[i], s, a) for i, s, a in rows]
        return tuple(stats for stats, _ in pairs), tuple(alpha for _, alpha in pairs)

    def score(self, model: BayesNet, statistics: Statistics) -> float:
        r"""The expected log-likelihood of completed rows, $E_Q[\log P(\mathcal D, \mathcal H \mid \theta)]$."""
        firsts = [members[0] for members in self.members]
        return float(sum(self.families[i].score(model.cpds[i], s) for i, s in zip(firsts, statistics, strict=True)))

    def maximize(self, model: BayesNet, statistics: Statistics, alphas: Sequence[Any]) -> BayesNet:
        """The network that statistics and pseudo-counts suggest, one of each a block."""
        made: list[CPD] = list(model.cpds)
        for members, stats, alpha in zip(self.members, statistics, alphas, strict=True):
            for i in members:
                made[i] = self.families[i].estimate(model.cpds[i], stats, alpha)
        return BayesNet(*made, name=model.name, notes=model.notes)
