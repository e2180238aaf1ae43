r"""The correction of chains over orders: DAGs are drawn from tilted scores, and weighted.

An order chain draws each DAG in proportion to its number $e(\mathcal G)$ of topological orders. For all DAGs to be
equally probable a priori, a draw has the weight $1 / e(\mathcal G)$, and few draws have most of the weight. So edges
are made more probable by tilts $t$, chosen so that they cancel most of $\log e$:

$$F'(v \mid \mathbf U) = F(v \mid \mathbf U) + \sum_{u \in \mathbf U} t_{uv} + t_v [\mathbf U = \emptyset], \qquad
  \log w(\mathcal G) = -t(\mathcal G) - \log e(\mathcal G).$$
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.threads import NEVER
from sepset.kernels.structure.chains import draw_graph, log_extensions, run_orders
from sepset.learning.structure.averaging.candidates import CandidateTable, summed_block

ROUNDS = 4
"""How often the tilts are fitted, each time to draws from the scores tilted so far."""

STATES = 1000
"""The orders of each round."""

DRAWS = 4
"""The DAGs that are drawn from each order."""

RIDGE = 4.0
"""The squared tilts are penalized as this many draws that are off by one."""


@dataclass(frozen=True)
class Tilt:
    """How much more probable edges are made.

    Attributes:
        edges: by source and target.
        roots: of a column without parents.
    """

    edges: Floats
    roots: Floats

    @classmethod
    def none(cls, num_columns: int) -> Tilt:
        """The tilt that changes nothing."""
        return cls(np.zeros((num_columns, num_columns)), np.zeros(num_columns))

    def total(self, graphs: Bytes) -> Floats:
        """The summed tilts of each DAG."""
        is_root = graphs.sum(1) == 0
        return np.asarray((graphs * self.edges).sum((1, 2)) + is_root @ self.roots)

    def log_weights(self, graphs: Bytes) -> Floats:
        """The logarithm of the weight of each DAG."""
        return -self.total(graphs) - extensions(graphs)

    def table(self, table: CandidateTable) -> CandidateTable:
        """The table with tilted scores."""
        parts = [summed_block(self._block(table, v)) for v in range(len(table.cands))]
        scores, sums = (np.concatenate(rows, axis=-1) for rows in zip(*parts, strict=True))
        return replace(table, scores=scores, sums=sums[: len(table.sums)])

    def _block(self, table: CandidateTable, child: int) -> Floats:
        """The tilted scores of a column: by further column, and by subset of candidates."""
        width = int((table.cands[child] >= 0).sum())
        block = table.scores[table.starts[child] : table.starts[child + 1]].reshape(-1, 1 << width).copy()
        block += subset_sums(self.edges[table.cands[child, :width], child])
        block[1:] += self.edges[table.outs[child, : len(block) - 1], child][:, None]
        block[0, 0] += self.roots[child]
        return block


def subset_sums(values: Floats) -> Floats:
    """The sum of each subset, by its mask.

    >>> subset_sums(np.array([1.0, 10.0])).tolist()
    [0.0, 1.0, 10.0, 11.0]
    """
    found = np.zeros(1)
    for value in values:
        found = np.concatenate([found, found + value])
    return found


def extensions(graphs: Bytes) -> Floats:
    """The logarithm of the number of topological orders of each DAG."""
    n = graphs.shape[-1]
    masks = (graphs.astype(np.int64) << np.arange(n)[:, None]).sum(1)
    return np.array([log_extensions(row) for row in masks])


def drawn_graphs(order: Ints, table: CandidateTable, count: int, rng: np.random.Generator) -> Bytes:
    """DAGs drawn given an order."""
    n = len(order)
    ranks = np.argsort(order, kind="stable")
    graphs = np.zeros((count, n, n), np.uint8)
    for graph, uniforms in zip(graphs, rng.random((count, n)), strict=True):
        draw_graph(ranks, False, *table.arrays, uniforms, graph)
    return graphs


def fitted_tilt(table: CandidateTable, order: Ints) -> Tilt:
    """The tilt under which the weights of draws vary little, from short chains that start at an order."""
    n, order = len(order), order.copy()
    tilt, rng = Tilt.none(n), np.random.default_rng(0)
    for _ in range(ROUNDS):
        tilted = tilt.table(table)
        drawn = []
        for _ in range(STATES):
            run_orders(order, *tilted.arrays, rng.uniform(1e-300, 1.0, (5 * n, 6)), 1.0, NEVER)
            drawn.append(drawn_graphs(order, tilted, 2, rng))
        tilt = _regressed(tilt, np.concatenate(drawn))
    return tilt


def _regressed(tilt: Tilt, graphs: Bytes) -> Tilt:
    """The tilt nearest to minus the log number of topological orders: ridge regression on edges and roots.

    Each draw counts as the square root of its weight, between the drawn distribution and the wanted one.
    """
    count, n = len(graphs), graphs.shape[-1]
    features: Floats = np.concatenate([graphs.reshape(count, -1), graphs.sum(1) == 0], axis=1).astype(np.float64)
    wanted = -extensions(graphs)
    logs = 0.5 * (wanted - tilt.total(graphs))
    shares = np.exp(logs - logs.max())
    shares *= count / shares.sum()
    features -= shares @ features / count
    wanted -= shares @ wanted / count
    normal = features.T @ (features * shares[:, None]) + RIDGE * np.eye(features.shape[1])
    found = np.linalg.solve(normal, features.T @ (shares * wanted))
    return Tilt(found[: n * n].reshape(n, n), found[n * n :])
