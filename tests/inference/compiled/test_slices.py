"""Large results by slices: answers are those of enumeration, whatever is observed, in any range, on any threads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import dense
from sepset.kernels.compiled.costs import LINE_ENTRIES
from sepset.kernels.kernel import load
from sepset.variables.evidence import Evidence
from support.tolerances import CLOSE

SETTINGS = {"all": (0, 0, 0), "free axes": (0, 10**9, 10**9), "shared places": (10**9, 0, 10**9), "one": (10**9, 0, 0)}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS)
def _sliced(request, monkeypatch):
    """Every result that can be is sliced, with axes in any order, or with places in common, also of a single sweep."""
    load()
    monkeypatch.setattr(costs, "ENTRIES_FOR_FREE_AXES", request.param[0])
    monkeypatch.setattr(costs, "ENTRIES_FOR_SHARED_PLACES", request.param[1])
    monkeypatch.setattr(costs, "ENTRIES_FOR_PASSING", request.param[2])
    monkeypatch.setattr(costs, "ENTRIES_WITH_SHARED_PLACES", 1)
    for name in ("FACTORS_AT_ONCE", "WORK_OF_A_FIRST_RUN", "WORK_OF_A_SHORT_RUN", "WORK_UNDIVIDED"):
        monkeypatch.setattr(costs, name, -1)
    for name in ("NANOSECONDS_PER_PRODUCT", "NANOSECONDS_PER_ENTRY", "NANOSECONDS_FOR_THREADS"):
        monkeypatch.setattr(costs, name, 0.0)
    monkeypatch.setattr(costs, "ENTRIES_SLICED", 8)
    monkeypatch.setattr(costs, "ENTRIES_OF_A_SLICE", 20)
    monkeypatch.setattr(dense, "is_ready", lambda: True)


def random_model(seed, bits=0.0):
    """Tables over a clique of six variables in pairs and triples; entries have a power of two in plus or minus bits."""
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"x{i}", int(rng.integers(2, 5))) for i in range(6)]
    scopes = [*itertools.combinations(range(6), 2), *(rng.permutation(6)[:3].tolist() for _ in range(2))]
    tables = []
    for scope in scopes:
        shape = [variables[i].num_states for i in scope]
        values = rng.uniform(0.1, 1.0, shape) * (rng.random(shape) > 0.1) * 2.0 ** rng.uniform(-bits, bits, shape)
        tables.append(ss.Table([variables[i] for i in scope], np.maximum(values, values.max() == 0)))
    return ss.MarkovNet(*tables), variables


def enumerated(model, variables, codes):
    """The logarithm of the sum over all states with these codes, and every marginal."""
    cards, place = [v.num_states for v in variables], {v: i for i, v in enumerate(variables)}
    logs = np.zeros(cards)
    with np.errstate(divide="ignore"):
        for factor in model.factors:
            axes = [place[v] for v in factor.scope]
            shape = [cards[i] if i in axes else 1 for i in range(len(cards))]
            logs = logs + np.log(np.transpose(factor.values, np.argsort(axes)).reshape(shape))
    for i, code in codes.items():
        logs = np.where(np.arange(cards[i]).reshape([-1 if j == i else 1 for j in range(6)]) == code, logs, -np.inf)
    top = logs.max()
    whole = np.exp(logs - top)
    totals = [whole.sum(axis=tuple(j for j in range(6) if j != i)) for i in range(6)]
    return top + np.log(whole.sum()), [total / total.sum() for total in totals]


def programs(engine, observed):
    """The program of all marginals with these variables observed."""
    tables = engine.prepared
    pattern = tables.compiler.planner.pattern(Evidence(codes=dict.fromkeys(observed, 0)))
    return tables.compiler.all_marginals(pattern)[1].program


def joint_program(engine):
    """The program of the joint of one variable, with nothing observed."""
    compiler = engine.prepared.compiler
    return compiler.question("joint", (0,), compiler.planner.pattern(Evidence())).program


@pytest.mark.parametrize("bits", [0.0, 90.0, 190.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("_sliced")
def test_answers_are_those_of_enumeration(seed, bits):
    model, variables = random_model(seed, bits)
    engines = [ss.prepare(model, method=ss.CliqueTree(threads=threads)) for threads in (1, 3)]
    assert programs(engines[0], ()).slices
    rng = np.random.default_rng(seed)
    last = int(rng.integers(6))
    for codes in ({}, {}, *({last: code} for code in (0, 1, 1, 0))):
        log_total, expected = enumerated(model, variables, codes)
        if log_total == -np.inf:
            continue
        given = {variables[i].name: variables[i].states[code] for i, code in codes.items()}
        found = [engine.marginals(given=given) for engine in engines]
        np.testing.assert_allclose(found[0].log_partition, log_total, rtol=CLOSE)
        for variable, right in zip(variables, expected, strict=True):
            values = [each[variable.name].values for each in found]
            np.testing.assert_allclose(values[0], right, rtol=0, atol=CLOSE)
            np.testing.assert_array_equal(*values)
        if codes:
            joint = engines[0].query([variables[(last + 1) % 6]], given=given)
            np.testing.assert_allclose(joint.values, expected[(last + 1) % 6], rtol=0, atol=CLOSE)
            np.testing.assert_allclose(joint.log_partition, log_total, rtol=CLOSE)


@pytest.mark.usefixtures("_sliced")
def test_a_workspace_has_no_place_for_what_is_sliced():
    model, _ = random_model(1)
    program = programs(ss.prepare(model), ())
    sizes = program.contraction.sizes
    sliced = {int(program.contraction.rows[each.first, 0]) for each in program.slices}
    assert sliced
    gap = program.whole - program.size - sum(sizes[t] for t in sliced)
    assert 0 <= gap < LINE_ENTRIES * len(sliced)
    for each in program.slices:
        assert program.contraction.rows[each.second, 1:].tolist().count(program.contraction.rows[each.first, 0]) == 1
    assert_apart(program)


def assert_apart(program):
    """No tensor is written where another one is still to be read, nor where a run looks for it afterward."""
    made = program.contraction
    sizes, offsets, num = made.sizes.astype(int), program.offsets, len(made.rows)
    last = {int(t): num for t in (*range(made.num_inputs + 1), *made.roots, *made.reads)}
    if made.num_forward < num:
        last |= {int(t): num for t in made.rows[: made.num_forward, 0]}  # for the next run
    for number, row in enumerate(made.rows.tolist()):
        last |= {t: max(last.get(t, 0), number) for t in row}
    for each in program.slices:
        last |= {t: max(last[t], each.second) for t in made.rows[each.first, 1:].tolist()}
    for number, (d, *_) in enumerate(made.rows.tolist()):
        begun = {*range(made.num_inputs + 1), *made.rows[:number, 0].tolist()}
        for t in begun:
            is_apart = offsets[t] + sizes[t] <= offsets[d] or offsets[d] + sizes[d] <= offsets[t]
            assert is_apart or last[t] < number


@pytest.mark.parametrize("seed", range(3))
def test_large_results_of_the_reverse_sweep_share_their_places(seed, monkeypatch):
    monkeypatch.setattr(costs, "FACTORS_AT_ONCE", -1)
    model, _ = random_model(seed)
    apart = programs(ss.prepare(model), ())
    monkeypatch.setattr(costs, "ENTRIES_FOR_SHARED_PLACES", 0)
    monkeypatch.setattr(costs, "ENTRIES_WITH_SHARED_PLACES", 1)
    model.problem().kept.clear()
    program = programs(ss.prepare(model), ())
    assert program.is_shared
    assert not apart.is_shared
    assert program.size < apart.size
    assert_apart(program)
    assert_apart(apart)


@pytest.mark.parametrize("seed", range(3))
def test_large_results_of_a_single_sweep_share_their_places(seed, monkeypatch):
    monkeypatch.setattr(costs, "FACTORS_AT_ONCE", -1)
    model, _ = random_model(seed)
    apart = joint_program(ss.prepare(model))
    monkeypatch.setattr(costs, "ENTRIES_FOR_PASSING", 0)
    monkeypatch.setattr(costs, "ENTRIES_WITH_SHARED_PLACES", 1)
    model.problem().kept.clear()
    program = joint_program(ss.prepare(model))
    assert program.is_shared
    assert not apart.is_shared
    assert program.size < apart.size
    assert_apart(program)


def test_a_query_whose_tables_together_are_beyond_the_memory(monkeypatch):
    """Ten positive findings over forty causes: the joint of two of them, against a method that holds one table."""
    rng = np.random.default_rng(0)
    causes = [ss.Discrete(f"c{i}") for i in range(40)]
    cpds = [ss.TableCPD(cause, [0.9, 0.1]) for cause in causes]
    for j in range(10):
        strengths = {causes[i]: float(rng.uniform(0.1, 0.9)) for i in rng.permutation(40)[:25]}
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{j}"), strengths, leak=0.01))
    net, given = ss.BayesNet(cpds), {f"f{j}": 1 for j in range(10)}
    right = ss.query(net, ["c3", "c30"], given=given, method=ss.VariableElimination())
    memory = 1_000_000
    with pytest.raises(ss.TooLarge):
        ss.query(net, ["c3", "c30"], given=given, method=ss.CliqueTree(memory=memory))
    monkeypatch.setattr(costs, "ENTRIES_FOR_PASSING", 0)
    found = ss.query(net, ["c3", "c30"], given=given, method=ss.CliqueTree(memory=memory))
    np.testing.assert_allclose(found.values, right.values, rtol=1e-12)
    assert found.log_partition == pytest.approx(right.log_partition, rel=1e-12)


def test_small_results_are_not_sliced():
    model, _ = random_model(0)
    assert programs(ss.prepare(model), ()).slices == ()
