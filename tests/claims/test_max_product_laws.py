"""Max-product on clique trees beside plain reimplementations and enumeration: sections 13.3 and 13.9, with exercises.

Oracles are `support.textbook` and the array of all log values; nothing is expected because the library said so.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.clusters import ClusterTree
from sepset.inference.exact.messages import calibrate
from support.enumerated import Case, random_case
from support.textbook import CliqueTree, reduced, spread

CHAIN = ((0, 1, 2), (1, 2, 3), (3, 4), (3, 5))
EDGES = ((0, 1), (1, 2), (1, 3))


@cache
def trees():
    """Models on one clique tree of four cliques, with and without zeros and ties, and the plain tree of each."""
    made = []
    for seed in range(24):
        rng = np.random.default_rng([seed, 13])
        cards = tuple(rng.integers(1 if seed % 5 == 0 else 2, 4, 6).tolist())
        scopes = [*CHAIN, (0,), (3,), (1, 3), (5, 3)]
        parts = []
        for scope in scopes:
            shape = [cards[v] for v in scope]
            logs = rng.integers(-2, 3, shape).astype(float) if seed % 2 else rng.normal(size=shape)
            parts.append((scope, np.where(rng.random(shape) < 0.12 * (seed % 3 == 0), -np.inf, logs)))
        case = Case(cards, tuple(parts))
        if case.best > -np.inf:
            made.append((case, CliqueTree(cards, parts, CHAIN, EDGES)))
    return made


def tables(case):
    return [ss.Table.from_log([case.variables[v] for v in scope], logs) for scope, logs in case.parts]


def as_logs(factor, case, scope):
    return np.asarray(factor.align([case.variables[v] for v in scope]).log_values)


def same(found, expected, atol=1e-9):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=atol, rtol=0)


def close(found, expected):
    """Equal logarithms, zeros included."""
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    same(np.where(np.isneginf(found), 0.0, found), np.where(np.isneginf(expected), 0.0, expected))


def test_messages_and_belief_updates_are_those_of_the_book():
    """Calibration by messages, by updates and by the library: the same max-marginals of cliques and of sepsets."""
    names = [tuple(f"v{v}" for v in clique) for clique in CHAIN]
    for case, plain in trees():
        found = calibrate(ClusterTree(names, EDGES), tables(case), ss.factors.MAX)
        *_, (updated, _) = plain.updates(np.random.default_rng(0), 8)
        for i, clique in enumerate(CHAIN):
            expected = reduced(case.logs, clique)
            close(plain.belief(i), expected)
            close(updated[i], expected)
            close(spread(case.cards, clique, as_logs(found.beliefs[i], case, clique)), expected)
        for e, (i, j) in enumerate(EDGES):
            product = plain.message(i, j) + plain.message(j, i)  # equation 13.11
            close(product, reduced(case.logs, plain.sepsets[e]))
            sepset = plain.sepsets[e]
            close(spread(case.cards, sepset, as_logs(found.sepset_beliefs[e], case, sepset)), product)


def test_every_belief_update_leaves_the_model():
    """Proposition 13.2: the quotient of beliefs is the model before the first and after every message."""
    for case, plain in trees():
        at = case.logs > -np.inf
        for beliefs, own in plain.updates(np.random.default_rng(1), 2):
            total = sum(np.broadcast_to(b, case.logs.shape) for b in beliefs)
            total = total - sum(np.where(np.isneginf(m), 0.0, m) for m in own)
            same(total[at], case.logs[at])


def test_a_ratio_of_a_table_and_its_maxima_is_largest_where_the_table_is():
    """Lemma 13.1, for tables of any shape and every subset of their axes."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        logs = rng.integers(-3, 4, rng.integers(1, 4, 3)).astype(float)
        for keep in itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in range(4)):
            ratio = logs - reduced(logs, keep)
            assert ratio.max() <= 0.0
            assert (ratio[logs == logs.max()] == 0.0).all()


def test_clusters_with_one_maximum_each_agree_on_what_they_share():
    """Exercise 13.9: unique maxima of calibrated clusters are parts of one assignment, the best one."""
    seen = 0
    for case, plain in trees():
        beliefs = [plain.belief(i) for i in range(len(CHAIN))]
        if any((np.abs(b - b.max()) < 1e-9).sum() > 1 for b in beliefs):
            continue
        seen += 1
        best = np.unravel_index(case.logs.argmax(), case.cards)
        for belief, clique in zip(beliefs, CHAIN, strict=True):
            at = np.unravel_index(belief.argmax(), belief.shape)
            assert all(at[v] == best[v] for v in clique)
        assert ss.max_marginals(case.net).is_unique
    assert seen >= 4


def test_the_second_and_the_third_best_from_max_marginals():
    """Exercises 13.5 and 13.6: the largest other max-marginal; then the same on either side of a difference."""
    for case, _ in trees():
        ranked = np.sort(case.logs[case.logs > -np.inf])[::-1]
        found = ss.map_assignment(case.net, k=3)
        same(found.log_values, ranked[:3])
        codes = [tuple(a[f"v{i}"] for i in range(6)) for a in found.assignments]
        assert len(set(codes)) == len(codes)
        for one, value in zip(codes, found.log_values, strict=True):
            assert case.logs[one] == pytest.approx(value, abs=1e-9)
        if len(codes) < 3:
            continue
        k = next(i for i in range(6) if codes[0][i] != codes[1][i])
        sides = []
        is_first = spread(case.cards, (k,), np.arange(case.cards[k])) == codes[0][k]
        for kept in (is_first, ~is_first):
            sides.append(np.sort(np.where(kept, case.logs, -np.inf), axis=None)[-2])
        assert found.log_values[2] == pytest.approx(max(sides), abs=1e-9)


def test_tied_models_with_tiny_noise_have_one_of_their_best():
    """Noise below the gap of scores, never on zeros: the only best assignment was among the best before."""
    seen = 0
    for case, _ in trees():
        values = np.unique(np.round(case.logs[case.logs > -np.inf], 9))
        if len(values) < 2 or values[-1] - values[-2] < 0.5:
            continue
        rng, seen = np.random.default_rng(3), seen + 1
        noisy = Case(case.cards, tuple((s, t + 1e-4 * rng.random(t.shape)) for s, t in case.parts))
        best = noisy.logs.max()
        assert (noisy.logs > best - 1e-12).sum() == 1
        found = ss.map_assignment(noisy.net)
        assert case.logs[tuple(found.codes)] == pytest.approx(case.best, abs=1e-9)
        assert abs(best - case.best) <= 1e-4 * len(case.parts)
    assert seen >= 5


def test_cutsets_rules_and_energies():
    """Exercise 13.21a, exercise 13.2, and minus the logarithm: the maximum over a cutset of maxima given its states."""
    for case, _ in trees()[:10]:
        by_cases = [case.logs[:, a, b].max() for a in range(case.cards[1]) for b in range(case.cards[2])]
        assert max(by_cases) == case.best
        method = ss.inference.CutsetConditioning(memory=2000)
        assert ss.map_assignment(case.net, method=method).log_value == pytest.approx(case.best, abs=1e-9)
    a, b = ss.Discrete("a", 3), ss.Discrete("b")
    energies = np.array([[0.0, 2.0], [np.inf, 1.0], [0.5, 0.25]])
    net = ss.MarkovNet.pairwise_energies({a: [1.0, 0.0, 1.0]}, {(a, b): energies})
    total = energies + np.array([[1.0], [0.0], [1.0]])
    found = ss.map_assignment(net, k=6)
    same(found.log_values, -np.sort(total[np.isfinite(total)]))  # the pair of infinite energy is not listed
    assert (found.assignment["a"], found.assignment["b"]) == np.unravel_index(total.argmin(), total.shape)


def rule_net(rng):
    """A tree of contexts for a child of three parents, and its table by hand."""
    a, b, c, d = (ss.Discrete(n) for n in "abcd")
    p = rng.dirichlet([1.0, 1.0], 4)
    contexts = [{a: 0}, {a: 1, b: 0}, {a: 1, b: 1, c: 0}, {a: 1, b: 1, c: 1}]
    rules = [ss.cpds.Rule({**x, d: s}, row[s]) for x, row in zip(contexts, p, strict=True) for s in (0, 1)]
    table = np.empty((2, 2, 2, 2))
    for i, j, k in itertools.product((0, 1), repeat=3):
        table[i, j, k] = p[0] if i == 0 else p[1] if j == 0 else p[2 + k]
    roots = rng.dirichlet([1.0, 1.0], 3)
    priors = [ss.TableCPD(v, row) for v, row in zip((a, b, c), roots, strict=True)]
    joint = np.einsum("i,j,k,ijkl->ijkl", *roots, table)
    return ss.BayesNet(*priors, ss.RuleCPD(d, rules, given=[a, b, c])), joint


def test_rules_have_the_best_assignment_of_their_table():
    for seed in range(20):
        net, joint = rule_net(np.random.default_rng(seed))
        found = ss.map_assignment(net, k=16)
        same(found.log_values, np.sort(np.log(joint), axis=None)[::-1])
        assert tuple(found.assignment[n] for n in "abcd") == np.unravel_index(joint.argmax(), joint.shape)
        some = ss.map_assignment(net, over=["a", "c"])  # exercise 13.4: only the maxima are traced back
        sums = joint.sum(axis=(1, 3))
        assert tuple(some.assignment[n] for n in "ac") == np.unravel_index(sums.argmax(), sums.shape)
        assert some.log_value == pytest.approx(np.log(sums.max()))


def viterbi(start, move, emit, seen):
    """The best path of a hidden chain, by the recursion of a textbook."""
    score, back = np.log(start) + np.log(emit[:, seen[0]]), []
    for symbol in seen[1:]:
        ways = score[:, None] + np.log(move)
        back.append(ways.argmax(axis=0))
        score = ways.max(axis=0) + np.log(emit[:, symbol])
    path = [int(score.argmax())]
    for step in reversed(back):
        path.append(int(step[path[-1]]))
    return path[::-1], float(score.max())


def test_viterbi_is_the_best_assignment_of_a_chain():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        states, symbols, length = 3, 4, 12
        start, move = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
        emit, seen = rng.dirichlet(np.ones(symbols), states), rng.integers(symbols, size=length)
        hidden = [ss.Discrete(f"x{t}", states) for t in range(length)]
        shown = [ss.Discrete(f"y{t}", symbols) for t in range(length)]
        cpds = [ss.TableCPD(hidden[0], start)]
        cpds += [ss.TableCPD(hidden[t], move, given=hidden[t - 1]) for t in range(1, length)]
        cpds += [ss.TableCPD(y, emit, given=x) for x, y in zip(hidden, shown, strict=True)]
        path, value = viterbi(start, move, emit, seen)
        given = {f"y{t}": int(s) for t, s in enumerate(seen)}
        for method in (None, ss.VariableElimination(), ss.inference.BeliefUpdate(), ss.LoopyBP()):
            found = ss.map_assignment(ss.BayesNet(*cpds), given=given, method=method)
            assert [found.assignment[f"x{t}"] for t in range(length)] == path
            assert found.log_value == pytest.approx(value)


@pytest.mark.parametrize("method", [None, ss.VariableElimination(), ss.LoopyBP()])
def test_all_assignments_of_small_models_in_order(method):
    """M best by clique trees, by elimination and by best max-marginal first: sorted, different, complete."""
    for seed in range(12):
        case = random_case(np.random.default_rng([seed, 5]), most=4, zeros=0.2 * (seed % 2), whole=seed % 3 == 0)
        forest = case if method is None else Case(case.cards, tuple(p for p in case.parts if len(p[0]) == 1))
        if forest.best == -np.inf:
            continue
        expected = np.sort(forest.logs[forest.logs > -np.inf])[::-1]
        found = ss.map_assignment(forest.net, k=len(expected) + 3, method=method)
        same(found.log_values, expected)
        assert len({tuple(a.values()) for a in found.assignments}) == len(expected)
