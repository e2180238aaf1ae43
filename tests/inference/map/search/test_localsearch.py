"""Local search ends where no single change is better, with and without a tabu list, and resumes where it stopped."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map.search import localsearch
from sepset.inference.map.search.localsearch import Walks
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value, random_binary, random_problem, task_of


def random_wiring(rng):
    return Wiring.of(random_binary(rng, integer=True) if rng.random() < 0.3 else random_problem(rng))


def glass(side, seed=0):
    spin, rng = ss.Discrete.array("spin", (side, side), states=(-1, 1)), np.random.default_rng(seed)
    return ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))


def neighbors(codes, cards):
    for i, card in enumerate(cards):
        for x in set(range(card)) - {codes[i]}:
            yield i, np.array([*codes[:i], x, *codes[i + 1 :]])


def score(wiring, codes):
    """The number of factors that are zero, negative, and the sum of the logarithms of the others."""
    values = [float(wiring.logs(i)[x]) for i, x in enumerate(codes)]
    values += [float(wiring.table(f)[tuple(np.asarray(codes)[wiring.scope(f)])]) for f in range(wiring.num_factors)]
    return -sum(v == -np.inf for v in values), sum(v for v in values if v > -np.inf)


@in_blocks("seed", range(80))
def test_no_single_change_is_better(seed):
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng)
    method = ss.inference.LocalSearch([0, None, 1, 9][seed % 4], restarts=int(rng.integers(3)), patience=20)
    if wiring.constant == -np.inf or not wiring.is_possible:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(method, task_of(wiring, rng=rng))
        return
    found = assign(method, task_of(wiring, rng=rng))
    best = best_value(wiring)
    assert found.log_values[0] <= best + 1e-9
    assert found.log_values[0] == pytest.approx(wiring.log_value(found.codes[0]))
    if found.log_values[0] > -np.inf:
        assert found.guarantee is ss.Guarantee.LOCAL_OPTIMUM
        others = [wiring.log_value(other) for _, other in neighbors(found.codes[0].tolist(), wiring.plugs.cards)]
        assert max(others, default=-np.inf) <= found.log_values[0] + 1e-9


@pytest.mark.parametrize("seed", range(24))
def test_every_move_is_the_best_one_allowed(seed, monkeypatch):
    monkeypatch.setattr(localsearch, "step_moves", lambda num_variables: 1)
    rng = np.random.default_rng(seed)
    wiring = random_wiring(rng)
    n, tabu = wiring.num_variables, int(rng.integers(0, 4))
    if n == 0:
        return
    walks, task = Walks(ss.inference.LocalSearch(tabu, patience=15)), task_of(wiring)
    state, changed, top = walks.init(task, rng), [], score(wiring, task.first_codes())
    tenure = len(state.recent)
    for _ in range(30):
        before = state.codes.tolist()
        made, info = walks.step(task, state, rng)
        held, now = changed[-tenure:] if tenure else [], score(wiring, before)
        ways = {tuple(other): (i, score(wiring, other)) for i, other in neighbors(before, wiring.plugs.cards)}
        allowed = {way: s for way, (i, s) in ways.items() if i not in held or above(s, top)}
        if made.moves == state.moves:
            assert info.is_done
            better = any(above(s, top) for s in allowed.values())
            assert not better
            assert tenure == 0 or state.idle >= 15 or not allowed
            break
        reached = score(wiring, made.codes)
        assert made.codes.tolist() != before
        assert tuple(made.codes.tolist()) in allowed
        assert not any(above(s, reached) for s in allowed.values())
        assert tenure or above(reached, now)
        changed.append(int(np.flatnonzero(made.codes != np.array(before))[0]))
        top = max(top, reached) if above(reached, top) else top
        assert score(wiring, made.best) == pytest.approx(top)
        state = made


def above(one, other):
    return one[0] > other[0] or (one[0] == other[0] and one[1] > other[1] + 1e-9)


def test_tabu_lists_and_restarts_leave_local_optima():
    net = glass(8)
    exact = ss.map_assignment(net).log_value
    greedy = ss.map_assignment(net, method=ss.inference.LocalSearch(0))
    walked = ss.map_assignment(net, method=ss.inference.LocalSearch(), start=greedy)
    many = ss.map_assignment(net, method=ss.inference.LocalSearch(restarts=20), seed=1)
    assert greedy.log_value < walked.log_value <= many.log_value == pytest.approx(exact)
    assert many.info["starts"] == 21
    assert (np.diff(many.trace) >= 0).all()
    assert (many.bound, many.certificate) == (np.inf, None)


def test_zeros_are_repaired_from_an_impossible_start():
    bit = ss.Discrete.array("bit", (30,))
    rng = np.random.default_rng(2)
    checks = np.arange(30).reshape(10, 3)
    parity = ss.factors.FactorBlock(checks, (2,) * 3, values=ss.potentials.Parity())
    seen = ss.factors.FactorBlock(np.arange(30)[:, None], (2,), values=rng.normal(size=(30, 2)), space="log")
    net = ss.MarkovNet(seen, parity, variables=[bit])
    found = ss.map_assignment(net, method=ss.inference.LocalSearch(), start={bit: np.ones(30, int)})
    assert not (found[bit][checks].sum(axis=1) % 2).any()
    assert found.log_value <= ss.map_assignment(net).log_value


def test_resumed_runs_and_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(localsearch, "step_moves", lambda num_variables: 7)
    net, method, path = glass(6, seed=3), ss.inference.LocalSearch(4, restarts=2, patience=40), tmp_path / "walk"
    whole = ss.map_assignment(net, method=method, seed=3)
    part = ss.map_assignment(net, method=method, seed=3, until=5, checkpoint=path)
    rest = ss.map_assignment(net, method=method, seed=3, checkpoint=path)
    assert part.status is ss.Status.STEP_LIMIT
    assert dict(rest.assignment) == dict(whole.assignment)
    np.testing.assert_array_equal(rest.trace, whole.trace)


def test_names_of_permuted_models_meet():
    rng = np.random.default_rng(4)
    variables = [ss.Discrete(f"v{i}", 3) for i in range(6)]
    parts = [ss.Table(pair, rng.gamma(1.0, size=(3, 3))) for pair in itertools.combinations(variables, 2)]
    one = ss.map_assignment(ss.MarkovNet(*parts), method=ss.inference.LocalSearch(restarts=5))
    two = ss.map_assignment(ss.MarkovNet(*parts[::-1]), method=ss.inference.LocalSearch(restarts=5))
    assert one.log_value == pytest.approx(two.log_value)
    assert dict(one.assignment) == dict(two.assignment)


def test_empty_models_and_bad_settings():
    found = ss.map_assignment(ss.MarkovNet(), method=ss.inference.LocalSearch())
    assert (dict(found.assignment), found.log_value) == ({}, 0.0)
    for bad in ({"tabu": -1}, {"restarts": -1}, {"patience": 0}):
        with pytest.raises(ss.errors.ArgumentError, match=next(iter(bad))):
            ss.inference.LocalSearch(**bad)
    with pytest.raises(ss.errors.NotApplicable, match="LocalSearch finds one assignment; found k=2"):
        ss.map_assignment(glass(3), k=2, method=ss.inference.LocalSearch())
