r"""Bootstrap confidence of edges: how often a method finds them on resampled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import whole
from sepset.base.progress import Bar
from sepset.graphs.equivalence import cpdag
from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee
from sepset.learning.structure.averaging.posterior import StructurePosterior
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureMethod, StructureTask


@dataclass(frozen=True, slots=True)
class BootstrapStructures:
    r"""The share of resampled data sets on which a method finds each edge.

    $$\hat p(f) = \frac{1}{B} \sum_{b=1}^B f(\hat{\mathcal G}(\mathcal D_b))$$

    The probabilities of the result are these shares: confidence, not posterior probabilities. `consensus()` reads its
    threshold from them.

    Args:
        method: any method that learns a structure from rows.
        num_replicates: $B$.
        is_class: whether edges whose direction the class leaves open count half in each direction.

    Reference: Friedman, Goldszmidt & Wyner (1999); Scutari & Nagarajan (2013).
    Guarantee: an estimate.
    Tested by: learning/structure/averaging/test_bootstrap.py::test_strong_and_weak_edges
    """

    method: StructureMethod[Any]
    num_replicates: int = 200
    is_class: bool = True

    def __post_init__(self) -> None:
        whole("BootstrapStructures(num_replicates=)", self.num_replicates, least=1)

    def average(self, task: StructureTask) -> StructurePosterior:
        """The confidence in every edge."""
        n = len(task.columns)
        edges, graphs = np.zeros((n, n)), np.zeros((self.num_replicates, n, n), np.uint8)
        with Bar(task.progress, "replicates") as bar:
            for b in range(self.num_replicates):
                again = replace(
                    task, columns=_resampled(task.columns, task.rng), start=None, progress=False, checkpoint=None
                )
                dag = self.method.learn(again).dag
                edges += self._edges(dag, task.columns.names)
                graphs[b] = _matrix(dag.edges, task.columns.names)
                bar.report(b + 1, self.num_replicates)
        count = self.num_replicates
        return StructurePosterior(
            task.columns,
            edges / count,
            parents=graphs,
            weights=np.full(count, 1 / count),
            method=self,
            task=task,
            guarantees={"edges": Guarantee.ESTIMATE, "paths": Guarantee.ESTIMATE},
        )

    def _edges(self, dag: DAG, names: tuple[str, ...]) -> Floats:
        if not self.is_class:
            return _matrix(dag.edges, names)
        found = cpdag(dag)
        both = _matrix(found.undirected, names)
        return _matrix(found.directed, names) + 0.5 * (both + both.T)


def _matrix(edges: Any, names: tuple[str, ...]) -> Floats:
    place = {name: i for i, name in enumerate(names)}
    found = np.zeros((len(names), len(names)))
    for a, b in edges:
        found[place[a], place[b]] = 1.0
    return found


def _resampled(columns: Columns, rng: np.random.Generator) -> Columns:
    """As many rows, drawn with replacement."""
    weights = columns.weights.astype(np.float64)
    drawn = rng.multinomial(round(columns.total), weights / weights.sum())
    kept = np.flatnonzero(drawn)
    rows = columns.dataset.take(kept).with_weights(drawn[kept].astype(np.float64))
    marked = None if columns.intervened is None else columns.intervened[:, kept]
    return Columns(rows, intervened=marked, missing=columns.missing)
