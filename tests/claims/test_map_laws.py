"""Laws of every method for best assignments, beside all assignments of small models.

Score <= best <= bound; a result that says it is exact is; a certificate holds; states that are said to be in some best
assignment are. Models have zeros, ties, one-state variables, several components and factors of three variables. Many
small models are one large one for the methods whose time does not depend on the number of components.
"""

from __future__ import annotations

import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext
from functools import cache
from itertools import combinations
from math import prod

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from support.enumerated import Case, random_case

I = ss.inference
ANY = (
    ss.MPLP(),
    ss.LoopyBP(),
    ss.LoopyBP(0.3, "synchronous"),
    I.ConvexBP(),
    I.ClusterBP(2),
    ss.LinearProgram(),
    ss.LinearProgram(integer=True),
    I.ClusterPursuit(),
    I.DualDecomposition("smoothed"),
    ss.BranchAndBound(),
    I.HybridBestFirst(),
    I.HybridBestFirst(sweeps=0, virtual=20, persistency=True),
    I.AndOrSearch(entries=4),
    I.Persistency(),
    I.LocalSearch(),
    ss.LargeNeighborhood(entries=16),
    I.BeamSearch(width=3),
    I.Annealing(sweeps=5),
    ss.ICM(),
    I.AutomaticSearch(),
)
PAIRS = (ss.TRWS(), ss.TreeReweighted(), ss.AlphaExpansion(), ss.AlphaBetaSwap())
BINARY = (ss.QPBO(), ss.MinCut())
LARGE = (
    ss.MPLP(),
    ss.TRWS(),
    ss.LoopyBP(),
    ss.TreeReweighted(),
    ss.QPBO(),
    ss.ICM(),
    ss.AlphaExpansion(),
    I.Persistency(),
    I.LocalSearch(),
)
LISTED = {type(method) for method in (*ANY, *PAIRS, *BINARY)}
FOUND = [kind for kind in (getattr(I, name) for name in I.__all__) if inspect.isclass(kind) and hasattr(kind, "assign")]
OTHERS = tuple(kind() for kind in FOUND if kind not in LISTED and not getattr(kind, "_is_protocol", False))
"""All other public methods, with their defaults; each may refuse a model by name."""

ALL = (*ANY, *PAIRS, *BINARY, *OTHERS)
STEPS = ss.Until(steps=30, tolerance=1e-9)
BELIEFS = (ss.LoopyBP, ss.TreeReweighted, I.ConvexBP, I.ClusterBP)
ONE_STEP = (ss.QPBO, ss.MinCut, I.BeamSearch)


def named(method):
    return repr(method)[:40]


@cache
def cases():
    """Models of pairs and of triples, with and without zeros and ties."""
    found = []
    for i in range(12):
        rng = np.random.default_rng(i)
        kind = {"zeros": 0.25 * (i % 3 == 1), "whole": i % 2 == 0}
        found.append(random_case(rng, most=5, states=2 + (i % 4 > 1), arity=2 + (i % 5 == 4), **kind))
    return found


def takes(method, case):
    is_pairs = all(len(scope) <= 2 for scope, _ in case.parts)
    is_binary = max(case.cards) <= 2
    return (method not in PAIRS or is_pairs) and (method not in BINARY or (is_pairs and is_binary))


def asked(case, method, net=None):
    """The result, or None where all assignments are impossible and the method says so, or refuses the model by name."""
    limit = {} if isinstance(method, ONE_STEP) else {"until": STEPS}
    try:
        return ss.map_assignment(case.net if net is None else net, method=method, **limit)
    except ss.ImpossibleEvidence:
        assert case.best == -np.inf
    except ss.errors.NotApplicable:
        if method not in (ss.MinCut(), *OTHERS):  # the first takes submodular models only
            raise
    return None


def check(found, case):
    """The laws of one result."""
    codes = tuple(found.codes.tolist())
    room = 1e-7 * max(1.0, abs(case.best)) if np.isfinite(case.best) else 0.0
    assert found.log_value == pytest.approx(case.logs[codes], abs=1e-9)
    assert found.log_value <= case.best + room
    assert found.bound >= case.best - room
    assert found.gap >= 0.0
    if found.guarantees["assignment"] is ss.Guarantee.EXACT:
        assert found.log_value == pytest.approx(case.best, abs=max(room, 1e-9))
    if found.certificate is not None:
        assert found.certificate.check()
        assert found.certificate.claim
    kept = {int(name[1:]): state for name, state in found.persistent.items()}
    index = tuple(kept.get(v, slice(None)) for v in range(len(case.cards)))
    assert np.max(case.logs[index]) >= case.best - max(room, 1e-9)
    assert found.info["decoder"]
    if not isinstance(found.method, BELIEFS) and np.isfinite(found.log_value):  # of beliefs, those are counted
        single = [np.delete(np.moveaxis(case.logs, v, 0)[(slice(None), *codes[:v], *codes[v + 1 :])], code)
                  for v, code in enumerate(codes)]  # fmt: skip
        assert found.info["ties"] == sum((others >= found.log_value - 1e-9).any() for others in single)
    assert found.info["ties"] >= 0


@pytest.mark.parametrize("method", ALL, ids=named)
def test_values_bounds_proofs_and_persistent_states(method):
    seen = 0
    for case in cases():
        if takes(method, case) and (found := asked(case, method)) is not None:
            check(found, case)
            seen += 1
    assert seen >= 2


def extreme(seed):
    """A model with potentials from 1e-300 to 1e300, and its best log value, computed with 60 digits."""
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(2, 5))
    variables = [ss.Discrete(f"v{i}", 2 + seed % 2) for i in range(n)]
    scopes = [(v,) for v in variables] + [p for p in combinations(variables, 2) if rng.random() < 0.8]
    sizes = [[v.num_states for v in scope] for scope in scopes]
    tables = [10.0 ** (rng.choice([1.0, 30.0, 300.0]) * rng.uniform(-1, 1, size)) for size in sizes]
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**6), 10**6
        values = []
        for codes in np.ndindex(*(v.num_states for v in variables)):
            at = dict(zip(variables, codes, strict=True))
            parts = zip(scopes, tables, strict=True)
            values.append(prod(Decimal(float(table[tuple(at[v] for v in scope)])) for scope, table in parts))
        best, total = max(values).ln(), sum(values).ln()
    return ss.MarkovNet(*map(ss.Table, scopes, tables)), best, total


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_extreme_potentials_are_on_their_side(seed):
    net, best, total = extreme(seed)
    for method in ALL:
        try:
            found = ss.map_assignment(net, method=method, **({} if isinstance(method, ONE_STEP) else {"until": STEPS}))
        except ss.errors.NotApplicable:
            continue
        room = Decimal(1e-12 * max(1.0, abs(found.log_value)))  # the rounding of the value itself
        assert Decimal(found.log_value) <= best + room, method
        assert Decimal(found.bound) >= best - (room if found.gap == 0.0 else 0), method
    for rounds in (0, 2):
        bound = ss.log_partition(net, method=ss.TreeReweighted(rounds=rounds))
        is_exact = bound.guarantees["log_partition"] is ss.Guarantee.EXACT
        assert Decimal(bound.upper) >= total - (Decimal(1e-12 * max(1.0, abs(bound.upper))) if is_exact else 0)


@pytest.mark.parametrize("method", ALL, ids=named)
def test_the_order_of_factors_and_one_block_for_all_say_nothing(method):
    """Factors and their variables in another order, or all of one shape in one block: the laws hold, values agree."""
    for case in cases()[::3]:
        if not takes(method, case):
            continue
        first = asked(case, method)
        for net in (case.permuted(np.random.default_rng(1)).net, blocked(case)):
            again = asked(case, method, net)
            assert (first is None) == (again is None)
            if first is None or again is None:
                continue
            check(again, case)
            assert again.log_value == pytest.approx(first.log_value, abs=1e-9)


def blocked(case: Case):
    """The model with one block for all factors of a shape."""
    shapes: dict[tuple[int, ...], list] = {}
    for scope, logs in case.parts:
        shapes.setdefault(logs.shape, []).append((scope, logs))
    blocks = [
        FactorBlock([list(scope) for scope, _ in rows], shape, values=np.stack([logs for _, logs in rows]), space="log")
        for shape, rows in shapes.items()
    ]
    return ss.MarkovNet(*blocks, variables=case.variables)


def hard_models():
    """Models that some methods cannot take, or that are degenerate: names with cases."""
    unlike, no = np.eye(2) * -1.0, -np.inf
    detour = -np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    odd = np.array([[no, 0.0], [0.0, no]])
    ring = ((0, 1), (1, 2), (0, 2))
    wide = np.arange(8.0).reshape(2, 2, 2) ** 2 % 5
    return {
        "frustrated": Case((2,) * 3, tuple((pair, unlike) for pair in ring)),
        "non-metric": Case((3,) * 3, (*((pair, detour) for pair in ring), ((0,), np.arange(3.0)))),
        "ties": Case((3,) * 3, tuple((pair, np.zeros((3, 3))) for pair in ring)),
        "one state": Case((1, 2, 1), (((0, 1), np.array([[0.3, 1.0]])), ((2,), np.array([2.0])))),
        "disconnected": Case((2,) * 4, (((0, 1), -unlike), ((2, 3), odd))),
        "no factors": Case((2, 3), ()),
        "infinite energies": Case((2,) * 3, (((0, 1), odd), ((1, 2), odd), ((0,), np.array([0.0, no])))),
        "no assignment": Case((2,) * 3, tuple((pair, odd) for pair in ring)),
        "a zero factor": Case((2,) * 3, (((0, 1), np.full((2, 2), no)), ((1, 2), unlike))),
        "large and small": Case((2,) * 3, (((0, 1), -1e12 * unlike), ((1, 2), 1e12 * unlike), ((0,), [0.0, 1e-3]))),
        "a factor of three": Case((2,) * 3, (((0, 1, 2), wide), ((0, 1), unlike))),
    }


@pytest.mark.parametrize("method", ALL, ids=named)
def test_hard_models_have_a_right_answer_or_a_refusal_by_name(method):
    assert ss.map_assignment(ss.MarkovNet(), method=method).log_value == 0.0
    assert ss.map_assignment(ss.MarkovNet(ss.Table((), [3.0])), method=method).log_value == pytest.approx(np.log(3.0))
    for name, case in hard_models().items():
        case = Case(case.cards, tuple((scope, np.asarray(logs)) for scope, logs in case.parts))
        try:
            found = ss.map_assignment(case.net, method=method)
        except ss.errors.NotApplicable as refusal:
            text, needed = str(refusal), r"([Ff]actor |'v).*Use "
        except ss.ImpossibleEvidence as refusal:
            text, needed = str(refusal), r"Factor (0 over 'v0', 'v1'|2 over 'v0', 'v2')"
            assert case.best == -np.inf
        else:
            check(found, case)
            continue
        assert re.search(needed, text), name


@cache
def many():
    """A thousand small models of binary variables in pairs, as one: the cases, and their first variables."""
    rng = np.random.default_rng(0)
    parts = [random_case(rng, most=3, states=2, density=0.9, whole=i % 2 == 0) for i in range(1000)]
    return parts, np.concatenate([[0], np.cumsum([len(part.cards) for part in parts])])


@cache
def joined():
    parts, starts = many()
    blocks: dict[tuple[int, ...], list] = {}
    for part, start in zip(parts, starts.tolist(), strict=False):
        for scope, logs in part.parts:
            blocks.setdefault(logs.shape, []).append(([start + v for v in scope], logs))
    cards = [card for part in parts for card in part.cards]
    made = [
        FactorBlock([s for s, _ in rows], shape, values=np.stack([v for _, v in rows]), space="log")
        for shape, rows in blocks.items()
    ]
    return ss.MarkovNet(*made, variables=[ss.Discrete(f"v{i}", card) for i, card in enumerate(cards)])


@pytest.mark.parametrize("method", LARGE, ids=named)
def test_a_thousand_small_models_at_once(method):
    """Each component alone: never above its best, equal to it where the whole is exact, persistent states right."""
    parts, starts = many()
    found = ss.map_assignment(joined(), method=method)
    values = [
        part.logs[tuple(found.codes[a : a + len(part.cards)])] for part, a in zip(parts, starts.tolist(), strict=False)
    ]
    best = [part.best for part in parts]
    assert sum(values) == pytest.approx(found.log_value, abs=1e-6)
    assert all(value <= most + 1e-9 for value, most in zip(values, best, strict=True))
    assert found.bound >= sum(best) - 1e-6
    right = np.mean([value > most - 1e-9 for value, most in zip(values, best, strict=True)])
    assert right > 0.85 if found.guarantees["assignment"] is not ss.Guarantee.EXACT else right == 1.0
    if found.certificate is not None:
        assert found.certificate.check()
    kept = {int(name[1:]): state for name, state in found.persistent.items()}
    for part, start, most in zip(parts, starts.tolist(), best, strict=False):
        index = tuple(kept.get(start + v, slice(None)) for v in range(len(part.cards)))
        assert np.max(part.logs[index]) >= most - 1e-9


@pytest.mark.parametrize("method", ALL, ids=named)
def test_bounds_and_proofs_hold_wherever_a_method_stops(method):
    """Steps from none on, and no time at all: zeros, ties and larger factors included."""
    ends = [ss.Until(seconds=0.0), ss.Until(seconds=1e-4)]
    ends += [] if isinstance(method, ONE_STEP) else [ss.Until(steps=n, tolerance=None) for n in (0, 1, 2, 5)]
    for case in cases()[::2]:
        for until in ends if takes(method, case) and case.best > -np.inf else ():
            try:
                found = ss.map_assignment(case.net, method=method, until=until)
            except ss.errors.NotApplicable:
                assert method in (ss.MinCut(), *OTHERS)
                break
            check(found, case)


@pytest.mark.parametrize("method", ALL, ids=named)
def test_callers_do_not_disturb_each_other(method):
    """The same question in several threads at once has the same answer to the last bit."""
    case = max((case for case in cases() if takes(method, case)), key=lambda case: case.logs.size)
    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(lambda _: asked(case, method), range(6)))
    if results[0] is not None:
        assert all((one.codes == results[0].codes).all() and one.bound == results[0].bound for one in results)


@pytest.mark.parametrize("method", [ss.TRWS(), ss.MPLP(), ss.LoopyBP(), ss.AlphaExpansion()], ids=named)
def test_results_do_not_depend_on_threads(method):
    """The same question in several threads at once, about one model, has the same answer to the last bit."""
    net = joined()
    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(lambda _: ss.map_assignment(net, method=method, until=3), range(3)))
    for one in results[1:]:
        assert (one.codes == results[0].codes).all()
        assert one.bound == results[0].bound
