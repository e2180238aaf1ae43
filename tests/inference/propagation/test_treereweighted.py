"""Tree-reweighted message passing: upper bounds beside enumeration."""

from types import SimpleNamespace

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import enumerated, random_forest, spin_glass
from sepset.inference.propagation import treereweighted
from sepset.inference.propagation.passing import Passing, propagated
from sepset.inference.propagation.treeweights import edge_probabilities
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value, random_pairs


@in_blocks("seed", range(40))
def test_the_bound_holds_before_and_after_convergence(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, tables=seed % 2 == 0, zeros=0.2 * (seed % 4 == 0))
    exact, _ = enumerated(wiring)
    passing, bounds = Passing(0.3, "sequential", False, edge_probabilities(wiring)), []
    for steps in (1, 3, 1000):
        found = propagated(passing, wiring, ss.Until(steps=steps, tolerance=1e-9))
        bounds.append(found.energy(is_bound=True))
        assert bounds[-1] >= exact - 1e-9
        if found.has_converged and exact > -np.inf:
            assert bounds[-1] == pytest.approx(found.energy(), abs=1e-6)
            assert exact <= found.energy() + 1e-9


def test_the_bound_is_close_where_couplings_are_weak():
    net = spin_glass(np.random.default_rng(3), 4, 4, 0.2)
    found, exact = ss.log_partition(net, method=ss.TreeReweighted()), float(ss.log_partition(net))
    assert exact <= found.upper < exact + 0.3
    assert (found.guarantees["log_partition"], found.lower, found.status) == (
        ss.Guarantee.UPPER_BOUND,
        -np.inf,
        ss.Status.CONVERGED,
    )
    ratio = ss.log_probability(net, given={"spin[0,0]": 1}, method=ss.TreeReweighted())
    assert ratio.guarantees["log_partition"] is ss.Guarantee.ESTIMATE  # a difference of two bounds is none
    near = ss.marginals(net, method=ss.TreeReweighted())
    assert max(abs(near[n].values - ss.query(net, n).values).max() for n in near) < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_better_probabilities_of_edges_lower_the_bound(seed):
    net = spin_glass(np.random.default_rng(seed), 3, 3, 1.0)
    exact = float(ss.log_partition(net))
    bounds = [ss.log_partition(net, method=ss.TreeReweighted(rounds=r)).upper for r in (0, 3, 12)]
    assert bounds[0] > bounds[1] >= bounds[2] >= exact
    method = ss.TreeReweighted(rounds=4)
    rhos = method.propagate(ss.inference.AssignmentTask(net.as_written(), ss.variables.Evidence()).wiring).rhos
    assert rhos.sum() == pytest.approx(8.0)
    assert 0.0 < rhos.min() <= rhos.max() <= 1.0
    with pytest.raises(ss.errors.ArgumentError):
        ss.TreeReweighted(rounds=-1)


@in_blocks("seed", range(12))
def test_forests_are_exact(seed):
    net = random_forest(np.random.default_rng(seed))
    if max((len(f.scope) for f in net.factors), default=0) > 2:
        with pytest.raises(ss.errors.NotApplicable, match="at most two"):
            ss.log_partition(net, method=ss.TreeReweighted())
        return
    found = ss.log_partition(net, method=ss.TreeReweighted())
    assert float(found) == pytest.approx(float(ss.log_partition(net)), abs=1e-10)
    assert found.guarantees["log_partition"] is ss.Guarantee.EXACT


@in_blocks("seed", range(25))
def test_assignments_have_upper_bounds(seed):
    rng = np.random.default_rng(seed)
    net = spin_glass(rng, 3, 3, 1.0)
    wiring = ss.inference.AssignmentTask(net.as_written(), ss.variables.Evidence()).wiring
    best = best_value(wiring)
    for until in (2, None):
        found = ss.map_assignment(net, method=ss.TreeReweighted(until=until))
        assert found.log_value <= best + 1e-9 <= found.bound + 2e-9
        assert found.certificate.check()
        if found.guarantees["assignment"] is ss.Guarantee.EXACT:
            assert found.log_value == pytest.approx(best)


def test_the_seconds_are_those_of_all_rounds(monkeypatch):
    wiring = Wiring.of(spin_glass(np.random.default_rng(0), 3, 3).as_written())
    clock, budgets = iter(range(100)), []

    def passes(passing, wiring, until):
        budgets.append(until.seconds)
        return propagated(passing, wiring, ss.Until(steps=3, tolerance=None))

    monkeypatch.setattr(treereweighted, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(treereweighted, "propagated", passes)
    ss.TreeReweighted(rounds=10, until=ss.Until(seconds=4.0)).propagate(wiring)
    assert budgets == [3.0, 2.0, 1.0]
    budgets.clear()
    ss.TreeReweighted(rounds=2).propagate(wiring)
    assert budgets == [None] * 3
