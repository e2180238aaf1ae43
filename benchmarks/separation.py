"""d-separation in a random DAG of 100,000 nodes, where most of the graph has to be searched."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

NODES = 100_000
EDGES = 200_000
OBSERVED = 1_000
SOURCE = NODES // 2

Answered = tuple[Timing, bool]


@lru_cache(maxsize=1)
def drawn() -> tuple[list[int], list[int], list[int]]:
    """Sources, targets (always later than their sources) and the observed nodes."""
    import numpy as np

    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(NODES, size=(EDGES, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    others = np.delete(np.arange(NODES), [SOURCE, NODES - 1])
    observed = rng.choice(others, OBSERVED, replace=False)
    return ends[:, 0].tolist(), ends[:, 1].tolist(), sorted(observed.tolist())


@lru_cache(maxsize=1)
def _dag() -> Any:
    import sepset as ss

    sources, targets, _ = drawn()
    return ss.DAG.from_arrays([f"n{i}" for i in range(NODES)], sources=sources, targets=targets)


def ends() -> tuple[int, int, int]:
    """A node that no trail reaches, the last one reached, and the number reached; every peer has to confirm them."""
    import sepset as ss

    reached = {int(name[1:]) for name in ss.graphs.reachable(_dag(), f"n{SOURCE}", given=[f"n{i}" for i in drawn()[2]])}
    observed = set(drawn()[2])
    away = next(i for i in reversed(range(NODES)) if i not in reached and i not in observed)
    return away, max(reached), len(reached)


def _answered(ask: Callable[[], bool]) -> Answered:
    return measure(ask), bool(ask())


def separate_sepset(target: int) -> Answered:
    import sepset as ss

    given = [f"n{i}" for i in drawn()[2]]
    return _answered(lambda: ss.d_separated(_dag(), f"n{SOURCE}", f"n{target}", given=given))


def separate_networkx(target: int) -> Answered:
    import networkx as nx

    sources, targets, observed = drawn()
    graph = nx.DiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(zip(sources, targets, strict=True))
    return _answered(lambda: nx.is_d_separator(graph, {SOURCE}, {target}, set(observed)))


def separate_pgmpy(target: int) -> Answered:
    from pgmpy.base import DAG

    sources, targets, observed = drawn()
    dag = DAG()
    dag.add_nodes_from(map(str, range(NODES)))
    dag.add_edges_from((str(s), str(t)) for s, t in zip(sources, targets, strict=True))
    given = [str(i) for i in observed]
    return _answered(lambda: not dag.is_dconnected(str(SOURCE), str(target), observed=given))


def separate_pyagrum(target: int) -> Answered:
    import pyagrum as gum

    sources, targets, observed = drawn()
    dag = gum.DAG()
    dag.addNodes(NODES)
    for source, arc_target in zip(sources, targets, strict=True):
        dag.addArc(source, arc_target)
    return _answered(lambda: dag.dSeparation(SOURCE, target, observed))


PEERS = {"networkx": separate_networkx, "pgmpy": separate_pgmpy, "pyagrum": separate_pyagrum}


def _figure(answer: Answered | str, expected: bool) -> float | str:
    if isinstance(answer, str):
        return answer
    return seconds(answer[0]) if answer[1] is expected else "another answer"


def compared(lab: Lab, target: int, separated: bool) -> Comparison:
    word = "separated" if separated else "connected"
    return Comparison(
        word,
        _figure(lab.ask("sepset", separate_sepset, target), separated),
        {name: _figure(lab.ask(name, function, target), separated) for name, function in PEERS.items()},
        target="1 s",
        headline=f"d-separation in a DAG of {NODES:,} nodes" if separated else "",
    )


def run(lab: Lab) -> list[Report]:
    """One table: seconds for one question, the graph in memory."""
    away, reached, count = ends()
    rows = [compared(lab, away, True), compared(lab, reached, False)]
    note = f"{NODES:,} nodes, about {EDGES:,} edges, {OBSERVED:,} observed; active trails reach {count:,} nodes."
    return [Report("d-separation", rows, note)]
