r"""Choices of larger groups as energies of pairs, with auxiliary variables.

Every variable keeps one state or takes another, $t_i \in \{0, 1\}$; the energy of a factor is then a polynomial of the
$t_i$, or a concave function of a sum, and both become minima over auxiliary variables of terms in pairs:

$$-\prod_{i=1}^d t_i = \min_{z} z \Bigl(d - 1 - \sum_i t_i\Bigr), \qquad
\prod_{i=1}^d t_i = \sum_{i < j} t_i t_j + \min_{\mathbf z} \sum_{k=1}^{\lfloor (d-1)/2 \rfloor}
z_k \Bigl(c_k \bigl(2k - \sum_i t_i\bigr) - 1\Bigr)$$

with $c_k = 1$ for the last one of odd $d$ and else 2; and $\min(0, a - b \sum_i t_i) = \min_z z (a - b \sum_i t_i)$.

Reference: Freedman & Drineas (2005); Ishikawa (2011); Kohli, Ladicky & Torr (2009).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Int32s, Ints
from sepset.base.text import listing
from sepset.errors import NotApplicable
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import COUNT, GROUP, TABLE

MOST_MEMBERS = 10
"""The most variables of a table whose polynomial is made."""


@dataclass(eq=False)
class Terms:
    """Constants, terms of one variable and of two; auxiliary variables come after the first `num_variables`.

    Attributes:
        num_variables: the number of variables so far.
        constant: the sum of the constants.
        single, pairs: variables and coefficients, in parts.

    Guarantee: exact: the minimum over the auxiliary variables is the energy.
    Tested by: inference/map/test_reductions.py::test_minima_over_auxiliaries_are_the_energies
    """

    num_variables: int
    constant: float = 0.0
    single: list[tuple[AnyInts, Floats]] = field(default_factory=list)
    pairs: list[tuple[AnyInts, Floats]] = field(default_factory=list)

    def add(self, variables: AnyInts, numbers: Floats) -> None:
        """Add terms of one variable."""
        self.single.append((np.ravel(variables), np.ravel(numbers)))

    def join(self, first: AnyInts, second: AnyInts, numbers: Floats) -> None:
        """Add terms of two variables."""
        both = np.stack([np.ravel(each) for each in np.broadcast_arrays(first, second)], axis=1)
        self.pairs.append((both, np.ravel(np.broadcast_to(numbers, np.broadcast_shapes(first.shape, second.shape)))))

    def auxiliaries(self, count: int) -> Ints:
        """New variables."""
        made = self.num_variables + np.arange(count)
        self.num_variables += count
        return made

    def lowered(self, members: AnyInts, a: Floats, b: Floats) -> None:
        r"""Add $\min(0, a - \sum_i b_i t_i)$ for each row of members, with an auxiliary variable for each."""
        z = self.auxiliaries(len(members))
        self.add(z, a)
        self.join(np.broadcast_to(z[:, None], members.shape), members, -b)

    def least(self, members: AnyInts, a: Floats, b: Floats) -> None:
        r"""Add $y_- = \min(0, y)$ with $y = a - \sum_i b_i t_i$; if most $b_i$ are negative, as $y + \min(0, -y)$.

        So the auxiliary variable meets as many members as possible in submodular pairs.
        """
        falls = b.sum(axis=1) < 0.0
        sign = np.where(falls, -1.0, 1.0)
        self.constant += float(a[falls].sum())
        self.add(members, np.where(falls[:, None], -b, 0.0))
        self.lowered(members, sign * a, sign[:, None] * b)

    def singles(self) -> Floats:
        """The coefficients of single variables."""
        total = np.zeros(self.num_variables)
        for variables, numbers in self.single:
            np.add.at(total, variables, numbers)
        return total

    def joined(self) -> tuple[Int32s, Floats]:
        """The pairs, each once with the lower variable first, and the sums of their coefficients."""
        if not self.pairs:
            return np.zeros((0, 2), np.int32), np.zeros(0)
        both = np.sort(np.concatenate([pair for pair, _ in self.pairs]), axis=1)
        keys, which = np.unique(both[:, 0] * self.num_variables + both[:, 1], return_inverse=True)
        sums = np.bincount(which.reshape(-1), np.concatenate([numbers for _, numbers in self.pairs]), len(keys))
        kept = sums != 0.0
        pairs = np.stack(np.divmod(keys[kept], self.num_variables), axis=1)
        return pairs.astype(np.int32), sums[kept]


def choice_terms(wiring: Wiring, keep: Ints, take: Ints, method: object) -> Terms:
    """The energies of all factors over three and more variables, as terms of the choices between two assignments.

    Raises `NotApplicable` for impossible cells, large tables and groups that favor unequal states.
    """
    terms = Terms(wiring.num_variables)
    arities, kinds = np.diff(wiring.plugs.starts), wiring.plugs.kinds
    for arity, kind in np.unique(np.stack([arities, kinds])[:, arities > 2], axis=1).T.tolist():
        factors = np.flatnonzero((arities == arity) & (kinds == kind))
        scopes = wiring.plugs.scope[wiring.plugs.starts[factors][:, None] + np.arange(arity)]
        if kind == GROUP:
            _add_groups(terms, wiring, factors, scopes, keep, take, method)
        elif kind == COUNT:
            _add_counts(terms, wiring, factors, scopes, keep, take, method)
        else:
            _require(kind == TABLE and arity <= MOST_MEMBERS, wiring, factors, method, "is too large or a constraint")
            _add_tables(terms, wiring, factors, scopes, keep, take, method)
    return terms


def _require(holds: Any, wiring: Wiring, factors: Ints, method: object, problem: str) -> None:
    good = np.broadcast_to(holds, len(factors))
    if not good.all():
        f = int(factors[np.argmin(good)])
        names = listing((wiring.name(i) for i in wiring.scope(f).tolist()), 4)
        raise NotApplicable(
            f"{type(method).__name__} takes larger factors that become pairs; factor {wiring.numbers[f]} over "
            f"{len(wiring.scope(f))} variables ({names}) {problem}. Use MPLP() or CliqueTree()."
        )


def _add_tables(
    terms: Terms, wiring: Wiring, factors: Ints, scopes: Ints, keep: Ints, take: Ints, method: object
) -> None:
    """Add the polynomials of tables: the coefficient of a product is an alternating sum over its subsets."""
    arity, plugs = scopes.shape[1], wiring.plugs
    cards = plugs.cards[scopes]
    strides = np.cumprod(np.concatenate([np.ones((len(scopes), 1), np.int64), cards[:, :0:-1]], axis=1), axis=1)[
        :, ::-1
    ]
    base = plugs.places[factors] + (strides * keep[scopes]).sum(axis=1)
    steps, numbers = strides * (take - keep)[scopes], np.empty((len(factors), 2**arity))
    for subset in range(2**arity):
        chosen = [i for i in range(arity) if subset >> i & 1]
        numbers[:, subset] = -plugs.tables[base + steps[:, chosen].sum(axis=1)]
    _require(np.isfinite(numbers).all(axis=1), wiring, factors, method, "has impossible joint states")
    for i in range(arity):
        split = numbers.reshape(len(factors), -1, 2, 2**i)
        split[:, :, 1] -= split[:, :, 0]
    for subset in range(2**arity):
        chosen = [i for i in range(arity) if subset >> i & 1]
        _add_products(terms, scopes[:, chosen], numbers[:, subset])


def _add_products(terms: Terms, members: Ints, numbers: Floats) -> None:
    """Add products of variables, one row each, times numbers."""
    degree = members.shape[1]
    if degree == 0:
        terms.constant += float(numbers.sum())
    elif degree == 1:
        terms.add(members, numbers)
    elif degree == 2:
        terms.join(members[:, 0], members[:, 1], numbers)
    else:
        below, above = numbers < 0.0, numbers > 0.0
        weights = -numbers[below, None]
        ones = np.ones((1, degree))
        terms.lowered(members[below], weights[:, 0] * (degree - 1), weights * ones)
        _add_positive(terms, members[above], numbers[above])


def _add_positive(terms: Terms, members: Ints, numbers: Floats) -> None:
    """Add products with positive numbers."""
    degree = members.shape[1]
    for i in range(degree):
        for j in range(i + 1, degree):
            terms.join(members[:, i], members[:, j], numbers)
    last = (degree - 1) // 2
    for k in range(1, last + 1):
        c = 1.0 if degree % 2 and k == last else 2.0
        terms.lowered(members, numbers * (2.0 * k * c - 1.0), numbers[:, None] * c * np.ones((1, degree)))


def _add_counts(
    terms: Terms, wiring: Wiring, factors: Ints, scopes: Ints, keep: Ints, take: Ints, method: object
) -> None:
    r"""Add functions of sums: a sum of pairs with the largest second difference, and a concave rest.

    $$e(s) = e(0) + s\,(e(1) - e(0)) + \lambda \tbinom s2 - \sum_k \delta_k \max(0, s - k), \qquad \delta_k \ge 0$$
    """
    arity = scopes.shape[1]
    energies = -wiring.plugs.tables[wiring.plugs.places[factors][:, None] + np.arange(arity + 1)]
    _require(np.isfinite(energies).all(axis=1), wiring, factors, method, "has impossible sums")
    second = np.diff(energies, 2, axis=1)
    most = np.maximum(second.max(axis=1), 0.0)
    low, step = keep[scopes], (take - keep)[scopes]
    terms.constant += float(energies[:, 0].sum())
    slope = energies[:, 1] - energies[:, 0]
    terms.constant += float((slope[:, None] * low).sum())
    terms.add(scopes, slope[:, None] * step)
    for i in range(arity):
        for j in range(i + 1, arity):
            used = most > 0.0
            _add_product(terms, scopes[used][:, [i, j]], low[used][:, [i, j]], step[used][:, [i, j]], most[used])
    for k in range(1, arity):
        falls = most - second[:, k - 1]
        used = falls > 0.0
        numbers = falls[used]
        terms.least(scopes[used], numbers * (k - low[used].sum(axis=1)), numbers[:, None] * step[used])


def _add_product(terms: Terms, members: Ints, low: Ints, step: Ints, numbers: Floats) -> None:
    """Add products of two codes, times numbers."""
    terms.constant += float((numbers * low[:, 0] * low[:, 1]).sum())
    for one, other in ((0, 1), (1, 0)):
        terms.add(members[:, one], numbers * step[:, one] * low[:, other])
    terms.join(members[:, 0], members[:, 1], numbers * step[:, 0] * step[:, 1])


def _add_groups(
    terms: Terms, wiring: Wiring, factors: Ints, scopes: Ints, keep: Ints, take: Ints, method: object
) -> None:
    r"""Add $\sum_s \min\bigl(0, \tfrac w L (n - n_s) - w\bigr)$, at most one of whose terms is not zero at a time.

    Terms that no choice makes negative are left out.
    """
    plugs, arity = wiring.plugs, scopes.shape[1]
    weights, limits = plugs.weights[factors], plugs.limits[factors]
    _require(weights >= 0.0, wiring, factors, method, "favors unequal states")
    num_states = int(plugs.cards[scopes[0, 0]])
    seen = plugs.tables[plugs.places[factors][:, None] + np.arange(num_states)]
    everyone, rate = arity + seen.sum(axis=1), weights / limits
    for state in range(num_states):
        has, gets = keep[scopes] == state, take[scopes] == state
        base = seen[:, state] + has.sum(axis=1)
        change = gets.astype(np.float64) - has
        reach = base + np.maximum(change, 0.0).sum(axis=1)
        used = (everyone - reach < limits) & (weights > 0.0)
        a = (rate * (everyone - base) - weights)[used]
        terms.least(scopes[used], a, rate[used, None] * change[used])
