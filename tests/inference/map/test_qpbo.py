"""Roof duality: bounds and persistent states of any binary model in pairs."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import AssignmentTask, assign
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.map.qpbo import roof_dual
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.wired import local_polytope, random_binary


@in_blocks("seed", range(300))
def test_bounds_and_persistent_states_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    task = AssignmentTask(random_binary(rng, zeros=0.1 * (seed % 2), integer=seed % 3 == 0), Evidence(), rng=rng)
    wiring = task.wiring
    joint = [np.array(c, np.int64) for c in itertools.product(*(range(int(c)) for c in wiring.plugs.cards))]
    values = [wiring.log_value(codes) for codes in joint]
    if max(values) == -np.inf:
        return
    found = assign(ss.QPBO(), task)
    assert found.log_values[0] <= max(values) + 1e-9
    assert found.bound >= max(values) - 1e-9
    assert found.certificate.check()
    best = [codes for codes, value in zip(joint, values, strict=True) if value >= max(values) - 1e-9]
    kept = found.persistent
    assert any((codes[kept] == found.codes[0][kept]).all() for codes in best)
    for codes, value in zip(joint, values, strict=True):
        assert wiring.log_value(np.where(kept, found.codes[0], codes)) >= value - 1e-9  # never worse
    if found.guarantee is ss.Guarantee.EXACT:
        assert found.log_values[0] == pytest.approx(max(values), abs=1e-9)


@in_blocks("seed", range(60))
def test_the_bound_is_the_linear_program_over_the_local_polytope(seed):
    rng = np.random.default_rng(seed)
    wiring = AssignmentTask(random_binary(rng, one_state=0.0), Evidence()).wiring
    energy = BinaryEnergy.of(wiring, ss.QPBO())
    assert roof_dual(energy).least == pytest.approx(-local_polytope(wiring), abs=1e-7)


def test_improvements_never_hurt_and_are_seeded():
    rng = np.random.default_rng(5)
    spin = ss.Discrete.array("spin", (6, 6), states=(-1, 1))
    net = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=rng.normal(size=(6, 6)) * 0.1)
    exact = ss.map_assignment(net)
    values = [ss.map_assignment(net, method=ss.QPBO(improvements=k), seed=1).log_value for k in (0, 3, 30)]
    assert values == sorted(values)
    assert values[-1] <= exact.log_value + 1e-9
    again = ss.map_assignment(net, method=ss.QPBO(improvements=30), seed=1)
    assert again.log_value == values[-1]
    assert all(exact.assignment[name] == state for name, state in again.persistent.items())


def test_settings_are_checked():
    with pytest.raises(ss.errors.ArgumentError, match="improvements"):
        ss.QPBO(improvements=-1)
