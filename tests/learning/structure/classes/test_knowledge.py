"""Members of classes within constraints, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.learning.structure.classes.essential import EssentialGraph
from sepset.learning.structure.classes.knowledge import constrained_graph, permitted, permitted_member
from sepset.learning.structure.constraints import Constraints
from support.enumerated_classes import classes, dag_of, key_of, parents_of

NAMES = ("a", "b", "c", "d")
CONSTRAINTS = [
    Constraints(forbidden=["a -> b", "c -> d"]),
    Constraints(required=["b -> c"], forbidden=["d -> a"]),
    Constraints(tiers=[["a"], ["b", "c"], ["d"]]),
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=repr)
def test_a_member_is_found_exactly_if_there_is_one(constraints: Constraints) -> None:
    allowed = constraints.bind(NAMES)
    for members in classes(4).values():
        matrices = []
        for edges in members:
            matrix = np.zeros((4, 4), np.bool_)
            for x, y in edges:
                matrix[x, y] = True
            matrices.append(matrix)
        within = [m for m in matrices if permitted(m, allowed)]
        graph = EssentialGraph(parents_of(members[0], 4))
        found = permitted_member(graph, matrices[0], allowed)
        assert (found is not None) == bool(within)
        if found is not None:
            assert permitted(found, allowed)
            assert key_of(dag_of(found)) == key_of(members[0])
            shown = constrained_graph(graph.arcs, allowed, NAMES)
            agreed = np.logical_and.reduce(within)
            assert set(shown.directed) == {(NAMES[x], NAMES[y]) for x, y in np.argwhere(agreed)}
