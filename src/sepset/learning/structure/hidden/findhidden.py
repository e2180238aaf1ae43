r"""Hidden variables where a learned structure suggests them: a hidden parent in place of the edges of a near-clique."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.checks import fraction, whole
from sepset.base.progress import Bar
from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG, ancestors
from sepset.inference.iterate import Until, as_until, deadline
from sepset.inference.result import Status
from sepset.learning.checkpoints import keeps_checkpoint
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.evidences.logevidence import LogEvidenceResult
from sepset.learning.structure.hidden.learnedhidden import (
    LearnedHidden,
    TriedHidden,
    fresh_names,
    hidden_variables,
    observed_bic,
    require_discrete,
    rows_with,
    stopped,
)
from sepset.learning.structure.hidden.nearcliques import near_cliques
from sepset.learning.structure.hidden.structuralem import StructuralEM
from sepset.learning.structure.learned import StructureMethod, StructureTask
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import default_network
from sepset.variables.variable import Discrete

NEGLIGIBLE = 1e-6
"""Gains in nats that are not worth another structure."""


@dataclass(frozen=True, slots=True)
class FindHidden:
    r"""A structure with hidden parents of near-cliques, where they raise the BIC of the observed cells.

    A structure of the columns is learned first. Each set of columns that is almost a clique in it is a candidate: a
    hidden variable becomes the parent of all of them, in place of the edges among them. EM, from clusters of the rows,
    fits each candidate with each number of states. The best one is kept if the score rises; structural EM then revises
    all edges, those of hidden variables too, and the search goes on from there.

    Args:
        search: how structures are learned from the columns, and within `StructuralEM` with hidden variables.
        max_hidden: the largest number of hidden variables.
        max_states: the largest number of states of each.
        share: the share of the other members to which every member of a near-clique is adjacent.
        max_candidates: how many near-cliques are tried for each hidden variable, the largest first.
        is_revised: whether structural EM revises the edges.

    Required edges stay, and no candidate has more parents than allowed. Missing cells are summed out.

    Cost: that of the search, and of EM for each candidate and number of states.
    Reference: Elidan, Lotner, Friedman & Koller (2000); Koller & Friedman, section 19.4.3.
    Guarantee: heuristic; BIC at least that of the structure without hidden variables.
    Tested by: learning/structure/hidden/test_findhidden.py::test_a_common_cause_is_found

    >>> import sepset as ss
    >>> cause = ss.Discrete("h")
    >>> noisy = [ss.TableCPD(ss.Discrete(name), [[0.9, 0.1], [0.1, 0.9]], given=cause) for name in "abcd"]
    >>> rows = ss.BayesNet(ss.TableCPD(cause, [0.5, 0.5]), *noisy).sample(1_000, seed=0).select(list("abcd"))
    >>> ss.learn_structure(rows, method=FindHidden()).graph
    DAG(H1 -> a; H1 -> b; H1 -> c; H1 -> d)
    """

    search: StructureMethod[Any] = field(default_factory=HillClimb)
    _: KW_ONLY
    max_hidden: int = 3
    max_states: int = 3
    share: float = 0.5
    max_candidates: int = 10
    is_revised: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.search, type) or not isinstance(self.search, StructureMethod):
            raise ArgumentError(f"FindHidden(search=) takes a method such as HillClimb(); found {self.search!r}.")
        whole("FindHidden(max_hidden=)", self.max_hidden, least=1)
        whole("FindHidden(max_states=)", self.max_states, least=2)
        whole("FindHidden(max_candidates=)", self.max_candidates, least=1)
        fraction("FindHidden(share=)", self.share)

    takes_missing = True
    """Whether missing cells are summed out: they are."""

    @property
    def keeps_checkpoint(self) -> bool:
        """Whether the search before the first hidden variable does; what follows is done again."""
        return keeps_checkpoint(self.search)

    def learn(self, task: StructureTask) -> LearnedHidden:
        """The structure with the hidden variables that raise the score."""
        observed_bic(task, "FindHidden()")
        require_discrete(task, "FindHidden()")
        end = deadline(as_until(task.until))
        first = (StructuralEM(self.search) if task.columns.has_missing else self.search).learn(task)
        best = _fitted(task, default_network(first.dag, {v.name: v for v in task.columns.variables}), end)
        tried: list[TriedHidden] = []
        trace = [best.value]
        status = Status.INTERRUPTED if first.status is Status.INTERRUPTED else stopped(best, end)
        while status is None and len(trace) <= self.max_hidden:
            found, status = self._round(task, best, tried, end)
            if found is None:
                break
            best = found
            if self.is_revised and status is None:
                best, status = self._revised(task, best, tried, end)
            trace.append(best.value)
        return LearnedHidden.of(
            task,
            best,
            method=self,
            tried=tried,
            trace=trace,
            status=status or Status.COMPLETED,
            num_scores=first.num_scores,
        )

    def _revised(
        self, task: StructureTask, best: LogEvidenceResult, tried: list[TriedHidden], end: float
    ) -> tuple[LogEvidenceResult, Status | None]:
        """The best network after structural EM, from all edges and from those of hidden variables."""
        model, before = best.model, best.value
        assert model is not None
        columns = Columns(rows_with(task, model, end).dataset, missing="available")
        required = set(_required(task))
        few = [(a, b) for a, b in model.dag.directed if a not in task.columns.names or (a, b) in required]
        for what, start in (("all edges", model.dag), ("hidden edges", DAG(model.dag.nodes, few))):
            until = None if end == math.inf else Until(seconds=max(end - time.monotonic(), 0.0))
            known = replace(task, columns=columns, start=start, until=until, checkpoint=None, progress=False)
            learned = StructuralEM(self.search).learn(known)
            if learned.status is Status.INTERRUPTED:
                return best, Status.INTERRUPTED
            other = _fitted(task, learned.model, end)
            gain = other.value - before
            tried.append(TriedHidden(f"structural EM from {what}", tried[-1].num_hidden, score=other.value, gain=gain))
            best = other if other.value > best.value + NEGLIGIBLE else best
            if (status := stopped(other, end)) is not None:
                return best, status
        return best, None

    def _round(
        self, task: StructureTask, best: LogEvidenceResult, tried: list[TriedHidden], end: float
    ) -> tuple[LogEvidenceResult | None, Status | None]:
        """The best structure with one more hidden variable; None if none is better."""
        assert best.model is not None
        candidates = self._candidates(task, best.model)
        found: LogEvidenceResult | None = None
        with Bar(task.progress, "candidates") as bar:
            for number, template in enumerate(candidates):
                one = _fitted(task, template, end)
                tried.append(_tried(task, one, best.value))
                if one.value > (best if found is None else found).value:
                    found = one
                bar.report(number + 1, len(candidates))
                if (status := stopped(one, end)) is not None:
                    return found, status
        return found, None

    def _candidates(self, task: StructureTask, model: BayesNet) -> list[BayesNet]:
        """The network forms with a hidden parent of each near-clique, with each number of states."""
        names = task.columns.names
        adjacent = np.zeros((len(names),) * 2, np.bool_)
        for a, b in model.dag.directed:
            if a in names and b in names:
                adjacent[names.index(a), names.index(b)] = adjacent[names.index(b), names.index(a)] = True
        fresh = next(fresh_names(task.columns, model.variables.names))
        made = []
        for members in near_cliques(adjacent, self.share)[: self.max_candidates]:
            for dag in _with_parent(task, model.dag, [names[k] for k in members], fresh):
                for states in range(2, self.max_states + 1):
                    known: dict[str, Any] = {v.name: v for v in model.variables} | {fresh: Discrete(fresh, states)}
                    made.append(default_network(dag, known))
        return made


def _fitted(task: StructureTask, template: BayesNet, end: float) -> LogEvidenceResult:
    return observed_bic(task, "FindHidden()").evidence(rows_with(task, template, end))


def _with_parent(task: StructureTask, dag: DAG, members: list[str], hidden: str) -> Iterator[DAG]:
    """Graphs with a hidden parent in place of the edges among its children.

    In the first one its children keep their other parents; in the second, parents of at least half of them are parents
    of the hidden variable instead.
    """
    required, inside = set(_required(task)), set(members)
    kept = [(a, b) for a, b in dag.directed if not {a, b} <= inside or (a, b) in required]
    into = [(a, b) for a, b in kept if b in inside and a not in inside and (a, b) not in required]
    sources = [a for a, times in Counter(a for a, _ in into).items() if 2 * times >= len(members)]
    moved = [(a, b) for a, b in kept if (a, b) not in into or a not in sources]
    links = [(hidden, child) for child in members]
    choices = [[*links, *kept]]
    if sources and inside.isdisjoint(ancestors(dag, sources)):
        choices.append([*links, *((a, hidden) for a in sources), *moved])
    for edges in choices:
        made = DAG([*dag.nodes, hidden], edges)
        if all(len(made.parents(name)) <= task.allowed.max_parents for name in task.columns.names):
            yield made


def _required(task: StructureTask) -> Iterable[tuple[str, str]]:
    names = task.columns.names
    return ((names[a], names[b]) for a, b in np.argwhere(task.allowed.required))


def _tried(task: StructureTask, found: LogEvidenceResult, base: float) -> TriedHidden:
    """The last hidden variable of a network, in words."""
    assert found.model is not None
    hidden = hidden_variables(task, found.model)
    last = hidden[-1]
    children, parents = (", ".join(of(last.name)) for of in (found.model.dag.children, found.model.dag.parents))
    what = f"{parents}{' -> ' if parents else ''}{last.name} -> {children} ({last.num_states} states)"
    return TriedHidden(what, len(hidden), score=found.value, gain=found.value - base)
