"""The benefit of zeros: tables without impossible states, and programs of products that can be positive."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from benchmarks import instances, networks
from benchmarks.measure import measure
from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

Zeros = Literal["auto", "dense", "sparse"]

ZEROS: tuple[Zeros, ...] = ("auto", "dense")
INSTANCES = ("CSP", "ObjectDetection", "Pedigree", "Promedus", "linkage_16", "linkage_24")  # those with zeros
USES = 6  # runs of a question after which the program over supports is considered, instead of hundreds
TOUCHED = 6  # variables of an instance whose findings change from call to call
COUNTERS = ((30, 50), (30, 200), (60, 200))
LARGE = 3e8  # multiplications of a dense run that is not measured


class Times(NamedTuple):
    """Seconds with a new engine, and with one that has seen the observed set."""

    cold: float
    hot: float


def network(path: str, share: float, zeros: Zeros) -> Times:
    """Every posterior, a share of the variables observed; hot with values different from the first."""
    import sepset as ss
    from benchmarks.posteriors import settings

    networks.compile_kernels()
    net = networks.load(path)
    states = {v.name: v.states for v in net.variables}
    found = [{n: states[n][code] for n, code in row.items()} for row in settings(path, share)] if share else [{}, {}]
    method = ss.CliqueTree(zeros=zeros, threads=1)

    def read(engine: Any, given: Any) -> list[Any]:
        answers = engine.marginals(given=given)
        return [answers[name].values for name in answers]

    def start() -> None:
        net.problem().kept.clear()
        read(ss.prepare(net, method=method), found[0])

    start()
    cold = measure(start).best
    engine = ss.prepare(net, method=method)
    for given in found * 4:
        read(engine, given)
    return Times(cold, measure(lambda: [read(engine, given) for given in found[1:]]).best / len(found[1:]))


def supports(model: Any, found: list[Any], zeros: Zeros) -> float | str:
    """Seconds of every posterior from an engine that has its program, with findings different from the last call's."""
    import sepset as ss
    from sepset.inference import costs

    networks.compile_kernels()
    costs.USES_BEFORE_SUPPORTS = USES
    engine = ss.prepare(model, method=ss.CliqueTree(zeros=zeros, threads=1))
    if engine.plan(given=list(found[0])).total_size > LARGE:
        return "too large"

    def read() -> None:
        for given in found:
            answers = engine.marginals(given=given)
            [answers[name].values for name in answers]

    for _ in range(4):
        read()
    return measure(read).best / len(found)


def first_answer(name: str, zeros: Zeros) -> float | str:
    """Seconds of every posterior of a UAI instance with a new engine."""
    import sepset as ss

    networks.compile_kernels()
    model, evidence = instances.load(name)
    method = ss.CliqueTree(zeros=zeros, threads=1)
    if ss.prepare(model, method=method).plan(given=list(evidence)).total_size > LARGE:
        return "too large"

    def start() -> None:
        model.problem().kept.clear()
        answers = ss.prepare(model, method=method).marginals(given=evidence)
        [answers[name].values for name in answers]

    start()
    return measure(start).best


def instance(name: str, zeros: Zeros) -> float | str:
    """The same for a UAI instance, with a flat likelihood of changing scale on a few variables."""
    import sepset as ss

    model, evidence = instances.load(name)
    hidden = [v for v in model.variables if v.name not in evidence]
    touched = hidden[:: max(1, len(hidden) // TOUCHED)]
    found = [
        {**evidence, **{v.name: ss.Likelihood([scale] * v.num_states) for v in touched}} for scale in (1.0, 0.5, 0.25)
    ]
    return supports(model, found, zeros)


def counter(length: int, states: int, zeros: Zeros) -> float | str:
    """The same for a sum of dice, modulo a number of states, of which the last is observed."""
    import sepset as ss

    dice = [ss.Discrete(f"die{i}", 6) for i in range(length)]
    sums = [ss.Discrete(f"sum{i}", states) for i in range(length)]
    cpds: list[Any] = [ss.TableCPD(die, [1 / 6] * 6) for die in dice]
    cpds.append(ss.DeterministicCPD(sums[0], lambda x: x, given=[dice[0]]))
    for i in range(1, length):
        cpds.append(ss.DeterministicCPD(sums[i], lambda s, x: (s + x) % states, given=[sums[i - 1], dice[i]]))
    half = states // 2
    return supports(ss.BayesNet(*cpds), [{sums[-1].name: value} for value in (half, half + 3, half - 5)], zeros)


def run(lab: Lab) -> list[Report]:
    """Networks cold and hot with and without impossible states, then instances and counters by either program."""
    cold, hot, programs = [], [], []
    known = networks.paths()
    for name in lab.wanted(known):
        for share, case in ((0.0, name), (0.1, f"{name}, 10%")):
            auto, dense = (lab.ask("sepset", network, known[name], share, zeros) for zeros in ZEROS)
            if isinstance(auto, Times) and isinstance(dense, Times):
                cold.append(Comparison(case, auto.cold, {"dense": dense.cold}))
                hot.append(Comparison(case, auto.hot, {"dense": dense.hot}))
    for name in lab.wanted(name for name in instances.names() if name.startswith(INSTANCES) and not lab.quick):
        auto, dense = (lab.ask("sepset", first_answer, name, zeros, fresh=True) for zeros in ZEROS)
        cold.append(Comparison(name, auto, {"dense": dense}))
        auto, dense = (lab.ask("sepset", instance, name, zeros, fresh=True) for zeros in ZEROS)
        programs.append(Comparison(name, auto, {"dense": dense}))
    for size in COUNTERS[: 1 if lab.quick else None]:
        auto, dense = (lab.ask("sepset", counter, *size, zeros, fresh=True) for zeros in ZEROS)
        programs.append(Comparison(f"sum of {size[0]} dice modulo {size[1]}", auto, {"dense": dense}))
    versus = "dense / sepset"
    return [
        Report("Zeros: every posterior, cold", cold, "Impossible states left out if that is faster.", versus=versus),
        Report("Zeros: every posterior, hot", hot, "Values different from the first.", versus=versus),
        Report(
            "Zeros: instances with many zeros, hot",
            programs,
            "Every posterior, hot: the sparse program is used if it is estimated to be faster; CSP has no zeros.",
            versus=versus,
        ),
    ]
