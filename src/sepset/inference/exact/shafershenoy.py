r"""Shafer-Shenoy message passing: every message is a sum of products, without division.

$$\delta_{i \to j} = \bigoplus_{C_i - S_{ij}} \psi_i \prod_{k \in \mathrm{Nb}_i - \{j\}} \delta_{k \to i}, \qquad
  \beta_i = \psi_i \prod_{k \in \mathrm{Nb}_i} \delta_{k \to i}$$
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sepset.base.lazy import lazy
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.graphs import clusters
from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference.buckets.pool import product
from sepset.inference.exact.messages import homes, initial, is_hybrid, log_total, project, smallest_home
from sepset.inference.exact.tree import PreparedTree
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.method import check_settings
from sepset.inference.result import EVERYTHING_EXACT, Guarantees
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring


class Messages:
    """The messages of a clique tree: those toward the root at once, each downward message when it is first needed.

    Safe to share between threads: a message that two of them need at once is computed twice, with the same result.

    Attributes:
        down: the downward messages so far, by the clique that each goes to.

    Reference: Koller & Friedman, section 10.2, algorithm 10.2; Shenoy and Shafer (1990).

    >>> from sepset.factors.table import Table
    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> factors = [Table(a, [0.4, 0.6]), Table((a, b), [[0.9, 0.1], [0.5, 0.5]])]
    >>> Messages(clusters.ClusterTree([("a", "b")]), factors).marginal(["b"]).values.round(3).tolist()
    [0.66, 0.34]
    """

    def __init__(
        self, tree: clusters.ClusterTree, factors: Sequence[Factor], semiring: Semiring = SUM, root: int | None = None
    ) -> None:
        self.tree = tree
        self.semiring = semiring
        self._potentials = initial(tree, factors)
        self._parent = [-1] * len(tree)
        self._children: list[list[int]] = [[] for _ in range(len(tree))]
        self._sepset: list[frozenset[str]] = [frozenset()] * len(tree)
        self._up: dict[int, Factor] = {}
        self.down: dict[int, Factor] = {}
        for message in tree.schedule(root):
            i, j = message.source, message.target
            self._parent[i], self._sepset[i] = j, frozenset(message.sepset)
            self._up[i] = self._project(product([self._potentials[i], *(self._up[k] for k in self._children[i])]), i)
            self._children[j].append(i)
        tops = [product([self._potentials[r], *(self._up[k] for k in self._children[r])]) for r in tree.roots(root)]
        self.log_partition = float(sum(log_total(top, semiring) for top in tops))

    def _project(self, factor: Factor, clique: int) -> Factor:
        """The factor over the sepset between a clique and its parent."""
        return project(factor, self._sepset[clique], self.semiring, exact=True)

    def belief(self, clique: int) -> Factor:
        """The product of a clique's factors and of all messages it receives."""
        received = [self._up[k] for k in self._children[clique]]
        if self._parent[clique] >= 0:
            received.append(self._from_parent(clique))
        return product([self._potentials[clique], *received])

    @property
    def beliefs(self) -> tuple[Factor, ...]:
        """One factor per clique, proportional to its marginal."""
        return tuple(self.belief(i) for i in range(len(self.tree)))

    @property
    def sepset_beliefs(self) -> tuple[Factor, ...]:
        """One factor per edge, in the order of `tree.edges`: the product of the messages both ways."""
        children = [a if self._parent[a] == b else b for a, b in self.tree.edges]
        return tuple(self._up[child] * self._from_parent(child) for child in children)

    def marginal(self, names: Sequence[str]) -> Any:
        """The normalized marginal over names that one clique covers; None if no clique does."""
        home = smallest_home(self._homes, names, [len(clique) for clique in self.tree.clusters])
        if home is None:
            return None
        return project(self.belief(home), frozenset(names), self.semiring, exact=True).normalize()

    @lazy
    def _homes(self) -> dict[str, frozenset[int]]:
        return homes(self.tree)

    def _from_parent(self, clique: int) -> Factor:
        """The message from its parent to a clique, after computing missing ones on the path from the root."""
        path = []
        while clique not in self.down and self._parent[clique] >= 0:
            path.append(clique)
            clique = self._parent[clique]
        for below in reversed(path):
            self._send_down(self._parent[below])
        return self.down[path[0] if path else clique]

    def _send_down(self, clique: int) -> None:
        """The messages of one clique to all its children."""
        above = [self.down[clique]] if self._parent[clique] >= 0 else []
        base = product([self._potentials[clique], *above])
        children = self._children[clique]
        for child, joint in zip(children, all_but_one(base, [self._up[k] for k in children]), strict=True):
            self.down[child] = self._project(joint, child)


def all_but_one(base: Factor, parts: Sequence[Factor]) -> Iterator[Factor]:
    """For each part the product of `base` and all the others, by halving: n log n products, log n in memory at once."""
    if len(parts) == 1:
        yield base
    elif parts:
        half = len(parts) // 2
        left, right = parts[:half], parts[half:]
        yield from all_but_one(product([base, *right]), left)
        yield from all_but_one(product([base, *left]), right)


@dataclass(frozen=True, slots=True)
class ShaferShenoy:
    """Exact answers from messages without division, each computed when it is first read.

    It keeps messages over sepsets instead of beliefs over cliques, so it takes less memory than `BeliefUpdate` and
    never divides by zero; each belief read costs a product. For discrete or Gaussian models, and networks of both:
    collapsing a mixture of Gaussians in the downward pass of any other hybrid model needs division.

    Args:
        order: how the elimination order behind the tree is chosen.
        memory: the largest number of bytes held at once; a larger plan raises `TooLarge` before anything is allocated.

    Reference: Koller & Friedman, section 10.2; Shenoy and Shafer (1990).
    Guarantee: exact; of hybrid models, only networks of regressions.
    Tested by: inference/exact/test_shafershenoy.py::test_only_the_messages_towards_what_is_read_are_sent

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> round(ss.query(student, "intelligence", given={"grade": "C", "sat": "high"}, method=ShaferShenoy())["high"], 4)
    0.5783
    """

    order: OrderingMethod = field(default_factory=Portfolio)
    memory: int = 8 * 2**30

    def __post_init__(self) -> None:
        check_settings(self.order, self.memory)

    def prepare(self, problem: Problem) -> PreparedTree | RegressionQuestions:
        """The method bound to a problem; raises if potentials of discrete and continuous variables are mixed in it."""
        if is_hybrid(problem):
            found = RegressionQuestions.of(problem, self)
            if found is not None:
                return found
            raise NotApplicable(
                "ShaferShenoy does not divide, and so cannot collapse mixtures of Gaussians in the downward pass; this "
                "model has continuous variables among discrete ones. Use CliqueTree or BeliefUpdate."
            )
        return PreparedTree(problem, self, Messages, share=1.0)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact."""
        return EVERYTHING_EXACT
