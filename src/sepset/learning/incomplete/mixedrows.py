r"""How likely rows with holes are under networks of tables and lines, many rows at once.

$$P(\mathbf o) = \sum_{\mathbf h} P(\mathbf h, \mathbf o_d)\, N(\mathbf o_c; \mu_{\mathbf h}, \Sigma_{\mathbf h})$$

Reference: Koller & Friedman, section 14.2.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.discrete import is_discrete
from sepset.cpds.lineargaussian import is_linear_gaussian
from sepset.data.dataset import Dataset
from sepset.factors.algebra import AnyVariable, Columns
from sepset.learning.incomplete.rowchoices import RowChoices, num_choices
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

FEW = 256
"""The most joint hidden states of a row; beyond, an engine that does not enumerate them is the better choice."""


def log_densities(model: object, rows: Dataset, over: Collection[AnyVariable]) -> Floats | None:
    """The log density of what each row has of the variables `over`, -inf where that is impossible.

    None where the model is another, a line leaves nothing over, or some row has many joint hidden states.

    Args:
        model: any model.
        rows: over all of its variables.
        over: whose cells count; all others are summed out.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.cpds.table import TableCPD
    >>> d, x = Discrete("d"), Real("x")
    >>> net = BayesNet(TableCPD(d, [0.5, 0.5]), LinearGaussian(x, [0.0, 2.0], covariance=1.0, by=d))
    >>> np.exp(log_densities(net, Dataset({"d": [1, None], "x": [None, 1.0]}, [d, x]), [d, x])).round(4).tolist()
    [0.5, 0.242]
    """
    if not isinstance(model, BayesNet) or not _is_plain(model):
        return None
    columns: Columns = {v: _cells(v, rows, v in over) for v in model.variables}
    if num_choices(columns, rows.num_rows).max(initial=1.0) > FEW:
        return None
    found = np.empty(rows.num_rows)
    for part in RowChoices.of(columns, np.arange(rows.num_rows)).together(model):
        top = np.maximum.reduceat(part.log_joint, part.starts)
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            mass = np.log(np.add.reduceat(np.exp(part.log_joint - safe[part.owner]), part.starts))
        found[part.rows] = safe + mass
    return found


def _is_plain(model: BayesNet) -> bool:
    lines = [cpd for cpd in model.cpds if is_linear_gaussian(cpd)]
    known = all(is_discrete(cpd) or is_linear_gaussian(cpd) for cpd in model.cpds)
    real = all(isinstance(v, Discrete | Real) for v in model.variables)
    return bool(lines) and known and real and all(line.covariance.min() > 0 for line in lines)


def _cells(variable: AnyVariable, rows: Dataset, counts: bool) -> Ints | Floats:
    """The cells of one variable, or as many that are missing."""
    if isinstance(variable, Discrete):
        return rows.codes(variable).astype(np.int64) if counts else np.full(rows.num_rows, -1)
    return rows.values(variable) if counts else np.full(rows.num_rows, np.nan)
