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

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Int32s, Ints
from sepset.base.lazy import lazy
from sepset.base.memory import machine_memory
from sepset.base.text import listing
from sepset.base.threads import abandonable, require_time
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import COUNT, GROUP, TABLE

MOST_MEMBERS = 10
"""The most variables of a table whose polynomial is made."""

ROUNDING = 1e-12
"""The sum of terms of one pair, relative to their sizes, that is taken for rounding."""

MOST_PAIRS, PAIR_BYTES = 2**30, 300
"""The most pairs with auxiliary variables, and the memory of each, from its terms to the flow."""

MOST_TRIED = 10_000_000
"""The most pairs with auxiliary variables for which a cut is tried where another method may do as well."""


@dataclass(eq=False)
class Terms:
    """Constants, terms of one variable and of two; auxiliary variables come after the first `num_variables`.

    Attributes:
        num_variables: the number of variables so far.
        constant: the sum of the constants.
        single: variables and coefficients, in parts.
        pairs: those of the products of two variables of the model, which may be there several times.
        fresh: those of auxiliary variables and others, each there once.

    Guarantee: exact: the minimum over the auxiliary variables is the energy.
    Tested by: inference/map/test_reductions.py::test_minima_over_auxiliaries_are_the_energies
    """

    num_variables: int
    constant: float = 0.0
    single: list[tuple[AnyInts, Floats]] = field(default_factory=list)
    pairs: list[tuple[Int32s, Floats]] = field(default_factory=list)
    fresh: list[tuple[Int32s, Floats]] = field(default_factory=list)

    def add(self, variables: AnyInts, numbers: Floats) -> None:
        """Add terms of one variable."""
        self.single.append((np.ravel(variables), np.ravel(numbers)))

    def join(self, first: AnyInts, second: AnyInts, numbers: Floats) -> None:
        """Add terms of two variables of the model."""
        pairs = np.sort(np.stack([first, second], axis=1).astype(np.int32), axis=1)
        self.pairs.append((pairs, np.broadcast_to(numbers, first.shape)))

    def auxiliaries(self, count: int) -> Ints:
        """New variables."""
        made = self.num_variables + np.arange(count)
        self.num_variables += count
        return made

    def lowered(self, members: AnyInts, a: Floats, b: Floats) -> None:
        r"""Add $\min(0, a - \sum_i b_i t_i)$ for each row of members, with an auxiliary variable for each."""
        require_time()
        z = self.auxiliaries(len(members))
        self.add(z, a)
        pairs = np.stack([members, np.broadcast_to(z[:, None], members.shape)], axis=2, dtype=np.int32)
        used = b != 0.0
        self.fresh.append((pairs.reshape(-1, 2), -b.ravel()) if used.all() else (pairs[used], -b[used]))

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

    def merge(self) -> None:
        """Make one term of all those of one pair of the model's variables; none of what is rounding."""
        if not self.pairs:
            return
        pairs, numbers = (np.concatenate(parts) for parts in zip(*self.pairs, strict=True))
        keys = pairs[:, 0].astype(np.int64) * self.num_variables + pairs[:, 1]
        keys, which = abandonable(lambda: np.unique(keys, return_inverse=True))
        total, sizes = (np.bincount(which.reshape(-1), each, len(keys)) for each in (numbers, np.abs(numbers)))
        sums = np.asarray(total, np.float64)
        kept = np.abs(sums) > ROUNDING * sizes
        self.pairs = [(np.stack(np.divmod(keys[kept], self.num_variables), axis=1, dtype=np.int32), sums[kept])]

    def joined(self) -> tuple[Int32s, Floats]:
        """The pairs, with the lower variable first, and their coefficients: each once, if those of the model are."""
        parts = [(np.zeros((0, 2), np.int32), np.zeros(0)), *self.pairs, *self.fresh]
        return np.concatenate([pairs for pairs, _ in parts]), np.concatenate([numbers for _, numbers in parts])


@dataclass(frozen=True, eq=False)
class Polynomials:
    r"""Tables of one number of variables as $\sum_S c_S \prod_{i \in S} t_i$, the same choices for all.

    Attributes:
        scopes: `[m, d]`, the variables of each table.
        numbers: `[m, 2^d]`, the coefficients $c_S$; bit $i$ of the column tells whether $S$ has the $i$-th variable.
    """

    scopes: Ints
    numbers: Floats

    @lazy
    def couples(self) -> list[tuple[int, int]]:
        """The places of all pairs in the scopes."""
        return list(itertools.combinations(range(self.scopes.shape[1]), 2))

    @lazy
    def large(self) -> list[int]:
        """The subsets of three and more variables."""
        return [subset for subset in range(self.numbers.shape[1]) if subset.bit_count() > 2]

    @lazy
    def pairs(self) -> tuple[Floats, Bools]:
        r"""For each pair $i < j$ its coefficient with what positive products add, and whether larger products have it.

        $$c_{ij} + \sum_{S \supset \{i, j\}} \max(0, c_S)$$
        """
        d, columns = self.scopes.shape[1], [1 << i | 1 << j for i, j in self.couples]
        positive, used = self.numbers.copy(), np.zeros(self.numbers.shape, bool)
        positive[:, self.large] = np.maximum(self.numbers[:, self.large], 0.0)
        used[:, self.large] = self.numbers[:, self.large] != 0.0
        return _sums_above(positive, d)[:, columns], _sums_above(used, d)[:, columns]

    @lazy
    def num_fresh(self) -> float:
        """The number of pairs with auxiliary variables."""
        total = 0.0
        for subset in self.large:
            d, numbers = subset.bit_count(), self.numbers[:, subset]
            total += d * float((numbers < 0.0).sum()) + d * ((d - 1) // 2) * float((numbers > 0.0).sum())
        return total

    def add_small(self, terms: Terms) -> None:
        """Add all that needs no auxiliary variables."""
        terms.constant += float(self.numbers[:, 0].sum())
        for i in range(self.scopes.shape[1]):
            terms.add(self.scopes[:, i], self.numbers[:, 1 << i])
        for at, (i, j) in enumerate(self.couples):
            terms.join(self.scopes[:, i], self.scopes[:, j], self.pairs[0][:, at])

    def add_large(self, terms: Terms) -> None:
        """Add auxiliary variables for the products of three and more variables."""
        for subset in self.large:
            members, numbers = self.scopes[:, members_of(subset)], self.numbers[:, subset]
            below, above = numbers < 0.0, numbers > 0.0
            falls, d = -numbers[below], subset.bit_count()
            terms.lowered(members[below], falls * (d - 1), falls[:, None] * np.ones((1, d)))
            _add_positive(terms, members[above], numbers[above])


def members_of(subset: int) -> list[int]:
    """The places of the ones of a number.

    >>> members_of(5)
    [0, 2]
    """
    return [i for i in range(subset.bit_length()) if subset >> i & 1]


def _sums_above(numbers: Any, d: int) -> Any:
    """For each subset the sum over those that contain it; for truths, whether one does."""
    for i in range(d):
        require_time()
        split = numbers.reshape(len(numbers), -1, 2, 2**i)
        split[:, :, 0] += split[:, :, 1]
    return numbers


def choice_terms(wiring: Wiring, keep: Ints, take: Ints, method: object, *, to_cut: int = 0) -> Terms:
    """The energies of all factors over three and more variables, as terms of the choices between two assignments.

    Raises `NotApplicable` for impossible cells, large tables and groups that favor unequal states, and `TooLarge` if
    the pairs do not fit.

    Args:
        to_cut: for a cut with so many pairs at most: what no exchange of states makes submodular is refused as soon as
            a pair shows it. Zero for other ends.
    """
    terms, polynomials, most = Terms(wiring.num_variables), [], to_cut or MOST_PAIRS
    arities, kinds = np.diff(wiring.plugs.starts), wiring.plugs.kinds
    for arity, kind in np.unique(np.stack([arities, kinds])[:, arities > 2], axis=1).T.tolist():
        factors = np.flatnonzero((arities == arity) & (kinds == kind))
        scopes = wiring.plugs.scope[wiring.plugs.starts[factors][:, None] + np.arange(arity)]
        if kind == GROUP:
            _require_room(len(factors) * arity * int(wiring.plugs.cards[scopes[0, 0]]), most, method)
            _add_groups(terms, wiring, factors, scopes, keep, take, method)
        elif kind == COUNT:
            _require_room(len(factors) * 3 * arity**2 / 2, most, method)
            _add_counts(terms, wiring, factors, scopes, keep, take, method)
        else:
            _require(kind == TABLE and arity <= MOST_MEMBERS, wiring, factors, method, "is too large or a constraint")
            polynomials.append(_polynomials(wiring, factors, scopes, keep, take, method))
    for each in polynomials:
        each.add_small(terms)
    terms.merge()
    if to_cut and (pair := _torn(terms, polynomials)) is not None:
        raise NotApplicable(not_submodular(wiring, pair))
    _require_room(sum(each.num_fresh for each in polynomials), most, method)
    for each in polynomials:
        each.add_large(terms)
    return terms


def _torn(terms: Terms, polynomials: list[Polynomials]) -> Int32s | None:
    """A pair that favors unequal states while an auxiliary variable favors that both equal it, if there is one."""
    torn = [pairs[sums > 0.0] for pairs, sums in terms.pairs]
    tied = [p.scopes[p.pairs[1][:, at]][:, pair] for p in polynomials for at, pair in enumerate(p.couples)]
    if not tied or not any(map(len, torn)):
        return None
    one, other = (np.sort(np.concatenate(parts).astype(np.int64), axis=1) for parts in (torn, tied))
    keys, others = (each[:, 0] * terms.num_variables + each[:, 1] for each in (one, other))
    found = np.flatnonzero(abandonable(lambda: np.isin(keys, others)))
    return one[found[0]].astype(np.int32) if len(found) else None


def not_submodular(wiring: Wiring, pair: AnyInts) -> str:
    """The reason why the pairs of larger factors have no minimum cut.

    Args:
        pair: two variables of such factors; one of them may be auxiliary.
    """
    names = " and ".join(repr(wiring.name(i)) for i in pair.tolist() if i < wiring.num_variables)
    return (
        "MinCut takes submodular models; no exchange of states makes the factors over three and more variables "
        f"submodular, such as a factor of {names}. Use QPBO() for what is certain."
    )


def _require_room(num_pairs: float, most: int, method: object) -> None:
    """Raise before so many pairs are made if they are too many, or do not fit."""
    need, room = num_pairs * PAIR_BYTES, machine_memory() / 2
    if need > room or num_pairs > most:
        raise TooLarge(
            f"{type(method).__name__} makes {num_pairs:,.3g} pairs of larger factors and auxiliary variables, which "
            f"need {need / 2**30:,.3g} GiB; it makes up to {min(most, room / PAIR_BYTES):,.3g}. Use MPLP()."
        )


def _require(holds: Any, wiring: Wiring, factors: Ints, method: object, problem: str) -> None:
    good = np.broadcast_to(holds, len(factors))
    if not good.all():
        f = int(factors[np.argmin(good)])
        names = listing((wiring.name(i) for i in wiring.scope(f).tolist()), 4)
        raise NotApplicable(
            f"{type(method).__name__} takes larger factors that become pairs; factor {wiring.numbers[f]} over "
            f"{len(wiring.scope(f))} variables ({names}) {problem}. Use MPLP() or CliqueTree()."
        )


def _polynomials(wiring: Wiring, factors: Ints, scopes: Ints, keep: Ints, take: Ints, method: object) -> Polynomials:
    """The polynomials of tables: the coefficient of a product is an alternating sum over its subsets."""
    arity, plugs = scopes.shape[1], wiring.plugs
    cards = plugs.cards[scopes]
    strides = np.cumprod(np.concatenate([np.ones((len(scopes), 1), np.int64), cards[:, :0:-1]], axis=1), axis=1)[
        :, ::-1
    ]
    base = plugs.places[factors] + (strides * keep[scopes]).sum(axis=1)
    steps, numbers = strides * (take - keep)[scopes], np.empty((len(factors), 2**arity))
    for subset in range(2**arity):
        numbers[:, subset] = -plugs.tables[base + steps[:, members_of(subset)].sum(axis=1)]
    _require(np.isfinite(numbers).all(axis=1), wiring, factors, method, "has impossible joint states")
    for i in range(arity):
        require_time()
        split = numbers.reshape(len(factors), -1, 2, 2**i)
        split[:, :, 1] -= split[:, :, 0]
    return Polynomials(scopes, numbers)


def _add_positive(terms: Terms, members: Ints, numbers: Floats) -> None:
    """Add the auxiliary variables of products with positive numbers, whose pairs are there."""
    degree = members.shape[1]
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
