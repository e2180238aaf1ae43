"""Blocks of missing cells: independent given what is observed, with posteriors as enumeration has them."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.hidden import missingcells
from sepset.learning.structure.hidden.missingcells import Completions, block_labels
from support.incomplete_rows import completions, masked_rows, random_network


def parents_of(net: ss.BayesNet, columns: Columns) -> list[list[int]]:
    return [sorted(columns.names.index(p) for p in net.parents(name)) for name in columns.names]


@pytest.mark.parametrize("seed", range(4))
def test_the_product_of_blocks_is_the_posterior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, (2, 3, 1, 2, 2))
    data = masked_rows(net, 8, 0.5, rng)
    columns = Columns(data, missing="available")
    found = Completions.of(columns, parents_of(net, columns), net, rng)
    for row, codes, chance in completions(net, data):
        product = 1.0
        for block in np.unique(found.block_of[found.cells[:, row][found.cells[:, row] >= 0]]):
            cells = [c for c in range(len(codes)) if found.cells[c, row] >= 0]
            members = [c for c in cells if found.block_of[found.cells[c, row]] == block]
            size = found.first[block + 1] - found.first[block]
            agree = np.ones(size, bool)
            for c in members:
                start = found.code_at[found.cells[c, row]]
                agree &= found.states[start : start + size] == codes[c]
            product *= found.chances[found.first[block] : found.first[block + 1]][agree].sum()
        assert product == pytest.approx(chance, abs=1e-12)


def test_blocks_are_the_missing_cells_that_families_join() -> None:
    missing = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1]], bool)
    chain = [[], [0], [1], [2]]
    assert block_labels(missing, chain).T.tolist() == [[0, 0, 0, 4], [0, 4, 2, 2], [4, 1, 1, 1]]
    collider = [[], [], [0, 1], []]
    assert block_labels(missing, collider).T.tolist() == [[0, 0, 0, 4], [0, 4, 0, 3], [4, 1, 1, 3]]


def test_too_many_completions_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    net = random_network(rng, (2, 3, 2))
    data = masked_rows(net, 4, 0.6, rng)
    columns = Columns(data, missing="available")
    parents = parents_of(net, columns)
    exact = Completions.of(columns, parents, net, rng)
    monkeypatch.setattr(missingcells, "MOST_STATES", 2)
    drawn = Completions.of(columns, parents, net, rng, draws=4000)
    assert exact.num_drawn == 0
    assert drawn.num_drawn > 0
    for column in range(3):
        for row in range(columns.num_rows):
            if columns.codes[column, row] < 0:
                one, other = (_marginal(c, column, row, int(columns.cards[column])) for c in (exact, drawn))
                assert np.abs(one - other).max() < 0.05


def _marginal(found: Completions, column: int, row: int, card: int) -> np.ndarray:
    cell = found.cells[column, row]
    block = found.block_of[cell]
    chances = found.chances[found.first[block] : found.first[block + 1]]
    return np.bincount(found.states[found.code_at[cell] :][: len(chances)], chances, card)
