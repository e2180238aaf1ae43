"""Entries of rows with missing cells, by hand."""

from __future__ import annotations

import numpy as np

from sepset.kernels.structure.expectedcounts import add_candidate, count_entries, fill_entries


def test_entries_by_hand() -> None:
    codes = np.array([[0, -1], [1, -1], [1, -1]], np.int8)  # the second row misses all: cells 0 and 1 are one block
    cells = np.array([[-1, 0], [-1, 1], [-1, 2]], np.int32)
    block_of, first = np.array([0, 0, 1], np.int32), np.array([0, 2, 4])
    code_at, states = np.array([0, 2, 4]), np.array([0, 1, 1, 0, 0, 1], np.int32)
    chances, columns = np.array([0.25, 0.75, 0.4, 0.6]), np.array([0, 2])
    blocks, numbers = np.empty((2, 2), np.int32), np.empty(2, np.int64)
    count_entries(cells, block_of, first, columns, blocks, numbers)
    assert numbers.tolist() == [1, 4]
    assert blocks.tolist() == [[-1, -1], [0, 1]]
    row_of, keys, mass, chosen = (
        np.empty(5, np.int32), np.empty(5, np.int64), np.empty(5), np.zeros((5, 2), np.int32),
    )  # fmt: skip
    weights, strides = np.array([3.0, 2.0]), np.array([2, 1])
    fill_entries(
        codes, weights, cells, block_of, first, code_at, states, chances, columns, strides, blocks, numbers,
        row_of, keys, mass, chosen,
    )  # fmt: skip
    assert np.bincount(keys, mass, 4).round(12).tolist() == [0.2, 3.3, 0.6, 0.9]
    table = np.zeros(8)
    add_candidate(
        1, codes, cells, block_of, first, code_at, states, chances, blocks, row_of, keys, mass, chosen, 4, table
    )
    assert table.round(12).tolist() == [0, 0, 0.6, 0.9, 0.2, 3.3, 0, 0]
