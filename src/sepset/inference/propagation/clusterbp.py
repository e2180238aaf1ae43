"""Belief propagation on cluster graphs: messages over several variables, from the Bethe graph up to a clique tree."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sepset.base.checks import whole
from sepset.base.threads import require_time
from sepset.errors import ArgumentError
from sepset.graphs.clusters import ClusterGraph
from sepset.graphs.csr import pairs_within_rows
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import MinFill, elimination_order
from sepset.graphs.regions import join_graph
from sepset.inference.assignment import AssignmentTask, Found, best_of
from sepset.inference.iterate import Until, as_until, run
from sepset.inference.map.coordinates import improved
from sepset.inference.propagation.clusterpassing import ClusterBeliefs, ClusterPassing, Clusters
from sepset.inference.propagation.loopybp import check_passes
from sepset.inference.propagation.passing import BUDGET, MAX_BUDGET
from sepset.inference.propagation.questions import PreparedPropagation
from sepset.inference.result import Guarantee, Guarantees
from sepset.inference.wiring import Wiring
from sepset.problem import Problem


@dataclass(frozen=True)
class ClusterBP:
    r"""Beliefs by message passing between clusters of variables, which are better the larger the clusters are.

    Clusters are those of a graph that is given, or of a join graph by mini-buckets: with a bound above the width of the
    model this is a tree, and all answers are exact. Joints are known within single factors.

    Args:
        bound: the largest number of variables in a cluster, if no graph is given; at least that of the largest factor.
        graph: a cluster graph over the names of all variables, with running intersection; every factor needs a cluster.
        damping: the part of each old log message that is kept; not used on trees.
        until: when the passes end, by default after 1000 (200 for assignments) or when no log message changes by more
            than 1e-9.

    Cost: a pass takes time linear in the entries of all clusters, times the neighbors of each.
    Reference: Koller & Friedman, section 11.3; Mateescu, Kask, Gogate & Dechter (2010), join-graph propagation.
    Guarantee: exact on trees of clusters; otherwise an estimate.
    Tested by: inference/propagation/test_clusterbp.py::test_trees_of_clusters_are_exact

    >>> import sepset as ss
    >>> net = ss.datasets.load("misconception")
    >>> rough, exact = (ss.log_partition(net, method=ss.inference.ClusterBP(bound)) for bound in (2, 3))
    >>> rough.guarantees["log_partition"], exact.guarantees["log_partition"]
    (ESTIMATE, EXACT)
    >>> round(exact.value, 4)
    15.7898
    """

    bound: int = 3
    graph: ClusterGraph | None = field(default=None, kw_only=True)
    damping: float = field(default=0.3, kw_only=True)
    until: Until | int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_passes("ClusterBP", self.damping, "sequential", self.until)
        whole("ClusterBP(bound=)", self.bound, least=1)
        if self.graph is not None and not isinstance(self.graph, ClusterGraph):
            raise ArgumentError(f"ClusterBP(graph=) takes a ClusterGraph; found {self.graph!r}.")
        if self.graph is not None:
            self.graph.check_running_intersection()

    def prepare(self, problem: Problem) -> PreparedPropagation[ClusterBeliefs]:
        """The method bound to a problem."""
        return PreparedPropagation(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees: estimates, unless the clusters are found to be a tree."""
        rest = dict.fromkeys(("log_partition", "marginals", "moments"), Guarantee.ESTIMATE)
        return {**rest, "assignment": Guarantee.HEURISTIC}

    def propagate(self, wiring: Wiring) -> ClusterBeliefs:
        """The beliefs where the passes end."""
        passing = self._passing(wiring, is_max=False)
        return ClusterBeliefs(passing, run(passing, None, until=as_until(self.until, BUDGET)))

    def assign(self, task: AssignmentTask) -> Found:
        """The assignment decoded from max-product messages, the best on a tree of clusters."""
        task.require_all(self)
        with task.limited():
            passing = self._passing(task.wiring, is_max=True)
        ended = task.iterated(passing, until=as_until(self.until, MAX_BUDGET))
        beliefs = ClusterBeliefs(passing, ended)
        if ended.num_steps and beliefs.log_totals == -math.inf:
            return Found(
                task.first_codes()[None], (-math.inf,), bound=-math.inf, status=ended.status, trace=ended.trace
            )
        decodings = [task.first_codes(), *([beliefs.decoded()] if ended.num_steps else [])]
        codes, value = best_of([improved(task.wiring, each) for each in decodings], task.wiring)
        is_exact = beliefs.is_forest and beliefs.has_converged
        info = {"seconds": round(ended.seconds, 3), "passes": ended.num_steps, "residual": beliefs.residual}
        guarantee = Guarantee.EXACT if is_exact else Guarantee.LOCAL_OPTIMUM
        bound = max(value, beliefs.energy()) if is_exact else math.inf
        return Found(
            codes[None], (value,), bound=bound, guarantee=guarantee, status=ended.status, trace=ended.trace, info=info
        )

    def log_partition(self, beliefs: ClusterBeliefs) -> float:
        """The free energy of the clusters."""
        return beliefs.energy()

    def guarantees(self, beliefs: ClusterBeliefs) -> Guarantees:
        """Exact if the messages of a tree of clusters have converged; estimates otherwise."""
        is_exact = beliefs.is_forest and beliefs.has_converged
        known = Guarantee.EXACT if is_exact else Guarantee.ESTIMATE
        return dict.fromkeys(("log_partition", "marginals", "moments"), known)

    def _passing(self, wiring: Wiring, *, is_max: bool) -> ClusterPassing:
        possible = wiring.consistent
        graph = self._built(possible) if self.graph is None else self.graph  # which may be refused
        place = {possible.name(i): i for i in range(possible.num_variables)}
        return ClusterPassing(Clusters.of(possible, graph, place), self.damping, is_max, graph.is_forest)

    def _built(self, wiring: Wiring) -> ClusterGraph:
        """The join graph of the model's factors along an order of little fill-in."""
        names = [wiring.name(i) for i in range(wiring.num_variables)]
        pairs = pairs_within_rows((wiring.plugs.starts, wiring.plugs.scope.astype(np.int32)))
        graph = UndirectedGraph.from_arrays(names, sources=pairs[:, 0], targets=pairs[:, 1])
        cards = dict(zip(names, wiring.plugs.cards.tolist(), strict=True))
        require_time()
        order = elimination_order(graph, cards, method=MinFill()).order
        scopes = [[names[i] for i in wiring.scope(f).tolist()] for f in range(wiring.num_factors)]
        return join_graph(scopes, order, bound=max(self.bound, 1, *map(len, scopes)))
