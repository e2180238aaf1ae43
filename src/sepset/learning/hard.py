"""Rows completed by the most probable values of what they miss, for hard-assignment EM."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ImpossibleEvidence
from sepset.factors.algebra import Columns
from sepset.inference.findings import Findings
from sepset.inference.rowmodes import row_modes
from sepset.models.bayesnet import BayesNet

if TYPE_CHECKING:
    from sepset.inference.tabletree import PreparedTables

Array: TypeAlias = NDArray[np.float64]


def completed(engine: PreparedTables, rows: Findings, model: BayesNet) -> tuple[Columns, Array]:
    r"""The rows with $\arg\max_{\mathbf h} P(\mathbf h \mid \mathbf o)$ in their holes, and their log probabilities.

    Cost: one max-product elimination over many rows at once; row by row where CPDs bring in auxiliaries, which are
    summed out and not maximized.
    Reference: Koller & Friedman, sections 13.2 and 19.2.2.6.
    """
    codes = np.full((len(rows), len(model.variables)), -1, dtype=np.int64)
    codes[:, list(rows.positions)] = rows.codes
    holes = np.flatnonzero((codes < 0).any(axis=1))
    codes[holes], best = row_modes(engine, codes[holes])
    if (best == -np.inf).any():
        raise ImpossibleEvidence("Some rows have probability zero at these parameters.")
    columns: Columns = {v: codes[:, i] for i, v in enumerate(model.variables)}
    logs = [cpd.log_probability({v: columns[v] for v in cpd.scope}) for cpd in model.cpds]
    return columns, np.sum(logs, axis=0) if logs else np.zeros(len(rows))
