"""Chains over structures: several from different starts, at several temperatures, with diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import number, whole
from sepset.base.frozen import fill
from sepset.base.threads import OutOfTime, ending_at, num_threads, together
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.iterate import Info, Until, as_until, deadline, left_until, run
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.averaging.candidates import (
    ALL_COLUMNS,
    CandidateTable,
    KnownBlocks,
    climbed,
    expanded,
    first_candidates,
    with_parents,
)
from sepset.learning.structure.averaging.correction import Tilt
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult
from sepset.learning.structure.learned import StructureTask, dag_of, iterated

EXPANSION_SAMPLES = 100
"""The draws of each round in which candidates are added."""

EXPANSION_ROUNDS = 10
"""The most rounds in which candidates are added."""

PIECE = 10_000
"""The DAGs that are averaged at a time."""

Draws = tuple[Bytes, Floats]
"""DAGs as arrays of edges, and the logarithms of their weights."""

ADDED_ABOVE = 0.05
"""A further column becomes a candidate if its edge is more probable than this."""


@dataclass(frozen=True)
class ChainState:
    """Where the chains stand, and what was kept.

    Attributes:
        states: of each chain and temperature.
        logs: the log score of each.
        edges: the summed edge probabilities of each chain.
        graphs: a DAG from each kept draw, by chain; the array may have room for more.
        log_weights: the logarithm of the weight of each kept DAG, with room for more.
        traces: the log score of each chain's cold state after each step, with room for more.
        counts: states kept, proposals, acceptances, exchanges of temperatures proposed and accepted, steps, DAGs drawn
            from each kept state.
    """

    states: Ints
    logs: Floats
    edges: Floats
    graphs: Bytes
    log_weights: Floats
    traces: Floats
    counts: Ints


class ChainCodec:
    """States of chains as plain values."""

    def pack(self, state: ChainState) -> Any:
        """The arrays by name."""
        kept, steps = int(state.counts[0]), int(state.counts[5])
        drawn = kept * int(state.counts[6])
        cut = {
            "graphs": state.graphs[:, :drawn],
            "log_weights": state.log_weights[:, :drawn],
            "traces": state.traces[:, :steps],
        }
        return {**vars(state), **cut}

    def unpack(self, packed: Any) -> ChainState:
        """The state from its arrays."""
        return ChainState(**{name: np.array(value) for name, value in packed.items()})


@dataclass(frozen=True, kw_only=True)
class Chains:
    """The settings and the driver that all chains over structures share.

    Args:
        num_samples: how many structures are kept from each chain.
        thin: the steps between two of them; 10 per column by default.
        burn_in: the kept draws that are dropped at the beginning; a fifth of `num_samples` by default.
        num_chains: from different starts: the first from `start`, or, with candidates, from where hill climbing ends;
            the others at random.
        temperatures: 1 and higher ones; chains at higher temperatures move freely and exchange states with colder ones.
        candidates: how many candidate parents each column begins with; all columns by default where there are up to 16.
            Parent sets have one more column than candidates, and columns that prove probable become candidates.
    """

    num_samples: int = 1000
    thin: int | None = None
    burn_in: int | None = None
    num_chains: int = 2
    temperatures: tuple[float, ...] = (1.0,)
    candidates: int | None = None
    _table: CandidateTable | None = field(default=None, repr=False, compare=False)
    _tilt: Tilt | None = field(default=None, repr=False, compare=False)

    is_exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        whole(f"{name}(num_samples=)", self.num_samples, least=1)
        whole(f"{name}(num_chains=)", self.num_chains, least=1)
        for setting, least in (("thin", 1), ("burn_in", 0), ("candidates", 0)):
            if getattr(self, setting) is not None:
                whole(f"{name}({setting}=)", getattr(self, setting), least=least, otherwise="None")
        fill(self, temperatures=tuple(float(number(f"{name}(temperatures=)", t, least=1)) for t in self.temperatures))
        if not self.temperatures or self.temperatures[0] != 1.0:
            raise ArgumentError(f"{name}(temperatures=) begins with 1; found {self.temperatures}.")

    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior, from the draws of all chains."""
        until = Until(steps=self._dropped + self.num_samples, tolerance=None)
        rule = as_until(task.until, until)
        end, is_limited = deadline(rule), task.until is not None
        try:
            with ending_at(end):
                bound, task = self._bound(task)
        except OutOfTime:
            if time.monotonic() < end:
                raise
            raise NotApplicable(f"{self!r} was ended before its first draw. Give it more time.") from None
        task = replace(task, until=left_until(rule, end))
        found = iterated(bound, task, ChainCodec(), settings=self).result(bound, task)
        status = Status.COMPLETED if found.status is Status.STEP_LIMIT and not is_limited else found.status
        return replace(found, method=self, status=status)

    def _bound(self, task: StructureTask) -> tuple[Self, StructureTask]:
        """The chains with the scores that they visit, and the task with the graph that they start from."""
        if task.start is None and self._has_candidates(task):
            task = replace(task, start=dag_of(task.columns, climbed(task)))
        table, tilt = self._candidate_table(task)
        return replace(self, _table=table, _tilt=tilt), task

    @property
    def _dropped(self) -> int:
        return self.num_samples // 5 if self.burn_in is None else self.burn_in

    def _steps(self, task: StructureTask) -> int:
        """The steps between two draws."""
        return 10 * len(task.columns) if self.thin is None else self.thin

    def _has_candidates(self, task: StructureTask) -> bool:
        """Whether the columns have few candidate parents each, and not all others."""
        n = len(task.columns)
        return n > 1 and (self.candidates is not None or n > ALL_COLUMNS)

    def _candidate_table(self, task: StructureTask) -> tuple[CandidateTable, Tilt | None]:
        scorer, allowed = task.scorer, task.allowed
        if not self._has_candidates(task):
            return CandidateTable.full(scorer, allowed), None
        if self.candidates is None:
            chosen = with_parents(first_candidates(scorer, allowed), task.start_parents())
        else:
            chosen = first_candidates(scorer, allowed, self.candidates)
        known: KnownBlocks = {}
        for _ in range(EXPANSION_ROUNDS):
            table = CandidateTable.of(scorer, allowed, chosen, known=known)
            half = EXPANSION_SAMPLES // 2
            thin = min(self._steps(task), 10 * len(task.columns))
            short = replace(self, num_samples=EXPANSION_SAMPLES, thin=thin, burn_in=half, num_chains=1, _table=table)
            until = Until(steps=EXPANSION_SAMPLES + half, tolerance=None)
            probable = run(short, task, rng=task.rng, until=until, progress=False).result(short, task).edges
            more = expanded(chosen, probable, ADDED_ABOVE)
            if more == chosen:
                return table, None
            chosen = more
        return CandidateTable.of(scorer, allowed, chosen, known=known), None

    @property
    def table(self) -> CandidateTable:
        """The scores that the chains visit."""
        assert self._table is not None
        return self._table

    def init(self, task: StructureTask, rng: np.random.Generator) -> ChainState:
        """The starts of all chains."""
        n, heats = len(task.columns), len(self.temperatures)
        first = self._starts(task, rng)
        states = np.stack([np.stack([s] * heats) for s in first])
        shape = (self.num_chains, heats)
        return ChainState(
            states,
            np.zeros(shape),
            np.zeros((self.num_chains, n, n)),
            np.zeros((self.num_chains, 0, n, n), np.uint8),
            np.zeros((self.num_chains, 0)),
            np.zeros((self.num_chains, 0)),
            np.zeros(7, np.int64),
        )

    def step(self, task: StructureTask, state: ChainState, rng: np.random.Generator) -> tuple[ChainState, Info]:
        """One draw from every chain."""
        n = len(task.columns)
        states, logs, counts = state.states.copy(), np.empty_like(state.logs), state.counts.copy()
        steps = self._steps(task)
        tasks: list[Callable[[Bytes], tuple[float, int]]] = []
        for chain in range(self.num_chains):
            for k, temperature in enumerate(self.temperatures):
                uniforms = 1.0 - rng.random((steps, 6 + n))
                uniforms[:, [0, 1, 2]] = 1.0 - uniforms[:, [0, 1, 2]]  # below one, where places are drawn
                tasks.append(partial(self._advance, states[chain, k], uniforms, 1.0 / temperature))
        found = together(tasks, num_threads(task.threads))
        logs[:] = np.array([log for log, _ in found]).reshape(logs.shape)
        for chain in range(self.num_chains):
            counts[1:3] += (steps, found[chain * len(self.temperatures)][1])
            self._exchange(states[chain], logs[chain], counts, rng)
        traces = appended(state.traces, int(counts[5]), logs[:, :1])
        counts[5] += 1
        moved = replace(state, states=states, logs=logs, counts=counts, traces=traces)
        if counts[5] > self._dropped:
            moved = self._kept(task, moved, rng)
        return moved, Info(float(logs[:, 0].mean()), np.inf)

    def _exchange(self, states: Ints, logs: Floats, counts: Ints, rng: np.random.Generator) -> None:
        """Neighboring temperatures exchange states with the probability that keeps both distributions."""
        for k in range(len(self.temperatures) - 1, 0, -1):
            gain = (logs[k] - logs[k - 1]) * (1.0 / self.temperatures[k - 1] - 1.0 / self.temperatures[k])
            counts[3] += 1
            if np.log(1.0 - rng.random()) < gain:
                states[[k, k - 1]], logs[[k, k - 1]] = states[[k - 1, k]], logs[[k - 1, k]]
                counts[4] += 1

    def _kept(self, task: StructureTask, state: ChainState, rng: np.random.Generator) -> ChainState:
        edges, counts = state.edges.copy(), state.counts.copy()
        drawn = [self._record(state.states[chain, 0], edges[chain], rng) for chain in range(self.num_chains)]
        graphs, weights = np.stack([d[0] for d in drawn]), np.stack([d[1] for d in drawn])
        before = int(counts[0]) * graphs.shape[1]
        counts[0] += 1
        counts[6] = graphs.shape[1]
        return replace(
            state,
            edges=edges,
            counts=counts,
            graphs=appended(state.graphs, before, graphs),
            log_weights=appended(state.log_weights, before, weights),
        )

    def read(self, task: StructureTask, state: ChainState) -> StructurePosteriorResult:
        """The posterior, from what was kept."""
        n, kept = len(task.columns), int(state.counts[0])
        if not kept:
            raise NotApplicable(f"{self!r} was ended in its burn-in. Give it more steps.")
        cut = ChainCodec().pack(state)
        state = replace(state, graphs=cut["graphs"], log_weights=cut["log_weights"], traces=cut["traces"])
        logs = state.log_weights.reshape(-1)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        graphs = state.graphs.reshape(-1, n, n)
        by_chain = self._edges_by_chain(state, kept)
        return StructurePosteriorResult(
            task.columns,
            by_chain.mean(0) if self.is_exact else weighted_mean(graphs, weights),
            parents=graphs,
            weights=weights,
            method=self,
            task=task,
            guarantees={"edges": Guarantee.ESTIMATE, "paths": Guarantee.ESTIMATE},
            diagnostics=self._diagnostics(state, by_chain, weights),
        )

    def _edges_by_chain(self, state: ChainState, kept: int) -> Floats:
        if self.is_exact:
            return state.edges / kept
        logs = state.log_weights - state.log_weights.max(1, keepdims=True)
        weights = np.exp(logs) / np.exp(logs).sum(1, keepdims=True)
        return np.stack([weighted_mean(g, w) for g, w in zip(state.graphs, weights, strict=True)])

    def _diagnostics(self, state: ChainState, by_chain: Floats, weights: Floats) -> Mapping[str, Any]:
        exchanges = {} if not state.counts[3] else {"exchanges": float(state.counts[4] / state.counts[3])}
        return {
            "r_hat": r_hat(state.traces[:, self._dropped :]),
            "scatter": float((by_chain.max(0) - by_chain.min(0)).max(initial=0.0)),
            "acceptance": float(state.counts[2] / max(int(state.counts[1]), 1)),
            "effective_draws": float(1.0 / np.square(weights).sum()),
            "edges_by_chain": by_chain,
            **exchanges,
        }

    def _starts(self, task: StructureTask, rng: np.random.Generator) -> list[Ints]:
        """The first state of each chain: of a good structure, and of random ones."""
        raise NotImplementedError

    def _advance(self, state: Ints, uniforms: Floats, heat: float, cancel: Bytes) -> tuple[float, int]:
        """Steps from a state, in place; the log score, and how many were accepted."""
        raise NotImplementedError

    def _record(self, state: Ints, edges: Floats, rng: np.random.Generator) -> Draws:
        """Add the edge probabilities given a state; DAGs drawn from it, and the logs of their weights."""
        raise NotImplementedError


def appended(room: Any, count: int, values: Any) -> Any:
    """The array with more entries on its second axis; it grows by doubling, and earlier entries never change."""
    last = count + values.shape[1]
    if last > room.shape[1]:
        larger = np.zeros((room.shape[0], max(2 * count, 16, last), *room.shape[2:]), room.dtype)
        larger[:, :count] = room[:, :count]
        room = larger
    room[:, count:last] = values
    return room


def weighted_mean(graphs: Bytes, weights: Floats) -> Floats:
    """The sum of arrays of edges with weights that sum to one, in pieces of bounded memory.

    >>> weighted_mean(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], np.uint8), np.array([0.25, 0.75])).tolist()
    [[0.0, 0.25], [0.75, 0.0]]
    """
    pieces = range(0, len(weights), PIECE)
    found = sum(np.tensordot(weights[i : i + PIECE], graphs[i : i + PIECE], 1) for i in pieces)
    return np.asarray(found, np.float64)


def r_hat(traces: Floats) -> float:
    """The potential scale reduction of several traces, each split in half; near one if they agree.

    >>> round(r_hat(np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]])), 2)
    0.71
    """
    half = traces.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate([traces[:, :half], traces[:, half : 2 * half]])
    within = parts.var(1, ddof=1).mean()
    between = half * parts.mean(1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt(((half - 1) / half * within + between / half) / within))
