"""Messages as numbers beside messages as logarithms."""

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import enumerated, random_forest, spin_glass
from sepset.errors import NotApplicable
from sepset.inference.propagation.ising import IsingPassing
from sepset.inference.propagation.linear import LinearPassing, is_bounded, log_ranges
from sepset.inference.wiring import Wiring
from sepset.potentials import Parity, Potts, over_scopes
from support.blocks import in_blocks
from support.wired import random_pairs


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("schedule", ["sequential", "synchronous", "random", "tree"])
@in_blocks("seed", range(6))
def test_beliefs_are_those_of_logarithms(seed, schedule, precision):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, potentials=[Potts(0.8), Potts(-1.2)], tables=seed % 2 == 0)
    logs = ss.LoopyBP(0.3, domain="log").propagate(wiring)
    found = ss.LoopyBP(0.3, schedule, domain="linear", precision=precision).propagate(wiring)
    assert isinstance(found.passing, LinearPassing | IsingPassing)
    near = 1e-7 if precision == "float64" else 1e-3
    assert found.logs == pytest.approx(logs.logs, abs=near)
    assert found.energy() == pytest.approx(logs.energy(), abs=near)
    for f in range(wiring.num_factors):
        assert found.factor(f) == pytest.approx(logs.factor(f), abs=near)


@in_blocks("seed", range(25))
def test_forests_of_any_tables_are_exact(seed):
    net = random_forest(np.random.default_rng(seed))
    wiring = Wiring.of(net.as_written())
    if not is_bounded(wiring, "float64"):
        with pytest.raises(NotApplicable, match=r"domain='log'"):
            ss.LoopyBP(domain="linear").propagate(wiring)
        return
    log_z, marginals = enumerated(wiring)
    found = ss.LoopyBP(domain="linear").propagate(wiring)
    assert found.energy() == pytest.approx(log_z, abs=1e-9)
    for i, expected in enumerate(marginals):
        assert found.variable(i) == pytest.approx(expected, abs=1e-9)


def test_extreme_and_impossible_values_are_left_to_logarithms():
    bit = ss.Discrete.array("bit", 3)
    for block in (Potts(400.0), Parity()):
        wiring = Wiring.of(ss.MarkovNet(over_scopes([[0, 1], [1, 2]], block, array=bit)).as_written())
        assert not is_bounded(wiring, "float64")
    tables = over_scopes([[0, 1], [1, 2]], np.array([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [5.0, 1.0]]]), array=bit)
    wiring = Wiring.of(ss.MarkovNet(tables).as_written())
    assert log_ranges(wiring).tolist()[1] == np.inf
    strong = ss.MarkovNet(over_scopes([[0, 1], [1, 2]], Potts(400.0), array=bit))
    assert ss.log_partition(strong, method=ss.LoopyBP()).value == pytest.approx(800 + np.log(2.0))


def test_observed_states_are_zeros_of_single_variables():
    net = spin_glass(np.random.default_rng(2), 4, 4)
    given = {"spin[1,1]": ss.Likelihood([0.0, 1.0])}
    for domain in ("log", "linear"):
        found = ss.marginals(net, given=given, method=ss.LoopyBP(domain=domain))
        assert found["spin[1,1]"].values.tolist() == [0.0, 1.0]
        same = ss.marginals(net, given={"spin[1,1]": 1}, method=ss.LoopyBP())
        assert found["spin[1,2]"].values == pytest.approx(same["spin[1,2]"].values, abs=1e-7)
        assert found.log_partition == pytest.approx(same.log_partition, abs=1e-7)


@pytest.mark.parametrize(("num", "states"), [(1200, 2), (400, 10)])
def test_variables_of_many_factors_are_left_to_logarithms(num, states):
    rng = np.random.default_rng(0)
    tables = 1.0 + 0.01 * rng.random((num, states, states))
    leaf = ss.Discrete.array("x", num + 1, states=states)
    wiring = Wiring.of(ss.MarkovNet(over_scopes([[0, i + 1] for i in range(num)], tables, array=leaf)).as_written())
    logs = np.log(tables.sum(axis=2)).sum(axis=0)
    expected = np.exp(logs - logs.max())
    for precision in ("float64", "float32"):
        assert not is_bounded(wiring, precision)
        near = 1e-9 if precision == "float64" else 1e-5
        found = ss.LoopyBP(precision=precision).propagate(wiring)
        assert found.variable(0) == pytest.approx(expected / expected.sum(), abs=near)


def test_products_of_many_messages_meet_in_one_table():
    rng = np.random.default_rng(1)
    tables, middle = 1.0 + 0.01 * rng.random((1200, 2, 2)), 1.0 + rng.random((2, 2, 2))
    bit = ss.Discrete.array("x", 1203)
    pairs = over_scopes([[i % 2, i + 3] for i in range(1200)], tables, array=bit)
    wiring = Wiring.of(ss.MarkovNet(pairs, over_scopes([[0, 1, 2]], middle[None], array=bit)).as_written())
    sums = np.log(tables.sum(axis=2))
    logs = np.log(middle) + sums[::2].sum(axis=0)[:, None, None] + sums[1::2].sum(axis=0)[:, None]
    found = ss.LoopyBP().propagate(wiring)
    assert found.energy() == pytest.approx(np.logaddexp.reduce(logs, axis=None), abs=1e-8)


@pytest.mark.parametrize("offset", [-1000.0, 1000.0, 100.0])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_all_log_values_may_be_large_together(offset, precision):
    bit = ss.Discrete.array("b", 3)
    tables = offset + np.array([[[1.0, 2.0], [3.0, 1.0]], [[0.5, 0.0], [1.0, 2.0]]])
    wiring = Wiring.of(ss.MarkovNet(over_scopes([[0, 1], [1, 2]], tables, array=bit, space="log")).as_written())
    log_z, marginals = enumerated(wiring)
    found = ss.LoopyBP(precision=precision).propagate(wiring)
    assert found.energy() == pytest.approx(log_z, abs=1e-4)
    for i, expected in enumerate(marginals):
        assert found.variable(i) == pytest.approx(expected, abs=1e-5)
