"""Search and marginal MAP beside enumeration: section 13.7 with exercises 13.4 and 13.18 to 13.21."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.marginal.scores import Scores
from sepset.variables.evidence import Evidence
from support.enumerated import Case, random_case

I = ss.inference


def cases(number, seed, **settings):
    """Possible models with ties, zeros and factors of three."""
    made = []
    for i in range(number):
        rng = np.random.default_rng([seed, i])
        case = random_case(rng, arity=2 + i % 2, zeros=0.15 * (i % 3 == 0), whole=i % 2 == 0, density=0.4, **settings)
        if case.best > -np.inf:
            made.append(case)
    return made


def single_changes(case, codes):
    for v, card in enumerate(case.cards):
        for state in range(card):
            yield (*codes[:v], state, *codes[v + 1 :])


@pytest.mark.parametrize("method", [I.LocalSearch(0), I.LocalSearch(), ss.ICM(), I.Annealing(sweeps=10)], ids=repr)
def test_local_searches_end_in_local_optima_and_never_go_down(method):
    for case in cases(20, 1, most=5):
        found = ss.map_assignment(case.net, method=method, seed=3)
        codes = tuple(found.codes.tolist())
        assert case.logs[codes] == pytest.approx(found.log_value, abs=1e-9)
        if found.log_value > -np.inf:
            assert max(case.logs[c] for c in single_changes(case, codes)) <= found.log_value + 1e-9
        values = found.trace[np.isfinite(found.trace)]
        assert isinstance(method, I.Annealing) or (np.diff(values) >= -1e-9).all()
        assert found.guarantees["assignment"] is not ss.Guarantee.EXACT or found.log_value == pytest.approx(case.best)


def test_beams_of_any_width_are_exact_and_narrow_ones_say_so_only_if_they_are():
    for case in cases(16, 2, most=5):
        wide = ss.map_assignment(case.net, method=I.BeamSearch(width=math.inf))
        assert wide.log_value == pytest.approx(case.best, abs=1e-9)
        assert wide.guarantees["assignment"] is ss.Guarantee.EXACT
        for width in (1, 3):
            found = ss.map_assignment(case.net, method=I.BeamSearch(width=width))
            assert found.log_value <= case.best + 1e-9 <= found.bound + 2e-9
            if found.guarantees["assignment"] is ss.Guarantee.EXACT:
                assert found.log_value == pytest.approx(case.best, abs=1e-9)


@pytest.mark.parametrize("method", [ss.BranchAndBound(), I.HybridBestFirst(), I.AutomaticSearch()], ids=repr)
def test_the_best_in_decreasing_order(method):
    """Exercise 13.18: the open list goes on to give the next best; all of them if so many are asked for."""
    for number, case in enumerate(cases(16, 3, most=5)):
        expected = np.sort(case.logs[case.logs > -np.inf])[::-1]
        k = (1, 3, 10, len(expected) + 2)[number % 4]
        found = ss.map_assignment(case.net, k=k, method=method)
        np.testing.assert_allclose(found.log_values, expected[:k], atol=1e-8)
        assert len({tuple(a.values()) for a in found.assignments}) == min(k, len(expected))
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def some_of(case, rng):
    """Some of the variables, and the log sums over the others."""
    n = len(case.cards)
    over = sorted(rng.permutation(n)[: int(rng.integers(1, n + 1))].tolist())
    out = tuple(v for v in range(n) if v not in over)
    return over, np.logaddexp.reduce(case.logs, axis=out) if out else case.logs


@pytest.mark.parametrize("search", ["exact", "local", "branch"])
def test_some_variables_with_the_rest_summed_out(search):
    for i, case in enumerate(cases(24, 4, most=5)):
        over, scores = some_of(case, np.random.default_rng(i))
        names = [f"v{v}" for v in over]
        found = ss.map_assignment(case.net, over=names, method=I.MarginalMAP(search, entries=2))
        codes = tuple(found.assignment[name] for name in names)
        assert found.log_value == pytest.approx(scores[codes], abs=1e-9)
        assert found.log_value <= scores.max() + 1e-9 <= found.bound + 2e-9
        if search == "local":
            here = Case(scores.shape, ())
            assert max(scores[c] for c in single_changes(here, codes)) <= found.log_value + 1e-9
        else:
            assert found.log_value == pytest.approx(scores.max(), abs=1e-9)


def test_a_given_assignment_has_the_sum_of_its_completions():
    """Equation 13.35: sum-product with some variables known."""
    for i, case in enumerate(cases(12, 5, most=5)):
        over, scores = some_of(case, np.random.default_rng(i))
        for codes in itertools.islice(np.ndindex(scores.shape), 12):
            given = {f"v{v}": code for v, code in zip(over, codes, strict=True)}
            try:
                found = ss.log_partition(case.net, given=given).value
            except ss.ImpossibleEvidence:
                found = -np.inf
            assert found == pytest.approx(scores[codes], abs=1e-9) or found == scores[codes]


def test_maxima_of_sums_are_at_most_sums_of_maxima():
    """Exercise 13.19: equal exactly if one state is best whatever the others are."""
    seen = set()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        f = rng.integers(0, 3, (3, 3)).astype(float)
        left, right = f.sum(axis=1).max(), f.max(axis=0).sum()
        dominant = bool((f == f.max(axis=0)).all(axis=1).any())
        assert left <= right
        assert (left == right) == dominant
        seen.add(dominant)
    assert seen == {True, False}


def eliminated(case, over, order):
    """The value of eliminating in any order: maxima for some variables, sums for the others, by factors as given."""
    pool = [(set(scope), Case(case.cards, ((scope, logs),)).logs) for scope, logs in case.parts]
    for v in order:
        near = [table for scope, table in pool if v in scope]
        scope = set().union(*(s for s, _ in pool if v in s)) if near else {v}
        total = sum(near) if near else np.zeros(case.cards)
        pool = [(s, t) for s, t in pool if v not in s]
        fewer = np.expand_dims(total.max(axis=v) if v in over else np.logaddexp.reduce(total, axis=v), v)
        pool.append((scope - {v}, np.broadcast_to(fewer, case.cards)))
    return float(sum(table.reshape(-1)[0] for _, table in pool))


def test_elimination_in_any_order_bounds_marginal_maxima():
    """Exercise 13.20a; equal where all sums come first. The searches are bounded by the same exchange."""
    for i, case in enumerate(cases(24, 6, most=5)):
        rng = np.random.default_rng(i)
        over, scores = some_of(case, rng)
        n = len(case.cards)
        rest = [v for v in range(n) if v not in over]
        assert eliminated(case, over, [*rest, *over]) == pytest.approx(scores.max(), abs=1e-9)
        for _ in range(3):
            assert eliminated(case, over, rng.permutation(n)) >= scores.max() - 1e-9


def conditioned(case, over, fixed):
    """Exercise 13.21: the value of a max-sum question by cases; sums inside of maxima wherever they are legal."""
    n = len(case.cards)
    rest = tuple(v for v in range(n) if v not in over)
    first = [v for v in fixed if v in over]
    inner = [v for v in fixed if v not in over]
    values = []
    for u in itertools.product(*(range(case.cards[v]) for v in first)):
        at = dict(zip(first, u, strict=True))
        logs = case.logs[tuple(at.get(v, slice(None)) for v in range(n))]
        kept = [v for v in range(n) if v not in first]
        sums = np.logaddexp.reduce(logs, axis=tuple(kept.index(v) for v in rest)) if rest else logs
        values.append(np.max(sums))
    assert not inner or set(over) <= set(fixed)
    return max(values)


def test_conditioning_is_legal_on_some_of_the_maxima_or_on_all_of_them():
    """Legal sets: within the maximized variables, or with all of these; otherwise values are wrong."""
    wrong = 0
    for i, case in enumerate(cases(24, 7, most=4)):
        rng = np.random.default_rng(i)
        over, scores = some_of(case, rng)
        for fixed in (over[:1], over, range(len(case.cards))):
            assert conditioned(case, over, list(fixed)) == pytest.approx(scores.max(), abs=1e-9)
        rest = [v for v in range(len(case.cards)) if v not in over]
        if rest and len(over) > 1:  # a sum outside of a maximum: the exchange is an upper bound only
            v = rest[0]
            by_cases = np.logaddexp.reduce([some_max(case, over, rest, v, s) for s in range(case.cards[v])])
            assert by_cases >= scores.max() - 1e-9
            wrong += by_cases > scores.max() + 1e-6
        names = [f"v{j}" for j in over]
        for memory in (2**12, 2**20):
            found = ss.map_assignment(case.net, over=names, method=I.CutsetConditioning(memory=memory))
            assert found.log_value == pytest.approx(scores.max(), abs=1e-9)
    assert wrong >= 2


def some_max(case, over, rest, v, state):
    logs = np.take(case.logs, [state], axis=v)
    return np.logaddexp.reduce(logs, axis=tuple(rest)).max()


def test_all_scores_of_neighbors_from_one_calibration():
    """Exercise 10.12: the scores of all single changes, beside sums over all completions; zeros included."""
    for i, case in enumerate(cases(16, 8, most=5)):
        over, sums = some_of(case, np.random.default_rng(i))
        scores = Scores(ss.CliqueTree().prepare(case.net.problem()), Evidence(), tuple(over))
        codes = np.array(np.unravel_index(sums.argmax(), sums.shape), np.int64)
        for axis, found in enumerate(scores.neighbors(codes, float(sums.max()))):
            expected = sums[tuple(slice(None) if a == axis else c for a, c in enumerate(codes))]
            np.testing.assert_allclose(found, expected, atol=1e-9)


def chain(length, rng):
    """X_i -> X_{i+1} <- Y_{i+1}, and the scores of all inputs given the last state, by a sum along the chain."""
    x = [ss.Discrete(f"x{i}") for i in range(length + 1)]
    y = [ss.Discrete(f"y{i}") for i in range(1, length + 1)]
    start, inputs = rng.dirichlet([1, 1]), rng.dirichlet([1, 1], length)
    moves = rng.dirichlet([1, 1], (length, 2, 2))  # by X_i and Y_{i+1}
    cpds = [ss.TableCPD(x[0], start), *(ss.TableCPD(v, p) for v, p in zip(y, inputs, strict=True))]
    cpds += [ss.TableCPD(x[i + 1], moves[i], given=[x[i], y[i]]) for i in range(length)]
    scores = np.empty((2,) * length)
    for codes in np.ndindex(scores.shape):
        row = start
        for i, code in enumerate(codes):
            row = row @ moves[i][:, code] * inputs[i, code]
        scores[codes] = np.log(row[1])
    return ss.BayesNet(*cpds), scores


def test_chains_with_inputs():
    """Figure 13.2: cliques of three variables for sums; the scores of all inputs by hand."""
    for seed in range(4):
        net, scores = chain(7, np.random.default_rng(seed))
        names = [f"y{i}" for i in range(1, 8)]
        for search in ("exact", "branch"):
            found = ss.map_assignment(net, over=names, given={"x7": 1}, method=I.MarginalMAP(search))
            assert tuple(found.assignment[n] for n in names) == np.unravel_index(scores.argmax(), scores.shape)
            assert found.log_value == pytest.approx(scores.max(), abs=1e-9)
            assert found.guarantees["assignment"] is ss.Guarantee.EXACT  # systematic
        local = ss.map_assignment(net, over=names, given={"x7": 1}, method=I.MarginalMAP("local"))
        assert local.guarantees["assignment"] is ss.Guarantee.LOCAL_OPTIMUM  # not systematic
        assert local.log_value <= scores.max() + 1e-9
