"""Assignments by max-product: forests, frustrated triangles, codes, local optimality."""

import itertools

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import random_forest, spin_glass
from sepset.inference.propagation import maxproduct
from sepset.inference.propagation.maxproduct import decoded_codes, improved, loss
from sepset.inference.propagation.passing import BUDGET, Passing, propagated
from sepset.inference.wiring import Wiring
from sepset.potentials import Parity, over_scopes
from support.blocks import in_blocks
from support.wired import best_value


def triangle(unequal, equal):
    a, b, c = (ss.Discrete(n) for n in "abc")
    table = [[equal, unequal], [unequal, equal]]
    return ss.MarkovNet(*(ss.Table([u, v], table) for u, v in [(a, b), (b, c), (a, c)]))


@in_blocks("seed", range(60))
def test_forests_are_exact_with_ties_and_proved(seed):
    rng = np.random.default_rng(seed)
    net = random_forest(rng, zeros=0.3 * (seed % 3 == 0))
    if seed % 4 == 1:  # without differences between states there are ties
        net = ss.MarkovNet(*(f for f in net.factors if len(f.scope) > 1), variables=net.variables)
    best = best_value(wiring := Wiring.of(net.as_written()))
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            ss.map_assignment(net, method=ss.LoopyBP())
        return
    found = ss.map_assignment(net, method=ss.LoopyBP())
    assert found.log_value == pytest.approx(best, abs=1e-9)
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT
    assert found.certificate.check()
    assert wiring.log_value(found.codes) == pytest.approx(best, abs=1e-9)
    assert found.info["locally_optimal"]


def test_the_misconception_loop_is_decoded():
    found = ss.map_assignment(ss.datasets.load("misconception"), method=ss.LoopyBP())
    assert found.log_value == pytest.approx(np.log(5_000_000))
    assert dict(found.assignment) == {"Alice": "a0", "Bob": "b1", "Charles": "c1", "Debbie": "d0"}
    assert not found.info["locally_optimal"]  # Debbie and Charles disagree: the beliefs of this loop are tied


def test_a_frustrated_triangle_has_no_locally_optimal_assignment():
    found = ss.map_assignment(triangle(2.0, 1.0), method=ss.LoopyBP())
    assert found.log_value == pytest.approx(np.log(4.0))  # exercise 13.11: the best of all, yet not of each factor
    assert not found.info["locally_optimal"]
    assert found.guarantees["assignment"] is ss.Guarantee.LOCAL_OPTIMUM


def test_a_triangle_that_agrees_has_two():
    net = triangle(1.0, 2.0)  # exercise 13.12
    found = ss.map_assignment(net, method=ss.LoopyBP())
    assert found.log_value == pytest.approx(np.log(8.0))
    assert found.info["locally_optimal"]
    beliefs = propagated(Passing(0.5, "sequential", True), Wiring.of(net.as_written()), BUDGET)
    optimal = [x for x in itertools.product((0, 1), repeat=3) if loss(beliefs, np.array(x)) < 1e-6]
    assert optimal == [(0, 0, 0), (1, 1, 1)]


@in_blocks("seed", range(20))
def test_assignments_are_local_optima_and_a_start_is_never_worse(seed):
    net = spin_glass(np.random.default_rng(seed), 3, 3, 1.5)
    wiring = Wiring.of(net.as_written())
    found = ss.map_assignment(net, method=ss.LoopyBP(until=50))
    assert found.log_value <= best_value(wiring) + 1e-9
    assert improved(wiring, found.codes).tolist() == found.codes.tolist()
    again = ss.map_assignment(net, method=ss.LoopyBP(until=1), start=ss.map_assignment(net))
    assert again.log_value == pytest.approx(best_value(wiring))


def test_a_code_is_decoded_to_its_word():
    bit = ss.Discrete.array("bit", 6)
    net = ss.MarkovNet(over_scopes([[0, 1, 3], [1, 2, 4], [0, 2, 5]], Parity(), array=bit))
    received = [0, 0, 0, 1, 0, 1]
    given = {f"bit[{i}]": ss.Likelihood([0.9, 0.1] if r == 0 else [0.1, 0.9]) for i, r in enumerate(received)}
    assert ss.map_assignment(net, given=given, method=ss.LoopyBP())[bit].tolist() == [1, 0, 0, 1, 0, 1]


def test_decoding_assigns_variables_without_factors():
    net = ss.MarkovNet(ss.Table([ss.Discrete("a", 3)], [1, 5, 2]), variables=[ss.Discrete("b")])
    beliefs = propagated(Passing(0.0, "synchronous", True), Wiring.of(net.as_written()), BUDGET)
    assert decoded_codes(beliefs).tolist() in ([1, 0], [0, 1])
    assert ss.map_assignment(net, method=ss.LoopyBP()).log_value == pytest.approx(np.log(5.0))


@pytest.mark.parametrize(("until", "tries"), [(ss.Until(seconds=0.0), 0), (3, 1)])
def test_no_more_is_decoded_when_the_time_is_over(until, tries, monkeypatch):
    calls = []
    monkeypatch.setattr(maxproduct, "_random_decodings", lambda *_: calls.append(1) or [])
    net = spin_glass(np.random.default_rng(0), 6, 6, 2.0)
    assert np.isfinite(ss.map_assignment(net, method=ss.LoopyBP(until=until)).log_value)
    assert len(calls) == tries
