r"""Exact posteriors over all DAGs by sums over subsets of columns: uniform over orders, or over DAGs.

$$a_v(S) = \sum_{\mathbf U \subseteq S} \exp F(v \mid \mathbf U)$$
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import whole
from sepset.base.text import readable
from sepset.base.threads import interruptible, require_time, shares, together
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.result import Guarantee
from sepset.kernels.structure import subsets
from sepset.kernels.structure.chains import log_extensions
from sepset.learning.structure import costs
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult, as_edges
from sepset.learning.structure.ending import all_or_nothing
from sepset.learning.structure.exact.dynamic import check_size, needs
from sepset.learning.structure.exact.families import check_columns, dense_families
from sepset.learning.structure.exact.scoretable import including, without
from sepset.learning.structure.learned import StructureTask

MOST_DAG_COLUMNS = 17
"""The most columns of `TianHe`: the work grows as three to their number."""

MOST_PATH_COLUMNS = {"orders": 12, "dags": 9}
"""The most columns whose paths are summed exactly: the work grows as three, or five, to their number."""


@dataclass(frozen=True, slots=True)
class KoivistoSood:
    r"""The posterior in which all orders of the columns are equally probable a priori, exactly.

    $$P(\mathcal D) = \frac{1}{n!} \sum_{\prec} \prod_v a_v(\{u \prec v\}), \qquad
      f(S) = \sum_{v \in S} f(S - v) \, a_v(S - v)$$

    A DAG counts once for each of its topological orders: even without data $P(X \to Y) = 1/4$. `TianHe` counts each DAG
    once.

    Args:
        num_graphs: how many DAGs are drawn for `graphs`, `predict` and features that are functions.

    Cost: $O(n^2 2^n)$ time, $O(n 2^n)$ memory; paths $O(n^2 3^n)$, exact for up to 12 columns.
    Reference: Koivisto & Sood (2004); Parviainen & Koivisto (2011) for paths; Koller & Friedman, section 18.5.2.
    Guarantee: exact edges and paths.
    Tested by: learning/structure/averaging/test_exactsums.py::test_orders_against_enumeration
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    num_graphs: int = 1000

    def __post_init__(self) -> None:
        whole("KoivistoSood(num_graphs=)", self.num_graphs)

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose orders can be summed."""
        check_columns(num_columns)

    @all_or_nothing
    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior."""
        made = _Sums.of(task)
        forward, backward = made.over_orders()
        with np.errstate(invalid="ignore"):
            shares = np.stack(
                [
                    forward[made.masks[v]] + made.sums[v] + backward[made.masks[v] | 1 << v] - forward[-1]
                    for v in range(made.n)
                ]
            )
        logs = sum(np.log(np.arange(1, made.n + 1)))
        graphs, _ = made.draws(forward, self.num_graphs, task.rng)
        return made.posterior(
            self, task, shares, float(forward[-1] - logs), graphs, np.zeros(len(graphs)), partial(made.paths, "orders")
        )


@dataclass(frozen=True, slots=True)
class TianHe:
    r"""The posterior in which all DAGs are equally probable a priori, exactly.

    DAGs are counted by their sets of sinks, with inclusion and exclusion:

    $$r(S) = \sum_{\emptyset \ne K \subseteq S} (-1)^{|K| + 1} r(S - K) \prod_{v \in K} a_v(S - K)$$

    and the probability of each parent set is a derivative of $\log r$, computed in reverse.

    Args:
        num_graphs: how many DAGs are drawn for `graphs`, `predict` and features that are functions. They are drawn by
            orders, and weighted by one over their number of topological orders.

    Cost: $O(n 3^n)$, for up to 17 columns; paths $O(n 5^n)$, exact for up to 9.
    Reference: Tian & He (2009); He, Tian & Wu (2016); Chen, Meng & Tian (2015) for paths.
    Guarantee: exact edges and paths.
    Tested by: learning/structure/averaging/test_exactsums.py::test_dags_against_enumeration
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    num_graphs: int = 1000

    def __post_init__(self) -> None:
        whole("TianHe(num_graphs=)", self.num_graphs)

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose DAGs can be summed."""
        check_columns(num_columns)
        n = num_columns
        if n > MOST_DAG_COLUMNS:
            raise TooLarge(
                f"TianHe() sums over pairs of subsets of {n} columns, which takes about {readable(needs(n)[0])} and "
                f"{costs.SECONDS_PER_PAIR * n * 3.0**n:.2g} s; the most is {MOST_DAG_COLUMNS} columns. "
                "Use PartitionMCMC(), or KoivistoSood() for orders."
            )

    @all_or_nothing
    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior."""
        n = len(task.columns)
        self.check_columns(n)
        made = _Sums.of(task)
        scale = made.scale()
        totals, slopes = np.zeros(1 << n), np.zeros_like(made.sums)
        interruptible(lambda cancel: subsets.dag_sums(made.sums, scale, totals, cancel))
        interruptible(lambda cancel: subsets.dag_derivatives(made.sums, scale, totals, slopes, cancel))
        with np.errstate(divide="ignore"):
            shares = np.log(np.maximum(slopes, 0.0))
        graphs, logs = made.draws(made.over_orders()[0], self.num_graphs, task.rng)
        evidence = float(np.log(totals[-1]) + scale[-1])
        return made.posterior(self, task, shares, evidence, graphs, -logs, partial(made.paths, "dags"))


@dataclass(frozen=True)
class _Sums:
    """The scores of all parent sets, by their numbers, and their log sums over subsets."""

    scores: Floats
    sums: Floats
    masks: tuple[Ints, ...]
    threads: int

    @classmethod
    def of(cls, task: StructureTask) -> _Sums:
        n = len(task.columns)
        check_columns(n)
        check_size(n, 2.0**32, "Use OrderMCMC(), which converges to the same probabilities, or fewer columns.")
        scores = dense_families(task.scorer, task.allowed)
        sums = scores.copy()
        threads = task.scorer.threads
        together([partial(subsets.sum_subsets, sums[of]) for of in shares(n, threads)], threads)
        numbers = np.arange(scores.shape[1], dtype=np.int64)
        return cls(scores, sums, tuple(including(numbers, v) for v in range(n)), threads)

    @property
    def n(self) -> int:
        return len(self.scores)

    def over_orders(self) -> tuple[Floats, Floats]:
        forward, backward = np.full(1 << self.n, -np.inf), np.full(1 << self.n, -np.inf)
        interruptible(lambda cancel: subsets.order_sums(self.sums, forward, backward, cancel))
        if forward[-1] == -np.inf:
            raise NotApplicable("The constraints allow no DAG.")
        return forward, backward

    def scale(self) -> Floats:
        """The best score of a DAG over every subset, relative to which sums are kept."""
        best, totals, sinks = self.scores.copy(), np.empty(1 << self.n), np.zeros(1 << self.n, np.uint8)
        together([partial(subsets.best_subsets, best[of]) for of in shares(self.n, self.threads)], self.threads)
        interruptible(lambda cancel: subsets.best_sinks(best, totals, sinks, cancel))
        if totals[-1] == -np.inf:
            raise NotApplicable("The constraints allow no DAG.")
        return np.where(totals == -np.inf, 0.0, totals)

    def edges(self, shares: Floats) -> Floats:
        """The probability of each edge, given the log probability that exactly S is before v.

        A parent set U of v has the probability exp F(v | U) times the sum over S containing U of share(S) / a(S).
        """
        found = np.zeros((self.n, self.n))
        for v in range(self.n):
            with np.errstate(invalid="ignore"):
                above = np.where(shares[v] == -np.inf, -np.inf, shares[v] - self.sums[v])[None].copy()
            interruptible(lambda cancel, above=above: subsets.sum_supersets(above, cancel))  # type: ignore[misc]
            probability = np.exp(self.scores[v] + above[0])
            for u in range(self.n):
                if u != v:
                    found[u, v] = probability[self.masks[v] >> u & 1 == 1].sum()
        return found

    def draws(self, forward: Floats, count: int, rng: np.random.Generator) -> tuple[Bytes, Floats]:
        """DAGs drawn by orders, and the logarithms of their numbers of topological orders."""
        parents = np.zeros((count, self.n), np.int64)
        for row in parents:
            require_time()
            left = (1 << self.n) - 1
            while left:
                members = [v for v in range(self.n) if left >> v & 1]
                steps = [forward[left ^ 1 << v] + self.sums[v, without(left ^ 1 << v, v)] for v in members]
                v = members[_drawn(np.array(steps), rng)]
                left ^= 1 << v
                inside = _subsets(left)
                row[v] = inside[_drawn(self.scores[v, without(inside, v)], rng)]
        logs = np.array([log_extensions(row) for row in parents])
        return as_edges(parents, self.n), logs

    def posterior(
        self,
        method: object,
        task: StructureTask,
        shares: Floats,
        evidence: float,
        graphs: Bytes,
        logs: Floats,
        paths_of: Callable[[], Floats],
    ) -> StructurePosteriorResult:
        weights = np.exp(logs - logs.max(initial=-np.inf)) if len(logs) else logs
        limit = MOST_PATH_COLUMNS["orders" if isinstance(method, KoivistoSood) else "dags"]
        exact_paths = self.n <= limit
        return StructurePosteriorResult(
            task.columns,
            self.edges(shares),
            parents=graphs,
            weights=weights / weights.sum() if len(logs) else weights,
            log_evidence=evidence,
            method=method,
            task=task,
            paths_of=paths_of if exact_paths else None,
            guarantees={"edges": Guarantee.EXACT, "paths": Guarantee.EXACT if exact_paths else Guarantee.ESTIMATE},
        )

    def paths(self, kind: str) -> Floats:
        """The probability of a directed path from each column to each other one."""
        found = np.empty((self.n, self.n))
        masks = np.arange(1 << self.n)
        scale = self.scale() if kind == "dags" else np.zeros(0)
        for source in range(self.n):
            sums = np.empty(1 << self.n)
            if kind == "dags":
                interruptible(lambda c, s=source, o=sums: subsets.dag_descendants(self.sums, scale, s, o, c))  # type: ignore[misc]
            else:
                interruptible(lambda c, s=source, o=sums: subsets.order_descendants(self.sums, s, o, c))  # type: ignore[misc]
                sums = np.exp(sums - sums.max())
            found[source] = [sums[masks >> v & 1 == 1].sum() / sums.sum() for v in range(self.n)]
        return found


def _drawn(logs: Floats, rng: np.random.Generator) -> int:
    shares = np.exp(logs - logs.max())
    return int(np.searchsorted(np.cumsum(shares), rng.random() * shares.sum(), side="right").clip(max=len(logs) - 1))


def _subsets(mask: int) -> Ints:
    """All subsets of a mask, in order."""
    found = np.zeros(1, np.int64)
    for i in range(mask.bit_length()):
        if mask >> i & 1:
            found = np.concatenate([found, found | 1 << i])
    return found
