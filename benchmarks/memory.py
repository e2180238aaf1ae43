"""Memory and speed of large tables: peak memory, and nanoseconds an entry beside what this machine can do."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks import networks, posteriors
from benchmarks.measure import measure, peak_memory
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

NETWORKS = ("link", "munin1")
LIMIT = 3e9  # bytes
LARGE = 1e6  # entries from which speed is reported
COPIED = 2_700_000  # entries, a clique of munin's
SIDE = 1_600  # of the matrices multiplied


class Ran(NamedTuple):
    """Every posterior of one network: bytes at the peak, entries of the plan's tables, seconds hot."""

    peak: float
    entries: float
    seconds: float


class Machine(NamedTuple):
    """Nanoseconds: to copy one number, to add two and keep the sum, and for one multiply-add of a matrix product."""

    copy: float
    product: float
    multiply_add: float


def every_posterior(path: str, share: float) -> Ran:
    """Read the file, plan, run, read every posterior, in this process."""
    import sepset as ss

    found = posteriors.settings(path, share)
    made = posteriors.Sepset(path)
    given = [made.given(one) for one in found] if share else [{}]
    ask = made.prepared()
    for one in given:
        ask(one)
    peak = peak_memory()
    best = measure(lambda: ask(given[-1])).best
    entries = ss.plan(made.net, given=list(given[0])).total_size
    return Ran(float(peak), float(entries), best)


def rates() -> Machine:
    """What one core of this machine does."""
    import numpy as np

    source, target = np.ones(COPIED), np.empty(COPIED)
    square, result = np.ones((SIDE, SIDE)), np.empty((SIDE, SIDE))
    copy = measure(lambda: np.copyto(target, source)).best / COPIED
    product = measure(lambda: np.multiply(source, source, out=target)).best / COPIED
    multiplied = measure(lambda: np.matmul(square, square, out=result)).best / SIDE**3
    return Machine(1e9 * copy, 1e9 * product, 1e9 * multiplied)


def run(lab: Lab) -> list[Report]:
    """Peak memory of the largest networks, and the speed of all large ones."""
    chosen = [name for name in networks.paths() if not lab.quick or name in NETWORKS]
    machine = lab.ask("sepset", rates, fresh=True)
    peaks, speeds = [], []
    for name in chosen:
        for share in (0.0, 0.1):
            case = f"{name}, 10%" if share else name
            ran = lab.ask("sepset", every_posterior, networks.paths()[name], share, fresh=True, limit=10 * lab.limit)
            if name in NETWORKS:
                peak = ran.peak if isinstance(ran, Ran) else ran
                headline = f"peak memory, every posterior of {name}" if not share else ""
                peaks.append(Comparison(case, peak, {"limit": LIMIT}, kind="B", headline=headline))
            if isinstance(ran, Ran) and ran.entries > LARGE:
                speeds.append(Comparison(case, 1e9 * ran.seconds / ran.entries, kind="ns"))
    note = (
        "Seconds hot divided by the entries of one tree's tables, up and down; plans for groups of targets have fewer."
    )
    if isinstance(machine, Machine):
        note += (
            f" This machine, one core: {machine.copy:.2g} ns to copy a number, {machine.product:.2g} ns to multiply "
            f"two in a pass, {machine.multiply_add:.2g} ns a multiply-add in a matrix product."
        )
    return [
        Report("Peak memory", peaks, has_mean=False, versus="limit / sepset"),
        Report("Nanoseconds a table entry", speeds, note),
    ]
