r"""Several questions about one observed set as one program that computes common steps once.

Pruned eliminations for groups of targets repeat each other's steps where they eliminate the same variables from the
same factors. A step is identified by its operands and its result's scope; equal steps become one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.inference import costs
from sepset.inference.compiled.contraction import ONE, Contraction
from sepset.inference.compiled.program import assemble
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.store import Layout


def bundle(first: Question, rest: Sequence[Question], layout: Layout) -> Question | None:
    """One question with the total of `first` and the targets of the rest; None if it is too large.

    Args:
        first, rest: questions about the same observed variables, over the same states.
        layout: the layout of the store over these states.

    Guarantee: exact; common steps once.
    Tested by: inference/compiled/test_sharedprogram.py::test_groups_asked_often_answer_as_enumeration_does
    """
    parts = (first, *rest)
    made = _Bundle(parts)
    for part in parts:
        made.add(part)
    contraction = made.contraction(first, rest)
    if contraction.entries > costs.MOST_SHARED_ENTRIES:
        return None
    targets = np.concatenate([part.targets for part in rest])
    seen = np.full(len(first.cards), -1, np.int64)
    found = np.array(first.observed, dtype=np.int64)
    seen[found] = np.arange(len(found))
    program = assemble(contraction, layout, made.numbers, made.rank, seen, len(targets), first.cards[found])
    return Question(
        first.cards,
        made.order,
        first.observed,
        made.touched,
        first.tree,
        program,
        made.numbers,
        targets,
        states=first.states,
        reads_singles=True,
        is_shared=True,
    )


class _Bundle:
    """Tensors of all questions under one numbering, their axes in one order of the variables."""

    def __init__(self, parts: Sequence[Question]) -> None:
        cards = parts[0].cards
        self.numbers: Ints = np.unique(np.concatenate([part.numbers for part in parts]))
        self.touched = tuple(sorted({v for part in parts for v in part.touched}))
        self.order = _common_order(parts)
        self.rank = np.full(len(cards), -1, np.int64)
        self.rank[self.order] = np.arange(len(self.order))
        self.cards = cards[self.order].tolist()
        self._ranks = self.rank.tolist()
        self._place = {number: i for i, number in enumerate(self.numbers.tolist(), start=1)}
        free = sorted({v for part in parts for v in _free(part)})
        after = itertools.chain(((v, "likelihood") for v in self.touched), ((v, "free") for v in free))
        self._single = {key: i for i, key in enumerate(after, start=1 + len(self._place))}
        self.num_inputs = len(self._place) + len(self._single)
        self.scopes: list[tuple[int, ...]] = [()] * (self.num_inputs + 1)
        self.steps: list[tuple[int, int, int]] = []
        self._known: dict[tuple[int, int, tuple[int, ...]], int] = {}
        self.tensors: dict[int, list[int]] = {}

    def add(self, part: Question) -> None:
        """Add the new steps of one question, and record the new numbers of its tensors."""
        made, ids = part.contraction, part.ids
        ranks = [self._ranks[v] for v in ids]
        scopes = [tuple(sorted(ranks[r] for r in scope)) for scope in made.scopes]
        new = [ONE, *(self._place[n] for n in part.numbers.tolist())]
        new += [self._single[v, "likelihood"] for v in part.touched]
        new += [self._single[v, "free"] for v in _free(part)]
        for t, number in enumerate(new):
            self.scopes[number] = scopes[t]
        for result, a, b in made.steps:
            new.append(self._step(new[a], new[b], scopes[result]))
        self.tensors[id(part)] = new

    def _step(self, a: int, b: int, scope: tuple[int, ...]) -> int:
        key = (a, b, scope) if a > b or b == ONE else (b, a, scope)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.scopes)
            self.scopes.append(scope)
            self.steps.append((found, a, b))
        return found

    def contraction(self, first: Question, rest: Sequence[Question]) -> Contraction:
        """All steps as one contraction."""
        bounds = np.concatenate([[0], np.cumsum([len(scope) for scope in self.scopes])]).astype(np.int64)
        sizes = np.array([math.prod(self.cards[r] for r in scope) for scope in self.scopes], dtype=np.float64)
        reads = [self.tensors[id(part)][t] for part in rest for t in part.contraction.reads.tolist()]
        roots = [self.tensors[id(first)][t] for t in first.contraction.roots.tolist()]
        none = np.zeros(0, np.int64)
        return Contraction(
            np.array(self.cards, dtype=np.float64),
            bounds,
            np.array([r for scope in self.scopes for r in scope], dtype=np.int64),
            sizes,
            np.array(self.steps, dtype=np.int64).reshape(-1, 3),
            np.array(roots, dtype=np.int64),
            (none, none),
            np.array(reads, dtype=np.int64),
            self.num_inputs,
            len(self.steps),
        )


def _common_order(parts: Sequence[Question]) -> Ints:
    """The variables of all questions, by their mean place in the orders of the questions."""
    num = len(parts[0].cards)
    total, count = np.zeros(num), np.zeros(num)
    for part in parts:
        if len(part.order):
            total[part.order] += np.arange(len(part.order)) / len(part.order)
            count[part.order] += 1
    used = np.flatnonzero(count)
    return used[np.argsort(total[used] / count[used], kind="stable")]


def _free(part: Question) -> list[int]:
    """The variables in no factor's scope in a question, in the order of their tensors."""
    first = len(part.numbers) + len(part.touched) + 1
    return [part.ids[part.contraction.scopes[t][0]] for t in range(first, part.contraction.num_inputs + 1)]
