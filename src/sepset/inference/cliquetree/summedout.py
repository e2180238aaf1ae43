r"""The best states of some variables with all others summed out: sums by parts, then one maximization.

$$\max_{\mathbf y} \sum_{\mathbf w} \prod_i \phi_i =
\max_{\mathbf y} \prod_{i:\, D_i \subseteq \mathbf Y} \phi_i \prod_C \psi_C(\mathbf y_{B_C}), \qquad
\psi_C = \sum_{\mathbf w_C} \prod_{i:\, D_i \cap \mathbf W_C \ne \emptyset} \phi_i$$

The variables to be summed fall into parts $\mathbf W_C$ that no factor connects. Whatever the order in which a part is
eliminated, it leaves one table over its boundary $\mathbf B_C$, the variables to be maximized that share a factor with
it; and that table is a joint, which compiled questions answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import TooLarge
from sepset.factors.table import Table
from sepset.graphs.csr import components, csr
from sepset.inference import costs
from sepset.inference.method import Best
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

if TYPE_CHECKING:
    from sepset.inference.cliquetree.tables import PreparedTables
    from sepset.variables.variable import Discrete

Prepare = Callable[[Problem], "PreparedTables"]


class Part(NamedTuple):
    """Some factors of a problem, as one of their own.

    Attributes:
        prepared: the factors, prepared.
        place: for each position in the whole problem its own.
        outer: the positions in the whole problem of the variables to be maximized.
    """

    prepared: PreparedTables
    place: Mapping[int, int]
    outer: tuple[int, ...]

    def evidence(self, given: Evidence, weighted: Iterable[int]) -> Evidence:
        """The evidence about its variables: observed states, and the likelihoods of some of them."""
        codes = {self.place[v]: code for v, code in given.codes.items() if v in self.place}
        weights = {self.place[v]: given.weights[v] for v in weighted if v in self.place}
        return Evidence(codes, weights)

    def memory(self, problem: Problem, observed: Iterable[int]) -> float:
        """The bytes of its sum: of the plan, and of the table that is kept, given away and maximized."""
        table = 8.0 * math.prod(float(problem.variables.cards[v]) for v in self.outer)
        if table > costs.BYTES_SUMMED_OUT:
            return math.inf
        known = [self.place[v] for v in observed if v in self.place]
        return self.prepared.plan([self.place[v] for v in self.outer], known).memory + 3.0 * table


class SummedOut(NamedTuple):
    """A problem with the variables that are not maximized summed out.

    Attributes:
        sums: a part for each table that replaces the factors of connected hidden variables.
        rest: the tables, and the other factors.
        tables: for each of the sums the number of its table among the factors of the rest; -1 for constants.

    Reference: Park & Darwiche (2004); Koller & Friedman, section 13.2.3.
    Guarantee: exact.
    Tested by: inference/cliquetree/test_summedout.py::test_sums_and_maxima_are_those_of_enumeration
    """

    sums: tuple[Part, ...]
    rest: Part
    tables: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem, over: Sequence[int], evidence: Evidence, prepare: Prepare, limit: float) -> Self:
        """The parts for these variables to be maximized, and these with evidence; without any values of it.

        Raises `TooLarge` if their tables and plans need more than `limit` bytes.
        """
        chosen, observed = set(over), evidence.observed
        touched = sorted(set(evidence.weights).difference(chosen))
        relevant = problem.relevant(over, observed, touched=touched, constants=True)
        hidden = set(relevant.variables).difference(chosen)
        scopes = {number: problem.scope(number) for number in relevant.factors}
        parts = _connected(sorted(hidden), ([v for v in scope if v in hidden] for scope in scopes.values()))
        owner = {v: number for number, part in enumerate(parts) for v in part}
        inside: list[list[int]] = [[] for _ in parts]
        left: list[int] = []
        for number, scope in scopes.items():
            home = next((owner[v] for v in scope if v in owner), None)
            (left if home is None else inside[home]).append(number)
        sums = tuple(
            _part(problem, numbers, [scopes[n] for n in numbers], part, chosen, prepare)
            for part, numbers in zip(parts, inside, strict=True)
        )
        if sum(part.memory(problem, observed) for part in sums) > limit:
            raise TooLarge("The sums over the parts need more memory than one elimination.")
        bounded = [part for part in sums if part.outer]
        rest = _part(problem, left, [scopes[n] for n in left], chosen, chosen, prepare, [p.outer for p in bounded])
        places = iter(range(len(left), len(left) + len(bounded)))
        return cls(sums, rest, tuple(next(places) if part.outer else -1 for part in sums))

    def best(self, evidence: Evidence) -> Best | None:
        """The best states; None if a sum has a wider range, or more axes, than arrays of floats."""
        total, values = 0.0, dict[int, Floats]()
        for part, number in zip(self.sums, self.tables, strict=True):
            found = part.evidence(evidence, set(evidence.weights).difference(part.outer))
            joint, log_partition = part.prepared.query([part.place[v] for v in part.outer], found)[:2]
            total += log_partition
            if log_partition == -np.inf:
                return Best({}, -np.inf)
            if number >= 0:
                values[number] = np.asarray(joint.values)
                if joint.space == "log" or values[number].ndim != len(part.outer):
                    return None
        prepared = self.rest.prepared.with_values(values) if values else self.rest.prepared
        best = prepared.best_of_all(self.rest.evidence(evidence, evidence.weights))
        if best.log_value == -np.inf:
            return Best({}, -np.inf)
        own = self.rest.place
        return Best({v: best.values.get(own[v], 0) for v in self.rest.outer}, best.log_value + total)


def _connected(nodes: Sequence[int], groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """The nodes in parts that the groups connect, each in order, the parts by their first node."""
    place = {v: i for i, v in enumerate(nodes)}
    pairs = [(place[group[0]], place[v]) for group in groups for v in group[1:]]
    ends = np.array([*pairs, *((b, a) for a, b in pairs)], np.int64).reshape(-1, 2)
    return [[nodes[i] for i in part] for part in components(csr(ends[:, 0], ends[:, 1], len(nodes)))]


def _part(
    problem: Problem,
    numbers: Sequence[int],
    scopes: Sequence[tuple[int, ...]],
    own: Iterable[int],
    chosen: set[int],
    prepare: Prepare,
    tables: Sequence[tuple[int, ...]] = (),
) -> Part:
    """Some factors of a problem, with variables of their own and tables over others that are still to come."""
    members = sorted({*own, *(v for scope in scopes for v in scope), *(v for scope in tables for v in scope)})
    place = {v: i for i, v in enumerate(members)}
    variables = Universe([problem.variables[v] for v in members])
    later = (Table.ones(cast("list[Discrete]", [variables[place[v]] for v in scope])) for scope in tables)
    factors = [*problem.factors(numbers), *later]
    made = Problem.of_factors(variables, factors, scopes=[[place[v] for v in scope] for scope in (*scopes, *tables)])
    return Part(prepare(made), place, tuple(v for v in members if v in chosen))
