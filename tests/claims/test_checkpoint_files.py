"""Checkpoints know classes by tags, never by modules: a file is read after the code has moved."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sepset as ss
from sepset.cpds.registry import kinds
from sepset.inference.checkpoint import TAGS
from support.structure_methods import CHAINS, MIXTURES, SEARCHES, rows_for, score_for

SPIN = ss.Discrete.array("spin", (3, 3), states=3)
GRID = ss.MarkovNet.potts(SPIN, -0.4, log_values=[[[0.3, -0.2, 0.1]] * 3] * 3)
ROWS = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
ASSIGNING: list[Any] = [
    ss.BranchAndBound(), ss.TRWS(), ss.MPLP(), ss.LoopyBP(), ss.inference.ICM(), ss.inference.AlphaExpansion(),
    ss.inference.AlphaBetaSwap(), ss.inference.HybridBestFirst(), ss.inference.AndOrSearch(),
    ss.inference.LocalSearch(), ss.inference.LargeNeighborhood(), ss.inference.DualDecomposition(),
    ss.inference.LinearProgram(), ss.inference.ClusterPursuit(), ss.inference.Annealing(),
]  # fmt: skip
FITTING = [ss.EM(), ss.EM(acceleration="squarem"), ss.learning.HardEM(), ss.learning.IncrementalEM(2),
           ss.learning.GradientAscent(memory=3), ss.learning.StepwiseEM()]  # fmt: skip


def strings(tree: Any) -> list[str]:
    """Every text in a tree of JSON, keys too."""
    if isinstance(tree, dict):
        return [*tree, *strings(list(tree.values()))]
    return (
        [tree]
        if isinstance(tree, str)
        else [t for part in tree for t in strings(part)]
        if isinstance(tree, list)
        else []
    )


def tags(tree: Any) -> list[str]:
    """What every dictionary in a tree of JSON says that it is."""
    if isinstance(tree, dict):
        own = [tree["is"]] if isinstance(tree.get("is"), str) else []
        return [*own, *tags(list(tree.values()))]
    return [tag for part in tree for tag in tags(part)] if isinstance(tree, list) else []


def check(path):
    head, text = path.read_bytes().split(b"\n", 2)[:2]
    assert head.startswith(b"sepset checkpoint ")
    tree = json.loads(text)
    found = strings(tree)
    assert not [t for t in found if "sepset." in t or " at 0x" in t or "<class" in t]
    assert set(tags(tree)) <= {*TAGS, *kinds(), "network", "dict"}


@pytest.mark.parametrize("method", FITTING, ids=repr)
def test_fits(method, tmp_path):
    ss.fit(ss.DAG.parse("x -> y"), ROWS, method, until=2, checkpoint=tmp_path / "file", progress=False)
    check(tmp_path / "file")


@pytest.mark.parametrize("method", ASSIGNING, ids=repr)
def test_assignments(method, tmp_path):
    ss.map_assignment(GRID, method=method, until=1, checkpoint=tmp_path / "file", progress=False)
    check(tmp_path / "file")


@pytest.mark.parametrize("method", [*SEARCHES, *MIXTURES], ids=repr)
def test_structures(method, tmp_path):
    ss.learn_structure(
        rows_for(method), score=score_for(method), method=method, until=1, checkpoint=tmp_path / "file", progress=False
    )
    check(tmp_path / "file")


@pytest.mark.parametrize("method", CHAINS, ids=repr)
def test_chains(method, tmp_path):
    ss.structure_posterior(rows_for(method), method=method, checkpoint=tmp_path / "file", progress=False)
    check(tmp_path / "file")
