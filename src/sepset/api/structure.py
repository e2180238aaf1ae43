"""The verbs of structure learning: a graph from data, its score, and tests of independence."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, overload

import numpy as np

from sepset.base.checks import generator, one_of
from sepset.base.foreign import translated
from sepset.cpds.priors.dirichlet import BDeu
from sepset.data.sources import Weights, num_columns
from sepset.errors import ArgumentError
from sepset.factors.algebra import AnyVariable
from sepset.graphs.base import Graph
from sepset.graphs.graph import DAG
from sepset.learning.checkpoints import check_checkpoint
from sepset.learning.structure.averaging.posterior import StructureAveraging, StructurePosteriorResult
from sepset.learning.structure.columns import Columns, Missing
from sepset.learning.structure.constraints import Constraints, check_pairs
from sepset.learning.structure.exact import families
from sepset.learning.structure.exact.scoretable import ScoreTable
from sepset.learning.structure.familyscores import FamilyScore, FamilyScores, Scorer, ShapesCPDs
from sepset.learning.structure.learned import (
    G,
    Learned,
    LimitsColumns,
    StructureMethod,
    StructureTask,
    takes_collinear,
    takes_missing,
)
from sepset.learning.structure.scores.gaussian import BGe
from sepset.learning.structure.scores.likelihood import BIC
from sepset.learning.structure.search.boss import BOSS
from sepset.learning.structure.structureprior import StructurePrior
from sepset.learning.structure.uninformative import check_informative
from sepset.learning.structure.unused import CHAIN_KEEPERS, SEARCH_KEEPERS, check_kind, check_score, check_start
from sepset.variables.universe import Universe

MOST_ORDERED = 250
"""The largest number of columns whose orders are searched where no method is named."""


def _check_columns(num: int, method: object) -> None:
    """Raise before rows are read if there are too many columns for a method, or for tables of pairs."""
    if isinstance(method, LimitsColumns):
        method.check_columns(num)
    check_pairs(num)


def default_method(num_columns: int) -> BOSS:
    """The method where none is named: greedy searches, then one over orders of up to a few hundred columns.

    >>> default_method(37), default_method(1_000)
    (BOSS(starts=1), BOSS(starts=0))
    """
    return BOSS(1 if num_columns <= MOST_ORDERED else 0)


@overload
def learn_structure(
    data: object,
    *,
    method: None = None,
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    constraints: Constraints | None = None,
    start: Graph | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
    missing: Missing = "refuse",
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Learned[DAG]: ...
@overload
def learn_structure(
    data: object,
    *,
    method: StructureMethod[G],
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    constraints: Constraints | None = None,
    start: Graph | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
    missing: Missing = "refuse",
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Learned[G]: ...
@translated
def learn_structure(
    data: object,
    *,
    method: StructureMethod[Any] | None = None,
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    constraints: Constraints | None = None,
    start: Graph | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
    missing: Missing = "refuse",
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Learned[Any]:
    r"""The structure that `method` finds for the columns of `data`.

    $$\hat{\mathcal G} = \arg\max_{\mathcal G} \sum_i \text{FamScore}(X_i \mid \text{Pa}_i : \mathcal D)
    + \log P(\mathcal G)$$

    Args:
        data: a dataset, any frame, a mapping of columns, or the path of a file.
        method: `BOSS` by default: greedy searches over classes and graphs, then over orders of up to 250 columns.
        score: `BIC()` by default; or `AIC()`, `BDeu(10)`, `K2()` and others. Methods by tests or penalties take none.
        structure_prior: uniform by default.
        constraints: edges that are required or forbidden, tiers, the largest number of parents.
        start: a graph to begin with.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns; for `StructuralEM`, also variables without a column, which are hidden.
        interventions: for each row the variables that were set, or a mapping from names to masks of rows; such rows
            count for the other families only.
        missing: "refuse" missing cells, or "available": each family counts the rows in which all of it is observed.
            `StructuralEM` takes them as they are.
        seed: a number or a generator, for methods that draw.
        until: when to stop.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that iterative methods keep their state in, and go on from where it exists; methods that
            keep none refuse it.
        threads: their number; one per processor by default. They count many rows; answers do not depend on them.

    Ctrl-C ends iterative methods with the best structure so far, and the status "interrupted".
    Reference: Koller & Friedman, chapter 18.
    Guarantee: as the method.
    Tested by: api/test_structure.py::test_a_frame_becomes_a_network

    >>> rows = {"rain": [0, 0, 1, 1] * 10, "wet": [0, 1, 1, 1] + [0, 0, 1, 1] * 9, "coin": [0, 1, 0, 1] * 10}
    >>> learn_structure(rows).graph.edges
    (('rain', 'wet'),)
    """
    one_of("missing", missing, ("refuse", "available"))
    check_kind(method, "learn")
    check_checkpoint(checkpoint, method, SEARCH_KEEPERS)
    check_score(method, score=score, structure_prior=structure_prior)
    handled = takes_missing(method)
    given = None if variables is None else Universe(variables)
    _check_columns(num_columns(data), method)
    columns = Columns.of(
        data,
        variables=given,
        weights=weights,
        interventions=interventions,
        missing="available" if handled else missing,
        hidden=handled,
    )
    check_informative(columns, data, given, takes_collinear=takes_collinear(method))
    chosen: StructureMethod[Any] = default_method(len(columns)) if method is None else method
    task = StructureTask(
        columns,
        BIC() if score is None else score,
        structure_prior,
        Constraints() if constraints is None else constraints,
        start,
        generator(seed),
        until,
        progress,
        checkpoint,
        threads,
    )
    task.allowed  # noqa: B018  # contradictory constraints are refused before any work
    check_start(task, chosen)
    found = chosen.learn(task)
    if found.shapes is None and isinstance(task.score, ShapesCPDs):
        return replace(found, shapes=task.score)
    return found


@translated
def score(
    graph: Graph,
    data: object,
    *,
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
    missing: Missing = "refuse",
) -> FamilyScores:
    """The score of a structure on data, family by family; `learn_structure` maximizes the same number.

    Args:
        graph: a DAG whose nodes are columns.
        data: as `learn_structure` takes it; other columns are ignored.
        score: `BIC()` by default.
        structure_prior: uniform by default.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns.
        interventions: the variables that were set.
        missing: what becomes of missing cells.

    Reference: Koller & Friedman, section 18.3.
    Guarantee: exact.
    Tested by: api/test_structure.py::test_the_score_of_a_graph

    >>> round(score(DAG.parse("a"), {"a": [0, 0, 1, 1]}).total, 4)
    -3.4657
    """
    if not isinstance(graph, DAG):
        raise ArgumentError(f"A score belongs to a DAG; found {graph!r}. Use consistent_extension for a class.")
    if structure_prior is not None or isinstance(score, BGe):  # these keep a number for each pair
        check_pairs(len(graph))
    columns = Columns.of(
        data, variables=variables, weights=weights, interventions=interventions, missing=missing, only=graph.nodes
    )
    method = BIC() if score is None else score
    task = StructureTask(columns, method, structure_prior, start=graph)
    scorer: Scorer = task.scorer
    parents = task.start_parents()
    values = [scorer.family(child, given) for child, given in enumerate(parents)]
    names = columns.names
    return FamilyScores(
        dict(zip(names, values, strict=True)),
        {name: tuple(names[p] for p in given) for name, given in zip(names, parents, strict=True)},
        total=scorer.total(parents),
        method=method,
    )


@translated
def parent_set_scores(
    data: object,
    *,
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    constraints: Constraints | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
    missing: Missing = "refuse",
    pruned: bool = False,
) -> ScoreTable:
    """The score of every parent set that the constraints allow, for exact methods here and in other programs.

    Args:
        data: as `learn_structure` takes it.
        score: `BIC()` by default.
        structure_prior: uniform by default.
        constraints: `max_parents` limits the number of sets.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns.
        interventions: the variables that were set.
        missing: what becomes of missing cells.
        pruned: leave out sets that have an allowed subset of at least the same score.

    Reference: de Campos & Ji (2011) for pruning.
    Guarantee: exact.
    Tested by: api/test_structure.py::test_tables_of_scores

    >>> parent_set_scores({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    ScoreTable(2 columns, 4 parent sets, up to 1 parents)
    """
    check_pairs(num_columns(data))
    columns = Columns.of(data, variables=variables, weights=weights, interventions=interventions, missing=missing)
    known = Constraints() if constraints is None else constraints
    task = StructureTask(columns, BIC() if score is None else score, structure_prior, known)
    return families.score_table(task.scorer, task.allowed, pruned=pruned)


@translated
def structure_posterior(
    data: object,
    *,
    method: StructureAveraging,
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    constraints: Constraints | None = None,
    start: Graph | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    interventions: object = None,
    missing: Missing = "refuse",
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> StructurePosteriorResult:
    r"""The probabilities of edges, paths and other features of the structure, averaged over structures.

    $$P(f \mid \mathcal D) = \sum_{\mathcal G} P(\mathcal G \mid \mathcal D) \, f(\mathcal G)$$

    Args:
        data: a dataset, any frame, a mapping of columns, or the path of a file.
        method: `PartitionMCMC()`, `OrderMCMC()`, `StructureMCMC()`; exact: `TianHe()`, `KoivistoSood()`,
            `Exhaustive()`, `TreePosterior()`, `AlongOrder(order)`; `BestStructures(k)`, `BootstrapStructures(method)`.
        score: `BDeu(1)` by default: the evidence of each family.
        structure_prior: uniform by default.
        constraints: edges that are required or forbidden, tiers, the largest number of parents.
        start: a graph from which the first chain starts.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns.
        interventions: the variables that were set.
        missing: what becomes of missing cells.
        seed: a number or a generator, for methods that draw.
        until: when chains stop.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that chains keep their state in, and go on from where it exists; other methods refuse it.
        threads: their number; one per processor by default. They count many rows and run chains; answers do not depend
            on them.

    Reference: Koller & Friedman, section 18.5.
    Guarantee: as the method.
    Tested by: api/test_structure.py::test_the_posterior_of_edges

    >>> from sepset.learning.structure.averaging.exhaustive import Exhaustive
    >>> rows = {"rain": [0, 0, 1, 1] * 10, "wet": [0, 1, 1, 1] + [0, 0, 1, 1] * 9, "coin": [0, 1, 0, 1] * 10}
    >>> round(structure_posterior(rows, method=Exhaustive()).probability("rain -> wet"), 2)
    0.5
    """
    check_kind(method, "average")
    check_checkpoint(checkpoint, method, CHAIN_KEEPERS)
    check_score(method, score=score, structure_prior=structure_prior)
    given = None if variables is None else Universe(variables)
    _check_columns(num_columns(data), method)
    columns = Columns.of(data, variables=given, weights=weights, interventions=interventions, missing=missing)
    check_informative(columns, data, given, takes_collinear=takes_collinear(method))
    task = StructureTask(
        columns,
        BDeu(1.0) if score is None else score,
        structure_prior,
        Constraints() if constraints is None else constraints,
        start,
        generator(seed),
        until,
        progress,
        checkpoint,
        threads,
    )
    task.allowed  # noqa: B018  # contradictory constraints are refused before any work
    check_start(task, method)
    return method.average(task)
