"""Independent answers by enumeration and dense linear algebra: plain data in, plain data out.

Nothing here knows the library. A factor is `(scope, table)`: a tuple of names and an array with one axis per name. A
Bayesian network is a list of families `(child, parents, table)` with axes `(*parents, child)`. `cards` maps every name
to its number of states and fixes the order of the axes of a joint. Evidence maps a name to a state number, to a set
of state numbers, or to an array with one likelihood per state (a Boolean mask is one).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

Name = Hashable
Factor = tuple[tuple[Name, ...], np.ndarray]
Family = tuple[Name, tuple[Name, ...], np.ndarray]
Cards = Mapping[Name, int]
Cell = tuple[int, ...]

LARGEST = 1 << 20


def likelihood(finding: object, card: int) -> np.ndarray:
    """One weight per state for a state number, a set of them, or an array of weights."""
    if isinstance(finding, np.ndarray | list | tuple):
        weights = np.asarray(finding, dtype=float)
    else:
        allowed = finding if isinstance(finding, set | frozenset) else {finding}
        assert all(0 <= state < card for state in allowed), f"{finding} is outside 0..{card - 1}"
        weights = np.array([1.0 if state in allowed else 0.0 for state in range(card)])
    assert weights.shape == (card,), f"{finding} does not fit {card} states"
    return weights


def observed(factors: Iterable[Factor], cards: Cards, evidence: Mapping[Name, object] | None) -> list[Factor]:
    """The factors, and one more on each observed variable."""
    findings = [((name,), likelihood(finding, cards[name])) for name, finding in (evidence or {}).items()]
    return [(tuple(scope), np.asarray(table, dtype=float)) for scope, table in factors] + findings


def cells(cards: Cards) -> Iterator[Cell]:
    """Every joint assignment as state numbers, in the order of `cards`, the last name fastest."""
    return itertools.product(*(range(card) for card in shape_of(cards)))


def shape_of(cards: Cards) -> tuple[int, ...]:
    """The shape of a joint, which must not be too large to enumerate."""
    size = math.prod(cards.values())
    if size > LARGEST:
        raise ValueError(f"The oracle enumerates at most {LARGEST} assignments, not {size}.")
    return tuple(cards.values())


def spread(scope: Sequence[Name], table: np.ndarray, cards: Cards) -> np.ndarray:
    """The value of a factor at every joint assignment: a view with one axis per name of `cards`."""
    assert table.shape == tuple(cards[name] for name in scope), f"the table of {scope} has shape {table.shape}"
    assert len(set(scope)) == len(scope), f"a name is twice in {scope}"
    place = {name: axis for axis, name in enumerate(cards)}
    in_order = np.transpose(table, sorted(range(table.ndim), key=lambda axis: place[scope[axis]]))
    own = tuple(card if name in scope else 1 for name, card in cards.items())
    return np.broadcast_to(in_order.reshape(own), shape_of(cards))


def joint(factors: Iterable[Factor], cards: Cards, evidence: Mapping[Name, object] | None = None) -> np.ndarray:
    """The unnormalized measure, one axis per name of `cards`."""
    measure = np.ones(shape_of(cards))
    with np.errstate(all="ignore"):
        for scope, table in observed(factors, cards, evidence):
            measure *= spread(scope, table, cards)
    return measure


def log_joint(factors: Iterable[Factor], cards: Cards, evidence: Mapping[Name, object] | None = None) -> np.ndarray:
    """The logarithm of the measure, summed from logarithms so that it never underflows; zeros are -inf."""
    logs = [spread(scope, logarithms(table), cards).ravel() for scope, table in observed(factors, cards, evidence)]
    if not logs:
        return np.zeros(shape_of(cards))
    terms = zip(*(values.tolist() for values in logs), strict=True)
    sums = [-math.inf if -math.inf in each else math.fsum(each) for each in terms]
    return np.array(sums).reshape(shape_of(cards))


def logarithms(table: np.ndarray) -> np.ndarray:
    """The logarithm of each entry; of zeros, -inf."""
    logs = [math.log(value) if value != 0.0 else -math.inf for value in np.ravel(table).tolist()]
    return np.array(logs, dtype=float).reshape(table.shape)


def log_sum(logs: np.ndarray) -> float:
    """The logarithm of the sum of exponentials; -inf where every entry is."""
    flat = [value for value in np.ravel(logs).tolist() if value > -math.inf]
    if not flat:
        return -math.inf
    top = max(flat)
    return top + math.log(math.fsum(math.exp(value - top) for value in flat))


def log_z(factors: Iterable[Factor], cards: Cards, evidence: Mapping[Name, object] | None = None) -> float:
    """The logarithm of the sum of the measure: log P(e) where the factors are a Bayesian network's."""
    return log_sum(log_joint(factors, cards, evidence))


def project(array: np.ndarray, cards: Cards, names: Sequence[Name], fold: Callable[[list[float]], float]) -> np.ndarray:
    """The array with every axis outside `names` folded away, axes in the order of `names`."""
    place = {name: axis for axis, name in enumerate(cards)}
    kept = [place[name] for name in names]
    rest = [axis for axis in range(len(cards)) if axis not in kept]
    shape = shape_of(cards)
    assert array.shape == shape, f"the array of {list(cards)} has shape {array.shape}"
    groups = np.transpose(array, kept + rest).reshape(math.prod(shape[axis] for axis in kept), -1).tolist()
    return np.array([fold(values) for values in groups], dtype=float).reshape([shape[axis] for axis in kept])


def marginal(
    factors: Iterable[Factor], cards: Cards, names: Sequence[Name], evidence: Mapping[Name, object] | None = None
) -> np.ndarray:
    """The unnormalized marginal measure over `names` together with the evidence."""
    return project(joint(factors, cards, evidence), cards, names, math.fsum)


def conditional(
    factors: Iterable[Factor], cards: Cards, names: Sequence[Name], evidence: Mapping[Name, object] | None = None
) -> np.ndarray:
    """P(names | evidence), summing to one; safe where the measure itself would underflow."""
    logs = log_joint(factors, cards, evidence)
    total = log_sum(logs)
    if total == -math.inf:
        raise ZeroDivisionError("the evidence has probability zero")
    return project(np.exp(logs - total), cards, names, math.fsum)


def marginals(
    factors: Iterable[Factor], cards: Cards, evidence: Mapping[Name, object] | None = None
) -> dict[Name, np.ndarray]:
    """P(name | evidence) for every name."""
    logs = log_joint(factors, cards, evidence)
    posterior = np.exp(logs - log_sum(logs))
    return {name: project(posterior, cards, [name], math.fsum) for name in cards}


def max_marginal(
    factors: Iterable[Factor], cards: Cards, names: Sequence[Name], evidence: Mapping[Name, object] | None = None
) -> np.ndarray:
    """The largest value of the measure that agrees with each assignment to `names`."""
    return project(joint(factors, cards, evidence), cards, names, max)


def maximizers(logs: np.ndarray, names: Sequence[Name], tie: float) -> tuple[list[dict[Name, int]], float]:
    best = max(np.ravel(logs).tolist(), default=-math.inf)
    if best == -math.inf:
        return [], best
    found = np.argwhere(logs >= best - tie).tolist()
    return [dict(zip(names, cell, strict=True)) for cell in found], best


def map_assignments(
    factors: Iterable[Factor], cards: Cards, evidence: Mapping[Name, object] | None = None, tie: float = 1e-9
) -> tuple[list[dict[Name, int]], float]:
    """Every most probable assignment (ties within a relative `tie`), and its log measure; none where all is zero."""
    return maximizers(log_joint(factors, cards, evidence), list(cards), tie)


def k_best(
    factors: Iterable[Factor], cards: Cards, k: int, evidence: Mapping[Name, object] | None = None
) -> list[tuple[dict[Name, int], float]]:
    """The k best assignments of positive measure with their log measure; ties in the order of `cells`."""
    logs = log_joint(factors, cards, evidence)
    possible = [cell for cell in cells(cards) if logs[cell] > -math.inf]
    ranked = sorted(possible, key=lambda cell: (-round(float(logs[cell]), 9), cell))
    return [(dict(zip(cards, cell, strict=True)), float(logs[cell])) for cell in ranked[:k]]


def marginal_map(
    factors: Iterable[Factor],
    cards: Cards,
    over: Sequence[Name],
    evidence: Mapping[Name, object] | None = None,
    tie: float = 1e-9,
) -> tuple[list[dict[Name, int]], float]:
    """Every maximizer over `over` of the measure summed over the rest, and its log."""
    logs = log_joint(factors, cards, evidence)
    return maximizers(project(logs, cards, over, lambda values: log_sum(np.array(values))), over, tie)


def bayes_factors(families: Iterable[Family]) -> list[Factor]:
    """The factors of a Bayesian network: one table over `(*parents, child)` each."""
    return [((*parents, child), np.asarray(table, dtype=float)) for child, parents, table in families]


def bayes_joint(families: Sequence[Family], cards: Cards) -> np.ndarray:
    """The joint distribution of a Bayesian network, one axis per name of `cards`."""
    return joint(bayes_factors(families), cards)


def entropy(p: np.ndarray) -> float:
    """-sum p log p in nats, with 0 log 0 = 0."""
    return -math.fsum(x * math.log(x) for x in np.ravel(p).tolist() if x > 0)


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """sum p log(p / q) in nats; infinite where p has mass and q has none."""
    pairs = [(x, y) for x, y in zip(np.ravel(p).tolist(), np.ravel(q).tolist(), strict=True) if x > 0]
    if any(y == 0 for _, y in pairs):
        return math.inf
    return math.fsum(x * math.log(x / y) for x, y in pairs)


def keep_axes(p: np.ndarray, axes: Iterable[int]) -> np.ndarray:
    """The sum over every other axis, with those axes kept at length one."""
    return p.sum(axis=tuple(axis for axis in range(p.ndim) if axis not in set(axes)), keepdims=True)


def mutual_information(p: np.ndarray, a: Sequence[int], b: Sequence[int], given: Sequence[int] = ()) -> float:
    """I(a; b | given) in nats between groups of axes of a joint distribution."""
    parts = [(*a, *given), (*b, *given), (*a, *b, *given), tuple(given)]
    h = [entropy(keep_axes(p, part)) for part in parts]
    return h[0] + h[1] - h[2] - h[3]


def independent(
    p: np.ndarray, a: Sequence[int], b: Sequence[int], given: Sequence[int] = (), tolerance: float = 1e-12
) -> bool:
    """Whether P(a, b, z) P(z) = P(a, z) P(b, z) everywhere."""
    left = keep_axes(p, (*a, *b, *given)) * keep_axes(p, given)
    right = keep_axes(p, (*a, *given)) * keep_axes(p, (*b, *given))
    return bool(np.max(np.abs(left - right), initial=0.0) <= tolerance)


def moments(p: np.ndarray, states: Sequence[Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean vector and covariance matrix of numeric states, one sequence of values per axis."""
    mean = np.zeros(p.ndim)
    second = np.zeros((p.ndim, p.ndim))
    for cell in np.ndindex(*p.shape):
        point = np.array([float(states[axis][state]) for axis, state in enumerate(cell)])
        mean += p[cell] * point
        second += p[cell] * np.outer(point, point)
    return mean, second - np.outer(mean, mean)


def trails(edges: Iterable[tuple[Name, Name]], start: Name, end: Name) -> Iterator[tuple[Name, ...]]:
    """Every path without repeated nodes between two nodes, along edges in either direction."""
    neighbors: dict[Name, list[Name]] = {}
    for u, v in edges:
        neighbors.setdefault(u, []).append(v)
        neighbors.setdefault(v, []).append(u)
    paths: list[tuple[Name, ...]] = [(start,)]
    while paths:
        path = paths.pop()
        if path[-1] == end:
            yield path
            continue
        paths.extend((*path, node) for node in neighbors.get(path[-1], []) if node not in path)


def descendants(edges: Iterable[tuple[Name, Name]], node: Name) -> set[Name]:
    """The node itself and everything reachable from it."""
    edges = list(edges)
    found = {node}
    while True:
        more = {v for u, v in edges if u in found} - found
        if not more:
            return found
        found |= more


def is_active(edges: Sequence[tuple[Name, Name]], trail: Sequence[Name], given: set[Name]) -> bool:
    """Whether every collider on the trail has an observed descendant and every other inner node is unobserved."""
    for left, node, right in zip(trail, trail[1:], trail[2:], strict=False):
        if (left, node) in edges and (right, node) in edges:
            if not descendants(edges, node) & given:
                return False
        elif node in given:
            return False
    return True


def d_separated(
    edges: Iterable[tuple[Name, Name]], a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = ()
) -> bool:
    """Whether no trail between the unobserved nodes of two sets is active, by trying every trail."""
    edges, evidence = list(edges), set(given)
    pairs = itertools.product(set(a) - evidence, set(b) - evidence)
    return not any(is_active(edges, trail, evidence) for x, y in pairs for trail in trails(edges, x, y))


def separated(
    edges: Iterable[tuple[Name, Name]], a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = ()
) -> bool:
    """Whether every path of an undirected graph between two sets meets `given`, by trying every path."""
    edges, evidence = list(edges), set(given)
    pairs = itertools.product(set(a) - evidence, set(b) - evidence)
    return not any(not evidence & set(path) for x, y in pairs for path in trails(edges, x, y))


class LinearGaussian(NamedTuple):
    """child | parents ~ N(offset + sum of weight * parent; variance); scalars, or vectors and matrices."""

    child: Name
    parents: tuple[Name, ...]
    weights: tuple[object, ...]
    offset: object
    variance: object


def dense_gaussian(nodes: Iterable[LinearGaussian]) -> tuple[dict[Name, list[int]], np.ndarray, np.ndarray]:
    """Positions of each name, mean and covariance of a linear-Gaussian network, nodes in any order.

    With x = a + B x + noise, the mean is (I - B)^-1 a and the covariance (I - B)^-1 C (I - B)^-T.
    """
    nodes = list(nodes)
    index: dict[Name, list[int]] = {}
    size = 0
    for node in nodes:
        width = np.size(node.offset)
        index[node.child] = list(range(size, size + width))
        size += width
    a, B, C = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    for node in nodes:
        rows = index[node.child]
        a[rows] = np.ravel(node.offset)
        C[np.ix_(rows, rows)] = np.reshape(node.variance, (len(rows), len(rows)))
        for parent, weight in zip(node.parents, node.weights, strict=True):
            B[np.ix_(rows, index[parent])] = np.reshape(weight, (len(rows), len(index[parent])))
    spread = np.linalg.inv(np.eye(size) - B)
    return index, spread @ a, spread @ C @ spread.T


def condition_gaussian(
    mean: np.ndarray, cov: np.ndarray, at: Sequence[int], values: Sequence[float]
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """The positions left, and their mean and covariance given the values at `at` (Schur complement)."""
    at = list(at)
    rest = [i for i in range(len(mean)) if i not in at]
    gain = np.linalg.solve(cov[np.ix_(at, at)], cov[np.ix_(at, rest)]).T
    difference = np.asarray(values, dtype=float) - mean[at]
    return rest, mean[rest] + gain @ difference, cov[np.ix_(rest, rest)] - gain @ cov[np.ix_(at, rest)]


def gaussian_log_density(point: Sequence[float], mean: np.ndarray, cov: np.ndarray) -> float:
    """log N(point; mean, cov); zero in no dimensions."""
    difference = np.asarray(point, dtype=float) - mean
    sign, log_det = np.linalg.slogdet(2 * math.pi * cov)
    assert sign > 0, "the covariance is not positive definite"
    return float(-0.5 * difference @ np.linalg.solve(cov, difference) - 0.5 * log_det)


def canonical_log_value(K: np.ndarray, h: np.ndarray, g: float, point: Sequence[float]) -> float:
    """-x'Kx/2 + h'x + g."""
    x = np.asarray(point, dtype=float)
    return float(-0.5 * x @ K @ x + h @ x + g)


def canonical_integral(
    K: np.ndarray, h: np.ndarray, g: float, out: Sequence[int], point: Mapping[int, float] | None = None
) -> float:
    """The integral of a canonical form over one to three axes, the others held at `point`.

    A plain sum over a grid of step h, which for a Gaussian errs by about exp(-2 (pi s / h)^2) with s its least
    standard deviation; the grid ends nine standard deviations out.
    """
    out, held = list(out), dict(point or {})
    assert 1 <= len(out) <= 3, "the grid is for one to three dimensions"
    assert sorted([*out, *held]) == list(range(len(h))), "every axis is integrated or held"
    inner = K[np.ix_(out, out)]
    fixed = list(held)
    center = np.linalg.solve(inner, h[out] - K[np.ix_(out, fixed)] @ np.array([held[axis] for axis in fixed]))
    step = 0.7 / math.sqrt(float(np.linalg.eigvalsh(inner)[-1]))
    reach = 9.0 * np.sqrt(np.diag(np.linalg.inv(inner)))
    lines = [
        c + step * np.arange(-math.ceil(r / step), math.ceil(r / step) + 1) for c, r in zip(center, reach, strict=True)
    ]
    if math.prod(len(line) for line in lines) > 4 * LARGEST:
        raise ValueError("the form is too elongated for a grid")
    grid = np.meshgrid(*lines, indexing="ij")
    x = np.empty((grid[0].size, len(h)))
    x[:, fixed] = [held[axis] for axis in fixed]
    x[:, out] = np.stack([axis.ravel() for axis in grid], axis=1)
    logs = -0.5 * np.sum((x @ K) * x, axis=1) + x @ h + g
    return float(np.exp(logs).sum() * step ** len(out))


def gaussian_expectation(f: Callable[[np.ndarray], float], mean: np.ndarray, cov: np.ndarray, order: int = 40) -> float:
    """E[f(x)] under N(mean, cov) by a product Gauss-Hermite rule of `order` points an axis."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / math.sqrt(2 * math.pi)
    root = np.linalg.cholesky(cov)
    total = 0.0
    for cell in itertools.product(range(order), repeat=len(mean)):
        point = mean + root @ nodes[list(cell)]
        total += float(np.prod(weights[list(cell)])) * f(point)
    return total


class HybridNode(NamedTuple):
    """A conditional linear Gaussian: `cases` maps the states of the discrete parents to weights, offset, variance."""

    child: Name
    discrete: tuple[Name, ...]
    continuous: tuple[Name, ...]
    cases: Mapping[Cell, tuple[tuple[object, ...], object, object]]


class Component(NamedTuple):
    """One discrete assignment: log P(assignment, evidence), and the Gaussian over the unobserved reals."""

    assignment: dict[Name, int]
    log_weight: float
    mean: np.ndarray
    cov: np.ndarray


class Mixture(NamedTuple):
    """The exact posterior of a CLG network: components, and where each unobserved real lies in their vectors."""

    index: dict[Name, list[int]]
    components: list[Component]

    @property
    def log_evidence(self) -> float:
        return log_sum(np.array([part.log_weight for part in self.components]))

    @property
    def weights(self) -> np.ndarray:
        return np.exp(np.array([part.log_weight for part in self.components]) - self.log_evidence)

    def discrete_marginal(self, names: Sequence[Name], cards: Cards) -> np.ndarray:
        result = np.zeros(tuple(cards[name] for name in names))
        for part, weight in zip(self.components, self.weights, strict=True):
            result[tuple(part.assignment[name] for name in names)] += weight
        return result

    def moments(self, where: Mapping[Name, int] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the reals given the evidence, and given the discrete states `where`."""
        chosen = [
            (part, weight)
            for part, weight in zip(self.components, self.weights, strict=True)
            if all(part.assignment[name] == state for name, state in (where or {}).items())
        ]
        return collapse([w for _, w in chosen], [part.mean for part, _ in chosen], [part.cov for part, _ in chosen])


def collapse(
    weights: Sequence[float], means: Sequence[object], covs: Sequence[object]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a mixture: the mean of the covariances plus the covariance of the means."""
    w = np.asarray(weights, dtype=float) / math.fsum(weights)
    vectors = [np.atleast_1d(np.asarray(m, dtype=float)) for m in means]
    mean = sum(wi * m for wi, m in zip(w, vectors, strict=True))
    cov = sum(
        wi * (np.reshape(c, (len(m), len(m))) + np.outer(m - mean, m - mean))
        for wi, m, c in zip(w, vectors, covs, strict=True)
    )
    return np.asarray(mean), np.asarray(cov)


def clg_mixture(
    families: Sequence[Family],
    cards: Cards,
    nodes: Sequence[HybridNode],
    evidence: Mapping[Name, object] | None = None,
    values: Mapping[Name, object] | None = None,
) -> Mixture:
    """The posterior of a CLG network given discrete `evidence` and real `values`, one component per discrete cell."""
    priors, values = log_joint(bayes_factors(families), cards, evidence), dict(values or {})
    index: dict[Name, list[int]] = {}
    components = []
    for cell in cells(cards):
        if priors[cell] == -math.inf:
            continue
        state = dict(zip(cards, cell, strict=True))
        linear = []
        for node in nodes:
            weights, offset, variance = node.cases[tuple(state[name] for name in node.discrete)]
            linear.append(LinearGaussian(node.child, node.continuous, weights, offset, variance))
        places, mean, cov = dense_gaussian(linear)
        at = [i for name in values for i in places[name]]
        seen = np.concatenate([np.empty(0), *(np.ravel(np.asarray(value, dtype=float)) for value in values.values())])
        log_weight = float(priors[cell]) + gaussian_log_density(seen, mean[at], cov[np.ix_(at, at)])
        rest, mean, cov = condition_gaussian(mean, cov, at, seen)
        index = {name: [rest.index(i) for i in where] for name, where in places.items() if name not in values}
        components.append(Component(state, log_weight, mean, cov))
    return Mixture(index, components)


def random_cards(rng: np.random.Generator, num: int, largest: int = 3) -> dict[Name, int]:
    """Names v0, v1, ... with one to `largest` states each."""
    return {f"v{i}": int(rng.integers(1, largest + 1)) for i in range(num)}


def random_factors(
    rng: np.random.Generator,
    cards: Cards,
    num: int,
    *,
    arity: int = 3,
    zeros: float = 0.2,
    ties: bool = False,
) -> list[Factor]:
    """Factors on random scopes (empty ones too), with zeros, or with few distinct values so that maximizers tie.

    One planted assignment stays positive, so the measure is never identically zero.
    """
    names = list(cards)
    planted = {name: int(rng.integers(card)) for name, card in cards.items()}
    factors = []
    for _ in range(num):
        size = int(rng.integers(0, min(arity, len(names)) + 1))
        scope = tuple(names[i] for i in rng.choice(len(names), size=size, replace=False)) if size else ()
        shape = tuple(cards[name] for name in scope)
        positive = rng.integers(1, 3, size=shape).astype(float) if ties else rng.uniform(0.05, 2.0, size=shape)
        table = np.where(rng.random(shape) < zeros, 0.0, positive)
        here = tuple(planted[name] for name in scope)
        table[here] = np.asarray(positive)[here]
        factors.append((scope, table))
    return factors


def random_parents(
    rng: np.random.Generator, names: Sequence[Name], *, most: int = 3, parts: int = 1
) -> dict[Name, tuple[Name, ...]]:
    """A random DAG as child -> parents over a shuffled order, in `parts` pieces that no edge joins."""
    order = [names[i] for i in rng.permutation(len(names))]
    parents: dict[Name, tuple[Name, ...]] = {}
    for position, child in enumerate(order):
        earlier = [name for i, name in enumerate(order[:position]) if i % parts == position % parts]
        size = int(rng.integers(0, min(most, len(earlier)) + 1))
        parents[child] = tuple(earlier[i] for i in rng.permutation(len(earlier))[:size])
    return {name: parents[name] for name in names}


def random_rows(rng: np.random.Generator, shape: tuple[int, ...], *, deterministic: float, zeros: float) -> np.ndarray:
    """Distributions along the last axis: some with all mass on one state, some with a few zeros."""
    table = np.zeros(shape)
    for row in np.ndindex(*shape[:-1]):
        keep = int(rng.integers(shape[-1]))
        if rng.random() < deterministic:
            table[(*row, keep)] = 1.0
            continue
        values = np.where(rng.random(shape[-1]) < zeros, 0.0, rng.uniform(0.05, 1.0, size=shape[-1]))
        values[keep] = rng.uniform(0.05, 1.0)
        table[row] = values / values.sum()
    return table


def random_network(
    rng: np.random.Generator,
    num: int,
    *,
    largest: int = 3,
    most: int = 3,
    parts: int = 1,
    deterministic: float = 0.2,
    zeros: float = 0.1,
) -> tuple[list[Family], dict[Name, int]]:
    """A random Bayesian network; `num=0` is the empty model, and one-state variables occur."""
    cards = random_cards(rng, num, largest)
    families: list[Family] = []
    for child, parents in random_parents(rng, list(cards), most=most, parts=parts).items():
        shape = tuple(cards[name] for name in (*parents, child))
        families.append((child, parents, random_rows(rng, shape, deterministic=deterministic, zeros=zeros)))
    return families, cards


def random_linear_gaussian(
    rng: np.random.Generator, num: int, *, most: int = 3, parts: int = 1
) -> list[LinearGaussian]:
    """A random linear-Gaussian network over x0, x1, ..., every variance well above zero."""
    return [
        LinearGaussian(
            child,
            parents,
            tuple(float(w) for w in rng.uniform(-1.5, 1.5, size=len(parents))),
            float(rng.normal()),
            float(rng.uniform(0.3, 2.0)),
        )
        for child, parents in random_parents(rng, [f"x{i}" for i in range(num)], most=most, parts=parts).items()
    ]


def random_clg(
    rng: np.random.Generator, num_discrete: int, num_real: int, *, largest: int = 3, most: int = 2
) -> tuple[list[Family], dict[Name, int], list[HybridNode]]:
    """A random conditional linear Gaussian network: families, cards, and the nodes of the reals."""
    families, cards = random_network(rng, num_discrete, largest=largest, most=most)
    nodes = []
    for child, parents in random_parents(rng, [f"x{i}" for i in range(num_real)], most=most).items():
        chosen = rng.permutation(len(cards))[: int(rng.integers(0, min(most, len(cards)) + 1))]
        discrete = tuple(list(cards)[i] for i in chosen)
        cases = {
            cell: (
                tuple(float(w) for w in rng.uniform(-1.5, 1.5, size=len(parents))),
                float(rng.normal()),
                float(rng.uniform(0.3, 2.0)),
            )
            for cell in itertools.product(*(range(cards[name]) for name in discrete))
        }
        nodes.append(HybridNode(child, discrete, parents, cases))
    return families, cards, nodes
