"""Random small networks, rows with missing cells, and sums over all completions of a row."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

import sepset as ss


def random_network(rng: np.random.Generator, cards: tuple[int, ...]) -> ss.BayesNet:
    """A network over a random graph; the columns are in random order."""
    names = [f"v{k}" for k in range(len(cards))]
    order = rng.permutation(len(cards)).tolist()
    edges = [(names[a], names[b]) for i, a in enumerate(order) for b in order[i + 1 :] if rng.random() < 0.5]
    dag = ss.DAG(names, edges)
    return ss.BayesNet.random(dag, states=dict(zip(names, cards, strict=True)), seed=int(rng.integers(1000)))


def masked_rows(net: ss.BayesNet, num_rows: int, share: float, rng: np.random.Generator) -> ss.Dataset:
    """Rows of a network with a share of cells missing completely at random."""
    rows = net.sample(num_rows, seed=int(rng.integers(1000)))
    codes = rows.matrix()
    return ss.Dataset.from_codes(rows.variables, np.where(rng.random(codes.shape) < share, -1, codes))


def completions(net: ss.BayesNet, data: ss.Dataset) -> Iterator[tuple[int, np.ndarray, float]]:
    """Every completion of every row with its posterior probability, by enumeration."""
    cards = [v.num_states for v in data.variables]
    for row, codes in enumerate(data.matrix()):
        ranges = [range(card) if code < 0 else [code] for code, card in zip(codes, cards, strict=True)]
        cells = np.array(list(itertools.product(*ranges)))
        chances = np.exp(net.log_probability(ss.Dataset.from_codes(data.variables, cells)))
        for one, chance in zip(cells, chances / chances.sum(), strict=True):
            yield row, one, float(chance)
