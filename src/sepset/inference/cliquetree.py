r"""Clique trees over the factor protocol: two passes of belief updates calibrate every clique.

Each clique starts as the product of its factors. Collecting sends $\delta_{i \to j} = \bigoplus_{C_i - S_{ij}} \beta_i$
towards the root; distributing sends each belief back, divided by what the sepset already carries,

$$\beta_j \leftarrow \beta_j \, \frac{\sigma_{i \to j}}{\mu_{ij}}, \qquad \mu_{ij} \leftarrow \sigma_{i \to j}.$$

The same pass serves tables, Gaussians and conditional linear Gaussians. In the last case the tree is strongly rooted:
the way up is exact, and the way down collapses mixtures to their first two moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepset.errors import NotApplicable
from sepset.evidence import Evidence
from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.graphs import clusters
from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference.elimination import VariableElimination, product
from sepset.inference.method import Answer, Best
from sepset.inference.plan import Plan, interaction_graph
from sepset.inference.reduction import reduced_factors
from sepset.inference.result import Guarantee, Guarantees
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""A calibrated tree: $\prod_i \beta_i / \prod_{ij} \mu_{ij}$ is the distribution it started from.

    Attributes:
        tree: the cliques and their sepsets.
        beliefs: one factor a clique, proportional to its marginal.
        sepset_beliefs: one factor an edge, in the order of `tree.edges`.
        log_partition: the logarithm of the total.
        semiring: what sums meant.
    """

    tree: clusters.CliqueTree
    beliefs: tuple[Factor, ...]
    sepset_beliefs: tuple[Factor, ...]
    log_partition: float
    semiring: Semiring = SUM

    def marginal(self, names: Sequence[str]) -> Any:
        """The normalized marginal over names that one clique covers; None where no clique does."""
        wanted = frozenset(names)
        rows = [self._homes.get(name, frozenset()) for name in names]
        homes = frozenset.intersection(*rows) if rows else range(len(self.beliefs))
        if not homes:
            return None
        home = min(homes, key=lambda i: (self.beliefs[i].size, i))
        return _project(self.beliefs[home], wanted, self.semiring).normalize()

    @cached_property
    def _homes(self) -> dict[str, frozenset[int]]:
        """The cliques that hold each name."""
        found: dict[str, set[int]] = {}
        for i, clique in enumerate(self.tree.clusters):
            for name in clique:
                found.setdefault(name, set()).add(i)
        return {name: frozenset(cliques) for name, cliques in found.items()}


def calibrate(
    tree: clusters.CliqueTree, factors: Sequence[Factor], semiring: Semiring = SUM, root: int | None = None
) -> Calibration:
    """The beliefs of every clique and sepset after collecting to `root` and distributing from it.

    Cost: two projections and two products an edge.
    Reference: Koller & Friedman, algorithms 10.2 and 10.3; sections 13.3 and 14.3.4 for maxima and strong roots.
    """
    beliefs = _initial(tree, factors)
    schedule = tree.schedule(root)
    sepsets: dict[tuple[int, int], Factor] = {}
    for message in schedule:
        edge = (message.source, message.target)
        sepsets[edge] = _project(beliefs[message.source], set(message.sepset), semiring, exact=True)
        beliefs[message.target] = beliefs[message.target] * sepsets[edge]
    log_partition = sum(_total(beliefs[r], semiring) for r in tree.roots(root))
    if log_partition > -np.inf:
        for message in reversed(schedule):
            edge = (message.source, message.target)
            update = _project(beliefs[message.target], set(message.sepset), semiring)
            beliefs[message.source] = beliefs[message.source] * (update / sepsets[edge])
            sepsets[edge] = update
    ordered = tuple(sepsets[(a, b)] if (a, b) in sepsets else sepsets[(b, a)] for a, b in tree.edges)
    return Calibration(tree, tuple(beliefs), ordered, float(log_partition), semiring)


def _initial(tree: clusters.CliqueTree, factors: Sequence[Factor]) -> list[Factor]:
    """The product of the factors assigned to each clique; constants go to the first."""
    assigned: list[list[Factor]] = [[] for _ in range(len(tree))]
    homes = tree.families([[v.name for v in f.scope] for f in factors]) if len(tree) else ()
    for factor, home in zip(factors, homes, strict=False):
        assigned[home].append(factor)
    return [product(group) for group in assigned]


def _project(factor: Factor, keep: Set[str], semiring: Semiring, *, exact: bool = False) -> Factor:
    """The factor over `keep`: continuous variables integrate first; mixtures collapse unless `exact`."""
    out = [v for v in factor.scope if v.name not in keep]
    if not out:
        return factor
    if semiring is SUM and not exact:
        return factor.collapse(out)
    continuous = [v for v in out if not v.is_discrete]
    inner = factor.marginalize(continuous, semiring) if continuous else factor
    return inner.marginalize([v for v in out if v.is_discrete], semiring)


def _total(factor: Factor, semiring: Semiring) -> float:
    return _project(factor, set(), semiring, exact=True).log_total


@dataclass(frozen=True, slots=True)
class CliqueTree:
    """Exact answers from one calibrated clique tree: every marginal for the price of two eliminations.

    Args:
        order: how the elimination order behind the tree is chosen.
        memory: the most bytes one step may need; larger plans are refused before anything is allocated.

    Reference: Koller & Friedman, chapter 10 and section 14.3.
    """

    order: OrderingMethod = field(default_factory=Portfolio)
    memory: int = 8 * 2**30

    def prepare(self, problem: Problem) -> PreparedCliqueTree:
        """The method bound to a problem."""
        return PreparedCliqueTree(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact for discrete and for Gaussian models.

        In a hybrid model marginals of discrete variables are exact, and those of continuous ones are Gaussians with
        the exact mean and covariance of a mixture: the moments are exact, the shape is not.
        """
        promised = dict.fromkeys(("log_partition", "marginals", "moments", "assignment"), Guarantee.EXACT)
        return {**promised, "marginals": Guarantee.HEURISTIC} if _is_hybrid(problem) else promised


def _is_hybrid(problem: Problem) -> bool:
    """Whether continuous variables stand among discrete ones."""
    cards = problem.variables.cards
    return bool((cards == 0).any() and (cards > 0).any())


class PreparedCliqueTree:
    """Clique-tree inference bound to a problem."""

    def __init__(self, problem: Problem, method: CliqueTree) -> None:
        self.problem = problem
        self.method = method
        self._elimination = VariableElimination(method.order, method.memory).prepare(problem)

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibration:
        """The calibrated tree over every unobserved variable."""
        plan = self.plan((), evidence.observed)
        plan.check(self.method.memory)
        graph = interaction_graph(self.problem, plan.relevant)
        tree = clusters.clique_tree(graph, plan.elimination, joined=_is_hybrid(self.problem))
        factors = reduced_factors(self.problem, evidence, plan.relevant.factors)
        mentioned = {v for f in factors for v in f.scope}
        hidden = [self.problem.variables[v] for v in plan.relevant.variables]
        factors += [Table.ones(v) for v in hidden if v not in mentioned and v.is_discrete]  # type: ignore[arg-type]
        calibration = calibrate(tree, factors, semiring, self._root(tree))
        constants = [] if len(tree) else [f.log_total for f in factors]
        return calibration if len(tree) else Calibration(tree, (), (), float(sum(constants)), semiring)

    def _root(self, tree: clusters.CliqueTree) -> int | None:
        """The strong root where there are continuous variables among discrete ones; otherwise any will do."""
        continuous = {v.name for v in self.problem.variables if not v.is_discrete} & set(tree.variables)
        if not continuous or len(continuous) == len(tree.variables):
            return None
        root = clusters.strong_root(tree, continuous)
        if root is None:
            raise NotApplicable("This clique tree has no strong root. Let CliqueTree choose the order itself.")
        return root

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals from one calibration."""
        calibration = self.calibrate(evidence)

        def read(target: int) -> Any:
            variable = self.problem.variables[target]
            found = calibration.marginal([variable.name])
            return found if variable.is_discrete else found.to_distribution([variable])

        return read, calibration.log_partition

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets`, by elimination over the part that is relevant to them."""
        return self._elimination.query(targets, evidence)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        return self._elimination.log_partition(evidence)

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        return self._elimination.best(evidence, over)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Independent draws of every unobserved variable from the posterior."""
        return self._elimination.sample(num_rows, evidence, rng)

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> Plan:
        """What a query would cost; without targets, what the tree over everything does."""
        return self._elimination.plan(targets, observed)
