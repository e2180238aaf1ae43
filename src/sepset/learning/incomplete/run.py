"""The iteration that all methods for incomplete rows share: start, step, stop early, and read the fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from sepset.base.checks import one_of, whole
from sepset.base.foreign import often
from sepset.base.lazy import lazy
from sepset.base.progress import Bar
from sepset.base.text import listing, settings
from sepset.base.threads import num_threads
from sepset.cpds.parameters import Parameterization, PriorTerm
from sepset.errors import ImpossibleEvidence, NotClosed
from sepset.graphs.graph import DAG
from sepset.inference.checkpoint import tagged
from sepset.inference.iterate import Info, Interrupted, Until, as_until, run
from sepset.inference.method import Method
from sepset.inference.result import Guarantee, Guarantees, Status
from sepset.learning.blocks import FlatStatistics
from sepset.learning.coverage import CoverageResult
from sepset.learning.fit import FitResult
from sepset.learning.incomplete.checkpoint import IterateCodec, about
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.foresight import refuse_rows
from sepset.learning.incomplete.starts import Start, start_model, symmetric
from sepset.learning.optimize.objective import FAILURES, Objective
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet

SHORT_RUN = 10
"""The number of steps from each starting point where there are several."""

RESTARTS = 5
"""The number of starting points for networks with hidden variables."""

DEFAULT_UNTIL = Until(steps=1000, tolerance=1e-8)
"""When an iteration stops where nothing else is asked for."""


@tagged("iterate")
@dataclass(frozen=True, eq=False)
class Iterate:
    """Parameters, with what an E-step found at them.

    Attributes:
        model: the network.
        statistics: expected (or completed) at the network's parameters.
        log_likelihood: of the rows, completed where the method completes them.
        objective: the log-likelihood with the log prior.
        memory: what a method needs to remember in addition.
        is_exact: whether the log-likelihood is that of the rows as given.
        held_out: the log-likelihood of held-out rows, where there are some.
    """

    model: BayesNet
    statistics: FlatStatistics = field(repr=False)
    log_likelihood: float
    objective: float
    memory: Any = field(default=(), repr=False)
    is_exact: bool = field(default=False, repr=False)
    held_out: float = field(default=-np.inf, repr=False)


@dataclass(frozen=True, eq=False)
class EMTask:
    """A task with its E-step and its prior: what a method needs to evaluate parameters."""

    task: Task
    expectation: Expectation = field(repr=False)
    terms: tuple[PriorTerm | None, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        task: Task,
        prior: object = None,
        parameterization: str = "softmax",
        *,
        inference: Method | None = None,
        threads: int | None = None,
    ) -> EMTask:
        """The task, planned."""
        expectation = Expectation.of(task, inference=inference, threads=threads)
        return cls(task, expectation, expectation.blocks.prior_terms(prior, is_theta=parameterization == "theta"))

    def evaluate(self, model: BayesNet, *, is_hard: bool = False, memory: Any = ()) -> Iterate:
        """The iterate at these parameters, by an E-step or by completing the rows."""
        found = self.expectation.complete(model) if is_hard else self.expectation.expect(model)
        return self.iterate(model, found.statistics, found.log_likelihood, memory=memory, is_exact=not is_hard)

    def iterate(self, model: BayesNet, statistics: FlatStatistics, log_likelihood: float, **more: Any) -> Iterate:
        """The iterate with these statistics; the objective includes the prior."""
        objective = log_likelihood + self.expectation.blocks.log_prior(model, self.terms)
        return Iterate(model, statistics, log_likelihood, objective, **more)

    def maximize(self, model: BayesNet, statistics: FlatStatistics) -> BayesNet:
        """The M-step."""
        return self.expectation.families.maximize(model, statistics, self.terms)

    @property
    def objective(self) -> Objective[Iterate]:
        """The objective over parameters without constraints."""
        return Objective.of(self.expectation.blocks, self.terms, self.evaluate)

    @lazy
    def hidden(self) -> tuple[str, ...]:
        """The variables without any cell."""
        rows, missing = self.task.dataset.num_rows, self.task.dataset.num_missing
        return tuple([name for name, number in missing.items() if number == rows]) if rows else ()


class IterativeEstimator:
    """A method that raises the likelihood of incomplete rows step by step.

    Methods are frozen dataclasses of settings that define `first` and `step`.
    """

    __slots__ = ()

    prior: object
    parameterization: Parameterization
    restarts: int | None
    start: Start | BayesNet
    inference: Method | None
    holdout: object = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.restarts is not None:
            whole("restarts", self.restarts, least=1, otherwise="None")
        one_of("parameterization", self.parameterization, get_args(Parameterization))
        if self.threads is not None:
            num_threads(self.threads)

    def check_graph(self, dag: DAG, data: object, known: Iterable[str]) -> None:
        """Raise before columns are coded if the sums over a row's missing cells are hopeless whatever its states."""
        if self.inference is None:
            refuse_rows(dag, data, known)

    def fit(self, task: Task) -> FitResult:
        """The network at the stationary point that the iteration reaches."""
        own = EMTask.of(task, self.prior, self.parameterization, inference=self.inference, threads=self.threads)
        try:
            outcome = run(
                self if self.holdout is None else EarlyStopping.of(self, task),
                own,
                rng=task.rng,
                until=as_until(task.until, DEFAULT_UNTIL),
                progress=task.progress,
                checkpoint=task.checkpoint,
                about="" if task.checkpoint is None else about(self, task, own.terms),
                codec=IterateCodec(own.expectation.blocks),
            )
        except (NotClosed, np.linalg.LinAlgError) as error:
            raise NotClosed(f"{self!r} cannot go on: {error}") from error
        return outcome.result(self, own)

    @often
    def init(self, task: EMTask, rng: np.random.Generator) -> Iterate:
        """The best starting point after short runs; the first is as asked, the others are drawn."""
        number = self.num_starts(task)
        best: Iterate | None = None
        failure: Exception | None = None
        for i, own in enumerate(rng.spawn(number)):
            try:
                best = _better(best, self._short_run(task, own, i, SHORT_RUN if number > 1 else 0))
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

    def _short_run(self, task: EMTask, rng: np.random.Generator, number: int, steps: int) -> Iterate:
        start: Start | BayesNet = self.start if number == 0 else ("data" if number % 2 else "random")
        state = self.first(task, start_model(task.task, task.expectation, start, rng, task.terms))
        try:
            for done in range(steps):
                Bar.note(f"start {number + 1}, step {done + 1} of {steps}: {state.objective:.8g}")
                state, _ = self.step(task, state, rng)
        except KeyboardInterrupt:
            raise Interrupted(state) from None
        return state

    @often
    def num_starts(self, task: EMTask) -> int:
        """The number of starting points."""
        if self.restarts is None:
            return RESTARTS if task.hidden and self.start in ("auto", "data", "random") else 1
        return self.restarts

    @often
    def first(self, task: EMTask, model: BayesNet) -> Iterate:
        """The iterate at some parameters."""
        return task.evaluate(model)

    @often
    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """The next iterate, and what the step achieved."""
        raise NotImplementedError

    @property
    def uses_rows(self) -> bool:
        """Whether each M-step estimates regressions that miss no cell from rows."""
        return True

    @property
    def is_monotone(self) -> bool:
        """Whether no step lowers the objective."""
        return True

    @often
    def info(self, task: EMTask, state: Iterate, before: Iterate) -> Info:
        """The objective and its relative change; where steps may fall, a fall is a change, too."""
        change = (state.objective - before.objective) / max(abs(state.objective), 1e-300)
        rises = self.is_monotone and task.expectation.is_exact
        return Info(state.objective, change if rises else abs(change))

    @often
    def read(self, task: EMTask, state: Iterate) -> FitResult:
        """The fit at an iterate."""
        last = state if state.is_exact else task.evaluate(state.model)
        weights = task.expectation.weights
        lost = task.expectation.families.lost(last.model, last.statistics, uses_rows=self.uses_rows)
        digits: Guarantees = {"parameters": Guarantee.ESTIMATE} if lost else {}
        told = {"relative_error": lost} if lost else {}
        return FitResult(
            last.model,
            last.log_likelihood,
            method=self,
            num_rows=float(weights.sum()),
            guarantees={**self._guarantees(task), **digits},
            info={"different_rows": len(weights), **self._starts(task), **self.facts(task, last), **told},
            coverage=CoverageResult.expected(task.expectation.blocks, last.statistics),
        )

    def _guarantees(self, task: EMTask) -> Guarantees:
        """Monotone steps by exact inference lead to a stationary point; approximate ones promise nothing."""
        if task.expectation.is_exact:
            return {"parameters": Guarantee.STATIONARY if self.is_monotone else Guarantee.HEURISTIC}
        return {"parameters": Guarantee.HEURISTIC, "log_likelihood": task.expectation.engine.promises["log_partition"]}

    def _starts(self, task: EMTask) -> Mapping[str, object]:
        number = self.num_starts(task)
        info: dict[str, object] = {}
        if task.hidden:
            info["hidden"] = ", ".join(task.hidden)
        if number > 1:
            info["starting_points"] = number
        elif saddle := self._saddle(task):
            info["symmetric_start"] = saddle
        return info

    def _saddle(self, task: EMTask) -> str:
        """The report about a symmetric start, if one was asked for: every step treats equal states the same."""
        if self.start in ("auto", "data", "random"):
            return ""
        start = start_model(task.task, task.expectation, self.start, np.random.default_rng(0), task.terms)
        alike = symmetric(task.task, start)
        if not any(alike.values()):
            return ""
        names = listing(name for name, children in alike.items() if children)
        return f"a saddle: no child tells the states of {names} apart, and no step does. Use start='auto' or 'random'."

    @often
    def facts(self, task: EMTask, state: Iterate) -> Mapping[str, object]:
        """More about the last iterate for the reader of a fit; nothing unless a method defines it."""
        return {}

    def __repr__(self) -> str:
        return settings(self)


def _better(best: Iterate | None, found: Iterate) -> Iterate:
    return found if best is None or found.objective > best.objective else best


@dataclass(frozen=True, eq=False)
class EarlyStopping:
    """A method that looks at held-out rows after each step, and ends before the one that lowers their log-likelihood.

    The state remembers that log-likelihood, so that a run that is resumed ends where it would have.
    """

    method: IterativeEstimator
    rows: Expectation = field(repr=False)

    @classmethod
    def of(cls, method: IterativeEstimator, task: Task) -> EarlyStopping:
        """The method with its held-out rows."""
        return cls(method, Expectation.of(Task(task.template, method.holdout), inference=method.inference))

    @often
    def init(self, task: EMTask, rng: np.random.Generator) -> Iterate:
        """The method's own start."""
        state = self.method.init(task, rng)
        return replace(state, held_out=self._log_likelihood(state.model))

    @often
    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """The method's own step, or none where it would lower the log-likelihood of the held-out rows."""
        new, info = self.method.step(task, state, rng)
        found = self._log_likelihood(new.model)
        if found < state.held_out:
            return state, Info(state.objective, 0.0, is_done=True, status=Status.COMPLETED)
        return replace(new, held_out=found), info

    def _log_likelihood(self, model: BayesNet) -> float:
        try:
            return self.rows.expect(model).log_likelihood
        except ImpossibleEvidence:
            return -np.inf
