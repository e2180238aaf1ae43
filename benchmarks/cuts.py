"""Minimum cuts: segmentation of images against PyMaxflow with its own grids, irregular graphs against SciPy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

SIZES = {"512 x 512": 512, "1024 x 1024": 1024}
WEIGHT = 1.0
NODES, EDGES = 200_000, 1_000_000
RUNS = 5

Solved = tuple[Timing, float]


@lru_cache(maxsize=1)
def unary(name: str) -> Any:
    """The log odds of a noisy disk, one per pixel."""
    import numpy as np

    n = SIZES[name]
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:n, :n]
    disk = (y - n / 2) ** 2 + (x - n / 2) ** 2 < (n / 3) ** 2
    return np.where(disk, 1.0, -1.0) + rng.normal(0.0, 1.5, (n, n))


@lru_cache(maxsize=1)
def irregular() -> tuple[Any, Any, Any, Any]:
    """Random edges with whole capacities, and capacities of a tenth of the nodes to the terminals."""
    import numpy as np

    rng = np.random.default_rng(0)
    edges = rng.integers(NODES, size=(EDGES, 2)).astype(np.int32)
    edges = edges[edges[:, 0] != edges[:, 1]]
    forward = rng.integers(1, 100, len(edges))
    ends = rng.integers(0, 1000, (2, NODES)) * (rng.random((2, NODES)) < 0.1)
    return edges, forward, ends[0], ends[1]


def segment_sepset(name: str) -> Solved:
    import numpy as np

    import sepset as ss

    odds, n = unary(name), SIZES[name]
    pixel = ss.Discrete.array("pixel", (n, n))
    net = ss.MarkovNet.potts(pixel, WEIGHT, log_values=np.stack([-odds, odds], axis=-1) / 2.0)
    found = ss.map_assignment(net, method=ss.MinCut())
    return measure(lambda: ss.map_assignment(net, method=ss.MinCut())[pixel]), float(found[pixel].sum())


def segment_pymaxflow(name: str) -> Solved:
    import maxflow
    import numpy as np

    odds, n = unary(name), SIZES[name]

    def solved() -> Any:
        graph = maxflow.Graph[float](n * n, 2 * n * n)
        nodes = graph.add_grid_nodes((n, n))
        graph.add_grid_edges(nodes, WEIGHT)
        graph.add_grid_tedges(nodes, np.maximum(-odds, 0.0), np.maximum(odds, 0.0))
        graph.maxflow()
        return graph.get_grid_segments(nodes)

    return measure(solved), float(solved().sum())


def flow_sepset(name: str) -> Solved:
    """The flow alone, on arcs that are there already."""
    import numpy as np

    import sepset as ss
    from sepset.base.threads import NEVER
    from sepset.inference.map.binary import BinaryEnergy
    from sepset.inference.map.maxflow import residual_network, search_forest
    from sepset.inference.map.mincut import flow_graph
    from sepset.inference.wiring import Wiring
    from sepset.kernels.map.maxflow import max_flow

    odds, n = unary(name), SIZES[name]
    net = ss.MarkovNet.potts(ss.Discrete.array("pixel", (n, n)), WEIGHT, log_values=np.stack([-odds, odds], -1) / 2.0)
    graph = flow_graph(BinaryEnergy.of(Wiring.of(net.as_written()), ss.MinCut()))
    value = graph.min_cut().value
    edges, forward, backward, source, sink = graph.arrays()
    ready = [(residual_network(edges, forward, backward, source - sink), search_forest(n * n)) for _ in range(RUNS)]
    return measure(lambda: max_flow(*ready.pop(), NEVER), seconds=0.0, at_least=RUNS, patience=60.0), value


def flow_pymaxflow(name: str) -> Solved:
    """Its flow alone, on graphs that are built already."""
    import maxflow
    import numpy as np

    odds, n = unary(name), SIZES[name]

    def built() -> Any:
        graph = maxflow.Graph[float](n * n, 2 * n * n)
        nodes = graph.add_grid_nodes((n, n))
        graph.add_grid_edges(nodes, WEIGHT)
        graph.add_grid_tedges(nodes, np.maximum(-odds, 0.0), np.maximum(odds, 0.0))
        return graph

    ready = [built() for _ in range(RUNS)]
    return measure(lambda: ready.pop().maxflow(), seconds=0.0, at_least=RUNS, patience=60.0), float(built().maxflow())


def cut_sepset(_: str) -> Solved:
    import numpy as np

    from sepset.inference.map.maxflow import FlowGraph

    edges, forward, source, sink = irregular()
    graph = FlowGraph(NODES, edges, forward=forward, backward=np.zeros(len(edges)), from_source=source, to_sink=sink)
    return measure(graph.min_cut), graph.min_cut().value


def cut_scipy(_: str) -> Solved:
    import numpy as np
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_flow

    edges, forward, source, sink = irregular()
    everything = np.arange(NODES)
    rows = np.concatenate([edges[:, 0], np.full(NODES, NODES), everything])
    columns = np.concatenate([edges[:, 1], everything, np.full(NODES, NODES + 1)])
    numbers = np.concatenate([forward, source, sink]).astype(np.int32)
    matrix = sparse.coo_array((numbers, (rows, columns)), shape=(NODES + 2, NODES + 2)).tocsr()
    return measure(lambda: maximum_flow(matrix, NODES, NODES + 1)), float(
        maximum_flow(matrix, NODES, NODES + 1).flow_value
    )


def row(name: str, ours: Any, theirs: Any, peer: str, target: str = "1x") -> list[Comparison]:
    """The times, and the numbers that must agree."""
    parts = [outcome if isinstance(outcome, str) else (seconds(outcome[0]), outcome[1]) for outcome in (ours, theirs)]
    times, values = ([p if isinstance(p, str) else p[k] for p in parts] for k in (0, 1))
    return [
        Comparison(name, times[0], {peer: times[1]}, target=target),
        Comparison(f"{name}: agrees", values[0], {peer: values[1]}, kind="score"),
    ]


def run(lab: Lab) -> list[Report]:
    """One table: cuts."""
    rows = []
    for name in lab.wanted(list(SIZES)[:1] if lab.quick else list(SIZES)):
        ours = lab.ask("sepset", segment_sepset, name)
        rows += row(f"image {name}", ours, lab.ask("maxflow", segment_pymaxflow, name), "PyMaxflow")
        flows = lab.ask("sepset", flow_sepset, name), lab.ask("maxflow", flow_pymaxflow, name)
        rows += row(f"image {name}, the flow alone", *flows, "PyMaxflow", "0.67x")
    if not lab.quick:
        name = f"{NODES:,} nodes, {EDGES:,} edges"
        rows += row(name, lab.ask("sepset", cut_sepset, name), lab.ask("scipy", cut_scipy, name), "SciPy")
    note = (
        "Images: from the model (PyMaxflow: from its grid builder) to the array of labels; below each the number of "
        "pixels of the second label. Flows alone, and the irregular graph: the value of the cut. PyMaxflow is GPL and "
        "not among the peers that are installed: `pip install PyMaxflow` first."
    )
    return [Report("Minimum cuts", rows, note, has_mean=False)]
