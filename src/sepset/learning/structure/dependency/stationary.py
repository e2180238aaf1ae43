r"""The distribution that ordered pseudo-Gibbs sampling converges to, and whether the CPDs agree on one joint.

Drawing $X_i$ turns a distribution $p$ into $p(\mathbf x_{-i})\, P_i(x_i \mid \mathbf{pa}_i)$. A sweep makes this step
for every variable in order; its fixed point is found by repeating sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import rel_entr

from sepset.base.arraytypes import Floats
from sepset.base.display import Report, Shown
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.table import Table
from sepset.inference.result import Guarantee, Guarantees, Result
from sepset.learning.structure.dependency.gibbs import Conditionals

MOST_STATES = 1 << 20
"""The largest number of joint states."""

CONVERGED, MOST_SWEEPS = 1e-14, 100_000
"""The change of a sweep, in total variation, at which it has converged; and the most sweeps."""

CONSISTENT = 1e-9
"""The mean divergence in nats below which CPDs count as conditionals of one joint."""


@dataclass(frozen=True, eq=False, repr=False)
class Consistency(Report, Result):
    r"""How far CPDs are from the conditionals of one joint distribution $p$, the stationary one.

    Attributes:
        divergences: for each variable $E_p[\text{KL}(P_i(\cdot \mid \mathbf x_{-i}) \| p(\cdot \mid \mathbf x_{-i}))]$.
            All are zero if and only if the CPDs are conditionals of one joint, wherever $p$ is positive.
        joint: the stationary distribution.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.learning.structure.dependency.network import DependencyNet
    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> copy, coin = TableCPD(a, [[0.9, 0.1], [0.1, 0.9]], given=b), TableCPD(b, [0.5, 0.5])
    >>> DependencyNet(copy, coin).consistency()
    Consistency(largest divergence 0.3681 of a; not consistent)
    """

    divergences: Mapping[str, float]
    joint: Table = field(repr=False)

    @property
    def largest(self) -> tuple[str, float]:
        """The variable with the largest divergence, and the divergence."""
        return max(self.divergences.items(), key=lambda item: item[1])

    @property
    def is_consistent(self) -> bool:
        """Whether all divergences are zero up to rounding."""
        return self.largest[1] < CONSISTENT

    def __repr__(self) -> str:
        name, value = self.largest
        return (
            f"Consistency(largest divergence {value:.4g} of {name}; {'' if self.is_consistent else 'not '}consistent)"
        )

    def _shown(self) -> Shown:
        rows = [(name, f"{value:.6g}") for name, value in self.divergences.items()]
        return Shown(("variable", "divergence"), rows, repr(self))


def full_conditionals(net: Conditionals) -> list[Floats]:
    """Each CPD as an array that broadcasts over the joint states, one axis per variable in order."""
    variables = net.variables
    size = math.prod(int(card) for card in variables.cards)
    if size > MOST_STATES:
        raise TooLarge(
            f"The {len(variables)} variables have {size:,} joint states; the most is {MOST_STATES:,}. Sample instead."
        )
    found = []
    for cpd in net.cpds:
        table = cpd.to_table()
        places = [variables.id(v) for v in table.scope]
        values = np.transpose(np.asarray(table.values), np.argsort(places, kind="stable"))
        shape = [int(card) if k in places else 1 for k, card in enumerate(variables.cards)]
        found.append(values.reshape(shape))
    return found


def fixed_point(conditionals: list[Floats], cards: tuple[int, ...]) -> Floats:
    """The distribution that whole sweeps leave unchanged, from the uniform one."""
    joint = np.full(cards, 1.0 / math.prod(cards))
    for _ in range(MOST_SWEEPS):
        after = joint
        for axis, conditional in enumerate(conditionals):
            after = after.sum(axis, keepdims=True) * conditional
        after /= after.sum()
        change = 0.5 * float(np.abs(after - joint).sum())
        joint = after
        if change < CONVERGED:
            return joint
    raise NotApplicable(
        f"Sweeps have not converged after {MOST_SWEEPS:,} (change {change:.2g}): some CPDs are nearly deterministic."
    )


def stationary(net: Conditionals) -> Table:
    """The distribution after many whole sweeps in order."""
    cards = tuple(int(card) for card in net.variables.cards)
    return Table(tuple(net.variables), fixed_point(full_conditionals(net), cards))  # type: ignore[arg-type]


def consistency(net: Conditionals) -> Consistency:
    """The divergence of every CPD from the conditional of the stationary distribution."""
    conditionals, found = full_conditionals(net), stationary(net)
    joint, divergences = np.asarray(found.values), {}
    for axis, (variable, conditional) in enumerate(zip(net.variables, conditionals, strict=True)):
        rest = joint.sum(axis, keepdims=True)
        own = np.divide(joint, rest, out=np.broadcast_to(conditional, joint.shape).copy(), where=rest > 0)
        terms = rel_entr(np.broadcast_to(conditional, joint.shape), own).sum(axis, keepdims=True)
        divergences[variable.name] = max(float(np.where(rest > 0, rest * terms, 0.0).sum()), 0.0)
    exact: Guarantees = {"divergences": Guarantee.EXACT}
    return Consistency(divergences, found, method="sweeps to the fixed point", guarantees=exact)
