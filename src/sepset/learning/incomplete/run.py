"""What the EM algorithms share: points with their statistics, starting points and short runs, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from sepset.base.checks import whole
from sepset.cpds.parameters import PriorTerm, check_parameterization
from sepset.errors import ImpossibleEvidence, NotClosed
from sepset.inference.checkpoint import tagged
from sepset.inference.iterate import Info, Interrupted, Run, Until, as_until, iterate
from sepset.inference.result import Guarantee, Status
from sepset.learning.blocks import FlatStatistics
from sepset.learning.coverage import Fragmentation
from sepset.learning.fit import Fit
from sepset.learning.incomplete.checkpoint import PointCodec, about
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.starts import Start, start_model
from sepset.learning.optimize.objective import FAILURES, Objective
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet

SHORT_RUN = 10
"""How many steps each starting point gets where there are several."""

RESTARTS = 5
"""How many starting points networks with hidden variables get."""


@tagged("point")
@dataclass(frozen=True, eq=False)
class Point:
    """Parameters, with what an E-step found at them.

    Attributes:
        model: the network.
        statistics: expected (or completed) at the network's parameters.
        log_likelihood: of the rows, completed where the method completes them.
        objective: the log-likelihood with the log prior.
        memory: what a method needs to remember beside that.
        is_exact: whether the log-likelihood is that of the rows as given.
        watched: the log-likelihood of held-out rows, where there are some.
    """

    model: BayesNet
    statistics: FlatStatistics = field(repr=False)
    log_likelihood: float
    objective: float
    memory: Any = field(default=(), repr=False)
    is_exact: bool = field(default=False, repr=False)
    watched: float = field(default=-np.inf, repr=False)

    def info(self, before: Point, *, is_monotone: bool = True) -> Info:
        """What a step from another point achieved; a fall is a change, too, where steps are not monotone."""
        change = (self.objective - before.objective) / max(abs(self.objective), 1e-300)
        return Info(self.objective, change if is_monotone else abs(change))


class Climber(Protocol):
    """An EM algorithm."""

    @property
    def prior(self) -> object:
        """What to add to the counts."""

    @property
    def parameterization(self) -> Any:
        """Where modes are taken."""

    @property
    def restarts(self) -> int | None:
        """How many starting points there are."""

    @property
    def start(self) -> Start | BayesNet:
        """Which parameters to begin at."""

    @property
    def is_monotone(self) -> bool:
        """Whether no step lowers the objective."""

    def init(self, task: Ascent, rng: np.random.Generator) -> Point:
        """The point to begin at."""

    def first(self, task: Ascent, model: BayesNet) -> Point:
        """The point at some parameters."""

    def step(self, task: Ascent, state: Point, rng: np.random.Generator) -> tuple[Point, Info]:
        """The next point."""

    def facts(self, task: Ascent, point: Point) -> Mapping[str, object]:
        """What else a reader of the result may want to know of the last point."""


@dataclass(frozen=True, eq=False)
class Ascent:
    """A task with its E-step and its prior."""

    task: Task
    expectation: Expectation = field(repr=False)
    terms: tuple[PriorTerm | None, ...] = field(repr=False)

    @classmethod
    def of(cls, task: Task, prior: object, parameterization: str, threads: int | None = None) -> Ascent:
        """The task, planned."""
        check_parameterization(parameterization)
        expectation = Expectation.of(task, threads)
        return cls(task, expectation, expectation.blocks.prior_terms(prior, is_theta=parameterization == "theta"))

    def point(self, model: BayesNet, *, is_hard: bool = False, memory: Any = ()) -> Point:
        """The point at these parameters."""
        found = self.expectation.complete(model) if is_hard else self.expectation.expect(model)
        return self.at(model, found.statistics, found.log_likelihood, memory=memory, is_exact=not is_hard)

    def at(self, model: BayesNet, statistics: FlatStatistics, log_likelihood: float, **more: Any) -> Point:
        """The point with these statistics; the objective counts the prior."""
        objective = log_likelihood + self.expectation.blocks.log_prior(model, self.terms)
        return Point(model, statistics, log_likelihood, objective, **more)

    @property
    def surface(self) -> Objective[Point]:
        """The objective over parameters without constraints."""
        return Objective.of(self.expectation.blocks, self.terms, self.point)

    def begin(self, method: Climber, rng: np.random.Generator) -> Point:
        """The best starting point after short runs; the first is as asked, the others are drawn."""
        number = self.num_starts(method)
        best, failure = None, None
        for i, own in enumerate(rng.spawn(number)):
            try:
                best = _better(best, self._short_run(method, own, i, SHORT_RUN if number > 1 else 0))
            except FAILURES as error:
                failure = error
            except KeyboardInterrupt as cut:
                best = _better(best, cut.state) if isinstance(cut, Interrupted) else best
                if best is None:
                    raise
                raise Interrupted(best) from None
        if best is None:
            assert failure is not None
            raise failure
        return best

    def _short_run(self, method: Climber, rng: np.random.Generator, number: int, steps: int) -> Point:
        start: Start | BayesNet = method.start if number == 0 else ("data" if number % 2 else "random")
        point = method.first(self, start_model(self.task, self.expectation, start, rng, self.terms))
        try:
            for _ in range(steps):
                point, _ = method.step(self, point, rng)
        except KeyboardInterrupt:
            raise Interrupted(point) from None
        return point

    def num_starts(self, method: Climber) -> int:
        """How many starting points the method asks for."""
        if method.restarts is None:
            return RESTARTS if self.hidden and method.start in ("auto", "data", "random") else 1
        return whole("restarts", method.restarts, least=1, otherwise="None")

    @property
    def hidden(self) -> tuple[str, ...]:
        """The variables without any cell."""
        rows = self.task.dataset.num_rows
        return tuple(name for name, missing in self.task.dataset.num_missing.items() if rows and missing == rows)


def _better(best: Point | None, found: Point) -> Point:
    return found if best is None or found.objective > best.objective else best


class Climbing:
    """What the methods have in common: how they read, fit and begin."""

    __slots__ = ()

    def __repr__(self) -> str:
        return settings(self)

    def fit(self: Climber, task: Task) -> Fit:
        """The network at the stationary point that the iteration reaches."""
        return climb(self, task)

    def init(self: Climber, task: Ascent, rng: np.random.Generator) -> Point:
        """The best of the starting points after short runs."""
        return task.begin(self, rng)

    @property
    def is_monotone(self) -> bool:
        """Whether no step lowers the objective."""
        return True

    def facts(self, task: Ascent, point: Point) -> Mapping[str, object]:
        """Nothing."""
        return {}


def settings(method: Any) -> str:
    """How a method reads: its name, and the settings that are not the default.

    >>> @dataclass(frozen=True, repr=False)
    ... class Some:
    ...     prior: object = None
    ...     restarts: int = 1
    >>> settings(Some(restarts=3))
    'Some(restarts=3)'
    """
    shown = [(f.name, getattr(method, f.name)) for f in fields(method) if getattr(method, f.name) is not f.default]
    return f"{type(method).__name__}({', '.join(f'{name}={_brief(value)}' for name, value in shown)})"


def _brief(value: object) -> str:
    """How a setting reads; frames and mappings of columns only by their type."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"<{type(value).__name__}>"


def climb(method: Climber, task: Task) -> Fit:
    """The fit of a task by an EM algorithm."""
    ascent = Ascent.of(task, method.prior, method.parameterization, getattr(method, "threads", None))
    try:
        run = iterate(
            Watched.of(method, task),
            ascent,
            rng=task.rng,
            until=as_until(task.until, Until(steps=1000, tolerance=1e-8)),
            progress=task.progress,
            checkpoint=task.checkpoint,
            about=about(method, task, ascent.terms),
            codec=PointCodec(ascent.expectation.blocks),
        )
    except (NotClosed, np.linalg.LinAlgError) as error:
        raise NotClosed(f"{method!r} cannot go on: {error}") from error
    return result(method, ascent, run)


@dataclass(frozen=True, eq=False)
class Watched:
    """A method that looks at held-out rows after each step, and ends before the one that lowers their log-likelihood.

    The state remembers how likely they were, so that a run that is resumed ends where it would have.
    """

    method: Climber
    rows: Expectation = field(repr=False)

    @classmethod
    def of(cls, method: Climber, task: Task) -> Climber | Watched:
        """The method itself, where it has no rows to watch."""
        holdout = getattr(method, "holdout", None)
        return method if holdout is None else cls(method, Expectation.of(Task(task.template, holdout)))

    def init(self, task: Ascent, rng: np.random.Generator) -> Point:
        """The method's own beginning."""
        point = self.method.init(task, rng)
        return replace(point, watched=self._score(point.model))

    def step(self, task: Ascent, state: Point, rng: np.random.Generator) -> tuple[Point, Info]:
        """The method's own step, or none where it would lower the log-likelihood of the held-out rows."""
        new, info = self.method.step(task, state, rng)
        score = self._score(new.model)
        if score < state.watched:
            return state, Info(state.objective, 0.0, is_done=True, status=Status.COMPLETED)
        return replace(new, watched=score), info

    def _score(self, model: BayesNet) -> float:
        try:
            return self.rows.expect(model).log_likelihood
        except ImpossibleEvidence:
            return -np.inf


def result(method: Climber, ascent: Ascent, run: Run[Point]) -> Fit:
    """The fit that a run amounts to."""
    weights = ascent.expectation.weights
    last = run.state if run.state.is_exact else ascent.point(run.state.model)
    is_stationary = run.status is Status.CONVERGED and method.is_monotone
    info: dict[str, object] = {"seconds": round(run.seconds, 3), "different rows": len(weights)}
    if ascent.hidden:
        info["hidden"] = ", ".join(ascent.hidden)
    if ascent.num_starts(method) > 1:
        info["starting points"] = ascent.num_starts(method)
    return Fit(
        last.model,
        last.log_likelihood,
        method=method,
        status=run.status,
        trace=run.trace,
        state=run,
        num_rows=float(weights.sum()),
        guarantees={"parameters": Guarantee.STATIONARY if is_stationary else Guarantee.HEURISTIC},
        info={**info, **method.facts(ascent, last)},
        fragmentation=Fragmentation.expected(ascent.expectation.blocks, last.statistics),
    )
