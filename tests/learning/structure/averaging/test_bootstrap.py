"""Bootstrap confidence."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from sepset.errors import ArgumentError
from sepset.graphs.graph import MixedGraph
from sepset.graphs.kinds import mixed
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.structure.averaging.bootstrap import BootstrapStructures, member, resampled
from sepset.learning.structure.classes.ges import GES
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.exact.trees import ChowLiu
from sepset.learning.structure.learned import Learned, StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.search.stochastic import FirstAscent
from sepset.learning.structure.skeletons.candidates import MMPC
from sepset.learning.structure.skeletons.pc import PC
from sepset.learning.structure.undirected.forest import Forest
from support.score_tables import dependent_rows


def task(seed=0):
    rows = dependent_rows(0, 4, 200)
    return StructureTask(Columns.of(rows), BIC(), rng=np.random.default_rng(seed), progress=False)


def test_strong_and_weak_edges():
    found = BootstrapStructures(ExactSearch(), num_replicates=30).average(task())
    pairs = found.edges + found.edges.T
    whole = ExactSearch().learn(task()).graph
    for a, b in whole.edges:
        assert pairs[whole.nodes.index(a), whole.nodes.index(b)] > 0.5
    assert pairs.max() <= 1.0 + 1e-12
    assert found.consensus().num_edges >= 1
    assert found.graphs[0].weight <= 1.0


def test_directions_of_a_class_are_shared():
    shared = BootstrapStructures(ChowLiu(), num_replicates=5).average(task()).edges
    assert np.array_equal(shared, shared.T)  # a forest has no collider
    directed = BootstrapStructures(ChowLiu(), num_replicates=5, is_class=False).average(task()).edges
    assert np.array_equal(directed + directed.T, shared + shared.T)
    with pytest.raises(ArgumentError, match="num_replicates="):
        BootstrapStructures(ChowLiu(), num_replicates=0)


def test_replicates_end_resume_and_are_interrupted(tmp_path):
    path, method = tmp_path / "replicates", BootstrapStructures(ExactSearch(), num_replicates=8)
    whole = method.average(task())
    few = method.average(replace(task(), until=3, checkpoint=path))
    assert (len(few.parents), few.status, whole.status) == (3, Status.STEP_LIMIT, Status.COMPLETED)
    resumed = method.average(replace(task(), checkpoint=path))
    assert np.array_equal(resumed.edges, whole.edges)
    assert np.array_equal(resumed.parents, whole.parents)

    class CutShort:
        count = 0

        def learn(self, task):
            CutShort.count += 1
            found = ExactSearch().learn(task)
            return replace(found, status=Status.INTERRUPTED) if CutShort.count == 3 else found

    cut = BootstrapStructures(CutShort(), num_replicates=8).average(task())
    assert (len(cut.parents), cut.status) == (2, Status.INTERRUPTED)


def test_methods_whose_graphs_may_have_no_member():
    """PC on few rows directs edges against each other, and skeletons may be cycles: shares are of their own edges."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (4, 300))
    near = [np.where(rng.random(300) < 0.15, rng.integers(0, 2, 300), hidden[k]) for k in (0, 1, 2, 3)]
    codes = [a ^ (b & c) for a, b, c in zip(near, np.roll(near, 1, 0), np.roll(near, 2, 0), strict=True)]
    columns = Columns.of(dict(zip("abcd", codes, strict=True)))
    for method in (PC(level=0.4), MMPC(level=0.4), Forest()):
        own = StructureTask(columns, BIC(), rng=np.random.default_rng(1), progress=False)
        found = BootstrapStructures(method, num_replicates=20).average(own)
        drawn = [
            method.learn(replace(own, columns=one)).graph for one in replicates(columns, np.random.default_rng(1), 20)
        ]
        for i, a in enumerate("abcd"):
            for j, b in enumerate("abcd"):
                share = np.mean([_share(mixed(graph), a, b) for graph in drawn])
                assert found.edges[i, j] == pytest.approx(share)
        adjacent = np.array([[[b in graph.adjacent(a) for b in "abcd"] for a in "abcd"] for graph in drawn])
        assert np.array_equal(found.parents + found.parents.transpose(0, 2, 1), adjacent)


def _share(graph, a, b):
    return 1.0 * ((a, b) in graph.directed) + 0.5 * ((a, b) in graph.undirected or (b, a) in graph.undirected)


def replicates(columns, rng, count):
    """As many data sets as the method draws, in its order."""
    for _ in range(count):
        yield resampled(columns, rng)


def test_arrows_that_close_a_cycle():
    wheel = MixedGraph("abcd", directed=[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    found = member(Learned(wheel, columns=None, method=None))
    assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in wheel.directed}
    assert len(set(found.edges) & set(wheel.directed)) == 3


def test_constraints_direct_what_a_class_leaves_open():
    """Of two dependent columns the class leaves the direction open; required, forbidden and early ones do not."""
    rows = {"a": [0, 0, 1, 1] * 10, "b": [0, 0, 1, 1] * 9 + [0, 1, 1, 1]}
    known = [
        Constraints(required=["b -> a"]),
        Constraints(forbidden=["a -> b"]),
        Constraints(tiers=[["b"], ["a"]]),
        Constraints(candidates={"b": []}),
    ]
    for constraints in known:
        for method in (ExactSearch(), GES(), PC()):
            own = StructureTask(Columns.of(rows), BIC(), constraints=constraints, progress=False)
            assert BootstrapStructures(method, 5).average(own).edges.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    free = StructureTask(Columns.of(rows), BIC(), progress=False)
    assert BootstrapStructures(GES(), 5).average(free).edges.tolist() == [[0.0, 0.5], [0.5, 0.0]]


def test_a_replicate_that_the_time_cuts_short_does_not_count(monkeypatch):
    """The time ends at the second move of the third replicate: two are whole, and are those of a longer run."""
    original, clock = SearchedGraph.make, [0.0]
    whole = BootstrapStructures(FirstAscent(), 2).average(task())
    moves = []

    class Counted:
        def learn(self, given):
            moves.append(0)
            return FirstAscent().learn(given)

    def make(self, move):
        original(self, move)
        moves[-1] += 1
        if len(moves) == 3 and moves[-1] == 1:
            clock[0] = 100.0

    monkeypatch.setattr(SearchedGraph, "make", make)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    limit = Until(None, None, seconds=50.0)
    cut = BootstrapStructures(Counted(), 8).average(replace(task(), until=limit))
    assert (len(cut.parents), cut.status) == (2, Status.TIME_LIMIT)
    assert np.array_equal(cut.edges, whole.edges)


@pytest.mark.parametrize("method", [20, ExactSearch, BIC(), "hillclimb"])
def test_what_learns_no_structure_is_refused(method):
    with pytest.raises(ArgumentError, match="learn_structure takes a method such as"):
        BootstrapStructures(method)
