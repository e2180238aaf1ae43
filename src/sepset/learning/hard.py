"""Rows completed by the most probable values of what they miss, for hard-assignment EM."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ImpossibleEvidence
from sepset.evidence import Evidence
from sepset.factors.algebra import Columns
from sepset.inference.findings import Findings
from sepset.models.bayesnet import BayesNet

if TYPE_CHECKING:
    from sepset.inference.tabletree import PreparedTables

Array: TypeAlias = NDArray[np.float64]


def completed(engine: PreparedTables, rows: Findings, model: BayesNet) -> tuple[Columns, Array]:
    r"""The rows with $\arg\max_{\mathbf h} P(\mathbf h \mid \mathbf o)$ in their holes, and their log probabilities.

    Cost: one max-product pass for each row that misses anything.
    Reference: Koller & Friedman, section 19.2.2.6.
    """
    visible = list(range(len(model.variables)))
    codes = np.full((len(rows), len(visible)), -1, dtype=np.int64)
    codes[:, list(rows.positions)] = rows.codes
    masks = {v: np.eye(int(engine.problem.variables.cards[v])) for v in rows.positions}
    for row in np.flatnonzero((codes < 0).any(axis=1)).tolist():
        # Findings as masks: one program serves every row, whatever it misses.
        weights = {v: masks[v][codes[row, v]] if codes[row, v] >= 0 else np.ones(len(masks[v])) for v in masks}
        best = engine.best(Evidence({}, weights=weights), visible)
        if best.log_value == -np.inf:
            raise ImpossibleEvidence(f"Row {row} of the different rows has probability zero at these parameters.")
        codes[row] = [best.values[v] for v in visible]
    columns: Columns = {v: codes[:, i] for i, v in enumerate(model.variables)}
    logs = [cpd.log_probability({v: columns[v] for v in cpd.scope}) for cpd in model.cpds]
    return columns, np.sum(logs, axis=0) if logs else np.zeros(len(rows))
