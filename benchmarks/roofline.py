"""The speed of the most expensive programs as a share of the machine's: matrix products, and memory bandwidth.

A step $d = \\sum a b$ takes at least as long as its multiplications at the rate of a large matrix product, and as long
as reading its operands and writing its result once at the rate of a long vector product: the larger of the two is its
bound. The share of a program is the sum of the bounds over the time of its dominating steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import instances, networks
from benchmarks.measure import now
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

MOST = 12  # programs
MEMORY = 8 * 10**9  # bytes above which a plan is not feasible
DOMINATING = 0.8  # the share of a run's time that the reported steps take
SHORT = 5e-6  # seconds of a step below which starting it is what is measured
STREAMED = 2**23  # entries of a vector that no cache holds
SIDE = 1_000  # of the matrices multiplied
RUNS = 6
CALLS = 20  # without any step, of which the shortest is not counted as a step's time
TIME = 300.0  # seconds for one program
GOAL = "50%"
QUICK = 1e8  # multiplications of a program in a quick run


class Machine(NamedTuple):
    """Nanoseconds per multiply-add of a matrix product, and per entry of a vector that is read or written."""

    product: float
    entry: float


class Steps(NamedTuple):
    """The dominating steps of a program.

    Attributes:
        num: how many.
        seconds: their time.
        bound: the least time the machine needs for them.
        whole: the time of the whole program.
        slowest: the step that loses most, in words.
    """

    num: int
    seconds: float
    bound: float
    whole: float
    slowest: str


def _best(function: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(runs):
        start = now()
        function()
        times.append(now() - start)
    return min(times)


def rates() -> Machine:
    """The speed of one core: a large matrix product, and a product of long vectors."""
    import numpy as np

    square, result = np.ones((SIDE, SIDE)), np.empty((SIDE, SIDE))
    first, second, target = np.ones(STREAMED), np.ones(STREAMED), np.ones(STREAMED)
    product = _best(lambda: np.matmul(square, square, out=result)) / SIDE**3
    entry = _best(lambda: np.multiply(first, second, out=target), 2 * RUNS) / (3 * STREAMED)
    return Machine(1e9 * product, 1e9 * entry)


def _question(name: str) -> tuple[Any, Any, Any]:
    """The question with most multiplications among those for every marginal, its engine, and the evidence."""
    import sepset as ss
    from sepset.variables.evidence import resolve

    known = networks.paths()
    model, given = (networks.load(known[name]), {}) if name in known else instances.load(name)
    engine = ss.prepare(model, method=ss.CliqueTree(memory=MEMORY, zeros="dense", threads=1)).prepared
    evidence = resolve(given, model.variables)
    pattern = engine.compiler.planner.pattern(evidence)
    groups, whole = engine.compiler.all_marginals(pattern)
    questions = [engine.compiler.question("group", g, pattern) for g in groups] if whole is None else [whole]
    return max(questions, key=lambda question: question.program.work), engine, evidence


def work(name: str) -> tuple[float, int]:
    """The multiplications and the number of entries of the largest program."""
    question, _, _ = _question(name)
    return float(question.program.work), int(question.program.size)


def steps(name: str) -> Steps:
    """Time every step of the largest program on its own, and compare the dominating ones with the machine."""
    import numpy as np

    networks.compile_kernels()
    machine = rates()
    question, engine, evidence = _question(name)
    with _Opened(question, engine, evidence) as timed:
        whole, start = timed.whole(), min(timed.nothing() for _ in range(CALLS))
        times = np.array([max(0.0, timed.step(i) - start) for i in range(len(question.program.ops))])
    sizes, rows = question.contraction.sizes, question.contraction.rows
    entries = sizes[rows].sum(axis=1) - (rows[:, 2] == 0)
    products = _products(question)
    for each in question.program.slices:  # what is between two steps is neither written nor read
        entries[each.second] += entries[each.first] - 2 * sizes[rows[each.first, 0]]
        products[each.second] += products[each.first]
    bounds = 1e-9 * np.maximum(machine.product * products, machine.entry * entries)
    order = np.argsort(-times)
    most = 1 + int(np.searchsorted(np.cumsum(times[order]), DOMINATING * times.sum()))
    chosen = [i for i in order[:most] if times[i] > SHORT] or [int(order[0])]
    lost = max(chosen, key=lambda i: times[i] - bounds[i])
    a, b, d = (f"{sizes[rows[lost, k]]:.2g}" for k in (1, 2, 0))
    slowest = f"{a} x {b} to {d} entries at {bounds[lost] / times[lost]:.0%}"
    bound = float(np.minimum(bounds, times)[chosen].sum())
    return Steps(len(chosen), float(times[chosen].sum()), bound, whole, slowest)


def _products(question: Any) -> Any:
    """The multiplications of every step."""
    import numpy as np

    from sepset.kernels.compiled.instructions import COUNT, FIRST

    program = question.program
    logs = np.concatenate([[0.0], np.cumsum(np.log(program.groups[:, 0]))])
    first = program.ops[:, FIRST]
    return np.exp(logs[first + program.ops[:, COUNT]] - logs[first])


class _Opened:
    """A workspace of a question after a run, in which steps run again."""

    def __init__(self, question: Any, engine: Any, evidence: Any) -> None:
        from sepset.inference.compiled.dense import run_dense

        values, found = engine.within(question.states, evidence)
        with run_dense(question, values, found, reads_tensors=False):
            pass
        self._question, self._store = question, values.store
        self._space, self._codes = question.pool.take(values.store), question.codes(found)

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self._space = None

    def whole(self) -> float:
        """Seconds of all steps and the copies of the factors."""
        from sepset.base.threads import NEVER
        from sepset.inference.compiled.dense import NO_STEPS
        from sepset.inference.compiled.teams import run_divided

        return _best(lambda: run_divided(self._question.program, NO_STEPS, self._call(), 1, NEVER))

    def nothing(self) -> float:
        """Seconds of a call without any step."""
        return self._steps(self._question.program.ops[:0])

    def _steps(self, ops: Any) -> float:
        """Seconds of a call for some steps."""
        from sepset.base.threads import NEVER
        from sepset.kernels.compiled.contraction import run

        def again() -> None:
            values, stored, (rows, *others), exponents, flags, spans, maximize, *ends = self._call()
            state = ops, self._question.program.groups, exponents, flags, spans, maximize, NEVER
            run(values, stored, rows[:0], *others, *state, *ends)

        return _best(again, RUNS - 1)

    def step(self, number: int) -> float:
        """Seconds of one step; by slices, with the step before."""
        from sepset.base.threads import NEVER
        from sepset.kernels.compiled.slices import SLICED_PARTS, run_slices

        program = self._question.program
        if any(number == each.first for each in program.slices):
            return 0.0
        found = next((each for each in program.slices if number == each.second), None)
        if found is None:
            return self._steps(program.ops[number : number + 1])
        parts = *found[2:], 1.0, found.num, 0, SLICED_PARTS
        return _best(lambda: run_slices(self._space.values, *parts, NEVER), RUNS - 1)

    def _call(self) -> Any:
        """The arguments of a run in which everything has changed."""
        from sepset.inference.compiled.dense import NO_READS, NOTHING
        from sepset.inference.compiled.teams import Call

        space, program = self._space, self._question.program
        space.dirty[:] = 1
        copied = program.rows, program.copies, program.fixed, self._codes, space.codes, space.dirty
        state = space.exponents.copy(), space.flags, space.spans, False
        return Call(space.values, self._store.values, copied, *state, NO_READS, NO_READS, NOTHING)


def _expensive(lab: Lab) -> list[str]:
    """The names of the programs with most multiplications, those of equal sizes once."""
    found: dict[tuple[float, int], str] = {}
    for name in lab.wanted([*networks.paths(), *instances.names()]):
        size = lab.ask("sepset", work, name, limit=TIME)
        if isinstance(size, tuple) and not (lab.quick and size[0] > QUICK):
            found.setdefault(size, name)
    return [found[size] for size in sorted(found, reverse=True)[:MOST]]


def run(lab: Lab) -> list[Report]:
    """The dominating steps of the most expensive programs, their time beside the least the machine allows."""
    rows, notes = [], []
    for name in _expensive(lab):
        lab.progress(name)
        found = lab.ask("sepset", steps, name, fresh=True, limit=TIME)
        if isinstance(found, str):
            rows.append(Comparison(name, found))
            continue
        share = f"{found.bound / found.seconds:.0%}"
        case = f"{name}: {found.num} steps of {found.whole:.2g} s"
        rows.append(Comparison(case, found.seconds, {"machine": found.bound}, target=f"{share} of {GOAL}"))
        notes.append(f"{name}: {found.slowest}")
    machine = lab.ask("sepset", rates, fresh=True)
    note = (
        f"The steps that take {DOMINATING:.0%} of a run, hot, on one core. The machine's time is that of their "
        "multiplications in a large matrix product, or of reading and writing each entry once in a product of long "
        "vectors, whichever is longer. Below half are products of tensors whose axes share cache lines in different "
        "orders (DBN), and pairs of steps by slices, whose middle result goes through the second cache "
        f"(ObjectDetection_28). What loses most: {'; '.join(notes)}."
    )
    if isinstance(machine, Machine):
        note += f" A multiply-add takes {machine.product:.2g} ns, an entry {machine.entry:.2g} ns."
    return [Report("Roofline: dominating steps", rows, note, has_mean=True, versus="machine / sepset")]
