r"""The workspace of moves: regions of a wired model, their best states given all others, and values with losses.

$$\log \tilde P_\lambda(\mathbf x) = c + \sum_f \begin{cases} \theta_f(\mathbf x_f) & \text{if it is finite} \\
-\lambda & \text{otherwise} \end{cases}$$

The loss $\lambda$ exceeds all finite values together: fewer zeros are always better.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.wiring import Wiring
from sepset.kernels.map.regions import LEVELS, WIDEST, Region, solve_region
from sepset.kernels.map.walks import depths, exchange, free_states, grow, soft_value
from sepset.kernels.propagation.wires import QUADRATIC, TABLE

MOST_TABLES = 2**22
"""The most entries of all tables of a region together."""


class Workspace:
    """Solves regions of a model, again and again, in the same arrays.

    Args:
        wiring: the model.
        entries: the most entries of a table.
    """

    def __init__(self, wiring: Wiring, entries: int) -> None:
        self.wiring, self.entries, self.loss = wiring, entries, _loss(wiring)
        self.model = wiring.wires, wiring.unary, wiring.factors
        self.free = np.flatnonzero(wiring.plugs.cards > 1)
        self.region = _region(wiring, entries)
        self.room, self.states = np.empty(wiring.plugs.cards.max(initial=1)), np.zeros(wiring.num_variables, np.int64)

    def value(self, codes: Ints) -> float:
        """The log value of an assignment, with a loss for each zero."""
        constant = self.wiring.constant if self.wiring.constant > -np.inf else 0.0
        return constant + float(soft_value(self.wiring.wires, self.wiring.unary, codes, self.loss))

    def near(self, size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Variables near a random one, and for each the place at which it is fixed if tables are too large.

        The farthest variables have the largest keys and are fixed first, so that what is left is compact.
        """
        wiring, n = self.wiring, self.wiring.num_variables
        found, seen, keys = np.empty(min(size, n), np.int64), np.zeros(n, np.uint8), np.zeros(n)
        count = grow(wiring.wires, wiring.factors, int(rng.choice(self.free)), seen, found)
        keys[found[:count]] = np.arange(count) / count
        return rng.permutation(found[:count]), keys

    def everything(self, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """All variables, in a random order."""
        return rng.permutation(self.free), rng.random(self.wiring.num_variables)

    def strips(self, depth: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """All variables but those at every so many steps from a random one: strips that are not deep.

        In planar graphs the width of a strip is at most proportional to its depth.
        """
        n = self.wiring.num_variables
        out = np.empty(n, np.int64)
        depths(self.wiring.wires, self.wiring.factors, rng.permutation(n), np.empty(n, np.int64), out)
        kept = out[self.free] % (depth + 1) != rng.integers(depth + 1)
        return rng.permutation(self.free[kept]), rng.random(n)

    def combined(self, codes: Ints, other: Ints) -> Ints:
        """The best assignment that takes each connected part of the differences from one of the two."""
        found, n = np.array(codes, np.int64), self.wiring.num_variables
        seen, queue, owners = np.empty(n, np.uint8), np.empty(n, np.int64), np.empty(self.wiring.num_factors, np.int64)
        exchange(*self.model, found, np.array(other, np.int64), self.loss, seen, queue, owners)
        return found

    def drawn(self, rng: np.random.Generator) -> Ints:
        """An assignment at random."""
        return (rng.random(self.wiring.num_variables) * self.wiring.plugs.cards).astype(np.int64)

    def solved(self, codes: Ints, members: Ints, keys: Floats, rng: np.random.Generator) -> tuple[Ints, int]:
        """The assignment with the region at its best states, and how many variables were not fixed.

        Variables that have one possible state given the others are fixed last: others depend on them.
        """
        found, draws = np.array(codes, np.int64), rng.random(len(codes))
        free_states(*self.model, found, self.room, self.states)
        ranked = keys + (self.states > 1)
        count = interruptible(
            lambda cancel: solve_region(
                *self.model, self.region, members, draws, ranked, found, self.loss, self.entries, cancel
            )
        )
        return found, int(count)

    def shaken(self, codes: Ints, size: int, rng: np.random.Generator) -> Ints:
        """The assignment with a region of this size at random states."""
        found, (members, _) = np.array(codes, np.int64), self.near(size, rng)
        found[members] = self.drawn(rng)[members]
        return found


def _loss(wiring: Wiring) -> float:
    """More than twice the sum of the largest finite sizes of all factors: one zero fewer then outweighs everything."""
    plugs = wiring.plugs
    named = (plugs.kinds != TABLE) & (plugs.kinds <= QUADRATIC)
    farthest = float(plugs.cards.max(initial=1) - 1) ** 2
    limits = np.maximum(1.0, np.where(np.isfinite(plugs.limits), plugs.limits, farthest))
    total = float(np.abs(plugs.weights * limits)[named].sum())
    for values, count in ((plugs.tables, (plugs.kinds == TABLE).sum()), (wiring.unary, wiring.num_variables)):
        total += float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) * float(count)
    return 1.0 + 2.0 * total


def _region(wiring: Wiring, entries: int) -> Region:
    """The arrays for regions of a model; a message has at most so many variables as tables have bits."""
    n, m, width = wiring.num_variables, wiring.num_factors, int(np.log2(entries)) + 1
    most = min(MOST_TABLES, max(1, n * entries))
    links, wide = max(1, min(n, most) * width), max(WIDEST + 1, width)
    return Region(
        marks=np.zeros(n, np.uint8),
        bits=np.log2(np.maximum(1, wiring.plugs.cards)),
        counts=np.zeros(5, np.int64),
        **{name: np.zeros(n, np.int64) for name in _PER_VARIABLE},
        heads=np.zeros(LEVELS, np.int64),
        owners=np.zeros(m, np.int64),
        starts=np.zeros(n + 1, np.int64),
        **{name: np.zeros(links, np.int64) for name in ("scopes", "following", "sources")},
        tables=np.empty(most),
        large=np.empty(entries),
        small=np.empty(entries),
        pairs=np.empty(2 * entries),  # numbers of two or more have a product of at least their sum
        **{name: np.zeros(wide, np.int64) for name in ("scope", "steps", "digits")},
    )


_PER_VARIABLE = ("levels", "nexts", "prevs", "stamps", "order", "users", "places", "first", "trial")
