"""Random rows of findings on a model, cells missing and rows repeated, beside what the oracle says of them."""

from __future__ import annotations

import math

import numpy as np

import oracle
import sepset as ss


def random_codes(rng, variables, num_rows, missing=0.4):
    """Codes with cells missing at random; about a third of the rows repeat an earlier one."""
    cards = [v.num_states for v in variables]
    codes = np.array([[rng.integers(card) for card in cards] for _ in range(num_rows)], np.int64)
    codes = codes.reshape(num_rows, len(cards))
    codes[rng.random(codes.shape) < missing] = -1
    for row in range(1, num_rows):
        if rng.random() < 0.3:
            codes[row] = codes[rng.integers(row)]
    return codes


def dataset(variables, codes):
    return ss.Dataset.from_codes(variables, codes)


def evidence_of(variables, codes, row, without=()):
    """One row as the oracle takes it."""
    cells = zip(variables, codes[row].tolist(), strict=True)
    return {v.name: code for v, code in cells if code >= 0 and v.name not in without}


def log_of(case, evidence):
    return oracle.log_z(case.factors, case.cards, evidence)


def posterior_of(case, name, evidence):
    """P(name | evidence), or NaN where the evidence is impossible."""
    if log_of(case, evidence) == -math.inf:
        return np.full(case.cards[name], np.nan)
    return oracle.conditional(case.factors, case.cards, [name], evidence)
