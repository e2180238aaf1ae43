"""Constraints over many variables: parity checks, at-least-one, all-different, without the table of all joint states.

A parity of n bits passes one bit along a chain; at-least-one passes whether one was seen; all-different passes the set
of states used. So their cost is a few entries for each variable, and long codes are ordinary problems.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest

import sepset as ss
from sepset.factors.potentials import Automaton
from support.tolerances import CLOSE

NUM_BITS = 60
CHANCES = np.random.default_rng(0).uniform(0.02, 0.4, NUM_BITS)
BITS = [ss.Discrete(f"b{i}") for i in range(NUM_BITS)]
CHECKS = [tuple(range(0, 40)), tuple(range(15, 60)), tuple(range(0, 60, 2))]


def unary(bits, chances):
    return [ss.Table((b,), [1.0 - p, p]) for b, p in zip(bits, chances, strict=True)]


def code(checks, num_bits=NUM_BITS):
    """Independent bits under parity checks: a received word of a linear code."""
    blocks = [ss.potentials.over_scopes([[BITS[i] for i in check]], ss.potentials.Parity()) for check in checks]
    return ss.MarkovNet(*unary(BITS[:num_bits], CHANCES[:num_bits]), *blocks)


def log_partition(checks, chances):
    r"""$Z = 2^{-m} \sum_s \prod_i (1 - p_i + (-1)^{s \cdot h_i} p_i)$: a sum over characters of m checks."""
    total = 0.0
    for signs in itertools.product((0, 1), repeat=len(checks)):
        flips = [sum(s for s, check in zip(signs, checks, strict=True) if i in check) for i in range(len(chances))]
        total += np.prod(np.where(np.mod(flips, 2) == 1, 1.0 - 2.0 * chances, 1.0))
    return np.log(total / 2 ** len(checks))


def posterior(checks, chances, place, seen=None):
    """P(bit = 1 | checks, findings), from two partition functions."""
    fixed = chances.copy()
    for i, bit in (seen or {}).items():
        fixed[i] = float(bit)
    on, off = fixed.copy(), fixed.copy()
    on[place], off[place] = 1.0, 0.0
    odds = np.exp(log_partition(checks, on) - log_partition(checks, off)) * chances[place] / (1.0 - chances[place])
    return odds / (1.0 + odds)


def best_word(checks, chances):
    """The log weight of the best word that satisfies all checks: a pass over the bits with the syndrome as state."""
    best = {(0,) * len(checks): 0.0}
    for i, p in enumerate(chances):
        new = {}
        for syndrome, value in best.items():
            flipped = tuple((s + (i in check)) % 2 for s, check in zip(syndrome, checks, strict=True))
            for state, gain in ((syndrome, np.log(1.0 - p)), (flipped, np.log(p))):
                new[state] = max(new.get(state, -np.inf), value + gain)
        best = new
    return best[(0,) * len(checks)]


@pytest.mark.parametrize("checks", [CHECKS[:1], CHECKS[:2], CHECKS], ids=["one", "two", "three"])
def test_bits_under_long_parity_checks(checks):
    found = ss.marginals(code(checks))
    for place in (0, 17, 33, 59):
        assert found[f"b{place}"].values[1] == pytest.approx(posterior(checks, CHANCES, place), abs=CLOSE)


@pytest.mark.parametrize("checks", [CHECKS[:1], CHECKS], ids=["one", "three"])
def test_the_weight_of_all_words(checks):
    assert float(ss.log_partition(code(checks))) == pytest.approx(log_partition(checks, CHANCES), abs=CLOSE)


@pytest.mark.parametrize("checks", [CHECKS[:1], CHECKS], ids=["one", "three"])
def test_the_best_word(checks):
    found = ss.map_assignment(code(checks))
    word = np.array([found.assignment[b.name] for b in BITS])
    assert all(word[list(check)].sum() % 2 == 0 for check in checks)
    assert found.log_value == pytest.approx(best_word(checks, CHANCES), abs=CLOSE)
    assert found.log_value == pytest.approx(np.log(np.where(word == 1, CHANCES, 1.0 - CHANCES)).sum(), abs=CLOSE)


def test_findings_reach_a_check_before_it_becomes_a_factor():
    """All bits but two are seen: what remains is whether the two are equal."""
    seen = {i: int(i % 3 == 0) for i in range(40) if i not in (4, 9)}
    found = ss.query(code(CHECKS[:1]), "b4", given={f"b{i}": bit for i, bit in seen.items()})
    assert found.values[1] == pytest.approx(posterior(CHECKS[:1], CHANCES, 4, seen), abs=CLOSE)


def test_draws_of_words_satisfy_the_checks():
    words = ss.sample(code(CHECKS), 200, seed=0).to_frame("pandas").to_numpy()
    for check in CHECKS:
        assert (words[:, list(check)].sum(axis=1) % 2 == 0).all()


def test_bits_under_short_parity_checks():
    checks = [(0, 1, 2, 3), (2, 3, 5, 6), (0, 4, 6, 7)]
    found = ss.marginals(code(checks, num_bits=8))
    for place in range(8):
        assert found[f"b{place}"].values[1] == pytest.approx(posterior(checks, CHANCES[:8], place), abs=CLOSE)


def test_at_least_one_of_many():
    """Z = 1 - prod(1 - p), and a bit is on with probability p / Z."""
    net = ss.MarkovNet(*unary(BITS, CHANCES), ss.potentials.over_scopes([BITS], ss.potentials.AtLeastOne()))
    total = 1.0 - np.prod(1.0 - CHANCES)
    assert float(ss.log_partition(net)) == pytest.approx(np.log(total), abs=CLOSE)
    assert ss.query(net, "b7").values[1] == pytest.approx(CHANCES[7] / total, abs=CLOSE)
    best = ss.map_assignment(net).assignment
    assert [i for i in range(NUM_BITS) if best[f"b{i}"]] == [int(CHANCES.argmax())]


def test_the_last_of_many_must_be_on_where_all_others_are_off():
    net = ss.MarkovNet(*unary(BITS, CHANCES), ss.potentials.over_scopes([BITS], ss.potentials.AtLeastOne()))
    assert ss.query(net, "b7", given={b.name: 0 for b in BITS if b.name != "b7"}).values.tolist() == [0.0, 1.0]


SEATS = [ss.Discrete(f"s{i}", 12) for i in range(12)]


def test_all_different_counts_permutations():
    """Twelve guests on twelve seats; the first likes the first seat three times as much: Z = 14 * 11!."""
    likes = ss.Table((SEATS[0],), [3.0] + [1.0] * 11)
    net = ss.MarkovNet(likes, ss.potentials.over_scopes([SEATS], ss.potentials.AllDifferent()))
    assert float(ss.log_partition(net)) == pytest.approx(math.log(14) + math.lgamma(12), abs=CLOSE)
    assert ss.query(net, "s0").values.tolist() == pytest.approx([3 / 14] + [1 / 14] * 11, abs=CLOSE)
    assert ss.query(net, "s1").values.tolist() == pytest.approx([1 / 14] + [13 / 154] * 11, abs=CLOSE)


def test_the_last_guest_takes_the_last_seat():
    net = ss.MarkovNet(ss.potentials.over_scopes([SEATS], ss.potentials.AllDifferent()))
    found = ss.query(net, "s11", given={f"s{i}": (5 * i) % 12 for i in range(11)})
    assert found.values.tolist() == [float(seat == (5 * 11) % 12) for seat in range(12)]


@pytest.mark.parametrize(
    "potential", [ss.potentials.Parity(), ss.potentials.AtLeastOne()], ids=["parity", "at least one"]
)
def test_the_plan_of_a_constraint_grows_with_its_variables_and_not_with_their_joint_states(potential):
    """A chain of auxiliaries: some entries for each variable."""
    for number in (8, 12, 16):
        net = ss.MarkovNet(
            *unary(BITS[:number], CHANCES[:number]), ss.potentials.over_scopes([BITS[:number]], potential)
        )
        assert ss.plan(net).largest <= 16
        assert ss.plan(net).total_size <= 32 * number


def test_planning_builds_no_table():
    """Twenty bits: their table would take eight megabytes."""
    net = ss.MarkovNet(*unary(BITS[:20], CHANCES[:20]), ss.potentials.over_scopes([BITS[:20]], ss.potentials.Parity()))
    ss.plan(code([(0, 1, 2)], num_bits=3))
    tracemalloc.start()
    try:
        ss.plan(net)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_plan_tells_what_the_best_assignment_of_some_variables_costs():
    """Features below a class that is summed out first are one table of them all; the best of everything is not."""
    c, xs = ss.Discrete("c"), [ss.Discrete(f"x{i}") for i in range(10)]
    net = ss.BayesNet(ss.TableCPD(c, [0.4, 0.6]), *(ss.TableCPD(x, [[0.7, 0.3], [0.2, 0.8]], given=c) for x in xs))
    assert ss.plan(net, over=[x.name for x in xs]).largest == 2**11
    assert ss.plan(net, over=[v.name for v in net.variables]).largest == 4


def test_constraints_may_list_their_variables_in_any_order():
    """Bits in a row, and a parity and a number of ones over shuffled bits: sums over (bit, number) are exact."""
    rng = np.random.default_rng(5)
    links, log_numbers = rng.uniform(0.1, 1.0, (NUM_BITS - 1, 2, 2)), rng.normal(size=NUM_BITS + 1)
    shuffled = [[BITS[i] for i in rng.permutation(NUM_BITS)] for _ in range(2)]
    constraints = [ss.potentials.Parity(), ss.potentials.Cardinality(tuple(log_numbers))]
    net = ss.MarkovNet(
        *(ss.Table(BITS[i : i + 2], link) for i, link in enumerate(links)),
        *(ss.potentials.over_scopes([s], c) for s, c in zip(shuffled, constraints, strict=True)),
    )
    sums = np.zeros((2, NUM_BITS + 1))
    sums[0, 0] = sums[1, 1] = 1.0
    for link in links:
        off = np.einsum("xn,x->n", sums, link[:, 0])
        on = np.einsum("xn,x->n", sums, link[:, 1])
        sums = np.stack([off, np.append(0.0, on[:-1])])
    even = np.arange(0, NUM_BITS + 1, 2)
    expected = np.log((sums.sum(axis=0)[even] * np.exp(log_numbers[even])).sum())
    assert float(ss.log_partition(net)) == pytest.approx(expected, rel=1e-12)
    assert ss.plan(net).largest <= 4 * 4 * (NUM_BITS + 1) ** 2


def test_an_order_that_matters_is_kept():
    """No two ones side by side, in the order in which they are listed, is no function of a set of bits."""

    class Apart(ss.potentials.Potential):
        def check(self, cards):
            pass

        def log_values(self, codes):
            return np.where((codes[..., 1:] & codes[..., :-1]).any(axis=-1), -np.inf, 0.0)

        def automata(self, cards):
            return (Automaton(np.zeros(2), lambda last, code: np.where(last & code, -1, code)),)

    listed = [BITS[i] for i in (*range(0, 20, 2), *range(1, 20, 2))]
    pairs = [ss.Table(BITS[i : i + 2], [[1.0, 1.0], [1.0, 1.0]]) for i in range(19)]
    net = ss.MarkovNet(*pairs, ss.potentials.over_scopes([listed], Apart()))
    counts = [1, 2]  # of words of 0 and 1 letters
    for _ in range(19):
        counts.append(counts[-1] + counts[-2])
    assert float(ss.log_partition(net)) == pytest.approx(np.log(counts[20]), rel=1e-12)
