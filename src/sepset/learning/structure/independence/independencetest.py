"""The question whether variables are independent in some rows, and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from sepset.base.checks import fraction
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import described, listing, nearest
from sepset.data.sources import Weights
from sepset.errors import ArgumentError, ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.graphs.base import Nodes, each, name_of
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.learning.structure.columns import Columns, Missing
from sepset.learning.structure.independence.boundtest import AnyTest, Group, Names, check_test
from sepset.learning.structure.independence.discrete import G_TEST


@dataclass(frozen=True, repr=False)
class IndependenceTestResult(Assessment):
    r"""Whether two sets of variables are independent given a third, and how sure rows make us of it.

    Attributes:
        between: the two sets.
        given: the conditioning set.
        statistic: how far the rows are from independence.
        degrees_of_freedom: of the statistic's distribution under independence; NaN if it has none.
        p_value: the probability of a statistic at least as large if they are independent. Of true independences a share
            of `level` is rejected; nothing is said about dependences that are not found.
        level: independence is rejected if the p-value is at most this.
        num_rows: the (weighted) rows that were used.
        warnings: what makes the p-value doubtful, such as cells with few rows.
        method: the test.
        guarantees: of the p-value: EXACT of exact tests and of graphs, else an ESTIMATE (asymptotic, or from draws).
    """

    between: tuple[tuple[str, ...], tuple[str, ...]]
    given: tuple[str, ...]
    _: KW_ONLY
    statistic: float
    degrees_of_freedom: float
    p_value: float
    level: float
    num_rows: float
    warnings: tuple[str, ...] = field(default=())

    @property
    def is_independent(self) -> bool:
        """Whether independence is not rejected."""
        return self.p_value > self.level

    @property
    def _said(self) -> tuple[str, str]:
        """The independence, and whether it is rejected."""
        left, right = (", ".join(names) for names in self.between)
        given = f" | {', '.join(self.given)}" if self.given else ""
        return f"{left} ⊥ {right}{given}", "not rejected" if self.is_independent else "rejected"

    def __repr__(self) -> str:
        independence, said = self._said
        return f"IndependenceTestResult({independence}; p = {self.p_value:.4g}, {said} at level {self.level:g})"

    def _shown(self) -> Shown:
        independence, said = self._said
        numbers = (f"{self.statistic:.5g}", f"{self.degrees_of_freedom:g}", f"{self.p_value:.4g}")
        notes = [f"{said} at level {self.level:g} by {described(self.method)}", *self.warnings]
        head = ("independence", "statistic", "degrees", "p")
        return Shown(head, [(independence, *numbers)], "\n".join(notes))


@translated
def independence_test(
    data: object,
    *,
    between: Sequence[Nodes],
    given: Nodes = (),
    test: AnyTest = G_TEST,
    level: float = 0.05,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    missing: Missing = "refuse",
) -> IndependenceTestResult:
    r"""The test of whether two variables, or two sets of them, are independent given others: $(X \perp Y \mid Z)$.

    Args:
        data: any frame, or None for a test that asks no rows; only the columns of the question are read.
        between: the two variables or sets.
        given: the conditioning set.
        test: `G`, `Pearson`, `ExactTest`, `Permutation`, `ShrunkenInformation` for states, `FisherZ` for numbers,
            `ConditionalGaussianTest` for both, or an oracle.
        level: independence is rejected if the p-value is at most this.
        weights: one per row, or the name of a column; they count as copies.
        variables: the meaning of some columns.
        missing: "refuse" missing cells, or "available": the rows in which all columns of the question are observed.

    Reference: Koller & Friedman, section 18.2.2.
    Guarantee: as the test says.
    Tested by: learning/structure/independence/test_independencetest.py::test_the_answer_does_not_depend_on_the_order

    >>> rows = {"x": [0, 0, 1, 1] * 10, "y": [0, 0, 1, 0] * 10, "z": [0, 1] * 20}
    >>> found = independence_test(rows, between=("x", "y"), given="z")
    >>> found.is_independent, found.degrees_of_freedom
    (False, 1.0)
    """
    check_test(test)
    fraction("level", level)
    xs, ys, zs = _groups(between, given)
    if data is None and not test.needs_rows:
        columns: Any = Names((*xs, *ys, *zs))
    elif data is None:
        raise ArgumentError(f"{type(test).__name__} is a test of rows; found no data.")
    else:
        columns = Columns.of(data, weights=weights, variables=variables, missing=missing, only=(*xs, *ys, *zs))
    found = test.bind(columns).outcome(*(_numbers(columns.names, names) for names in (xs, ys, zs)))
    return IndependenceTestResult(
        (xs, ys),
        zs,
        statistic=found.statistic,
        degrees_of_freedom=found.degrees,
        p_value=found.p_value,
        level=level,
        num_rows=found.num_rows,
        method=test,
        guarantees={"p_value": Guarantee.EXACT if found.is_exact else Guarantee.ESTIMATE},
        warnings=found.warnings,
    )


def _groups(between: Sequence[Nodes], given: Nodes) -> list[tuple[str, ...]]:
    """The names of the three sets, which are disjoint."""
    if isinstance(between, str) or len(between) != 2:
        raise ArgumentError(f"between= is two variables or two sets of them; found {between!r}.")
    groups = [tuple(dict.fromkeys(map(name_of, each(group)))) for group in (*between, given)]
    if not groups[0] or not groups[1]:
        raise ArgumentError("between= is two variables or two sets of them; found an empty set.")
    names = [name for group in groups for name in group]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ScopeError(f"The sets of an independence are disjoint; {listing(twice)} is in two of them.")
    return groups


def _numbers(known: Sequence[str], names: Iterable[str]) -> Group:
    place = {name: i for i, name in enumerate(known)}
    for name in names:
        if name not in place:
            raise ScopeError(f"Unknown column {name!r}; the columns are {listing(known)}.{nearest(name, known)}")
    return tuple(place[name] for name in names)
