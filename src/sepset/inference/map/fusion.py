r"""The best of all choices between two assignments, variable by variable, by a minimum cut.

$$E'(\mathbf t) = E\bigl(\mathbf x^{t}\bigr), \qquad x^t_i = \text{keep}_i \text{ if } t_i = 0 \text{ else take}_i$$

If a pair is not submodular in $\mathbf t$, roof duality decides what it can and the rest keeps its state, or terms are
truncated to submodular ones, whichever is better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.assignment import best_of
from sepset.inference.map.binary import ROUNDING, BinaryEnergy, normal_form
from sepset.inference.map.maxflow import FlowGraph
from sepset.inference.map.mincut import flow_graph
from sepset.inference.map.qpbo import roof_dual
from sepset.inference.wiring import Wiring
from sepset.kernels.map.moves import move_arcs, move_cells


class Choices(NamedTuple):
    """Choices between two assignments.

    Attributes:
        made: assignments, the best of which is wanted.
        is_best: whether no other choice is better than all of these.
    """

    made: list[Ints]
    is_best: bool


def fused(wiring: Wiring, keep: Ints, take: Ints, method: object) -> Ints:
    """The best choice between two assignments, variable by variable; never worse than the first.

    Args:
        method: named where a factor cannot be reduced to pairs.

    Guarantee: the best of all choices if every pair is submodular in them; never worse otherwise.
    Tested by: inference/map/test_fusion.py::test_fusions_are_best_by_enumeration
    """
    return best_of([keep, *choices(wiring, keep, take, method).made], wiring)[0]


def choices(wiring: Wiring, keep: Ints, take: Ints, method: object, *, flows: Floats | None = None) -> Choices:
    """The best choices between two assignments that cuts find.

    Args:
        method: named where a factor cannot be reduced to pairs.
        flows: a number for each factor, the flow of an earlier choice to begin with; that of this one replaces it.
    """
    chosen = submodular_choice(wiring, keep, take, flows)
    if chosen is not None:
        return Choices([np.where(chosen, take, keep)], is_best=True)
    energy = move_energy(wiring, keep, take, method)
    if energy.is_submodular:
        chosen = flow_graph(energy).min_cut().sink_side[: len(keep)]
        return Choices([np.where(chosen, take, keep)], is_best=True)
    roof = roof_dual(energy).first(len(keep))
    made = [np.where(roof.labeled & (roof.codes == 1), take, keep)]
    if not roof.labeled.all():
        made.append(np.where(flow_graph(truncated(energy)).min_cut().sink_side[: len(keep)], take, keep))
    return Choices(made, is_best=bool(roof.labeled.all()))


def submodular_choice(wiring: Wiring, keep: Ints, take: Ints, flows: Floats | None = None) -> Bools | None:
    """The variables that take their other state in the best choice; None unless all is submodular, and possible.

    Only variables whose two states differ are nodes of the graph.

    Args:
        flows: as for `choices`.
    """
    if not wiring.is_pairwise:
        return None
    plugs, moves = wiring.pair_plugs, np.flatnonzero(keep != take)
    nodes, states = np.full(len(keep), -1, np.int32), plugs.states[:-1][moves]
    nodes[moves] = np.arange(len(moves))
    unary = -np.stack([wiring.unary[states + keep[moves]], wiring.unary[states + take[moves]]])
    num = len(plugs.kinds)
    edges, arcs, factors = np.empty((num, 2), np.int32), np.empty((num, 2)), np.empty(num, np.int64)
    numbers = plugs.scope, plugs.cards, plugs.kinds, plugs.places, plugs.tables, plugs.weights, plugs.limits
    how = *numbers, keep, take, nodes, ROUNDING, unary, edges, arcs, factors, np.empty(4)
    count = int(interruptible(lambda cancel: move_arcs(*how)))
    least = unary.min(axis=0)
    if count < 0 or not np.isfinite(least).all():
        return None
    capacities = {"forward": arcs[:count, 0], "backward": arcs[:count, 1]}
    ends = {"from_source": unary[1] - least, "to_sink": unary[0] - least}
    graph, used = FlowGraph(len(moves), edges[:count], **capacities, **ends), factors[:count]
    cut = graph.min_cut(None if flows is None else flows[used])
    if flows is not None:
        flows[used] = graph.flows(cut)
    chosen = np.zeros(len(keep), bool)
    chosen[moves] = cut.sink_side
    return chosen


def truncated(energy: BinaryEnergy) -> BinaryEnergy:
    r"""A submodular energy whose decrease from $\mathbf t = 0$ is nowhere larger: its best choice never hurts.

    A cost of (0, 0) is left out, which lowers the energy of keeping both; a cost of (1, 1) is paid by one of the two
    alone, that with less to gain from taking.

    Reference: Rother, Kumar, Kolmogorov & Blake (2005), Digital tapestry.
    Guarantee: the decrease is a lower bound on that of the energy.
    Tested by: inference/map/test_fusion.py::test_truncated_energies_never_hurt
    """
    unary, costs = energy.unary.copy(), energy.costs.copy()
    taken = costs[3] > 0.0
    pairs = energy.pairs[taken].astype(np.int64)
    gains = np.where(np.isinf(unary[0]), -np.inf, unary[1] - np.where(np.isinf(unary[0]), 0.0, unary[0]))[pairs]
    payer = np.where(gains[:, 0] >= gains[:, 1], pairs[:, 0], pairs[:, 1])
    np.add.at(unary[1], payer, costs[3, taken])
    costs[0] = costs[3] = 0.0
    return replace(energy, unary=unary, costs=costs)


def move_energy(wiring: Wiring, keep: Ints, take: Ints, method: object) -> BinaryEnergy:
    """The energy of choices between two assignments; a variable that is offered its own state keeps it."""
    plugs, pairs = wiring.pair_plugs, wiring.pairs
    cells = np.empty((4, len(pairs)))
    numbers = plugs.scope, plugs.cards, plugs.kinds, plugs.places, plugs.tables, plugs.weights, plugs.limits
    interruptible(lambda cancel: move_cells(*numbers, keep, take, cells))
    unary = np.stack([-wiring.unary[plugs.states[:-1] + keep], -wiring.unary[plugs.states[:-1] + take]])
    costs, shifts, constant = normal_form(np.ascontiguousarray(cells.T))
    for state in (0, 1):
        np.add.at(unary[state], pairs, shifts[state])
    unary[1, keep == take] = np.inf
    energy = BinaryEnergy(constant - wiring.constant, unary, pairs, costs, np.zeros(len(keep), bool))
    return energy.with_larger(wiring, keep, take, method)
