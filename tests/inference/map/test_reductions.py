"""Larger factors as pairs with auxiliary variables: energies, cuts, roof duality and moves by enumeration."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import Cardinality, RobustPotts
from sepset.inference.assignment import assign
from sepset.inference.map import mincut, reductions
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.map.fusion import fused, move_energy
from sepset.inference.map.mincut import has_cut
from sepset.inference.map.reductions import Polynomials, Terms, choice_terms
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from support.blocks import in_blocks
from support.wired import best_value, task_of


def least_energies(energy, n):
    """The least energy over auxiliary variables at each assignment of the first n, by enumeration."""
    others = energy.unary.shape[1] - n
    rest = np.array(list(itertools.product(range(2), repeat=others)), np.int64).reshape(2**others, others)
    for codes in itertools.product(range(2), repeat=n):
        yield np.array(codes, np.int64), min(energy.value(np.concatenate([codes, r]).astype(np.int64)) for r in rest)


def convex(rng, size):
    return np.concatenate([[0.0], np.cumsum(np.sort(rng.normal(size=size)))])


def group(rng, arity, *, friendly):
    weight = abs(rng.normal()) if friendly else rng.normal()
    return RobustPotts(weight, rng.uniform(0.4, arity / 2))


def random_groups(rng, *, states=2, kinds="tgc", friendly=False, n=5):
    variables = [ss.Discrete(f"v{i}", states) for i in range(n)]
    blocks = [FactorBlock([[i]], (states,), values=rng.normal(size=states), space="log") for i in range(n)]
    for _ in range(int(rng.integers(1, 4))):
        arity = int(rng.integers(3, min(n, 5) + 1))
        scope, shape = rng.permutation(n)[:arity].tolist(), (states,) * arity
        kind = kinds[rng.integers(len(kinds))]
        if kind == "g":
            blocks.append(FactorBlock([scope], shape, values=group(rng, arity, friendly=True)))
        elif kind == "c":
            numbers = convex(rng, arity) if friendly else rng.normal(size=arity + 1)
            blocks.append(FactorBlock([scope], shape, values=Cardinality(numbers)))
        elif not friendly:
            blocks.append(FactorBlock([scope], shape, values=rng.normal(size=shape), space="log"))
        if rng.random() < 0.5:
            pair = rng.permutation(n)[:2].tolist()
            blocks.append(FactorBlock([pair], (states, states), values=ss.potentials.Potts(abs(rng.normal()))))
    return Problem(Universe(variables), tuple(blocks))


@pytest.mark.parametrize("degree", range(7))
@pytest.mark.parametrize("number", [-1.7, 0.6])
def test_products_are_minima_over_auxiliaries(degree, number):
    scope, table = list(range(max(degree, 3))), np.zeros((2,) * max(degree, 3))
    table[(1,) * degree + (slice(None),) * (max(degree, 3) - degree)] = -number
    variables = [ss.Discrete(f"v{i}") for i in scope]
    problem = Problem(Universe(variables), (FactorBlock([scope], table.shape, values=table, space="log"),))
    energy = BinaryEnergy.of(Wiring.of(problem), ss.QPBO())
    assert energy.unary.shape[1] - len(scope) == (0 if degree < 3 else 1 if number < 0 else (degree - 1) // 2)
    for codes, least in least_energies(energy, len(scope)):
        assert least == pytest.approx(number * float(codes[:degree].all()), abs=1e-12)


@in_blocks("seed", range(60))
def test_minima_over_auxiliaries_are_the_energies(seed):
    rng = np.random.default_rng(seed)
    problem = random_groups(rng, n=4)
    seen = {int(rng.integers(4)): int(rng.integers(2))} if seed % 3 == 0 else {}
    wiring = Wiring.of(problem, Evidence(seen))
    energy = BinaryEnergy.of(wiring, ss.QPBO())
    if energy.unary.shape[1] > 14:
        return
    for codes, least in least_energies(energy, wiring.num_variables):
        assert least == pytest.approx(-wiring.log_value(codes), abs=1e-9)


@in_blocks("seed", range(60))
def test_moves_of_groups_have_the_energies_of_their_choices(seed):
    rng = np.random.default_rng([seed, 1])
    wiring = Wiring.of(random_groups(rng, states=3, kinds="gt", n=4))
    keep, take = rng.integers(3, size=(2, 4))
    energy = move_energy(wiring, keep, take, ss.AlphaExpansion())
    if energy.unary.shape[1] > 14:
        return
    for chosen, least in least_energies(energy, 4):
        if not chosen[keep == take].any():
            assert least == pytest.approx(-wiring.log_value(np.where(chosen, take, keep)), abs=1e-9)
    found = fused(wiring, keep, take, ss.AlphaExpansion())
    assert wiring.log_value(found) >= wiring.log_value(keep)


@in_blocks("seed", range(80))
def test_friendly_groups_and_convex_counts_are_cut_exactly(seed):
    rng = np.random.default_rng([seed, 2])
    wiring = Wiring.of(random_groups(rng, kinds="gc", friendly=True, n=6))
    found = assign(ss.MinCut(), task_of(wiring))
    assert found.log_values[0] == pytest.approx(best_value(wiring), abs=1e-9)
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate.check()


@in_blocks("seed", range(60))
def test_submodular_tables_of_three_are_cut_exactly(seed):
    rng = np.random.default_rng([seed, 3])
    grid = np.indices((2, 2, 2)).sum(axis=0)
    variables, blocks, n = [ss.Discrete(f"v{i}") for i in range(5)], [], 5
    for _ in range(4):
        logs = convex(rng, 3)[grid]  # a convex function of the sum, and pairs that favor equal states
        for axes in itertools.combinations(range(3), 2):
            logs = logs + abs(rng.normal()) * np.eye(2).reshape([2 if a in axes else 1 for a in range(3)])
        blocks.append(FactorBlock([rng.permutation(n)[:3].tolist()], (2, 2, 2), values=logs, space="log"))
    blocks += [FactorBlock([[i]], (2,), values=rng.normal(size=2) * 2, space="log") for i in range(n)]
    wiring = Wiring.of(Problem(Universe(variables), tuple(blocks)))
    found = assign(ss.MinCut(), task_of(wiring))
    assert found.log_values[0] == pytest.approx(best_value(wiring), abs=1e-9)


@in_blocks("seed", range(100))
def test_roof_duality_of_larger_factors(seed):
    rng = np.random.default_rng([seed, 4])
    wiring = Wiring.of(random_groups(rng))
    joint = [np.array(c, np.int64) for c in itertools.product(range(2), repeat=5)]
    values = [wiring.log_value(codes) for codes in joint]
    found = assign(ss.QPBO(), task_of(wiring))
    assert found.log_values[0] <= max(values) + 1e-9 <= found.bound + 2e-9
    assert found.certificate.check()
    for codes, value in zip(joint, values, strict=True):
        assert wiring.log_value(np.where(found.persistent, found.codes[0], codes)) >= value - 1e-9


@in_blocks("seed", range(40))
def test_expansions_of_groups_are_best_by_enumeration(seed):
    rng = np.random.default_rng([seed, 5])
    wiring = Wiring.of(random_groups(rng, states=3, kinds="g", n=5))
    codes = rng.integers(3, size=5)
    for alpha in range(3):
        energy = move_energy(wiring, codes, np.full(5, alpha), ss.AlphaExpansion())
        assert energy.is_submodular
        found = fused(wiring, codes, np.full(5, alpha), ss.AlphaExpansion())
        choices = (np.where(chosen, alpha, codes) for chosen in itertools.product([False, True], repeat=5))
        assert wiring.log_value(found) == pytest.approx(max(wiring.log_value(c) for c in choices), abs=1e-9)


def grouped(logs, num, weight, limit):
    """Variables with their own log values in groups of a number each, and the best log value by hand."""
    n, states = logs.shape
    pixel = ss.Discrete.array("pixel", (n,), states=states)
    groups = FactorBlock(np.arange(n).reshape(-1, num), (states,) * num, values=RobustPotts(weight, limit))
    net = ss.MarkovNet(
        FactorBlock(np.arange(n)[:, None], (states,), values=logs, space="log"), groups, variables=[pixel]
    )
    best = 0.0
    for part in logs.reshape(-1, num, states):
        free = part.max(axis=1).sum()
        losses = [np.sort(part.max(axis=1) - part[:, state])[::-1] for state in range(states)]
        kept = [free - loss[k:].sum() + weight * (1 - k / limit) for loss in losses for k in range(limit)]
        best += max([free, *kept])  # the exceptions are those that lose most
    return net, best


def test_groups_of_hundreds_need_no_table():
    net, expected = grouped(np.random.default_rng(6).normal(size=(400, 4)), 200, 60.0, 40)
    found = ss.map_assignment(net, method=ss.AlphaExpansion())
    assert expected - 0.02 * abs(expected) <= found.log_value <= expected + 1e-9
    with pytest.raises(ss.errors.NotApplicable, match=r"which has 2.58e\+120 entries over 200 variables"):
        ss.map_assignment(net, method=ss.MPLP())
    small, expected = grouped(np.random.default_rng(7).normal(size=(80, 3)), 40, 25.0, 2)
    assert ss.map_assignment(small, method=ss.CliqueTree()).log_value == pytest.approx(expected, abs=1e-8)
    assert ss.map_assignment(small, method=ss.AlphaExpansion()).log_value <= expected + 1e-9


def test_what_does_not_reduce_is_named():
    bits = [ss.Discrete(f"b{i}") for i in range(4)]
    hard = FactorBlock([[0, 1, 2]], (2, 2, 2), values=np.r_[0.0, np.ones(7)])
    with pytest.raises(ss.errors.NotApplicable, match=r"factor 0 over 3 variables \('b0', 'b1', 'b2'\) has impossib"):
        ss.map_assignment(ss.MarkovNet(hard, variables=bits), method=ss.QPBO())
    apart = FactorBlock([[0, 1, 2, 3]], (2,) * 4, values=RobustPotts(-1.0))
    with pytest.raises(ss.errors.NotApplicable, match="favors unequal states"):
        ss.map_assignment(ss.MarkovNet(apart, variables=bits), method=ss.MinCut())
    odd = FactorBlock([[0, 1, 2]], (2,) * 3, values=Cardinality((0.0, -np.inf, 0.0, 1.0)))
    with pytest.raises(ss.errors.NotApplicable, match="impossible sums"):
        ss.map_assignment(ss.MarkovNet(odd, variables=bits), method=ss.QPBO())


def test_pairs_that_meet_twice_are_one():
    terms = Terms(3)
    terms.join(np.array([0, 2]), np.array([1, 1]), np.array([1.0, 2.0]))
    terms.join(np.array([1]), np.array([0]), np.array([-4.0]))
    terms.merge()
    pairs, numbers = terms.joined()
    assert pairs.tolist() == [[0, 1], [1, 2]]
    assert numbers.tolist() == [-3.0, 2.0]
    assert choice_terms(Wiring.of(Problem(Universe([]), ())), np.zeros(0, int), np.zeros(0, int), None).constant == 0.0


def tables_of_counts(rng, n=6):
    """Tables of up to five variables, most of which a cut can take after an exchange of states."""
    variables, blocks = [ss.Discrete(f"v{i}") for i in range(n)], []
    flipped, is_mixed = rng.random(n) < rng.choice([0.0, 0.5]), rng.random() < 0.4
    for _ in range(int(rng.integers(1, 4))):
        scope = rng.permutation(n)[: rng.choice([2, 3, 3, 3, 4, 5])]
        logs = convex(rng, len(scope))[np.indices((2,) * len(scope)).sum(axis=0)]
        logs = np.flip(logs, [at for at, i in enumerate(scope.tolist()) if flipped[i]])
        logs = logs + rng.normal(size=logs.shape) if is_mixed and rng.random() < 0.4 else logs
        blocks.append(FactorBlock([scope.tolist()], logs.shape, values=logs, space="log"))
    return Wiring.of(Problem(Universe(variables), tuple(blocks)))


@in_blocks("seed", range(150))
def test_early_refusals_are_those_of_the_whole_reduction(seed):
    wiring = tables_of_counts(np.random.default_rng([seed, 8]))
    whole = BinaryEnergy.of(wiring, ss.MinCut()).submodular()
    assert has_cut(wiring) == (whole is not None)
    try:
        found = assign(ss.MinCut(), task_of(wiring))
    except ss.errors.NotApplicable:
        assert whole is None
    else:
        assert found.log_values[0] == pytest.approx(best_value(wiring), abs=1e-9)


def test_both_kinds_of_tables_occur():
    cuts = [has_cut(tables_of_counts(np.random.default_rng([seed, 8]))) for seed in range(150)]
    assert 30 < sum(cuts) < 120


@in_blocks("seed", range(20))
def test_pairs_of_polynomials_have_what_positive_products_add(seed):
    rng = np.random.default_rng([seed, 9])
    d = int(rng.integers(3, 6))
    made = Polynomials(np.arange(d)[None], np.where(rng.random((1, 2**d)) < 0.5, rng.normal(size=(1, 2**d)), 0.0))
    for (i, j), total, has in zip(made.couples, made.pairs[0][0], made.pairs[1][0], strict=True):
        above = [s for s in range(2**d) if s >> i & 1 and s >> j & 1 and s.bit_count() > 2]
        numbers = made.numbers[0, above]
        expected = made.numbers[0, (1 << i) + (1 << j)] + numbers[numbers > 0.0].sum()
        assert total == pytest.approx(expected, abs=1e-12)
        assert has == (numbers != 0.0).any()


def findings_of_ten(num):
    """Log values of tables of ten causes each, whose present findings favor unequal causes."""
    rng = np.random.default_rng(10)
    bits = [ss.Discrete(f"b{i}") for i in range(2 * num)]
    logs = np.log1p(-np.exp(-0.1 - 0.5 * np.indices((2,) * 10).sum(axis=0)))
    scopes = [rng.permutation(2 * num)[:10].tolist() for _ in range(num)]
    return ss.MarkovNet(FactorBlock(scopes, logs.shape, values=logs, space="log"), variables=bits)


def test_a_cut_that_does_not_exist_costs_no_auxiliary_variables(monkeypatch):
    def made(self, count):
        raise AssertionError(f"{count} auxiliary variables")

    wiring = Wiring.of(findings_of_ten(50).as_written())
    monkeypatch.setattr(Terms, "auxiliaries", made)
    assert not has_cut(wiring)
    with pytest.raises(ss.errors.NotApplicable, match="no exchange of states"):
        assign(ss.MinCut(), task_of(wiring))


def test_pairs_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    net = findings_of_ten(50)
    monkeypatch.setattr(Terms, "auxiliaries", None)
    monkeypatch.setattr(reductions, "machine_memory", lambda: 2**24)
    with pytest.raises(ss.errors.TooLarge, match=r"QPBO makes 3.*e\+05 pairs of larger factors"):
        ss.map_assignment(net, method=ss.QPBO())


def test_large_cuts_are_made_where_they_are_asked_for(monkeypatch):
    rng = np.random.default_rng(11)
    wiring = Wiring.of(random_groups(rng, kinds="c", friendly=True, n=6))
    assert has_cut(wiring)
    monkeypatch.setattr(mincut, "MOST_TRIED", 1)
    assert not has_cut(wiring)
    assert assign(ss.MinCut(), task_of(wiring)).guarantee is ss.Guarantee.EXACT
