"""Equal rows: which rows repeat which, with one hash per row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Bools, Bytes, Floats, Ints
from sepset.base.threads import NEVER, interruptible

ROWS_TO_COMPILE = 2048
"""Rows from which compiled grouping saves more time than loading the compiler takes."""

SLOTS_FOR_FEW_GROUPS = 1024
"""Slots of the hash table if few groups are expected: it stays in the first-level cache."""

CELLS_UNINTERRUPTED = 1 << 19
"""Cells that are grouped while no Ctrl-C is heard: a tenth of a second if no two rows are equal."""

_BLOCK_ROWS = 1 << 14
"""Rows packed at a time: their words stay in cache."""

_LARGEST_WORD = 1 << 62
"""The bound on a packed row in 64 bits."""


def group_rows(columns: Sequence[AnyInts | Floats], cards: Sequence[int], num_rows: int) -> tuple[Ints, Ints]:
    r"""The first row of each distinct case, in order of appearance, and each row's place among those.

    Missing cells equal each other, and so do 0.0 and -0.0.

    Args:
        columns: codes or numbers, one array per variable.
        cards: each variable's number of states; 0 for numbers.

    Cost: $O(M n)$.

    >>> import numpy as np
    >>> group_rows([np.array([0, 1, 0, -1], np.int8)], [2], 4)
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    return group_words(_packed(columns, cards, num_rows))


def group_words(words: AnyInts, *, only_missing: bool = False, few: bool = True) -> tuple[Ints, Ints]:
    """As `group_rows`, for rows that are a matrix of whole numbers.

    Args:
        only_missing: rows are the same where the same of their cells are negative, whatever the others hold.
        few: few groups are expected, whose table then stays in a core's cache; more are found too.

    >>> import numpy as np
    >>> group_words(np.array([[5, 1], [5, 1], [5, 2]]))
    (array([0, 2]), array([0, 0, 1]))
    """
    from sepset.kernels.data.grouping import group_rows as grouped

    groups = np.empty(len(words), np.int64)
    firsts = np.empty(len(words), np.int64)
    slots = np.full(SLOTS_FOR_FEW_GROUPS if few else 1 << (2 * len(words) + 2).bit_length(), -1, np.int64)
    cells = np.ascontiguousarray(words)

    def work(cancel: Bytes) -> int:
        return int(grouped(cells, only_missing, slots, groups, firsts, cancel))

    count = interruptible(work) if cells.size > CELLS_UNINTERRUPTED else work(NEVER)
    return firsts[:count].copy(), groups


def group_numbers(numbers: AnyArray) -> tuple[Ints, Ints]:
    """As `group_rows`, for one column of integers; few are sorted, which needs no compiler.

    >>> import numpy as np
    >>> group_numbers(np.array([7, 5, 7]))
    (array([1, 0]), array([1, 0, 1]))
    """
    if len(numbers) >= ROWS_TO_COMPILE:
        return group_words(numbers.astype(np.int64).reshape(-1, 1))
    _, firsts, groups = np.unique(numbers, return_index=True, return_inverse=True)
    return firsts, groups


def group_codes(codes: AnyInts | Bools, cards: Sequence[int]) -> tuple[Ints, Ints]:
    """As `group_rows`, for a matrix of codes without missing ones; the order of the groups is not said.

    >>> import numpy as np
    >>> group_codes(np.array([[1, 0], [0, 2], [1, 0]]), [2, 3])[1].tolist() in ([1, 0, 1], [0, 1, 0])
    True
    """
    if math.prod(cards) < _LARGEST_WORD:
        return group_numbers(codes @ np.array([math.prod(cards[k + 1 :]) for k in range(len(cards))], np.int64))
    return group_words(codes.astype(np.int64))


def _packed(columns: Sequence[AnyInts | Floats], cards: Sequence[int], num_rows: int) -> Ints:
    """The rows as few words: codes side by side in mixed radix, each number in a word of its own."""
    places, radices = _layout(cards)
    words = np.zeros((num_rows, max(places, default=0) + 1), np.int64)
    for start in range(0, num_rows, _BLOCK_ROWS):
        block = words[start : start + _BLOCK_ROWS]
        for column, card, place, radix in zip(columns, cards, places, radices, strict=True):
            cells = column[start : start + _BLOCK_ROWS]
            block[:, place] += (cells.astype(np.int64) + 1) * radix if card else _bits(cells)
    return words


def _layout(cards: Sequence[int]) -> tuple[list[int], list[int]]:
    """The word of each column, and the radix of its codes in that word."""
    places: list[int] = []
    radices: list[int] = []
    word, size = 0, 1
    for card in cards:
        if not card or size * (card + 1) > _LARGEST_WORD:
            word, size = word + (size > 1), 1
        places.append(word)
        radices.append(size)
        word, size = (word, size * (card + 1)) if card else (word + 1, 1)
    return places, radices


def _bits(cells: AnyInts | Floats) -> Ints:
    numbers = cells.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.int64)
