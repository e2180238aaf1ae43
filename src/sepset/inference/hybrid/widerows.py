"""Rows of evidence about more numbers than a sweep takes: rows with the same observed set share one elimination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference import costs
from sepset.inference.evidencerows import EvidenceRows, RowAnswers, Workers, distinct_rows
from sepset.inference.gaussian.precision import DOUBT
from sepset.inference.gaussian.widths import Widths
from sepset.inference.hybrid.rows import HybridRows
from sepset.inference.hybrid.wide import WideQuestions, is_near, variances


@dataclass(frozen=True, eq=False)
class WideRows:
    """Rows of evidence about many numbers.

    Attributes:
        questions: the single questions.
        widths: the sizes of their parts.
        hybrid: the same rows with their states.
    """

    questions: WideQuestions
    widths: Widths
    hybrid: HybridRows

    def answers(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> tuple[Ints, RowAnswers]:
        """The rows that were answered so, and their answers: log partitions and the posteriors of all targets.

        Others have no narrow order, depend on hidden states, lose digits or follow from each other without noise.
        """
        cards = self.questions.problem.variables.cards
        states, places = [t for t in targets if cards[t]], [np.zeros(0, np.int64)]
        found, residual = RowAnswers.empty(len(rows), targets, cards), np.full(len(rows), np.nan)
        for some in _alike(rows):
            numbers = self._numbers(rows.take(some), targets)
            if numbers is None:
                continue
            kept, own = numbers
            at = some[kept]
            inside = self.hybrid.state_answers(rows.take(at), states, workers)
            found.log_partition[at] = inside.log_partition + own.log_partition
            for v, each in inside.probabilities.items():
                found.probabilities[v][at] = each
            for v, (mean, variance) in own.moments.items():
                found.moments[v].mean[at], found.moments[v].variance[at] = mean, variance
            residual[at] = own.residual
            places.append(at)
            workers.report(sum(map(len, places)), len(rows))
        done = np.sort(np.concatenate(places))
        return done, _without_impossible(found._replace(residual=residual).take(done))

    def _numbers(self, rows: EvidenceRows, targets: Sequence[int]) -> tuple[Ints, RowAnswers] | None:
        """Which of the rows of one group kept their digits, and their log densities and moments."""
        coordinates, evidence = self.questions.coordinates, rows.evidence(0)
        order = self.widths.narrow_order(targets, evidence)
        reals = [t for t in targets if t in coordinates.families]
        if order is None or not self.questions.is_in_range or any(len(coordinates.families[t].own) > 1 for t in reals):
            return None
        reversals = self.questions.reversals(targets, evidence, order)
        spread, error = variances(reversals, order)
        if not error <= DOUBT:
            return None
        found, off = RowAnswers.empty(len(rows), reals, dict.fromkeys(reals, 0)), np.empty(len(rows))
        step = max(1, costs.NUMBERS_AT_ONCE // max(1, len(reversals.kinds)))
        for first in range(0, len(rows), step):
            part = np.arange(first, min(len(rows), first + step))
            values = self._values(rows.take(part))
            read = reversals.rows(values)
            is_sure = is_near(values) & ~reversals.is_singular(read)
            found.log_partition[part], off[part] = read.log_density, np.where(is_sure, read.error, np.inf)
            for v, (mean, variance) in found.moments.items():
                own = coordinates.column(v)
                mean[part], variance[part] = read.values[:, own], spread[own]
        kept = np.flatnonzero(off <= DOUBT)
        return kept, found._replace(residual=np.maximum(off, error)).take(kept)

    def _values(self, rows: EvidenceRows) -> Floats:
        """The observed numbers, one column per coordinate; zero where there are none."""
        own = [self.questions.coordinates.column(v) for v in rows.real_positions]
        found = np.zeros((len(rows), len(self.questions.coordinates)))
        found[:, own] = np.nan_to_num(rows.reals)
        return found


def _alike(rows: EvidenceRows) -> Iterator[Ints]:
    """The rows, those with the same observed numbers and the same states together."""
    cells = np.concatenate([rows.codes, ~np.isnan(rows.reals)], axis=1).astype(np.int32)
    which = distinct_rows(cells)[1]
    order = np.argsort(which, kind="stable")
    if len(order):
        yield from np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def _without_impossible(found: RowAnswers) -> RowAnswers:
    """The same with NaN for the posteriors of impossible rows."""
    gone = found.log_partition == -np.inf
    for each in (*found.probabilities.values(), *(part for pair in found.moments.values() for part in pair)):
        each[gone] = np.nan
    return found
