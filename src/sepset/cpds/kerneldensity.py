r"""Kernel density CPDs: the conditional of Parzen windows over a real child and its real parents.

$$p(\mathbf y \mid \mathbf u, d) = \sum_m \pi_m(\mathbf u)\, N(\mathbf y; \mathbf y[m]; \alpha^2), \qquad
\pi_m(\mathbf u) \propto w_m N(\mathbf u; \mathbf u[m]; \alpha^2),$$

over the rows $m$ with the discrete parents at $d$. The data are the parameters.

All sums are computed from logarithms: far from all data every kernel underflows, but their ratios do not.

Reference: Koller & Friedman, box 17.B; Hofmann & Tresp (1995).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import generator
from sepset.base.foreign import translated
from sepset.base.frozen import fill, made, read_only
from sepset.base.leastsquares import least_squares
from sepset.base.logarithms import LOG_2PI, log_sum
from sepset.cpds.counts import checked_weights, joint_codes, num_rows_of
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.lineargaussian import LinearGaussian, checked_parents
from sepset.cpds.parameters import ROUNDING, Parameters, PriorTerm
from sepset.cpds.registry import Fields, discrete_and_real, registered
from sepset.data.scatter import Scatter
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import AnyVariable, Assignment, Columns, Scope, find, num_entries
from sepset.factors.coordinates import columns, entries, findings, matrix, places, states_of, width as coordinates
from sepset.factors.labels import conditional
from sepset.factors.moments import GaussianMixture
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete, Vector

CELLS = 1_000_000
"""The largest number of pairs of rows and kernels in memory at a time."""

WIDTHS = np.logspace(-4.0, 1.5, 23)
"""The widths tried first, in standard deviations."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Samples:
    """Weighted rows in each context: the statistics of a kernel density; `+` concatenates them.

    >>> (Samples.of([[1.0], [2.0]]) + Samples.of([[3.0]])).num_rows
    3
    """

    points: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    def __init__(self, points: tuple[Floats, ...], weights: tuple[Floats, ...]) -> None:
        fill(self, points=tuple(map(read_only, points)), weights=tuple(map(read_only, weights)))

    @classmethod
    def of(
        cls, rows: ArrayLike, weights: ArrayLike | None = None, *, context: Ints | None = None, num_contexts: int = 1
    ) -> Samples:
        """The rows of each context, without those of weight zero."""
        x = np.asarray(rows, dtype=np.float64)
        share = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        place = np.zeros(len(x), np.int64) if context is None else context
        if x.ndim != 2 or not np.isfinite(x).all():
            raise DataError(f"Kernels need complete finite rows; found the shape {x.shape} or other cells.")
        parts = [(place == c) & (share > 0) for c in range(num_contexts)]
        return cls(tuple(x[at] for at in parts), tuple(share[at] for at in parts))

    @property
    def num_rows(self) -> int:
        """The number of rows in all contexts."""
        return sum(len(p) for p in self.points)

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.points[0].shape[1])

    def scatter(self, context: int) -> Scatter:
        """The count, mean and centered products of one context's rows."""
        return Scatter.of(self.points[context], self.weights[context])

    def deviations(self) -> Floats:
        """The standard deviation of each column within contexts; one where a column never varies."""
        scatters = [self.scatter(c) for c in range(len(self.points))]
        squares = sum((np.diagonal(s.products) for s in scatters), np.zeros(self.size))
        count = max(sum(s.count for s in scatters), 1e-300)
        found = np.sqrt(squares / count)
        return np.where(found > 0, found, 1.0)

    def __add__(self, other: Samples) -> Samples:
        if len(self.points) != len(other.points) or self.size != other.size:
            raise DataError(f"{self!r} and {other!r} are about different columns or contexts.")
        points = zip(self.points, other.points, strict=True)
        weights = zip(self.weights, other.weights, strict=True)
        return Samples(tuple(map(np.concatenate, points)), tuple(map(np.concatenate, weights)))

    def __repr__(self) -> str:
        return f"Samples({self.num_rows} rows, {self.size} columns, {len(self.points)} contexts)"


@registered("kernel")
@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class KernelCPD:
    r"""The density of a real child given its parents, with a Gaussian kernel on each row of data.

    It can be sampled, scored and learned, but has no factor: exact inference needs `to_linear_gaussian`, the
    approximation with the same moments.

    Args:
        child: a `Real` or `Vector`.
        rows: columns of the parents and the child, by variable or name; None for a CPD that is still to be learned.
        width: $\alpha$, one for all coordinates, or one for each of (real parents, child). By default the width
            with the largest leave-one-out log-likelihood.
        given: the real parents.
        by: the discrete parents; each of their joint states has rows of its own.
        weights: one per row.
        block: the name of its parameters; CPDs with equal blocks share them.

    Cost: one kernel per pair of a row scored and a row stored.
    Reference: Koller & Friedman box 17.B.
    Guarantee: integrates to one at every parent value.
    Tested by: cpds/test_kerneldensity.py::test_the_conditional_is_a_ratio_of_parzen_windows

    >>> from sepset.variables.variable import Real
    >>> u, x = Real("u"), Real("x")
    >>> cpd = KernelCPD(x, {"u": [0.0, 1.0, 2.0], "x": [0.0, 2.0, 1.0]}, width=0.7, given=u)
    >>> cpd, round(float(np.exp(cpd.log_probability({u: np.array([0.5]), x: np.array([1.0])})[0])), 7)
    (KernelCPD(x | u; 3 rows), 0.2276591)
    """

    child: Vector
    given: tuple[Vector, ...]
    by: tuple[Discrete, ...]
    block: ParameterBlock
    width: Floats | None
    samples: Samples

    @translated
    def __init__(
        self,
        child: Vector,
        rows: Mapping[Any, ArrayLike] | None = None,
        *,
        width: ArrayLike | None = None,
        given: Iterable[Vector] | Vector = (),
        by: Iterable[Discrete] | Discrete = (),
        weights: ArrayLike | None = None,
        block: ParameterBlock | str | None = None,
    ) -> None:
        if not isinstance(child, Vector):
            raise ScopeError(f"A KernelCPD has a real child; {child!r} is not. Use TableCPD, or LogisticCPD.")
        reals, states = checked_parents(child, given, by)
        size = coordinates((*reals, child))
        nothing = tuple(np.zeros((0, size)) for _ in range(num_entries(states)))
        empty = Samples(nothing, tuple(np.zeros(0) for _ in nothing))
        fill(self, child=child, given=reals, by=states, block=ParameterBlock.of(block, child))
        fill(self, width=None if width is None else _widths(width, size, child), samples=empty)
        if rows is not None:
            learned = self.from_statistics(self.statistics(self._named(rows), weights), unseen="keep")
            fill(self, width=learned.width, samples=learned.samples)

    def _named(self, rows: Mapping[Any, ArrayLike]) -> Columns:
        found: Columns = {}
        for key, values in rows.items():
            axis = find(self.scope, key)
            if axis >= 0:
                variable = self.scope[axis]
                cells = np.asarray(values)
                if isinstance(variable, Discrete):
                    cells = np.array([variable.code(state) for state in cells.tolist()], np.int64)
                found[variable] = cells
        return found

    @property
    def parents(self) -> tuple[AnyVariable, ...]:
        """The discrete parents, then the real ones."""
        return (*self.by, *self.given)

    @property
    def scope(self) -> tuple[AnyVariable, ...]:
        """The parents, then the child."""
        return (*self.parents, self.child)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """An empty tuple: it has no factors."""
        return ()

    @property
    def num_rows(self) -> int:
        """The number of rows, each with a kernel."""
        return self.samples.num_rows

    @property
    def num_parameters(self) -> int:
        """The number of values it stores: the cells of its rows, and the widths."""
        return (self.num_rows + 1) * self.samples.size

    @property
    def _split(self) -> int:
        return coordinates(self.given)

    def decomposition(self) -> NoReturn:
        """Raise an error: a product of kernels has no closed form."""
        self.factors()

    def factors(self) -> NoReturn:
        """Raise an error: a product of kernels has no closed form."""
        raise NotApplicable(
            f"{self!r} has no factor, so exact inference cannot use it. Draw samples (forward sampling and likelihood "
            "weighting need only sample and log_probability), or replace it by its to_linear_gaussian()."
        )

    def _ready(self, context: int) -> Floats:
        """The widths, after checking that this context has rows."""
        if self.width is None or not len(self.samples.points[context]):
            where = states_of(self.by, context)
            raise DataError(f"{self!r} has no rows{' where ' + where if where else ''}. Fit it to data first.")
        return self.width

    def _log_shares(self, context: int, u: Floats) -> Floats:
        """The log weight of each stored row at each point of the real parents, not normalized."""
        width, split = self._ready(context), self._split
        stored = self.samples.points[context][:, :split]
        return np.log(self.samples.weights[context]) + log_kernels(u, stored, width[:split])

    def log_probability(self, rows: Columns) -> Floats:
        """The logarithm of the density of the child given its parents, one value per row."""
        return self._log_density(rows, given_parents=True)

    def log_joint(self, rows: Columns) -> Floats:
        r"""$\log\tilde p(\mathbf u, \mathbf y \mid d)$: child and real parents together, one value per row."""
        return self._log_density(rows, given_parents=False)

    def _log_density(self, rows: Columns, *, given_parents: bool) -> Floats:
        num_rows = num_rows_of(rows, self.child, self)
        points, context = self._points(rows, num_rows)
        logs, split = np.empty(num_rows), self._split
        for c in np.unique(context):
            at = np.flatnonzero(context == c)
            width, stored = self._ready(int(c)), self.samples.points[c]
            total = np.log(self.samples.weights[c].sum())
            for part in chunks(len(at), len(stored)):
                x = points[at[part]]
                shares = self._log_shares(int(c), x[:, :split])
                shares = log_normalized(shares) if given_parents else shares - total
                logs[at[part]] = log_sum(shares + log_kernels(x[:, split:], stored[:, split:], width[split:]), 1)
        return logs

    def _points(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        missing = [v.name for v in self.given if v not in rows]
        if missing:
            raise DataError(f"{self!r} needs a column for {missing[0]}.")
        return matrix((*self.given, self.child), rows, num_rows), joint_codes(rows, self.by, num_rows, self)

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Floats:
        """A draw of the child for each row of its parents: `[n]` for a `Real`, else `[n, size]`."""
        context = joint_codes(rows, self.by, num_rows, self)
        u = matrix(self.given, rows, num_rows)
        drawn = rng.standard_normal((num_rows, self.child.size))
        place = rng.random(num_rows)
        for c in np.unique(context):
            at = np.flatnonzero(context == c)
            width, stored = self._ready(int(c)), self.samples.points[c]
            for part in chunks(len(at), len(stored)):
                logs = self._log_shares(int(c), u[at[part]])
                heaps = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
                chosen = (heaps <= place[at[part], None] * heaps[:, -1:]).sum(axis=1)
                drawn[at[part]] = stored[chosen, self._split :] + drawn[at[part]] * width[self._split :]
        return columns((self.child,), drawn)[self.child]

    def distribution(self, assignment: Assignment) -> GaussianMixture:
        """The distribution of the child, a mixture, at one assignment of states and values of its parents.

        >>> from sepset.variables.variable import Real
        >>> cpd = KernelCPD(Real("x"), {"u": [0, 1, 2], "x": [0, 2, 1]}, width=0.7, given=Real("u"))
        >>> round(cpd.distribution({"u": 0.5}).mean(), 9)
        1.0
        """
        context = 0
        for variable in self.by:
            state = next((s for key, s in assignment.items() if find((variable,), key) == 0), None)
            context = context * variable.num_states + variable.code(state)
        found, values = findings(self.given, assignment)
        if found != self.given:
            absent = next(v.name for v in self.given if v not in found)
            raise DataError(f"The distribution of {self.child.name} needs a value of its parent {absent}.")
        logs = self._log_shares(context, values[None])[0]
        shares = np.exp(logs - logs.max())
        narrow = np.diag(self._ready(context)[self._split :] ** 2)
        stored = self.samples.points[context][:, self._split :]
        covariances = np.broadcast_to(narrow, (len(stored), *narrow.shape))
        return GaussianMixture(self.child, shares / shares.sum(), means=stored, covariances=covariances)

    def to_linear_gaussian(self) -> LinearGaussian:
        r"""The linear Gaussian with the same first two moments of child and real parents, in each discrete context.

        Kernels add their variance: the joint has the covariance $\hat\Sigma + \text{diag}(\alpha^2)$.
        """
        fits = []
        for context in range(num_entries(self.by)):
            noise, seen = np.diag(self._ready(context) ** 2), self.samples.scatter(context)
            fits.append(least_squares(seen.mean, seen.covariance + noise, self.child.size))
        return LinearGaussian(
            self.child,
            np.stack([fit.intercept for fit in fits]),
            coefficients=np.stack([fit.slope for fit in fits]),
            covariance=np.stack([fit.residual for fit in fits]),
            given=self.given,
            by=self.by,
            block=self.block,
        )

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The discrete parents outside `context` whose states all have the same rows in that context."""
        codes = {axis: self.by[axis].code(s) for key, s in context.items() if (axis := find(self.by, key)) >= 0}
        consistent = np.ones(num_entries(self.by), np.bool_)
        for axis, code in codes.items():
            consistent &= entries(self.by, (self.by[axis],)) == code
        free = [v for axis, v in enumerate(self.by) if axis not in codes]
        return tuple(v for v in free if self._same_rows(v, np.flatnonzero(consistent)))

    def _same_rows(self, variable: Discrete, contexts: Ints) -> bool:
        rest = entries(self.by, tuple(v for v in self.by if v != variable))
        first: dict[int, int] = {}
        for c in contexts:
            other = first.setdefault(int(rest[c]), int(c))
            if not (
                np.array_equal(self.samples.points[c], self.samples.points[other])
                and np.array_equal(self.samples.weights[c], self.samples.weights[other])
            ):
                return False
        return True

    def statistics(self, codes: Columns, weights: ArrayLike | None = None) -> Samples:
        """The rows themselves, by joint state of the discrete parents; additive."""
        num_rows = num_rows_of(codes, self.child, self)
        share = checked_weights(weights, num_rows, self)
        points, context = self._points(codes, num_rows)
        return Samples.of(points, share, context=context, num_contexts=num_entries(self.by))

    def from_statistics(
        self, stats: Samples, prior: None = None, *, unseen: Literal["raise", "keep"] = "raise"
    ) -> KernelCPD:
        """The CPD on these rows; a width that was not given is chosen by leave-one-out cross-validation.

        Args:
            stats: what `statistics` returns, or sums of those.
            prior: must be None.
            unseen: joint states of the discrete parents without rows raise an error, or "keep" the rows they have.

        Reference: Koller & Friedman, box 17.B.
        """
        if prior is not None:
            raise NotApplicable(f"{self!r} takes no prior; found {prior!r}. Its width regularizes instead.")
        if len(stats.points) != num_entries(self.by) or stats.size != self.samples.size:
            raise DataError(f"{self!r} was given {stats!r}, which are not its columns or contexts.")
        silent = [c for c, points in enumerate(stats.points) if not len(points)]
        if silent and unseen == "raise":
            raise DataError(
                f"{self!r} has no data where {states_of(self.by, silent[0]) or 'asked'}. Use unseen='keep'."
            )
        points, weights = list(stats.points), list(stats.weights)
        for c in silent:
            points[c], weights[c] = self.samples.points[c], self.samples.weights[c]
        kept = Samples(tuple(points), tuple(weights))
        width = best_width(kept, self._split) if self.width is None else self.width
        return self.with_samples(kept, width)

    @classmethod
    def from_form(
        cls, child: Vector, fields: Fields, *, parents: tuple[AnyVariable, ...], block: str | None
    ) -> KernelCPD:
        """The CPD described by a file."""
        by, given = discrete_and_real(parents)
        bare = cls(child, given=given, by=by, block=block)
        shapes = {"width": (-1,), "points": (-1, bare.samples.size), "weights": (-1,), "rows": (num_entries(by),)}
        return bare.parameters.with_arrays({name: fields[name].array(shape) for name, shape in shapes.items()})

    @property
    def parameters(self) -> KernelParameters:
        """The rows and the widths, with all operations that learning needs."""
        return KernelParameters(self)

    def with_width(self, width: ArrayLike) -> KernelCPD:
        """The same rows with kernels of another width."""
        return self.with_samples(self.samples, _widths(width, self.samples.size, self.child))

    def with_best_width(
        self, folds: int | None = None, *, scale: ArrayLike | None = None, seed: int | np.random.Generator = 0
    ) -> KernelCPD:
        """The same rows with the width that predicts held-out rows best.

        Args:
            folds: the number of parts of the rows, split at random; by default each row is left out by itself.
            scale: the units of (real parents, child); by default their standard deviations within contexts.
            seed: an integer or a generator, for the split.

        Reference: Koller & Friedman, box 17.B.
        """
        parts = None
        if folds is not None:
            rng = generator(seed)
            parts = [rng.permutation(len(points)) % folds for points in self.samples.points]
        return self.with_samples(self.samples, best_width(self.samples, self._split, scale=scale, folds=parts))

    def with_samples(self, samples: Samples, width: Floats | None) -> KernelCPD:
        """The same variables with other rows and widths, which are not checked."""
        own = {"child": self.child, "given": self.given, "by": self.by, "block": self.block}
        return made(KernelCPD, **own, width=width, samples=samples)

    def __repr__(self) -> str:
        return f"{conditional((self.child,), self.parents, 'KernelCPD')[:-1]}; {self.num_rows} rows)"


@dataclass(frozen=True, eq=False, repr=False)
class KernelParameters(Parameters[KernelCPD, Samples]):
    """The rows and the widths of a kernel density, which is learned from complete rows only."""

    @property
    def arrays(self) -> dict[str, Floats]:
        """The widths (empty if still to be chosen), the rows, their weights, and the number of rows of each context."""
        samples, width = self.cpd.samples, self.cpd.width
        return {
            "width": np.zeros(0) if width is None else width,
            "points": np.concatenate(samples.points),
            "weights": np.concatenate(samples.weights),
            "rows": np.array([float(len(points)) for points in samples.points]),
        }

    def with_arrays(self, arrays: Mapping[str, Floats], tolerance: float = ROUNDING) -> KernelCPD:
        """The CPD with these rows, whatever their number; arrays that do not fit raise an error."""
        size, contexts = self.cpd.samples.size, len(self.cpd.samples.points)
        made = {name: np.array(array, dtype=np.float64, order="C") for name, array in arrays.items()}
        if made.keys() != self.arrays.keys() or not all(np.isfinite(array).all() for array in made.values()):
            raise ModelError(f"{self.cpd!r} takes finite arrays {', '.join(self.arrays)}; found {', '.join(made)}.")
        width, points, weights, rows = (made[name] for name in ("width", "points", "weights", "rows"))
        if points.shape != (len(weights), size) or rows.shape != (contexts,) or rows.sum() != len(weights):
            found = f"{points.shape} values, {weights.shape} weights and contexts of {rows.tolist()} rows"
            raise ModelError(f"{self.cpd!r} takes {size} values and one weight per row; found {found}.")
        if not ((weights > 0).all() and (rows >= 0).all() and (rows == rows.astype(np.int64)).all()):
            raise ModelError(f"{self.cpd!r} takes weights > 0, and whole numbers of rows; found others.")
        if (len(width) == 0 and len(points)) or (len(width) and (width.shape != (size,) or not (width > 0).all())):
            raise ModelError(f"{self.cpd!r} takes {size} widths > 0 for its rows; found {width.tolist()}.")
        return self.from_arrays(made)

    def from_arrays(self, arrays: Mapping[str, Floats]) -> KernelCPD:
        """The CPD with these rows and widths."""
        ends = np.cumsum(arrays["rows"].astype(np.int64))[:-1]
        points, weights = (tuple(np.split(arrays[name], ends)) for name in ("points", "weights"))
        width = arrays["width"] if len(arrays["width"]) else None
        return self.cpd.with_samples(Samples(points, weights), width)

    def reordered(self, scope: Scope) -> KernelCPD:
        """The same rows, with contexts and columns in another order."""
        by, given = discrete_and_real(scope[:-1])
        own, width, reals = self.cpd.samples, self.cpd.width, (*self.cpd.given, self.cpd.child)
        columns = places(reals, [reals[axis] for axis in Match.of(reals, (*given, scope[-1])).axes])
        at = Match.of(self.cpd.by, by).entries.tolist()
        samples = Samples(tuple(own.points[c][:, columns] for c in at), tuple(own.weights[c] for c in at))
        bare = KernelCPD(self.cpd.child, given=given, by=by, block=self.cpd.block)
        return bare.with_samples(samples, None if width is None else width[columns])

    def maximized(
        self,
        stats: Samples,
        prior: PriorTerm | None = None,
        *,
        unseen: object = "raise",
        cpds: Sequence[KernelCPD] = (),
    ) -> KernelCPD:
        """The CPD on these rows."""
        if unseen not in ("raise", "keep"):
            raise NotApplicable(f"{self.cpd!r} is made of rows; there unseen= is 'raise' or 'keep', not {unseen!r}.")
        return self.cpd.from_statistics(stats, unseen="raise" if unseen == "raise" else "keep")


def _widths(width: ArrayLike, size: int, child: Vector) -> Floats:
    array = np.array(width, dtype=np.float64)
    if array.shape not in ((), (size,)):
        raise ModelError(f"The kernels of {child.name} have one width, or {size}; found the shape {array.shape}.")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ModelError(f"The kernels of {child.name} need finite widths > 0; found {array.tolist()}.")
    return np.broadcast_to(array, (size,)).copy()


def log_kernels(at: Floats, points: Floats, width: Floats) -> Floats:
    r"""$\log\prod_i N(x_i; x_i[m]; \alpha_i^2)$: one row per point of `at`, one column per kernel.

    >>> log_kernels(np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1)).round(6).tolist()
    [[-0.918939]]
    """
    total = np.zeros((len(at), len(points)))
    for i, alpha in enumerate(width):
        apart = (at[:, i, None] - points[:, i]) / alpha
        total -= 0.5 * apart * apart
    return np.asarray(total - np.log(width).sum() - 0.5 * len(width) * LOG_2PI)


def log_normalized(logs: Floats) -> Floats:
    """Each row of log weights minus the logarithm of their sum.

    The largest is subtracted first: far from all data it is so large that the others would lose their digits.

    >>> np.exp(log_normalized(np.array([[-1e12, -1e12]]))).tolist()
    [[0.5, 0.5]]
    """
    apart = logs - logs.max(axis=1, keepdims=True)
    return np.asarray(apart - np.log(np.exp(apart).sum(axis=1, keepdims=True)))


def chunks(num_rows: int, num_points: int) -> Iterator[slice]:
    """Consecutive ranges of rows with at most `CELLS` pairs of rows and kernels each."""
    step = max(CELLS // max(num_points, 1), 1)
    return (slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step))


def held_out_log_likelihood(samples: Samples, width: Floats, split: int, folds: list[Ints] | None = None) -> float:
    r"""The total log density of each row's last columns given the first, under the kernels of other rows only.

    $$\sum_m w_m \log \tilde p_{-m}(\mathbf y[m] \mid \mathbf u[m])$$

    Args:
        samples: the rows.
        width: one per column.
        split: the number of leading columns, which are conditioned on.
        folds: the part each row belongs to, by context; by default every row is a part of its own (leave-one-out). A
            row is scored by the rows of other parts; rows without any are not scored.

    >>> samples = Samples.of([[0.0], [1.0], [3.0]])
    >>> round(held_out_log_likelihood(samples, np.array([1.9019]), 0), 4)
    -6.395
    """
    total = 0.0
    for c, (points, weights) in enumerate(zip(samples.points, samples.weights, strict=True)):
        labels = np.arange(len(points)) if folds is None else folds[c]
        log_weights = np.log(weights)
        for part in chunks(len(points), len(points)):
            other = labels[part, None] != labels
            scored = other.any(axis=1)
            x, share = points[part][scored], np.where(other, log_weights, -np.inf)[scored]
            above = log_normalized(share + log_kernels(x[:, :split], points[:, :split], width[:split]))
            score = log_sum(above + log_kernels(x[:, split:], points[:, split:], width[split:]), 1)
            total += float(weights[part][scored] @ score)
    return total


def best_width(
    samples: Samples, split: int, *, scale: ArrayLike | None = None, folds: list[Ints] | None = None
) -> Floats:
    """The width of each column that maximizes the held-out log-likelihood: one factor times the columns' scales.

    The likelihood of the rows under their own kernels grows without bound as widths shrink, so rows are scored by the
    others. If each row has an exact copy even that grows without bound, which raises an error.

    Args:
        samples: at least two rows in some context.
        split: the number of leading columns, which are conditioned on.
        scale: the units of the columns; by default their standard deviations within contexts.
        folds: as in `held_out_log_likelihood`.

    Cost: about forty evaluations, each quadratic in the number of rows of a context.
    Reference: Koller & Friedman, box 17.B.

    >>> best_width(Samples.of([[0.0], [1.0], [3.0]]), 0).round(4).tolist()
    [1.9019]
    """
    from scipy.optimize import minimize_scalar

    if max(len(p) for p in samples.points) < 2:
        raise DataError(f"A width is chosen by scoring rows with others; {samples!r} has none. Give width=.")
    units = samples.deviations() if scale is None else np.asarray(scale, dtype=np.float64)

    def loss(log_width: float) -> float:
        return -held_out_log_likelihood(samples, units * math.exp(log_width), split, folds)

    grid = np.log(WIDTHS)
    losses = np.array([loss(w) for w in grid])
    place = int(losses.argmin())
    if place == 0:
        raise DataError(
            "The narrower the kernels, the better they predict held-out rows: rows repeat exactly, or the child does "
            "not vary. Collapse equal rows, or give width=."
        )
    ends = float(grid[place - 1]), float(grid[min(place + 1, len(grid) - 1)])
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-7})
    return np.asarray(units * math.exp(found.x if found.fun <= losses[place] else grid[place]))
