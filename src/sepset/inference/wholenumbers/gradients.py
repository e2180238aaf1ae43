"""Derivatives of the partition function with respect to all factor entries, without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sepset.inference.compiled.gradients import Derivatives, adjoints_of, roots_of
from sepset.inference.wholenumbers.numbers import WholeNumbers
from sepset.inference.wholenumbers.runs import WholeRun
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, eq=False)
class WholeGradient:
    r"""The derivatives of $Z(\mathbf e)$ with respect to the relevant factors; barren factors are left out.

    Attributes:
        partition: $Z(\mathbf e)$.
        parts: by factor number, the derivatives over the factor's whole scope.
    """

    partition: WholeNumbers
    parts: Mapping[int, WholeNumbers] = field(repr=False)


def whole_gradient(derivatives: Derivatives, evidence: Evidence, *, most: float) -> WholeGradient | None:
    """The derivatives at the evidence in whole numbers; None if that takes too long, or factors hold logarithms.

    Args:
        derivatives: those of a problem in floats, whose steps are repeated.
        evidence: the findings.
        most: the most nanoseconds it may take, as estimated from sizes and digits.
    """
    question = derivatives.question(evidence)
    run = WholeRun.of(question, derivatives.problem, evidence)
    if run is None or run.nanoseconds > most:
        return None
    tensors, roots = run.tensors(), question.contraction.roots.tolist()
    others = {r: run.product(tensors[other] for other in roots if other != r) for r in roots}
    rank, root_of = {v: r for r, v in enumerate(question.ids)}, roots_of(question)
    parts = dict[int, WholeNumbers]()
    for place, (number, adjoint) in enumerate(zip(question.numbers.tolist(), adjoints_of(question), strict=True)):
        found = tensors[adjoint] * others[root_of.get(place + 1, place + 1)]
        array = derivatives.spread(question, number, adjoint, found.values.reshape(-1), evidence, rank)
        parts[number] = WholeNumbers(array, found.exponent)
    return WholeGradient(run.product(tensors[r] for r in roots), parts)
