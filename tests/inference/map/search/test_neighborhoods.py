"""Large neighborhoods are solved exactly, never make an assignment worse, and resume where they stopped."""

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map.search.neighborhoods import Moved, combined, moved, pooled
from sepset.inference.map.search.workspace import Workspace
from sepset.inference.wiring import Wiring
from sepset.kernels.map.regions import GONE
from support.blocks import in_blocks
from support.wired import best_value, random_binary, random_problem, task_of


def random_wiring(rng):
    return Wiring.of(random_binary(rng, zeros=0.3) if rng.random() < 0.3 else random_problem(rng))


def glass(side, seed=0):
    spin, rng = ss.Discrete.array("spin", (side, side), states=(-1, 1)), np.random.default_rng(seed)
    return ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=0.1 * rng.normal(size=(side, side)))


@in_blocks("seed", range(100))
def test_moves_are_best_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng)
    space, cards = Workspace(wiring, int(rng.choice([2, 4, 9]))), wiring.plugs.cards
    codes = (rng.random(len(cards)) * cards).astype(np.int64)
    state = Moved(
        codes, space.value(codes), codes, space.value(codes), reach=3.0, depth=1.5, moves=int(rng.integers(8))
    )
    for _ in range(4):
        made = moved(space, state, rng)
        assert made.value >= state.value
        assert made.top == max(state.top, made.value) == space.value(made.best)
        free = np.flatnonzero(space.region.marks == GONE)
        for states in itertools.product(*(range(cards[i]) for i in free)):
            trial = state.codes.copy()
            trial[free] = states
            assert space.value(trial) <= made.value + 1e-9
        state = made


@in_blocks("seed", range(200))
def test_combinations_are_best_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng)
    space = Workspace(wiring, 4)
    one, other = space.drawn(rng), space.drawn(rng)
    parts = connected_parts(wiring, np.flatnonzero(one != other))
    values = []
    for taken in itertools.product((False, True), repeat=len(parts)):
        trial = one.copy()
        for part in itertools.compress(parts, taken):
            trial[part] = other[part]
        values.append(space.value(trial))
    assert space.value(space.combined(one, other)) == pytest.approx(max(values), rel=1e-12)
    state = Moved(one, space.value(one), one, space.value(one), pool=((space.value(other), other),))
    met = combined(space, state)
    assert met.value == met.top == space.value(met.codes) == pytest.approx(max(values), rel=1e-12)


def connected_parts(wiring, members):
    """The connected components of the given variables, by networkx."""
    graph = nx.Graph()
    graph.add_nodes_from(members.tolist())
    for scope in np.split(wiring.wires.scope, wiring.wires.starts[1:-1]):
        inside = [int(i) for i in scope if i in graph]
        graph.add_edges_from(itertools.pairwise(inside))
    return [sorted(part) for part in nx.connected_components(graph)]


def test_a_full_pool_forgets_its_worst_when_nothing_is_new():
    one = np.array([0, 1])
    state = Moved(one, 1.0, one, 1.0)
    for value in range(10):
        codes = np.array([value, 0])
        state = pooled(replace(state, codes=codes, value=float(value)))
    assert [value for value, _ in state.pool] == [9.0, 8.0, 7.0, 6.0, 5.0]
    again = pooled(replace(state, codes=np.array([9, 0]), value=9.0))
    assert [value for value, _ in again.pool] == [9.0, 8.0, 7.0, 6.0]


@in_blocks("seed", range(300))
def test_small_models_are_solved_and_proved(seed):
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng)
    best = best_value(wiring)
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(ss.LargeNeighborhood(), task_of(wiring, rng=rng))
        return
    found = assign(ss.LargeNeighborhood(), task_of(wiring, rng=rng))
    assert found.log_values[0] == pytest.approx(best) == found.bound
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate.check()
    tight = assign(ss.LargeNeighborhood(entries=2, patience=20, restarts=2), task_of(wiring, rng=rng))
    assert tight.log_values[0] <= best + 1e-9
    assert tight.bound >= best - 1e-9


def test_a_frustrated_grid_is_solved_and_beats_single_changes():
    net = glass(12)
    exact = ss.map_assignment(net).log_value
    found = ss.map_assignment(net, method=ss.LargeNeighborhood(entries=64, restarts=2), seed=1)
    assert found.log_value == pytest.approx(exact)
    assert found.bound == np.inf
    assert found.certificate is None
    assert (np.diff(found.trace) >= 0).all()
    assert found.log_value > ss.map_assignment(net, method=ss.ICM(), seed=1).log_value


def test_zeros_are_repaired():
    bit = ss.Discrete.array("bit", (60,))
    rng = np.random.default_rng(2)
    checks = np.stack([rng.permutation(60)[:8] for _ in range(25)])
    parity = ss.factors.FactorBlock(checks, (2,) * 8, values=ss.potentials.Parity())
    one = ss.factors.FactorBlock(checks[:, ::-1], (2,) * 8, values=ss.potentials.AtLeastOne())
    seen = ss.factors.FactorBlock(np.arange(60)[:, None], (2,), values=rng.normal(size=(60, 2)), space="log")
    net = ss.MarkovNet(seen, parity, one, variables=[bit])
    found = ss.map_assignment(net, method=ss.LargeNeighborhood(entries=2**9, restarts=3), start={bit: np.ones(60, int)})
    assert found.log_value > -np.inf
    assert not (found[bit][checks].sum(axis=1) % 2).any()


def test_seeds_starts_and_resumed_runs(tmp_path):
    net, method, path = glass(14, seed=3), ss.LargeNeighborhood(entries=16, patience=30, restarts=1), tmp_path / "moves"
    whole = ss.map_assignment(net, method=method, seed=3)
    again = ss.map_assignment(net, method=method, seed=3)
    assert dict(whole.assignment) == dict(again.assignment)
    part = ss.map_assignment(net, method=method, seed=3, until=7, checkpoint=path)
    rest = ss.map_assignment(net, method=method, seed=3, checkpoint=path)
    assert part.status is ss.Status.STEP_LIMIT
    assert dict(rest.assignment) == dict(whole.assignment)
    np.testing.assert_array_equal(rest.trace, whole.trace)
    later = ss.map_assignment(net, method=method, seed=9, start=whole, until=3)
    assert later.log_value >= whole.log_value


def test_permuted_models_have_the_same_value():
    rng = np.random.default_rng(5)
    variables = [ss.Discrete(f"v{i}", 3) for i in range(9)]
    parts = [ss.Table([variables[i] for i in rng.permutation(9)[:3]], rng.gamma(1.0, size=(3, 3, 3))) for _ in range(9)]
    one = ss.map_assignment(ss.MarkovNet(*parts), method=ss.LargeNeighborhood(entries=9, restarts=5))
    two = ss.map_assignment(ss.MarkovNet(*parts[::-1]), method=ss.LargeNeighborhood(entries=9, restarts=5))
    assert one.log_value == pytest.approx(two.log_value)


def test_bad_settings_are_refused_by_name():
    with pytest.raises(ss.errors.ArgumentError, match="entries"):
        ss.LargeNeighborhood(entries=1)
    with pytest.raises(ss.errors.ArgumentError, match="patience"):
        ss.LargeNeighborhood(patience=0)
    with pytest.raises(ss.errors.ArgumentError, match="restarts"):
        ss.LargeNeighborhood(restarts=-1)
    with pytest.raises(ss.errors.NotApplicable, match="LargeNeighborhood finds one assignment; found k=2"):
        ss.map_assignment(glass(3), k=2, method=ss.LargeNeighborhood())
