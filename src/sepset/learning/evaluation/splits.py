"""Ways to set rows aside for testing: each yields, round by round, which rows are tested."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.checks import fraction, whole
from sepset.data.dataset import Dataset
from sepset.data.partition import dealt, fold_numbers, in_first_part
from sepset.errors import DataError
from sepset.variables.variable import VariableLike


@runtime_checkable
class Splitter(Protocol):
    """A frozen value that says which rows are tested in each round; the others are trained on."""

    def num_rounds(self, data: Dataset) -> int:
        """How many rounds there will be."""

    def rounds(self, data: Dataset, rng: np.random.Generator) -> Iterator[Bools]:
        """A mask of the rows tested, for each round."""


@dataclass(frozen=True, slots=True)
class KFold:
    """Every row is tested exactly once, in one of `folds` rounds; sizes differ by one at most.

    Args:
        folds: how many rounds.
        stratify: a discrete variable whose states each fold holds in the same proportions.

    Reference: Koller & Friedman, algorithm 16.A.1.
    Guarantee: sizes differ by one at most.
    Tested by: learning/evaluation/test_splits.py::test_every_row_is_tested_exactly_once

    >>> masks = list(KFold(3).rounds(Dataset({"x": [0, 1, 0, 1]}), np.random.default_rng(0)))
    >>> sum(masks).tolist(), sorted(int(m.sum()) for m in masks)
    ([1, 1, 1, 1], [1, 1, 2])
    """

    folds: int = 10
    stratify: VariableLike | None = None

    def __post_init__(self) -> None:
        whole("folds", self.folds, least=2)

    def num_rounds(self, data: Dataset) -> int:
        """One per fold."""
        return self.folds

    def rounds(self, data: Dataset, rng: np.random.Generator) -> Iterator[Bools]:
        """A mask for each fold."""
        numbers = fold_numbers(dealt(data.num_rows, rng, _strata(data, self.stratify)), self.folds)
        return (numbers == fold for fold in range(self.folds))


@dataclass(frozen=True, slots=True)
class Holdout:
    r"""One round, with a share $p$ of the rows set aside: $\lfloor M (1 - p) + 1/2 \rfloor$ are trained on.

    Args:
        test: the share $p$ of rows to test on.
        stratify: a discrete variable whose states both parts hold in the same proportions.
        repeats: how many independent rounds.

    Reference: Koller & Friedman, algorithm 16.A.1; halves are rounded up, not to even.
    Guarantee: deterministic.
    Tested by: learning/evaluation/test_splits.py::test_halves_are_rounded_up_for_training

    >>> [int(m.sum()) for m in Holdout(0.25).rounds(Dataset({"x": [0, 1] * 5}), np.random.default_rng(0))]
    [2]
    """

    test: float = 0.25
    stratify: VariableLike | None = None
    _: KW_ONLY
    repeats: int = 1

    def __post_init__(self) -> None:
        fraction("test", self.test)
        whole("repeats", self.repeats, least=1)

    def num_rounds(self, data: Dataset) -> int:
        """One a repeat."""
        return self.repeats

    def rounds(self, data: Dataset, rng: np.random.Generator) -> Iterator[Bools]:
        """A mask for each repeat."""
        strata, size = _strata(data, self.stratify), data.num_rows
        first = dealt(size, rng, strata)  # now, so that what is wrong with the rows is found now
        others = (dealt(size, rng, strata) for _ in range(1, self.repeats))
        return (~in_first_part(places, 1.0 - self.test) for places in itertools.chain((first,), others))


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """As many rounds as rows, each testing one: `KFold` with as many folds as rows, in the order of the rows.

    Reference: Koller & Friedman, box 16.A.
    Guarantee: exact.
    Tested by: learning/evaluation/test_validation.py::test_leaving_one_out_by_hand,
        learning/evaluation/test_splits.py::test_leaving_one_out_is_as_many_folds_as_rows

    >>> len(list(LeaveOneOut().rounds(Dataset({"x": [0, 1, 0]}), np.random.default_rng(0))))
    3
    """

    def num_rounds(self, data: Dataset) -> int:
        """One per row."""
        return data.num_rows

    def rounds(self, data: Dataset, rng: np.random.Generator) -> Iterator[Bools]:
        """A mask for each row."""
        if data.num_rows < 2:
            raise DataError(f"Leaving one out needs at least two rows; found {data.num_rows}.")
        return (np.arange(data.num_rows) == row for row in range(data.num_rows))


def _strata(data: Dataset, variable: VariableLike | None) -> Ints | None:
    return None if variable is None else data.codes(variable).astype(np.int64)
