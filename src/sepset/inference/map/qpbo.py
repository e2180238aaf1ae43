r"""Roof duality: what is certain about the best assignment of any binary model in pairs, and a bound on the rest.

Every variable becomes two nodes, $x_i$ and $\bar x_i = 1 - x_i$, and every cost of two states half the cost on each of
two arcs, so that all pairs are submodular. Where the minimum cut of the doubled graph separates the nodes of a
variable, its state belongs to some best assignment, and replacing the states of all these variables in any assignment
does not make it worse.

$$\max_{\mathbf x} \log \tilde P(\mathbf x) \le -\text{(half-integral minimum)}$$
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.checks import whole
from sepset.base.threads import OutOfTime
from sepset.inference.assignment import AssignmentTask, Certificate, Found
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.map.coordinates import improved
from sepset.inference.map.maxflow import FlowGraph
from sepset.inference.map.mincut import least_energies
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring


@dataclass(frozen=True, eq=False)
class Roof:
    """The outcome of one cut of the doubled graph.

    Attributes:
        least: a lower bound on the energy.
        labeled: the variables that it decides.
        codes: their states; zero for the others.
    """

    least: float
    labeled: Bools
    codes: Ints

    def first(self, n: int) -> Roof:
        """The outcome for the first variables, without auxiliary ones."""
        return Roof(self.least, self.labeled[:n], self.codes[:n])


@dataclass(frozen=True)
class QPBO:
    """Persistent states of any binary model, completed by coordinate ascent and improved by further cuts.

    Factors over three and more variables are reduced to pairs with auxiliary variables.

    Args:
        improvements: how often a random half of the undecided variables is fixed at its present states, which decides
            others; the assignment never becomes worse.

    Cost: a flow on a graph of two nodes per variable, for each improvement.
    Reference: Boros & Hammer (2002); Rother, Kolmogorov, Lempitsky & Szummer (2007).
    Guarantee: a bound; exact if every variable is decided.
    Tested by: inference/map/test_qpbo.py::test_bounds_and_persistent_states_by_enumeration

    >>> import sepset as ss
    >>> a, b, c = (ss.Discrete(name) for name in "abc")
    >>> pairs = {(a, b): [[0, 1], [1, 0]], (b, c): [[1, 0], [0, 1]], (a, c): [[0, 1], [1, 0]]}
    >>> frustrated = ss.MarkovNet.pairwise_energies({a: [0, 0.5]}, pairs)
    >>> found = ss.map_assignment(frustrated, method=ss.QPBO())
    >>> found.assignment, found.log_value, found.bound
    ({'a': 0, 'b': 0, 'c': 0}, -1.0, -0.25)
    """

    improvements: int = 5

    def __post_init__(self) -> None:
        whole("QPBO(improvements=)", self.improvements, least=0)

    def assign(self, task: AssignmentTask) -> Found:
        """A complete assignment, the bound, and the states that are certain."""
        task.require_all(self)
        task.require_no_checkpoint(self)
        wiring = task.wiring
        n, status = wiring.num_variables, Status.COMPLETED
        with task.limited():
            energy = BinaryEnergy.of(wiring, self)
            whole = roof_dual(energy)
            roof = whole.first(n)
            codes = np.where(roof.labeled, roof.codes, task.first_codes())
            codes = improved(wiring, codes, np.flatnonzero(~roof.labeled))
            try:
                for _ in range(self.improvements if not roof.labeled.all() else 0):
                    codes = self._improved(wiring, energy, codes, roof.labeled, task.rng)
            except OutOfTime:
                status = Status.TIME_LIMIT
        value, bound = wiring.log_value(codes), -roof.least
        certificate = Certificate(
            f"{int(roof.labeled.sum())} states belong to some best assignment, and no value is above {bound:.10g}.",
            "A minimum cut of the graph with two nodes per variable: its half-integral optimum is persistent.",
            verify=partial(_is_same, energy, whole),
        )
        return Found(
            codes[None],
            (value,),
            bound=max(bound, value) if roof.labeled.all() else bound,
            guarantee=Guarantee.EXACT if roof.labeled.all() else Guarantee.HEURISTIC,
            certificate=certificate,
            persistent=roof.labeled,
            status=status,
            info={"decoder": "roof duality", "persistent": int(roof.labeled.sum())},
        )

    def _improved(
        self, wiring: Wiring, energy: BinaryEnergy, codes: Ints, labeled: Bools, rng: np.random.Generator
    ) -> Ints:
        """The assignment after deciding undecided variables given a random half of them."""
        fixed = labeled | (rng.random(len(codes)) < 0.5)
        unary = energy.unary.copy()
        unary[1 - codes[fixed], np.flatnonzero(fixed)] = np.inf
        roof = roof_dual(replace(energy, unary=unary)).first(len(codes))
        found = improved(wiring, np.where(roof.labeled, roof.codes, codes), np.flatnonzero(~labeled))
        return found if wiring.log_value(found) > wiring.log_value(codes) else codes


def roof_dual(energy: BinaryEnergy) -> Roof:
    """The persistent states and the lower bound of an energy, by one cut.

    Nodes $0..n-1$ are on the source's side for state 0, nodes $n..2n-1$ for state 1. A cost of two states is paid if
    both of their nodes are on the source's side, which half the cost from each to the opposite of the other does.
    """
    n, pairs = energy.unary.shape[1], energy.pairs.astype(np.int64)
    rows, columns, halves = [], [], []
    for cell in range(4):
        u, v = divmod(cell, 2)
        used = energy.costs[cell] > 0.0
        first, second = pairs[used, 0], pairs[used, 1]
        rows += [first + n * u, second + n * v]
        columns += [second + n * (1 - v), first + n * (1 - u)]
        halves += [energy.costs[cell, used] / 2.0] * 2
    edges = np.stack([np.concatenate(rows), np.concatenate(columns)], axis=1)
    alone = (energy.unary - least_energies(energy)) / 2.0
    source, sink = np.concatenate([alone[1], alone[0]]), np.concatenate([alone[0], alone[1]])
    forward = np.concatenate(halves)
    cut = FlowGraph(2 * n, edges, forward=forward, backward=0.0, from_source=source, to_sink=sink).min_cut()
    ones, zeros = cut.sink_side[:n], cut.sink_side[n:]
    least = energy.constant + float(least_energies(energy).sum()) + cut.value
    return Roof(least, ones != zeros, ((ones & ~zeros) ^ (energy.flipped & (ones != zeros))).astype(np.int64))


def _is_same(energy: BinaryEnergy, other: Roof) -> bool:
    """Whether the cut, computed again, says the same."""
    one = roof_dual(energy)
    tolerance: float = 1e-9 * max(1.0, abs(other.least))
    agrees = one.least == other.least or abs(one.least - other.least) <= tolerance
    return agrees and bool((one.labeled == other.labeled).all() and (one.codes == other.codes).all())
