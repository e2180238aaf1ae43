"""Random networks with rows in which cells are missing, and plain answers about them by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sepset.data.dataset import Dataset
from sepset.models.bayesnet import BayesNet
from support.strategies import bayes_nets


@st.composite
def incomplete(draw: Any, max_variables: int = 4, num_rows: int = 8) -> tuple[BayesNet, Dataset]:
    """A network and rows it can produce, some cells missing; whole columns too, once in a while."""
    net = draw(bayes_nets(max_variables, 2, min_variables=1))
    rows = net.sample(draw(st.integers(1, num_rows)), seed=draw(st.integers(0, 2**16)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rows.matrix().astype(np.int64)
    codes[rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.2, 0.6, 1.0]))] = -1
    if draw(st.booleans()):
        codes[:, rng.integers(codes.shape[1])] = -1
    return net, Dataset.from_codes(net.variables, codes)


def completions(net: BayesNet, row: dict[str, Any]) -> list[tuple[dict[str, int], float]]:
    """Every completion of a row, as codes by name, with its probability: a product of table entries."""
    names = [v.name for v in net.variables]
    states = {v.name: v.states for v in net.variables}
    options = [range(len(states[n])) if row[n] is None else [net.variables[n].code(row[n])] for n in names]
    found = []
    for codes in itertools.product(*options):
        full = dict(zip(names, codes, strict=True))
        p = 1.0
        for cpd in net.cpds:
            p *= float(cpd.to_table().values[tuple(full[v.name] for v in cpd.scope)])
        found.append((full, p))
    return found


def log_likelihood(net: BayesNet, rows: Dataset, weights: Any = None) -> float:
    """The log-likelihood of incomplete rows: a sum over completions each."""
    share = np.ones(rows.num_rows) if weights is None else weights
    with np.errstate(divide="ignore"):
        logs = [np.log(sum(p for _, p in completions(net, row))) for row in rows.rows()]
    return float(sum(w * log for w, log in zip(share, logs, strict=True) if w))


def expected_counts(net: BayesNet, rows: Dataset) -> dict[str, np.ndarray]:
    """The expected counts of every family, by child, axes (*parents, child)."""
    counts = {c.child.name: np.zeros([v.num_states for v in c.scope]) for c in net.cpds}
    for row in rows.rows():
        found = completions(net, row)
        total = sum(p for _, p in found)
        for full, p in found:
            for cpd in net.cpds:
                counts[cpd.child.name][tuple(full[v.name] for v in cpd.scope)] += p / total
    return counts
