"""Every question of every kind of large model: seconds until it is refused or answered, and until Ctrl-C is heard."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.largemodels import grid, network, sparse
from benchmarks.refusals import HEARD, REFUSED, _grown, covered, findings, net_of_kind, random_numbers, rows_of
from benchmarks.report import Comparison, Report

if TYPE_CHECKING:
    from benchmarks.worker import Lab

LIMIT = 6.0  # seconds until a question is interrupted
DEAF, DEAF_CODE = 20.0, 77  # seconds from there until its process is ended, and the exit status


def of_kind(kind: str, most: int = 4) -> Callable[[int], Any]:
    """Random networks of CPDs of a kind."""
    return lambda size: net_of_kind(kind, size, most)


def wide_trees(size: int) -> Any:
    """Trees that read 20 parents in random orders, nine causes for each."""
    import numpy as np

    import sepset as ss

    num_trees = max(size // 10, 2)
    rng, causes = np.random.default_rng(0), [ss.Discrete(f"c{i}") for i in range(9 * num_trees + 20)]
    cpds: list[Any] = [ss.TableCPD(v, [0.7, 0.3]) for v in causes]
    for i in range(num_trees):
        parents = [causes[j] for j in rng.choice(len(causes), 20, replace=False)]
        cpds.append(ss.TreeCPD(ss.Discrete(f"t{i}"), _grown(parents, rng)))
    return ss.BayesNet(*cpds)


def rules(size: int) -> Any:
    """Rules, each of up to three random parents."""
    import numpy as np

    import sepset as ss

    rng, v = np.random.default_rng(0), [ss.Discrete(f"v{i}") for i in range(size)]
    cpds: list[Any] = []
    for i, child in enumerate(v):
        parents = [v[j] for j in sorted(set(rng.integers(0, i, 3).tolist()))] if i > size // 10 else []
        if parents:
            p = rng.uniform(0.1, 0.9, len(parents) + 1).tolist()
            cases = [{u: 1} | dict.fromkeys(parents[:k], 0) for k, u in enumerate(parents)]
            cases.append(dict.fromkeys(parents, 0))
            pairs = [(case | {child: x}, abs(x - q)) for case, q in zip(cases, p, strict=True) for x in (0, 1)]
            cpds.append(ss.RuleCPD(child, [ss.cpds.Rule(*pair) for pair in pairs], given=parents))
        else:
            cpds.append(ss.TableCPD(child, [0.5, 0.5]))
    return ss.BayesNet(*cpds)


def chain_graph(size: int) -> Any:
    """A chain graph of pairs, each below up to three random variables."""
    import numpy as np

    import sepset as ss

    rng, v = np.random.default_rng(0), [ss.Discrete(f"v{i}") for i in range(2 * (size // 2))]
    parts = []
    for i in range(0, len(v), 2):
        above = [v[j] for j in sorted(set(rng.integers(0, i, 3).tolist()))] if i else []
        factors = [ss.Table([v[i], v[i + 1]], rng.random((2, 2)) + 0.1)]
        factors += [ss.Table([u, v[i + k % 2]], rng.random((2, 2)) + 0.1) for k, u in enumerate(above)]
        parts.append(ss.ChainComponent([v[i], v[i + 1]], *factors, given=above))
    return ss.ChainGraph(*parts)


def potts(size: int) -> Any:
    """A square Potts grid."""
    return grid(int(size**0.5))


def ising(size: int) -> Any:
    """An Ising model of random couplings on a random graph."""
    import numpy as np

    import sepset as ss
    from sepset.variables.array import Edges

    rng, x = np.random.default_rng(0), ss.Discrete.array("x", size, states=(-1, 1))
    pairs = np.unique(np.sort(rng.integers(0, size, (3 * size, 2)), axis=1), axis=0)
    edges = Edges(x, pairs[pairs[:, 0] < pairs[:, 1]].astype(np.int32))
    return ss.MarkovNet.ising(x, rng.normal(size=len(edges)), edges=edges)


def parity(size: int) -> Any:
    """A random low-density parity check code."""
    import numpy as np

    import sepset as ss

    rng, x = np.random.default_rng(0), ss.Discrete.array("x", size, states=2)
    scopes = np.sort(rng.integers(0, size, (size // 2, 6)), axis=1)
    scopes = scopes[(np.diff(scopes, axis=1) > 0).all(axis=1)]
    some = ss.potentials.over_scopes(scopes, ss.potentials.Parity(), array=x)
    return ss.MarkovNet(ss.potentials.unary(x, rng.normal(size=(size, 2))), some)


def factor_graph(size: int) -> Any:
    """The factor graph of a random network."""
    return sparse(size).factor_graph()


def hybrid(size: int) -> Any:
    """A random network whose first half is discrete; each real variable has one discrete and two real parents."""
    import numpy as np

    import sepset as ss

    rng, half = np.random.default_rng(0), size // 2
    d, x = [ss.Discrete(f"d{i}") for i in range(half)], [ss.Real(f"x{i}") for i in range(size - half)]
    cpds: list[Any] = []
    for i, v in enumerate(d):
        above = [d[j] for j in sorted(set(rng.integers(0, i, 2).tolist()))] if i else []
        p = rng.uniform(0.1, 0.9, (2,) * len(above))
        cpds.append(ss.TableCPD(v, np.stack([p, 1 - p], -1), given=above))
    for i, v in enumerate(x):
        real = [x[j] for j in sorted(set(rng.integers(0, i, 2).tolist()))] if i else []
        switch = d[int(rng.integers(0, half))]
        cpds.append(
            ss.LinearGaussian(
                v, [0.0, 1.0], coefficients=[[0.3] * len(real)] * 2, covariance=[1.0, 2.0], given=real, by=[switch]
            )
        )
    return ss.BayesNet(*cpds)


def chain(size: int) -> Any:
    """A chain of discrete variables."""
    import sepset as ss

    names = [f"v{i}" for i in range(size)]
    return ss.BayesNet.random(ss.DAG(names, list(itertools.pairwise(names))))


def real_chain(size: int) -> Any:
    """A chain of real variables."""
    import sepset as ss

    x = [ss.Real(f"x{i}") for i in range(size)]
    lines = [ss.LinearGaussian(v, coefficients=[0.5], covariance=1.0, given=u) for u, v in itertools.pairwise(x)]
    return ss.BayesNet(ss.LinearGaussian(x[0], covariance=1.0), *lines)


KINDS: Mapping[str, Callable[[int], Any]] = {
    "tables": network,
    "trees": of_kind("tree"),
    "wide trees": wide_trees,
    "rules": rules,
    "functions": of_kind("function"),
    "logistic": of_kind("logistic"),
    "softmax": of_kind("softmax"),
    "noisy-or": of_kind("noisy-or"),
    "noisy-or of 3": of_kind("noisy-or", 3),
    "noisy-max": of_kind("noisy-max"),
    "findings": lambda size: findings(max(size // 10, 3), 9),
    "chain graph": chain_graph,
    "Markov tables": sparse,
    "factor graph": factor_graph,
    "Potts": potts,
    "Ising": ising,
    "parity": parity,
    "at least one": lambda size: covered(max(size, 50)),
    "Gaussian": random_numbers,
    "hybrid": hybrid,
    "chain": chain,
    "real chain": real_chain,
}
"""Kinds of models by the number of variables."""


def _rows(model: Any) -> Any:
    """Four rows in which one variable of seven is observed."""
    import numpy as np

    import sepset as ss

    real = [name for name in model.variables.names if isinstance(model.variables[name], ss.Real)]
    if not real:
        return rows_of(model)
    rng, columns = np.random.default_rng(0), {}
    for i, name in enumerate(model.variables.names):
        v = model.variables[name]
        cells = rng.normal(size=4) if isinstance(v, ss.Real) else rng.integers(0, 2, 4).astype(float)
        columns[name] = cells if i % 7 == 0 else np.full(4, np.nan)
    return ss.Dataset(columns, variables=[model.variables[name] for name in model.variables.names])


def _given(model: Any) -> dict[str, Any]:
    names = model.variables.names[-20 if len(model.variables) > 100 else -3 :]
    return {n: model.variables[n].states[-1] if hasattr(model.variables[n], "states") else 0.5 for n in names}


def _first(model: Any) -> str:
    return str(model.variables.names[0])


def _last(model: Any) -> str:
    return str(model.variables.names[-1])


def _state(model: Any, name: str) -> Any:
    return model.variables[name].states[0]


def _soft(model: Any) -> dict[str, Any]:
    import sepset as ss

    return {
        n: ss.Soft([0.5, *([0.5 / (model.variables[n].num_states - 1)] * (model.variables[n].num_states - 1))])
        for n in list(_given(model))[-2:]
    }


def _ss() -> Any:
    import sepset

    return sepset


def _log_moments(model: Any) -> Any:
    return _ss().evaluation.log_probability_moments(model)


def _standard_errors(model: Any, rows: Any) -> Any:
    return _ss().learning.standard_errors(model, rows)


def _goodness_of_fit(model: Any, rows: Any) -> Any:
    return _ss().evaluation.goodness_of_fit(model, rows)


def _written(model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _ss().write(model, os.path.join(folder, "model.json"))


def _canonical_form(model: Any) -> Any:
    return _ss().models.canonical_form(model)


QUESTIONS: Mapping[str, Callable[[Any], Any]] = {
    "query": lambda m: _ss().prepare(m).query(_last(m)),
    "query given": lambda m: _ss().prepare(m).query(_first(m), given=_given(m)),
    "joint": lambda m: _ss().prepare(m).query([_first(m), _last(m)]),
    "marginals": lambda m: _ss().prepare(m).marginals()[_last(m)],
    "marginals given": lambda m: _ss().prepare(m).marginals(given=_given(m))[_first(m)],
    "soft": lambda m: _ss().prepare(m).query(_first(m), given=_soft(m)),
    "log probability": lambda m: _ss().prepare(m).log_probability(given=_given(m)),
    "log partition": lambda m: _ss().prepare(m).log_partition(),
    "best": lambda m: _ss().map_assignment(m),
    "best given": lambda m: _ss().map_assignment(m, given=_given(m)),
    "3 best": lambda m: _ss().map_assignment(m, k=3),
    "best over half": lambda m: _ss().map_assignment(m, over=m.variables.names[::2]),
    "max marginals": lambda m: _ss().max_marginals(m),
    "sample": lambda m: _ss().sample(m, 10),
    "sample given": lambda m: _ss().sample(m, 10, given=_given(m)),
    "plan": lambda m: _ss().plan(m),
    "plan given": lambda m: _ss().plan(m, given=list(_given(m))),
    "observe": lambda m: _ss().prepare(m).observe(_given(m)).marginals()[_first(m)],
    "pairs": lambda m: _ss().prepare(m).pairwise_marginals(),
    "retracted": lambda m: _ss().prepare(m).retracted_marginals(given=_given(m))[_last(m)],
    "sensitivity": lambda m: _ss().sensitivity(m, _last(m), state=_state(m, _last(m))),
    "information": lambda m: _ss().value_of_information(m, _first(m)),
    "entropy": lambda m: _ss().prepare(m).entropy(m.variables.names[:2]),
    "entropy of all": lambda m: _ss().prepare(m).entropy(m.variables.names),
    "mutual": lambda m: _ss().prepare(m).mutual_information(_first(m), _last(m)),
    "conditional": lambda m: _ss().prepare(m).conditional(_last(m), _first(m)),
    "check": lambda m: _ss().prepare(m).check(),
    "identifiability": lambda m: _ss().missing.identifiability(m, m.variables.names[::7]),
    "log moments": _log_moments,
    "divergence": lambda m: _ss().evaluation.divergence(m, m),
    "do": lambda m: _ss().query(m.do({_first(m): _given(m).get(_first(m), 0)}), _last(m)),
    "picture": lambda m: _ss().draw(m, beliefs=True),
    "strengths": lambda m: _ss().draw(m, strengths=True),
    "canonical form": _canonical_form,
    "LoopyBP": lambda m: _ss().marginals(m, method=_ss().LoopyBP())[_last(m)],
    "repr": lambda m: (repr(m), str(m), m._repr_html_()),
    "equal": lambda m: m == m,
    "json": _written,
}
"""Questions of a model."""

OF_ROWS: Mapping[str, Callable[[Any, Any], Any]] = {
    "expected counts": lambda m, rows: _ss().prepare(m).expected_counts(rows),
    "predict": lambda m, rows: _ss().predict(m, rows, targets=_last(m)),
    "impute": lambda m, rows: _ss().impute(m, rows),
    "impute best": lambda m, rows: _ss().impute(m, rows, kind="map"),
    "evaluate": lambda m, rows: _ss().evaluate(m, rows, _ss().evaluation.LogLoss()),
    "Brier": lambda m, rows: _ss().evaluate(m, rows, _ss().evaluation.Brier(_first(m))),
    "classify": lambda m, rows: _ss().classify.Classifier(m, _first(m)).predict(rows),
    "calibration": lambda m, rows: _ss().evaluation.calibration_curve(
        m, rows, target=_first(m), state=_state(m, _first(m))
    ),
    "fit": lambda m, rows: _ss().fit(m, rows, _ss().EM()),
    "hard fit": lambda m, rows: _ss().fit(m, rows, _ss().HardEM()),
    "gradient fit": lambda m, rows: _ss().fit(m, rows, _ss().GradientAscent()),
    "standard errors": _standard_errors,
    "goodness of fit": _goodness_of_fit,
}
"""Questions of a model and rows, which are made before."""

NAMES = (*QUESTIONS, *OF_ROWS)
"""The names of all questions."""


def _question(name: str, model: Any) -> Callable[[Any], Any]:
    """The question of that name about a model, whose rows are made now."""
    if name in QUESTIONS:
        return QUESTIONS[name]
    asked, rows = OF_ROWS[name], _rows(model)
    return lambda m: asked(m, rows)


def _asked(question: Callable[[Any], Any], model: Any) -> str:
    """What became of a question, in a word."""
    import sepset as ss

    try:
        found = question(model)
    except ss.TooLarge:
        return "refused"
    except (ss.errors.NotApplicable, ss.errors.ModelError, ss.errors.ScopeError) as error:
        return f"no ({type(error).__name__})"
    except KeyboardInterrupt:
        return "heard"
    except ss.SepsetError as error:
        return f"ERROR {type(error).__name__}: {str(error)[:150]}"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"RAW {type(error).__name__}: {str(error)[:150]} at {where.filename.rsplit('/', 1)[-1]}:{where.lineno}"
    return "heard" if getattr(getattr(found, "status", None), "name", "") == "INTERRUPTED" else "answered"


def _timed(question: Callable[[Any], Any], model: Any) -> str:
    """What became of a question: its seconds, of the processor and on the clock, and its MiB; interrupted when slow."""
    import resource

    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer, end = threading.Timer(LIMIT, interrupt), threading.Timer(LIMIT + DEAF, os._exit, [DEAF_CODE])
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    processor, wall = time.process_time(), time.perf_counter()
    timer.start()
    end.start()
    try:
        word = _asked(question, model)
        done = time.perf_counter()
        taken = time.process_time() - processor
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        word, done, taken = "heard outside", time.perf_counter(), LIMIT
    end.cancel()
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) / 1024
    after = f" {done - sent[0]:.2f} s after Ctrl-C" if sent else ""
    return f"{taken:6.2f} {done - wall:6.2f} {peak:6.0f} {word}{after}"


def survey(kind: str, size: int, names: Sequence[str]) -> Iterator[str]:
    """A line for each question of a kind of models: what became of it, and the seconds it took."""
    began = time.process_time()
    model = pickle.dumps(KINDS[kind](size))
    yield f"{kind:14s} {'(made)':18s} {time.process_time() - began:6.2f}"
    small = pickle.dumps(KINDS[kind](12))
    for name in names:
        for large in (False, True):  # the small one compiles what is needed
            own = pickle.loads(model if large else small)
            question = _question(name, own)
            gc.collect()
            yield f"{kind:14s} {name:18s} (small)" if not large else f"{kind:14s} {name:18s} asked"
            line = _timed(question, own)
        yield f"{kind:14s} {name:18s} {line}"


def _child(size: int, kind: str, names: Sequence[str]) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.largequestions", str(size), kind, ",".join(names), "child"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield from child.stdout
    if child.returncode:
        yield f"{kind:14s} died with {child.returncode}\n"


def lines_of(kind: str, size: int, names: Sequence[str]) -> Iterator[str]:
    """The lines of a survey in a process of its own; another goes on where one died."""
    left = list(names)
    while left:
        asked, is_made = left[0], False
        for line in _child(size, kind, left):
            word = line[15:33].strip()
            is_made |= word == "(made)"
            if line.rstrip().endswith((" asked", "(small)")):
                asked = word
                continue
            yield line.rstrip()
            if word in left:
                left = left[left.index(word) + 1 :]
        if not is_made:
            raise RuntimeError(f"No model of {size:,} variables was made of the kind {kind!r}.")
        if asked in left:
            yield f"{kind:14s} {asked:18s} DEAF or died"
            left = left[left.index(asked) + 1 :]


@dataclass(frozen=True)
class Found:
    """What became of a question: seconds of the processor, and from Ctrl-C to its end if it was interrupted."""

    kind: str
    question: str
    word: str
    seconds: float
    heard: float | None


def found_in(lines: Iterable[str]) -> Iterator[Found]:
    """What the lines of a survey say; lines of other kinds are passed over."""
    for line in lines:
        kind, question, rest = line[:14].strip(), line[15:33].strip(), line[33:].split()
        if "DEAF" in line:
            yield Found(kind, question, "deaf", LIMIT + DEAF, DEAF)
        elif question in NAMES and len(rest) >= 4:
            heard = float(rest[-4]) if line.rstrip().endswith("after Ctrl-C") else None
            yield Found(kind, question, rest[3], float(rest[0]), heard)


def reports(found: Sequence[Found], size: int) -> list[Report]:
    """The slowest refusals and interruptions, a row for each kind of models and for each question beyond the goals."""
    soon, ends = [], []
    for kind in dict.fromkeys(one.kind for one in found):
        refused = sorted(
            (one for one in found if one.kind == kind and one.word == "refused"), key=lambda one: -one.seconds
        )
        heard = sorted(
            (one for one in found if one.kind == kind and one.heard is not None), key=lambda one: -(one.heard or 0.0)
        )
        for i, one in enumerate(refused):
            if i == 0 or one.seconds > REFUSED["goal"]:
                which = f"slowest of {len(refused)}: " if i == 0 else ""
                soon.append(Comparison(f"{kind}, {which}{one.question}", one.seconds, REFUSED, target="2 s"))
        for i, one in enumerate(heard):
            if i == 0 or (one.heard or 0.0) > HEARD["goal"]:
                which = f"slowest of {len(heard)}: " if i == 0 else ""
                ends.append(Comparison(f"{kind}, {which}{one.question}", one.heard or 0.0, HEARD, target="1 s"))
    count = f"{len(found)} questions, each of a new model of {size:,} variables; seconds of the processor."
    return [
        Report("Refusals", soon, count, has_mean=False, versus="goal / sepset"),
        Report(
            "Seconds from Ctrl-C to the end", ends, f"Sent after {LIMIT:g} s.", has_mean=False, versus="goal / sepset"
        ),
    ]


def run(lab: Lab) -> list[Report]:
    """Every question of every kind of models of 100,000 variables; 1,000 if quick."""
    size = 1_000 if lab.quick else 100_000
    found: list[Found] = []
    for kind in lab.wanted(KINDS):
        lab.progress(kind)
        found += found_in(lines_of(kind, size, list(NAMES)))
    return reports(found, size)


def main() -> None:
    """`python -m benchmarks.largequestions SIZE [KIND,...] [QUESTION,...]`."""
    size = int(sys.argv[1])
    kinds = sys.argv[2].split(",") if len(sys.argv) > 2 else list(KINDS)
    names = sys.argv[3].split(",") if len(sys.argv) > 3 else list(NAMES)
    if len(sys.argv) > 4:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for line in survey(kinds[0], size, names):
            print(line, flush=True)
        return
    for kind in kinds:
        for line in lines_of(kind, size, names):
            print(line, flush=True)


if __name__ == "__main__":
    main()
