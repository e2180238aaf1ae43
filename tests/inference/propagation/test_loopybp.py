"""Loopy belief propagation: forests beside enumeration, fixed points, free energies, codes, frustrated triangles."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ImpossibleEvidence, NotApplicable
from sepset.inference.wiring import Wiring
from sepset.potentials import AtLeastOne, Ising, Parity, Potts, TruncatedLinear, TruncatedQuadratic, over_scopes
from support.blocks import in_blocks
from support.random_models import random_finding

PAIRS = [Potts(1.3), Potts(-2.0), Ising(0.7), TruncatedLinear(0.5, 1.0), TruncatedQuadratic(0.4, 3.0)]


def enumerated(wiring):
    """The log partition and the marginals of a wired model."""
    cards = [int(c) for c in wiring.plugs.cards]
    logs = np.array([wiring.log_value(x) for x in itertools.product(*map(range, cards))]).reshape(cards)
    top = logs.max()
    if top == -np.inf:
        return -np.inf, None
    values = np.exp(logs - top)
    axes = range(len(cards))
    marginals = [values.sum(axis=tuple(a for a in axes if a != i)) / values.sum() for i in axes]
    return top + np.log(values.sum()), marginals


def random_forest(rng, *, zeros=0.0):
    """A model whose factor graph has no cycle: tables of up to three variables, named pairs and constraints."""
    n = int(rng.integers(0, 7))
    variables = [ss.Discrete(f"v{i}", 2 if rng.random() < 0.6 else int(rng.integers(1, 4))) for i in rng.permutation(n)]
    factors, component = [], list(range(n))
    for _ in range(n):
        roots = sorted(set(component))
        if len(roots) < 2 or rng.random() < 0.15:
            continue
        chosen = rng.permutation(roots)[: int(rng.integers(2, 4))]
        scope = [int(rng.choice([i for i in range(n) if component[i] == c])) for c in chosen]
        factors.append(random_factor(rng, [variables[i] for i in scope], zeros))
        component = [int(chosen[0]) if c in chosen else c for c in component]
    factors += [ss.Table([v], positive(rng, v.num_states, zeros)) for v in variables if rng.random() < 0.7]
    order = rng.permutation(len(factors))
    return ss.MarkovNet(*[factors[i] for i in order], variables=variables)


def positive(rng, shape, zeros):
    values = rng.gamma(0.7, size=shape) * np.exp(rng.normal(0, 2))
    return np.where(rng.random(shape) < zeros, 0.0, values)


def random_factor(rng, scope, zeros):
    cards = [v.num_states for v in scope]
    if len(scope) == 2 and cards[0] == cards[1] > 1 and rng.random() < 0.6:
        kind = PAIRS[int(rng.integers(len(PAIRS)))]
        return over_scopes([scope], PAIRS[0] if isinstance(kind, Ising) and cards[0] > 2 else kind)
    if len(scope) > 2 and set(cards) == {2} and rng.random() < 0.6:
        return over_scopes([scope], Parity() if rng.random() < 0.5 else AtLeastOne())
    return ss.Table(scope, positive(rng, cards, zeros))


def bethe(beliefs):
    """The Bethe free energy by its definition, from beliefs of variables and factors."""

    def entropy(values):
        return -sum(p * np.log(p) for p in np.asarray(values).reshape(-1) if p > 0.0)

    wiring, found = beliefs.wiring, beliefs.wiring.constant
    degrees = np.zeros(wiring.num_variables)
    for f in range(wiring.num_factors):
        own, logs = beliefs.factor(f), wiring.table(f)
        found += float((own[own > 0] * logs[own > 0]).sum()) + beliefs.rhos[f] * entropy(own)
        degrees[wiring.scope(f)] += beliefs.rhos[f]
    for i in range(wiring.num_variables):
        own, logs = beliefs.variable(i), wiring.logs(i)
        found += float((own[own > 0] * logs[own > 0]).sum()) + (1.0 - degrees[i]) * entropy(own)
    return found


def spin_glass(rng, rows, columns, coupling=0.6):
    spin = ss.Discrete.array("spin", (rows, columns), states=(-1, 1))
    edges = len(spin.grid_edges())
    return ss.MarkovNet.ising(spin, coupling * rng.normal(size=edges), field=0.5 * rng.normal(size=(rows, columns)))


@pytest.mark.parametrize("schedule", ["sequential", "synchronous"])
@in_blocks("seed", range(60))
def test_forests_are_exact(seed, schedule):
    rng = np.random.default_rng(seed)
    net = random_forest(rng, zeros=0.3 * (seed % 3 == 0))
    given = {v.name: random_finding(rng, v)[0] for v in net.variables if rng.random() < 0.3}
    engine = ss.prepare(net, method=ss.LoopyBP(0.4, schedule))
    log_z, marginals = enumerated(wiring := Wiring.of(net.as_written(), engine.evidence(given)))
    if log_z == -np.inf:
        assert float(engine.log_partition(given=given)) == -np.inf
        with pytest.raises(ImpossibleEvidence):
            engine.marginals(given=given)
        return
    found = engine.log_partition(given=given)
    assert float(found) == pytest.approx(log_z, abs=1e-10)
    assert (found.guarantees["log_partition"], found.gap) == (ss.Guarantee.EXACT, 0.0)
    answers = engine.marginals(given=given)
    for i, v in enumerate(wiring.free):
        name = net.variables[int(v)].name
        assert answers[name].values == pytest.approx(marginals[i], abs=1e-10)
        assert engine.query(name, given=given).values == pytest.approx(marginals[i], abs=1e-10)


def test_long_chains_take_two_passes_in_any_order_of_factors():
    rng = np.random.default_rng(0)
    chain = ss.Discrete.array("x", 3000)
    pairs = np.stack([np.arange(2999), np.arange(1, 3000)], axis=1)[rng.permutation(2999)]
    tables = rng.gamma(1.0, size=(2999, 2, 2))
    net = ss.MarkovNet(over_scopes(pairs, tables, array=chain))
    found, exact = ss.marginals(net, method=ss.LoopyBP()), ss.marginals(net)
    assert (found.status, found.info["passes"]) == (ss.Status.CONVERGED, 2)
    assert found.log_partition == pytest.approx(exact.log_partition, rel=1e-12)
    for i in (0, 1234, 2999):
        assert found[f"x[{i}]"].values == pytest.approx(exact[f"x[{i}]"].values, abs=1e-10)


@pytest.mark.parametrize("rho", [1.0, 0.8, 1.4])
@in_blocks("seed", range(6))
def test_fixed_points_are_locally_consistent_and_have_the_bethe_free_energy(seed, rho):
    rng = np.random.default_rng(seed)
    net = spin_glass(rng, 3, 3)
    triple = ss.Table([net.variables[i] for i in (0, 4, 8)], rng.gamma(2.0, size=(2, 2, 2)))
    checks = over_scopes([[net.variables[i] for i in (1, 2, 5)]], AtLeastOne())
    wiring = Wiring.of(ss.MarkovNet(*net.factors, triple, checks, variables=net.variables).as_written())
    found = ss.LoopyBP(rho=rho, until=ss.Until(steps=3000, tolerance=1e-12)).propagate(wiring)
    assert found.has_converged
    for f in range(wiring.num_factors):
        belief = found.factor(f)
        for axis, i in enumerate(wiring.scope(f).tolist()):
            rest = tuple(a for a in range(belief.ndim) if a != axis)
            assert belief.sum(axis=rest) == pytest.approx(found.variable(i), abs=1e-9)
    assert found.energy() == pytest.approx(bethe(found), abs=1e-8)


def test_the_misconception_loop():
    net = ss.datasets.load("misconception")
    found = ss.marginals(net, method=ss.LoopyBP())
    exact = {"Alice": 0.819448, "Bob": 1 - 0.736133, "Charles": 1 - 0.763795, "Debbie": 0.791563}
    for name, p in exact.items():  # overconfident or not, a single loop of binary variables has the right modes
        assert (found[name].values[0] > 0.5) == (p > 0.5)
    assert found.guarantees["marginals"] is ss.Guarantee.ESTIMATE
    assert found.log_partition != pytest.approx(np.log(7201840), abs=1e-3)
    cut = {"Alice": "a0"}  # evidence ends the loop
    assert ss.log_partition(net, given=cut, method=ss.LoopyBP()).guarantees["log_partition"] is ss.Guarantee.EXACT
    assert float(ss.log_partition(net, given=cut, method=ss.LoopyBP())) == pytest.approx(
        float(ss.log_partition(net, given=cut)), abs=1e-10
    )


def test_a_large_grid_converges_to_estimates_that_do_not_depend_on_the_order_of_factors():
    net = spin_glass(np.random.default_rng(1), 100, 100, 0.3)
    found = ss.marginals(net, method=ss.LoopyBP(0.0))
    assert found.status is ss.Status.CONVERGED
    small = spin_glass(np.random.default_rng(1), 5, 5, 0.3)
    exact, near = ss.marginals(small), ss.marginals(small, method=ss.LoopyBP())
    assert max(abs(near[n].values - exact[n].values).max() for n in near) < 0.01
    turned = ss.MarkovNet(*reversed(small.factors), variables=list(reversed(small.variables)))
    again = ss.marginals(turned, method=ss.LoopyBP())
    assert max(abs(near[n].values - again[n].values).max() for n in near) < 1e-7


def test_a_code_of_six_bits_corrects_an_error():
    # checks x0+x1+x3, x1+x2+x4, x0+x2+x5; the word 100101 with its first bit flipped by a channel of error 0.1
    bit = ss.Discrete.array("bit", 6)
    net = ss.MarkovNet(over_scopes([[0, 1, 3], [1, 2, 4], [0, 2, 5]], Parity(), array=bit))
    received = [0, 0, 0, 1, 0, 1]
    given = {f"bit[{i}]": ss.Likelihood([0.9, 0.1] if r == 0 else [0.1, 0.9]) for i, r in enumerate(received)}
    found, exact = ss.marginals(net, given=given, method=ss.LoopyBP()), ss.marginals(net, given=given)
    decoded = [int(found[f"bit[{i}]"].values.argmax()) for i in range(6)]
    assert decoded == [int(exact[f"bit[{i}]"].values.argmax()) for i in range(6)] == [1, 0, 0, 1, 0, 1]


def test_wide_constraints_have_no_table_and_no_chain():
    bit = ss.Discrete.array("bit", 2000)
    net = ss.MarkovNet(over_scopes([range(1000), range(1000, 2000)], Parity(), array=bit))
    given = {"bit[0]": ss.Likelihood([0.2, 0.8]), "bit[1000]": 1, "bit[1]": ss.Likelihood([1.0, 0.0])}
    found = ss.log_partition(net, given=given, method=ss.LoopyBP())
    assert float(found) == pytest.approx(1995 * np.log(2.0), rel=1e-12)  # 2^997 and 2^998 completions
    assert found.info["is_forest"]


def test_evidence_that_messages_refute_is_impossible():
    a, b, c = (ss.Discrete(n) for n in "abc")
    unequal = [ss.Table([u, v], [[0, 1], [1, 0]]) for u, v in [(a, b), (b, c), (c, a)]]
    net = ss.MarkovNet(*unequal)
    with pytest.raises(ImpossibleEvidence):
        ss.marginals(net, given={"a": 0}, method=ss.LoopyBP())


@pytest.mark.parametrize(
    "settings",
    [
        {"damping": 1.0},
        {"damping": -0.1},
        {"schedule": "sideways"},
        {"rho": 0.0},
        {"until": "soon"},
        {"domain": "sqrt"},
        {"precision": "float16"},
        {"domain": "linear", "rho": 0.5},
    ],
)
def test_settings_are_checked(settings):
    with pytest.raises(ss.errors.ArgumentError):
        ss.LoopyBP(**settings)


def test_joints_and_draws_are_refused():
    net = spin_glass(np.random.default_rng(0), 2, 2)
    with pytest.raises(NotApplicable, match=r"no factor covers .*CliqueTree"):
        ss.query(net, ["spin[0,0]", "spin[1,1]"], method=ss.LoopyBP())
    with pytest.raises(NotApplicable, match="CliqueTree"):
        ss.sample(net, 3, method=ss.LoopyBP())


@pytest.mark.parametrize("method", [ss.LoopyBP(), ss.LoopyBP(schedule="residual"), ss.TreeReweighted()])
@pytest.mark.parametrize("weight", [690.0, 740.0, 1000.0, -1000.0])
def test_weights_whose_exponentials_are_too_large_for_numbers(weight, method):
    bit = ss.Discrete.array("b", 2, states=3)
    own = over_scopes([[0], [1]], np.array([[0.0, -800.0, -1.0], [0.0, 900.0, 2.0]]), array=bit, space="log")
    wiring = Wiring.of(ss.MarkovNet(own, over_scopes([[0, 1]], Potts(weight), array=bit)).as_written())
    log_z, marginals = enumerated(wiring)
    found = method.propagate(wiring)
    assert found.energy() == pytest.approx(log_z, abs=1e-9)
    for i, expected in enumerate(marginals):
        assert found.variable(i) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", [ss.LoopyBP, ss.TreeReweighted])
def test_a_large_tolerance_makes_nothing_exact(method):
    bit = ss.Discrete.array("c", 30)
    first = over_scopes([[0]], np.array([[0.0, 3.0]]), array=bit, space="log")
    net = ss.MarkovNet(first, over_scopes([[i, i + 1] for i in range(29)], Potts(0.8), array=bit))
    rough = ss.marginals(net, method=method(schedule="synchronous", until=ss.Until(tolerance=0.5)))
    exact = ss.marginals(net, method=method(schedule="synchronous"))
    assert exact["c[10]"].values != pytest.approx(rough["c[10]"].values, abs=1e-6)
    assert rough.guarantees["marginals"] is ss.Guarantee.ESTIMATE
    assert exact.guarantees["marginals"] is ss.Guarantee.EXACT


def test_soft_findings_have_their_probabilities():
    net = ss.datasets.load("student")
    for asked in ([0.2, 0.3, 0.5], [0.6, 0.1, 0.3]):
        given = {"grade": ss.Soft(asked)}
        found, exact = ss.marginals(net, given=given, method=ss.LoopyBP()), ss.marginals(net, given=given)
        assert found["grade"].values == pytest.approx(asked, abs=1e-7)
        assert found["intelligence"].values == pytest.approx(exact["intelligence"].values, abs=1e-7)
