"""Strong local maxima: the sets that they cover, and exhaustive changes of these."""

import itertools

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import spin_glass
from sepset.inference.propagation.neighborhoods import StrongLocalMaximum, cycles_of
from sepset.inference.wiring import Wiring
from sepset.potentials import Potts, over_scopes
from support.blocks import in_blocks

GRID = ss.Discrete.array("x", (4, 4))
ROW, COLUMN = [(0, c) for c in range(4)], [(r, 0) for r in range(4)]
COMB = [(0, c) for c in range(4)] + [(r, c) for c in (1, 3) for r in range(1, 4)]
LOOP = [(0, 0), (0, 1), (1, 1), (1, 0)]
TWO_ROWS = [(r, c) for r in (0, 2) for c in range(4)]
LOOP_AND_L = [*LOOP, *((3, c) for c in range(4)), *((r, 3) for r in range(3))]


def names(cells):
    return [f"x[{r},{c}]" for r, c in cells]


@pytest.mark.parametrize(
    ("cells", "cycles"),
    [(ROW, [0]), (COLUMN, [0]), (COMB, [0]), (LOOP, [1]), (TWO_ROWS, [0, 0]), (LOOP_AND_L, [0, 1])],
)
def test_subsets_of_a_grid(cells, cycles):
    wiring = Wiring.of(ss.MarkovNet.potts(GRID, 1.0).as_written())
    chosen = np.zeros(16, bool)
    chosen[[4 * r + c for r, c in cells]] = True
    assert sorted(cycles_of(wiring, chosen).tolist()) == cycles
    assert cycles_of(wiring, np.ones(16, bool)).tolist() == [9]
    assert cycles_of(wiring, np.zeros(16, bool)).tolist() == []


def test_subsets_of_larger_factors():
    v = {n: ss.Discrete(n) for n in "ABCDEF"}
    scopes = ["ABC", "BCD", "BDF", "BE", "DE"]
    tables = [ss.Table([v[n] for n in scope], np.ones((2,) * len(scope))) for scope in scopes]
    wiring = Wiring.of(ss.MarkovNet(*tables).as_written())
    place = {wiring.name(i): i for i in range(6)}

    def induced(chosen):
        mask = np.zeros(6, bool)
        mask[[place[n] for n in chosen]] = True
        return sorted(cycles_of(wiring, mask).tolist())

    assert induced("BC") == [1]
    assert induced("CE") == [0, 0]
    assert induced("BCD") == [2]  # nine links between three variables and five factors


def local_maximum(seed):
    rng = np.random.default_rng(seed)
    couplings = 0.8 * rng.normal(size=24)
    net = ss.MarkovNet.ising(ss.Discrete.array("x", (4, 4), states=(-1, 1)), couplings, field=rng.normal(size=(4, 4)))
    return net, ss.map_assignment(net, method=ss.LoopyBP())


def test_no_covered_change_of_a_grid_is_better():
    certified = 0
    for seed in range(12):
        net, found = local_maximum(seed)
        if not isinstance(found.certificate, StrongLocalMaximum):
            continue
        certified += 1
        assert found.certificate.check()
        wiring = Wiring.of(net.as_written())
        for cells in (ROW, COLUMN, COMB, LOOP, TWO_ROWS, LOOP_AND_L):
            assert found.certificate.covers(names(cells))
            places = np.array([4 * r + c for r, c in cells])
            if len(places) > 8 and certified > 1:
                continue
            codes = found.codes.copy()
            for change in itertools.product((0, 1), repeat=len(places)):
                codes[places] = change
                assert wiring.log_value(codes) <= found.log_value + 1e-6
        assert not found.certificate.covers(names(itertools.product(range(4), range(2))))
    assert certified >= 6


@in_blocks("seed", range(40))
def test_single_loops_are_proved_to_be_optimal(seed):
    rng = np.random.default_rng(seed)
    n, states = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    ring = ss.Discrete.array("r", n, states=states)
    tables = np.exp(rng.normal(size=(n, states, states)))
    net = ss.MarkovNet(over_scopes([[i, (i + 1) % n] for i in range(n)], tables, array=ring))
    found, exact = ss.map_assignment(net, method=ss.LoopyBP()), ss.map_assignment(net)
    assert found.log_value <= exact.log_value + 1e-9 <= found.bound + 2e-9
    assert found.certificate.check()
    if found.info["locally_optimal"]:
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT
        assert found.log_value == pytest.approx(exact.log_value)


def test_other_weights_have_no_such_certificate():
    net = ss.MarkovNet.potts(GRID, 0.4, log_values=np.random.default_rng(0).normal(size=(4, 4, 2)))
    found = ss.map_assignment(net, method=ss.LoopyBP(rho=1.5))
    assert not isinstance(found.certificate, StrongLocalMaximum)
    wide = ss.MarkovNet(over_scopes([[0, 1], [1, 2]], Potts(1.0), array=ss.Discrete.array("y", 3)))
    assert ss.map_assignment(wide, method=ss.LoopyBP()).guarantees["assignment"] is ss.Guarantee.EXACT


def test_certificates_of_short_numbers_hold():
    for seed in range(6):
        net = spin_glass(np.random.default_rng(seed), 3, 3, 0.7)
        found = ss.map_assignment(net, method=ss.LoopyBP(precision="float32"))
        assert found.certificate is None or found.certificate.check()
