"""The best assignment of a model: exact, or by methods that search a wired model, in names and states."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import generator, whole
from sepset.base.membership import without
from sepset.base.text import brief
from sepset.base.threads import OutOfTime, ending_at
from sepset.engine.jointfindings import has_joints, takes_joints
from sepset.engine.kept import engine_for
from sepset.errors import ArgumentError, ImpossibleEvidence, NotApplicable, TooLarge
from sepset.inference.assignment import AssignmentTask, Assigns, Found
from sepset.inference.conflict import impossible
from sepset.inference.iterate import Until, as_until
from sepset.inference.mapresult import Assignment, MapResult
from sepset.inference.method import Method, Rewrites, TimesBest, can
from sepset.inference.result import Guarantee, Told
from sepset.models.model import Model, NamedModel, offers
from sepset.problem import Problem
from sepset.variables.array import VariableArray
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.findings import Findings
from sepset.variables.variable import VariableLike

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from sepset.engine.engine import Engine

Asked: TypeAlias = "VariableLike | Iterable[VariableLike] | None"
"""The variables whose best values are asked for; None for all that are not observed."""

TIMED, LONG = 500, 10.0
"""In models of so many variables a search comes before an exact answer of more than these seconds."""

MOST_FILLED = 2**27
"""The most entries of tables of functions of many variables that are filled for a search."""

TOO_LARGE = (
    "a table that is too large. Observe more of its parents, or ask for the best states of some variables with over=."
)
"""The end of a refusal."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How an assignment is searched for; see `map_assignment`."""

    start: object = None
    until: Until | int | None = None
    seed: int | np.random.Generator = 0
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @property
    def half(self) -> float:
        """Half of the seconds that are given: after them a search is better than an exact answer."""
        return math.inf if self._seconds is None else self._seconds / 2.0

    @property
    def _seconds(self) -> float | None:
        return self.until.seconds if isinstance(self.until, Until) else None

    def since(self, begun: float) -> SearchOptions:
        """The same with the seconds that are left."""
        if not isinstance(self.until, Until) or self._seconds is None:
            return self
        left = max(0.0, self._seconds - (time.monotonic() - begun))
        return replace(self, until=replace(self.until, seconds=left))

    def check(self) -> None:
        """Raise if an option is not what it should be, whether or not it will be used."""
        generator(self.seed)
        if self.until is not None:
            as_until(self.until, Until())
        if not (self.checkpoint is None or isinstance(self.checkpoint, str | os.PathLike)):
            raise ArgumentError(f"checkpoint= is the path of a file, or None; found {brief(self.checkpoint)}.")

    def refuse_if_any(self, method: object) -> None:
        """Raise if options of a search are given with a method that does not search."""
        about = {"start": self.start, "until": self.until, "checkpoint": self.checkpoint}
        named = [f"{name}=" for name, value in about.items() if value is not None]
        if named:
            raise NotApplicable(
                f"{' and '.join(named)} is for methods that search, such as ICM(); {type(method).__name__} does not."
            )


def best_assignment(
    model: Model,
    method: Method | Assigns | None,
    *,
    given: Given,
    over: Asked,
    k: int,
    options: SearchOptions,
) -> MapResult:
    """The most probable assignment by a method; None: exact, or by search where that does not fit or takes long."""
    k = whole("k", k, least=1)
    options.check()
    over = list(over) if isinstance(over, Iterator) else over  # which is read more than once
    if _searches(method):
        return searched(engine_for(model), method, given=given, over=over, k=k, options=options)
    if method is not None:
        options.refuse_if_any(method)
        return engine_for(model, method).map_assignment(given=given, over=over, k=k)
    return _exact_or_searched(engine_for(model), given=given, over=over, k=k, options=options)


def _searches(method: Method | Assigns | None) -> TypeIs[Assigns]:
    """Whether a method searches for assignments; frames, which have a length, have another `assign`."""
    return offers(method, "assign") and not isinstance(method, Sized)


def _exact_or_searched(
    engine: Engine,
    *,
    given: Given,
    over: Asked,
    k: int,
    options: SearchOptions,
) -> MapResult:
    """Exact, unless that is known to take long, does not fit, or is not done after half of the seconds."""
    question: dict[str, Any] = {"given": given, "over": over, "k": k}
    begun, first = time.monotonic(), None
    if k == 1 and (why := _too_long(engine, given, over, options.half)):
        with suppress(TooLarge, NotApplicable):  # a factor without a table, which clique trees may not need
            first = searched(engine, None, **question, options=options.since(begun), why=why)
        if first is not None and (options.until is not None or first.guarantees["assignment"] is Guarantee.EXACT):
            return first
    try:
        with ending_at(begun + options.half):
            return engine.map_assignment(**question)
    except TooLarge as refusal:
        if first is not None:
            return first
        if k > 1 and not _is_all(engine, given=given, over=over):
            raise
        why, refused = str(refusal), refusal
    except OutOfTime:
        why, refused = f"An exact answer takes longer than {options.half:.3g} seconds.", None
    try:
        return searched(engine, None, **question, options=options.since(begun), why=why)
    except (TooLarge, NotApplicable):
        if refused is None or (not can(engine.prepared, Rewrites) and _is_all(engine, given=given, over=over)):
            raise
    raise refused  # the search needs a table that an exact answer does without: its reason says more


def _too_long(engine: Engine, given: Given, over: Asked, most: float) -> str:
    """Why an exact answer about everything would take long, or nothing; its plan is used if it is asked for later."""
    is_joint = engine.joints or has_joints(given)
    if len(engine.model.variables) < TIMED or is_joint or not can(engine.prepared, TimesBest):
        return ""
    if not _is_all(engine, given=given, over=over):
        return ""
    try:
        with ending_at(time.monotonic() + most):
            seconds = engine.prepared.best_seconds(engine.evidence(given))
    except TooLarge:
        return ""
    except OutOfTime:
        return f"The plan of an exact answer takes longer than {most:.3g} seconds."
    return f"An exact answer would take about {seconds:.3g} seconds." if seconds > min(LONG, most) else ""


@takes_joints
def searched(
    engine: Engine,
    method: Assigns | None,
    *,
    given: Given,
    over: Asked,
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
    k = whole("k", k, least=1)
    evidence = engine.evidence(given)
    listed, asked = [] if over is None else list(engine.positions(over)), _asked(engine, evidence, over)
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
    if options.start is not None:
        task = task.again(start=_start(options.start, engine, task))
    try:
        found = assigned(method, task)
    except ImpossibleEvidence as error:
        raise _named(engine, evidence, error) from None
    known = {v: evidence.codes[v] for v in listed if v in evidence.codes}
    return _result(engine, method, evidence, task, _explained(found, why), known)


def _asked(engine: Engine, evidence: Evidence, over: Asked) -> list[int] | None:
    """The positions of what is asked for and not observed; None for all that is not observed."""
    if over is None:
        return None
    asked = list(without(engine.positions(over), evidence.observed))
    return None if len(asked) == len(engine.model.variables) - len(evidence.observed) else asked


@takes_joints
def _is_all(engine: Engine, *, given: Given, over: Asked) -> bool:
    """Whether all that is not observed is asked for."""
    return over is None or _asked(engine, engine.evidence(given), over) is None


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
        free = without(range(problem.num_visible) if over is None else over, evidence.observed)
        if over is None and not prepared.has_maxima(evidence, free, MOST_FILLED):
            raise TooLarge(f"A search needs factors for maxima, which some CPDs have only as {TOO_LARGE}")
        made = prepared.for_best(evidence, free).problem
        if over is None:
            _check_maxima(made)
        return made
    model = engine.model
    return model.as_written() if isinstance(model, NamedModel) and not engine.joints else problem


def _check_maxima(problem: Problem) -> None:
    """Raise if some auxiliaries are to be summed out, which a search for assignments of everything would maximize."""
    summed = [v for v in range(problem.num_visible, len(problem.variables)) if v not in problem.functions]
    if summed:
        raise TooLarge(
            f"A search needs factors for maxima, which {problem.variables[summed[0]].base!r} has only as {TOO_LARGE}"
        )
    if not problem.is_built and (size := _num_entries(problem)) > MOST_FILLED:
        raise TooLarge(
            f"A search needs tables of {size:.3g} entries in all, of functions of many variables; at most "
            f"{MOST_FILLED:.3g} are filled. Observe more variables."
        )


def _num_entries(problem: Problem) -> float:
    """The entries of all tables."""
    starts, places = problem.scopes
    logs = np.concatenate([[0.0], np.cumsum(np.log2(problem.variables.cards[places]))])
    return float(np.exp2(logs[starts[1:]] - logs[starts[:-1]]).sum())


def _named(engine: Engine, evidence: Evidence, error: ImpossibleEvidence) -> ImpossibleEvidence:
    """The error with the findings that contradict each other, if exact inference can tell them."""
    try:
        return impossible(engine.prepared, evidence)
    except TooLarge:
        return error


def _start(start: object, engine: Engine, task: AssignmentTask) -> Ints:
    """The codes to begin with: of a mapping from names to states, of an earlier result, or of arrays of codes."""
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
