"""Run suites, print their tables, write them as text, and update the README: `python -m benchmarks [suite ...]`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.measure import single_thread

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

SUITES = (
    "files",
    "ordering",
    "plans",
    "separation",
    "structuretests",
    "structuresearch",
    "undirected",
    "sampling",
    "counting",
    "rows",
    "tables",
    "inference",
    "exact",
    "best",
    "uai",
    "trees",
    "memory",
    "roofline",
    "threads",
    "cuts",
    "assignments",
    "propagation",
    "mpe",
    "uaimap",
    "map_claims",
    "refusals",
    "largequestions",
    "sparse",
    "treequeries",
    "batch",
    "em",
    "callers",
    "structure_exact",
    "structure_claims",
    "structural_em",
    "structure",
    "structurethreads",
    "startup",
    "pictures",
    "path",
    "versions",
)
COMPILING = 300.0  # seconds allowed for compiling, which is not part of any measurement


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"any of {', '.join(SUITES)}; all by default")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu on a shared machine")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a measurement is given up")
    parser.add_argument("--quick", action="store_true", help="leave out long measurements; results are not written")
    parser.add_argument(
        "--long", action="store_true", help="single queries of large networks, plans refined for 30 s, 50M stored rows"
    )
    parser.add_argument("--only", default="", help="prefixes of networks or instances; results are not written")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]!r}; the suites are {', '.join(SUITES)}")
    return chosen


def main() -> None:
    """Run the selected suites."""
    chosen = arguments()
    single_thread(chosen.clock)
    from rich.console import Console

    from benchmarks.networks import compile_kernels
    from benchmarks.report import fill_readme, machine, write_results
    from benchmarks.worker import Lab

    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(machine(), highlight=False)
    only = [name for name in chosen.only.split(",") if name]
    is_kept = not chosen.quick and not only
    lab = Lab(limit=chosen.limit, quick=chosen.quick, long=chosen.long, only=only)
    try:
        lab.ask("sepset", compile_kernels, limit=COMPILING)
        for name in chosen.suites or SUITES:
            with console.status(f"running {name}") as status:
                lab.progress = _teller(console, status, name)
                reports = importlib.import_module(f"benchmarks.{name}").run(lab)
            console.print(*reports, sep="\n")
            if is_kept and reports:
                write_results(name, reports)
    finally:
        lab.close()
    if is_kept:
        fill_readme(SUITES)


def _teller(console: Console, status: Status, suite: str) -> Callable[[str], None]:
    """A function that shows what is being measured, separately from the tables."""
    if console.is_terminal:
        return lambda case: status.update(f"running {suite}: {case}")
    return lambda case: print(f"{suite}: {case}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
