"""Predictions for whole frames: the result, and the findings in a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of
from sepset.base.frames import FrameKind
from sepset.base.text import listing, nearest
from sepset.data.dataset import Dataset
from sepset.data.frames import whole_table
from sepset.errors import DataError, ImpossibleEvidence, NotApplicable, ScopeError
from sepset.inference.conflict import impossible
from sepset.inference.evidencerows import EvidenceRows
from sepset.inference.method import Prepared
from sepset.inference.result import Result
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete, Real, VariableLike, Vector

OnImpossible = Literal["raise", "null"]


@dataclass(frozen=True, eq=False)
class Prediction(Result):
    r"""The posteriors $P(Y \mid \mathbf e[m])$ of each target in every row.

    Attributes:
        targets: the variables predicted.
        log_probability: $\log P(\mathbf e[m])$ of each row's findings; -inf where they are impossible.

    >>> import sepset as ss
    >>> rows = {"grade": ["A", "C", None], "letter": ["strong", "weak", "weak"]}
    >>> found = ss.prepare(ss.datasets.load("student")).predict(rows, targets=["intelligence"])
    >>> found.states["intelligence"].tolist(), found.probabilities("intelligence").round(3).tolist()
    (['high', 'low', 'low'], [[0.387, 0.613], [0.921, 0.079], [0.86, 0.14]])
    """

    targets: tuple[Discrete, ...]
    log_probability: Floats = field(repr=False)
    _probabilities: Mapping[str, Floats] = field(repr=False)
    _source: Source = field(repr=False)

    def __len__(self) -> int:
        return len(self.log_probability)

    def probabilities(self, target: VariableLike) -> Floats:
        """The posterior of a target, one row per row of the frame and one column per state; NaN where impossible."""
        return self._probabilities[self._target(target).name]

    def codes(self, target: VariableLike) -> Ints:
        """The position of the most probable state in each row, ties to the first; -1 where the row is impossible."""
        found = self.probabilities(target)
        best = np.where(np.isnan(found), -1.0, found).argmax(axis=1)
        return np.where(self.log_probability > -np.inf, best, -1)

    @property
    def dataset(self) -> Dataset:
        """The most probable state of each target, a missing cell where the row is impossible."""
        return Dataset.from_codes(self.targets, {v.name: self.codes(v) for v in self.targets})

    @property
    def states(self) -> Any:
        """The most probable states as a frame like the one given, or as a dataset if that was not a frame."""
        return self.dataset if self._source.kind is None else self._source.framed(self.dataset)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame with the most probable state of each target, and a column `P(target=state)` for each of its states.

        Args:
            kind: the library of the frame; by default that of the frame given, or pandas.
        """
        names = [f"P({v.name}={s})" for v in self.targets for s in v.states]
        cells = [self.probabilities(v)[:, i] for v in self.targets for i in range(v.num_states)]
        columns = {v.name: self.codes(v) for v in self.targets} | dict(zip(names, cells, strict=True))
        variables: list[Discrete | Vector] = [*self.targets, *(Real(name) for name in names)]
        return self._source.framed(Dataset.from_codes(variables, columns), kind)

    def _target(self, target: VariableLike) -> Discrete:
        name = target.name if isinstance(target, Discrete | Vector) else target
        for variable in self.targets:
            if variable.name == name:
                return variable
        names = [v.name for v in self.targets]
        raise ScopeError(f"{name!r} was not predicted; targets are {listing(names)}.{nearest(name, names)}")

    def __repr__(self) -> str:
        names = ", ".join(v.name for v in self.targets[:6]) + (", ..." if len(self.targets) > 6 else "")
        return f"Prediction({len(self)} rows; {names})"


class Source(NamedTuple):
    """The kind of the frame of findings, and its index if it has one."""

    kind: FrameKind | None
    index: Any = None

    @classmethod
    def of(cls, frame: Any) -> Source:
        """The source of a frame; datasets and mappings have no kind."""
        if isinstance(frame, Dataset | Mapping):
            return cls(None)
        import narwhals.stable.v2 as nw

        library = nw.get_native_namespace(whole_table(frame)).__name__
        if library in ("polars", "pyarrow"):
            return cls(library)
        if library == "duckdb":
            return cls("pyarrow")
        return cls("pandas", getattr(frame, "index", None) if library == "pandas" else None)

    def framed(self, dataset: Dataset, kind: FrameKind | None = None) -> Any:
        """The dataset as a frame of this kind (or another), with the original index."""
        wanted = kind or self.kind or "pandas"
        made: Any = dataset.to_frame(wanted)
        if wanted == "pandas" and self.index is not None:
            made.index = self.index
        return made


def is_frame(value: Any) -> bool:
    """Whether something is a dataset or a frame of some library."""
    import narwhals.stable.v2 as nw

    table = whole_table(value)
    return isinstance(value, Dataset) or type(nw.from_native(table, pass_through=True)) is not type(table)


def column_names(frame: Any) -> tuple[str, ...]:
    """The names of a frame's columns, without reading them."""
    if isinstance(frame, Dataset):
        return frame.variables.names
    if isinstance(frame, Mapping):
        return tuple(frame)
    import narwhals.stable.v2 as nw

    try:
        return tuple(nw.from_native(whole_table(frame)).collect_schema().names())
    except TypeError:
        raise DataError(
            f"A frame of findings was expected; found {type(frame).__name__}. Give a pandas, polars, Arrow or DuckDB "
            "frame, a mapping from names to columns, or a Dataset."
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"The frame's columns have ambiguous names: {error} Rename or drop some.") from None


def findings_of(frame: Any, variables: Variables, *, without: Sequence[int] = ()) -> EvidenceRows:
    """The findings in a frame's columns; columns of other names, and of the positions in `without`, are ignored."""
    if isinstance(frame, Dataset) and len(variables) and frame.variables == variables:
        return EvidenceRows.of(frame, variables, without=without)
    names = column_names(frame)
    known = [name for name in names if name in variables]
    if not known:
        near = next((near for name in names if (near := nearest(name, variables.names))), "")
        raise DataError(
            f"No column is a variable of the model: columns are {listing(names) or 'none'}, "
            f"variables {listing(variables.names)}.{near}"
        )
    skipped = {variables[v].name for v in without}
    wanted = [variables[name] for name in known if name not in skipped]
    if isinstance(frame, Dataset) and all(frame.variables[v.name] == v for v in wanted):
        return EvidenceRows.of(frame, variables, without=without)
    return EvidenceRows.of(Dataset(frame, wanted), variables)


def discrete_targets(variables: Variables, positions: Iterable[int]) -> tuple[Discrete, ...]:
    """The targets; raises if one is continuous, since its posterior is not a table."""
    targets = [variables[v] for v in positions]
    continuous = [v.name for v in targets if not isinstance(v, Discrete)]
    if continuous:
        raise NotApplicable(
            f"Predictions of frames are for discrete targets; {listing(continuous)} are continuous. "
            "Use marginals(given=...) row by row for their means and variances."
        )
    return tuple(targets)  # type: ignore[arg-type]  # discrete, as checked


def default_targets(variables: Variables, frame: Any) -> list[int]:
    """The positions of the variables without a column in the frame."""
    present = set(column_names(frame))
    absent = [i for i, name in enumerate(variables.names) if name not in present]
    if not absent:
        raise ScopeError("Every variable has a column, so there is nothing to predict by default. Name the targets=.")
    return absent


def check_action(action: OnImpossible) -> None:
    """Raise unless this is a known action."""
    one_of("on_impossible", action, ("raise", "null"))


def check_impossible(prepared: Prepared, findings: EvidenceRows, log_probability: Floats, action: OnImpossible) -> None:
    """Raise if rows are impossible and the action is "raise", with the conflict in the first of them."""
    rows = np.flatnonzero(log_probability == -np.inf)
    if action == "null" or not len(rows):
        return
    first = int(rows[0])
    raise ImpossibleEvidence(
        f"{len(rows)} of {len(findings)} rows have probability zero: {listing(rows.tolist())}, counted from 0. "
        f"Row {first}: {impossible(prepared, findings.evidence(first))} Or leave such rows empty: on_impossible='null'."
    )
