"""Learned structures: the task of a method, and its result."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from sepset.base.axes import axes_of, count_steps
from sepset.base.display import Report, Shown, html_table, shortened
from sepset.base.lazy import lazy
from sepset.base.text import described, facts_of, listing
from sepset.base.threads import ending_at, num_threads, require_time
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable, ScopeError
from sepset.graphs.base import Graph
from sepset.graphs.equivalence import consistent_extension, cpdag
from sepset.graphs.graph import DAG, MixedGraph
from sepset.graphs.pag import PAG
from sepset.graphs.pictures.picture import Picture, with_picture
from sepset.graphs.pictures.sketch import Sketch, Sketched
from sepset.inference.checkpoint import Codec
from sepset.inference.iterate import Run, Until, as_until, deadline, run
from sepset.inference.result import Guarantee, Guarantees, IterativeResult, Status
from sepset.learning.fit import FitResult, LearningMethod, fit as fit_parameters
from sepset.learning.incomplete.checkpoint import fingerprint, seed_of
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Allowed, Constraints
from sepset.learning.structure.familyscores import FamilyScore, Scorer, ShapesCPDs
from sepset.learning.structure.structureprior import StructurePrior
from sepset.models.bayesnet import BayesNet

G = TypeVar("G", bound=Graph | PAG)

NO_LIMIT = Until(steps=None, tolerance=None, seconds=float("inf"))
"""When searches that end by themselves are stopped."""


@dataclass(frozen=True, eq=False)
class StructureTask:
    """Columns whose structure is wanted, and all that a method needs to find it.

    Attributes:
        columns: the data.
        score: what is maximized; None for methods that need none.
        structure_prior: added to the score.
        constraints: what every structure respects.
        start: a graph to begin with.
        rng: the source of randomness.
        until: when to stop; the method's own default where None.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that iterative methods keep their state in.
        threads: their number; one per processor by default. Answers do not depend on it.
    """

    columns: Columns
    score: FamilyScore | None = None
    structure_prior: StructurePrior | None = None
    constraints: Constraints = field(default_factory=Constraints)
    start: Graph | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)
    until: object = None
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        as_until(self.until)
        num_threads(self.threads)
        if not isinstance(self.constraints, Constraints):
            raise ArgumentError(
                f"constraints= takes Constraints(required=, forbidden=, tiers=, ...); found {self.constraints!r}."
            )
        prior = self.structure_prior
        if prior is not None and (isinstance(prior, type) or not isinstance(prior, StructurePrior)):
            raise ArgumentError(
                f"structure_prior= takes a prior over structures such as EdgePenalty(0.5); found {prior!r}."
            )

    @lazy
    def allowed(self) -> Allowed:
        """The constraints by the numbers of columns."""
        return self.constraints.bind(self.columns.names)

    @property
    def _is_free(self) -> bool:
        """Whether there are no constraints, so that a graph is scored without their tables of all pairs of columns."""
        return self.constraints == Constraints()

    @lazy
    def scorer(self) -> Scorer:
        """The scores of families."""
        if self.score is None:
            raise NotApplicable("This method needs score=, such as BIC() or BDeu(10).")
        scorer = Scorer(self.columns, self.score, self.structure_prior, threads=self.threads)
        self._require_observed(scorer)
        return scorer

    def _require_observed(self, scorer: Scorer) -> None:
        """Raise where no row observes a family of required edges."""
        if self.columns.missing != "available" or self._is_free:
            return
        for child, name in enumerate(self.columns.names):
            parents = np.flatnonzero(self.allowed.required[:, child]).tolist()
            if parents and scorer.family(child, parents) == -math.inf:
                others = listing([self.columns.names[p] for p in parents])
                raise DataError(
                    f"The constraints require edges from {others} to {name!r}, and too few rows observe them together. "
                    "Drop these constraints, or use StructuralEM(), which counts rows with missing cells."
                )

    def start_parents(self) -> list[list[int]]:
        """The parents of each column in the graph to begin with; only the required ones without one."""
        n = len(self.columns)
        if self.start is None:
            return [np.flatnonzero(self.allowed.required[:, child]).tolist() for child in range(n)]
        dag = self.start if isinstance(self.start, DAG) else consistent_extension(self.start)
        names = self.columns.names
        if set(dag.nodes) != set(names):
            differing = sorted(set(dag.nodes) ^ set(names))
            raise ScopeError(f"start= needs one node per column; only one of the two has {listing(differing)}.")
        place = {name: k for k, name in enumerate(names)}
        parents = [sorted(place[p] for p in dag.parents(name)) for name in names]
        if not (self._is_free or self.allowed.permits(parents)):
            raise ModelError(
                "start= breaks the constraints. Give a graph that has all required and no forbidden edges."
            )
        return parents

    def about(self, method: object) -> str:
        """The method and the task in words, with fingerprints of everything that a result depends on."""
        prints = {
            "settings": fingerprint((type(method).__name__, method, self.score, self.structure_prior)),
            "constraints": fingerprint((self.constraints, self.start)),
            "seed": fingerprint(seed_of(self.rng)),
            "rows": fingerprint((self.columns.dataset, self.columns.intervened, self.columns.missing)),
        }
        listed = ", ".join(f"{what} {value}" for what, value in prints.items())
        return f"{method!r} with {self.score!r} on {self.columns!r} ({listed})"

    def require_equivalent(self, method: str, *, interventions: bool = False) -> None:
        """Raise unless the score is the same for all members of an equivalence class.

        Args:
            method: its name.
            interventions: whether its classes are those that interventions leave.
        """
        if self.columns.has_missing and not self.scorer.same_rows:
            raise NotApplicable(
                f'{method} searches equivalence classes; with missing="available" their members count different rows '
                f"and have different scores. Use HillClimb(), or StructuralEM({method}())."
            )
        if self.columns.intervened is not None and not interventions:
            raise NotApplicable(
                f"{method} needs rows without interventions: with them, equivalent structures have different scores. "
                "Use GIES(), HillClimb(), Branching() for trees, or leave those rows out."
            )
        if not self.scorer.is_equivalent_unset:
            raise NotApplicable(
                f"{method} searches equivalence classes and needs a score that is equal on all their members; "
                f"{self._unequal()}"
            )

    def _unequal(self) -> str:
        """The reason why scores of equivalent structures differ, and the way out."""
        if self.structure_prior is not None and not self.structure_prior.is_equivalent:
            return f"{self.structure_prior!r} is not. Use EdgePenalty(), or HillClimb()."
        if self.score is not None and self.score.is_equivalent:
            return f"{self.score!r} of mixed columns is not. Use HillClimb(), or discretize the columns of numbers."
        return f"{self.score!r} is not. Use BIC(), BDeu(10), or HillClimb()."


@runtime_checkable
class StructureMethod(Protocol[G]):
    """A frozen value of settings that can learn a structure."""

    def learn(self, task: StructureTask) -> Learned[G]:
        """The learned structure."""


@runtime_checkable
class TakesMissing(Protocol):
    """A method that learns from rows with missing cells, and about variables without a column.

    Attributes:
        takes_missing: whether it does.
    """

    @property
    def takes_missing(self) -> bool:
        """Whether it does."""


def takes_missing(method: object) -> bool:
    """Whether a method learns from rows with missing cells."""
    return isinstance(method, TakesMissing) and method.takes_missing


@runtime_checkable
class LimitsColumns(Protocol):
    """A method for few columns, which are counted before rows are read."""

    def check_columns(self, num_columns: int) -> None:
        """Raise `TooLarge` if there are too many."""


@runtime_checkable
class TakesCollinear(Protocol):
    """A method that learns from columns of numbers of which some are linear functions of others.

    Attributes:
        takes_collinear: whether it does.
    """

    @property
    def takes_collinear(self) -> bool:
        """Whether it does."""


def takes_collinear(method: object) -> bool:
    """Whether a method learns from columns of numbers that are linear functions of others."""
    return isinstance(method, TakesCollinear) and method.takes_collinear


@dataclass(frozen=True, eq=False, repr=False)
class Learned(Sketched, Report, IterativeResult, Generic[G]):
    r"""A learned structure, how good it is, and how it was found.

    Attributes:
        graph: the structure, of the kind that the method learns.
        score: its score, the structure prior included; NaN where none was used.
        bound: an upper bound on the score of any structure that respects the constraints; infinity if none is known.
        num_scores: how many scores of families were computed.
        num_tests: how many independence tests were made.
        trace: the score after each step.
        shapes: the CPDs of families, where they are not tables.
        guarantees: what is known about the structure.

    >>> import sepset as ss
    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 1, 1] + [0, 0, 1, 1] * 8}
    >>> found = ss.learn_structure(rows, method=ss.HillClimb())
    >>> found.graph.edges, round(found.score, 3), found.guarantees["structure"]
    ((('a', 'b'),), -34.191, LOCAL_OPTIMUM)
    """

    graph: G
    columns: Columns = field(kw_only=True)
    score: float = field(default=math.nan, kw_only=True)
    bound: float = field(default=math.inf, kw_only=True)
    num_scores: int = field(default=0, kw_only=True)
    num_tests: int = field(default=0, kw_only=True)
    shapes: ShapesCPDs | None = field(default=None, kw_only=True)
    guarantees: Guarantees = field(default_factory=lambda: {"structure": Guarantee.HEURISTIC}, kw_only=True)

    @property
    def gap(self) -> float:
        """The difference between the bound and the score: zero if the structure is proved to be optimal."""
        return self.bound - self.score

    @property
    def notes(self) -> tuple[str, ...]:
        """The columns whose kind was inferred and could also be meant otherwise."""
        return self.columns.dataset.notes

    @lazy
    def dag(self) -> DAG:
        """The graph, or a member of the class that it stands for."""
        graph: Graph | PAG = self.graph
        if isinstance(graph, PAG):
            raise NotApplicable("A PAG allows for unobserved variables, and stands for no single DAG of the columns.")
        return graph if isinstance(graph, DAG) else consistent_extension(graph)

    @lazy
    def cpdag(self) -> MixedGraph:
        """The class PDAG of the graph."""
        return cpdag(self.dag)

    @lazy
    def template(self) -> DAG | BayesNet:
        """The graph; or the network of the CPDs that its score gives to families, before parameters are fitted."""
        if self.shapes is None:
            return self.dag
        names, cpds = self.columns.names, []
        for child, name in enumerate(names):
            parents = tuple(k for k, other in enumerate(names) if other in self.dag.parents(name))
            cpds.append(self.shapes.cpd(child, parents, self.columns))
        return BayesNet(*cpds)

    def fit(self, method: LearningMethod | None = None, **options: Any) -> FitResult:
        """The network with the learned structure and parameters from the same rows.

        Rows in which a variable was set by an intervention do not count in its own CPD.
        CPDs are tables and linear Gaussians, unless the score is one of families of another form: then those.

        Args:
            method: how to estimate them; by default maximum likelihood, with uniform distributions in contexts without
                rows, by EM where cells are missing. `Bayes(BDeu(10))` has posterior means, and no zeros.
            options: as `fit` takes them: seed, until, progress, checkpoint.
        """
        from sepset.learning.estimation.estimators import MLE
        from sepset.learning.incomplete.em import EM

        default = EM() if self.columns.has_missing else MLE(unseen="uniform")
        found: FitResult = fit_parameters(
            self.template,
            self.columns.dataset,
            default if method is None else method,
            is_set=self.columns.is_set,
            **options,
        )
        return found

    def plot(self, ax: Any = None) -> Any:
        """The matplotlib axes with a picture of the graph in layers.

        Args:
            ax: the axes to draw on; the current ones by default.
        """
        return Picture(self._sketch()).plot(ax)

    def plot_trace(self, ax: Any = None) -> Any:
        """The matplotlib axes with the score after each step.

        Args:
            ax: the axes to draw on; the current ones by default.
        """
        axes = axes_of(ax)
        axes.plot(np.arange(1, len(self.trace) + 1), self.trace)
        axes.set(xlabel="step", ylabel="score", title=f"{type(self.method).__name__}: {self.status.value}")
        count_steps(axes)
        return axes

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "structure", repr(self.graph)
        yield "method", described(self.method)
        yield "status", self.status.value
        yield "rows", f"{self.columns.total:,.10g}"
        if not math.isnan(self.score):
            yield "score", f"{self.score:.10g}"
        if self.bound < math.inf:
            yield "bound", f"{self.bound:.10g} (gap {self.gap:.3g})"
        if self.num_scores:
            yield "families scored", f"{self.num_scores:,}"
        if self.num_tests:
            yield "independence tests", f"{self.num_tests:,}"
        for part, guarantee in self.guarantees.items():
            yield "guarantee" if part == "structure" else part, guarantee.value
        yield from facts_of(self.info)
        for note in self.notes:
            yield "note", note

    def __repr__(self) -> str:
        score = "" if math.isnan(self.score) else f"; score {self.score:.7g}"
        return f"Learned({self.graph!r}; {described(self.method)}{score}; {self.status.value})"

    def _shown(self) -> Shown:
        return Shown((), list(self._facts()), "Learned")

    def _sketch(self) -> Sketch:
        return self.graph._sketch()

    def _repr_html_(self) -> str:
        return with_picture(html_table(shortened(self._shown())), len(self.graph), self)


def iterated(
    method: Any, task: StructureTask, codec: Codec[Any], *, until: Until = NO_LIMIT, settings: object = None
) -> Run[Any]:
    """The run of an iterative method on a task, by the task's own rules.

    Args:
        method: the method to iterate.
        task: what it works on.
        codec: converts its states for a checkpoint.
        until: when it stops, where the task does not say.
        settings: the method as a checkpoint knows it, if that is not `method` itself.
    """
    rule = as_until(task.until, until)
    return run(
        method if rule.seconds is None else _Timed(method, deadline(rule)),
        task,
        rng=task.rng,
        until=rule,
        progress=task.progress,
        checkpoint=task.checkpoint,
        about="" if task.checkpoint is None else task.about(method if settings is None else settings),
        codec=codec,
    )


class _Timed:
    """A method whose steps end with the time, and begin in any case.

    Args:
        method: the method.
        end: on the clock of `time.monotonic`.
    """

    def __init__(self, method: Any, end: float) -> None:
        self._method, self._end = method, end

    def init(self, task: StructureTask, rng: np.random.Generator) -> Any:
        """The first state."""
        return self._method.init(task, rng)

    def step(self, task: StructureTask, state: Any, rng: np.random.Generator) -> Any:
        """A step, cut short at the end of the time."""
        with ending_at(self._end):
            return self._method.step(task, state, rng)


def part(found: Learned[G]) -> Learned[G]:
    """The result of a search inside another one; if Ctrl-C or the time ended it, that ends the one around it too."""
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if found.status is Status.TIME_LIMIT:
        require_time()
    return found


def proved(task: StructureTask, method: object, graph: G, *, score: float, over: str) -> Learned[G]:
    """The structure of largest score among some, which bounds all of them.

    Args:
        task: the problem.
        method: what solved it.
        graph: the best structure.
        score: of it.
        over: the structures among which none is better, in words.
    """
    return Learned(
        graph,
        columns=task.columns,
        score=score,
        bound=score,
        num_scores=task.scorer.num_scores,
        method=method,
        guarantees={"structure": Guarantee.EXACT},
        info={"bound_over": over},
    )


def unproved(found: Learned[G], status: Status) -> Learned[G]:
    """A structure that nothing is known about, since Ctrl-C or the time came before all others were compared."""
    return replace(found, bound=math.inf, status=status, guarantees={"structure": Guarantee.HEURISTIC}, info={})


def dag_of(columns: Columns, parents_of: Sequence[Sequence[int]]) -> DAG:
    """The graph with these parents of each column."""
    names = columns.names
    edges = [(names[p], names[child]) for child, parents in enumerate(parents_of) for p in parents]
    return DAG(names, edges)
