r"""The best assignment of a submodular model by one minimum cut.

$$\epsilon(x, y) + \epsilon(x', y') \le \epsilon(x, y') + \epsilon(x', y), \qquad x < x', \; y < y'$$

Binary variables on the source's side of the cut have state 0; with more states, each has a node between two states.
Every cut has the energy of its assignment, so that the smallest one gives the best assignment, whatever the width of
the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.assignment import AssignmentTask, Certificate, Found
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.map.layers import Layers, is_ordered
from sepset.inference.map.maxflow import FlowGraph
from sepset.inference.map.reductions import MOST_PAIRS, MOST_TRIED, not_submodular
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring

AGREE = 1e-9
"""The relative difference of sums that is taken for rounding."""


@dataclass(frozen=True)
class MinCut:
    """Exact assignments of models in pairs that are submodular, also after reversing the states of some variables.

    With more than two states, pairs must be submodular in the order of the states: every convex cost of their distance
    is, such as `TruncatedLinear` and `TruncatedQuadratic` without a limit. Binary factors over three and more variables
    are reduced to pairs with auxiliary variables: `RobustPotts`, `Cardinality` with a convex function, tables whose
    products of three and more variables lower the energy, and all submodular tables of three.

    Cost: a flow on a graph with a node per variable and two arcs per factor: a second for a million pixels. Variables
    of $K$ states have $K - 1$ nodes, and linear costs as many arcs, others up to $(K - 1)^2$.
    Reference: Greig, Porteous & Seheult (1989); Koller & Friedman, section 13.6.1 and algorithm 13.4; Ishikawa (2003)
    and Schlesinger & Flach (2006) for more states.
    Guarantee: exact, with the flow as a proof.
    Tested by: inference/map/test_mincut.py::test_cuts_are_best_assignments

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (2, 3))
    >>> seen = [[[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [[0.7, 0.3], [0.9, 0.1], [0.1, 0.9]]]
    >>> net = ss.MarkovNet.potts(pixel, 0.5, log_values=np.log(seen))
    >>> found = ss.map_assignment(net, method=ss.MinCut())
    >>> found[pixel].tolist(), found.certificate.check()
    ([[0, 0, 0], [0, 0, 1]], True)
    """

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment, and the proof."""
        task.require_all(self)
        task.require_no_checkpoint(self)
        with task.limited():
            return self._cut(task.wiring)

    def _cut(self, wiring: Wiring) -> Found:
        """The best assignment of a model, and the proof."""
        if (wiring.plugs.cards > 2).any():
            layers = Layers.of(wiring, self)
            return _found(layers.energy, layers.codes)
        energy = BinaryEnergy.of(wiring, self, to_cut=MOST_PAIRS)
        cuttable = energy.submodular()
        if cuttable is None:
            raise NotApplicable(_frustrated(energy, wiring))
        n, only = wiring.num_variables, wiring.plugs.cards == 1
        return _found(cuttable, lambda ones: np.where(only, 0, (ones ^ cuttable.flipped)[:n]))


def has_cut(wiring: Wiring) -> bool:
    """Whether a minimum cut gives the best assignment of a wired model; no if only a large reduction would tell."""
    if (wiring.plugs.cards > 2).any():
        return wiring.is_pairwise and is_ordered(wiring, MinCut())
    try:
        return BinaryEnergy.of(wiring, MinCut(), to_cut=MOST_TRIED).submodular() is not None
    except (NotApplicable, TooLarge):
        return False


def _found(energy: BinaryEnergy, decode: Callable[[Bools], AnyInts]) -> Found:
    """The assignment of the minimum cut of a submodular energy, with the flow as a proof."""
    cut = flow_graph(energy).min_cut()
    least = energy.constant + float(least_energies(energy).sum()) + cut.value
    certificate = Certificate(
        f"No assignment has a log value above {-least:.10g}.",
        "A flow of that size through the graph of the energy: every cut, and so every assignment, pays for it.",
        verify=partial(flow_proves, energy, least, cut.value),
    )
    codes = np.asarray(decode(cut.sink_side), np.int64)
    return Found(
        codes[None],
        (-least,),
        bound=-least,
        guarantee=Guarantee.EXACT,
        certificate=certificate,
        info={"decoder": "minimum cut"},
    )


def flow_graph(energy: BinaryEnergy) -> FlowGraph:
    """The graph whose cuts have the energies of the assignments, without its constant."""
    return FlowGraph(
        energy.unary.shape[1],
        energy.pairs,
        forward=energy.costs[1],
        backward=energy.costs[2],
        from_source=energy.unary[1] - least_energies(energy),
        to_sink=energy.unary[0] - least_energies(energy),
    )


def least_energies(energy: BinaryEnergy) -> Floats:
    """The smaller energy of each variable's states; zero if both are infinite."""
    least = np.minimum(energy.unary[0], energy.unary[1])
    return np.where(np.isfinite(least), least, 0.0)


def _frustrated(energy: BinaryEnergy, wiring: Wiring) -> str:
    wrong = (energy.costs[0] > 0.0) | (energy.costs[3] > 0.0)
    pair = int(np.argmax(wrong))
    if pair >= len(wiring.pair_factors):
        return not_submodular(wiring, energy.pairs[pair])
    f = int(wiring.pair_factors[pair])
    one, other = (wiring.name(i) for i in wiring.scope(f).tolist())
    return (
        f"MinCut takes submodular models; factor {wiring.numbers[f]} favors unequal states of {one!r} and {other!r}, "
        "which other factors do not allow, and exchanging states does not help. Use QPBO() for what is certain."
    )


def flow_proves(energy: BinaryEnergy, least: float, value: float) -> bool:
    """Whether a flow that keeps all capacities, and is lost nowhere, has the size of a cut, which gives the energy.

    Args:
        least: the energy.
        value: of the cut, without what every assignment pays: large constants would hide its digits.
    """
    graph = flow_graph(energy)
    pairs, *capacities = graph.arrays()
    finite = sum(float(c[np.isfinite(c)].sum()) for c in capacities)
    forward, backward, source, sink = (np.where(np.isinf(c), finite + 1.0, c) for c in capacities)
    bounded = FlowGraph(graph.num_nodes, pairs, forward=forward, backward=backward, from_source=source, to_sink=sink)
    size = bounded.flow_size(bounded.min_cut())
    if size is None or math.isinf(value):
        return size is not None and size > finite
    paid = energy.constant + float(least_energies(energy).sum()) + value
    return abs(size - value) <= AGREE * max(1.0, abs(value)) and abs(least - paid) <= AGREE * max(1.0, abs(paid))
