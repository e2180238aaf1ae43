r"""Message passing with counting numbers: a weight for every factor and one for every variable."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sepset.base.checks import number
from sepset.errors import NotApplicable
from sepset.inference.assignment import AssignmentTask, Found
from sepset.inference.iterate import Until, as_until
from sepset.inference.propagation.loopybp import check_passes
from sepset.inference.propagation.maxproduct import assigned
from sepset.inference.propagation.passing import BUDGET, MAX_BUDGET, Beliefs, Passing, propagated
from sepset.inference.propagation.questions import PreparedPropagation, promised
from sepset.inference.result import Guarantee, Guarantees
from sepset.inference.wiring import Wiring
from sepset.problem import Problem


@dataclass(frozen=True)
class ConvexBP:
    r"""Beliefs by message passing with counting numbers, for assignments with a proof where these numbers are convex.

    $$\tilde P \propto \prod_f \beta_f^{\kappa_f} \prod_i b_i^{\kappa_i}$$

    after every message. Where the messages have converged and the numbers are convex, as for $\kappa_f > 0$ and
    $\kappa_i \ge 0$, any assignment at which all beliefs have their maxima is the best of all; it exists only where the
    linear program over the local polytope is tight. Convex numbers have one fixed point, to which the messages usually
    converge; it is less often exact than that of `LoopyBP`, but bounds the log values of all assignments.

    Args:
        factor: the counting number of every factor over two and more variables.
        variable: the counting number of every variable; may be negative.
        damping: the part of each old log message that is kept.
        schedule: as for `LoopyBP`.
        until: when the passes end, by default after 1000 (200 for assignments) or when no log message changes by more
            than 1e-9.

    Cost: as `LoopyBP`.
    Reference: Koller & Friedman, section 13.4.2; Weiss, Yanover & Meltzer (2007); Heskes (2006).
    Guarantee: upper bound on the log values of assignments, if the numbers are convex; estimates of marginals.
    Tested by: inference/propagation/test_convexbp.py::test_decoded_assignments_are_the_best

    >>> import sepset as ss
    >>> found = ss.map_assignment(ss.datasets.load("misconception"), method=ss.inference.ConvexBP())
    >>> round(found.log_value, 4), found.bound >= found.log_value, found.certificate.check()
    (15.4249, True, True)
    """

    factor: float = 1.0
    variable: float = 0.0
    damping: float = field(default=0.0, kw_only=True)
    schedule: str = field(default="sequential", kw_only=True)
    until: Until | int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_passes("ConvexBP", self.damping, self.schedule, self.until)
        number("ConvexBP(factor=)", self.factor, above=0)
        number("ConvexBP(variable=)", self.variable)

    def prepare(self, problem: Problem) -> PreparedPropagation[Beliefs]:
        """The method bound to a problem."""
        return PreparedPropagation(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees: estimates."""
        return promised(problem, Guarantee.ESTIMATE, is_exact=False)

    def propagate(self, wiring: Wiring) -> Beliefs:
        """The beliefs where the passes end."""
        return propagated(self.passing(wiring, is_max=False), wiring, as_until(self.until, BUDGET))

    def propagate_maxima(self, wiring: Wiring) -> Beliefs:
        """The beliefs where passes of maxima end."""
        return propagated(self.passing(wiring, is_max=True), wiring, as_until(self.until, MAX_BUDGET))

    def assign(self, task: AssignmentTask) -> Found:
        """The best of the assignments decoded from max-product messages, with their bound if the numbers are convex."""
        return assigned(self, task, self.passing(task.wiring, is_max=True), as_until(self.until, MAX_BUDGET))

    def log_partition(self, beliefs: Beliefs) -> float:
        """The free energy of the beliefs with these counting numbers."""
        return beliefs.energy()

    def guarantees(self, beliefs: Beliefs) -> Guarantees:
        """Estimates, unless there are no factors over two and more variables."""
        known = Guarantee.ESTIMATE if beliefs.wiring.num_factors else Guarantee.EXACT
        return dict.fromkeys(("log_partition", "marginals", "moments"), known)

    def passing(self, wiring: Wiring, *, is_max: bool) -> Passing:
        """The passes on a wired model, whose variables must have a positive number together with their factors."""
        degrees = np.bincount(wiring.plugs.scope, minlength=wiring.num_variables)
        counts = np.where(degrees > 0, self.variable + self.factor * degrees, 1.0)
        if (counts <= 0.0).any():
            i = int(np.argmax(counts <= 0.0))
            raise NotApplicable(
                f"ConvexBP(factor={self.factor}, variable={self.variable}) gives {wiring.name(i)!r} with its "
                f"{degrees[i]} factors a number of {counts[i]:.4g} together, and needs a positive one. Use a larger "
                "variable=."
            )
        return Passing(self.damping, self.schedule, is_max, np.full(wiring.num_factors, float(self.factor)), counts)
