"""The most probable completions of rows, against enumeration and against one question a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.inference.rows import modes as rowmodes
from sepset.inference.rows.modes import row_modes
from support.random_models import structured_net, table_net
from support.tolerances import TIE


def engine_of(model):
    return ss.CliqueTree().prepare(model.problem())


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
    codes = holes(np.random.default_rng(0), net, 50)
    engine = engine_of(net)
    filled, logs = row_modes(engine, codes)
    monkeypatch.setattr(rowmodes, "HELD", 200)
    parts = row_modes(engine, codes)
    assert (parts[0] == filled).all()
    assert (parts[1] == logs).all()
    monkeypatch.setattr(rowmodes, "HELD", 1)
    _, alone = row_modes(engine, codes)
    assert alone == pytest.approx(logs, abs=TIE)


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
