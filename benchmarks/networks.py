"""The networks: the published ones if available, else those included in the library; always as plain BIF."""

from __future__ import annotations

import gzip
import os
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def published() -> Path:
    """The folder of published networks: `nets` in `SEPSET_SHARED`, or in `shared` next to the repository."""
    return Path(os.environ.get("SEPSET_SHARED", ROOT.parent / "shared")) / "nets"


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of plain BIF files, removed when the program ends."""
    target = tempfile.TemporaryDirectory(prefix="sepset-bench-")
    found = sorted(published().glob("*.bif.gz"))
    for path in found:
        Path(target.name, path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    if not found:
        _write_built_in(Path(target.name))
    return target


def _write_built_in(target: Path) -> None:
    import sepset as ss

    for name in ss.datasets.names():
        model = ss.datasets.load(name)
        if isinstance(model, ss.BayesNet):
            ss.write(model, target / f"{name}.bif")


@cache
def paths() -> dict[str, str]:
    """The BIF file of each name, smallest file first."""
    found = sorted(Path(folder().name).glob("*.bif"), key=lambda path: path.stat().st_size)
    return {path.stem: str(path) for path in found}


@lru_cache(maxsize=4)
def load(path: str) -> Any:
    """Our model of a file."""
    import sepset as ss

    return ss.read(path)


@cache
def on_one_thread() -> Any:
    """Clique trees on one thread; in a version that knows no other, as they are."""
    import sepset as ss

    return ss.CliqueTree(threads=1) if "threads" in ss.CliqueTree.__dataclass_fields__ else ss.CliqueTree()


def compile_kernels() -> None:
    """Ask one of each question, so that no later measurement contains a compilation."""
    import sepset as ss

    net = ss.datasets.load("asia")
    given = {"xray": "yes"}
    ss.query(net, "lung", given=given)
    ss.marginals(net, given=given)["lung"]
    ss.prepare(net).marginals(given=given)["lung"]
    ss.prepare(net).map_assignment(given=given)
    ss.plan(net)
    ss.sample(net, 10)
