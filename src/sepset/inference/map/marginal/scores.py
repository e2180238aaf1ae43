r"""Scores of assignments of some variables, and of all assignments that differ from one of them in one state.

$$f(\mathbf y) = \log \sum_{\mathbf w} \tilde P(\mathbf y, \mathbf w)$$

Each score is a sum in any order of elimination. With the findings made on copies of the variables, the derivatives of
one sum are proportional to $\tilde P(Y_i, \mathbf y_{-i})$ for every $Y_i$ at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.diagnosis.retraction import Copies
from sepset.inference.method import Prepared, dense, elimination_settings
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of assignments of some variables of a prepared problem.

    Attributes:
        prepared: answers the sums.
        evidence: the findings.
        over: the variables to maximize.

    Reference: Koller & Friedman, equation 13.35 and section 13.7; Park & Darwiche (2004).
    Guarantee: exact.
    Tested by: inference/map/marginal/test_scores.py::test_scores_of_all_neighbors_are_sums
    """

    prepared: Prepared
    evidence: Evidence
    over: tuple[int, ...]

    @lazy
    def cards(self) -> Ints:
        """The number of states of each variable."""
        return self.prepared.problem.variables.cards[list(self.over)]

    def value(self, codes: Sequence[int] | Ints) -> float:
        """The score of an assignment; -inf if it is impossible."""
        return float(self.prepared.log_partition(self._found(codes)))

    def neighbors(self, codes: Ints, value: float) -> list[Floats]:
        """For each variable the scores of all of its states, the others as they are.

        Args:
            codes: an assignment that is possible.
            value: its score.

        Cost: one sum and one sweep back; one query per variable if copies are too large, or numbers are observed.
        """
        if not self.evidence.reals:
            with suppress(TooLarge):
                return self._by_derivatives(codes, value)
        return [self.by_query(i, codes) for i in range(len(self.over))]

    def _found(self, codes: Sequence[int] | Ints) -> Evidence:
        known = {**self.evidence.codes, **dict(zip(self.over, np.asarray(codes).tolist(), strict=True))}
        return _with_codes(self.evidence, known)

    def _by_derivatives(self, codes: Ints, value: float) -> list[Floats]:
        num = self._copies.problem.num_factors
        first, found = num - len(self.over), _with_codes(self.evidence, {**self.evidence.codes, **self._copied(codes)})
        gradient = self._derivatives.gradient(found, numbers=range(first, num))
        scores = []
        with np.errstate(divide="ignore"):
            for i, code in enumerate(codes.tolist()):
                weights = gradient.direction(first + i)
                assert weights is not None  # the assignment is possible
                total = np.asarray(weights.sum(axis=1))
                scores.append(value + np.log(total) - math.log(float(total[code])))
        return scores

    def by_query(self, i: int, codes: Ints) -> Floats:
        """The scores of the states of one variable, the others as they are, by one query."""
        others = {v: int(c) for j, (v, c) in enumerate(zip(self.over, codes, strict=True)) if j != i}
        answer = self.prepared.query([self.over[i]], _with_codes(self.evidence, {**self.evidence.codes, **others}))
        with np.errstate(divide="ignore"):
            return np.asarray(answer.log_partition + np.log(dense(answer.distribution).values))

    @lazy
    def _copies(self) -> Copies:
        return Copies.of(self.prepared.problem, self.over)

    @lazy
    def _derivatives(self) -> Derivatives:
        return Derivatives(self._copies.problem, *elimination_settings(self.prepared.method))

    def _copied(self, codes: Ints) -> dict[int, int]:
        size = len(self.prepared.problem.variables)
        return {size + i: code for i, code in enumerate(codes.tolist())}


def _with_codes(evidence: Evidence, codes: Mapping[int, int]) -> Evidence:
    """The evidence with these states; the likelihood of a state counts."""
    weights = dict(evidence.weights)
    for v in set(codes).intersection(weights):
        weights[v] = np.where(np.arange(len(weights[v])) == codes[v], weights[v], 0.0)
    known = {v: code for v, code in codes.items() if v not in weights}
    return Evidence(known, weights, soft=evidence.soft, reals=evidence.reals)
