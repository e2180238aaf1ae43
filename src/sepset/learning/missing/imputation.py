r"""Imputation: missing cells filled from the posterior of a model given what each row has.

$$\mathbf h[m] \mid \mathbf o[m] \sim P(\mathbf h \mid \mathbf o[m])$$

Every kind of value is one question about all rows at once: the mode or the mean of each cell by itself, the most
probable completion of a row, or a draw of it.

Reference: Koller & Friedman, section 19.1.3; Rubin (1987); Little & Rubin (2019), chapters 4 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import Seed, generator, one_of, whole
from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.data.export import frame_columns, library_of, with_cells
from sepset.data.sources import bind
from sepset.data.suggestions import column_names
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.errors import DataError, ImpossibleEvidence, ModelError, NotApplicable, ScopeError
from sepset.inference.completion import complete_rows, draw_rows, mean_rows, mode_rows
from sepset.inference.conflict import impossible
from sepset.inference.evidencerows import EvidenceRows, RowValues, Workers
from sepset.inference.method import Method, Prepared
from sepset.inference.result import Guarantee, Result
from sepset.models.model import Model
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector

Kind: TypeAlias = Literal["mode", "mean", "map", "draw"]
"""Which value a missing cell gets."""

KINDS = get_args(Kind)


@dataclass(frozen=True, eq=False, repr=False)
class Imputation(Report, Result):
    """Rows with their missing cells filled in, once or several times.

    Attributes:
        datasets: the completed rows, one dataset per copy, over the variables asked for.
        kind: which value a missing cell got.
        num_filled: the number of cells filled in each copy.

    >>> import sepset as ss
    >>> found = ss.impute(ss.datasets.load("asia"), {"xray": ["yes", None], "lung": [None, "no"]}, kind="map")
    >>> found.num_filled >= 2, found.kind
    (True, 'map')
    """

    datasets: tuple[Dataset, ...]
    kind: Kind
    _: KW_ONLY
    num_filled: int
    _source: object
    _rows: Dataset

    @property
    def dataset(self) -> Dataset:
        """The completed rows, where there is one copy of them."""
        return _only(self.datasets)

    @property
    def frames(self) -> tuple[Any, ...]:
        """The data as it was given, a frame or a mapping of columns, with the cells filled in; one per copy.

        Columns keep their type: categories (with states they lack added at the end), nullable integers and booleans,
        text, floats of any width. Other columns, their order and the index stay. What a column's type cannot hold,
        such as a mean of 2.5 among integers, raises.

        Reference: Rubin (1987).
        Guarantee: exact posterior, types kept.
        Tested by: learning/missing/test_imputation.py::test_pandas_types_stay
        """
        return tuple(_put_back(self._source, self._rows, full) for full in self.datasets)

    @property
    def frame(self) -> Any:
        """The data as it was given with the cells filled in, where there is one copy; see `frames`."""
        _only(self.datasets)
        return self.frames[0]

    def __len__(self) -> int:
        return len(self.datasets)

    def __iter__(self) -> Iterator[Dataset]:
        return iter(self.datasets)

    def __repr__(self) -> str:
        return f"Imputation({self._rows.num_rows} rows, {self.num_filled} cells by {self.kind}, copies: {len(self)})"

    def _shown(self) -> Shown:
        facts = [
            ("rows", f"{self._rows.num_rows:,}"),
            ("cells filled", f"{self.num_filled:,}"),
            ("kind", self.kind),
            ("copies", str(len(self))),
            ("values", self.guarantees["values"].value),
        ]
        return Shown((), facts, "Imputation")


def _only(datasets: tuple[Dataset, ...]) -> Dataset:
    if len(datasets) != 1:
        raise ScopeError(f"There are {len(datasets)} copies; .dataset and .frame are of one. Use .datasets or .frames.")
    return datasets[0]


@translated
def impute(
    model: Model | Sequence[Model],
    data: object,
    *,
    kind: Kind = "mode",
    copies: int | None = None,
    variables: Iterable[VariableLike] | None = None,
    seed: Seed = 0,
    threads: int | None = None,
    method: Method | None = None,
) -> Imputation:
    r"""The data with missing cells filled from $P(\mathbf h \mid \mathbf o)$ of each row.

    Args:
        model: the network (or other model) to fill from. For multiple imputation that carries the uncertainty of the
            parameters too, one model per copy, such as draws from their posterior.
        data: a dataset, any frame, or the path of a file; columns of other names are left out of `.datasets`, and
            kept in `.frames`.
        kind: "mode" gives each cell the most probable value of its own marginal; "mean" the same, with posterior
            means for real cells; "map" gives each row the most probable joint completion (its most probable
            explanation); "draw" draws all missing cells of a row together. Only draws keep the spread and the
            dependence of the data: the others make every estimate of spread too small.
        copies: the number of completed datasets, drawn independently (`kind="draw"`); by default one per model.
        variables: what to return, hidden variables included; the model's variables that have a column, by default.
        seed: a number or a generator.
        threads: their number; one per processor by default. Results do not depend on it.
        method: what answers questions about the rows; exact by default. With an approximate one values are estimates.

    Cost: discrete models answer all rows in batches, one for each column ("map": one for all); networks with real
    variables enumerate the hidden contexts of each row, up to a thousand, and regress missing numbers on those found
    once for each missingness pattern; rows of other models are asked about one by one.
    Reference: Koller & Friedman, section 19.1.3; Rubin (1987); Little & Rubin (2019), chapters 4 and 10.
    Guarantee: exact posterior, deterministic.
    Tested by: inference/test_completion.py::test_draws_have_the_joint_posterior

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> rain, wet = Discrete("rain", (False, True)), Discrete("wet", (False, True))
    >>> net = BayesNet(TableCPD(rain, [0.8, 0.2]), TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], given=rain))
    >>> found = impute(net, {"rain": [None, None], "wet": [True, False], "day": [1, 2]})
    >>> found.dataset["rain"].tolist(), found.frame
    ([True, False], {'rain': [True, False], 'wet': [True, False], 'day': [1, 2]})
    >>> [len(copy) for copy in impute(net, {"rain": [None], "wet": [True]}, kind="draw", copies=3)]
    [1, 1, 1]
    """
    models = _models(model, copies)
    one_of("kind", kind, KINDS)
    number = len(models) if copies is None else copies
    if number > 1 and kind != "draw":
        raise NotApplicable(f"Copies of a {kind} are all the same. Say kind='draw', or leave out copies=.")
    rng, workers = generator(seed), Workers(threads)
    asked = asked_variables(models[0].variables, data, variables)
    rows = bind(data, models[0].variables)
    engines = [engine_for(m, method) for m in models]
    each = 1 if len(models) > 1 else number
    parts = [_imputed(engine, rows, asked, kind, each, rng, workers) for engine in engines]
    exact = all(engine.is_exact for engine in engines)
    return Imputation(
        tuple(full for part in parts for full in part),
        kind,
        num_filled=sum(int(rows.is_missing(v).sum()) for v in asked),
        _source=data,
        _rows=rows,
        method=engines[0].method,
        guarantees={"values": Guarantee.EXACT if exact else Guarantee.ESTIMATE},
    )


def _models(model: Any, copies: int | None) -> tuple[Model, ...]:
    """One model, or one for each copy."""
    models = tuple(model) if isinstance(model, list | tuple) else (model,)
    for each in models:
        if not isinstance(each, Model):
            raise ModelError(
                f"Cells are imputed from a model; found {each!r}. Fit one to the data first: EM takes missing cells."
            )
    if copies is not None:
        whole("copies", copies, least=1, otherwise="None")
    if not models or (isinstance(model, list | tuple) and copies is not None and len(models) != copies):
        raise ModelError(f"One model per copy is needed; found {len(models)} models and copies={copies}.")
    if any(each is not models[0] and tuple(each.variables) != tuple(models[0].variables) for each in models):
        raise ModelError("The models of one imputation have the same variables, in the same order.")
    return models


def asked_variables(
    known: Universe, data: object, variables: Iterable[VariableLike] | None
) -> tuple[Discrete | Vector, ...]:
    """The variables to return: those named, or those that have a column."""
    if variables is not None:
        return tuple(known[v] for v in variables)
    names = data.variables.names if isinstance(data, Dataset) else column_names(data)
    columns = frozenset(names)
    found = tuple(v for v in known if v.name in columns)
    if not found:
        raise DataError(
            f"No column is a variable of the model: columns are {listing(names) or 'none'}, "
            f"variables {listing(known.names)}."
        )
    return found


def _imputed(
    engine: Engine,
    rows: Dataset,
    asked: Sequence[Discrete | Vector],
    kind: Kind,
    copies: int,
    rng: np.random.Generator,
    workers: Workers,
) -> tuple[Dataset, ...]:
    """The rows with the asked variables filled in, as often as there are copies."""
    variables, prepared = engine.model.variables, engine.prepared
    found = variables.found_places(asked)
    places, is_discrete = found.tolist(), variables.cards[found] > 0
    evidence = EvidenceRows.of(rows, variables)
    whole = evidence.over(found[is_discrete].tolist(), found[~is_discrete].tolist()).repeated(copies)
    missing = np.flatnonzero(whole.is_missing)
    source = evidence.take(missing % max(rows.num_rows, 1)).found()
    values, log_value = _values(prepared, source, places, kind, rng, workers)
    _refuse_impossible(prepared, source, missing % max(rows.num_rows, 1), log_value, rows.num_rows)
    whole.codes[missing] = values.over(whole.positions, ()).codes
    whole.reals[missing] = values.over((), whole.real_positions).reals
    return tuple(_dataset(whole, asked, places, rows, copy) for copy in range(copies))


def _values(
    prepared: Prepared,
    rows: EvidenceRows,
    targets: Sequence[int],
    kind: Kind,
    rng: np.random.Generator,
    workers: Workers,
) -> RowValues:
    """The targets with values of this kind where a row misses them."""
    if kind == "map":
        return complete_rows(prepared, rows, workers)
    if kind == "draw":
        return draw_rows(prepared, rows, targets, rng, workers)
    return (mode_rows if kind == "mode" else mean_rows)(prepared, rows, targets, workers)


def _refuse_impossible(
    prepared: Prepared, source: EvidenceRows, places: Ints, log_value: Floats, num_rows: int
) -> None:
    """Raise where rows with missing cells have probability zero, saying which and why."""
    bad = np.flatnonzero(log_value == -np.inf)
    if len(bad):
        named = np.unique(places[bad])
        raise ImpossibleEvidence(
            f"{len(named)} of {num_rows} rows have missing cells and probability zero: rows {listing(named.tolist())}, "
            f"counted from 0. {impossible(prepared, source.evidence(int(bad[0])))}"
        )


def _dataset(
    whole: EvidenceRows, asked: Sequence[Discrete | Vector], places: Sequence[int], rows: Dataset, copy: int
) -> Dataset:
    """One of the completed copies, which follow each other."""
    mine = slice(copy * rows.num_rows, (copy + 1) * rows.num_rows)
    columns = {p: whole.codes[mine, i] for i, p in enumerate(whole.positions)}
    numbers = {p: whole.reals[mine, i] for i, p in enumerate(whole.real_positions)}
    named = {v.name: columns[p] if p in columns else numbers[p] for v, p in zip(asked, places, strict=True)}
    return Dataset.from_codes(asked, named, weights=rows.weights)


def _put_back(source: Any, rows: Dataset, full: Dataset) -> Any:
    """The frame with the cells that rows miss taken from the completed rows."""
    if library_of(source) is None and not isinstance(source, Mapping):
        raise DataError(
            f"Cells are put back into pandas and polars frames, Arrow tables and mappings of columns; found "
            f"{type(source).__name__}. Use .datasets, or collect a lazy frame first."
        )
    cells, present = {}, frame_columns(source)
    for variable in full.variables:
        places = np.flatnonzero(rows.is_missing(variable)).astype(np.int64)
        if len(places) and variable.name in present:
            part = full.take(places)
            found = part.states(variable) if isinstance(variable, Discrete) else part.values(variable)
            cells[variable.name] = places, np.asarray(found).tolist()
    return with_cells(source, cells)
