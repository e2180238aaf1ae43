"""Strong local maxima: assignments that no change of certain sets of variables improves, and which sets those are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.inference.assignment import Certificate
from sepset.inference.propagation.passing import Beliefs
from sepset.inference.wiring import Wiring
from sepset.variables.variable import VariableLike


def cycles_of(wiring: Wiring, chosen: Bools) -> Ints:
    """The number of independent cycles of each component of the graph that some variables induce.

    Its nodes are the variables and all factors over at least one of them; a factor is linked to those of its variables.

    Reference: Koller & Friedman, definition 13.4.
    Guarantee: exact.
    Tested by: inference/propagation/test_neighborhoods.py::test_subsets_of_a_grid
    """
    from scipy import sparse

    n, inside = wiring.num_variables, chosen[wiring.plugs.scope]
    rows, columns = n + wiring.factors[inside], wiring.plugs.scope[inside]
    size = n + wiring.num_factors
    graph = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    num, labels = sparse.csgraph.connected_components(graph, directed=False)
    used = np.concatenate([chosen, np.bincount(wiring.factors, inside, minlength=wiring.num_factors) > 0])
    nodes, links = np.bincount(labels[used], minlength=num), np.bincount(labels[columns], minlength=num)
    return np.asarray((links - nodes + 1)[nodes > 0])


@dataclass(frozen=True, eq=False)
class StrongLocalMaximum(Certificate):
    """A certificate that no change of certain sets of variables is better: those with at most one cycle per component.

    Attributes:
        beliefs: max-product beliefs at a fixed point; all of them have their maxima at the assignment.

    Reference: Koller & Friedman, theorem 13.7; Weiss & Freeman (2001).
    Guarantee: exact, up to the tolerance of the fixed point.
    Tested by: inference/propagation/test_neighborhoods.py::test_no_covered_change_of_a_grid_is_better
    """

    beliefs: Beliefs = field(kw_only=True, repr=False)

    def covers(self, variables: Iterable[VariableLike]) -> bool:
        """Whether no change of these variables alone, all together or some, improves the assignment."""
        wiring = self.beliefs.wiring
        positions = [wiring.variables.id(v) for v in variables]
        chosen = np.isin(wiring.free, positions)
        return bool((cycles_of(wiring, chosen) <= 1).all())
