"""Tests of independence, skeletons and partial ancestral graphs agree with causal-learn's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from support.random_dags import random_dag

pytest.importorskip("causallearn")
pytestmark = [pytest.mark.crosscheck, pytest.mark.filterwarnings("ignore")]


def codes_of(columns):
    return np.ascontiguousarray(columns.codes.T.astype(np.int64))


@pytest.fixture(scope="module")
def alarm():
    data = ss.datasets.load("alarm").sample(3000, seed=4)
    columns = Columns.of(data)
    kept = [name for name, codes in zip(columns.names, columns.codes, strict=True) if len(np.unique(codes)) > 1]
    return Columns.of(data.to_frame("pandas")[kept])


@pytest.mark.parametrize(("ours", "theirs"), [(ss.structure.G(), "gsq"), (ss.structure.Pearson(), "chisq")])
def test_p_values_of_counts(alarm, ours, theirs):
    from causallearn.utils.cit import CIT

    peer, bound = CIT(codes_of(alarm), theirs), ours.bind(alarm)
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, y, *given = map(int, rng.choice(len(alarm), int(rng.integers(2, 6)), replace=False))
        wanted = peer(x, y, tuple(given))
        assert bound.outcomes(x, [y], tuple(given)).p_values[0] == pytest.approx(wanted, rel=1e-6, abs=1e-10)
        assert bound.outcome((x,), (y,), tuple(given)).p_value == pytest.approx(wanted, rel=1e-6, abs=1e-10)


def test_p_values_of_numbers():
    from causallearn.utils.cit import CIT

    values = np.random.default_rng(1).normal(size=(300, 6)) @ np.random.default_rng(2).normal(size=(6, 6))
    peer = CIT(values, "fisherz")
    bound = ss.structure.FisherZ().bind(Columns.of({f"v{k}": values[:, k] for k in range(6)}))
    for x, y in itertools.combinations(range(6), 2):
        for given in itertools.combinations([z for z in range(6) if z not in (x, y)], 2):
            wanted = peer(x, y, given)
            assert bound.outcome((x,), (y,), given).p_value == pytest.approx(wanted, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("level", [0.01, 0.05])
def test_skeletons(alarm, level):
    from causallearn.utils.cit import CIT
    from causallearn.utils.PCUtils import SkeletonDiscovery

    codes = codes_of(alarm)
    peer = SkeletonDiscovery.skeleton_discovery(codes, level, CIT(codes, "gsq"), stable=True, show_progress=False)
    found = ss.structure.PC(level=level).learn(_task(alarm)).graph
    names = alarm.names
    wanted = {frozenset((names[x], names[y])) for x, y in np.argwhere(np.triu(peer.G.graph != 0)).tolist()}
    assert {frozenset(edge) for edge in found.edges} == wanted


def _task(columns):
    from sepset.learning.structure.learned import StructureTask

    return StructureTask(columns)


def test_partial_ancestral_graphs():
    """Of Gaussians of random graphs with two latent variables, both with Fisher's z."""
    from causallearn.search.ConstraintBased.FCI import fci

    agreed = 0
    for seed in range(6):
        dag = random_dag(7, 0.35, seed)
        rng = np.random.default_rng(seed)
        values = {}
        for name in dag.topological_order:
            values[name] = sum((0.8 * values[p] for p in dag.parents(name)), rng.normal(size=5000))
        observed = list(dag.nodes[:5])
        rows = np.column_stack([values[name] for name in observed])
        graph, _ = fci(rows, "fisherz", 0.001, show_progress=False, verbose=False)
        found = ss.structure.FCI(test=ss.structure.FisherZ(), level=0.001)
        pag = ss.learn_structure({name: values[name] for name in observed}, method=found).graph
        agreed += np.array_equal(_marks(graph.graph), pag.marks)
    assert agreed >= 5


def _marks(theirs):
    """Their matrix has at [i, j] the mark at i of the edge between i and j: -1 tail, 1 arrow, 2 circle."""
    return np.select([theirs.T == 2, theirs.T == 1, theirs.T == -1], [1, 2, 3], 0)
