"""Questions are asked once, in either order, and counted."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG
from sepset.learning.structure.independence.boundtest import Names, Outcome, Queries, Separations, strongest_first
from sepset.learning.structure.independence.oracles import Asked, DSeparation


def counted(function=lambda xs, ys, given: True):
    asked = []

    def remembered(xs, ys, given):
        asked.append((xs, ys, given))
        return function(xs, ys, given)

    return Queries(Asked(("a", "b", "c"), remembered), ("a", "b", "c"), 0.05), asked


def test_each_question_is_asked_once():
    queries, asked = counted()
    assert queries.independent(0, 1, (2,))
    assert queries.independent(1, 0, (2,))
    assert queries.num_tests == len(asked) == 1
    queries.answers(0, [1, 2])
    queries.answers(2, [0, 1])
    assert queries.num_tests == len(asked) == 4
    assert len(queries) == 3


def test_questions_are_watched():
    seen = []
    queries = Queries(Asked(("a", "b"), lambda *names: True), ("a", "b"), 0.05, watch=seen.append)
    queries.independent(0, 1)
    queries.independent(0, 1)
    assert seen == [1]


def test_levels_are_checked():
    for level in (0.0, 1.0, -1, "much"):
        with pytest.raises(ArgumentError, match="level"):
            Queries(Asked((), lambda *names: True), (), level)


def test_separating_sets_by_plain_search():
    dag = DAG.parse("a -> b -> c")
    test = DSeparation(dag).bind(Names(("a", "b", "c")))
    adjacent = ~np.eye(3, dtype=bool)
    known = Separations(np.array([True, False, False]))
    assert test.separate(adjacent, 0, 0, 0.05, known) == 2
    assert not known.done[1:].any()
    assert test.separate(adjacent, 0, 1, 0.05, known) == 2
    assert known.done.tolist() == [True, False, True]
    assert known.given[2] == (1,)
    assert test.separate(adjacent, 2, 1, 0.05, Separations(np.array([False, False, True]))) == 0


def test_order_of_strength():
    answers = np.array([[0.2, 3.0], [0.2, 4.0], [0.1, 1.0], [0.2, 4.0]])
    assert strongest_first(answers).tolist() == [2, 1, 3, 0]
    assert Outcome(1.0, 2.0, 0.5).warnings == ()
