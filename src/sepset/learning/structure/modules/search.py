r"""Learning of module networks: which columns share a CPD, and which parents it has."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import whole
from sepset.base.display import Shown
from sepset.base.lazy import lazy
from sepset.base.text import counted, described, listing
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Info
from sepset.inference.result import Guarantee, Status
from sepset.learning.blocks import tie
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import TOLERANCE, check_kinds
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, iterated
from sepset.learning.structure.modules.assignment import ADD, MOVE, Change, Modules, clustered
from sepset.learning.structure.modules.pooledcounts import PooledCounts
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

KEPT_PARENTS, MOVED_COLUMNS, NEW_PARENTS = 0.5, 0.25, 0.5
"""The shares of parents that a restart keeps, of columns that it moves, and of modules with a new parent."""


class Module(NamedTuple):
    """Variables that share their parents and their CPD.

    Attributes:
        members: their names.
        parents: the names of their parents.
        score: of their pooled counts.
    """

    members: tuple[str, ...]
    parents: tuple[str, ...]
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedModules(Learned[DAG]):
    """A learned module network.

    Attributes:
        graph: the ground network: an edge from each parent of a module to each of its members.
        modules: those that have members, by their first one.

    >>> import sepset as ss
    >>> rows = {"a": [0, 1, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 0, 0, 1] * 9}
    >>> found = ss.learn_structure(rows, method=ss.structure.ModuleSearch(1), score=ss.BDeu(1))
    >>> found.modules[0].members, found.modules[0].parents
    (('a', 'b', 'c'), ())
    """

    modules: tuple[Module, ...] = field(default=(), kw_only=True)

    @lazy
    def template(self) -> BayesNet:
        """The network whose parameters `fit` learns: uniform tables, shared by the members of each module."""
        variables = self.columns.variables
        module_of = {name: module for module in self.modules for name in module.members}
        cpds = [_uniform(variables[n], [variables[p] for p in module_of[n].parents]) for n in self.columns.names]
        return tie(BayesNet(*cpds), {f"module of {m.members[0]}": m.members for m in self.modules})

    def __repr__(self) -> str:
        return f"LearnedModules({counted(len(self.modules), 'module')}; {super().__repr__()})"

    def _shown(self) -> Shown:
        rows = [(listing(m.members), listing(m.parents) if m.parents else "", f"{m.score:.7g}") for m in self.modules]
        caption = f"score {self.score:.10g}; {described(self.method)}; {self.status.value}"
        return Shown(("members", "parents", "score"), rows, "LearnedModules", caption, words=2)


def _uniform(child: Any, parents: list[Any]) -> TableCPD:
    shape = (*(p.num_states for p in parents), child.num_states)
    return TableCPD(child, np.full(shape, 1.0 / child.num_states), given=parents)


@dataclass(frozen=True, slots=True)
class SearchState:
    """The state of a search: plain values, and the modules with their gains, which are rebuilt where absent.

    Attributes:
        assigned: the module of each column now.
        parents: of each module now.
        best: the assignment and parents of the best modules so far.
        best_score: their score.
        changes: how many were made.
        restarts: how many were made.
    """

    assigned: Ints
    parents: list[list[int]]
    best: tuple[Ints, list[list[int]]]
    best_score: float
    changes: int = 0
    restarts: int = 0
    modules: Modules | None = field(default=None, repr=False, compare=False)


class SearchStateCodec:
    """States as plain values; the gains are computed again."""

    def pack(self, state: SearchState) -> Any:
        """The plain values."""
        return {
            "now": (state.assigned, state.parents),
            "best": state.best,
            "score": state.best_score,
            "counters": (state.changes, state.restarts),
        }

    def unpack(self, packed: Any) -> SearchState:
        """The state from its plain values."""
        (assigned, parents), best = (_plain(packed[name]) for name in ("now", "best"))
        changes, restarts = map(int, packed["counters"])
        return SearchState(assigned, parents, best, float(packed["score"]), changes, restarts)


def _plain(packed: Any) -> tuple[Ints, list[list[int]]]:
    assigned, parents = packed
    return np.array(assigned, np.int64), [list(map(int, given)) for given in parents]


@dataclass(frozen=True, slots=True)
class ModuleSearch:
    r"""Greedy search for a module network: modules $C_k$ of columns with shared parents $\mathbf U_k$ and one CPD.

    $$\sum_k \log P(M_k), \qquad M_k[x, \mathbf u] = \sum_{X \in C_k} M[X = x, \mathbf U_k = \mathbf u]$$

    Each step makes the change of largest gain: a column moves to another module, or a module gets or loses a parent.
    A change affects the scores of its own modules only. Where none gains, the parents of a module are chosen again from
    none. Columns start in groups of similar ones (k-means), without parents. All columns need the same states.

    Args:
        num_modules: the largest number of modules.
        restarts: how many more times to start, by turns from the best modules after random changes and from other
            groups.

    Reference: Segal, Pe'er, Regev, Koller & Friedman (2005); Koller & Friedman, exercise 18.22.
    Guarantee: a local optimum: no change improves the result.
    Tested by: learning/structure/modules/test_search.py::test_no_change_improves

    >>> ModuleSearch(3)
    ModuleSearch(num_modules=3, restarts=20)
    """

    num_modules: int
    _: KW_ONLY
    restarts: int = 20

    def __post_init__(self) -> None:
        whole("ModuleSearch(num_modules=)", self.num_modules, least=1)
        whole("ModuleSearch(restarts=)", self.restarts, least=0)

    def learn(self, task: StructureTask) -> LearnedModules:
        """The best modules of the search."""
        _check(task)
        work = _Work(task, _counts(task))
        found: LearnedModules = iterated(_Steps(self, work), task, SearchStateCodec(), settings=self).result(
            _Steps(self, work), task
        )
        return found


class _Work(NamedTuple):
    """A task with its pooled counts."""

    task: StructureTask
    counts: PooledCounts

    def modules(self, assigned: Ints, parents: list[list[int]]) -> Modules:
        return Modules(self.counts, self.task.allowed, assigned, parents)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a search with its counts at hand."""

    method: ModuleSearch
    work: _Work

    def init(self, task: StructureTask, rng: np.random.Generator) -> SearchState:
        """Groups of similar columns."""
        modules = self._start(rng, varied=False)
        now = (modules.assigned.copy(), [list(given) for given in modules.parents])
        return SearchState(*now, now, modules.score, modules=modules)

    def _start(self, rng: np.random.Generator, *, varied: bool = True) -> Modules:
        """Groups of similar columns; a varied start has some columns in modules of their own."""
        counts, size = self.work.counts, self.method.num_modules
        alone = rng.permutation(len(counts.columns))[: int(rng.integers(size)) if varied else 0]
        found = clustered(counts.indicators, counts.weights, size - len(alone), rng)
        found[alone] = np.arange(size - len(alone), size)
        modules = self.work.modules(found, [[] for _ in range(size)])
        return self._with_random_parents(modules, rng) if varied else modules

    def _with_random_parents(self, modules: Modules, rng: np.random.Generator) -> Modules:
        """The modules, some of them with one more parent."""
        for k in np.flatnonzero(rng.random(len(modules.parents)) < NEW_PARENTS).tolist():
            change = Change(ADD, int(rng.integers(len(modules.assigned))), k, math.nan)
            if change.column not in modules.parents[k] and modules.is_legal(change):
                modules.make(change)
        return modules

    def _perturbed(self, state: SearchState, rng: np.random.Generator) -> Modules:
        """The best modules without half of their parents, and with a quarter of the columns in any other module."""
        assigned, parents = state.best
        kept = [[p for p in given if rng.random() < KEPT_PARENTS] for given in parents]
        modules = self.work.modules(assigned, kept)
        for x in np.flatnonzero(rng.random(len(assigned)) < MOVED_COLUMNS).tolist():
            change = Change(MOVE, x, int(rng.integers(len(parents))), math.nan)
            if modules.is_legal(change):
                modules.assigned[x] = change.module
        return self._with_random_parents(self.work.modules(modules.assigned, kept), rng)

    def step(self, task: StructureTask, state: SearchState, rng: np.random.Generator) -> tuple[SearchState, Info]:
        """One change, or the next start, or the end of the search."""
        modules = self._now(state)
        change = modules.best(TOLERANCE)
        if change is not None:
            modules.make(change)
            after = replace(state, changes=state.changes + 1)
        elif modules.regrow(TOLERANCE):
            after = replace(state, changes=state.changes + 1)
        elif state.restarts >= self.method.restarts:
            return state, Info(state.best_score, 0.0, is_done=True)
        else:
            modules = self._start(rng) if state.restarts % 2 else self._perturbed(state, rng)
            after = replace(state, restarts=state.restarts + 1)
        now = (modules.assigned.copy(), [list(given) for given in modules.parents])
        after = replace(after, assigned=now[0], parents=now[1], modules=modules)
        if modules.score > state.best_score + TOLERANCE:
            after = replace(after, best=now, best_score=modules.score)
        return after, Info(after.best_score, math.inf)

    def _now(self, state: SearchState) -> Modules:
        """The modules with their gains; built again where a state was stored, or a change interrupted."""
        kept = state.modules
        if kept is not None and np.array_equal(kept.assigned, state.assigned) and kept.parents == state.parents:
            return kept
        return self.work.modules(state.assigned, state.parents)

    def read(self, task: StructureTask, state: SearchState) -> LearnedModules:
        """The best modules so far."""
        assigned, parents = state.best
        return LearnedModules(
            dag_of(task.columns, [parents[k] for k in assigned]),
            columns=task.columns,
            modules=_named(task.columns, assigned, parents, self.work.counts),
            score=state.best_score,
            num_scores=self.work.counts.num_scores,
            method=self.method,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
            info={"changes": state.changes, "restarts": state.restarts},
        )


def _named(columns: Columns, assigned: Ints, parents: list[list[int]], counts: PooledCounts) -> tuple[Module, ...]:
    names, found = columns.names, []
    for k in dict.fromkeys(assigned.tolist()):
        members = tuple(names[x] for x in np.flatnonzero(assigned == k))
        given = tuple(names[p] for p in parents[k])
        found.append(Module(members, given, score=counts.of(assigned == k, parents[k])))
    return tuple(found)


def _counts(task: StructureTask) -> PooledCounts:
    if task.score is None:
        raise NotApplicable("ModuleSearch needs score=, such as BDeu(10) or BIC().")
    return PooledCounts(task.columns, task.score)


def _check(task: StructureTask) -> None:
    """Raise unless modules can be learned from the columns under the constraints."""
    columns = task.columns
    check_kinds(task.score, columns)
    if task.structure_prior is not None or task.start is not None or task.allowed.required.any():
        raise NotApplicable(
            "ModuleSearch takes no structure_prior=, start= or required edges; forbidden edges, tiers and max_parents= "
            "are respected."
        )
    if not columns.is_complete:
        raise NotApplicable("ModuleSearch needs complete rows without interventions. Impute, or leave rows out.")
    if real := [v.name for v in columns.variables if not isinstance(v, Discrete)]:
        raise NotApplicable(f"ModuleSearch is for discrete columns; found numbers in {listing(real)}. Discretize.")
    first, *others = (v for v in columns.variables if isinstance(v, Discrete))
    differing = [v.name for v in others if v.states != first.states]
    if differing:
        raise DataError(
            f"Members of modules share CPDs, so all columns need the states of {first.name!r}; they are others in "
            f"{listing(differing)}. Give the common states by variables=, or leave some out."
        )
