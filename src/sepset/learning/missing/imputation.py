"""Imputation: datasets with their holes filled from the exact posterior of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast, overload

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.data.dataset import Dataset
from sepset.data.suggestions import column_names
from sepset.errors import DataError, ModelError, NotApplicable, listing
from sepset.factors.draws import Seed, generator
from sepset.inference.evidencerows import Workers
from sepset.learning.missing.filling import Cells, Kind, completed
from sepset.learning.missing.mixedfilling import fill_mixed, is_mixed
from sepset.learning.task import bind
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete, VariableLike, Vector

KINDS = ("mode", "mean", "map", "draw")


@overload
def impute(
    model: Model,
    data: object,
    *,
    kind: Kind = ...,
    copies: None = ...,
    variables: Iterable[VariableLike] | None = ...,
    seed: Seed = ...,
    threads: int | None = ...,
) -> Dataset: ...
@overload
def impute(
    model: Model | Sequence[Model],
    data: object,
    *,
    kind: Kind = ...,
    copies: int,
    variables: Iterable[VariableLike] | None = ...,
    seed: Seed = ...,
    threads: int | None = ...,
) -> tuple[Dataset, ...]: ...
def impute(
    model: Model | Sequence[Model],
    data: object,
    *,
    kind: Kind = "mode",
    copies: int | None = None,
    variables: Iterable[VariableLike] | None = None,
    seed: Seed = 0,
    threads: int | None = None,
) -> Dataset | tuple[Dataset, ...]:
    r"""The data with missing cells filled from $P(\mathbf h \mid \mathbf o)$ of each row.

    Args:
        model: the network (or other model) to fill from. For multiple imputation that carries the uncertainty of the
            parameters too, one model a copy, such as draws from their posterior.
        data: a dataset, any frame, or the path of a file; columns of other names are left out. `impute_frame` gives
            back what it was given.
        kind: "mode" gives each cell the most probable value of its own marginal; "mean" the same, with posterior
            means for real cells; "map" gives each row the most probable joint completion (its most probable
            explanation); "draw" draws all missing cells of a row together. Only draws keep the spread and the
            dependence of the data: the others make every estimate of spread too small.
        copies: how many completed datasets, drawn independently (`kind="draw"`); None for one dataset by itself.
        variables: what to return, hidden variables included; the model's variables that have a column, by default.
        seed: a number or a generator.
        threads: how many; one a processor by default. Results do not depend on it.

    Cost: discrete models answer all rows in batches, one for each column ("map": one for all); networks with both
    discrete and real variables enumerate the joint hidden states of each row, up to a thousand; Gaussian models one
    regression a missingness pattern.
    Reference: Koller & Friedman, section 19.1.3; Rubin (1987); Little & Rubin (2019), chapters 4 and 10.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> rain, wet = Discrete("rain", (False, True)), Discrete("wet", (False, True))
    >>> net = BayesNet(TableCPD(rain, [0.8, 0.2]), TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], given=rain))
    >>> impute(net, {"rain": [None, None], "wet": [True, False]})["rain"].tolist()
    [True, False]
    >>> [len(copy) for copy in impute(net, {"rain": [None], "wet": [True]}, kind="draw", copies=3)]
    [1, 1, 1]
    """
    models = _models(model, copies)
    if kind not in KINDS:
        raise NotApplicable(f"kind= is one of {listing(KINDS)}; found {kind!r}.")
    if copies is not None and kind != "draw":
        raise NotApplicable(f"Copies of a {kind} are all the same. Say kind='draw', or leave out copies=.")
    rng, workers = generator(seed), Workers(threads)
    asked = asked_variables(models[0].variables, data, variables)
    rows = bind(data, models[0].variables)
    if len(models) > 1:
        return tuple(_imputed(m, rows, asked, kind, 1, rng, workers)[0] for m in models)
    found = _imputed(models[0], rows, asked, kind, 1 if copies is None else copies, rng, workers)
    return found[0] if copies is None else found


def _models(model: Any, copies: int | None) -> tuple[Model, ...]:
    """One model, or one for each copy."""
    models = tuple(model) if isinstance(model, list | tuple) else (model,)
    for each in models:
        if not isinstance(each, Model):
            raise ModelError(
                f"Cells are imputed from a model; found {each!r}. Fit one to the data first: EM takes holes."
            )
    if copies is not None and (isinstance(copies, bool) or not isinstance(copies, int | np.integer) or copies < 1):
        raise DataError(f"copies is a whole number of at least 1, or None; found {copies!r}.")
    if isinstance(model, list | tuple) and len(models) != copies:
        raise ModelError(f"One model a copy is needed; found {len(models)} models and copies={copies}.")
    if any(tuple(each.variables) != tuple(models[0].variables) for each in models):
        raise ModelError("The models of one imputation have the same variables, in the same order.")
    return models


def asked_variables(
    known: Variables, data: object, variables: Iterable[VariableLike] | None
) -> tuple[Discrete | Vector, ...]:
    """The variables to return: those named, or those that have a column."""
    if variables is not None:
        return tuple(known[v] for v in variables)
    names = data.variables.names if isinstance(data, Dataset) else column_names(data)
    found = tuple(v for v in known if v.name in names)
    if not found:
        raise DataError(
            f"No column is a variable of the model: columns are {listing(names)}, variables {listing(known.names)}."
        )
    return found


def _imputed(
    model: Model,
    rows: Dataset,
    asked: Sequence[Discrete | Vector],
    kind: Kind,
    copies: int,
    rng: np.random.Generator,
    workers: Workers,
) -> tuple[Dataset, ...]:
    variables = model.variables
    cells, wanted = _cells(rows, variables).repeated(copies), [variables.id(v) for v in asked]
    filled = cells
    if not is_mixed(model) or len(fill_mixed(cast(BayesNet, model), cells, wanted, kind, rng)):
        filled = completed(model.problem(), cells, wanted, kind, rng, workers)
    columns: dict[int, AnyArray] = {v: filled.codes[:, i] for i, v in enumerate(filled.discrete)}
    columns |= {v: filled.reals[:, i] for i, v in enumerate(filled.real)}
    whole = {v.name: columns[variables.id(v)].reshape(copies, rows.num_rows) for v in asked}
    return tuple(
        Dataset.from_codes(asked, {name: column[copy] for name, column in whole.items()}, weights=rows.weights)
        for copy in range(copies)
    )


def _cells(rows: Dataset, variables: Variables) -> Cells:
    """The rows as matrices over all variables."""
    discrete = [i for i, v in enumerate(variables) if isinstance(v, Discrete)]
    real = [i for i, v in enumerate(variables) if not isinstance(v, Discrete)]
    codes = rows.matrix([variables[i] for i in discrete]).astype(np.int32)
    reals = np.array([rows.values(variables[i]) for i in real], np.float64).reshape(len(real), rows.num_rows).T
    return Cells(tuple(discrete), codes, tuple(real), np.ascontiguousarray(reals))
