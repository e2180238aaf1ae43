"""Answers are functions of their questions, not of the processor: NumPy and BLAS have other code for each kind of it."""

from __future__ import annotations

import json

from support.bounded import child

ORDERS = """
    import hashlib, json, numpy as np, sepset as ss

    def grid(rows, columns):
        return ss.MarkovNet.potts(ss.Discrete.array("p", (rows, columns), states=2), 1.0).graph

    def loose(seed):
        rng, n = np.random.default_rng(seed), 40
        names = [f"v{i}" for i in range(n)]
        edges = {tuple(sorted(pair)) for pair in rng.integers(0, n, (90, 2)).tolist() if pair[0] != pair[1]}
        cards = dict(zip(names, rng.integers(2, 6, n).tolist()))
        return ss.UndirectedGraph(names, [(names[a], names[b]) for a, b in sorted(edges)]), cards

    orders = [ss.graphs.elimination_order(grid(*sides)).order for sides in ((20, 20), (14, 17))]
    orders += [ss.graphs.elimination_order(*loose(seed)).order for seed in range(6)]
    print(json.dumps([hashlib.sha1(json.dumps(order).encode()).hexdigest() for order in orders]))
"""
PROCESSORS = ("", "X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR")


def test_orders_are_the_same_on_every_processor():
    done = [child(ORDERS, NPY_DISABLE_CPU_FEATURES=without) for without in PROCESSORS]
    assert not any(run.returncode for run in done), [run.stderr for run in done]
    found = [json.loads(run.stdout) for run in done]
    assert found[0] == found[1] == found[2]
