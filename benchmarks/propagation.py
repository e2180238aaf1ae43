"""Loopy belief propagation on grids, 50 passes of all messages at once, beside PGMax.

PGMax needs versions of JAX that few environments have (0.4.35 is one). Where it is not installed beside sepset,
`SEPSET_PGMAX` names the interpreter of an environment that has it:
`SEPSET_PGMAX=/path/to/bin/python python -m benchmarks propagation`. It runs on one thread, and without the newer
runtime of XLA for processors, under which its passes take more than ten times as long.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SIZE, PASSES, DAMPING, WEIGHT = 300, 50, 0.5, 0.3
GRIDS = {"Ising": 2, "Potts, 16 states": 16}
INTERPRETER = "SEPSET_PGMAX"
PATIENCE = 1800.0
FLAGS = "--xla_cpu_use_thunk_runtime=false --xla_cpu_multi_thread_eigen=false"

Found = tuple[float, float]
"""Seconds, and the mean belief of the first state."""


def log_values(states: int) -> Any:
    """Random log values of every cell."""
    import numpy as np

    return np.random.default_rng(0).normal(size=(SIZE, SIZE, states))


def with_sepset(states: int, precision: str) -> Found:
    """From a new model to the log partition."""
    import numpy as np

    import sepset as ss
    from benchmarks.measure import now
    from sepset.inference.wiring import Wiring

    cell, own = ss.Discrete.array("cell", (SIZE, SIZE), states=states), log_values(states)
    rule = ss.Until(steps=PASSES, tolerance=None)
    method = ss.LoopyBP(DAMPING, "synchronous", precision=precision, until=rule)
    times = []
    for _ in range(5):  # beliefs are kept with a model
        net = ss.MarkovNet.potts(cell, WEIGHT, log_values=own)
        start = now()
        ss.log_partition(net, method=method)
        times.append(now() - start)
    beliefs = method.propagate(Wiring.of(net.as_written())).logs
    return min(times[1:]), float(np.exp(beliefs[::states]).mean())


def with_pgmax(states: int, temperature: float) -> Found:
    """The passes alone, compiled, with all arrays at hand."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from pgmax import fgraph, fgroup, infer, vgroup

    from benchmarks.measure import measure

    cell = vgroup.NDVarArray(num_states=states, shape=(SIZE, SIZE))
    graph = fgraph.FactorGraph(cell)
    down = [[cell[i, j], cell[i + 1, j]] for i in range(SIZE - 1) for j in range(SIZE)]
    across = [[cell[i, j], cell[i, j + 1]] for i in range(SIZE) for j in range(SIZE - 1)]
    table = WEIGHT * np.eye(states)
    graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=down + across, log_potential_matrix=table))
    passes = infer.build_inferer(graph.bp_state, backend="bp")
    arrays = passes.init(evidence_updates={cell: jnp.asarray(log_values(states))})
    how = {"num_iters": PASSES, "damping": DAMPING, "temperature": temperature}
    run = jax.jit(lambda arrays: passes.run(arrays, **how))
    found = jax.block_until_ready(run(arrays))
    timing = measure(lambda: jax.block_until_ready(run(arrays)), at_least=2)
    beliefs = infer.get_marginals(passes.get_beliefs(found))[cell]
    return timing.best, float(np.asarray(beliefs)[..., 0].mean())


def elsewhere(states: int, temperature: float) -> Found | str:
    """The figures of PGMax, here or in another environment, or why there are none."""
    if importlib.util.find_spec("pgmax") is not None:
        os.environ["XLA_FLAGS"] = FLAGS
        return with_pgmax(states, temperature)
    python = os.environ.get(INTERPRETER)
    if not python:
        return "not installed"
    root = Path(__file__).parents[1]
    command = [python, "-m", "benchmarks.propagation", str(states), str(temperature)]
    env = {**os.environ, "PYTHONPATH": str(root), "XLA_FLAGS": FLAGS}
    made = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root, env=env, timeout=PATIENCE)
    if made.returncode:
        return f"failed: {made.stderr.strip().splitlines()[-1]}"[:160]
    seconds, belief = json.loads(made.stdout.splitlines()[-1])
    return float(seconds), float(belief)


def run(lab: Any) -> list[Any]:
    """One table: whole answers of sepset beside the passes of PGMax."""
    from benchmarks.report import Comparison, Report

    rows = []
    for name in lab.wanted(list(GRIDS)):
        states = GRIDS[name]
        ours = {p: lab.ask("sepset", with_sepset, states, p, limit=PATIENCE) for p in ("float64", "float32")}
        theirs = {t: lab.ask("sepset", elsewhere, states, t, limit=PATIENCE) for t in (1.0, 0.0)}
        times, means = ({k: v if isinstance(v, str) else v[at] for k, v in (ours | theirs).items()} for at in (0, 1))
        peers = {"PGMax": times[1.0], "PGMax, maxima": times[0.0]}
        rows += [
            Comparison(f"{name}: seconds", times["float64"], peers, target="5x"),
            Comparison(f"{name}: seconds, float32", times["float32"], peers),
            Comparison(f"{name}: mean belief", means["float64"], {"PGMax": means[1.0]}, kind="number"),
        ]
    note = (
        f"A grid of {SIZE} x {SIZE}, {PASSES} passes with damping {DAMPING}. sepset: a whole answer, from a model to "
        "the log partition, with messages as numbers; PGMax: the compiled passes alone, by sums (temperature 1) and, "
        "as is its default, by maxima, under the faster of XLA's two runtimes. PGMax damps log messages, so that "
        "beliefs differ a little."
    )
    return [Report("Loopy belief propagation", rows, note, has_mean=False)]


if __name__ == "__main__":
    print(json.dumps(with_pgmax(int(sys.argv[1]), float(sys.argv[2]))))
