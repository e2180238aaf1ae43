"""The most probable completions of rows, against enumeration and against one question a row."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.completion import complete_one_by_one, complete_rows
from sepset.inference.evidencerows import EvidenceRows, Workers
from support.blocks import in_blocks
from support.random_models import structured_net, table_net
from support.tolerances import TIE


def engine_of(model, **settings):
    return ss.CliqueTree(**settings).prepare(model.problem())


def rows_of(codes):
    codes = np.asarray(codes)
    return EvidenceRows(tuple(range(codes.shape[1])), codes.astype(np.int32), (), np.zeros((len(codes), 0)))


class Modes(NamedTuple):
    codes: np.ndarray
    log_value: np.ndarray


def row_modes(engine, codes, threads=2):
    found = complete_rows(engine, rows_of(codes), Workers(threads))
    return Modes(found.rows.codes, found.log_value)


def holes(rng, net, num_rows):
    """Rows with holes, some of them impossible where the network has zeros."""
    codes = rng.integers(0, [v.num_states for v in net.variables], (num_rows, len(net.variables)))
    codes[rng.random(codes.shape) < 0.6] = -1
    return codes.astype(np.int64)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_completion_is_more_probable(seed, structured):
    rng = np.random.default_rng(seed)
    case = structured_net(rng) if structured else table_net(rng)
    joint = oracle.joint(case.factors, case.cards)
    codes = holes(rng, case.model, 10)
    filled, logs = row_modes(engine_of(case.model), codes)
    for row, full, log in zip(codes, filled, logs, strict=True):
        best = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in row)].max()
        if best == 0:
            assert log == -np.inf
        else:
            assert (full[row >= 0] == row[row >= 0]).all()
            assert log == pytest.approx(np.log(best), abs=TIE)
            assert np.log(joint[tuple(full)]) == pytest.approx(np.log(best), abs=TIE)


def test_few_rows_at_a_time_are_the_same(monkeypatch):
    net = ss.BayesNet.random(ss.DAG.parse("a -> b -> c; a -> c -> d"), states=3, seed=1)
    codes = holes(np.random.default_rng(0), net, 500)
    engine = engine_of(net)
    filled, logs = row_modes(engine, codes)
    monkeypatch.setattr(costs, "SHORTEST_TASK_SECONDS", 0.0)
    monkeypatch.setattr(costs, "LONGEST_TASK_SECONDS", 0.0)
    for threads in (1, 3):
        parts = row_modes(engine, codes, threads)
        assert (parts[0] == filled).all()
        assert (parts[1] == logs).all()
    done = []
    alone = complete_one_by_one(engine, rows_of(codes[:50]), Workers(report=lambda *rows: done.append(rows)))
    assert alone.log_value == pytest.approx(logs[:50], abs=TIE)
    assert (alone.rows.codes == filled[:50]).all()
    assert done[-1] == (50, 50)


@in_blocks("seed", range(20))
def test_ties_go_to_the_first_state_of_the_variable_eliminated_last(seed):
    """Numbers from a few powers of two make many maxima, exactly equal."""
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"v{i}", int(rng.integers(2, 4))) for i in range(5)]
    scopes = [rng.choice(5, int(rng.integers(1, 4)), replace=False).tolist() for _ in range(5)]
    factors = [(s, rng.choice([0.5, 1.0, 2.0], [variables[v].num_states for v in s])) for s in scopes]
    net = ss.MarkovNet(*(ss.Table([variables[v] for v in s], t) for s, t in factors), variables=variables)
    joint = np.ones([v.num_states for v in variables])
    for scope, table in factors:
        order = np.argsort(scope)
        shape = [variables[v].num_states if v in scope else 1 for v in range(5)]
        joint = joint * table.transpose(order).reshape(shape)
    engine = engine_of(net)
    last_first = engine.plan((), ()).positions.tolist()[::-1]
    codes = holes(rng, net, 12)
    filled, _ = row_modes(engine, codes)
    for row, full in zip(codes, filled, strict=True):
        allowed = np.ones(joint.shape, bool)
        for v, code in enumerate(row):
            if code >= 0:
                allowed &= np.indices(joint.shape)[v] == code
        best = np.argwhere((joint == joint[allowed].max()) & allowed)
        expected = min(best.tolist(), key=lambda cell: [cell[v] for v in last_first])
        assert full.tolist() == expected


def test_programs_too_large_and_ranges_too_wide_go_row_by_row():
    net = ss.BayesNet.random(ss.DAG.parse("a -> b -> c; a -> c -> d"), states=3, seed=1)
    codes = holes(np.random.default_rng(0), net, 20)
    small = engine_of(net, memory=2000)
    assert small.rows.compiler.modes((0, 1, 2, 3)) is None
    assert (row_modes(small, codes).codes == row_modes(engine_of(net), codes).codes).all()
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    table = np.array([[1.0, 1e-200], [1e-150, 1.0]])
    wide = engine_of(ss.MarkovNet(ss.Table((a, b), table), ss.Table(b, [1e-180, 1.0])))
    found = row_modes(wide, [[-1, 0], [-1, 1], [-1, -1]])
    assert found.codes.tolist() == [[0, 0], [1, 1], [1, 1]]
    assert found.log_value == pytest.approx([np.log(1e-180), 0.0, 0.0])


def test_products_below_the_range_of_floats_are_compared():
    """Six tables of 90 bits on one pair: what is read back multiplies them all."""
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 2)
    tables = [np.array([[2.0**-90, 2.0**-80], [2.0**-85, 2.0**-80], [2.0**-84, 2.0**-82]]) for _ in range(12)]
    engine = engine_of(ss.MarkovNet(*(ss.Table((a, b), t) for t in tables)))
    found = row_modes(engine, [[-1, 0], [-1, 1], [-1, -1], [0, -1]])
    assert found.codes.tolist() == [[2, 0], [0, 1], [0, 1], [0, 1]]
    assert found.log_value == pytest.approx(np.log(2.0) * 12 * np.array([-84.0, -80.0, -80.0, -80.0]))


def test_variables_beyond_the_models_own_are_summed_out():
    net = ss.BayesNet.random(ss.DAG(["a", "b", "c"], [("a", "c"), ("b", "c")]), states=3, seed=3)
    joint = oracle.joint([([v.name for v in c.scope], np.asarray(c.values)) for c in net.cpds], dict.fromkeys("abc", 3))
    problem = replace(net.problem(), num_visible=2)
    assert net.variables.names == ("a", "b", "c")
    found = row_modes(ss.CliqueTree().prepare(problem), [[-1, -1], [1, -1], [-1, 2]])
    both = joint.sum(axis=2)
    places = [np.unravel_index(both.argmax(), (3, 3)), (1, both[1].argmax()), (both[:, 2].argmax(), 2)]
    assert found.codes.tolist() == [list(map(int, place)) for place in places]
    assert found.log_value == pytest.approx([np.log(both[place]) for place in places], abs=TIE)


def test_methods_that_only_maximize_complete_rows_too():
    net = ss.BayesNet.random(ss.DAG.parse("a -> b -> c"), states=3, seed=4)
    codes = holes(np.random.default_rng(1), net, 15)
    plain = complete_rows(ss.inference.BruteForce().prepare(net.problem()), rows_of(codes), Workers())
    assert (plain.rows.codes == row_modes(engine_of(net), codes).codes).all()


def test_products_too_small_for_floats_have_a_largest():
    """A thousand factors of 1e-3: their product is zero in doubles, its logarithm is not."""
    net = ss.BayesNet.random(ss.DAG.parse("; ".join(f"v{i} -> v{i + 1}" for i in range(400))), states=5, seed=2)
    codes = np.full((3, 401), -1)
    codes[1, 200], codes[2] = 3, net.sample(1, 0).matrix()[0]
    filled, logs = row_modes(engine_of(net), codes)
    rows = ss.Dataset.from_codes(net.variables, filled)
    assert net.log_probability(rows) == pytest.approx(logs, rel=1e-12)
    assert logs[0] >= logs[1] >= logs[2]
    assert (filled[2] == codes[2]).all()
    assert filled[1, 200] == 3
    assert logs[0] == pytest.approx(ss.map_assignment(net).log_value, rel=1e-12)


def test_no_rows_no_variables_and_one_state():
    one = ss.BayesNet(ss.TableCPD(ss.Discrete("a", ("only",)), [1.0]))
    assert row_modes(engine_of(one), np.array([[-1], [0]]))[0].tolist() == [[0], [0]]
    assert row_modes(engine_of(one), np.zeros((0, 1)))[0].shape == (0, 1)
    filled, logs = row_modes(engine_of(ss.BayesNet()), np.zeros((2, 0)))
    assert filled.shape == (2, 0)
    assert logs.tolist() == [0.0, 0.0]


def test_ties_go_to_the_first_state():
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 3)
    net = ss.BayesNet(ss.TableCPD(a, [1 / 3] * 3), ss.TableCPD(b, [1 / 3] * 3))
    assert row_modes(engine_of(net), np.array([[-1, -1], [2, -1]]))[0].tolist() == [[0, 0], [2, 0]]
