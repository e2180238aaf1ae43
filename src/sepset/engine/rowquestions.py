r"""Questions about all rows of a dataset: $\log P(\mathbf e[m])$, $P(Y \mid \mathbf e[m])$ and most probable values.

Missing cells are summed out. Where a method is exact and nothing has to be summed out, the CPDs say it all, and nothing
is inferred.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import made
from sepset.base.text import listing
from sepset.engine.bound import Bound
from sepset.engine.jointfindings import takes_joints
from sepset.errors import DataError, ScopeError
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

if TYPE_CHECKING:
    from sepset.data.dataset import Dataset
    from sepset.engine.blanket import OnImpossible
    from sepset.engine.prediction import Prediction
    from sepset.engine.uncertainrows import UncertainRows
    from sepset.inference.evidencerows import EvidenceRows, RowAnswers

Names: TypeAlias = VariableLike | Iterable[VariableLike]
"""Variables or their names: one, or several."""


Targets: TypeAlias = VariableLike | Iterable[VariableLike | tuple[VariableLike, ...]]
"""Variables or their names, one or several; a tuple among several is a joint."""


R = TypeVar("R", bound="RowQuestions")


@runtime_checkable
class Framed(Protocol):
    """A frame that holds any objects in its columns, such as a pandas frame."""

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with their columns."""


@runtime_checkable
class ScoresRows(Protocol):
    """A model that knows the probability of complete rows without inference."""

    def log_probability(self, data: object) -> Floats:
        """The log probability (density) of every row."""


class RowQuestions(Bound):
    """Questions about rows of data, each row a set of findings."""

    _report: Callable[[int, int], None] | None = None

    def reporting(self: R, report: Callable[[int, int], None]) -> R:
        """The same engine, which calls `report` with the rows done and the rows in all, in place of a bar."""
        return made(type(self), **{**vars(self), "_report": report})

    def rows(self, data: object) -> Dataset:
        """The rows over the model's variables; variables without a column are missing throughout."""
        from sepset.engine.rows import rows_over

        return rows_over(data, self.model.variables)

    @takes_joints
    def log_probabilities(
        self,
        data: object,
        *,
        over: Names | None = None,
        given: Given = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Floats:
        """The log probability (density) of every row's findings; missing cells are summed out, -inf is impossible.

        Args:
            data: a dataset, a frame, a mapping from names to columns, or the path of a file; columns of other names are
                ignored.
            over: the variables whose columns are findings; all by default.
            given: findings that hold in every row, and whose probability counts; `Soft` ones have none.
            threads: their number; one per processor by default. Answers do not depend on it.
            progress: whether to show a bar; by default in a terminal, when the work is long.

        Guarantee: exact.
        Tested by: engine/test_rowquestions.py::test_log_probabilities_sum_the_joint

        >>> import sepset as ss
        >>> rows = {"letter": ["weak", None], "grade": ["A", "B"]}
        >>> np.exp(ss.prepare(ss.datasets.load("student")).log_probabilities(rows)).round(4).tolist()
        [0.0362, 0.2884]
        """
        from sepset.engine.rows import findings_of

        if over is None and not given and self._is_scored(data):
            return np.asarray(self.model.log_probability(data), np.float64)  # type: ignore[attr-defined]  # as checked
        chosen = None if over is None else self.variables(over)
        if given:
            findings = self._uncertain(data, self._without(chosen), self.weighted_evidence(given))
            return self._answered_under(findings, (), (), threads, progress)[0].log_partition - self.log_total
        findings_alone = findings_of(data, self.model.variables, without=self._without(chosen))
        total = self.log_total  # if it is too large, nothing is made for the rows
        return self._answered(findings_alone, (), threads, progress).log_partition - total

    def _is_scored(self, data: object) -> bool:
        """Whether the model itself knows the probability of these rows, as they miss nothing."""
        from sepset.data.dataset import Dataset
        from sepset.engine.rows import is_observed

        if not isinstance(data, Dataset) or not (self.is_exact and self.prepared.problem.is_normalized):
            return False
        everyone = self.model.variables
        has_all = data.variables is everyone or all(v in data.variables for v in everyone)
        return isinstance(self.model, ScoresRows) and has_all and is_observed(data, everyone)

    @takes_joints
    def predict(
        self,
        data: object,
        *,
        targets: Targets | None = None,
        given: Given = None,
        on_impossible: OnImpossible = "raise",
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Prediction:
        r"""The posterior $P(Y \mid \mathbf e[m])$ of each target given every row of data.

        Columns are findings on the variables of their name, states in their cells; missing cells are unobserved and
        summed out. A cell may also be `Not`, a set of states, `Likelihood` or `Soft`. Targets are predicted from the
        other columns: their own, like columns of other names, are ignored.

        Args:
            data: a pandas, polars, Arrow or DuckDB frame, a mapping from names to columns, a dataset, or the path of a
                CSV, TSV or Parquet file. A column that is a variable up to case or spaces is refused.
            targets: variables, or tuples of discrete variables for their joint; by default those that have no column
                and no finding in `given`. Real ones have a mean and a variance in every row.
            given: findings that hold in every row: states, sets, `Not`, `Likelihood`, `Soft`.
            on_impossible: "raise" names the rows whose findings have probability zero; "null" leaves them empty.
            threads: their number; one per processor by default. Answers do not depend on it.
            progress: whether to show a bar; by default in a terminal, when the work is long.

        Cost: one collect pass per row for one target, two for several, in blocks of rows; equal rows are done once.
        Rows with soft findings or uncertain cells, and joints of several targets, are answered one at a time.

        Guarantee: exact, any number of threads.
        Tested by: engine/test_prediction.py::test_answers_come_in_the_frame_they_were_asked_in
        """
        from sepset.engine.prediction import Prediction, Source, check_action, check_impossible
        from sepset.engine.rows import default_targets

        check_action(on_impossible)
        variables, shared = self.model.variables, resolve(given, self.known)
        default = default_targets(variables, data, shared.touched) if targets is None else []
        singles, groups = (default, []) if targets is None else self._single_and_joint(targets)
        findings = self._uncertain(data, [*singles, *itertools.chain(*groups)], shared)
        found, tables = self._answered_under(findings, singles, groups, threads, progress)
        log_probability = found.log_partition - self.log_total
        check_impossible(self.prepared, findings, log_probability, on_impossible)
        names = variables.names
        return Prediction(
            tuple(variables[v] for v in singles),
            log_probability,
            _probabilities={names[v]: table for v, table in found.probabilities.items()}
            | {tuple(names[v] for v in group): table for group, table in tables.items()},
            _moments={names[v]: moments for v, moments in found.moments.items()},
            _source=Source.of(data),
            method=self.method,
            **self._about_rows(found),
        )

    def _about_rows(self, found: RowAnswers) -> dict[str, Any]:
        """The guarantees of answers to rows and, if real variables are in them, their residual.

        Real targets have a mean and a variance, no shape, so that nothing is approximate where sums are exact.
        """
        from sepset.inference.method import LARGEST_RESIDUAL

        if found.residual is None:
            return {"guarantees": self.promises}
        residual = float(found.residual.max(initial=0.0))
        guarantees = {**self.promises, "marginals": self.promises["log_partition"]}
        if not residual <= LARGEST_RESIDUAL:
            guarantees = dict.fromkeys(guarantees, Guarantee.ESTIMATE)
        return {"guarantees": guarantees, "info": {"residual": residual}}

    def _single_and_joint(self, targets: Targets) -> tuple[list[int], list[tuple[int, ...]]]:
        """The positions of single targets and of joints, which are tuples of discrete variables among the targets."""
        from sepset.engine.rows import discrete_targets, refuse_vectors

        asked: list[Any] = listed(targets)  # tuples among them are told apart below
        groups = [tuple(self.positions(t)) for t in asked if isinstance(t, tuple | list)]
        singles = self.positions([t for t in asked if not isinstance(t, tuple | list)])
        for group in groups:
            discrete_targets(self.model.variables, group)
        refuse_vectors(self.model.variables, singles)
        return singles, groups

    def _uncertain(self, data: Any, without: Sequence[int], shared: Evidence) -> UncertainRows:
        """The findings of all rows: those of the frame, which may have uncertain cells, and those that hold in all."""
        from sepset.engine.rows import findings_of
        from sepset.engine.uncertainrows import resolved_cells, split_cells, with_shared

        variables = self.model.variables
        try:
            return with_shared(findings_of(data, variables, without=without), shared, variables)
        except DataError:
            columns, cells = split_cells(data, variables) if isinstance(data, Mapping | Framed) else ({}, {})
            if not cells:
                raise
        skipped = {variables[v].name for v in without}
        kept = {row: {n: f for n, f in found.items() if n not in skipped} for row, found in cells.items()}
        plain = with_shared(findings_of(columns, variables, without=without), shared, variables)
        return replace(plain, cells=resolved_cells({row: f for row, f in kept.items() if f}, variables))

    def posteriors(self, data: object, targets: Names, *, features: Names | None = None) -> tuple[Floats, ...]:
        """The posterior of each target in every row, one column per state; NaN where the findings are impossible.

        Args:
            data: the rows.
            targets: discrete variables; their own columns are ignored.
            features: the variables whose columns are findings; by default all but the targets.

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> engine.posteriors({"grade": ["A", "C"]}, "sat")[0].round(3).tolist()
        [[0.49, 0.51], [0.891, 0.109]]
        """
        asked = self.discrete(targets)
        direct = self._by_blanket(data, asked[0]) if len(asked) == 1 and features is None else None
        if direct is not None:
            return (np.exp(direct),)
        places = [self.model.variables.id(v) for v in asked]
        found = self._answered(self._findings(data, asked, features), places, None, None).probabilities
        return tuple(found[p] for p in places)

    def moments(self, data: object, target: VariableLike, *, features: Names | None = None) -> tuple[Floats, Floats]:
        """The posterior mean and variance of a real target in every row; NaN where the findings are impossible.

        Args:
            data: the rows.
            target: a real variable; its own column is ignored.
            features: the variables whose columns are findings; by default all but the target.

        >>> import sepset as ss
        >>> x, y = ss.Real("x"), ss.Real("y")
        >>> line = ss.LinearGaussian(y, 1.0, coefficients={x: 2.0}, covariance=0.5, given=x)
        >>> engine = ss.prepare(ss.BayesNet(ss.LinearGaussian(x, covariance=1.0), line))
        >>> [part.round(3).tolist() for part in engine.moments({"x": [0.0, 3.0]}, "y")]
        [[1.0, 7.0], [0.5, 0.5]]
        """
        (place,) = self.positions([target])
        asked = self.model.variables[place]
        if not isinstance(asked, Vector) or asked.size != 1:
            raise ScopeError(f"{asked.name!r} is not a real number, so that it has no mean and variance in each row.")
        mean, variance = self._answered(self._findings(data, [asked], features), [place], None, None).moments[place]
        return mean, variance

    def log_posterior(self, data: object, target: VariableLike) -> Floats:
        """The log posterior of one target given all other cells, one column per state; NaN where impossible."""
        (variable,) = self.discrete(target)
        direct = self._by_blanket(data, variable)
        if direct is not None:
            return direct
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.posteriors(data, variable)[0]))

    def _by_blanket(self, data: object, target: Discrete) -> Floats | None:
        """The log posterior where all other cells are observed and the method is exact; else None."""
        from sepset.engine.blanket import blanket_log_posterior
        from sepset.engine.rows import is_observed
        from sepset.models.bayesnet import BayesNet

        if not (self.is_exact and isinstance(self.model, BayesNet)):
            return None
        rows = self.rows(data)
        if not is_observed(rows, self.model.variables, but=target):
            return None
        return blanket_log_posterior(self.model, target, rows)

    def modes(self, data: object, targets: Names, *, features: Names | None = None) -> Ints:
        r"""The codes of $\arg\max_{\mathbf y} P(\mathbf y \mid \mathbf x[m])$, jointly, one column per target.

        Impossible findings give -1.
        """
        from sepset.engine.rows import most_probable

        asked = self.discrete(targets)
        if len(asked) == 1:
            return most_probable(self.posteriors(data, asked, features=features)[0])[:, None]
        places = [self.model.variables.id(v) for v in asked]
        rows, which = self._findings(data, asked, features).distinct()
        best = np.array([self._mode(rows.evidence(row), places) for row in range(len(rows))], np.int64)
        return best.reshape(-1, len(asked))[which]

    def _mode(self, evidence: Evidence, places: Sequence[int]) -> list[int]:
        best = self.prepared.best(evidence, places)
        if best.log_value == -np.inf:
            return [-1] * len(places)
        return [int(best.values[p]) for p in places]

    def variables(self, names: Names) -> tuple[Discrete | Vector, ...]:
        """The model's variables of these names, at least one, each at most once."""
        asked = listed(names)
        found = tuple(self.model.variables.named(v) for v in asked)
        if len(set(found)) != len(found) or not found:
            raise ScopeError(f"Different variables, at least one, were expected; found {listing(asked)}.")
        return found

    def discrete(self, names: Names) -> tuple[Discrete, ...]:
        """The same; raises where one is continuous."""
        from sepset.engine.rows import discrete_targets

        return discrete_targets(self.model.variables, map(self.model.variables.id, self.variables(names)))

    def features(self, targets: Iterable[Discrete | Vector], given: Names | None) -> tuple[Discrete | Vector, ...]:
        """The variables of `given`, none of them a target; by default all but the targets."""
        aims = set(targets)
        if given is None:
            return tuple(v for v in self.model.variables if v not in aims)
        found = tuple(self.model.variables.named(v) for v in listed(given))
        both = [v.name for v in found if v in aims]
        if both:
            raise ScopeError(f"{listing(both)} cannot be both target and given. Leave out one of them.")
        return found

    def _findings(self, data: object, targets: Sequence[Discrete | Vector], features: Names | None) -> EvidenceRows:
        from sepset.engine.rows import findings_of

        if features is None:
            without = self.model.variables.places(targets)
        else:
            without = self._without(self.features(targets, features))
        return findings_of(data, self.model.variables, without=without)

    def _without(self, chosen: Iterable[Discrete | Vector] | None) -> list[int]:
        """The positions of all variables but these."""
        if chosen is None:
            return []
        wanted = set(chosen)
        return [i for i, v in enumerate(self.model.variables) if v not in wanted]

    def _answered(
        self, findings: EvidenceRows, targets: Sequence[int], threads: int | None, progress: bool | None
    ) -> RowAnswers:
        """Log partitions of rows, and the targets' posteriors in each."""
        from sepset.base.progress import Bar
        from sepset.inference.capabilities import answer_rows
        from sepset.inference.evidencerows import Workers

        if self._report is not None:
            return _frozen(answer_rows(self.prepared, findings, targets, Workers(threads, self._report)))
        with Bar(progress) as bar:
            return _frozen(answer_rows(self.prepared, findings, targets, Workers(threads, bar.report)))

    def _answered_under(
        self,
        findings: UncertainRows,
        targets: Sequence[int],
        joints: Sequence[tuple[int, ...]],
        threads: int | None,
        progress: bool | None,
    ) -> tuple[RowAnswers, dict[tuple[int, ...], Floats]]:
        """Log partitions of rows with uncertain findings, the targets' posteriors in each, and those of joints."""
        from sepset.base.progress import Bar
        from sepset.engine.uncertainrows import answers
        from sepset.inference.evidencerows import Workers

        with Bar(progress) as bar:
            report = bar.report if self._report is None else self._report
            found, tables = answers(self.prepared, findings, targets, joints, Workers(threads, report))
        for table in tables.values():
            table.setflags(write=False)
        return _frozen(found), tables


def _frozen(found: RowAnswers) -> RowAnswers:
    for array in found.probabilities.values():
        array.setflags(write=False)
    return found
