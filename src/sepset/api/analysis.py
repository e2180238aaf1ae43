"""Analyses of a posterior: its sensitivity to the parameters, and the value of observing more."""

from __future__ import annotations

from collections.abc import Iterable

from sepset.engine.information import InformationValues
from sepset.engine.kept import engine_for
from sepset.engine.sensitivity import Sensitivity
from sepset.inference.method import Method
from sepset.models.model import Model
from sepset.variables.evidence import Given
from sepset.variables.variable import State, VariableLike


def sensitivity(
    model: Model, target: VariableLike, state: State, *, given: Given = None, method: Method | None = None
) -> Sensitivity:
    r"""The dependence of $P(\text{target} = \text{state} \mid \mathbf e)$ on every table parameter, steepest first.

    Args:
        model: a directed model over discrete variables.
        target, state: the posterior in question.
        given: evidence; `Soft` evidence has no probability and raises.
        method: supplies the elimination order and the memory limit.

    Reference: Castillo, Gutierrez & Hadi (1997), Sensitivity analysis in discrete Bayesian networks.

    >>> import sepset as ss
    >>> found = sensitivity(ss.datasets.load("asia"), "lung", "yes", given={"xray": "yes"})
    >>> round(found.probability, 4), str(found[0])
    (0.4887, "P(xray='yes' | either='no')")
    """
    return engine_for(model, "query", method).sensitivity(target, state, given)


def value_of_information(
    model: Model,
    targets: VariableLike | Iterable[VariableLike],
    *,
    candidates: VariableLike | Iterable[VariableLike] | None = None,
    given: Given = None,
    method: Method | None = None,
) -> InformationValues:
    r"""The expected reduction $I(T; C \mid \mathbf e)$ of the targets' entropy by each candidate, best first.

    Args:
        targets: the variables of interest.
        candidates: the variables that could be observed next; by default every other unobserved discrete variable.

    Reference: Heckerman, Horvitz & Middleton (1993), An approximate nonmyopic computation for value of information.

    >>> import sepset as ss
    >>> value_of_information(ss.datasets.load("student"), "intelligence", given={"grade": "C"}).best
    'sat'
    """
    return engine_for(model, "marginals", method).value_of_information(targets, candidates, given)
