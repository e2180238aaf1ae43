r"""Loopy belief propagation: marginals and the Bethe free energy by sums, assignments by maxima."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sepset.base.checks import number, one_of
from sepset.errors import ArgumentError
from sepset.inference.assignment import AssignmentTask, Found
from sepset.inference.iterate import Until, as_until
from sepset.inference.propagation.ising import IsingPassing, is_ising
from sepset.inference.propagation.linear import LinearPassing, is_bounded, require_bounded
from sepset.inference.propagation.maxproduct import assigned, several
from sepset.inference.propagation.passing import BUDGET, MAX_BUDGET, Beliefs, Passing, propagated
from sepset.inference.propagation.questions import PreparedPropagation, promised
from sepset.inference.propagation.schedules import SCHEDULES
from sepset.inference.result import Guarantee, Guarantees
from sepset.inference.wiring import Wiring
from sepset.problem import Problem

DOMAINS = ("auto", "linear", "log")
"""Messages as numbers or as logarithms."""

PRECISIONS = {"float64": 1e-9, "float32": 1e-5}
"""The types of numbers, and the change of a log message that counts as none."""


def check_passes(owner: str, damping: object, schedule: object, until: object) -> None:
    """Raise unless these are a part of a message to keep, a schedule, and a stopping rule."""
    if not 0.0 <= number(f"{owner}(damping=)", damping, least=0) < 1.0:
        raise ArgumentError(f"{owner}(damping=) is a number >= 0 and below 1; found {damping!r}.")
    one_of(f"{owner}(schedule=)", schedule, SCHEDULES)
    as_until(until)


@dataclass(frozen=True)
class LoopyBP:
    r"""Beliefs by loopy message passing: exact on forests, and elsewhere estimates that are often close.

    $$m_{f \to i}(x_i) \propto \sum_{\mathbf x_{f \setminus i}} \phi_f^{1/\rho}
    \prod_{j \ne i} \frac{b_j(x_j)}{m_{f \to j}(x_j)}, \qquad b_i \propto \phi_i \prod_{f \ni i} m_{f \to i}^\rho$$

    The log partition is the Bethe free energy of the fixed point. Joints are known within single factors. Constraints
    as `Parity` remain as they were written, without tables. The result says in `status` and `info` whether the messages
    converged. `map_assignment` sends maxima in place of sums (max-product) and decodes them; the k best are found
    by best max-marginal first, exactly on forests.

    Args:
        damping: the part of each old message that is kept; not used on forests.
        schedule: "sequential" sends messages forth and back through the factors, "synchronous" all at once, "random" in
            random order, "residual" of the factor that changes most, "tree" along random spanning forests.
        rho: the weight of all factors: 1 for belief propagation, others for fractional belief propagation.
        domain: messages as logarithms ("log") or as numbers ("linear"), which is several times faster but takes bounded
            factors; "auto" uses numbers wherever that is safe. Beliefs differ by rounding.
        precision: "float64" or "float32".
        until: when the passes end, by default after 1000 (200 for assignments) or when no log message changes by more
            than 1e-9 (1e-5 for float32).

    Cost: a pass takes time linear in the entries of all tables, and in the states for Potts and Ising pairs.
    Reference: Koller & Friedman, section 11.3; Yedidia, Freeman & Weiss (2005); Wiegerinck & Heskes (2003).
    Guarantee: exact on forests; otherwise an estimate, and for assignments a local optimum.
    Tested by: inference/propagation/test_loopybp.py::test_forests_are_exact

    >>> import sepset as ss
    >>> net = ss.datasets.load("misconception")
    >>> found = ss.marginals(net, method=ss.LoopyBP())
    >>> found.status, found.guarantees["marginals"]
    (CONVERGED, ESTIMATE)
    >>> tree = ss.datasets.load("student")
    >>> answer = ss.query(tree, "letter", given={"sat": "high"}, method=ss.LoopyBP())
    >>> round(answer["strong"], 4), answer.guarantees["marginals"]
    (0.7195, EXACT)
    """

    damping: float = 0.5
    schedule: str = "sequential"
    rho: float = field(default=1.0, kw_only=True)
    domain: str = field(default="auto", kw_only=True)
    precision: str = field(default="float64", kw_only=True)
    until: Until | int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_passes("LoopyBP", self.damping, self.schedule, self.until)
        number("LoopyBP(rho=)", self.rho, above=0)
        one_of("LoopyBP(domain=)", self.domain, DOMAINS)
        one_of("LoopyBP(precision=)", self.precision, tuple(PRECISIONS))
        if self.domain == "linear" and (self.rho != 1.0 or self.schedule == "residual"):
            raise ArgumentError("LoopyBP(domain='linear') takes rho=1 and a schedule other than 'residual'.")

    def prepare(self, problem: Problem) -> PreparedPropagation[Beliefs]:
        """The method bound to a problem."""
        return PreparedPropagation(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees: exact on forests, estimates otherwise."""
        return promised(problem, Guarantee.ESTIMATE, is_exact=self.rho == 1.0)

    def propagate(self, wiring: Wiring) -> Beliefs:
        """The beliefs where the passes end."""
        return propagated(self._sums(wiring), wiring, as_until(self.until, self._budget(BUDGET)))

    def propagate_maxima(self, wiring: Wiring) -> Beliefs:
        """The beliefs where passes of maxima end."""
        return propagated(self._passing(wiring, is_max=True), wiring, as_until(self.until, self._budget(MAX_BUDGET)))

    def assign(self, task: AssignmentTask) -> Found:
        """The best of the assignments decoded from max-product messages, improved by coordinate ascent."""
        passing, until = self._passing(task.wiring, is_max=True), as_until(self.until, self._budget(MAX_BUDGET))
        return assigned(self, task, passing, until) if task.k == 1 else several(self, task, passing, until)

    def log_partition(self, beliefs: Beliefs) -> float:
        """The Bethe free energy of the beliefs."""
        return beliefs.energy()

    def guarantees(self, beliefs: Beliefs) -> Guarantees:
        """Exact if the messages of a forest have converged; estimates otherwise."""
        is_exact = beliefs.is_forest and beliefs.has_converged and (self.rho == 1.0 or not len(beliefs.rhos))
        known = Guarantee.EXACT if is_exact else Guarantee.ESTIMATE
        return dict.fromkeys(("log_partition", "marginals", "moments"), known)

    def _passing(self, wiring: Wiring, *, is_max: bool) -> Passing:
        rhos = None if self.rho == 1.0 else np.full(wiring.num_factors, float(self.rho))
        return Passing(self.damping, self.schedule, is_max, rhos, precision=self.precision)

    def _sums(self, wiring: Wiring) -> Passing | LinearPassing | IsingPassing:
        if self.domain == "linear":
            require_bounded(wiring, self, self.precision)
        plain = self.rho == 1.0 and self.schedule != "residual" and self.domain != "log"
        if plain and is_bounded(wiring, self.precision) and wiring.is_possible:
            kind = IsingPassing if is_ising(wiring, self.precision) else LinearPassing
            return kind(wiring.consistent, self.damping, self.schedule, self.precision)
        return self._passing(wiring, is_max=False)

    def _budget(self, until: Until) -> Until:
        return replace(until, tolerance=PRECISIONS[self.precision])
