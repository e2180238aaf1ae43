"""Algorithms of chapter 13 of Koller & Friedman, corrected and in plain NumPy, for small models.

Nothing here knows the library. A model is the number of states of each variable and its factors, `(scope, logs)`.
Every table has one axis per variable of the model, of size one where it does not depend on the variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

Part = tuple[tuple[int, ...], np.ndarray]


def spread(cards: Sequence[int], scope: Sequence[int], logs: np.ndarray) -> np.ndarray:
    """A table with one axis per variable of the model."""
    moved = np.transpose(logs, np.argsort(scope, kind="stable"))
    return moved.reshape([cards[v] if v in scope else 1 for v in range(len(cards))])


def reduced(table: np.ndarray, keep: Sequence[int], *, is_max: bool = True) -> np.ndarray:
    """The maxima, or the log sums, over all variables but some."""
    out = tuple(v for v in range(table.ndim) if v not in keep)
    if is_max:
        return table.max(axis=out, keepdims=True)
    top = table.max(axis=out, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(table - safe).sum(axis=out, keepdims=True)) + safe


def less(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The quotient of two tables as logarithms, in which zero over zero is zero."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(one), -np.inf, one - other)


class CliqueTree:
    """Max-product on a clique tree: sums and products of messages (algorithm 13.2), or belief updates."""

    def __init__(self, cards, parts, cliques, edges):
        self.cards, self.cliques, self.edges = tuple(cards), [tuple(c) for c in cliques], list(edges)
        self.sepsets = [tuple(set(self.cliques[i]) & set(self.cliques[j])) for i, j in edges]
        self.potentials = [np.zeros([cards[v] if v in c else 1 for v in range(len(cards))]) for c in self.cliques]
        for scope, logs in parts:
            home = next(k for k, c in enumerate(self.cliques) if set(scope) <= set(c))
            self.potentials[home] = self.potentials[home] + spread(cards, scope, logs)

    def neighbors(self, i):
        return [(b if a == i else a, e) for e, (a, b) in enumerate(self.edges) if i in (a, b)]

    def message(self, i, j):
        total = self.potentials[i] + sum(self.message(k, i) for k, _ in self.neighbors(i) if k != j)
        return reduced(total, next(self.sepsets[e] for k, e in self.neighbors(i) if k == j))

    def belief(self, i):
        return self.potentials[i] + sum(self.message(k, i) for k, _ in self.neighbors(i))

    def updates(self, rng, sweeps) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
        """Beliefs of cliques and of sepsets, before the first and after every belief update."""
        beliefs, own = list(self.potentials), [np.zeros([1] * len(self.cards)) for _ in self.edges]
        yield beliefs, own
        for _ in range(sweeps):
            for e in rng.permutation(2 * len(self.edges)):
                i, j = self.edges[e // 2][:: 1 if e % 2 else -1]
                sent = reduced(beliefs[i], self.sepsets[e // 2])
                beliefs[j] = beliefs[j] + less(sent, own[e // 2])
                own[e // 2] = sent
                yield beliefs, own


class Weighted:
    r"""Messages with counting numbers, algorithm 13.3 with its corrections.

    $\log \delta_{i \to r} = -[\rho_i \sum_{r' \ne r} \log \delta_{i \to r'} + \max_{C_r - X_i} \rho_r(\log \psi_r
    + \sum_{j \ne i} \log \delta_{j \to r})] / (\rho_i + \rho_r)$, $\rho = 1 / \kappa$;
    $\log \beta_r = \rho_r (\log \psi_r + \sum_j \log \delta_{j \to r})$ and
    $\log \beta_i = -\rho_i \sum_r \log \delta_{i \to r}$.
    """

    def __init__(self, cards, parts, factor, variable, *, is_max=True):
        self.cards, self.is_max = tuple(cards), is_max
        self.scopes = [scope for scope, _ in parts]
        self.psi = [spread(cards, scope, logs) for scope, logs in parts]
        self.factor, self.variable = np.broadcast_to(factor, len(parts)), np.broadcast_to(variable, len(cards))
        self.sent = {
            (i, r): np.zeros([c if v == i else 1 for v, c in enumerate(cards)])
            for r, scope in enumerate(self.scopes)
            for i in scope
        }

    def around(self, i):
        return [r for r, scope in enumerate(self.scopes) if i in scope]

    def pass_once(self, damping=0.0):
        """All messages once, in order; the largest change."""
        change = 0.0
        for i, r in self.sent:
            own, pair = 1.0 / self.variable[i], 1.0 / self.factor[r]
            rest = own * sum(self.sent[i, s] for s in self.around(i) if s != r)
            joint = pair * (self.psi[r] + sum(self.sent[j, r] for j in self.scopes[r] if j != i))
            new = -(rest + reduced(joint, (i,), is_max=self.is_max)) / (own + pair)
            new = damping * self.sent[i, r] + (1 - damping) * (new - new.max())
            change = max(change, float(np.abs(new - self.sent[i, r]).max()))
            self.sent[i, r] = new
        return change

    def converged(self, passes=3000, damping=0.0, tolerance=1e-12):
        return any(self.pass_once(damping) < tolerance for _ in range(passes))

    def region(self, r):
        total = (self.psi[r] + sum(self.sent[i, r] for i in self.scopes[r])) / self.factor[r]
        return total - reduced(total, (), is_max=self.is_max)

    def single(self, i):
        total = -sum(self.sent[i, r] for r in self.around(i)) / self.variable[i]
        return total - reduced(total, (), is_max=self.is_max)

    def product(self):
        """The model up to a constant, from its beliefs."""
        return sum(k * self.region(r) for r, k in enumerate(self.factor)) + sum(
            k * self.single(i) for i, k in enumerate(self.variable) if self.around(i)
        )


class Reweighted:
    r"""Tree-reweighted messages between variables, equation 13.17 with the exponent $\rho_{ij}$ (numbers sum to one).

    $\delta_{i \to j}(x_j) = \max_{x_i} [(\psi_i \prod_k \delta_{k \to i})^{\rho_{ij}} \psi_{ij} / \delta_{j \to i}]$,
    $\beta_i = \psi_i \prod_k \delta_{k \to i}$, and
    $\beta_{ij} = \beta_i \beta_j (\psi_{ij} / \delta_{i \to j} \delta_{j \to i})^{1 / \rho_{ij}}$.
    """

    def __init__(self, cards, unary, pairs, rho, *, is_max=True):
        """Log values `unary[i]` of variables, and `pairs[i, j]` of pairs, with their probabilities `rho[i, j]`."""
        self.cards, self.is_max, self.rho = tuple(cards), is_max, rho
        self.unary = [spread(cards, (i,), logs) for i, logs in enumerate(unary)]
        self.pairs = {pair: spread(cards, pair, logs) for pair, logs in pairs.items()}
        self.sent = {}
        for i, j in self.pairs:
            self.sent[i, j], self.sent[j, i] = 0.0 * self.unary[j], 0.0 * self.unary[i]

    def key(self, i, j):
        return (i, j) if (i, j) in self.pairs else (j, i)

    def single(self, i):
        total = self.unary[i] + sum(sent for (_, j), sent in self.sent.items() if j == i)
        return total - reduced(total, (), is_max=self.is_max)

    def pass_once(self, damping=0.0):
        change = 0.0
        for i, j in self.sent:
            pair = self.key(i, j)
            total = self.rho[pair] * self.single(i) + self.pairs[pair] - self.sent[j, i]
            new = reduced(total / self.rho[pair], (j,), is_max=self.is_max) * self.rho[pair]
            new = damping * self.sent[i, j] + (1 - damping) * (new - new.max())
            change = max(change, float(np.abs(new - self.sent[i, j]).max()))
            self.sent[i, j] = new
        return change

    def converged(self, passes=3000, damping=0.5, tolerance=1e-12):
        return any(self.pass_once(damping) < tolerance for _ in range(passes))

    def pair(self, i, j):
        inner = (self.pairs[i, j] - self.sent[i, j] - self.sent[j, i]) / self.rho[i, j]
        total = self.single(i) + self.single(j) + inner
        return total - reduced(total, (), is_max=self.is_max)

    def product(self):
        own = [1.0 - sum(rho for pair, rho in self.rho.items() if i in pair) for i in range(len(self.cards))]
        return sum(rho * self.pair(*pair) for pair, rho in self.rho.items()) + sum(
            number * self.single(i) for i, number in enumerate(own)
        )


def star_updates(cards, parts, passes) -> Iterator[float]:
    r"""The dual bound after every update of a variable, the limit $\kappa_i = 0$ of algorithm 13.3.

    $\log \delta_{i \to r} = \frac{1}{n_i} \sum_{r'} m_{r'} - m_r$ with
    $m_r = \max_{C_r - X_i} [\log \psi_r + \sum_{j \ne i} \log \delta_{j \to r}]$.
    """
    made = Weighted(cards, parts, 1.0, 1.0)
    for _ in range(passes):
        for i in range(len(cards)):
            around = made.around(i)
            inner = {
                r: reduced(made.psi[r] + sum(made.sent[j, r] for j in made.scopes[r] if j != i), (i,)) for r in around
            }
            for r in around:
                made.sent[i, r] = sum(inner.values()) / len(around) - inner[r]
            yield sum(
                float((made.psi[r] + sum(made.sent[j, r] for j in made.scopes[r])).max()) for r in range(len(made.psi))
            )


def program(cards, parts, regions=()):
    """The rows of the linear program: one column per entry of each factor, and of further regions of value zero.

    Every two factors agree on the joint states of all variables that they share.
    """
    tables = [*parts, *((tuple(r), np.zeros([cards[v] for v in r])) for r in regions)]
    starts = np.concatenate([[0], np.cumsum([logs.size for _, logs in tables])])
    rows, right = [], []
    for k in range(len(tables)):
        row = np.zeros(starts[-1])
        row[starts[k] : starts[k + 1]] = 1.0
        rows.append(row)
        right.append(1.0)
    for a, b in itertools.combinations(range(len(tables)), 2):
        shared = [v for v in tables[a][0] if v in tables[b][0]]
        for states in itertools.product(*(range(cards[v]) for v in shared)) if shared else ():
            row = np.zeros(starts[-1])
            for k, sign in ((a, 1.0), (b, -1.0)):
                scope, logs = tables[k]
                at = np.zeros(logs.shape)
                at[tuple(states[shared.index(v)] if v in shared else slice(None) for v in scope)] = sign
                row[starts[k] : starts[k + 1]] = at.reshape(-1)
            rows.append(row)
            right.append(0.0)
    gains = np.concatenate([np.ravel(logs) for _, logs in tables]) if tables else np.zeros(0)
    return gains, np.array(rows), np.array(right)


def relaxed(cards, parts, regions=()) -> float:
    """The value of the linear program; impossible entries are zero."""
    gains, rows, right = program(cards, parts, regions)
    limits = [(0.0, 0.0 if np.isneginf(gain) else None) for gain in gains]
    solved = linprog(-np.where(np.isneginf(gains), 0.0, gains), A_eq=rows, b_eq=right, bounds=limits, method="highs")
    return -solved.fun if solved.status == 0 else -np.inf


def cut(unary, pairs):
    """Algorithm 13.4 for whole energies: the least energy and the states, by SciPy's flow.

    The arc from i to j is cut if i has state zero, on the side of the source, and j has state one.
    """
    n = len(unary)
    own, arcs, constant = np.array(unary, np.int64).copy(), {}, 0
    for (i, j), e in pairs.items():
        own[i, 1] += e[1][0] - e[0][0]
        own[j, 1] += e[1][1] - e[1][0]
        constant += e[0][0]
        arcs[i, j] = arcs.get((i, j), 0) + e[1][0] + e[0][1] - e[0][0] - e[1][1]
    assert all(capacity >= 0 for capacity in arcs.values())
    for i in range(n):
        constant += own[i].min()
        arcs[(n, i) if own[i, 1] > own[i, 0] else (i, n + 1)] = abs(int(own[i, 1] - own[i, 0]))
    rows, columns = zip(*arcs, strict=True)
    graph = coo_array((np.array(list(arcs.values()), np.int32), (rows, columns)), shape=(n + 2, n + 2)).tocsr()
    found = maximum_flow(graph, n, n + 1)
    rest, side, todo = (graph - found.flow).toarray(), {n}, [n]
    while todo:
        i = todo.pop()
        more = [j for j in range(n + 2) if rest[i, j] > 0 and j not in side]
        side.update(more)
        todo += more
    return constant + int(found.flow_value), [int(i not in side) for i in range(n)]


def distances(h, slope, limit=np.inf):
    """Algorithm 13.6: the least `h(y) + min(slope |x - y|, limit)` for every state, forth and back."""
    r = np.array(h, float)
    for x in range(1, len(r)):
        r[x] = min(r[x], r[x - 1] + slope)
    for x in range(len(r) - 2, -1, -1):
        r[x] = min(r[x], r[x + 1] + slope)
    return np.minimum(r, min(h) + limit)


def num_cycles(num, edges):
    """The number of independent cycles of each component of a graph, by joining its ends."""
    label = list(range(num))
    for i, j in edges:
        label = [label[i] if c == label[j] else c for c in label]
    return {c: sum(label[i] == c for i, _ in edges) - label.count(c) + 1 for c in set(label)}
