r"""Latent tree models: trees whose inner nodes may be hidden.

$$P(\mathbf x) = \sum_{\mathbf h} \prod_{v} P(v \mid \text{pa}_v)$$

Information distances between columns suggest a tree, with more or fewer hidden nodes as edges up to some length are
contracted; the BIC of the observed cells decides among those. With all of them contracted it is the spanning tree of
the columns themselves, so that the result is never worse than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import whole
from sepset.base.progress import Bar
from sepset.errors import ArgumentError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.iterate import as_until, deadline
from sepset.inference.result import Status
from sepset.learning.structure.evidences.logevidence import LogEvidenceResult
from sepset.learning.structure.evidences.observedbic import ObservedBIC
from sepset.learning.structure.hidden.grouping import LatentLinks, joined_links, latent_links
from sepset.learning.structure.hidden.informationdistance import column_distances
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
from sepset.learning.structure.hidden.statemerging import with_states
from sepset.learning.structure.learned import StructureTask
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import default_network
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True)
class LatentTree:
    r"""The tree of observed and hidden variables by information distances, and BIC where they leave a choice.

    Distances between columns add up along the paths of such a tree (see `information_distance`): of exact ones the tree
    is found exactly, up to hidden variables with fewer than three neighbors, which leave no trace.

    Args:
        num_states: of the hidden variables, and of the distances; no column with fewer states takes part.
        max_states: where this is larger, every tree is fitted with up to so many states, and then each hidden variable
            of the best one gets more or fewer while BIC rises.
        num_trees: the largest number of trees that are fitted: between all hidden nodes that distances suggest, and
            none.

    Cost: $n^2$ small singular value decompositions, and EM for each tree and number of states.
    Reference: Choi, Tan, Anandkumar & Willsky (2011); Mourad et al. (2013), a survey.
    Guarantee: exact tree from exact distances; heuristic from rows, BIC at least that of the tree of columns alone.
    Tested by: learning/structure/hidden/test_latenttree.py::test_hidden_causes_are_found

    >>> import sepset as ss
    >>> star = ss.classify.latent_class([ss.Discrete(n) for n in "abcd"], 2, name="h")
    >>> likely = [ss.TableCPD(star.variables[n], [[0.9, 0.1], [0.1, 0.9]], given=star.variables["h"]) for n in "abcd"]
    >>> rows = star.with_cpds(*likely).sample(1_000, seed=0).select(list("abcd"))
    >>> ss.learn_structure(rows, method=LatentTree()).graph
    DAG(H1 -> a; H1 -> b; H1 -> c; H1 -> d)
    """

    keeps_checkpoint: ClassVar[bool] = False

    num_states: int = 2
    max_states: int | None = None
    _: KW_ONLY
    num_trees: int = 8

    def __post_init__(self) -> None:
        whole("LatentTree(num_states=)", self.num_states, least=2)
        whole("LatentTree(num_trees=)", self.num_trees, least=1)
        if self.max_states is not None and whole("LatentTree(max_states=)", self.max_states) < self.num_states:
            raise ArgumentError(f"LatentTree(max_states=) is at least num_states={self.num_states}.")

    takes_missing = True
    """Whether missing cells are summed out: they are."""

    def learn(self, task: StructureTask) -> LearnedHidden:
        """The tree of largest BIC among those tried."""
        score = observed_bic(task, "LatentTree()")
        require_discrete(task, "LatentTree()")
        if not task.allowed.is_free or task.start is not None:
            raise NotApplicable(
                "LatentTree() takes no constraints and no start; its edges go through hidden variables."
            )
        best, tried, status = self._best(task, score, deadline(as_until(task.until)))
        trace = np.maximum.accumulate([one.score for one in tried])
        return LearnedHidden.of(
            task, best, method=self, tried=tried, trace=trace, status=status, num_scores=task.scorer.num_scores
        )

    def _best(
        self, task: StructureTask, score: ObservedBIC, end: float
    ) -> tuple[LogEvidenceResult, list[TriedHidden], Status]:
        """The best of the trees, after more states where they help; what was tried; how it ended."""
        most = self.num_states if self.max_states is None else self.max_states
        templates = [
            _template(task, edges, size, states)
            for size, edges in self._candidates(task)
            for states in range(self.num_states, most + 1)
            if size > len(task.columns) or states == self.num_states
        ]
        found: list[LogEvidenceResult] = []
        status: Status | None = None
        with Bar(task.progress, "trees") as bar:
            for template in templates:
                found.append(score.evidence(rows_with(task, template, end)))
                bar.report(len(found), len(templates))
                if (status := stopped(found[-1], end)) is not None:
                    break
        base = found[0].value
        tried = [_tried(task, one, base) for one in found]
        best = max(found, key=lambda one: one.value)
        if status is None and most > self.num_states:
            for other in _other_states(task, score, best, most, end):
                status, better = stopped(other, end), other.value > best.value
                best = other if better else best
                tried += [_tried(task, best, base)] if better else []
        return best, tried, status or Status.COMPLETED

    def _candidates(self, task: StructureTask) -> list[tuple[int, list[tuple[int, int]]]]:
        """The spanning tree of the columns, then trees with more and more hidden nodes."""
        distances = column_distances(task.columns, self.num_states)
        linked = _dependent(task) & np.isfinite(distances)
        local, joint = latent_links(distances, linked), joined_links(distances, linked)
        share = -(-(self.num_trees - 1) // 2)
        made = (links.contracted(length) for links in (joint, local) for length in _cuts(links, share))
        different = {repr(one): one for one in made if one[0] > local.num_observed}
        several = sorted(different.values(), key=lambda one: one[0])
        return [(local.num_observed, list(local.spanning)), *several][: self.num_trees]


def _cuts(links: LatentLinks, number: int) -> list[float]:
    """The lengths of edges after which the largest gaps follow: shorter edges may be noise."""
    lengths = np.array([max(link.length, 0.0) for link in links.inner])
    if not len(lengths):
        return []
    steps = np.diff(lengths, prepend=0.0)
    order = np.argsort(-steps, kind="stable")[:number]
    return [lengths[k - 1] if k else -np.inf for k in sorted(order.tolist())]


def _dependent(task: StructureTask) -> Bools:
    """The pairs of columns whose edge raises the score."""
    scorer = task.scorer
    gains: Floats = np.stack([scorer.additions(i, ()) - scorer.family(i, ()) for i in range(scorer.n)])
    return np.asarray(np.nan_to_num(gains, nan=-1.0) > 0)


def _template(task: StructureTask, edges: Sequence[tuple[int, int]], size: int, num_states: int) -> BayesNet:
    """The network form of a tree, directed away from the hidden node with most neighbors."""
    columns = task.columns
    names = [*columns.names, *islice(fresh_names(columns), size - len(columns))]
    near: list[list[int]] = [[] for _ in range(size)]
    for first, second in edges:
        near[first].append(second)
        near[second].append(first)
    order = sorted(range(size), key=lambda node: (node < len(columns), -len(near[node]), node))
    directed: list[tuple[int, int]] = []
    seen: set[int] = set()
    for root in order:
        waiting = [root] if root not in seen else []
        seen.add(root)
        while waiting:
            node = waiting.pop(0)
            for other in near[node]:
                if other not in seen:
                    seen.add(other)
                    directed.append((node, other))
                    waiting.append(other)
    dag = DAG(names, [(names[a], names[b]) for a, b in directed])
    known = {v.name: v for v in columns.variables}
    return default_network(dag, {name: known.get(name) or Discrete(name, num_states) for name in names})


def _other_states(
    task: StructureTask, score: ObservedBIC, best: LogEvidenceResult, most: int, end: float
) -> Iterator[LogEvidenceResult]:
    """Networks, as each hidden variable in turn gets more states or fewer while that is better; until it is stopped."""
    assert best.model is not None
    for variable in hidden_variables(task, best.model):
        for step in (1, -1):
            size = variable.num_states + step
            while 2 <= size <= most:
                assert best.model is not None
                other = score.evidence(rows_with(task, with_states(best.model, variable.name, size), end))
                yield other
                if stopped(other, end) is not None:
                    return
                if other.value <= best.value:
                    break
                best, size = other, size + step


def _tried(task: StructureTask, found: LogEvidenceResult, base: float) -> TriedHidden:
    assert found.model is not None
    hidden = hidden_variables(task, found.model)
    sizes = sorted({v.num_states for v in hidden})
    states = f" of {', '.join(map(str, sizes))} states" if hidden else ""
    return TriedHidden(f"{len(hidden)} hidden{states}", len(hidden), score=found.value, gain=found.value - base)
