"""Markov chains over structures, over orders, and over ordered partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import fraction
from sepset.errors import TooLarge
from sepset.kernels.structure.chains import add_state, draw_graph, run_orders
from sepset.kernels.structure.dagchain import run_structures
from sepset.kernels.structure.partitions import run_partitions
from sepset.kernels.structure.reversals import REVERSED
from sepset.learning.structure.averaging.candidates import CandidateTable
from sepset.learning.structure.averaging.chains import Chains, Draws
from sepset.learning.structure.averaging.correction import DRAWS, Tilt, drawn_graphs, fitted_tilt
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult
from sepset.learning.structure.learned import StructureTask

MOST_EXTENSIONS = 20
"""The most columns whose topological orders are counted."""


@dataclass(frozen=True, kw_only=True)
class OrderMCMC(Chains):
    r"""Metropolis-Hastings over orders of the columns; given an order, edges are averaged exactly.

    $$P(\prec \mid \mathcal D) \propto \prod_i \sum_{\mathbf U \subseteq \{X_j \prec X_i\}} \exp F(X_i \mid \mathbf U)$$

    Two places are exchanged at a time, and only the columns between them are summed again. All orders are equally
    probable a priori, as with `KoivistoSood`: DAGs with many topological orders are favored. Corrected, four DAGs are
    drawn from each order and weighted by one over their number of topological orders, counted exactly: then all
    DAGs are equally probable, as with `TianHe`. Edges are made more probable first, which the weights undo, so that
    weights vary less; `diagnostics["effective_draws"]` says how much they do.

    Args:
        is_corrected: whether to weight by one over the number of topological orders; up to 20 columns.
        num_samples, thin, burn_in, num_chains, temperatures, candidates: see `Chains`.

    Reference: Koller & Friedman, section 18.5.3.2; Friedman & Koller (2003); Ellis & Wong (2008).
    Guarantee: converges; `diagnostics` compares the chains.
    Tested by: learning/structure/averaging/test_mcmc.py::test_chains_against_exact_sums
    """

    is_corrected: bool = False

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        """Whether edges are averaged given each state, and not counted over weighted draws."""
        return not self.is_corrected

    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior, from the draws of all chains."""
        n = len(task.columns)
        if self.is_corrected and n > MOST_EXTENSIONS:
            raise TooLarge(
                f"The topological orders of a DAG are counted for up to {MOST_EXTENSIONS} columns; found {n}. Use "
                "PartitionMCMC(), which needs no correction."
            )
        return super().average(task)

    def _candidate_table(self, task: StructureTask) -> tuple[CandidateTable, Tilt | None]:
        """The scores; tilted ones, and by how much, if draws are corrected."""
        if not self.is_corrected:
            return super()._candidate_table(task)
        table, _ = replace(self, is_corrected=False)._candidate_table(task)
        tilt = fitted_tilt(table, _order(task.start_parents(), np.random.default_rng(0)))
        return tilt.table(table), tilt

    def _starts(self, task: StructureTask, rng: np.random.Generator) -> list[Ints]:
        return [_order(parents, rng) for parents in _start_graphs(task, self.num_chains, rng)]

    def _advance(self, state: Ints, uniforms: Floats, heat: float, cancel: Bytes) -> tuple[float, int]:
        """Steps over orders."""
        found: tuple[float, int] = run_orders(state, *self.table.arrays, uniforms, heat, cancel)
        return found

    def _record(self, state: Ints, edges: Floats, rng: np.random.Generator) -> Draws:
        """Edges given the order, and DAGs."""
        if self._tilt is not None:
            graphs = drawn_graphs(state, self.table, DRAWS, rng)
            return graphs, self._tilt.log_weights(graphs)
        add_state(np.argsort(state, kind="stable"), False, *self.table.arrays, edges)
        return drawn_graphs(state, self.table, 1, rng), np.zeros(1)


@dataclass(frozen=True, kw_only=True)
class PartitionMCMC(Chains):
    r"""Metropolis-Hastings over ordered partitions of the columns, each of which stands for its own DAGs.

    Columns are on levels; each one above the first has a parent on the level just below, and others below that. So
    every DAG belongs to one partition, and all DAGs are equally probable a priori, as with `TianHe`. Given the
    partition, edges are averaged exactly. A step moves one column, exchanges two, splits or joins levels, or draws a
    DAG of the partition and reverses one of its edges, with new parents for both columns.

    Args:
        num_samples, thin, burn_in, num_chains, temperatures, candidates: see `Chains`.

    Reference: Kuipers & Moffa (2017); Grzegorczyk & Husmeier (2008) for reversals; Kuipers, Suter & Moffa (2022) for
        candidates.
    Guarantee: converges; `diagnostics` compares the chains.
    Tested by: learning/structure/averaging/test_mcmc.py::test_chains_against_exact_sums
    """

    def _starts(self, task: StructureTask, rng: np.random.Generator) -> list[Ints]:
        return [_levels(parents) for parents in _start_graphs(task, self.num_chains, rng)]

    def _advance(self, state: Ints, uniforms: Floats, heat: float, cancel: Bytes) -> tuple[float, int]:
        """Steps over partitions."""
        found: tuple[float, int] = run_partitions(state, *self.table.arrays, uniforms, heat, cancel)
        return found

    def _record(self, state: Ints, edges: Floats, rng: np.random.Generator) -> Draws:
        """Edges given the partition, and a DAG."""
        n = len(state)
        graphs = np.zeros((1, n, n), np.uint8)
        add_state(state, True, *self.table.arrays, edges)
        draw_graph(state, True, *self.table.arrays, rng.random(n), graphs[0])
        return graphs, np.zeros(1)


@dataclass(frozen=True, kw_only=True)
class StructureMCMC(Chains):
    r"""Metropolis-Hastings over DAGs: single edges are added, deleted or reversed.

    The proposal is uniform over the $N(\mathcal G)$ legal moves, so a move is accepted with the probability

    $$\min\left(1, \frac{P(\mathcal G', \mathcal D) \, N(\mathcal G)}
      {P(\mathcal G, \mathcal D) \, N(\mathcal G')}\right).$$

    A tenth of the steps reverse an edge with new parents for both of its columns; without these, chains of many rows
    stay in the region of DAGs where they start. `PartitionMCMC` has the same posterior.

    Args:
        reversals: the share of such steps; 0 for single edges only.
        num_samples, thin, burn_in, num_chains, temperatures, candidates: see `Chains`.

    Reference: Koller & Friedman, section 18.5.3.1; Madigan & York (1995); Grzegorczyk & Husmeier (2008).
    Guarantee: converges; `diagnostics` compares the chains.
    Tested by: learning/structure/averaging/test_mcmc.py::test_chains_against_exact_sums
    """

    reversals: float = REVERSED

    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reversals != 0.0:
            fraction("StructureMCMC(reversals=)", self.reversals)

    def _starts(self, task: StructureTask, rng: np.random.Generator) -> list[Ints]:
        n = len(task.columns)
        found = []
        for parents in _start_graphs(task, self.num_chains, rng):
            graph = np.zeros((n, n), np.int64)
            for child, (above, required) in enumerate(zip(parents, _required(task), strict=True)):
                graph[above if self.table.has(child, above) else required, child] = 1
            found.append(graph.reshape(-1))
        return found

    def _advance(self, state: Ints, uniforms: Floats, heat: float, cancel: Bytes) -> tuple[float, int]:
        """Steps over DAGs."""
        found: tuple[float, int] = run_structures(state, *self.table.arrays, uniforms, heat, self.reversals, cancel)
        return found

    def _record(self, state: Ints, edges: Floats, rng: np.random.Generator) -> Draws:
        """The DAG itself."""
        return state.reshape(1, *edges.shape).astype(np.uint8), np.zeros(1)


def _start_graphs(task: StructureTask, count: int, rng: np.random.Generator) -> list[list[list[int]]]:
    """The task's start, or the required edges only; for the other chains, single parents along random orders."""
    found = [task.start_parents()]
    n, allowed = len(task.columns), task.allowed
    for _ in range(count - 1):
        rank = np.argsort(_order(found[0] if task.start is None else _required(task), rng), kind="stable")
        parents = _required(task)
        for child in range(n):
            before = [u for u in range(n) if rank[u] < rank[child] and not allowed.forbidden[u, child]]
            if before and not parents[child] and allowed.max_parents:
                parents[child] = [before[int(rng.integers(len(before)))]]
        found.append(parents)
    return found


def _required(task: StructureTask) -> list[list[int]]:
    return [np.flatnonzero(task.allowed.required[:, v]).tolist() for v in range(len(task.columns))]


def _order(parents: list[list[int]], rng: np.random.Generator) -> Ints:
    """A random topological order."""
    n = len(parents)
    left, order = set(range(n)), []
    while left:
        free = sorted(v for v in left if not left & set(parents[v]))
        order.append(free[int(rng.integers(len(free)))])
        left.remove(order[-1])
    return np.array(order, np.int64)


def _levels(parents: list[list[int]]) -> Ints:
    """The level of each column: one more than the highest of its parents."""
    levels = np.zeros(len(parents), np.int64)
    for _ in parents:
        for child, above in enumerate(parents):
            levels[child] = max((levels[p] + 1 for p in above), default=0)
    return levels
