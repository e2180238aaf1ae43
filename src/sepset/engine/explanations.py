"""The most probable assignments that an engine finds, in names and states, and max-marginals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.checks import whole
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.conflict import impossible
from sepset.inference.mapresult import MapResult
from sepset.inference.method import Best, SendsMaxima, can
from sepset.inference.result import Guarantee, Guarantees, Told
from sepset.kernels.kernel import answered
from sepset.variables.evidence import Evidence, Given
from sepset.variables.findings import Findings
from sepset.variables.variable import Discrete, State, VariableLike, Vector

if TYPE_CHECKING:
    from sepset.engine.engine import Engine
    from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult

Labels = tuple[tuple[str, ...], tuple[tuple[State, ...], ...]]
"""The names of all variables, and their states."""


def best_assignments(
    engine: Engine, given: Given, over: VariableLike | Iterable[VariableLike] | None, k: int
) -> MapResult:
    """The k most probable assignments of `over` given the evidence; see `Engine.map_assignment`.

    Guarantee: as the method.
    Tested by: engine/test_explanations.py::test_the_best_of_all_variables_is_the_best_of_those_named
    """
    if type(k) is not int or k != 1:
        k = whole("k", k, least=1)
    evidence = engine.evidence(given)
    if over is None and k == 1:
        labels = engine.labels
        if labels is not None:
            return _explained(engine, evidence, labels)
    return _ranked(engine, evidence, over, k)


def labels_of(engine: Engine) -> Labels | None:
    """The names and states of the variables of a discrete model; None if some are elements of arrays, or joints."""
    variables = engine.known
    if engine.joints or not variables.all_discrete or len(variables.parts) < len(variables):
        return None
    listed: list[Any] = list(variables)
    return tuple(v.name for v in listed), tuple(v.states for v in listed)


def _explained(engine: Engine, evidence: Evidence, labels: Labels) -> MapResult:
    """The most probable states of all unobserved variables of a discrete model."""
    prepared, codes, (names, states) = engine.prepared, evidence.codes, labels
    places = range(len(names))
    hidden = [v for v in places if v not in codes] if codes else places
    values, log_value = prepared.best(evidence, hidden)
    if log_value == -np.inf:
        raise impossible(prepared, evidence)
    assignment = {names[v]: states[v][values[v]] for v in hidden}
    about = _about(engine, evidence, values, "traceback", is_whole=True)
    return _result(engine, evidence, (assignment,), (log_value,), about)


def _ranked(
    engine: Engine, evidence: Evidence, over: VariableLike | Iterable[VariableLike] | None, k: int
) -> MapResult:
    """The most probable values of any variables, one assignment or several."""
    from sepset.inference.map.kbest import k_best

    observed, own = set(evidence.observed), len(engine.model.variables)
    asked = range(len(engine.known)) if over is None else engine.positions(over)
    found: list[Best] = k_best(engine.prepared, evidence, [v for v in asked if v not in observed], k)
    if found[0].log_value == -np.inf:
        raise impossible(engine.prepared, evidence)
    seen = {**evidence.codes, **evidence.reals} if over is not None else {}
    variables = {v: engine.known[v] for v in asked if v < own and (v not in observed or v in seen)}
    assignments = tuple(_assignment(variables, {**best.values, **seen}) for best in found)
    about = _about(engine, evidence, found[0].values, "traceback" if k == 1 else "ranking", is_whole=over is None)
    return _result(engine, evidence, assignments, tuple(best.log_value for best in found), about)


def _result(
    engine: Engine,
    evidence: Evidence,
    assignments: tuple[Mapping[str, Any], ...],
    log_values: tuple[float, ...],
    about: dict[str, Any],
) -> MapResult:
    return MapResult(
        assignments,
        log_values,
        log_partition_of=partial(engine.prepared.log_partition, evidence),
        bound=log_values[0],
        variables=engine.model.variables,
        persistent=assignments[0] if about["guarantees"]["assignment"] is Guarantee.EXACT else {},
        findings=Findings(evidence, engine.known),
        method=engine.method,
        **about,
    )


def _about(
    engine: Engine, evidence: Evidence, values: Mapping[int, Any], decoder: str, *, is_whole: bool
) -> dict[str, Any]:
    """The guarantee of an assignment, and how its states were found; ties if nothing was summed out."""
    promise: Guarantees = {"assignment": engine.promises["assignment"]}
    about = engine._about(promise, values, evidence=evidence) if engine.is_measured else {"guarantees": promise}
    info: dict[str, object] = {**about.get("info", answered()), "decoder": decoder}
    if is_whole and not engine.joints:
        return {**about, "info": Told(info, "ties", partial(num_ties, engine, evidence, values))}
    return {**about, "info": info}


def num_ties(engine: Engine, evidence: Evidence, values: Mapping[int, Any]) -> int | None:
    """The number of variables that have another state of the same value, given the others.

    None where some variables are real or stand for factors, or a factor is too large to be looked at.

    >>> import sepset as ss
    >>> a, b = ss.Discrete("a"), ss.Discrete("b")
    >>> ss.map_assignment(ss.MarkovNet(ss.Table([a], [3.0, 1.0]), ss.Table([b], [2.0, 2.0]))).info["ties"]
    1
    """
    from sepset.engine.assignments import searched_problem
    from sepset.inference.assignment import num_tied
    from sepset.inference.wiring import Wiring

    try:
        wiring = Wiring.of(searched_problem(engine, evidence), evidence)
    except (NotApplicable, TooLarge):
        return None
    free = wiring.free.tolist()
    if free and free[-1] >= len(engine.model.variables):
        return None
    return num_tied(wiring, np.array([values[v] for v in free], np.int64))


def max_marginals(engine: Engine, evidence: Evidence) -> MaxMarginalsResult:
    """The largest log value of the joint for every state of every discrete variable, given the evidence.

    By the clique tree, or by the messages of a method. A method without a tree, and CPDs with many hidden parents that
    have no factors for one, answer by the best assignment with each state that is looked at.

    Guarantee: as `max_marginals`.
    Tested by: engine/test_explanations.py::test_messages_and_trees_answer_for_the_same_models
    """
    from sepset.inference.cliquetree.askedmaxima import asked_max_marginals
    from sepset.inference.cliquetree.maxmarginals import check_discrete, maximizing, tree_max_marginals
    from sepset.inference.propagation.maxmarginals import message_max_marginals

    variables = engine.model.variables
    about: dict[str, Any] = {"guarantees": {"assignment": engine.promises["assignment"]}, "info": answered()}
    check_discrete(engine.prepared.problem, evidence)
    try:
        prepared = maximizing(engine.prepared, evidence)
        if not can(prepared, SendsMaxima):
            return tree_max_marginals(prepared, evidence, variables, method=engine.method, **about)
    except (NotApplicable, TooLarge):
        if engine.promises["assignment"] is not Guarantee.EXACT:
            raise
        return asked_max_marginals(engine, evidence, variables, method=engine.method, **about)
    beliefs = prepared.max_beliefs(evidence)
    if beliefs.log_totals == -np.inf:
        raise impossible(engine.prepared, evidence)
    return message_max_marginals(beliefs, evidence, variables, method=engine.method)


def _assignment(variables: Mapping[int, Discrete | Vector], values: Mapping[int, Any]) -> dict[str, Any]:
    """States by name of the variables that have a value."""
    return {variable.name: _readable(variable, values[v]) for v, variable in variables.items() if v in values}


def _readable(variable: Discrete | Vector, value: Any) -> Any:
    if isinstance(variable, Discrete):
        return variable.states[int(value)]
    number = np.asarray(value, dtype=np.float64)
    return float(number.reshape(-1)[0]) if variable.size == 1 else number
