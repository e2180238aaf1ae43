"""Assignments by methods that search: names and states become codes of a wired model, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import whole
from sepset.base.membership import without
from sepset.base.text import brief
from sepset.engine.jointfindings import takes_joints
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.assignment import AssignmentTask, Assigns, Found, assign
from sepset.inference.conflict import impossible
from sepset.inference.iterate import Until
from sepset.inference.mapresult import Assignment, MapResult
from sepset.inference.method import Rewrites, can
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring
from sepset.models.model import NamedModel
from sepset.problem import Problem
from sepset.variables.array import VariableArray
from sepset.variables.evidence import Evidence, Given, resolve
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

    def refuse(self, method: object) -> None:
        """Raise if an option is given that a method which does not search cannot use."""
        given = {"start": self.start, "until": self.until, "checkpoint": self.checkpoint}
        named = [f"{name}=" for name, value in given.items() if value is not None]
        if named:
            raise NotApplicable(
                f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} for methods that search, such as ICM(); "
                f"{type(method).__name__} is exact and does not search."
            )


@takes_joints
def searched(
    engine: Engine,
    method: Assigns,
    *,
    given: Given,
    over: VariableLike | Iterable[VariableLike] | None,
    k: int,
    options: SearchOptions,
) -> MapResult:
    """The assignment that a method finds, in names and states, with its bound and certificate."""
    whole("k", k, least=1)
    evidence = engine.evidence(given)
    asked = None if over is None else without(engine.positions(over), evidence.observed)
    problem = _problem(engine, evidence, asked)
    wiring = Wiring.of(problem, evidence)
    task = AssignmentTask(
        problem,
        evidence,
        None if asked is None else tuple(asked),
        k,
        _start(options.start, engine, wiring),
        np.random.default_rng(options.seed),
        options.until,
        options.progress,
        options.checkpoint,
    )
    task.__dict__["wiring"] = wiring
    found = assign(method, task)
    if found.log_values[0] == -math.inf and found.is_proved:
        raise impossible(engine.prepared, evidence)
    return _result(engine, method, evidence, task, found)


def _problem(engine: Engine, evidence: Evidence, over: list[int] | None) -> Problem:
    """The problem with the factors as they were written; functions of many variables as factors for this question."""
    prepared, problem = engine.prepared, engine.prepared.problem
    if can(prepared, Rewrites):
        free = range(problem.num_visible) if over is None else over
        return prepared.for_best(evidence, without(free, evidence.observed)).problem
    model = engine.model
    return model.as_written() if isinstance(model, NamedModel) and not engine.joints else problem


def _start(start: object, engine: Engine, wiring: Wiring) -> Ints | None:
    """The codes to begin with: of a mapping from names to states, of an earlier result, or of arrays of codes."""
    if start is None:
        return None
    source = start.assignment if isinstance(start, MapResult) else start
    if not isinstance(source, Mapping):
        raise ArgumentError(f"start= takes an assignment, by name, or an earlier result; found {brief(start)}.")
    codes = np.full(len(engine.prepared.problem.variables), -1, np.int64)
    if isinstance(source, Assignment) and source.variables == engine.model.variables:
        codes[: len(source.codes)] = source.codes
    else:
        arrays = {key: value for key, value in source.items() if isinstance(key, VariableArray)}
        for array, values in arrays.items():
            first = engine.model.variables.array_offset(array)
            codes[first : first + len(array)] = np.asarray(values, np.int64).reshape(-1)
        resolved = resolve({k: v for k, v in source.items() if k not in arrays}, engine.known).codes
        codes[list(resolved)] = list(resolved.values())
    chosen = codes[wiring.free]
    return np.where(chosen < 0, wiring.modes, chosen)


def _result(engine: Engine, method: Any, evidence: Evidence, task: AssignmentTask, found: Found) -> MapResult:
    own, free = len(engine.model.variables), task.wiring.free
    shown = free < own if task.over is None else np.isin(free, task.over)
    assignments = []
    for codes in found.codes:
        whole_row = np.full(own, -1, np.int64)
        whole_row[free[shown]] = codes[shown]
        if task.over is not None:
            whole_row[list(evidence.codes)] = list(evidence.codes.values())
        assignments.append(Assignment(engine.model.variables, whole_row))
    return MapResult(
        tuple(assignments),
        found.log_values,
        lambda: engine.prepared.log_partition(evidence),
        found.bound,
        variables=engine.model.variables,
        certificate=found.certificate,
        persistent=_persistent(engine, task, found, assignments[0]),
        trace=found.trace,
        method=method,
        guarantees={"assignment": found.guarantee},
        status=found.status,
        info=found.info,
    )


def _persistent(engine: Engine, task: AssignmentTask, found: Found, best: Assignment) -> Assignment:
    """The part of the best assignment that was proved to be in some best one."""
    if found.guarantee is Guarantee.EXACT:
        return best
    kept = np.full(len(best.codes), -1, np.int64)
    if found.persistent is not None:
        chosen = task.wiring.free[found.persistent]
        chosen = chosen[chosen < len(kept)]
        kept[chosen] = best.codes[chosen]
    return Assignment(engine.model.variables, kept)
