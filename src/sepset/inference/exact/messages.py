r"""Message passing over a clique tree of factors of any family: parts shared with and without division.

Each clique starts as the product of its factors. Collecting sends $\delta_{i \to j} = \bigoplus_{C_i - S_{ij}} \beta_i$
toward the root; distributing sends each belief back, divided by the message already in the sepset,

$$\beta_j \leftarrow \beta_j \, \frac{\sigma_{i \to j}}{\mu_{ij}}, \qquad \mu_{ij} \leftarrow \sigma_{i \to j}.$$

The same passes serve tables, Gaussians and conditional linear Gaussians. In the last case the tree is strongly rooted:
the upward pass is exact, and the downward pass collapses mixtures to their first two moments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.lazy import lazy
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.graphs import clusters
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.pool import product
from sepset.inference.method import Calibrated
from sepset.inference.plan import EliminationPlan, interaction_graph
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence

Pass = Callable[[clusters.ClusterTree, Sequence[Factor], Semiring, int | None], Calibrated]
"""From a tree, its factors, a semiring and a root to a calibrated tree."""


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""A calibrated tree: $\prod_i \beta_i / \prod_{ij} \mu_{ij}$ is the distribution it started from.

    Attributes:
        tree: the cliques and their sepsets.
        beliefs: one factor per clique, proportional to its marginal.
        sepset_beliefs: one factor per edge, in the order of `tree.edges`.
        log_partition: the logarithm of the total.
        semiring: the semiring of the messages.
    """

    tree: clusters.ClusterTree
    beliefs: tuple[Factor, ...]
    sepset_beliefs: tuple[Factor, ...]
    log_partition: float
    semiring: Semiring = SUM

    def marginal(self, names: Sequence[str]) -> Any:
        """The normalized marginal over names that one clique covers; None if no clique does."""
        home = smallest_home(self._homes, names, [belief.size for belief in self.beliefs])
        if home is None:
            return None
        return project(self.beliefs[home], frozenset(names), self.semiring).normalize()

    @lazy
    def _homes(self) -> dict[str, frozenset[int]]:
        return homes(self.tree)


def calibrate(
    tree: clusters.ClusterTree, factors: Sequence[Factor], semiring: Semiring = SUM, root: int | None = None
) -> Calibration:
    """The beliefs of every clique and sepset after collecting to `root` and distributing from it.

    Cost: two projections and two products per edge.
    Reference: Koller & Friedman, algorithms 10.2 and 10.3; sections 13.3 and 14.3.4 for maxima and strong roots.
    Guarantee: exact.
    Tested by: inference/exact/test_tree.py::test_beliefs_are_marginals_and_neighbors_agree
    """
    beliefs = initial(tree, factors)
    schedule = tree.schedule(root)
    sepsets: dict[tuple[int, int], Factor] = {}
    for message in schedule:
        edge = (message.source, message.target)
        sepsets[edge] = project(beliefs[message.source], set(message.sepset), semiring, exact=True)
        beliefs[message.target] = beliefs[message.target] * sepsets[edge]
    log_partition = sum(log_total(beliefs[r], semiring) for r in tree.roots(root))
    if log_partition > -np.inf:
        for message in reversed(schedule):
            edge = (message.source, message.target)
            update = project(beliefs[message.target], set(message.sepset), semiring)
            beliefs[message.source] = beliefs[message.source] * (update / sepsets[edge])
            sepsets[edge] = update
    ordered = tuple(sepsets[(a, b)] if (a, b) in sepsets else sepsets[(b, a)] for a, b in tree.edges)
    return Calibration(tree, tuple(beliefs), ordered, float(log_partition), semiring)


def homes(tree: clusters.ClusterTree) -> dict[str, frozenset[int]]:
    """The cliques that hold each name."""
    found: dict[str, set[int]] = {}
    for i, clique in enumerate(tree.clusters):
        for name in clique:
            found.setdefault(name, set()).add(i)
    return {name: frozenset(cliques) for name, cliques in found.items()}


def smallest_home(where: Mapping[str, frozenset[int]], names: Sequence[str], sizes: Sequence[int]) -> int | None:
    """The clique of least size that covers all names, or None."""
    rows = [where.get(name, frozenset()) for name in names]
    covering = frozenset.intersection(*rows) if rows else range(len(sizes))
    return min(covering, key=lambda i: (sizes[i], i), default=None)


def initial(tree: clusters.ClusterTree, factors: Sequence[Factor]) -> list[Factor]:
    """The product of the factors assigned to each clique; constants go to the first."""
    return [product(group) for group in assigned(tree, factors)]


def assigned(tree: clusters.ClusterTree, factors: Sequence[Factor]) -> list[list[Factor]]:
    """The factors of each clique: each in the smallest one that holds it."""
    groups: list[list[Factor]] = [[] for _ in range(len(tree))]
    chosen = tree.families([[v.name for v in f.scope] for f in factors]) if len(tree) else ()
    for factor, home in zip(factors, chosen, strict=False):
        groups[home].append(factor)
    return groups


def project(factor: Factor, keep: Set[str], semiring: Semiring, *, exact: bool = False) -> Factor:
    """The factor over `keep`: continuous variables integrate first; mixtures collapse unless `exact`."""
    out = [v for v in factor.scope if v.name not in keep]
    if not out:
        return factor
    if semiring is SUM and not exact:
        return factor.collapse(out)
    continuous = [v for v in out if not v.is_discrete]
    inner = factor.marginalize(continuous, semiring) if continuous else factor
    return inner.marginalize([v for v in out if v.is_discrete], semiring)


def log_total(factor: Factor, semiring: Semiring) -> float:
    """The logarithm of the factor with its whole scope summed (or maximized) out."""
    return project(factor, set(), semiring, exact=True).log_total


def is_hybrid(problem: Problem) -> bool:
    """Whether the problem has both continuous and discrete variables."""
    return not problem.variables.all_discrete and bool((problem.variables.cards > 0).any())


def plan_tree(
    problem: Problem, plan: EliminationPlan, together: Sequence[int] = ()
) -> tuple[clusters.ClusterTree, int | None]:
    """The clique tree of a plan's order, and its strong root if the problem is hybrid."""
    graph = interaction_graph(problem, plan.relevant, together)
    tree = clusters.tree_decomposition(graph, plan.elimination, joined=is_hybrid(problem))
    continuous = {v.name for v in problem.variables if not v.is_discrete} & set(tree.variables)
    if not continuous or len(continuous) == len(tree.variables):
        return tree, None
    root = clusters.strong_root(tree, continuous)
    if root is None:
        raise NotApplicable("This clique tree has no strong root. Let CliqueTree choose the order itself.")
    return tree, root


def tree_factors(problem: Problem, plan: EliminationPlan, evidence: Evidence) -> list[Factor]:
    """The plan's factors at the evidence, with a uniform table for each discrete variable in no scope."""
    factors = reduced_factors(problem, evidence, plan.relevant.factors)
    mentioned = {v for f in factors for v in f.scope}
    hidden = [problem.variables[v] for v in plan.relevant.variables]
    return factors + [Table.ones(v) for v in hidden if v not in mentioned and v.is_discrete]  # type: ignore[arg-type]
