"""Answers depend on their questions and not on the processor, although NumPy and BLAS have other code for each kind."""

from __future__ import annotations

import json
import sys

import numpy as np

from support.bounded import child

ORDERS = """
    import hashlib, json, numpy as np, sepset as ss
    from sepset.kernels.kernel import load_all

    def grid(rows, columns):
        return ss.MarkovNet.potts(ss.Discrete.array("p", (rows, columns), states=2), 1.0).graph

    def loose(seed):
        rng, n = np.random.default_rng(seed), 40
        names = [f"v{i}" for i in range(n)]
        edges = {tuple(sorted(pair)) for pair in rng.integers(0, n, (90, 2)).tolist() if pair[0] != pair[1]}
        cards = dict(zip(names, rng.integers(2, 6, n).tolist()))
        return ss.UndirectedGraph(names, [(names[a], names[b]) for a, b in sorted(edges)]), cards

    orders = [ss.graphs.elimination_order(*loose(seed)).order for seed in range(4)]  # by interpreted kernels
    load_all()
    orders += [ss.graphs.elimination_order(*loose(seed)).order for seed in range(4)]
    orders += [ss.graphs.elimination_order(grid(20, 20)).order]
    print(json.dumps([hashlib.sha1(json.dumps(order).encode()).hexdigest() for order in orders]))
"""
PROCESSORS = ("", "X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR")


def test_orders_are_the_same_on_every_processor():
    done = [child(ORDERS, NPY_DISABLE_CPU_FEATURES=without) for without in PROCESSORS]
    assert not any(run.returncode for run in done), [run.stderr for run in done]
    found = [json.loads(run.stdout) for run in done]
    assert found[0] == found[1] == found[2]


DENSITIES = """
    import json, sys
    sys.path[:0] = json.loads({path!r})
    import numpy as np, sepset as ss
    from support.exact_gaussians import cancelling_lines, joint_of, network, random_findings

    found = []
    for seed in range(150):
        rng = np.random.default_rng([seed, 4])
        lines = cancelling_lines(rng, int(rng.integers(2, 8)))
        given = {{f"x{{i}}": value for i, value in random_findings(rng, joint_of(lines), 4).items()}}
        found.append(float(ss.log_probability(network(lines, rng), given=given)))
    print(json.dumps(found))
"""


def test_log_densities_are_the_same_on_every_processor():
    script = DENSITIES.format(path=json.dumps(sys.path))
    kinds = zip(PROCESSORS, ("", "Haswell", "Prescott"), strict=True)
    done = [child(script, NPY_DISABLE_CPU_FEATURES=without, OPENBLAS_CORETYPE=core) for without, core in kinds]
    assert not any(run.returncode for run in done), [run.stderr for run in done]
    first, *others = (np.array(json.loads(run.stdout)) for run in done)
    for found in others:
        np.testing.assert_allclose(found, first, rtol=1e-9, atol=1e-9)
