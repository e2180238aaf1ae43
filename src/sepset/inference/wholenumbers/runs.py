r"""Runs of a compiled question in whole numbers: the same steps, $d = \sum a\,b$, without any rounding.

For differences of which floats leave no digits. It is slow, so its time is estimated first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sepset.inference.compiled.contraction import ONE, Ranks
from sepset.inference.compiled.question import Question
from sepset.inference.method import dense
from sepset.inference.wholenumbers.numbers import WholeNumbers
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

UNIT = WholeNumbers(np.asarray(1, object), 0)
"""The number one."""

NANOSECONDS_PER_PRODUCT = 150.0
"""The time of a product of short whole numbers and its sum."""

NANOSECONDS_PER_DIGIT_PAIR = 0.6
"""The same for each pair of the 30-bit digits of long ones."""


@dataclass(frozen=True, eq=False)
class WholeRun:
    """A question with its inputs in whole numbers, one axis per rank.

    Attributes:
        question: its steps.
        inputs: the tensors that they begin with: the number one, factors at the findings, likelihoods, and ones.
    """

    question: Question
    inputs: tuple[WholeNumbers, ...] = field(repr=False)

    @classmethod
    def of(cls, question: Question, problem: Problem, evidence: Evidence) -> WholeRun | None:
        """The inputs of a question; None if some factor holds logarithms."""
        found = [UNIT]
        for number in question.numbers.tolist():
            one = _factor(question, problem, number, evidence)
            if one is None:
                return None
            found.append(one)
        found += [WholeNumbers.of(np.asarray(evidence.weights[v], np.float64)) for v in question.touched]
        sizes = question.contraction.sizes[len(found) : question.contraction.num_inputs + 1].astype(np.int64).tolist()
        return cls(question, (*found, *(WholeNumbers.of(np.ones(size)) for size in sizes)))

    @property
    def nanoseconds(self) -> float:
        """The estimated time: products of numbers with at most the digits of all inputs together."""
        made = self.question.contraction
        products = sum(made.size({*made.scopes[a], *made.scopes[b]}) for _, a, b in made.steps)
        digits = sum(one.num_bits for one in self.inputs) / 30.0
        return products * (NANOSECONDS_PER_PRODUCT + NANOSECONDS_PER_DIGIT_PAIR * (digits / 2.0) ** 2)

    def tensors(self) -> list[WholeNumbers]:
        """All tensors after both sweeps."""
        made = self.question.contraction
        found = [*self.inputs, *(UNIT for _ in range(made.num_tensors - len(self.inputs)))]
        for result, first, second in made.steps:
            whole = tuple(sorted({*made.scopes[first], *made.scopes[second]}))
            a, b = (
                self._over(found[first], made.scopes[first], whole),
                self._over(found[second], made.scopes[second], whole),
            )
            product = a if second == ONE else a * b
            found[result] = product.sum([i for i, r in enumerate(whole) if r not in made.scopes[result]])
        return found

    def _over(self, tensor: WholeNumbers, scope: Ranks, whole: Ranks) -> WholeNumbers:
        """A tensor with an axis for each of more ranks."""
        cards = self.question.contraction.cards
        return tensor.reshape(*(cards[r] if r in scope else 1 for r in whole))

    def product(self, numbers: Iterable[WholeNumbers]) -> WholeNumbers:
        """The product of the sums of tensors."""
        found = UNIT
        for one in numbers:
            found = found * one.sum(range(one.values.ndim))
        return found


def _factor(question: Question, problem: Problem, number: int, evidence: Evidence) -> WholeNumbers | None:
    """A factor at the findings, its axes in the order of ranks; None if it holds logarithms."""
    table, scope = dense(problem.factor(number)), problem.scope(number)
    if table.space == "log":
        return None
    rank = {v: r for r, v in enumerate(question.ids)}
    free = [v for v in scope if v in rank]
    kept = table.flat.reshape(problem.shapes[number])
    kept = np.asarray(kept[tuple(slice(None) if v in rank else evidence.codes[v] for v in scope)])
    kept = kept.transpose(sorted(range(len(free)), key=lambda i: rank[free[i]]))
    whole = WholeNumbers.of(kept)
    return WholeNumbers(whole.values, whole.exponent + table.exponent)
