r"""Missing numbers given those found, by one sweep over the coordinates from parents to children.

What a row misses of the coordinates so far is $\mathbf z = \hat{\mathbf z} + F \mathbf e$ with independent noise
$\mathbf e \sim N(0, \operatorname{diag} D)$. A missing coordinate extends $\mathbf z$ by its mean, by a row of $F$ and
by its own noise. A coordinate that was found is a measurement: with $f = F^\top b$ its loadings by way of missing
parents, and $\alpha_j = c + \sum_{k \le j} f_k^2 D_k$,

$$\hat{\mathbf z} \leftarrow \hat{\mathbf z} + \frac{F D f}{\alpha}\, v, \qquad
D_j \leftarrow D_j \frac{\alpha_{j-1}}{\alpha_j}, \qquad
F_{\cdot j} \leftarrow F_{\cdot j} - \frac{f_j}{\alpha_{j-1}} \sum_{k<j} F_{\cdot k} D_k f_k,$$

and its difference $v$ from what was expected is normal with variance $\alpha$, the last of the $\alpha_j$. Nothing is
inverted and no two variances are subtracted, so that small noise keeps its digits and zero noise is exact. Loadings and
noise are the same for all rows that miss the same coordinates in the same discrete context: a group.

Reference: Bierman (1977), Factorization methods for discrete sequential estimation, chapter V; Koller & Friedman,
theorem 7.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.factors.regression import ON_SUPPORT
from sepset.inference.hybrid.coordinates import Coordinates

FOUND, MISSING = 1, 2


@dataclass(frozen=True, eq=False)
class Groups:
    """Kinds of rows: what they miss and find, and their discrete context.

    Attributes:
        kinds: for each group and coordinate 1 where it was found, 2 where it is missing, 0 where nobody asks.
        entries: for each group and coordinate the row of the coordinate's parameters.
    """

    kinds: Bytes = field(repr=False)
    entries: Ints = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, found: Bools, missing: Bools, contexts: Ints) -> Groups:
        """The groups that find and miss these coordinates in these contexts, one row each."""
        entries = np.empty(found.shape, np.int64)
        known: dict[tuple[int, ...], Ints] = {}
        for i, part in enumerate(coordinates.all):
            if part.by not in known:
                known[part.by] = coordinates.entry(part.by, contexts)
            entries[:, i] = known[part.by]
        return cls(np.where(missing, MISSING, found).astype(np.uint8), entries)

    @lazy
    def missing(self) -> tuple[Ints, Ints]:
        """The group and the coordinate of everything that is missing, group by group."""
        group, coordinate = np.nonzero(self.kinds == MISSING)
        return np.asarray(group, np.int64), np.asarray(coordinate, np.int64)

    @lazy
    def begin(self) -> Ints:
        """Where the missing coordinates of each group start among those of all groups."""
        return np.concatenate([[0], np.cumsum((self.kinds == MISSING).sum(axis=1))])

    @lazy
    def square(self) -> Ints:
        """Where the loadings of each group start."""
        return np.concatenate([[0], np.cumsum(np.diff(self.begin) ** 2)])


@dataclass(frozen=True, eq=False)
class Spread:
    r"""What groups of rows leave open, before any number is looked at.

    Attributes:
        loadings: $F$, row by row and group by group.
        noise: $D$, group by group.
        gains: $F D f / \alpha$ for each group and coordinate.
        variance: $\alpha$, likewise.
    """

    groups: Groups
    loadings: Floats = field(repr=False)
    noise: Floats = field(repr=False)
    gains: Floats = field(repr=False)
    variance: Floats = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, groups: Groups) -> Spread:
        """The loadings and noise of what each group misses, given what it finds.

        Cost: for each group and coordinate, the square of what is missing so far.
        """
        from sepset.kernels.hybrid.conditioning import spread

        sizes = int(groups.square[-1]), int(groups.begin[-1]), int(groups.begin[-1]) * len(coordinates)
        loadings, noise, gains = (np.zeros(size) for size in sizes)
        variance = np.zeros(groups.entries.shape)
        flat = coordinates.flat
        spread(
            *flat.structure, flat.slopes, flat.variance, groups.entries, groups.kinds, groups.begin, groups.square,
            loadings, noise, gains, variance,
        )  # fmt: skip
        return cls(groups, loadings, noise, gains, variance)

    @lazy
    def log_peaks(self) -> tuple[Floats, Ints]:
        """For each group the log density of what it misses at its mean, and how much of that follows without noise."""
        group, _ = self.groups.missing
        num = len(self.groups.kinds)
        free = self.noise > 0
        logs = np.where(free, -0.5 * (LOG_2PI + np.log(np.where(free, self.noise, 1.0))), 0.0)
        return np.bincount(group, logs, num).astype(np.float64), np.bincount(group, ~free, num).astype(np.int64)

    @lazy
    def variances(self) -> Floats:
        """The variance of every coordinate in each group, given what was found; zero where it was."""
        groups = self.groups
        found = np.zeros(groups.kinds.shape)
        if len(self.noise):
            width = np.diff(groups.begin)[groups.missing[0]]
            starts = np.cumsum(width) - width
            column = np.arange(len(self.loadings)) - np.repeat(starts, width)
            noise = self.noise[np.repeat(groups.begin[groups.missing[0]], width) + column]
            found[groups.missing] = np.add.reduceat(self.loadings**2 * noise, starts)
        return found


@dataclass(frozen=True, eq=False)
class CompletedRows:
    """Rows with expectations in place of missing numbers.

    Attributes:
        spread: what their groups leave open.
        group: of each row.
        values: one row each, one column per coordinate.
        log_density: of what was found; -inf where it breaks a relation without noise.
        exact: how many of the numbers found follow without noise from others, and so have probability one.
    """

    spread: Spread
    group: Ints = field(repr=False)
    values: Floats = field(repr=False)
    log_density: Floats = field(repr=False)
    exact: Ints = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, groups: Groups, values: Floats, group: Ints) -> CompletedRows:
        """The rows with these numbers, NaN where missing.

        Cost: for each row and coordinate, its parents and what is missing so far.
        """
        from sepset.kernels.hybrid.conditioning import fill

        known = Spread.of(coordinates, groups)
        constant = -0.5 * (LOG_2PI + np.log(np.where(known.variance > 0, known.variance, 1.0)))
        filled, log, exact = values.copy(), np.zeros(len(values)), np.zeros(len(values), np.int64)
        flat = coordinates.flat
        fill(
            *flat.structure, flat.intercept, flat.slopes, groups.entries, groups.kinds, groups.begin, known.gains,
            known.variance, constant, ON_SUPPORT, group, filled, log, exact,
        )  # fmt: skip
        return cls(known, group, filled, log, exact)

    def drawn(self, rows: Ints, rng: np.random.Generator) -> Floats:
        """The numbers of some rows, the missing ones drawn together."""
        from sepset.kernels.hybrid.conditioning import disturb

        groups, group, values = self.spread.groups, self.group[rows], self.values[rows]
        normals = rng.standard_normal(int(np.diff(groups.begin)[group].sum()))
        known = groups.kinds, groups.begin, groups.square, self.spread.loadings, self.spread.noise
        disturb(*known, group, normals, values)
        return values

    def add_moments(self, coordinates: Coordinates, weights: Floats, moments: Floats) -> None:
        r"""Add $\sum_m w_m E[\mathbf z \mathbf z^\top]$ of each family, $\mathbf z = (1, \mathbf u, \mathbf y)$.

        Args:
            weights: one per row.
            moments: as `Coordinates.split` reads them.
        """
        from sepset.kernels.hybrid.conditioning import add_moments, add_spreads

        groups, known = self.spread.groups, self.spread
        mass, layout, entries = np.zeros(len(groups.kinds)), coordinates.layout, groups.entries
        add_moments(*layout, entries, self.group, self.values, weights, moments, mass)
        places = groups.begin, groups.square
        add_spreads(*layout, entries, groups.kinds, *places, known.loadings, known.noise, mass, moments)
