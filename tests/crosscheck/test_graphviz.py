"""Layouts have about as few crossings as those of Graphviz's dot."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

import sepset as ss
from sepset.graphs.layered.layout import layered
from support.geometry import num_crossings, overlapping, passed_through, points_of
from support.shared_files import one_shared

pytestmark = [
    pytest.mark.crosscheck,
    pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz"),
]
NETWORKS = (
    *("alarm", "asia", "barley", "cancer", "child", "earthquake", "hailfinder"),
    *("hepar2", "insurance", "mildew", "sachs", "survey", "water", "win95pts"),
)


def of_dot(sizes, arrows):
    """The boxes of dot's layout, its edges, and the points of each."""
    nodes = "".join(f"n{k}[width={w / 72},height={h / 72}];" for k, (w, h) in enumerate(sizes))
    text = f'digraph{{node[shape=box,fixedsize=true,label=""];{nodes}{"".join(f"n{a}->n{b};" for a, b in arrows)}}}'
    done = subprocess.run(["dot", "-Tjson"], input=text, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    number = {item["_gvid"]: int(item["name"][1:]) for item in found["objects"]}
    centers = {number[item["_gvid"]]: tuple(map(float, item["pos"].split(","))) for item in found["objects"]}
    boxes = [(*centers[k], *size) for k, size in enumerate(sizes)]
    edges = [(number[edge["tail"]], number[edge["head"]]) for edge in found["edges"]]
    splines = [[p for p in edge["pos"].split() if not p.startswith(("e,", "s,"))] for edge in found["edges"]]
    return boxes, edges, [points_of([tuple(map(float, p.split(","))) for p in spline]) for spline in splines]


def test_crossings():
    total = [0, 0]
    for name in NETWORKS:
        dag = ss.read(one_shared(f"nets/{name}.bif.gz")).dag
        arrows = [(dag.index[a], dag.index[b]) for a, b in dag.directed]
        sizes = [(7.0 * len(node) + 16.0, 26.0) for node in dag.nodes]
        found = layered(sizes, arrows)
        boxes = [(*center, *size) for center, size in zip(found.centers, sizes, strict=True)]
        lines = [points_of(points) for points in found.curves]
        assert overlapping(boxes) == []
        assert passed_through(arrows, lines, boxes) == []
        ours = num_crossings(arrows, lines, boxes)
        theirs_boxes, edges, theirs_lines = of_dot(sizes, arrows)
        theirs = num_crossings(edges, theirs_lines, theirs_boxes)
        assert ours <= theirs + max(2, theirs / 4), name
        total = [total[0] + ours, total[1] + theirs]
    assert total[0] <= 1.25 * total[1]
