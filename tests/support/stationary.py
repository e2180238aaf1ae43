"""The exact distribution over the 543 DAGs of four columns, and whether one step of a chain keeps it."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import chi2

from sepset.cpds.priors.dirichlet import BDeu
from sepset.learning.structure.averaging.candidates import CandidateTable
from sepset.learning.structure.averaging.posterior import reachability
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import Scorer
from support.score_tables import dependent_rows

DATA = Columns.of(dependent_rows(0, 4, 20))
SCORER = Scorer(DATA, BDeu(1.0))
TABLE = CandidateTable.full(SCORER, Constraints().bind(DATA.names))
NEVER = np.zeros(1, np.uint8)
PAIRS = [(a, b) for a in range(4) for b in range(4) if a != b]


@cache
def all_graphs():
    """All DAGs as arrays of edges, and their shares of the posterior."""
    found = []
    for code in range(1 << len(PAIRS)):
        graph = np.zeros((4, 4), np.uint8)
        for k, pair in enumerate(PAIRS):
            graph[pair] = code >> k & 1
        if not (graph & graph.T).any() and np.array_equal(reachability(graph) * reachability(graph).T, np.eye(4)):
            found.append(graph)
    assert len(found) == 543
    logs = np.array([SCORER.total([np.flatnonzero(g[:, v]).tolist() for v in range(4)]) for g in found])
    return np.array(found), np.exp(logs - np.logaddexp.reduce(logs))


def uniforms(count, low=0.0, high=1.0, seed=1):
    """Rows of uniform numbers for steps whose kind is drawn between two bounds."""
    drawn = np.random.default_rng(seed).uniform(1e-300, 1.0, (count, 10))
    drawn[:, 0] = low + (high - low) * drawn[:, 0]
    return drawn


def assert_same(ends, shares, start=None):
    """The ends of steps from exact draws are distributed as those; and some steps moved."""
    count = len(ends)
    expected = shares * count
    often = expected > 5
    seen = np.bincount(ends, minlength=len(shares))
    pairs = [*zip(seen[often], expected[often], strict=True), (seen[~often].sum(), expected[~often].sum())]
    statistic = sum((s - e) ** 2 / e for s, e in pairs if e > 0)
    assert chi2.sf(statistic, len(pairs) - 1) > 1e-4
    if start is not None:
        assert (np.asarray(ends) != np.asarray(start)).mean() > 0.02
