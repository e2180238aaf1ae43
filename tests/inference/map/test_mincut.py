"""Minimum cuts give best assignments of submodular binary models, with proofs that can be checked."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import AssignmentTask, assign
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.map.maxflow import FlowGraph
from sepset.inference.wiring import Wiring
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.wired import best_value, random_binary


@in_blocks("seed", range(300))
def test_cuts_are_best_assignments(seed):
    rng = np.random.default_rng(seed)
    problem = random_binary(rng, submodular=True, zeros=0.15 * (seed % 2), integer=seed % 3 == 0)
    task = AssignmentTask(problem, Evidence())
    if BinaryEnergy.of(task.wiring, ss.MinCut()).submodular() is None:
        with pytest.raises(ss.errors.NotApplicable, match="Use QPBO"):
            assign(ss.MinCut(), task)
        return
    best = best_value(task.wiring)
    if best == -np.inf:
        with pytest.raises(ss.errors.ImpossibleEvidence):
            assign(ss.MinCut(), task)
        return
    found = assign(ss.MinCut(), task)
    assert found.log_values[0] == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-9)
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate.check()


def test_the_example_of_the_book_has_energy_six():
    a = [ss.Discrete(f"x{i}") for i in range(1, 5)]
    nodes = {a[0]: [7, 0], a[1]: [0, 2], a[2]: [0, 1], a[3]: [0, 6]}
    weights = {(0, 1): 6, (1, 2): 6, (2, 3): 2, (0, 3): 1}
    edges = {(a[i], a[j]): [[0, w], [w, 0]] for (i, j), w in weights.items()}
    found = ss.map_assignment(ss.MarkovNet.pairwise_energies(nodes, edges), method=ss.MinCut())
    assert (list(found.assignment.values()), found.log_value) == ([1, 1, 1, 0], -6.0)


def test_states_are_exchanged_where_that_helps():
    rng = np.random.default_rng(2)
    spin = ss.Discrete.array("spin", (5, 6), states=(-1, 1))
    net = ss.MarkovNet.ising(spin, -0.7, field=rng.normal(size=(5, 6)))  # a checkerboard of kinds
    found, exact = ss.map_assignment(net, method=ss.MinCut()), ss.map_assignment(net)
    assert found.log_value == pytest.approx(exact.log_value)
    np.testing.assert_array_equal(found[spin], exact[spin])


def test_observed_pixels_and_a_picture():
    rng = np.random.default_rng(3)
    pixel = ss.Discrete.array("pixel", (9, 9))
    net = ss.MarkovNet.potts(pixel, 0.6, log_values=rng.normal(size=(9, 9, 2)))
    seen = {pixel[4, 4]: 1, pixel[0, 0]: 0, pixel[8, 8]: ss.Likelihood([0.2, 0.9])}
    found, exact = ss.map_assignment(net, given=seen, method=ss.MinCut()), ss.map_assignment(net, given=seen)
    assert found.log_value == pytest.approx(exact.log_value)
    assert dict(found.persistent) == dict(found.assignment)


def test_frustrated_models_name_a_factor():
    a, b, c = (ss.Discrete(n) for n in "abc")
    apart = [[1, 0], [0, 1]]
    net = ss.MarkovNet.pairwise_energies({}, {(a, b): apart, (b, c): apart, (a, c): apart})
    with pytest.raises(ss.errors.NotApplicable, match="factor 0 favors unequal states of 'a' and 'b'"):
        ss.map_assignment(net, method=ss.MinCut())


def test_a_false_proof_is_found_out():
    net = ss.MarkovNet.pairwise_energies({ss.Discrete("a"): [1, 3]}, {})
    energy = BinaryEnergy.of(Wiring.of(net.problem()), ss.MinCut())
    from sepset.inference.map.mincut import flow_proves

    assert flow_proves(energy, 1.0, 0.0)
    assert not flow_proves(energy, 0.5, 0.0)
    assert not flow_proves(energy, 0.5, -0.5)
    assert isinstance(FlowGraph(0, [], forward=[], backward=[], from_source=[], to_sink=[]).min_cut().value, float)


@pytest.mark.parametrize("method", [ss.MinCut(), ss.QPBO(), ss.inference.AutomaticSearch()])
def test_cuts_that_take_costs_for_rounding_are_not_exact(method):
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.MarkovNet.pairwise_energies({b: [0.25, 0.0]}, {(a, b): [[1e12, 1e12], [0.0, 0.5]]})
    found = ss.map_assignment(net, method=method)
    assert found.bound >= -0.25
    assert found.guarantees["assignment"] is (
        ss.Guarantee.EXACT if found.log_value == -0.25 else ss.Guarantee.HEURISTIC
    )


@in_blocks("seed", range(20))
def test_proofs_hold_whatever_is_added_to_the_log_values_of_a_variable(seed):
    """A constant of one variable changes every value, and no cut."""
    rng = np.random.default_rng(seed)
    pixel = ss.Discrete.array("pixel", (3, 3))
    logs = rng.normal(size=(9, 2)) + rng.choice([0.0, 1e8, -1e8, 1e5], size=(9, 1))
    alone = ss.factors.FactorBlock(np.arange(9)[:, None], (2,), values=logs, space="log")
    pairs = ss.potentials.pairwise(pixel.grid_edges(), ss.potentials.Potts(abs(rng.normal())))
    found = ss.map_assignment(ss.MarkovNet(alone, pairs, variables=[pixel]), method=ss.MinCut())
    assert found.certificate.check()
