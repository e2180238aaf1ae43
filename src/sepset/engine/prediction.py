"""Predictions for all rows of a frame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of
from sepset.base.display import Report, Shown, plain
from sepset.base.extras import FrameKind
from sepset.base.text import joined, listing, nearest
from sepset.data.dataset import Dataset
from sepset.data.frames import whole_table
from sepset.engine.blanket import OnImpossible
from sepset.engine.rows import most_probable
from sepset.engine.uncertainrows import UncertainRows
from sepset.errors import ImpossibleEvidence, ScopeError
from sepset.factors.labels import FEW, one_line
from sepset.inference.conflict import impossible
from sepset.inference.documents import about_document
from sepset.inference.evidencerows import RowMoments
from sepset.inference.method import Prepared
from sepset.inference.result import Result
from sepset.variables.variable import Discrete, Real, VariableLike, Vector

FIRST_ROWS, FEW_TARGETS = 8, 4
"""The number of rows and targets that are shown."""


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Report, Result):
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

    targets: tuple[Discrete | Vector, ...]
    log_probability: Floats = field(repr=False)
    _: KW_ONLY
    _probabilities: Mapping[str | tuple[str, ...], Floats] = field(repr=False)
    _moments: Mapping[str, RowMoments] = field(repr=False)
    _source: Source = field(repr=False)

    def __len__(self) -> int:
        return len(self.log_probability)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The most probable state of each target, or its mean, row by row."""
        return iter(self.dataset.rows())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The posterior of the only target, one row per row of data and one column per state."""
        if len(self.targets) != 1:
            names = listing([v.name for v in self.targets])
            raise ScopeError(f"Predictions of {names} are several arrays. Use probabilities(target) or to_frame().")
        return np.array(self.probabilities(self.targets[0]), dtype=dtype)

    def probabilities(self, target: VariableLike | tuple[VariableLike, ...]) -> Floats:
        """The posterior of a discrete target, one row per row of data and one column per state; NaN where impossible.

        Args:
            target: a target, or a tuple that was predicted jointly; then there is one axis per variable.
        """
        if isinstance(target, tuple):
            return self._joint(target)
        found = self._target(target)
        if found.name not in self._probabilities:
            raise ScopeError(f"{found.name} is continuous and has no states. Use mean and variance.")
        return self._probabilities[found.name]

    def _joint(self, target: tuple[VariableLike, ...]) -> Floats:
        names = tuple(v.name if isinstance(v, Discrete | Vector) else v for v in target)
        if names not in self._probabilities:
            joints = [key for key in self._probabilities if isinstance(key, tuple)]
            raise ScopeError(f"{names!r} was not predicted; joints are {listing(joints) or 'none'}.")
        return self._probabilities[names]

    def mean(self, target: VariableLike) -> Floats:
        """The mean of a real target in every row; NaN where impossible."""
        return self._real(target).mean

    def variance(self, target: VariableLike) -> Floats:
        """The variance of a real target in every row; NaN where impossible."""
        return self._real(target).variance

    def _real(self, target: VariableLike) -> RowMoments:
        found = self._target(target)
        if found.name not in self._moments:
            raise ScopeError(f"{found.name} has states. Use probabilities or codes.")
        return self._moments[found.name]

    def codes(self, target: VariableLike) -> Ints:
        """The position of the most probable state, ties to the first; -1 where the row is impossible."""
        return most_probable(self.probabilities(target))

    @property
    def dataset(self) -> Dataset:
        """The most probable state of each discrete target and the mean of each real one; missing where impossible."""
        return Dataset.from_codes(self.targets, {v.name: self._best(v) for v in self.targets})

    def _best(self, target: Discrete | Vector) -> Ints | Floats:
        return self.codes(target) if isinstance(target, Discrete) else self.mean(target)

    @property
    def states(self) -> Any:
        """The same values as a frame like the one given, or as a dataset if that was not a frame."""
        return self.dataset if self._source.kind is None else self._source.framed(self.dataset)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame with the most probable state of each target, and a column `P(target=state)` for each of its states.

        Real targets have their mean, and a column `variance(target)`.

        Args:
            kind: the library of the frame; by default that of the frame given, or pandas.
        """
        return self._source.framed(self.to_dataset(), kind)

    def to_dataset(self) -> Dataset:
        """The columns of `to_frame` as a dataset."""
        parts: dict[str, Floats] = {}
        for v in self.targets:
            if isinstance(v, Discrete):
                parts |= {f"P({v.name}={s})": self.probabilities(v)[:, i] for i, s in enumerate(v.states)}
            else:
                parts[f"variance({v.name})"] = self.variance(v)
        columns = {v.name: self._best(v) for v in self.targets} | parts
        variables: list[Discrete | Vector] = [*self.targets, *map(Real, parts)]
        return Dataset.from_codes(variables, columns)

    def to_dict(self) -> dict[str, Any]:
        """The rows of `to_frame` in plain values, with the log probability of each, as `to_json` writes them."""
        rows = [plain(row) for row in self.to_dataset().rows()]
        names = [v.name for v in self.targets]
        logs = plain(self.log_probability)
        return {"targets": names, "rows": rows, "log_probability": logs, **about_document(self)}

    def _target(self, target: VariableLike) -> Discrete | Vector:
        name = target.name if isinstance(target, Discrete | Vector) else target
        for variable in self.targets:
            if variable.name == name:
                return variable
        names = [v.name for v in self.targets]
        raise ScopeError(f"{name!r} was not predicted; targets are {listing(names)}.{nearest(name, names)}")

    def __repr__(self) -> str:
        told = "; ".join(self._summary(v) for v in self.targets[:FEW_TARGETS])
        return f"Prediction({len(self):,} rows; {told}{'; ...' if len(self.targets) > FEW_TARGETS else ''})"

    def _shown(self) -> Shown:
        """The first rows: the most probable state of each target with its probability, or the mean and deviation."""
        shown = self.targets[:FEW_TARGETS]
        columns = [column for v in shown for column in self._columns(v)]
        titles = [title for v in shown for title in (v.name, "probability" if isinstance(v, Discrete) else "deviation")]
        more = f"first {FEW_TARGETS} of {len(self.targets)} targets" if len(self.targets) > FEW_TARGETS else ""
        rows = f"first {FIRST_ROWS} of {len(self):,} rows" if len(self) > FIRST_ROWS else ""
        counts = [self._summary(v) for v in shown if isinstance(v, Discrete)]
        caption = "; ".join(filter(None, (rows, more, *counts)))
        title = f"Prediction of {len(self):,} rows"
        return Shown(titles, list(zip(*columns, strict=True)), title, caption, words=len(titles))

    def _columns(self, target: Discrete | Vector) -> Iterator[list[str]]:
        """The first states and their probabilities, or means and deviations, as text."""
        first = slice(FIRST_ROWS)
        if not isinstance(target, Discrete):
            moments = self._real(target)
            yield [_rounded(mean) for mean in moments.mean[first]]
            yield [_rounded(np.sqrt(variance)) for variance in moments.variance[first]]
            return
        codes, shares = self.codes(target)[first], self.probabilities(target)[first]
        yield [str(target.states[code]) if code >= 0 else "impossible" for code in codes.tolist()]
        yield [f"{row[code]:.4f}" if code >= 0 else "" for code, row in zip(codes.tolist(), shares, strict=True)]

    def _summary(self, target: Discrete | Vector) -> str:
        """How many rows have each state as the most probable; the mean of a real target over all rows."""
        if not isinstance(target, Discrete):
            return f"{target.name} {_rounded(np.nanmean(self.mean(target), axis=0))} in the mean"
        codes = self.codes(target)
        counts = np.bincount(codes[codes >= 0], minlength=target.num_states).tolist()
        pairs = (f"{one_line(state)} {count:,}" for state, count in zip(target.states, counts, strict=True))
        return f"{target.name}: {joined(pairs, FEW)}"


def _rounded(value: Any) -> str:
    """A number, or those of a vector, with six digits."""
    return " ".join(f"{number:.6g}" for number in np.atleast_1d(value).tolist())


class Source(NamedTuple):
    """The kind of the frame of findings, and its index if it has one."""

    kind: FrameKind | None
    index: Any = None

    @classmethod
    def of(cls, data: Any) -> Source:
        """The kind of a frame; datasets, mappings and files have none."""
        if isinstance(data, Dataset | Mapping | str | os.PathLike):
            return cls(None)
        import narwhals.stable.v2 as nw

        library = nw.get_native_namespace(whole_table(data)).__name__
        if library in ("polars", "pyarrow"):
            return cls(library)
        if library == "duckdb":
            return cls("pyarrow")
        return cls("pandas", getattr(data, "index", None) if library == "pandas" else None)

    def framed(self, dataset: Dataset, kind: FrameKind | None = None) -> Any:
        """The dataset as a frame of this kind (or another), with the original index."""
        wanted = kind or self.kind or "pandas"
        made: Any = dataset.to_frame(wanted)
        if wanted == "pandas" and self.index is not None:
            made.index = self.index
        return made


def check_action(action: OnImpossible) -> None:
    """Raise unless this is a known action."""
    one_of("on_impossible", action, ("raise", "null"))


def check_impossible(
    prepared: Prepared, findings: UncertainRows, log_probability: Floats, action: OnImpossible
) -> None:
    """Raise if rows are impossible and the action is "raise", with the conflict in the first of them."""
    rows = np.flatnonzero(log_probability == -np.inf)
    if action == "null" or not len(rows):
        return
    first = int(rows[0])
    raise ImpossibleEvidence(
        f"{len(rows)} of {len(findings)} rows have probability zero: {listing(rows.tolist())}, counted from 0. "
        f"Row {first}: {impossible(prepared, findings.evidence(first))} Or leave such rows empty: on_impossible='null'."
    )
