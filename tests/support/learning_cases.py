"""Networks of every kind of CPD with rows in which cells are missing."""

from __future__ import annotations

import numpy as np

from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.data.dataset import Dataset
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

a, b, c = (Discrete(n) for n in "abc")
x, y = Discrete("x"), Discrete("y", 3)
ROOTS = [TableCPD(v, [0.4, 0.6]) for v in (a, b, c)]


def tree():
    return TreeCPD(x, Split(a, {0: [0.7, 0.3], 1: Split(b, {0: [0.2, 0.8], 1: [0.5, 0.5]})}))


def rules():
    return RuleCPD(x, [({a: 0, x: 0}, 0.3), ({a: 0, x: 1}, 0.7), ({a: 1, b: 0, x: 0}, 0.9), ({a: 1, b: 0, x: 1}, 0.1),
                       ({a: 1, b: 1}, 0.5)])  # fmt: skip


def noisy_max():
    rows = [[1.0, 0.0, 0.0], [0.3, 0.5, 0.2]]
    return NoisyMax(y, {a: rows, b: [[1, 0, 0], [0.5, 0.2, 0.3]], c: rows}, leak=[0.9, 0.06, 0.04])


FORMS = {
    "tree": tree,
    "rules": rules,
    "noisy-or": lambda: NoisyOr(x, {a: 0.8, b: 0.3}, leak=0.1),
    "noisy-or by a chain": lambda: NoisyOr(x, {a: 0.8, b: 0.3, c: 0.6}, leak=0.1),
    "noisy-or without a leak": lambda: NoisyOr(x, {a: 0.8, b: 0.3, c: 0.6}),
    "noisy-max": noisy_max,
    "logistic": lambda: LogisticCPD(x, {a: 1.5, b: -2.0}, bias=0.3),
    "function": lambda: DeterministicCPD(x, lambda u, v: int(u and v), given=(a, b)),
}


def network(form):
    cpd = FORMS[form]()
    return BayesNet(*(r for r in ROOTS if r.child in cpd.parents), cpd)


def masked_codes(net, num_rows=60, seed=0, share=0.3):
    rows = net.sample(num_rows, seed=seed).matrix().astype(np.int64)
    rows[np.random.default_rng(seed).random(rows.shape) < share] = -1
    return Dataset.from_codes(net.variables, rows)


d, h = Discrete("d", 2), Discrete("h", 3)
u, v, w = Real("u"), Real("v"), Real("w")


def mixed(seed=0):
    """Two discrete parents, a chain of reals below them."""
    rng = np.random.default_rng(seed)
    return BayesNet(
        TableCPD(d, [0.3, 0.7]),
        TableCPD(h, rng.dirichlet(np.ones(3), 2), given=d),
        LinearGaussian(u, [-2.0, 0.5, 3.0], covariance=[0.5, 1.0, 0.7], by=h),
        LinearGaussian(v, [0.0, 1.0], coefficients=[1.0, -0.5], covariance=[0.4, 0.9], given=u, by=d),
        LinearGaussian(w, 0.5, coefficients=[0.3, 0.8], covariance=0.6, given=(u, v)),
    )


def mixed_rows(net, num_rows, share, seed=0, hide=()):
    rows = net.sample(num_rows, seed=seed)
    rng = np.random.default_rng(seed + 1)
    columns = {}
    for variable in net.variables:
        column = np.array(rows.column(variable), dtype=float if isinstance(variable, Real) else np.int64)
        gone = rng.random(num_rows) < (1.0 if variable.name in hide else share)
        column[gone] = np.nan if isinstance(variable, Real) else -1
        columns[variable.name] = column
    return Dataset.from_codes(net.variables, columns)
