"""Compiles kernels ahead of use: those of exact inference, the last needed first, of batches, counts and samples.

On the first use on a machine, the calling process compiles what it needs in order; at the same time `python -m
sepset.kernels.warm` starts from the other end, so that they meet in the middle, and then compiles the rest.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from numba.core.sigutils import normalize_signature

from sepset.kernels.compile import lock
from sepset.kernels.kernel import load_all

PATIENCE = 30.0
"""Seconds that a background process continues after its parent has ended."""

# One letter per argument: arrays of integers or floats with one or two axes, int32 arrays, bytes, and scalars.
TYPES = {
    "i": "int64[::1]",
    "I": "int64[:, ::1]",
    "s": "int32[::1]",
    "S": "int32[:, ::1]",
    "f": "float64[::1]",
    "F": "float64[:, ::1]",
    "b": "uint8[::1]",
    "C": "int8[:, ::1]",
    "u": "uint64[::1]",
    "n": "int64",
    "x": "float64",
    "?": "boolean",
}
KERNELS = {
    "compiled.contraction.run": "ffIIIiibIIiiI?bIIf",
    "compiled.contraction.run_briefly": "ffIIIiibIIiiI?bIIf",
    "compiled.modes.most_probable": "fiiifiiiibnnb",
    "compiled.layout.assemble": "fiifIiiiiiiiiiii",
    "compiled.axes.axis_strides": "fiifIni?",
    "rows.batches.run_rows": "fIIbIfSIIIIIIIffFfbb",
    "rows.batches.bounds": "Iffb",
    "compiled.steps.trace": "iiiiifiiiiinInxb",
    "graphs.ordering.greedy_order": "isffifffxnb",
    "compiled.planning.eliminate": "iiifxn",
    "compiled.planning.scope_graph": "iiiiin",
    "compiled.planning.maximal_cliques": "iiin",
    "compiled.onepass.compile_greedily": "iiffifb",
    "compiled.stores.settle": "fiiinn",
    "data.counting.count_rows": "Cn?iiiiI",
    "data.grouping.group_rows": "S?iiib",
    "models.sampling.forward": "Cnniiiiiifu",
    "compiled.pieces.phases": "iI?",
    "compiled.pieces.begin_step": "fiIbiiI?",
    "compiled.pieces.run_parts": "fiInnn?b",
    "compiled.pieces.end_step": "fiIiiI",
    "compiled.slices.run_slices": "fIIInxnnnb",
    "compiled.slices.begin_first": "fiIbiiI",
    "compiled.slices.begin_second": "fiIbiIn",
}


def compile_ahead() -> Iterator[str]:
    """Compile the kernels into the cache, the last needed first; yields their names."""
    load_all()
    for name, letters in KERNELS.items():
        module, _, function = name.rpartition(".")
        kernel = getattr(importlib.import_module(f"sepset.kernels.{module}"), function)
        kernel.compile(signature(letters))
        yield name


def signature(letters: str) -> tuple[Any, ...]:
    """The types of the arguments in a call, by which the cache identifies kernels."""
    return normalize_signature(f"({', '.join(TYPES[letter] for letter in letters)})")[0]  # type: ignore[no-any-return]


def end_with(parent: int, *, patience: float = PATIENCE) -> None:
    """End this process `patience` seconds after the one that started it, in the middle of whatever it does."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        time.sleep(patience)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Compile them all, unless another process is doing so or nothing can be saved.

    A process that was started in the background ends soon after its parent: what it has compiled until then is saved.
    """
    if os.environ.get("SEPSET_WARM") == "0":
        end_with(os.getppid())
    running = lock("warm")
    if running.acquire(wait=False):
        for _ in compile_ahead():
            pass


if __name__ == "__main__":
    main()
