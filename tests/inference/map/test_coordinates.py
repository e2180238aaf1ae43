"""Coordinate ascent ends where no single change is better."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.wiring import Wiring
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks


def random_net(rng: np.random.Generator, *, zeros: float = 0.0) -> ss.MarkovNet:
    n = int(rng.integers(1, 7))
    variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(n)]
    parts = [ss.Table(v, rng.gamma(1.0, size=v.num_states)) for v in variables]
    for _ in range(int(rng.integers(0, 8))):
        scope = [variables[i] for i in rng.permutation(n)[: rng.integers(1, 4)]]
        shape = [v.num_states for v in scope]
        parts.append(ss.Table(scope, rng.gamma(1.0, size=shape) * (rng.random(shape) >= zeros)))
    return ss.MarkovNet(*parts)


@in_blocks("seed", range(40))
def test_no_single_change_is_better(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng)
    found = ss.map_assignment(net, method=ss.ICM(restarts=int(rng.integers(3))), seed=seed)
    wiring = Wiring.of(net.problem(), Evidence())
    assert found.log_value == pytest.approx(float(net.log_value({k: [v] for k, v in found.assignment.items()})[0]))
    for i in range(wiring.num_variables):
        for x in range(wiring.wires.cards[i]):
            other = found.codes.copy()
            other[i] = x
            assert wiring.log_value(other) <= found.log_value + 1e-12
    assert found.guarantees["assignment"] is ss.inference.Guarantee.LOCAL_OPTIMUM
    assert (found.bound, found.certificate) == (np.inf, None)


def test_evidence_starts_and_arrays():
    pixel = ss.Discrete.array("pixel", (6, 6), states=3)
    rng = np.random.default_rng(1)
    net = ss.MarkovNet.potts(pixel, 0.4, log_values=rng.normal(size=(6, 6, 3)))
    seen = {pixel[0, 0]: 2, pixel[3, 3]: 0}
    exact = ss.map_assignment(net, given=seen)
    found = ss.map_assignment(net, given=seen, method=ss.ICM(), start=exact)
    assert found.log_value == pytest.approx(exact.log_value)
    np.testing.assert_array_equal(found[pixel], exact[pixel])
    assert found[pixel][0, 0] == -1  # observed, so not assigned
    again = ss.map_assignment(net, given=seen, method=ss.ICM(), start={pixel: exact[pixel]})
    assert again.assignment == exact.assignment


def test_names_of_permuted_models_meet():
    rng = np.random.default_rng(4)
    net = random_net(rng)
    other = ss.MarkovNet(*reversed(net.factors))
    one = ss.map_assignment(net, method=ss.ICM(restarts=20))
    two = ss.map_assignment(other, method=ss.ICM(restarts=20), start=one)
    assert dict(two.assignment) == dict(one.assignment)


def test_a_resumed_run_is_an_uninterrupted_one(tmp_path):
    net = random_net(np.random.default_rng(7))
    method, path = ss.ICM(restarts=30), tmp_path / "search"
    whole = ss.map_assignment(net, method=method, seed=3)
    part = ss.map_assignment(net, method=method, seed=3, until=5, checkpoint=path)
    rest = ss.map_assignment(net, method=method, seed=3, checkpoint=path)
    assert part.status is ss.inference.Status.STEP_LIMIT
    assert dict(rest.assignment) == dict(whole.assignment)
    np.testing.assert_array_equal(rest.trace, whole.trace)
    with pytest.raises(ss.errors.DataError, match="belongs to"):
        ss.map_assignment(random_net(np.random.default_rng(8)), method=method, seed=3, checkpoint=path)


def test_bad_questions_are_refused_by_name():
    net = random_net(np.random.default_rng(0))
    with pytest.raises(ss.errors.NotApplicable, match="ICM maximizes over all"):
        ss.map_assignment(net, over=["v0"], method=ss.ICM())
    with pytest.raises(ss.errors.NotApplicable, match="k=2"):
        ss.map_assignment(net, k=2, method=ss.ICM())
    with pytest.raises(ss.errors.NotApplicable, match="until= is for methods that search"):
        ss.map_assignment(net, until=5, method=ss.CliqueTree())
    with pytest.raises(ss.errors.ArgumentError, match="use map_assignment"):
        ss.query(net, "v0", method=ss.ICM())
    with pytest.raises(ss.errors.ArgumentError, match="start= takes an assignment"):
        ss.map_assignment(net, method=ss.ICM(), start=3)
    with pytest.raises(ss.errors.ArgumentError, match="restarts"):
        ss.ICM(restarts=-1)


def test_empty_models_have_an_empty_assignment():
    found = ss.map_assignment(ss.MarkovNet(), method=ss.ICM())
    assert (dict(found.assignment), found.log_value) == ({}, 0.0)


def test_bayesian_networks_with_evidence():
    asia = ss.datasets.load("asia")
    given = {"dysp": "yes", "xray": "no"}
    found = ss.map_assignment(asia, given=given, method=ss.ICM(restarts=20))
    best = max(
        itertools.product(*(v.states for v in asia.variables if v.name not in given)),
        key=lambda states: float(
            asia.log_probability(
                {
                    **{k: [x] for k, x in given.items()},
                    **dict(zip(found.assignment, [[s] for s in states], strict=True)),
                }
            )[0]
        ),
    )
    assert tuple(found.assignment.values()) == best


def test_ascent_ends_where_only_rounding_decides():
    from sepset.inference.map.coordinates import improved

    rng = np.random.default_rng(0)
    for _ in range(60):  # sums of tenths in every order: ties up to rounding
        variables = [ss.Discrete(f"v{i}", 3) for i in range(6)]
        parts = [
            ss.Table.from_log(pair, rng.integers(0, 4, (3, 3)) / 10)
            for pair in itertools.permutations(variables, 2)
            if rng.random() < 0.7
        ]
        wiring = Wiring.of(ss.MarkovNet(*parts, variables=variables).problem(), Evidence())
        codes = rng.integers(3, size=6)
        assert wiring.log_value(improved(wiring, codes)) >= wiring.log_value(codes)
