r"""Tree-reweighted message passing: an upper bound on the log partition from a distribution over spanning trees."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from sepset.base.checks import whole
from sepset.inference.assignment import AssignmentTask, Found
from sepset.inference.iterate import Until, as_until
from sepset.inference.propagation.loopybp import check_passes
from sepset.inference.propagation.maxproduct import assigned
from sepset.inference.propagation.passing import BUDGET, MAX_BUDGET, Beliefs, Passing, propagated
from sepset.inference.propagation.questions import PreparedPropagation, promised
from sepset.inference.propagation.treeweights import edge_probabilities, informations, spanning_tree
from sepset.inference.result import Guarantee, Guarantees
from sepset.inference.wiring import Wiring
from sepset.problem import Problem


@dataclass(frozen=True)
class TreeReweighted:
    r"""An upper bound on the log partition, and pseudo-marginals, by tree-reweighted message passing on pairs.

    $$\log Z(\theta) \le \sum_T \mu(T) \log Z(\theta^T) \quad \text{for} \quad \theta = \sum_T \mu(T)\, \theta^T$$

    and messages look for the split of the model into trees with the least bound. The bound holds for all messages,
    converged or not. Trees are uniform spanning trees up to a thousand variables, and beyond that a few that cover all
    edges. `map_assignment` uses maxima in place of sums, with an upper bound on the largest log value.

    Args:
        damping: the part of each old log message that is kept; not used on forests.
        schedule: "sequential" sends messages forth and back through the factors, "synchronous" all at once.
        rounds: the number of changes of the probabilities of edges to lower the bound on the log partition, toward the
            tree of the most mutual information.
        until: when the passes end, by default after 1000 (200 for assignments) or when no log message changes by more
            than 1e-9. Its steps are those of each round, its seconds those of all together.

    Cost: a pass as in `LoopyBP`; the inverse of a matrix for the trees; all passes again for each round.
    Reference: Wainwright, Jaakkola & Willsky (2005), A new class of upper bounds on the log partition function.
    Guarantee: upper bound on the log partition; estimates of marginals; exact on forests.
    Tested by: inference/propagation/test_treereweighted.py::test_the_bound_holds_before_and_after_convergence

    >>> import sepset as ss
    >>> net = ss.datasets.load("misconception")
    >>> bound = ss.log_partition(net, method=ss.TreeReweighted())
    >>> bound.value > ss.log_partition(net).value, bound.guarantees["log_partition"]
    (True, UPPER_BOUND)
    """

    damping: float = 0.5
    schedule: str = "sequential"
    rounds: int = field(default=0, kw_only=True)
    until: Until | int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_passes("TreeReweighted", self.damping, self.schedule, self.until)
        whole("TreeReweighted(rounds=)", self.rounds, least=0)

    def prepare(self, problem: Problem) -> PreparedPropagation[Beliefs]:
        """The method bound to a problem."""
        return PreparedPropagation(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees: exact on forests, an upper bound and estimates otherwise."""
        return promised(problem, Guarantee.UPPER_BOUND)

    def propagate(self, wiring: Wiring) -> Beliefs:
        """The beliefs where the passes end."""
        until, begun = as_until(self.until, BUDGET), time.monotonic()
        best = propagated(self._passing(wiring, is_max=False), wiring, _left(until, begun))
        step = 0.5
        for _ in range(self.rounds if not best.is_forest and best.log_totals > -np.inf else 0):
            rest = _left(until, begun)
            if rest.seconds == 0.0:
                break
            rhos = best.rhos + step * (spanning_tree(best.wiring, informations(best)) - best.rhos)
            found = propagated(Passing(self.damping, self.schedule, False, rhos), wiring, rest)
            if found.energy(is_bound=True) < best.energy(is_bound=True):
                best = found
            else:
                step /= 2.0
        return best

    def propagate_maxima(self, wiring: Wiring) -> Beliefs:
        """The beliefs where passes of maxima end."""
        return propagated(self._passing(wiring, is_max=True), wiring, as_until(self.until, MAX_BUDGET))

    def assign(self, task: AssignmentTask) -> Found:
        """The best of the assignments decoded from the messages, with their upper bound."""
        passing = self._passing(task.wiring, is_max=True)
        return assigned(self, task, passing, as_until(self.until, MAX_BUDGET), has_trees=True)

    def log_partition(self, beliefs: Beliefs) -> float:
        """The upper bound of the messages, or the exact value on a forest."""
        return beliefs.energy(is_bound=not (beliefs.is_forest and beliefs.has_converged))

    def guarantees(self, beliefs: Beliefs) -> Guarantees:
        """Exact if the messages of a forest have converged; otherwise a bound and estimates."""
        is_exact = beliefs.is_forest and beliefs.has_converged
        rest = Guarantee.EXACT if is_exact else Guarantee.ESTIMATE
        log_partition = Guarantee.EXACT if is_exact else Guarantee.UPPER_BOUND
        return {"log_partition": log_partition, "marginals": rest, "moments": rest}

    def _passing(self, wiring: Wiring, *, is_max: bool) -> Passing:
        wiring.require_pairs(self)
        return Passing(self.damping, self.schedule, is_max, edge_probabilities(wiring))


def _left(until: Until, begun: float) -> Until:
    """The stopping rule for the rest of the time, on the clock of `time.monotonic`."""
    if until.seconds is None:
        return until
    return replace(until, seconds=max(0.0, until.seconds - (time.monotonic() - begun)))
