"""Run suites, print their tables, keep them as text, and fill the README: `python -m benchmarks [suite ...]`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from benchmarks.measure import single_thread

SUITES = (
    "files",
    "ordering",
    "plans",
    "separation",
    "sampling",
    "tables",
    "inference",
    "exact",
    "uai",
    "memory",
    "treequeries",
    "startup",
)
COMPILING = 300.0  # seconds allowed for compiling, which is not part of any figure


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"any of {', '.join(SUITES)}; all by default")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu on a machine others use too")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a measurement is given up")
    parser.add_argument("--all", action="store_true", help="inference on the large networks too")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long; nothing is kept")
    parser.add_argument(
        "--long", action="store_true", help="add what takes very long: half a minute's refinement a plan"
    )
    chosen = parser.parse_args()
    unknown = [name for name in chosen.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]!r}; the suites are {', '.join(SUITES)}")
    return chosen


def main() -> None:
    """Run the suites asked for."""
    chosen = arguments()
    single_thread(chosen.clock)
    os.environ["SEPSET_BENCH_ALL"] = "1" if chosen.all else ""
    from rich.console import Console

    from benchmarks.networks import compile_kernels
    from benchmarks.report import fill_readme, machine, write_results
    from benchmarks.worker import Lab

    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(machine(), highlight=False)
    lab = Lab(limit=chosen.limit, quick=chosen.quick, long=chosen.long)
    try:
        lab.ask("sepset", compile_kernels, limit=COMPILING)
        for name in chosen.suites or SUITES:
            with console.status(f"running {name}"):
                reports = importlib.import_module(f"benchmarks.{name}").run(lab)
            console.print(*reports, sep="\n")
            if not chosen.quick:
                write_results(name, reports)
    finally:
        lab.close()
    if not chosen.quick:
        fill_readme(SUITES)


if __name__ == "__main__":
    main()
