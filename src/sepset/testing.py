r"""Checks for tests: closeness of answers, the laws of factors, and the guarantees of methods.

A factor or a method of your own is tested by one call, under any test runner; with Hypothesis, draw the seed:

    @given(st.integers(0, 10**9))
    def test_laws(seed):
        check_factor_laws(make_three_factors, rounds=1, seed=seed)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import generator
from sepset.base.foreign import translated
from sepset.base.text import brief
from sepset.engine.engine import Engine
from sepset.errors import ArgumentError, NotClosed
from sepset.factors.algebra import AnyVariable, Columns, Factor, Scope
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.table import Table
from sepset.graphs.graph import connected_components
from sepset.inference.exact.bruteforce import BruteForce
from sepset.inference.method import Method
from sepset.inference.plan import interaction_graph
from sepset.inference.result import Guarantee
from sepset.models.model import Model
from sepset.problem import Problem
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.variable import Discrete

__all__ = ["assert_close", "check_factor_laws", "check_method"]


def __dir__() -> list[str]:
    return __all__


Point: TypeAlias = dict[str, Any]
Makes: TypeAlias = Callable[[np.random.Generator], Sequence[Factor]]

OUTSIDER = Discrete("a variable of no factor", 3)


@translated
def assert_close(actual: Any, expected: Any, *, rtol: float = 1e-9, atol: float = 0.0) -> None:
    """Raise `AssertionError`, naming the largest difference, unless two factors, answers, mappings or arrays agree.

    Axes are matched by the names of variables. Values $a$ and $b$ agree if $|a - b| \\le atol + rtol |b|$; values of
    discrete factors are compared by their logarithms, so the relative tolerance holds far outside float64.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> t = Table((a, b), [[1, 2], [3, 4]])
    >>> assert_close(t, t.align((b, a)))
    """
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _same_names(list(map(str, actual)), list(map(str, expected)))
        for key in expected:
            assert_close(actual[key], expected[key], rtol=rtol, atol=atol)
    elif isinstance(actual, DiscreteFactor) and isinstance(expected, DiscreteFactor):
        _assert_discrete(actual, expected, rtol, atol)
    elif hasattr(actual, "scope") and hasattr(expected, "scope"):
        _assert_scoped(actual, expected, rtol, atol)
    else:
        np.testing.assert_allclose(_numbers(actual), _numbers(expected), rtol=rtol, atol=atol)


def _numbers(value: Any) -> Floats:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        kinds = "Factors, answers, mappings and numbers"
        raise ArgumentError(f"{kinds} are compared, two of a kind; found {brief(value)}.") from None


def _same_names(actual: Sequence[str], expected: Sequence[str]) -> None:
    if sorted(actual) != sorted(expected):
        missing, extra = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
        raise AssertionError(f"Different variables: missing {missing}, unexpected {extra}.")


def _names(scope: Scope) -> list[str]:
    return [v.name for v in scope]


def _assert_discrete(actual: DiscreteFactor, expected: DiscreteFactor, rtol: float, atol: float) -> None:
    _same_names(_names(actual.scope), _names(expected.scope))
    other = expected.align(_names(actual.scope))
    if other.shape != actual.shape:
        raise AssertionError(f"Different numbers of states: {actual!r} and {expected!r}.")
    if isinstance(actual, Table) and isinstance(other, Table):
        mine, theirs = actual._logs(), other._logs()
        codes = None
    else:
        codes = np.concatenate([actual.cells()[0], other.cells()[0]])
        mine, theirs = actual.log_at(codes), other.log_at(codes)
    bad = ~_logs_agree(mine, theirs, rtol, atol)
    if bad.any():
        gap = np.where(bad, np.abs(np.exp(mine - mine.max()) - np.exp(theirs - mine.max())), -1.0)
        worst = int(gap.argmax())
        row = actual.cells()[0][worst] if codes is None else codes[worst]
        place = {v.name: v.states[code] for v, code in zip(actual.scope, row.tolist(), strict=True)}
        raise AssertionError(
            f"{int(bad.sum())} of {bad.size} values differ; "
            f"log values at {place}: {float(mine[worst])!r} and {float(theirs[worst])!r}."
        )


def _logs_agree(mine: Floats, theirs: Floats, rtol: float, atol: float) -> Bools:
    with np.errstate(invalid="ignore", over="ignore"):
        ratio = np.abs(np.expm1(mine - theirs))
        near = np.abs(np.exp(mine) - np.exp(theirs)) <= atol if atol > 0 else np.zeros(mine.shape, bool)
    # A logarithm of size L is itself rounded to L times the unit roundoff.
    noise = 4 * np.finfo(float).eps * np.maximum(np.abs(np.where(np.isfinite(theirs), theirs, 0.0)), 1.0)
    return np.asarray((mine == theirs) | (ratio <= rtol + noise) | near)


def _assert_scoped(actual: Any, expected: Any, rtol: float, atol: float) -> None:
    _same_names(_names(actual.scope), _names(expected.scope))
    if isinstance(actual, Factor) and isinstance(expected, Factor):
        for point in _points(expected.scope, np.random.default_rng(0), 25):
            _assert_logs(actual.log_value(point), expected.log_value(point), rtol, point)
        return
    order = [_names(expected.scope).index(name) for name in _names(actual.scope)]
    np.testing.assert_allclose(actual.values, np.transpose(expected.values, order), rtol=rtol, atol=atol)


def _assert_logs(mine: float, theirs: float, rtol: float, where: object) -> None:
    if mine != theirs and not abs(mine - theirs) <= rtol * max(1.0, abs(mine), abs(theirs)):
        raise AssertionError(f"Log values differ at {where}: {mine!r} and {theirs!r}.")


def _random_value(variable: AnyVariable, rng: np.random.Generator) -> Any:
    if isinstance(variable, Discrete):
        return variable.states[int(rng.integers(variable.num_states))]
    return rng.normal(size=variable.size) if variable.size > 1 else float(rng.normal())


def _points(scope: Scope, rng: np.random.Generator, num: int) -> Iterator[Point]:
    for _ in range(num if scope else 1):
        yield {v.name: _random_value(v, rng) for v in scope}


def _support_points(factor: Factor, rng: np.random.Generator, num: int) -> list[Point]:
    """Draws from a factor, if it can be normalized: random points seldom fall on a sparse support."""
    try:
        drawn = factor.eliminate(factor.scope)[0].sample({}, num, rng)
    except NotClosed:
        return []
    return [{v.name: _plain(v, drawn, row) for v in factor.scope} for row in range(num)]


def _plain(variable: AnyVariable, columns: Columns, row: int) -> Any:
    value = columns[variable][row]
    return variable.states[int(value)] if isinstance(variable, Discrete) else value


@dataclass(frozen=True, slots=True)
class _Trial:
    """Three factors, a random generator, and the tolerance within which laws must hold."""

    f: Factor
    g: Factor
    h: Factor
    rng: np.random.Generator
    semirings: tuple[Semiring, ...]
    rtol: float

    def some(self, scope: Scope) -> list[AnyVariable]:
        """A random subset of a scope."""
        return [v for v in scope if self.rng.random() < 0.5]

    def points(self, *factors: Factor) -> list[Point]:
        """Random points of the union of scopes, some of them on the support of the first factor."""
        scope = tuple({v.name: v for factor in factors for v in factor.scope}.values())
        base = list(_points(scope, self.rng, 4))
        return base + [{**base[0], **point} for point in _support_points(factors[0], self.rng, 4)]

    def same(self, left: Factor, right: Factor) -> None:
        """Raise unless the scopes are equal as sets and the values at random points agree."""
        _same_names(_names(left.scope), _names(right.scope))
        for point in self.points(right, left):
            _assert_logs(left.log_value(point), right.log_value(point), self.rtol, point)


def _products_commute(t: _Trial) -> None:
    t.same(t.f * t.g, t.g * t.f)


def _products_associate(t: _Trial) -> None:
    t.same((t.f * t.g) * t.h, t.f * (t.g * t.h))


def _products_are_pointwise(t: _Trial) -> None:
    product = t.f * t.g
    for point in t.points(product, t.f, t.g):
        _assert_logs(product.log_value(point), t.f.log_value(point) + t.g.log_value(point), t.rtol, point)


def _one_is_neutral(t: _Trial) -> None:
    t.same(t.f * 1.0, t.f)
    t.same(t.f / 1.0, t.f)


def _quotients_undo_products(t: _Trial) -> None:
    quotient = (t.f * t.g) / t.g
    for point in t.points(quotient, t.f, t.g):
        possible = t.g.log_value(point) > -math.inf
        _assert_logs(quotient.log_value(point), t.f.log_value(point) if possible else -math.inf, t.rtol, point)


def _powers_multiply(t: _Trial) -> None:
    t.same(t.f**2, t.f * t.f)
    t.same((t.f**0.5) ** 2, t.f)
    t.same(t.f**1, t.f)


def _order_of_elimination_is_free(t: _Trial) -> None:
    out = t.some(t.f.scope)
    for semiring in t.semirings:
        together = t.f.marginalize(out, semiring)
        apart = t.f
        for variable in reversed(out):
            apart = apart.marginalize([variable], semiring)
        t.same(apart, together)


def _sums_distribute(t: _Trial) -> None:
    mine = set(_names(t.f.scope))
    out = [v for v in t.some(t.g.scope) if v.name not in mine]
    for semiring in t.semirings:
        t.same((t.f * t.g).marginalize(out, semiring), t.f * t.g.marginalize(out, semiring))


def _conditioning_is_pointwise(t: _Trial) -> None:
    for point in t.points(t.f):
        given = {v.name: point[v.name] for v in t.some(t.f.scope)}
        part = t.f.condition(given)
        _same_names(_names(part.scope), [name for name in _names(t.f.scope) if name not in given])
        _assert_logs(part.log_value(point), t.f.log_value(point), t.rtol, point)


def _conditioning_distributes(t: _Trial) -> None:
    product = t.f * t.g
    given = {v.name: _random_value(v, t.rng) for v in t.some(product.scope)}
    t.same(product.condition(given), t.f.condition(given) * t.g.condition(given))


def _conditioning_and_summing_commute(t: _Trial) -> None:
    given = {v.name: _random_value(v, t.rng) for v in t.some(t.f.scope)}
    out = [v for v in t.some(t.f.scope) if v.name not in given]
    for semiring in t.semirings:
        t.same(t.f.condition(given).marginalize(out, semiring), t.f.marginalize(out, semiring).condition(given))


def _outsiders_are_ignored(t: _Trial) -> None:
    t.same(t.f.marginalize([OUTSIDER]), t.f)
    t.same(t.f.condition({OUTSIDER: 1}), t.f)


def _normalized_totals_are_one(t: _Trial) -> None:
    total = t.f.log_total
    _assert_logs(t.f.marginalize(t.f.scope).log_value({}), total, t.rtol, "the total")
    if total > -math.inf:
        _assert_logs(t.f.normalize().log_total, 0.0, t.rtol, "the normalized total")
        t.same(t.f.normalize(), t.f * (1.0 / math.exp(total)) if abs(total) < 600 else t.f.normalize())


def _elimination_leaves_the_marginal(t: _Trial) -> None:
    out = t.some(t.f.scope)
    for semiring in t.semirings:
        conditional, rest = t.f.eliminate(out, semiring)
        t.same(rest, t.f.marginalize(out, semiring))
        _same_names(_names(conditional.frontal), _names(tuple(out)))
        _same_names(_names(conditional.parents), _names(rest.scope))


def _read_back_finds_the_mode(t: _Trial) -> None:
    out = t.some(t.f.scope)
    conditional, rest = t.f.eliminate(out, MAX)
    for point in _support_points(rest, t.rng, 3):
        rows: Columns = {v: np.array([_code(v, point[v.name])]) for v in conditional.parents}
        mode, draw = conditional.mode(rows, 1), conditional.sample(rows, 1, t.rng)
        best = t.f.log_value({**point, **{v.name: _plain(v, mode, 0) for v in out}})
        drawn = t.f.log_value({**point, **{v.name: _plain(v, draw, 0) for v in out}})
        _assert_logs(rest.log_value(point), best, t.rtol, point)
        if not -math.inf < drawn <= best + t.rtol * max(1.0, abs(best)):
            raise AssertionError(f"A draw has log value {drawn!r} and the mode {best!r}, at {point}.")


def _code(variable: AnyVariable, value: Any) -> Any:
    return variable.code(value) if isinstance(variable, Discrete) else value


LAWS: Mapping[str, Callable[[Any], None]] = {
    law.__name__.strip("_"): law
    for law in (
        _products_commute,
        _products_associate,
        _products_are_pointwise,
        _one_is_neutral,
        _quotients_undo_products,
        _powers_multiply,
        _order_of_elimination_is_free,
        _sums_distribute,
        _conditioning_is_pointwise,
        _conditioning_distributes,
        _conditioning_and_summing_commute,
        _outsiders_are_ignored,
        _normalized_totals_are_one,
        _elimination_leaves_the_marginal,
        _read_back_finds_the_mode,
    )
}
"""The laws of the factor protocol by name."""


@translated
def check_factor_laws(
    make: Makes,
    *,
    rounds: int = 10,
    seed: int = 0,
    semirings: Sequence[Semiring] = (SUM, MAX),
    rtol: float = 1e-9,
) -> dict[str, int]:
    """The number of times each law was tested; an `AssertionError` names the first law that fails.

    If an operation raises `NotClosed`, its law is skipped in that round, so check the counts.

    Args:
        make: a function that draws three factors over overlapping scopes, given a random generator.
        rounds: the number of triples to try.
        seed: the seed of the generator.
        semirings: the sums under which the factors must be closed.
        rtol: the tolerance of log values, relative to the larger of one and their magnitude.

    >>> a, b, c = (Discrete(name, 2) for name in "abc")
    >>> counts = check_factor_laws(lambda rng: [Table.random(s, rng) for s in ((a, b), (b, c), (c,))], rounds=2)
    >>> counts["products_commute"]
    2
    """
    rng = generator(seed)
    counts = dict.fromkeys(LAWS, 0)
    for _ in range(rounds):
        f, g, h = make(rng)
        trial = _Trial(f, g, h, rng, tuple(semirings), rtol)
        for name, law in LAWS.items():
            try:
                law(trial)
            except NotClosed:
                continue
            except AssertionError as error:
                raise AssertionError(
                    f"The law '{name.replace('_', ' ')}' fails for {f!r}, {g!r}, {h!r}: {error}"
                ) from error
            counts[name] += 1
    return counts


@translated
def check_method(
    method: Method, models: Iterable[Model], *, rounds: int = 3, seed: int = 0, rtol: float = 1e-9
) -> dict[str, int]:
    """The number of times each guarantee of a method was tested; an `AssertionError` names the first that is violated.

    Exact parts must equal brute force, bounds must lie on the correct side of it, and parts that are exact on trees are
    compared if the model's graph has no loop. Other guarantees are not tested here.

    Args:
        method: a method for problems, such as `CliqueTree()`.
        models: models small enough for `BruteForce`.
        rounds: the number of random evidence sets to try on each.
        seed: the seed of the generator.
        rtol: the tolerance of numbers, relative to the larger of one and their magnitude.

    >>> from sepset.inference.cliquetree.method import CliqueTree
    >>> from sepset.models.markovnet import MarkovNet
    >>> a, b = Discrete("a"), Discrete("b")
    >>> check_method(CliqueTree(), [MarkovNet(Table((a, b), [[1, 2], [3, 0]]))])
    {'log_partition': 3, 'marginals': 3, 'moments': 3, 'assignment': 3}
    """
    rng = generator(seed)
    counts = dict.fromkeys(PROMISES, 0)
    for model in models:
        promised = method.promises(model.problem())
        mine, exact = Engine(model, method), Engine(model, BruteForce())
        for _ in range(rounds):
            given = _some_findings(exact, rng)
            for part, check in PROMISES.items():
                guarantee = _on_this_graph(promised.get(part), model.problem())
                try:
                    counts[part] += check(mine, exact, given, guarantee, rtol)
                except AssertionError as error:
                    message = f"{method!r} promises {part} {promised[part].value} of {model!r} given {given}: {error}"
                    raise AssertionError(message) from error
    return counts


def _some_findings(exact: Engine, rng: np.random.Generator) -> Point:
    """Evidence of positive probability: part of a draw."""
    columns = exact.sample_columns(1, seed=rng)
    chosen = [v for v in exact.model.variables if rng.random() < 0.3]
    return {v.name: v.states[int(columns[v.name][0])] if v.is_discrete else columns[v.name][0] for v in chosen}  # type: ignore[union-attr]


def _on_this_graph(guarantee: Guarantee | None, problem: Problem) -> Guarantee | None:
    """The guarantee on this problem: `EXACT_ON_TREES` becomes `EXACT` if the graph is a forest."""
    if guarantee is not Guarantee.EXACT_ON_TREES:
        return guarantee
    graph = interaction_graph(problem, problem.relevant(range(len(problem.variables)), prune=False))
    parts = connected_components(graph)
    return Guarantee.EXACT if graph.num_edges == len(graph.nodes) - len(parts) else None


def _assert_bound(found: float, truth: float, guarantee: Guarantee | None, rtol: float) -> bool:
    room = rtol * max(1.0, abs(truth))
    wrong: dict[Guarantee | None, bool] = {
        Guarantee.EXACT: abs(found - truth) > room,
        Guarantee.UPPER_BOUND: found < truth - room,
        Guarantee.LOWER_BOUND: found > truth + room,
    }
    if wrong.get(guarantee):
        raise AssertionError(f"found {found!r}, and the truth is {truth!r}.")
    return guarantee in wrong


def _check_log_partition(mine: Engine, exact: Engine, given: Point, guarantee: Guarantee | None, rtol: float) -> bool:
    return _assert_bound(
        float(mine.log_partition(given=given)), float(exact.log_partition(given=given)), guarantee, rtol
    )


def _check_marginals(mine: Engine, exact: Engine, given: Point, guarantee: Guarantee | None, rtol: float) -> bool:
    if guarantee is not Guarantee.EXACT:
        return False
    found, truth = mine.marginals(given=given), exact.marginals(given=given)
    for v in mine.model.variables:
        if v.is_discrete:
            np.testing.assert_allclose(found[v].values, truth[v].values, rtol=0, atol=rtol, err_msg=v.name)
    return True


def _check_moments(mine: Engine, exact: Engine, given: Point, guarantee: Guarantee | None, rtol: float) -> bool:
    if guarantee is not Guarantee.EXACT:
        return False
    found, truth = mine.marginals(given=given), exact.marginals(given=given)
    for v in mine.model.variables:
        if not v.is_discrete:
            for moment in ("mean", "variance"):
                assert_close(getattr(found[v], moment)(), getattr(truth[v], moment)(), rtol=rtol, atol=rtol)
    return True


def _check_assignment(mine: Engine, exact: Engine, given: Point, guarantee: Guarantee | None, rtol: float) -> bool:
    best, truth = mine.map_assignment(given=given), exact.map_assignment(given=given).log_value
    reached = float(exact.log_partition(given={**given, **best.assignment}))
    if guarantee is Guarantee.EXACT:
        _assert_bound(best.log_value, reached, guarantee, rtol)
    return _assert_bound(reached, truth, guarantee, rtol)


PROMISES: Mapping[str, Callable[..., bool]] = {
    "log_partition": _check_log_partition,
    "marginals": _check_marginals,
    "moments": _check_moments,
    "assignment": _check_assignment,
}
"""The parts of an answer for which a method declares guarantees, each with its check."""
