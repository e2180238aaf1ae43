"""Oracles: answers about independence that need no rows, right or with chosen mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sepset.base.text import listing, nearest, settings
from sepset.errors import ArgumentError, ScopeError
from sepset.graphs.graph import Graph
from sepset.graphs.kinds import directed
from sepset.graphs.separation import d_separated
from sepset.learning.structure.independence.boundtest import AnyTest, BoundTest, Group, Outcome

Answer = bool | float
"""Whether variables are independent, or a p-value."""


@dataclass(frozen=True)
class DSeparation:
    """An oracle that reads independences from a graph by d-separation; its other nodes are latent variables.

    Reference: Koller & Friedman, section 18.2.1.
    Guarantee: exact.
    Tested by: learning/structure/independence/test_oracles.py::test_d_separation_is_separation_in_the_moral_graph

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> oracle = DSeparation(DAG.parse("A -> B <- C"))
    >>> independence_test(None, between=("A", "C"), given="B", test=oracle).is_independent
    False
    """

    dag: Graph
    needs_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        directed(self.dag, "DSeparation")

    def bind(self, columns: Any) -> BoundTest:
        """The oracle for these columns, which are nodes of the graph."""
        for name in columns.names:
            if name not in self.dag:
                known = self.dag.nodes
                raise ScopeError(f"Column {name!r} is not a node of the graph {listing(known)}.{nearest(name, known)}")
        return Asked(columns.names, lambda xs, ys, given: d_separated(self.dag, xs, ys, given=given), is_exact=True)


@dataclass(frozen=True)
class Callback:
    """An oracle that calls a function with the names `(xs, ys, given)`, each a tuple.

    Args:
        function: says whether they are independent, as a truth value or as a p-value.

    Reference: Koller & Friedman, section 18.2.1.
    Guarantee: as the function's.
    Tested by: learning/structure/independence/test_oracles.py::test_functions_are_asked_by_name

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> expert = Callback(lambda xs, ys, given: "season" in given)
    >>> independence_test(None, between=("rain", "sprinkler"), given="season", test=expert).is_independent
    True
    """

    function: Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], Answer]
    needs_rows: ClassVar[bool] = False

    def __repr__(self) -> str:
        return settings(self)

    def bind(self, columns: Any) -> BoundTest:
        """The oracle for columns of these names."""
        return Asked(columns.names, self.function)


class Asked(BoundTest):
    """A function of names as a test by numbers; true is the p-value one, and false zero."""

    def __init__(self, names: Sequence[str], function: Callable[..., Answer], *, is_exact: bool = False) -> None:
        self.names, self.function, self.is_exact = tuple(names), function, is_exact

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        """The function's answer."""
        said = self.function(*(tuple(self.names[i] for i in group) for group in (xs, ys, given)))
        p_value = float(said)
        if not 0.0 <= p_value <= 1.0:
            raise ArgumentError(f"An oracle says True, False, or a p-value from 0 to 1; found {said!r}.")
        return Outcome(1.0 - p_value, float("nan"), p_value, is_exact=self.is_exact)


Question = tuple[str, str, Iterable[str]]


@dataclass(frozen=True)
class FaultyOracle:
    """A test with chosen mistakes: the answers to some questions are turned around.

    Args:
        test: the test that is asked.
        flipped: questions `(x, y, given)` about single variables, in either order.

    Reference: Koller & Friedman, exercise 18.4.
    Guarantee: exact but for the chosen questions.
    Tested by: learning/structure/independence/test_oracles.py::test_one_mistake_spreads

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> wrong = FaultyOracle(DSeparation(DAG.parse("A -> B")), [("B", "A", ())])
    >>> independence_test(None, between=("A", "B"), test=wrong).is_independent
    True
    """

    test: AnyTest
    flipped: Sequence[Question]

    @property
    def needs_rows(self) -> bool:
        """Whether the test needs them."""
        return self.test.needs_rows

    def bind(self, columns: Any) -> BoundTest:
        """The test with its mistakes."""
        place = {name: i for i, name in enumerate(columns.names)}
        keys = [(frozenset((x, y)), frozenset(given)) for x, y, given in self.flipped]
        known = [(a, b) for a, b in keys if a | b <= place.keys()]
        numbered = {(frozenset(map(place.__getitem__, a)), frozenset(map(place.__getitem__, b))) for a, b in known}
        return _Faulty(self.test.bind(columns), numbered)


class _Faulty(BoundTest):
    def __init__(self, test: BoundTest, flipped: set[tuple[frozenset[int], frozenset[int]]]) -> None:
        self.test, self.flipped = test, flipped

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        found = self.test.outcome(xs, ys, given)
        if (frozenset((*xs, *ys)), frozenset(given)) not in self.flipped:
            return found
        return found._replace(statistic=-found.statistic, p_value=1.0 - found.p_value, is_exact=False)
