"""Rows completed by the most probable values of what they miss, for hard-assignment EM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.factors.algebra import Columns
from sepset.inference.conflict import refuse_impossible
from sepset.inference.evidencerows import EvidenceRows
from sepset.inference.rows.modes import row_modes
from sepset.models.bayesnet import BayesNet

if TYPE_CHECKING:
    from sepset.inference.method import Prepared


def completed(
    engine: Prepared, rows: EvidenceRows, model: BayesNet, places: Ints | None = None
) -> tuple[Columns, Floats]:
    r"""The rows with $\arg\max_{\mathbf h} P(\mathbf h \mid \mathbf o)$ in their holes, and their log probabilities.

    Rows of probability zero are refused, with holes or without.

    Args:
        places: the number of each row in the data, where equal rows were left out.

    Cost: one max-product elimination over many rows at once; row by row where CPDs bring in auxiliaries, which are
    summed out and not maximized.
    Reference: Koller & Friedman, sections 13.2 and 19.2.2.6.
    """
    codes = np.full((len(rows), len(model.variables)), -1, dtype=np.int64)
    codes[:, list(rows.positions)] = rows.codes
    holes = np.flatnonzero((codes < 0).any(axis=1))
    log = np.zeros(len(rows))
    codes[holes], log[holes] = row_modes(engine, codes[holes])
    codes[log == -np.inf] = 0  # such completions mean nothing
    columns: Columns = {v: codes[:, i] for i, v in enumerate(model.variables)}
    found = np.sum(
        [np.zeros(len(rows)), *(c.log_probability({v: columns[v] for v in c.scope}) for c in model.cpds)], axis=0
    )
    refuse_impossible(np.where(log == -np.inf, -np.inf, found), places)
    return columns, found
