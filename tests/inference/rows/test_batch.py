"""Batches against enumeration: targets, masks and specialised programs, zeros, ranges, counts, threads."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.capabilities import expected_counts, row_by_row
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.compiled.planner import Planner, Settings
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.rows import batch
from sepset.inference.rows.batch import RowCompiler
from support.blocks import in_blocks
from support.counted_orders import CountedOrders
from support.random_findings import dataset, evidence_of, log_of, posterior_of, random_codes
from support.random_models import Case, markov_net, random_case, table_net
from support.tolerances import CLOSE


@pytest.fixture(params=["masks", "patterns", "chosen"])
def programs(request, monkeypatch):
    """Every row by masks, every observed set by a program of its own, or as the costs say."""
    if request.param == "masks":
        monkeypatch.setattr(batch, "deserving", lambda *_: np.zeros(0, np.int64))
    if request.param == "patterns":
        monkeypatch.setattr(batch, "deserving", lambda plan, counts, *_: np.arange(len(counts)))
    return request.param


def rows_of(case, codes, without=()):
    return EvidenceRows.of(dataset(case.variables, codes), case.model.problem().variables, without=without)


def check(case, codes, targets):
    """Every row's log partition and posteriors equal the enumerated ones."""
    prepared = CliqueTree().prepare(case.model.problem())
    found = prepared.answer_rows(rows_of(case, codes, targets), targets, Workers(2))
    hidden = {case.variables[v].name for v in targets}
    for row in range(len(codes)):
        evidence = evidence_of(case.variables, codes, row, hidden)
        np.testing.assert_allclose(found.log_partition[row], log_of(case, evidence), rtol=CLOSE, atol=CLOSE)
        for v in targets:
            expected = posterior_of(case, case.variables[v].name, evidence)
            np.testing.assert_allclose(found.probabilities[v][row], expected, rtol=CLOSE, atol=CLOSE)


@in_blocks("seed", range(25))
def test_random_models(programs, seed):
    rng = np.random.default_rng(seed)
    case = random_case(rng)
    codes = random_codes(rng, case.variables, 9, missing=rng.choice([0.0, 0.4, 0.9]))
    count = min(int(rng.integers(0, 4)), len(case.variables))
    check(case, codes, sorted(rng.choice(len(case.variables), count, replace=False).tolist()) if count else [])


def test_more_rows_than_a_block_and_a_chunk(programs, monkeypatch):
    monkeypatch.setattr(costs, "SHORTEST_TASK_SECONDS", 0.0)
    monkeypatch.setattr(costs, "LONGEST_TASK_SECONDS", 0.0)
    rng = np.random.default_rng(3)
    case = table_net(rng)
    check(case, random_codes(rng, case.variables, 130), [0])


def long_chain(num, weights):
    """A chain of binary variables with one factor on each; the total range grows with its length."""
    variables = [ss.Discrete(f"x{i}", 2) for i in range(num)]
    factors = [ss.Table([v], weights) for v in variables]
    factors += [ss.Table([a, b], [[1.0, 0.5], [0.5, 1.0]]) for a, b in itertools.pairwise(variables)]
    return ss.MarkovNet(*factors)


def chain_log(codes, weights):
    """The same sum by the forward recursion in logarithms."""
    step = np.log([[1.0, 0.5], [0.5, 1.0]])
    logs = np.zeros(2)
    for place, code in enumerate(codes):
        logs = np.logaddexp.reduce(logs[:, None] + step, axis=0) if place else logs
        logs = logs + np.log(weights)
        if code >= 0:
            logs[1 - code] = -np.inf
    return np.logaddexp.reduce(logs)


@pytest.mark.parametrize("weights", [[1e-30, 1e-31], [1.0, 1e-9], [1e40, 1.0], [1.0, 1e-110]])
def test_numbers_far_from_one(programs, weights):
    """Rescaled on the way; at 1e-110 a variable with two such factors is beyond linear numbers."""
    model = long_chain(150, weights)
    codes = random_codes(np.random.default_rng(0), model.variables, 40)
    codes[:10] = -1
    prepared = CliqueTree().prepare(model.problem())
    found = prepared.answer_rows(EvidenceRows.of(dataset(model.variables, codes), model.variables), [], Workers(1))
    expected = [chain_log(row, weights) for row in codes]
    np.testing.assert_allclose(found.log_partition, expected, rtol=CLOSE, atol=CLOSE)


def test_wide_tables_are_answered_one_by_one(programs):
    """Six factors of 100 bits each on one pair: a range that no linear table survives."""
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    tables = [np.array([[1.0, 2.0**-100], [1.0, 2.0 ** (-90 - i)]]) for i in range(6)]
    case = Case(
        ss.MarkovNet(*(ss.Table([a, b], t) for t in tables)),
        [(("a", "b"), t) for t in tables],
        {"a": 2, "b": 2},
        False,
    )
    codes = np.array([[-1, -1], [0, -1], [1, 1], [-1, 1], [0, 1]])
    check(case, codes, [])
    check(case, codes, [0])
    counted(case, codes)


def test_too_large_for_blocks_goes_row_by_row():
    rng = np.random.default_rng(5)
    case = table_net(rng)
    prepared = CliqueTree(memory=2000).prepare(case.model.problem())
    rows = rows_of(case, random_codes(rng, case.variables, 6), [0])
    plain = CliqueTree().prepare(case.model.problem()).answer_rows(rows, [0], Workers(1))
    found = prepared.answer_rows(rows, [0], Workers(1))
    np.testing.assert_allclose(found.probabilities[0], plain.probabilities[0], atol=CLOSE)


def test_row_by_row_agrees_on_a_published_network(programs):
    net = ss.datasets.load("alarm")
    codes = net.sample(300, seed=1).matrix().astype(np.int64)
    codes[np.random.default_rng(0).random(codes.shape) < 0.3] = -1
    codes[150:] = np.where(codes[0] < 0, -1, np.maximum(codes[150:], 0))
    rows = EvidenceRows.of(dataset(net.variables, codes), net.variables, without=[3, 7])
    prepared = CliqueTree().prepare(net.problem())
    few = np.array([0, 1, 149, 150, 299])
    for targets in ([3], [3, 7], []):
        found = prepared.answer_rows(rows, targets, Workers(2))
        alone = row_by_row(prepared, rows.take(few), targets)
        np.testing.assert_allclose(found.log_partition[few], alone.log_partition, rtol=CLOSE)
        for v in targets:
            np.testing.assert_allclose(found.probabilities[v][few], alone.probabilities[v], atol=CLOSE)


@pytest.mark.parametrize("num_rows", [1, 31, 32, 33, 1000, 54_321])
@pytest.mark.parametrize("counted", [False, True])
def test_tasks_take_every_row_once_and_fewer_and_fewer(num_rows, counted):
    seconds = 100 * costs.ROW_SECONDS_PER_MULTIPLICATION + 21 * costs.BLOCK_SECONDS_PER_INSTRUCTION / 32
    program = SimpleNamespace(seconds=seconds, lanes=32)
    parts = list(batch.chunks_of(program, np.arange(num_rows), counted=counted))
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(num_rows))
    sizes = [len(part) for part in parts]
    assert all(size % 32 == 0 for size in sizes[:-1])
    assert sizes == sorted(sizes, reverse=True)
    assert len(parts) <= 65


def test_answers_do_not_depend_on_threads(programs, monkeypatch):
    monkeypatch.setattr(costs, "SHORTEST_TASK_SECONDS", 1e-5)
    monkeypatch.setattr(costs, "LONGEST_TASK_SECONDS", 1e-5)
    net = ss.datasets.load("asia")
    codes = random_codes(np.random.default_rng(0), net.variables, 700)
    rows = EvidenceRows.of(dataset(net.variables, codes), net.variables, without=[0])
    prepared = CliqueTree().prepare(net.problem())
    one = prepared.answer_rows(rows, [0], Workers(1))
    counts = expected_counts(prepared, net.sample(500, seed=0).select(net.variables.names[:5]), threads=1)
    for threads in (2, 5):
        many = prepared.answer_rows(rows, [0], Workers(threads))
        assert np.array_equal(one.probabilities[0], many.probabilities[0], equal_nan=True)
        assert np.array_equal(one.log_partition, many.log_partition)
        again = expected_counts(prepared, net.sample(500, seed=0).select(net.variables.names[:5]), threads=threads)
        assert all(np.array_equal(a, b) for a, b in zip(counts.factors, again.factors, strict=True))


def counted(case, codes, weights=None):
    """Expected counts equal the enumerated sums; impossible rows are refused and then dropped."""
    problem = case.model.problem()
    prepared = CliqueTree().prepare(problem)
    evidence = [evidence_of(case.variables, codes, row) for row in range(len(codes))]
    logs = [log_of(case, one) for one in evidence]
    bad = [row for row, log in enumerate(logs) if log == -math.inf]
    if bad:
        with pytest.raises(ss.ImpossibleEvidence, match=f"^{len(bad)} of {len(codes)} rows .* rows {bad[0]}"):
            expected_counts(prepared, dataset(case.variables, codes))
    good = [row for row in range(len(codes)) if row not in bad]
    weight = np.ones(len(codes)) if weights is None else weights
    found = expected_counts(prepared, dataset(case.variables, codes[good]), weights=weight[good])
    expected_log = sum(weight[row] * logs[row] for row in good)
    assert found.log_likelihood == pytest.approx(expected_log, rel=CLOSE, abs=CLOSE)
    for number, counts in enumerate(found.factors):
        names = [problem.variables[v].name for v in problem.scope(number)]
        total = np.zeros([case.cards[name] for name in names])
        for row in good:
            total = total + weight[row] * oracle.conditional(case.factors, case.cards, names, evidence[row])
        np.testing.assert_allclose(counts, total, rtol=CLOSE, atol=CLOSE)


@in_blocks("seed", range(15))
def test_expected_counts(programs, seed):
    rng = np.random.default_rng(seed)
    case = table_net(rng) if seed % 2 else markov_net(rng)
    codes = random_codes(rng, case.variables, 8)
    counted(case, codes, None if seed % 3 else rng.integers(0, 4, len(codes)).astype(float))


def test_weights_of_zero_excuse_impossible_rows():
    a = ss.Discrete("a", 2)
    prepared = CliqueTree().prepare(ss.BayesNet(ss.TableCPD(a, [1.0, 0.0])).problem())
    rows = dataset([a], np.array([[0], [1]]))
    assert expected_counts(prepared, rows, weights=np.array([2.0, 0.0])).factors[0].tolist() == [2.0, 0.0]
    for wrong in ([1.0], [-1.0, 0.0], [np.nan, 0.0]):
        with pytest.raises(
            ss.errors.DataError,
            match=r"Weights are (numbers, one per row; found the shape|finite and not negative; row 0 has (-1|nan))",
        ):
            expected_counts(prepared, rows, weights=np.array(wrong))


def test_no_rows_and_no_columns():
    net = ss.datasets.load("student")
    prepared = CliqueTree().prepare(net.problem())
    empty = prepared.answer_rows(EvidenceRows.of(net.sample(0, seed=0), net.variables), [1], Workers(2))
    assert empty.log_partition.shape == (0,)
    assert empty.probabilities[1].shape == (0, 2)
    assert expected_counts(prepared, net.sample(0, seed=0)).log_likelihood == 0.0
    none = prepared.answer_rows(EvidenceRows((), np.zeros((3, 0), np.int32), (), np.zeros((3, 0))), [1], Workers(2))
    np.testing.assert_allclose(none.probabilities[1], [[0.7, 0.3]] * 3, atol=CLOSE)


def test_an_interruption_leaves_the_engine_usable(monkeypatch):
    monkeypatch.setattr(costs, "SHORTEST_TASK_SECONDS", 0.0)
    monkeypatch.setattr(costs, "LONGEST_TASK_SECONDS", 0.0)
    net = ss.datasets.load("asia")
    prepared = CliqueTree().prepare(net.problem())
    codes = random_codes(np.random.default_rng(1), net.variables, 400, missing=0.2)
    rows = EvidenceRows.of(dataset(net.variables, codes), net.variables, without=[0])

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared.answer_rows(rows, [0], Workers(2, interrupt))
    seen = []
    prepared.answer_rows(rows, [0], Workers(2, lambda done, total: seen.append((done, total))))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


def test_an_interruption_while_tasks_are_made_is_an_interruption(monkeypatch):
    """Ctrl-C between two programs, before their rows are looked at."""
    net = ss.datasets.load("asia")
    rows = net.sample(50, seed=1).select(["dysp", "xray"])
    engine = CliqueTree().prepare(net.problem())

    def cut(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batch.RowTables, "_programs", cut)
        with pytest.raises(KeyboardInterrupt):
            expected_counts(engine, rows)
    assert expected_counts(engine, rows).log_likelihood < 0


def compiler_of(model, order=None, memory=2**30):
    return RowCompiler(Planner(model.problem(), Settings(order or ss.graphs.MinFill(), memory, "auto")))


def test_programs_are_made_once():
    orders = CountedOrders()
    compiler = compiler_of(ss.datasets.load("student"), orders)
    first = compiler.program((2, 3), (0,))
    assert compiler.program((2, 3), (0,)) is first
    assert compiler.program((2, 3), (0,), observed=(2, 3)) is not first
    assert compiler.program((2, 3), (), counted=True) is not first
    assert orders.made == 3


def test_findings_are_masks_or_leave_the_program():
    compiler = compiler_of(ss.datasets.load("student"))
    masks, own = compiler.program((2, 3), (0,)), compiler.program((2, 3), (0,), observed=(2, 3))
    assert masks.question.touched == (2, 3)
    assert masks.question.observed == ()
    assert own.question.touched == ()
    assert own.question.observed == (2, 3)
    assert own.work < masks.work


def test_one_target_needs_no_reverse_sweep_and_counts_need_every_factor():
    compiler = compiler_of(ss.datasets.load("student"))
    one, two = compiler.program((2,), (0,)).question, compiler.program((2,), (0, 1)).question
    assert len(one.contraction.steps) == one.contraction.num_forward
    assert len(two.contraction.steps) > two.contraction.num_forward
    assert len(compiler.program((2,), (), counted=True).counted) == 5


def test_too_large_is_none():
    assert compiler_of(ss.datasets.load("student"), memory=100).program((2,), (0,)) is None
