r"""Probability trees of items: each item given others, by greedy splits.

A leaf with $M_0$ users without the item and $M_1$ with it has the evidence of a coin with pseudo-counts $a$, and each
leaf costs $\log \kappa$ more:

$$\log\frac{\Gamma(2a)\,\Gamma(a + M_0)\,\Gamma(a + M_1)}{\Gamma(a)^2\,\Gamma(2a + M)} + \log\kappa$$
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from sepset.base.arraytypes import Bytes, Floats, Ints, UInt64s
from sepset.base.progress import Bar
from sepset.base.threads import interruptible
from sepset.cpds.tree import Split, TreeCPD
from sepset.kernels.structure.baskettrees import grow
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.structure.dependency.flattrees import FlatTrees
from sepset.variables.variable import Discrete


class TreeSettings(NamedTuple):
    """How trees are grown: the pseudo-count of a cell, the factor of a leaf, and the most leaves."""

    pseudo_count: float
    per_leaf: float
    max_leaves: int


class ItemTree(NamedTuple):
    """A tree: for each node the item it tests (-1 at leaves) and the nodes without and with it; and probabilities."""

    nodes: Ints
    probability: Floats

    @property
    def tested(self) -> tuple[int, ...]:
        """The items that are tested, as they first occur."""
        return tuple(dict.fromkeys(self.nodes[self.nodes[:, 0] >= 0, 0].tolist()))

    def cpd(self, child: Discrete, variables: tuple[Discrete, ...]) -> TreeCPD:
        """The tree as a CPD."""
        return TreeCPD(child, self._written(0, variables), given=[variables[k] for k in self.tested])

    def _written(self, node: int, variables: tuple[Discrete, ...]) -> Any:
        item, absent, present = self.nodes[node].tolist()
        if item < 0:
            p = float(self.probability[node])
            return [1.0 - p, p]
        return Split(variables[item], {0: self._written(absent, variables), 1: self._written(present, variables)})


def item_bits(baskets: Baskets) -> UInt64s:
    """The users of each item as bits."""
    columns = baskets.matrix.tocsc()
    bits = np.zeros((baskets.num_items, max((len(baskets) + 63) // 64, 1)), np.uint64)
    items = np.repeat(np.arange(baskets.num_items), np.diff(columns.indptr))
    users = columns.indices.astype(np.uint64)
    np.bitwise_or.at(bits, (items, (users >> np.uint64(6)).astype(np.int64)), np.uint64(1) << (users & np.uint64(63)))
    return bits


def grown_trees(
    baskets: Baskets, candidates: list[Ints], settings: TreeSettings, *, progress: bool | None = None
) -> list[ItemTree]:
    """The tree of every item, tests among its candidates.

    Cost: for each leaf and candidate one pass over the bits of all users.
    """
    a, found = settings.pseudo_count, list[ItemTree]()
    bits, numbers = item_bits(baskets), np.arange(len(baskets) + 1, dtype=np.float64)
    logs = np.array([gammaln(a + numbers) - gammaln(a), gammaln(2 * a + numbers) - gammaln(2 * a)])
    everyone = np.zeros(bits.shape[1], np.uint64)
    for k in range(len(baskets)):
        everyone[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    most = 2 * settings.max_leaves - 1
    masks = np.zeros((most, bits.shape[1]), np.uint64)
    with Bar(progress, "items") as bar:
        for item, chosen in enumerate(candidates):
            nodes, counts = np.full((most, 3), -1), np.zeros((most, 2), np.int64)
            masks[0] = everyone

            def work(
                cancel: Bytes, item: int = item, chosen: Ints = chosen, nodes: Ints = nodes, counts: Ints = counts
            ) -> int:
                return int(
                    grow(bits, item, chosen, logs, float(np.log(settings.per_leaf)), masks, nodes, counts, cancel)
                )

            size = interruptible(work)
            probability = (counts[:size, 1] + a) / (counts[:size].sum(1) + 2 * a)
            found.append(ItemTree(nodes[:size].copy(), probability))
            bar.report(item + 1, len(candidates))
    return found


def flat(trees: list[ItemTree]) -> FlatTrees:
    """The trees in flat arrays, one after the other."""
    sizes = np.array([len(tree.nodes) for tree in trees], np.int64)
    roots = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    nodes = np.concatenate([*(tree.nodes for tree in trees), np.zeros((0, 3), np.int64)]).astype(np.int64)
    present = np.concatenate([*(tree.probability for tree in trees), np.zeros(0)])
    first = np.repeat(roots, sizes)
    return FlatTrees(
        np.full(len(trees), 2, np.int64),
        roots,
        np.ascontiguousarray(nodes[:, 0]),
        2 * np.arange(len(nodes)),
        np.ascontiguousarray((nodes[:, 1:] + first[:, None]).reshape(-1)),
        np.column_stack([1.0 - present, present]).reshape(-1),
    )


def chunks(baskets: Baskets, size: int = 1 << 24) -> Iterator[tuple[slice, Bytes]]:
    """The rows of some users at a time, as dense codes."""
    width = max(1, size // max(baskets.num_items, 1))
    for first in range(0, len(baskets), width):
        part = slice(first, min(first + width, len(baskets)))
        yield part, baskets.matrix[part].toarray().astype(np.uint8)
