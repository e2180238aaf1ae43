"""The verbs of learning: parameters of a network from data."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from sepset.base.foreign import translated
from sepset.data.sources import Weights
from sepset.factors.algebra import AnyVariable
from sepset.graphs.graph import DAG, with_directions
from sepset.learning import fit as learning
from sepset.learning.estimation.estimators import MLE
from sepset.learning.fit import F, FitResult, Fits, LearningMethod
from sepset.models.bayesnet import BayesNet


@overload
def fit(
    structure: DAG | BayesNet | Iterable[tuple[Any, Any]],
    data: object,
    method: None = None,
    *,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FitResult: ...
@overload
def fit(
    structure: DAG | BayesNet | Iterable[tuple[Any, Any]],
    data: object,
    method: Fits[F],
    *,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> F: ...
@translated
def fit(
    structure: DAG | BayesNet | Iterable[tuple[Any, Any]],
    data: object,
    method: LearningMethod | None = None,
    *,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FitResult:
    r"""The network with the parameters that `method` learns from `data`.

    $$\hat\theta_{x \mid \mathbf u} = \frac{M[\mathbf u, x]}{M[\mathbf u]}$$

    is the default, maximum likelihood, for tables; other CPDs maximize their likelihood too.

    Args:
        structure: a graph over names of columns, whose kinds decide the CPDs (also a `DiGraph` of networkx or a list of
            pairs); or a network, whose CPDs keep their form and share parameters where they name the same block.
        data: a dataset, any frame, eager or lazy, a mapping of columns, or the path of a CSV or Parquet file; for
            methods that need no more, `Counts` of the families, which may have been added up from many parts.
        method: maximum likelihood, `MLE()`, by default; `Bayes`, `PosteriorMode`, `EM` and others.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns, or hidden variables, where `structure` is a graph.
        seed: a number or a generator, for methods that draw.
        until: when iterative methods stop.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that iterative methods keep their state in, and go on from where it exists.

    Ctrl-C ends iterative methods with the best parameters so far, and the status "interrupted".
    Reference: Koller & Friedman, sections 17.2 and 17.4.
    Guarantee: as the method.
    Tested by: learning/test_fit.py::test_frames_of_every_library_agree

    >>> rows = {"rain": ["no", "no", "no", "yes"], "wet": ["no", "no", "yes", "yes"]}
    >>> fit(DAG.parse("rain -> wet"), rows).model.cpd("wet").values.round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    """
    chosen: Fits[Any] = MLE() if method is None else method
    found: FitResult = learning.fit(
        with_directions(structure),
        data,
        chosen,
        weights=weights,
        variables=variables,
        seed=seed,
        until=until,
        progress=progress,
        checkpoint=checkpoint,
    )
    return found
