r"""Structural EM: a structure and its parameters from rows with missing cells, and from variables never observed."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.checks import number, whole
from sepset.errors import DataError, NotApplicable, NotClosed
from sepset.inference.iterate import Info, Interrupted
from sepset.inference.result import Guarantee, Status
from sepset.learning.checkpoints import check_checkpoint
from sepset.learning.estimation.estimators import MLE, Bayes
from sepset.learning.fit import fit as fit_parameters
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.hidden.expectedscores import ExpectedTask, check_expected, is_evidence
from sepset.learning.structure.hidden.learnedbayesnet import LearnedBayesNet
from sepset.learning.structure.hidden.missingcells import Completions
from sepset.learning.structure.hidden.mixedcells import ExpectedColumns, expected_columns
from sepset.learning.structure.hidden.parameters import Arrays, Fitted, Parameters
from sepset.learning.structure.hidden.starts import first_graph, never_observed, perturbed
from sepset.learning.structure.learned import Learned, StructureMethod, StructureTask, dag_of, iterated, part
from sepset.learning.structure.scores.likelihood import PenalizedLikelihood
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.unused import SEARCH_KEEPERS

Parents = list[list[int]]


@dataclass(frozen=True, slots=True)
class State:
    """The state of structural EM: graphs and tables; what an E-step finds there is computed again where absent.

    Attributes:
        parents: of each column now.
        arrays: the parameters of each column now.
        score: of the observed cells.
        is_settled: whether the parameters have converged for this graph.
        best, best_arrays, best_score: the best network of all starts.
        starts: how many starts were made.
        rounds: how many rounds.
        num_scores: how many scores of families were computed.
        num_drawn: the most rows in a round whose completions were drawn.
    """

    parents: Parents
    arrays: list[Arrays]
    score: float
    is_settled: bool = False
    best: Parents = field(default_factory=list)
    best_arrays: list[Arrays] = field(default_factory=list)
    best_score: float = -math.inf
    starts: int = 1
    rounds: int = 0
    num_scores: int = 0
    num_drawn: int = 0
    fitted: Fitted | None = field(default=None, repr=False, compare=False)


class StateCodec:
    """States as plain values."""

    def pack(self, state: State) -> Any:
        """The plain values."""
        counters = (state.is_settled, state.starts, state.rounds, state.num_scores, state.num_drawn)
        return {
            "graph": (state.parents, state.arrays, state.score),
            "best": (state.best, state.best_arrays, state.best_score),
            "counters": counters,
        }

    def unpack(self, packed: Any) -> State:
        """The state from its plain values."""
        (parents, arrays, score), (best, best_arrays, best_score) = packed["graph"], packed["best"]
        settled, starts, rounds, num_scores, num_drawn = packed["counters"]
        return State(
            _numbers(parents), list(arrays), float(score), bool(settled), _numbers(best), list(best_arrays),
            float(best_score), int(starts), int(rounds), int(num_scores), int(num_drawn),
        )  # fmt: skip


def _numbers(parents: Any) -> Parents:
    return [[int(p) for p in given] for given in parents]


@dataclass(frozen=True, slots=True)
class StructuralEM:
    r"""Structure and parameters from incomplete rows: search on expected counts, estimate, and repeat.

    $$\mathcal G^{t+1} = \text{Search}\left(\mathcal G^t, \sum_i \text{FamScore}(X_i \mid \text{Pa}_i : \bar M^t)
    \right), \qquad \bar M^t[\mathbf v] = \sum_m P(\mathbf v \mid \mathbf o[m], \mathcal G^t, \theta^t)$$

    A round takes a few steps of EM for the parameters, completes the missing cells by their posterior, searches with
    the expected counts of all families that the search asks for, and estimates parameters on the new graph. A score of
    the observed cells, `BIC()` or `AIC()`, rises at least as much as the expected score. With `BDeu(10)` or `K2()`
    (Bayesian structural EM) parameters are posterior means, the score is the lower bound of Cheeseman and Stutz on the
    log evidence; steps of EM and moves that would lower it are not made. Rows without any observed cell are left out.
    Complete rows are searched once.

    Columns of numbers have linear Gaussians: their missing cells are replaced by their conditional moments, and all
    completions of the missing states of a row are listed. Their score is a penalized likelihood.

    Variables without a column, given by `variables=`, are hidden; clusters of the rows take their place at first.
    The first graph is `start=`, or has only the required edges and those from hidden variables to what they explain.

    Args:
        search: the search in each round, by scores; from the last graph on.
        em_steps: steps of EM for the parameters in a round.
        restarts: how many times to start again, from the best graph after some random moves.
        draws: completions of a row that has too many to list them. Expected counts are exact but for such rows, and
            the result is heuristic if there are some.
        tolerance: the smallest gain of the expected score, in nats, for which the graph changes.

    Cost: per round that of the search with a few times the rows, and of `em_steps` steps of EM.
    Reference: Friedman (1997, 1998); Koller & Friedman, section 19.4.3.
    Guarantee: score of observed cells never decreases; a local optimum.
    Tested by: learning/structure/hidden/test_structuralem.py::test_the_score_of_observed_cells_never_decreases

    >>> import sepset as ss
    >>> rows = {"rain": [0, 0, 1, 1] * 10, "wet": [0, 0, 1, 1] * 9 + [0, None, 1, None]}
    >>> found = ss.learn_structure(rows, method=StructuralEM())
    >>> found.graph.edges, found.guarantees["structure"]
    ((('rain', 'wet'),), LOCAL_OPTIMUM)
    """

    search: StructureMethod[Any] = field(default_factory=HillClimb)
    _: KW_ONLY
    em_steps: int = 5
    restarts: int = 0
    draws: int = 200
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if isinstance(self.search, type) or not isinstance(self.search, StructureMethod):
            raise NotApplicable(f"StructuralEM(search=) takes a method such as HillClimb(); found {self.search!r}.")
        whole("StructuralEM(em_steps=)", self.em_steps, least=1)
        whole("StructuralEM(restarts=)", self.restarts, least=0)
        whole("StructuralEM(draws=)", self.draws, least=1)
        number("StructuralEM(tolerance=)", self.tolerance, least=0)

    takes_missing = True
    """It does."""

    def learn(self, task: StructureTask) -> LearnedBayesNet:
        """The best network of all starts."""
        _check(task)
        if task.columns.is_complete:
            return self._ordinary(task)
        own = replace(task, columns=_with_cells(task.columns))
        found: LearnedBayesNet = iterated(self, own, StateCodec()).result(self, own)
        return found

    def _ordinary(self, task: StructureTask) -> LearnedBayesNet:
        """The result of the search itself, where no cell is missing."""
        check_checkpoint(task.checkpoint, self.search, SEARCH_KEEPERS)
        found = self.search.learn(task)
        prior = task.score if is_evidence(task.score) else None
        fit = fit_parameters(found.dag, task.columns.dataset, MLE(unseen="uniform") if prior is None else Bayes(prior))
        return LearnedBayesNet(
            found.dag, columns=found.columns, score=found.score, bound=found.bound, num_scores=found.num_scores,
            num_tests=found.num_tests, guarantees=found.guarantees, trace=found.trace, status=found.status,
            state=found.state, info={"search": repr(self.search), **found.info}, method=self, model=fit.model,
            log_likelihood=fit.log_likelihood, parameter_prior=prior,
        )  # fmt: skip

    def init(self, task: StructureTask, rng: np.random.Generator) -> State:
        """The first network."""
        own = np.random.default_rng(int(rng.integers(2**62)))
        parents = first_graph(task, own)
        structure, blank = Parameters.of(task, parents), State(parents, [], -math.inf)
        try:
            return _at(blank, parents, structure.started(own), is_settled=False)
        except Interrupted as cut:
            raise Interrupted(_at(blank, parents, Fitted(structure, cut.state), is_settled=False)) from None

    def step(self, task: StructureTask, state: State, rng: np.random.Generator) -> tuple[State, Info]:
        """One round, or the next start."""
        own = np.random.default_rng(int(rng.integers(2**62)))
        before = state.fitted or Parameters.of(task, state.parents).at(state.arrays)
        fitted = before if state.is_settled else before.better(before.after(self.em_steps))
        expected = _expected(task, state.parents, fitted, own, self.draws)
        found = part(self.search.learn(expected))
        parents = _parents_of(found, expected)
        gain = expected.scorer.total(parents) - expected.scorer.total(state.parents)
        counted = replace(
            state,
            rounds=state.rounds + 1,
            num_scores=state.num_scores + expected.scorer.num_scores,
            num_drawn=max(state.num_drawn, expected.num_drawn if isinstance(expected, ExpectedTask) else 0),
        )
        if gain > self.tolerance:
            moved = _maximized(Parameters.of(task, parents), expected)
            if moved is not None and moved.score >= fitted.score:
                return _reported(_at(counted, parents, moved, is_settled=False))
        if not state.is_settled:
            return _reported(_at(counted, state.parents, fitted.better(fitted.settled()), is_settled=True))
        if state.starts > self.restarts:
            return counted, Info(counted.best_score, 0.0, is_done=True)
        again = perturbed(SearchedGraph(expected.scorer, task.allowed, state.best), own)
        fresh = Parameters.of(task, again).started(own)
        return _reported(_at(replace(counted, starts=state.starts + 1), again, fresh, is_settled=False))

    def read(self, task: StructureTask, state: State) -> LearnedBayesNet:
        """The best network so far."""
        fitted = Parameters.of(task, state.best).at(state.best_arrays)
        guarantee = Guarantee.HEURISTIC if state.num_drawn else Guarantee.LOCAL_OPTIMUM
        info: dict[str, object] = {"rounds": state.rounds, "starts": state.starts, **_hidden(task.columns)}
        if state.num_drawn:
            info["drawn_rows"] = state.num_drawn
        return LearnedBayesNet(
            dag_of(task.columns, state.best), columns=task.columns, score=fitted.score, num_scores=state.num_scores,
            method=self, status=Status.CONVERGED, guarantees={"structure": guarantee}, info=info, model=fitted.model,
            log_likelihood=fitted.log_likelihood, parameter_prior=fitted.parameters.prior,
        )  # fmt: skip


def _check(task: StructureTask) -> None:
    """Raise unless the columns and the score are of the kinds that expected counts are for."""
    columns = task.columns
    if columns.intervened is not None:
        raise NotApplicable("StructuralEM takes no interventions=. Leave those rows out, or complete them first.")
    if task.score is None:
        raise NotApplicable("StructuralEM needs score=, such as BIC() or BDeu(10).")
    if not columns.is_real.any():
        check_expected(task.score, columns)
        return
    empty = columns.is_real & np.isnan(columns.values).all(axis=1)
    if empty.any():
        name = columns.names[int(np.argmax(empty))]
        raise NotApplicable(f"The real column {name!r} has no cell; hidden variables have states. Leave it out.")
    if not isinstance(task.score, PenalizedLikelihood):
        raise NotApplicable(
            f"StructuralEM scores columns of numbers by a penalized likelihood such as BIC(); found {task.score!r}."
        )


def _with_cells(columns: Columns) -> Columns:
    """The rows that observe something: others do not know anything about structure or parameters."""
    is_real = columns.is_real[:, None]
    seen = ((columns.codes >= 0) & ~is_real).any(axis=0)
    if is_real.any():
        seen |= (np.isfinite(columns.values) & is_real).any(axis=0)
        seen &= columns.weights > 0
    if not seen.any():
        raise DataError("Every cell is missing; there is nothing to learn a structure from.")
    return columns if seen.all() else Columns(columns.dataset.take(np.flatnonzero(seen)), missing="available")


def _hidden(columns: Columns) -> dict[str, object]:
    never = [columns.names[k] for k in never_observed(columns)]
    return {"hidden": ", ".join(never)} if never else {}


def _expected(
    task: StructureTask, parents: Parents, fitted: Fitted, rng: np.random.Generator, draws: int
) -> StructureTask:
    """The task of the search in a round: with expected counts, or with expected rows where some columns are numbers."""
    start, columns = dag_of(task.columns, parents), task.columns
    if columns.is_real.any():
        rows = expected_columns(columns, fitted.model)
        return StructureTask(
            rows, task.score, task.structure_prior, task.constraints, start, rng, progress=False, threads=task.threads
        )
    completions = Completions.of(columns, parents, fitted.model, rng, draws=draws)
    return ExpectedTask(
        columns,
        task.score,
        task.structure_prior,
        task.constraints,
        start,
        rng,
        progress=False,
        threads=task.threads,
        completions=completions,
    )


def _maximized(parameters: Parameters, expected: StructureTask) -> Fitted | None:
    """The M-step on what a round expects; None where a regression fits its rows exactly, with an unbounded density."""
    if isinstance(expected, ExpectedTask):
        return parameters.maximized(expected.scorer)
    assert isinstance(expected.columns, ExpectedColumns)
    try:
        return parameters.on(expected.columns)
    except (NotClosed, np.linalg.LinAlgError):
        return None


def _parents_of(found: Learned[Any], expected: StructureTask) -> Parents:
    """The parents in the graph of a search by scores."""
    if math.isnan(found.score):
        raise NotApplicable(
            f"StructuralEM searches by the score of expected counts; {found.method!r} does not. Use HillClimb()."
        )
    return replace(expected, start=found.dag).start_parents()


def _reported(state: State) -> tuple[State, Info]:
    """The state, and the best score so far."""
    return state, Info(state.best_score, math.inf)


def _at(state: State, parents: Parents, fitted: Fitted, *, is_settled: bool) -> State:
    """The state at a network, which is the best one if its score is."""
    moved = replace(
        state, parents=parents, arrays=fitted.arrays, score=fitted.score, is_settled=is_settled, fitted=fitted
    )
    if fitted.score < state.best_score:
        return moved
    return replace(moved, best=parents, best_arrays=fitted.arrays, best_score=fitted.score)
