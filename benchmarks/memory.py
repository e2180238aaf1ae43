"""Memory and speed of large tables: peak memory, and nanoseconds per entry compared with the machine's limits."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks import instances, networks, posteriors
from benchmarks.measure import measure, peak_memory
from benchmarks.report import Comparison, Figure, Report
from benchmarks.worker import Lab

NETWORKS = ("link", "munin1")
WIDE = ("munin1", "link", "barley", "ObjectDetection_34", "ObjectDetection_28", "Grids_18", "linkage_14", "linkage_20")
LIMIT = 3e9  # bytes
LARGE = 1e6  # entries from which speed is reported
COPIED = 2_700_000  # entries, one large clique
SIDE = 1_600  # of the matrices multiplied


class Ran(NamedTuple):
    """Every posterior from one tree: peak bytes, the plan's table entries and multiplications, seconds hot."""

    peak: float
    entries: float
    cost: float
    seconds: float


class Held(NamedTuple):
    """Bytes of every marginal from one tree: by which the process grew, the workspace, and most needed at once."""

    peak: float
    workspace: float
    live: float


class Machine(NamedTuple):
    """Nanoseconds: to copy a number, to multiply two in a pass, and for a multiply-add in a matrix product."""

    copy: float
    product: float
    multiply_add: float


def peak(path: str, share: float) -> float:
    """Peak bytes of reading a file and every posterior, including the interpreter and the libraries."""
    made = posteriors.Sepset(path)
    made.prepared()(made.given(posteriors.settings(path, share)[0]) if share else {})
    return float(peak_memory())


def one_tree(path: str) -> Ran | None:
    """Every posterior of the bare factors, without information about what sums to one: so one tree has everything."""
    import sepset as ss

    networks.compile_kernels()
    engine = ss.prepare(networks.load(path).markov_net(), method=ss.CliqueTree(threads=1))
    plan = engine.plan()
    if plan.total_size < LARGE:
        return None

    def ask() -> list[Any]:
        answers = engine.marginals()
        return [answers[name].values for name in answers]

    ask()
    best = measure(ask).best
    return Ran(float(peak_memory()), float(plan.total_size), float(plan.cost), best)


def held(name: str) -> Held:
    """Every marginal of a wide model, twice."""
    import sepset as ss
    from sepset.variables.evidence import resolve

    networks.compile_kernels()
    known = networks.paths()
    model, given = (networks.load(known[name]).markov_net(), {}) if name in known else instances.load(name)
    engine = ss.prepare(model, method=ss.CliqueTree(threads=1)).prepared
    evidence = resolve(given, model.variables)
    pattern = engine.compiler.planner.pattern(evidence)
    question = engine.compiler.all_marginals(pattern)[1]
    before = peak_memory()
    for _ in range(2):
        engine.marginals(evidence)
    return Held(float(peak_memory() - before), float(question.program.nbytes), live_bytes(question.contraction))


def live_bytes(made: Any) -> float:
    """The most bytes that are needed at once: from a tensor's step to its last use, operands of a step included."""
    import numpy as np

    steps = len(made.rows)
    last = np.full(len(made.sizes), -1)
    for number, row in enumerate(made.rows):
        last[row[1:]] = number
    last[made.roots], last[made.reads] = steps, steps
    first = np.zeros(len(made.sizes), np.int64)
    first[made.rows[:, 0]] = np.arange(steps)
    change = np.zeros(steps + 2)
    np.add.at(change, first, made.sizes)
    np.add.at(change, np.maximum(last, first) + 1, -made.sizes)
    return float(8.0 * np.cumsum(change).max())


def rates() -> Machine:
    """The speed of one core of this machine."""
    import numpy as np

    source, target = np.ones(COPIED), np.empty(COPIED)
    square, result = np.ones((SIDE, SIDE)), np.empty((SIDE, SIDE))
    copy = measure(lambda: np.copyto(target, source)).best / COPIED
    product = measure(lambda: np.multiply(source, source, out=target)).best / COPIED
    multiplied = measure(lambda: np.matmul(square, square, out=result)).best / SIDE**3
    return Machine(1e9 * copy, 1e9 * product, 1e9 * multiplied)


def run(lab: Lab) -> list[Report]:
    """Peak memory of the largest networks, and the speed of all large trees."""
    known = networks.paths()
    machine = lab.ask("sepset", rates, fresh=True)
    peaks, speeds = [], []
    for name in lab.wanted(name for name in known if not lab.quick or name in NETWORKS):
        ran = lab.ask("sepset", one_tree, known[name], fresh=True, limit=10 * lab.limit)
        if ran is not None:
            speeds.append(_speed(name, ran, machine))
        if name in NETWORKS:
            tree: Figure = ran.peak if isinstance(ran, Ran) else str(ran)
            whole, tenth = (lab.ask("sepset", peak, known[name], share, fresh=True) for share in (0.0, 0.1))
            peaks += [
                Comparison(name, whole, _LIMIT, "B"),
                Comparison(f"{name}, 10%", tenth, _LIMIT, "B"),
                Comparison(f"{name}, one tree", tree, _LIMIT, "B"),
            ]
    wide = []
    for name in lab.wanted(name for name in WIDE if not lab.quick):
        ran = lab.ask("sepset", held, name, fresh=True, limit=10 * lab.limit)
        if isinstance(ran, Held):
            others = {"workspace": ran.workspace, "needed at once": ran.live}
            wide.append(Comparison(name, ran.peak, others, "B"))
    live = (
        "Every marginal from one tree: bytes by which the process grows, beside the workspace, which keeps the results "
        "of the forward sweep for the next question with other findings, and the most that a single run would need at "
        "once if every result were whole: some are made by slices."
    )
    return [
        Report("Memory of wide models", wide, live, has_mean=False, versus="needed at once / sepset"),
        Report("Peak memory", peaks, "The limit is our goal.", has_mean=False, versus=_VERSUS),
        Report("Nanoseconds per table entry", speeds, _note(machine), has_mean=False, versus="copy / sepset"),
    ]


_LIMIT = {"limit": LIMIT}
_VERSUS = "limit / sepset"


def _speed(name: str, ran: Ran | str, machine: Machine | str) -> Comparison:
    if isinstance(ran, str):
        return Comparison(name, ran)
    copy = {"copy of an entry": machine.copy} if isinstance(machine, Machine) else {}
    each = f"{1e9 * ran.seconds / ran.cost:.2g} ns per multiplication"
    case = f"{name}: {ran.entries:.3g} entries, {1e3 * ran.seconds:.3g} ms, {each}"
    return Comparison(case, 1e9 * ran.seconds / ran.entries, copy, kind="ns")


def _note(machine: Machine | str) -> str:
    """An explanation of the ratios, and the machine's best speeds."""
    note = (
        "Every posterior of the bare factors, hot, from one tree, up and down: seconds over the entries of the clique "
        "tables of the plan. Tables that are contracted by matrix products are never made."
    )
    if isinstance(machine, str):
        return note
    return (
        f"{note} This machine, one core: {machine.copy:.2g} ns to copy a number, {machine.product:.2g} ns to multiply "
        f"two in a pass, {machine.multiply_add:.2g} ns per multiply-add in a matrix product."
    )
