"""What is too large is refused soon, in words that can be read; what is not refused stays within its limits."""

from __future__ import annotations

import itertools
import math
import re
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import polars as pl
import pytest

import sepset as ss
from sepset.graphs.ordering import Portfolio
from sepset.inference import costs
from sepset.inference.compiled.store import FactorStore
from sepset.inference.evidencerows import RowAnswers
from sepset.inference.wiring import Wiring
from sepset.kernels.graphs import ordering
from sepset.learning.missing import identifiability
from support.bounded import child, ended_by_limit, within
from support.tolerances import EXACT

DENSE = """
    import numpy as np, sepset as ss

    def dense(size):
        v = [ss.Discrete(f"v{i}", 2) for i in range(size)]
        rng = np.random.default_rng(0)
        return ss.MarkovNet(*[ss.Table([v[i], v[j]], rng.random((2, 2))) for i in range(size) for j in range(i)])

    def questions(model):
        yield lambda: ss.marginals(model)["v0"]
        yield lambda: ss.query(model, "v0")
        yield lambda: float(ss.log_partition(model))
        yield lambda: ss.map_assignment(model, method=ss.CliqueTree())
        yield lambda: ss.sample(model, 1)

    large = dense(120)
    for question in questions(dense(5)):  # compiles what is needed
        question()
"""
GRID = """
    import numpy as np, sepset as ss

    def grid(side):
        fields = np.random.default_rng(0).normal(size=(side, side, 2))
        return ss.MarkovNet.potts(ss.Discrete.array("p", (side, side), states=2), 1.0, log_values=fields)

    large = grid(24)
    ss.map_assignment(grid(6))  # compiles what is needed
"""
# Ctrl-C after a second of work; printed is how much more was done until it was heard.
INTERRUPTED = """
    import os, threading, time

    end = time.process_time() + 1

    def interrupt():
        while time.process_time() < end:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    allow(4)
    try:
        {question}
    except (KeyboardInterrupt, ss.TooLarge):
        print(time.process_time() - end)
"""


def grid(side: int) -> ss.MarkovNet:
    return ss.MarkovNet.potts(ss.Discrete.array("p", (side, side), states=2), 1.0)


def in_time(done: subprocess.CompletedProcess[str]) -> str:
    """What a child printed; the test fails where its time was used up."""
    assert not ended_by_limit(done), "still at work when its processor time was used up"
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_dense_model_is_refused_soon():
    asked = """
    allow(4)
    for question in questions(large):
        try:
            question()
        except ss.TooLarge:
            print("refused")
    """
    assert in_time(child(DENSE + asked)).split() == ["refused"] * 5


def test_an_interruption_is_heard_while_a_dense_model_is_planned():
    assert float(in_time(child(DENSE + INTERRUPTED.format(question='ss.marginals(large)["v0"]')))) < 1


def test_an_interruption_is_heard_within_a_long_step():
    assert float(in_time(child(GRID + INTERRUPTED.format(question="ss.map_assignment(large)")))) < 1


@pytest.mark.parametrize(
    "method", [ss.inference.RecursiveConditioning(), ss.inference.CutsetConditioning()], ids=lambda m: type(m).__name__
)
def test_conditioning_refuses_a_large_grid_soon(method):
    model, small = grid(70), grid(3)
    ss.query(small, small.variables.names[0], method=method)  # compiles what is needed
    with pytest.raises(ss.TooLarge):
        within(3, lambda: ss.query(model, model.variables.names[0], method=method))


def tangle(size: int, seed: int = 0) -> ss.BayesNet:
    """A network with up to three random parents for each variable, far too wide for exact answers."""
    rng, names = np.random.default_rng(0), [f"v{i}" for i in range(size)]
    parents = (set(rng.integers(0, i, min(3, i)).tolist()) for i in range(1, size))
    edges = [(names[p], names[i]) for i, chosen in enumerate(parents, 1) for p in chosen]
    return ss.BayesNet.random(ss.DAG(names, edges), seed=seed)


def rows_of(net: ss.BayesNet) -> ss.Dataset:
    """Four rows in which one variable of seven is observed."""
    names = net.variables.names
    codes = {name: np.full(4, -1) for name in names} | {name: np.array([0, 1, 0, 1]) for name in names[::7]}
    return ss.Dataset.from_codes(net.variables, codes)


LONG_WORK = {
    "EM": lambda net, rows: ss.fit(net, rows, ss.EM()),
    "EM of a graph": lambda net, rows: ss.fit(net.dag, rows, ss.EM()),
    "expected counts": lambda net, rows: ss.prepare(net).expected_counts(rows),
    "hard EM": lambda net, rows: ss.fit(net, rows, ss.HardEM()),
    "gradient ascent": lambda net, rows: ss.fit(net, rows, ss.GradientAscent()),
    "k best": lambda net, rows: ss.map_assignment(net, k=3, method=ss.CliqueTree()),
    "prediction": lambda net, rows: ss.predict(net, rows, targets=net.variables.names[-1]),
    "imputation": lambda net, rows: ss.impute(net, rows),
    "most probable rows": lambda net, rows: ss.impute(net, rows, kind="map"),
    "losses": lambda net, rows: ss.evaluate(net, rows, ss.evaluation.LogLoss()),
    "classification": lambda net, rows: ss.classify.Classifier(net, net.variables.names[-1]).predict(rows),
    "goodness of fit": lambda net, rows: ss.evaluation.goodness_of_fit(net, rows),
    "log moments": lambda net, rows: ss.evaluation.log_probability_moments(net),
    "divergence": lambda net, rows: ss.evaluation.divergence(net, tangle(len(net), seed=1)),
}


@pytest.mark.parametrize("work", LONG_WORK.values(), ids=LONG_WORK.keys())
def test_long_work_is_refused_after_at_most_two_searches_for_an_order(work, monkeypatch):
    """One for the rows together and one for a single row, which may fit where all together do not."""
    searches, arrange = [], Portfolio.arrange
    monkeypatch.setattr(Portfolio, "arrange", lambda *given: searches.append(given) or arrange(*given))
    net = tangle(2000)
    with pytest.raises(ss.TooLarge):
        work(net, rows_of(net))
    assert len(searches) <= 2


ABOUT_ROWS = {name: work for name, work in LONG_WORK.items() if name != "divergence"}  # it compares tables


@pytest.mark.parametrize("work", ABOUT_ROWS.values(), ids=ABOUT_ROWS.keys())
def test_long_work_is_refused_before_a_table_is_read_or_an_answer_made(work, monkeypatch):
    net = tangle(2000)
    rows = rows_of(net)
    for limit in ("VARIABLES_ALWAYS_PLANNED", "FACTORS_AT_ONCE"):
        monkeypatch.setattr(costs, limit, 100)  # as if the network were larger: zeros of small ones are looked at
    monkeypatch.setattr(FactorStore, "of", None)
    monkeypatch.setattr(RowAnswers, "empty", None)
    with pytest.raises(ss.TooLarge):
        work(net, rows)


def test_marginal_map_is_refused_before_the_factors_are_wired(monkeypatch):
    monkeypatch.setattr(Wiring, "of", None)
    net = tangle(2000)
    with pytest.raises(ss.TooLarge):
        ss.map_assignment(net, over=net.variables.names[::7])


def test_a_refused_question_is_refused_again_without_a_search(monkeypatch):
    engine = ss.prepare(tangle(2000))
    said = refusal(lambda: engine.query("v1999"))
    monkeypatch.setattr(Portfolio, "arrange", None)
    assert refusal(lambda: engine.query("v1999")) == said


def test_identifiability_is_refused_before_its_matrix_is_begun(monkeypatch):
    monkeypatch.setattr(identifiability, "machine_memory", lambda: 2**30)
    net = tangle(2000)
    assert "parameters need about" in refusal(lambda: ss.missing.identifiability(net, net.variables.names[::7]))


def most_held(question) -> int:
    """The most bytes held at once for a question, plan and answer included; none where it is refused."""
    tracemalloc.start()
    try:
        question()
        return tracemalloc.get_traced_memory()[1]
    except ss.TooLarge:
        return 0
    finally:
        tracemalloc.stop()


def test_a_joint_query_stays_within_the_memory_it_was_given():
    alarm = ss.datasets.load("alarm")
    names = alarm.variables.names[:15]
    limit = 3 * 8 * math.prod(alarm[name].num_states for name in names) // 2  # half as much again as the answer
    ss.query(alarm, names[:9])  # compiles what is needed
    engine = ss.prepare(alarm, method=ss.CliqueTree(memory=limit))
    assert most_held(lambda: engine.query(names)) <= 1.1 * limit


def triangle(states: int) -> ss.MarkovNet:
    rng, v = np.random.default_rng(0), [ss.Discrete(name, states) for name in "abc"]
    pairs = ((0, 1), (1, 2), (0, 2))
    return ss.MarkovNet(*(ss.Table([v[i], v[j]], rng.random((states, states))) for i, j in pairs))


def test_a_best_state_stays_within_the_memory_it_was_given():
    ss.map_assignment(triangle(3))  # compiles what is needed
    limit = 8 * 150**3 // 4  # a quarter of the table over all three
    engine = ss.prepare(triangle(150), method=ss.CliqueTree(memory=limit))
    assert most_held(engine.map_assignment) <= 1.1 * limit


def test_a_plan_can_be_looked_at_however_large():
    assert ss.plan(grid(200)).width >= 200  # the treewidth of a square grid is its side


def refusal(question) -> str:
    with pytest.raises(ss.TooLarge) as caught:
        question()
    return str(caught.value)


PEAK = """
    import numpy as np, sepset as ss
    from sepset.kernels.warm import compile_ahead

    def dense(size):
        v = [ss.Discrete(f"v{{i}}", 2) for i in range(size)]
        rng = np.random.default_rng(0)
        return ss.MarkovNet(*[ss.Table([v[i], v[j]], rng.random((2, 2))) for i in range(size) for j in range(i)])

    def cube(states):
        v = [ss.Discrete(name, states) for name in "abc"]
        return ss.MarkovNet(ss.Table(v, np.random.default_rng(0).random([states] * 3)))

    def alarm(targets):
        net = ss.datasets.load("alarm")
        return net, net.variables.names[:targets][::-1]

    def held():
        return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

    def peak():
        (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def ask(model, targets=()):
        engine = ss.prepare(model)
        planned, before = engine.plan(targets).memory, held()
        open("/proc/self/clear_refs", "w").write("5")  # the peak of compiling does not count
        answer = {question}
        return planned, peak() - before

    list(compile_ahead())  # what large questions need; what others need is compiled by a small one
    ask(*{small})
    print(*ask(*{large}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("question", "small", "large"),
    [
        pytest.param("engine.query(targets)", "alarm(8)", "alarm(18)", id="joint"),
        pytest.param('engine.marginals()["v0"]', "(dense(20),)", "(dense(27),)", id="marginals"),
        pytest.param("engine.map_assignment()", "(cube(20),)", "(cube(250),)", id="best state"),
        pytest.param("engine.sample(3)", "(cube(20),)", "(cube(250),)", id="draws"),
    ],
)
def test_a_large_answer_takes_no_more_memory_than_planned(question, small, large):
    """Above what the process held before, in a process of its own; plans of 200 MB and more."""
    planned, peak = map(int, in_time(child(PEAK.format(question=question, small=small, large=large))).split())
    assert planned >= 200e6
    assert peak <= 1.2 * planned


@pytest.mark.parametrize(
    "method",
    [ss.CliqueTree(), ss.VariableElimination(), ss.inference.RecursiveConditioning()],
    ids=lambda method: type(method).__name__,
)
def test_sizes_are_printed_for_people(method):
    model = grid(40)
    message = refusal(lambda: ss.query(model, model.variables.names[0], method=method))
    assert re.findall(r"\d{5,}(?:\.\d+)? \w?iB", message) == []


WIDE = [ss.Discrete(f"wide{i}", 2) for i in range(20)]


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(lambda: ss.Table(WIDE, np.ones(3)), id="shape"),
        pytest.param(lambda: ss.Table(WIDE, np.full([2] * 20, -1.0)), id="negative"),
        pytest.param(lambda: ss.Table(WIDE, np.ones([2] * 20))[0], id="state"),
        pytest.param(lambda: ss.TableCPD(WIDE[0], np.ones([2] * 20), given=WIDE[1:]), id="row"),
    ],
)
def test_errors_about_wide_factors_are_short(mistake):
    with pytest.raises(ss.SepsetError) as caught:
        mistake()
    assert str(caught.value).count("wide") <= 16
    assert len(str(caught.value)) < 300


def test_a_graph_on_one_long_line_is_parsed_as_fast_as_on_many():
    nodes = [f"n{i}" for i in range(80_000)]
    edges = list(itertools.pairwise(nodes))
    before = time.process_time()
    expected = ss.DAG.parse("\n".join(f"{a} -> {b}" for a, b in edges))
    by_lines = time.process_time() - before
    found = within(4 * by_lines, lambda: ss.DAG.parse(" -> ".join(nodes)))
    assert (found.nodes, found.num_edges) == (expected.nodes, expected.num_edges)


@pytest.mark.parametrize("side", [20, 40])
def test_a_square_grid_is_eliminated_no_wider_than_row_by_row(side):
    assert ss.graphs.elimination_order(grid(side).graph).width <= side


@pytest.mark.parametrize("size", [5, 20, 30, 200])
def test_the_best_explanation_of_a_noisy_or(size):
    """With k causes on: (n - k) log 0.9 + k log 0.1 + log(1 - 0.99 * 0.2^k)."""
    causes = [ss.Discrete(f"cause{i}", (False, True)) for i in range(size)]
    effect = ss.Discrete("effect", (False, True))
    model = ss.BayesNet(
        *(ss.TableCPD(cause, [0.9, 0.1]) for cause in causes),
        ss.NoisyOr(effect, dict.fromkeys(causes, 0.8), leak=0.01),
    )
    values = [(size - k) * math.log(0.9) + k * math.log(0.1) + math.log1p(-0.99 * 0.2**k) for k in range(size + 1)]
    best = ss.map_assignment(model, given={"effect": True})
    assert float(best.log_value) == pytest.approx(max(values), abs=EXACT)
    assert sum(best.assignment.values()) == int(np.argmax(values))


def test_the_remains_of_a_killed_write_are_gone_after_the_next(tmp_path):
    killed = child(
        f"""
        import os, sepset as ss
        os.replace = os.rename = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        ss.write(ss.datasets.load("asia"), {str(tmp_path / "asia.json")!r})
        """
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ss.write(ss.datasets.load("asia"), tmp_path / "asia.json")
    assert [path.name for path in tmp_path.iterdir()] == ["asia.json"]


NODES = 100_000


def sparse_dag(num):
    """Up to three random parents for each node."""
    rng, names = np.random.default_rng(0), [f"v{i}" for i in range(num)]
    parents = (set(rng.integers(0, i, min(3, i)).tolist()) for i in range(1, num))
    return ss.DAG(names, [(names[p], names[i]) for i, chosen in enumerate(parents, 1) for p in chosen])


@pytest.fixture(scope="module")
def large_dag():
    return sparse_dag(NODES)


@pytest.fixture(scope="module")
def large_graph(large_dag):
    return ss.graphs.moralize(large_dag)


LARGE_GRAPHS = {
    "order": lambda dag, graph: ss.graphs.elimination_order(graph),
    "maximum cardinality": lambda dag, graph: ss.graphs.elimination_order(graph, method=ss.graphs.MaxCardinality()),
    "elimination": lambda dag, graph: ss.graphs.eliminate_graph(graph, graph.nodes),
    "triangulation": lambda dag, graph: ss.graphs.triangulate(graph),
    "tree": lambda dag, graph: ss.graphs.tree_decomposition(graph),
    "directed map": lambda dag, graph: ss.graphs.directed_imap(graph),
    "independences": lambda dag, graph: ss.graphs.independences(dag),
    "effects": lambda dag, graph: ss.structure.intervention_distance(dag, dag),
}


@pytest.mark.parametrize("name", LARGE_GRAPHS)
def test_work_on_a_large_graph_is_refused_before_it_is_long(name, large_dag, large_graph, monkeypatch):
    """Greedy passes over all nodes are what takes long: none is made where a part is too wide already."""
    passes, run = [], ordering.greedy_order
    monkeypatch.setattr(ordering, "greedy_order", lambda start, *rest: passes.append(len(start)) or run(start, *rest))
    with pytest.raises(ss.TooLarge):
        LARGE_GRAPHS[name](large_dag, large_graph)
    assert max(passes, default=0) < NODES / 2


def test_a_large_graph_without_triangles_is_not_chordal(large_graph):
    side = 200
    grid = [(f"{i} {j}", f"{i + a} {j + b}") for i in range(side) for j in range(side) for a, b in ((0, 1), (1, 0))]
    graph = ss.UndirectedGraph(sorted({node for edge in grid for node in edge}), grid)
    assert not ss.graphs.is_chordal(graph)
    assert not ss.graphs.is_chordal(large_graph)
    with pytest.raises(ss.errors.ModelError, match="not chordal"):
        ss.graphs.maximal_cliques(graph)


@pytest.mark.parametrize("method", [ss.ExactSearch(), ss.ChowLiu(), ss.StructuralEM(), ss.HillClimb(), None])
def test_structures_of_too_many_columns_are_refused_before_a_cell_is_read(method, monkeypatch):
    monkeypatch.setattr("sepset.api.structure.Columns.of", lambda *about, **more: pytest.fail("rows were read"))
    rows = {f"v{i}": ["a", "b"] for i in range(20_000)}
    for data in (rows, pl.DataFrame(rows)):
        with pytest.raises(ss.TooLarge, match="columns"):
            ss.learn_structure(data, method=method)


OF_PAIRS = {
    "scores of parent sets": ("sepset.api.structure", ss.structure.parent_set_scores),
    "dependency networks": ("sepset.learning.structure.dependency.learning", ss.structure.learn_dependency_net),
}


@pytest.mark.parametrize("work", OF_PAIRS)
def test_tables_of_pairs_are_refused_before_a_cell_is_read(work, monkeypatch):
    module, learn = OF_PAIRS[work]
    monkeypatch.setattr(f"{module}.Columns.of", lambda *about, **more: pytest.fail("rows were read"))
    with pytest.raises(ss.TooLarge, match="pairs"):
        learn({f"v{i}": ["a", "b"] for i in range(20_000)})


def test_constraints_of_too_many_columns_are_refused_before_a_table_of_pairs_is_made():
    with pytest.raises(ss.TooLarge, match="pairs"):
        ss.structure.Constraints().bind([f"v{i}" for i in range(100_000)])
