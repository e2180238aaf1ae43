"""Assignments by methods that search: names and states become codes of a wired model, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import generator, whole
from sepset.base.membership import without
from sepset.base.text import brief
from sepset.engine.jointfindings import takes_joints
from sepset.errors import ArgumentError, ImpossibleEvidence, TooLarge
from sepset.inference.assignment import AssignmentTask, Assigns, Found
from sepset.inference.conflict import impossible
from sepset.inference.iterate import Until
from sepset.inference.mapresult import Assignment, MapResult
from sepset.inference.method import Rewrites, can
from sepset.inference.result import Guarantee, Told
from sepset.models.model import NamedModel
from sepset.problem import Problem
from sepset.variables.array import VariableArray
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.findings import Findings
from sepset.variables.variable import VariableLike

if TYPE_CHECKING:
    import os

    from sepset.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How an assignment is searched for; see `map_assignment`."""

    start: object = None
    until: Until | int | None = None
    seed: int | np.random.Generator = 0
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None


@takes_joints
def searched(
    engine: Engine,
    method: Assigns | None,
    *,
    given: Given,
    over: VariableLike | Iterable[VariableLike] | None,
    k: int,
    options: SearchOptions,
    why: str = "",
) -> MapResult:
    """The assignment that a method finds, in names and states, with its bound and certificate.

    Args:
        method: None chooses by the factors.
        why: the reason to search.
    """
    from sepset.inference.map.dual import assigned

    if method is None:
        from sepset.inference.map.choice.automatic import AutomaticSearch

        method = AutomaticSearch()
    whole("k", k, least=1)
    evidence = engine.evidence(given)
    listed = [] if over is None else list(engine.positions(over))
    asked = None if over is None else without(listed, evidence.observed)
    task = AssignmentTask(
        searched_problem(engine, evidence, asked),
        evidence,
        over=None if asked is None else tuple(asked),
        k=k,
        start=None,
        rng=generator(options.seed),
        until=options.until,
        progress=options.progress,
        checkpoint=options.checkpoint,
    )
    try:
        found = assigned(method, task.again(start=_start(options.start, engine, task)))
    except ImpossibleEvidence as error:
        raise _named(engine, evidence, error) from None
    known = {v: evidence.codes[v] for v in listed if v in evidence.codes}
    return _result(engine, method, evidence, task, _explained(found, why), known)


def _explained(found: Found, why: str) -> Found:
    """The same, with the reason to search."""
    if not why:
        return found
    info, more = found.info, {"why": why}
    return replace(found, info=info.including(more) if isinstance(info, Told) else {**info, **more})


def searched_problem(engine: Engine, evidence: Evidence, over: list[int] | None = None) -> Problem:
    """The problem with the factors as they were written; functions of many variables as factors for this question."""
    prepared, problem = engine.prepared, engine.prepared.problem
    if can(prepared, Rewrites):
        free = range(problem.num_visible) if over is None else over
        return prepared.for_best(evidence, without(free, evidence.observed)).problem
    model = engine.model
    return model.as_written() if isinstance(model, NamedModel) and not engine.joints else problem


def _named(engine: Engine, evidence: Evidence, error: ImpossibleEvidence) -> ImpossibleEvidence:
    """The error with the findings that contradict each other, if exact inference can tell them."""
    try:
        return impossible(engine.prepared, evidence)
    except TooLarge:
        return error


def _start(start: object, engine: Engine, task: AssignmentTask) -> Ints | None:
    """The codes to begin with: of a mapping from names to states, of an earlier result, or of arrays of codes."""
    if start is None:
        return None
    source = start.assignment if isinstance(start, MapResult) else start
    if not isinstance(source, Mapping):
        raise ArgumentError(f"start= takes an assignment, by name, or an earlier result; found {brief(start)}.")
    codes = np.full(len(task.problem.variables), -1, np.int64)
    if isinstance(source, Assignment) and source.variables == engine.model.variables:
        codes[: len(source.codes)] = source.codes
    else:
        arrays = {key: value for key, value in source.items() if isinstance(key, VariableArray)}
        for array, values in arrays.items():
            first = engine.model.variables.array_offset(array)
            codes[first : first + len(array)] = _array_codes(array, values)
        states = resolve({k: v for k, v in source.items() if k not in arrays}, engine.known)
        if states.weights or states.soft or states.reals:
            raise ArgumentError("start= takes one state per variable; likelihoods, subsets and numbers are for given=.")
        codes[list(states.codes)] = list(states.codes.values())
    chosen = codes[task.wiring.free]
    return np.where(chosen < 0, task.wiring.modes, chosen)


def _array_codes(array: VariableArray, values: object) -> Ints:
    """The codes of an array of variables; -1 leaves one to the method."""
    codes = np.asarray(values)
    fits = codes.shape == array.shape and codes.dtype.kind in "iu"
    if not fits or (codes.size and not -1 <= int(codes.min()) <= int(codes.max()) < array.num_states):
        raise ArgumentError(
            f"start= takes whole codes of {array!r}, from 0 to {array.num_states - 1} (or -1) and of shape "
            f"{array.shape}; found {codes.dtype} of shape {codes.shape}."
        )
    return codes.astype(np.int64).reshape(-1)


def _result(
    engine: Engine,
    method: Any,
    evidence: Evidence,
    task: AssignmentTask,
    found: Found,
    known: Mapping[int, int],
) -> MapResult:
    """The result in names and states, with the observed variables among those that were asked for."""
    own, free = len(engine.model.variables), task.wiring.free
    shown = free < own if task.over is None else np.isin(free, task.over)
    assignments = []
    for codes in found.codes:
        whole_row = np.full(own, -1, np.int64)
        whole_row[free[shown]] = codes[shown]
        whole_row[list(known)] = list(known.values())
        assignments.append(Assignment(engine.model.variables, whole_row))
    return MapResult(
        tuple(assignments),
        found.log_values,
        log_partition_of=lambda: engine.prepared.log_partition(evidence),
        bound=found.bound,
        variables=engine.model.variables,
        certificate=found.certificate,
        persistent=_persistent(engine, task, found, assignments[0]),
        trace=found.trace,
        findings=Findings(evidence, engine.known),
        method=method,
        guarantees={"assignment": found.guarantee},
        status=found.status,
        info=found.info,
    )


def _persistent(engine: Engine, task: AssignmentTask, found: Found, best: Assignment) -> Assignment:
    """The part of the best assignment that was proved to be in some best one, or, if the method is strict, in all."""
    if found.guarantee is Guarantee.EXACT and not found.is_strict:
        return best
    kept = np.full(len(best.codes), -1, np.int64)
    if found.persistent is not None:
        chosen = task.wiring.free[found.persistent]
        chosen = chosen[chosen < len(kept)]
        kept[chosen] = best.codes[chosen]
    return Assignment(engine.model.variables, kept)
