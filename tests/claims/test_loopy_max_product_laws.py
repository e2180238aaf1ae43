"""Loopy, convex and tree-reweighted max-product beside plain reimplementations: section 13.4 with its corrections.

Oracles are `support.textbook`, SciPy's linear programs and the array of all log values.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

import sepset as ss
from sepset.inference.propagation.counting import convex_split
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.enumerated import Case, random_case
from support.textbook import Reweighted, Weighted, num_cycles, reduced, relaxed, spread, star_updates

I = ss.inference
TIED = 1e-6
EXACT = ss.Until(steps=4000, tolerance=1e-13)


def pairs_case(seed, n=4, states=2, edges=None, scale=1.0, field=1.0, spins=False):
    """Pairs with normal log values, or normal ones of equal states alone; each variable with its own."""
    rng = np.random.default_rng(seed)
    edges = list(itertools.combinations(range(n), 2)) if edges is None else edges
    parts = [((i,), field * rng.normal(size=states)) for i in range(n)]
    shape = (1, 1) if spins else (states, states)
    parts += [(edge, scale * rng.normal(size=shape) * (np.eye(states) if spins else 1.0)) for edge in edges]
    return Case((states,) * n, tuple(parts))


def folded(case):
    """The factors of two variables, each with a share of the log values of its variables: factors on regions only."""
    degrees = np.bincount([v for scope, _ in case.parts if len(scope) > 1 for v in scope], minlength=len(case.cards))
    own = {scope[0]: logs for scope, logs in case.parts if len(scope) == 1}
    made = []
    for scope, logs in case.parts:
        if len(scope) > 1:
            i, j = scope
            made.append((scope, logs + (own[i] / degrees[i])[:, None] + own[j] / degrees[j]))
    return made


def bethe_beliefs(case, passes=400, damping=0.3):
    """Plain max-product on the Bethe graph: log beliefs of variables and of factors, and whether it converged."""
    n, big = len(case.cards), [k for k, (scope, _) in enumerate(case.parts) if len(scope) > 1]
    psi = {k: spread(case.cards, *case.parts[k]) for k in big}
    own = [np.zeros([c if v == i else 1 for v, c in enumerate(case.cards)]) for i in range(n)]
    for scope, logs in case.parts:
        if len(scope) == 1:
            own[scope[0]] = own[scope[0]] + spread(case.cards, scope, logs)
    sent = {(k, i): 0.0 * own[i] for k in big for i in case.parts[k][0]}

    def single(i):
        return own[i] + sum(m for (_, j), m in sent.items() if j == i)

    for _ in range(passes):
        change = 0.0
        for k, i in sent:
            total = psi[k] + sum(single(j) - sent[k, j] for j in case.parts[k][0] if j != i)
            new = reduced(total, (i,))
            new = damping * sent[k, i] + (1 - damping) * (new - new.max())
            change = max(change, float(np.abs(new - sent[k, i]).max()))
            sent[k, i] = new
        if change < 1e-11:
            break
    factors = {k: psi[k] + sum(single(j) - sent[k, j] for j in case.parts[k][0]) for k in big}
    return [single(i) - single(i).max() for i in range(n)], {k: b - b.max() for k, b in factors.items()}, change < 1e-11


def optimal(case, singles, regions):
    """The assignments at which all beliefs have their maxima."""
    total = sum(np.minimum(b, 0.0) for b in [*singles, *regions])
    return np.broadcast_to(total, case.cards) > -TIED


def test_loopy_beliefs_and_decoding_are_those_of_plain_messages():
    """The same fixed points, and an assignment at which all agree exactly where one exists."""
    compared = decoded = 0
    for seed in range(24):
        case = pairs_case([seed, 1], n=4, states=2 + seed % 2, scale=0.4 + 0.3 * (seed % 4))
        singles, factors, has_converged = bethe_beliefs(case)
        found = ss.max_marginals(case.net, method=ss.LoopyBP(0.3, until=ss.Until(steps=400, tolerance=1e-11)))
        if not has_converged or found.status is not ss.Status.CONVERGED:
            continue
        logs = [np.asarray(found[f"v{i}"].log_values) for i in range(4)]
        if max(np.abs(b.reshape(-1) - (x - x.max())).max() for b, x in zip(singles, logs, strict=True)) > 1e-6:
            continue  # another fixed point
        compared += 1
        for k, belief in factors.items():
            scope = case.parts[k][0]
            joint = np.asarray(found[tuple(f"v{i}" for i in scope)].log_values)
            np.testing.assert_allclose(spread(case.cards, scope, joint - joint.max()), belief, atol=1e-6)
        agree = optimal(case, singles, factors.values())
        assert bool(found.info["locally_optimal"]) == bool(agree.any())
        best = ss.map_assignment(case.net, method=ss.LoopyBP(0.3, until=ss.Until(steps=400, tolerance=1e-11)))
        if agree.any():
            decoded += 1
            assert best.log_value >= case.logs[agree].max() - 1e-6
        clamped = tuple(int(b.argmax()) if (b > -TIED).sum() == 1 else slice(None) for b in map(np.ravel, singles))
        assert best.log_value >= case.logs[clamped].max() - 1e-6  # exact given what is unambiguous
    assert compared >= 12
    assert 4 <= decoded <= compared


def test_covered_subsets_are_exactly_those_with_at_most_one_loop_each():
    """Theorem 13.7: all 512 subsets of a grid of nine, and all changes of those that are covered."""
    cells = [(r, c) for r in range(3) for c in range(3)]
    edges = [(i, j) for i, j in itertools.combinations(range(9), 2) if
             sum(abs(a - b) for a, b in zip(cells[i], cells[j], strict=True)) == 1]  # fmt: skip
    certified = 0
    for seed in range(5):
        case = pairs_case([seed, 2], n=9, edges=edges, scale=0.6, field=1.5)
        found = ss.map_assignment(case.net, method=ss.LoopyBP(until=EXACT))
        if not isinstance(found.certificate, I.StrongLocalMaximum):
            continue
        certified += 1
        codes = tuple(found.codes.tolist())
        for chosen in itertools.product((False, True), repeat=9):
            inside = [e for e in edges if chosen[e[0]] and chosen[e[1]]]
            few = max(num_cycles(9, inside).values()) <= 1
            assert found.certificate.covers([f"v{i}" for i in range(9) if chosen[i]]) == few
            if few:
                index = tuple(slice(None) if c else code for c, code in zip(chosen, codes, strict=True))
                assert case.logs[index].max() <= found.log_value + 1e-6
    assert certified >= 2


@in_blocks("seed", range(12))
def test_one_loop_is_proved_where_it_is_decoded(seed):
    rng = np.random.default_rng([seed, 3])
    n = int(rng.integers(3, 6))
    case = pairs_case([seed, 4], n=n, states=2 + seed % 2, edges=[(i, (i + 1) % n) for i in range(n)])
    found = ss.map_assignment(case.net, method=ss.LoopyBP(until=EXACT))
    assert found.bound >= case.best - 1e-9
    if found.info["locally_optimal"]:
        assert found.log_value == pytest.approx(case.best, abs=1e-9)
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT


@pytest.mark.parametrize("numbers", [(1.0, 0.5), (1.0, 2.0), (0.7, 1.0), (1.5, 0.3)])
def test_messages_with_counting_numbers(numbers):
    """Algorithm 13.3, corrected: the product of powers is the model after every pass; sums have one fixed point."""
    for seed in range(4):
        case = pairs_case([seed, 5], states=2 + seed % 2)
        plain = Weighted(case.cards, folded(case), *numbers)
        for _ in range(5):
            plain.pass_once()
            assert np.ptp(plain.product() - case.logs) < 1e-9
        sums = Weighted(case.cards, folded(case), *numbers, is_max=False)
        assert sums.converged()
        found = ss.marginals(case.net, method=I.ConvexBP(*numbers, until=EXACT))
        for i in range(4):
            np.testing.assert_allclose(found[f"v{i}"].values, np.exp(sums.single(i)).reshape(-1), atol=1e-7)
        for scope, r in ((scope, r) for r, scope in enumerate(sums.scopes)):
            for i in scope:  # calibrated
                assert reduced(sums.region(r), (i,), is_max=False) == pytest.approx(sums.single(i), abs=1e-9)


def test_convex_beliefs_prove_what_they_agree_on_and_only_where_the_program_is_tight():
    """Theorems 13.8 and 13.10, corollary 13.4: by plain messages and by the library."""
    seen = {"tight": 0, "loose": 0, "persistent": 0}
    for seed in range(16):
        case = pairs_case([seed, 6], scale=2.0, field=0.3, spins=seed % 4 > 0)
        gap = relaxed(case.cards, case.parts) - case.best
        plain = Weighted(case.cards, folded(case), 1.0, 1.0)
        if not plain.converged(600, 0.1, 1e-9):
            continue
        agree = optimal(case, map(plain.single, range(4)), map(plain.region, range(len(plain.psi))))
        method = I.ConvexBP(1.0, 1.0, until=EXACT)
        found = ss.map_assignment(case.net, method=method)
        seen["loose" if gap > 1e-5 else "tight"] += 1
        assert bool(agree.any()) == (gap < 1e-5) == bool(found.info["locally_optimal"])
        assert found.bound >= case.best - 1e-9
        if agree.any():
            assert case.logs[agree].min() == pytest.approx(case.best, abs=1e-5)
            assert found.log_value == pytest.approx(case.best, abs=1e-9)
            best = case.logs > case.best - 1e-9
            assert agree[best].all()  # every best assignment has states of locally optimal ones
            seen["persistent"] += 1
    assert min(seen.values()) >= 3


def definition_is_feasible(cards, scopes, factor, variable):
    """Definition 11.4 by a linear program over all of its numbers."""
    slots = [(r, i) for r, scope in enumerate(scopes) for i in scope]
    num, n = len(scopes), len(cards)
    rows, right = [], []
    for r in range(num):
        row = np.zeros(num + n + len(slots))
        row[r] = 1.0
        row[[num + n + s for s, (k, _) in enumerate(slots) if k == r]] = 1.0
        rows.append(row)
        right.append(factor[r])
    for i in range(n):
        row = np.zeros(num + n + len(slots))
        row[num + i] = 1.0
        row[[num + n + s for s, (_, j) in enumerate(slots) if j == i]] = -1.0
        rows.append(row)
        right.append(variable[i])
    solved = linprog(np.zeros(num + n + len(slots)), A_eq=np.array(rows), b_eq=right, bounds=(0, None))
    return solved.status == 0


def test_convexity_is_that_of_the_definition():
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng([seed, 7])
        edges = [e for e in itertools.combinations(range(5), 2) if rng.random() < 0.5] or [(0, 1)]
        case = pairs_case(seed, n=5, edges=edges)
        wiring = Wiring.of(case.net.as_written())
        factor = rng.uniform(0.2, 1.5, len(edges))
        variable = rng.uniform(-1.5, 0.5, 5)
        counts = variable + np.bincount(np.ravel(edges), np.repeat(factor, 2), 5)
        found = convex_split(wiring, factor, counts)
        expected = definition_is_feasible(case.cards, edges, factor, variable)
        assert (found is not None) == expected
        seen.add(expected)
    assert seen == {True, False}


def tree_probabilities(n, edges):
    """The share of all spanning trees that have each edge."""
    trees = [t for t in itertools.combinations(range(len(edges)), n - 1) if
             set(num_cycles(n, [edges[e] for e in t]).values()) == {0} and
             len(num_cycles(n, [edges[e] for e in t])) == 1]  # fmt: skip
    return {edge: float(np.mean([e in t for t in trees])) for e, edge in enumerate(edges)}


def test_tree_reweighted_messages_with_the_right_exponent():
    """Equation 13.17 with exponent rho: the model after every pass; with the printed one it is another model."""
    edges = list(itertools.combinations(range(4), 2))
    rho = tree_probabilities(4, edges)
    assert rho == pytest.approx(dict.fromkeys(edges, 0.5))
    for seed in range(6):
        case = pairs_case([seed, 8], states=2 + seed % 2)
        own, pairs = [logs for _, logs in case.parts[:4]], dict(case.parts[4:])
        plain = Reweighted(case.cards, own, pairs, rho)
        for _ in range(5):
            plain.pass_once(0.3)
            assert np.ptp(plain.product() - case.logs) < 1e-9
        sums = Reweighted(case.cards, own, pairs, rho, is_max=False)
        assert sums.converged()
        found = ss.marginals(case.net, method=ss.TreeReweighted(until=EXACT))
        entropy = 0.0
        for i in range(4):
            b = np.exp(sums.single(i)).reshape(-1)
            np.testing.assert_allclose(found[f"v{i}"].values, b, atol=1e-7)
            entropy -= b @ np.log(b) * (1.0 - 3 * 0.5)
        energy = sum(float((np.exp(sums.single(i)) * sums.unary[i]).sum()) for i in range(4))
        for edge in edges:
            b = np.exp(sums.pair(*edge))
            energy += float((b * sums.pairs[edge]).sum())
            entropy -= float((b * np.log(b)).sum()) * 0.5
        log_z = np.logaddexp.reduce(case.logs, axis=None)
        bound = ss.log_partition(case.net, method=ss.TreeReweighted(until=EXACT))
        assert bound.value == pytest.approx(energy + entropy, abs=1e-6)
        assert log_z <= bound.value + 1e-9


def test_reweighted_maxima_agree_exactly_where_the_program_is_tight():
    tight = 0
    for seed in range(24):
        case = pairs_case([seed, 9], scale=2.0, field=0.3, spins=seed % 4 > 0)
        gap = relaxed(case.cards, case.parts) - case.best
        found = ss.map_assignment(case.net, method=ss.TreeReweighted(until=EXACT))
        assert found.bound >= case.best - 1e-9
        if found.status is ss.Status.CONVERGED:
            assert bool(found.info["locally_optimal"]) == (gap < 1e-5)
            tight += gap < 1e-5
            if gap < 1e-5:
                assert found.log_value == pytest.approx(case.best, abs=1e-9)
    assert 5 <= tight < 20


@cache
def relaxations():
    """Models of all pairs of four variables, and the values of their linear programs."""
    made = [pairs_case([seed, 10], scale=2.0) for seed in range(10)]
    return [(case, relaxed(case.cards, case.parts)) for case in made]


def test_plain_star_updates_never_rise_and_end_at_the_linear_program():
    for case, relaxation in relaxations()[:4]:
        plain = list(star_updates(case.cards, folded(case), 200))
        assert (np.diff(plain) <= 1e-9).all()
        assert plain[-1] == pytest.approx(relaxation, abs=1e-3)


@pytest.mark.parametrize("method", [ss.TRWS(), ss.MPLP(), I.DualDecomposition("smoothed")], ids=repr)
def test_dual_bounds_of_binary_pairs_are_the_linear_program(method):
    """Sequential trees, star updates and subproblems: never below, never rising, and the program's value at the end."""
    for case, relaxation in relaxations():
        found = ss.map_assignment(case.net, method=method, until=ss.Until(steps=2000, tolerance=1e-12))
        assert found.log_value <= case.best + 1e-9 <= relaxation + 2e-9 <= found.bound + 1e-6
        assert found.bound == pytest.approx(relaxation, abs=1e-3 if isinstance(method, I.DualDecomposition) else 1e-5)
        if isinstance(method, ss.TRWS):
            assert (np.diff(-found.trace) <= 1e-9).all()


def test_scores_are_never_above_the_bound_of_heuristic_decodings():
    """Rounding alone: score <= best <= program <= bound, after any number of passes, with zeros."""
    for seed in range(10):
        case = random_case(np.random.default_rng([seed, 11]), most=5, zeros=0.15 * (seed % 2), density=0.8)
        if case.best == -np.inf:
            continue
        top = relaxed(case.cards, [*case.parts, *(((i,), np.zeros(c)) for i, c in enumerate(case.cards))])
        for method in (ss.TRWS(), ss.MPLP(), I.ConvexBP(), ss.TreeReweighted(), ss.LoopyBP()):
            for steps in (1, 2, 9):
                found = ss.map_assignment(case.net, method=method, until=ss.Until(steps=steps, tolerance=None))
                assert found.log_value <= case.best + 1e-9
                assert found.bound >= case.best - 1e-9
                if not isinstance(method, ss.LoopyBP):
                    assert found.bound >= top - 1e-6
