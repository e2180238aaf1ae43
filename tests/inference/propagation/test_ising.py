"""Messages as ratios: the same as messages of two numbers, at every pass, and exact on forests."""

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import enumerated
from sepset.inference.propagation.ising import IsingPassing, is_ising
from sepset.inference.propagation.linear import LinearPassing, span_of
from sepset.inference.propagation.passing import propagated
from sepset.inference.wiring import Wiring
from sepset.potentials import Potts, over_scopes
from support.blocks import in_blocks


def couplings(rng, pairs, n, *, scale=1.0, order=None):
    """Binary variables in pairs with random weights of equal states and random single values."""
    bit = ss.Discrete.array("bit", n)
    weights, own = scale * rng.normal(size=len(pairs)), scale * rng.normal(size=(n, 2))
    tables = np.einsum("f,xy->fxy", weights, np.eye(2))
    order = range(len(pairs)) if order is None else order
    block = over_scopes([pairs[f] for f in order], tables[list(order)], array=bit, space="log")
    single = over_scopes([[i] for i in range(n)], own, array=bit, space="log")
    return Wiring.of(ss.MarkovNet(single, block).as_written())


def grid(rows, columns):
    cells = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([cells[:, :-1], cells[:, 1:]], axis=-1).reshape(-1, 2)
    return np.concatenate([across, np.stack([cells[:-1], cells[1:]], axis=-1).reshape(-1, 2)]).tolist()


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("schedule", ["sequential", "synchronous", "random", "tree"])
@pytest.mark.parametrize("steps", [1, 4])
def test_ratios_are_those_of_numbers(schedule, precision, steps):
    wiring = couplings(np.random.default_rng(steps), grid(3, 4), 12)
    assert is_ising(wiring, precision)
    until, how = ss.Until(steps=steps, tolerance=None), (wiring, 0.4, schedule)
    ratios = propagated(IsingPassing(*how, precision), wiring, until)
    numbers = propagated(LinearPassing(*how), wiring, until)
    near = 1e-11 if precision == "float64" else 1e-4
    assert ratios.logs == pytest.approx(numbers.logs, abs=near)
    assert ratios.messages == pytest.approx(numbers.messages, abs=near)
    assert ratios.energy() == pytest.approx(numbers.energy(), abs=near)


@in_blocks("seed", range(8))
def test_forests_are_exact(seed):
    rng = np.random.default_rng(seed)
    pairs = [[int(rng.integers(i)), i] if rng.random() < 0.5 else [i, int(rng.integers(i))] for i in range(1, 8)]
    wiring = couplings(rng, [p for p in pairs if rng.random() < 0.9], 8, scale=3.0)
    log_z, marginals = enumerated(wiring)
    found = ss.LoopyBP().propagate(wiring)
    assert isinstance(found.passing, IsingPassing)
    assert found.energy() == pytest.approx(log_z, abs=1e-9)
    for i, expected in enumerate(marginals):
        assert found.variable(i) == pytest.approx(expected, abs=1e-9)


def test_strong_weights_keep_small_beliefs():
    wiring = couplings(np.random.default_rng(0), grid(2, 2)[:3], 4, scale=20.0)
    assert is_ising(wiring, "float64")
    log_z, marginals = enumerated(wiring)
    found = ss.LoopyBP().propagate(wiring)
    assert found.energy() == pytest.approx(log_z, rel=1e-12)
    logs = np.log(np.concatenate(marginals))
    assert found.logs == pytest.approx(logs, rel=1e-9, abs=1e-9)


def test_what_is_zero_or_extreme_is_left_to_two_numbers_or_logarithms():
    bit = ss.Discrete.array("bit", 2)
    pair = over_scopes([[0, 1]], Potts(150.0), array=bit)
    wiring = Wiring.of(ss.MarkovNet(pair).as_written())
    assert is_ising(wiring, "float64")
    assert not is_ising(wiring, "float32")
    assert span_of(wiring, 200.0) == 150.0
    zero = over_scopes([[0]], np.array([[0.0, 1.0]]), array=bit)
    assert not is_ising(Wiring.of(ss.MarkovNet(pair, zero).as_written()), "float64")


def test_beliefs_do_not_depend_on_the_order_of_factors():
    pairs, rng = grid(3, 3), np.random.default_rng(5)
    order = rng.permutation(len(pairs)).tolist()
    found = [
        ss.LoopyBP(0.5, "synchronous", until=30).propagate(couplings(np.random.default_rng(6), pairs, 9, order=each))
        for each in (None, order)
    ]
    assert found[0].logs == pytest.approx(found[1].logs, abs=1e-12)
