r"""Kernel density CPDs: the conditional of Parzen windows over a real child and its real parents.

$$p(\mathbf y \mid \mathbf u, d) = \sum_m \pi_m(\mathbf u)\, N(\mathbf y; \mathbf y[m]; \alpha^2), \qquad
\pi_m(\mathbf u) \propto w_m N(\mathbf u; \mathbf u[m]; \alpha^2),$$

over the rows $m$ with the discrete parents at $d$. The data are the parameters.

All sums are computed from logarithms: far from all data every kernel underflows, but their ratios do not.

Reference: Koller & Friedman, box 17.B; Hofmann & Tresp (1995).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import generator, whole
from sepset.base.display import Shown, Tabulated
from sepset.base.foreign import often
from sepset.base.frozen import fill, made
from sepset.base.logarithms import log_sum
from sepset.base.numerics.leastsquares import least_squares
from sepset.base.text import brief, listing
from sepset.cpds.counts import checked_weights, joint_codes, num_rows_of
from sepset.cpds.cpd import ParameterBlock, RealChild
from sepset.cpds.lineargaussian import LinearGaussian, checked_parents
from sepset.cpds.parameters import ROUNDING, Parameters, PriorTerm
from sepset.cpds.registry import Fields, discrete_and_real, registered
from sepset.data.kernelrows import Samples, best_width, check_kernels, chunks, log_kernels, log_normalized
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import AnyVariable, Assignment, Columns, Scope, find, num_entries
from sepset.factors.coordinates import columns, entries, findings, matrix, places, states_of, width as coordinates
from sepset.factors.decomposition import Decomposition
from sepset.factors.labels import MOST_SHOWN, conditional, name_of
from sepset.factors.moments import GaussianMixture
from sepset.factors.table import Table
from sepset.semiring import SUM, Semiring
from sepset.variables.matching import Match
from sepset.variables.variable import Discrete, Vector


@registered("kernel")
@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False, repr=False)
class KernelCPD(RealChild, Tabulated):
    r"""The density of a real child given its parents, with a Gaussian kernel on each row of data.

    It can be sampled, scored and learned. Exact inference takes it wherever its real parents are observed, or nothing
    depends on it; elsewhere `to_linear_gaussian` is the approximation with the same moments.

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
        if not isinstance(rows, Mapping):
            raise ArgumentError(
                f"rows= of a KernelCPD are columns by name, as {{{self.child.name!r}: [0.1, 0.4]}}; "
                f"found a {type(rows).__name__}."
            )
        found: Columns = {}
        for key, values in rows.items():
            axis = find(self.scope, key)
            if axis >= 0:
                variable = self.scope[axis]
                cells = np.asarray(values)
                if not cells.ndim:
                    raise DataError(f"The column {variable.name!r} has one cell per row; found {brief(values)}.")
                if isinstance(variable, Discrete):
                    cells = np.array([variable.code(state) for state in cells.tolist()], np.int64)
                found[variable] = cells
        if len({len(cells) for cells in found.values()}) > 1:
            sizes = ", ".join(f"{len(cells)} of {v.name!r}" for v, cells in found.items())
            raise DataError(f"rows= of a KernelCPD has columns of one length; found {sizes}.")
        return found

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

    def decomposition(self) -> None:
        """None: its factors depend on what is observed; see `decomposed`."""

    def factors(self) -> NoReturn:
        """Raise an error: its factors depend on what is observed."""
        raise self._refusal()

    def _refusal(self) -> NotApplicable:
        parents = f" Observe {listing(v.name for v in self.given)}, or" if self.given else ""
        return NotApplicable(
            f"{self!r} has a closed form only where its real parents are observed, or nothing depends on it."
            f"{parents or ' Ask without it, or'} replace it by its to_linear_gaussian()."
        )

    def is_whole(self, given: Mapping[Any, Any]) -> bool:
        """False: its factor is a density."""
        return False

    @often
    def concave(self, given: Mapping[Any, Any]) -> None:
        """None: the logarithm of a mixture is not concave."""

    def decomposed(self, given: Mapping[Any, Any], semiring: Semiring = SUM) -> Decomposition:
        r"""Factors that equal the conditional at these observed states and values.

        Observed with its real parents it is one number per state of its discrete parents. Unobserved, below observed
        real parents, it is a mixture with a hidden variable $m$ for the rows:

        $$p(\mathbf y \mid \mathbf u, d) = \sum_m \pi_m(\mathbf u)\, N(\mathbf y; \mathbf y[m]; \alpha^2).$$

        Args:
            given: codes of discrete parents, and values of the real variables.
            semiring: ignored; the hidden variable is always summed out.
        """
        if any(parent not in given for parent in self.given):
            raise self._refusal()
        contexts = self._consistent(given)
        if self.child in given:
            logs = np.full(num_entries(self.by), -np.inf)
            logs[contexts] = self.log_probability(self._repeated(given, contexts))
            return Decomposition((Table.from_log(self.by, logs),))
        return self._mixture(contexts, np.concatenate([np.zeros(0), *(np.atleast_1d(given[v]) for v in self.given)]))

    def _consistent(self, given: Mapping[Any, Any]) -> Ints:
        """The joint states of the discrete parents that have the observed states."""
        fits = np.ones(num_entries(self.by), np.bool_)
        for parent in (v for v in self.by if v in given):
            fits &= entries(self.by, (parent,)) == given[parent]
        return np.flatnonzero(fits)

    def _repeated(self, given: Mapping[Any, Any], contexts: Ints) -> Columns:
        """The observed values in one row per context."""
        rows: Columns = {v: entries(self.by, (v,))[contexts] for v in self.by}
        for v in (*self.given, self.child):
            rows[v] = np.tile(np.atleast_1d(given[v]), (len(contexts), 1))
            rows[v] = rows[v][:, 0] if v.size == 1 else rows[v]
        return rows

    def _mixture(self, contexts: Ints, u: Floats) -> Decomposition:
        """The weights of the rows in each context, and a regression of the child on the row."""
        most = max(len(self.samples.points[c]) for c in contexts)
        row = Discrete(self.child.base, most, index=self.child.index, lag=self.child.lag, part="row")
        shares, size = np.zeros((num_entries(self.by), most)), self.child.size
        means = np.zeros((num_entries(self.by), most, size))
        variances = np.ones(size)
        for c in contexts.tolist():
            variances = self._ready(c)[self._split :] ** 2
            stored = self.samples.points[c][:, self._split :]
            shares[c, : len(stored)] = np.exp(log_normalized(self._log_shares(c, u[None])))[0]
            means[c, : len(stored)] = stored
        covariances = np.broadcast_to(np.diag(variances), (means[..., 0].size, size, size))
        line = LinearGaussian(self.child, means.reshape(-1, size), covariance=covariances, by=(*self.by, row))
        return Decomposition((Table((*self.by, row), shares.reshape(-1)), *line.factors()), (row,))

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
        pairs = sum(len(stored) * int(n) for stored, n in zip(self.samples.points, np.bincount(context), strict=False))
        check_kernels(pairs, "Score fewer rows, or learn from fewer.")
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
            rng, number = generator(seed), whole("folds", folds, least=2)
            parts = [rng.permutation(len(points)) % number for points in self.samples.points]
        return self.with_samples(self.samples, best_width(self.samples, self._split, scale=scale, folds=parts))

    def with_samples(self, samples: Samples, width: Floats | None) -> KernelCPD:
        """The same variables with other rows and widths, which are not checked."""
        own = {"child": self.child, "given": self.given, "by": self.by, "block": self.block}
        return made(KernelCPD, **own, width=width, samples=samples)

    def _shown(self) -> Shown:
        """The rows in each joint state of the discrete parents, and the widths of the kernels."""
        width = self.width
        widths = "to be chosen" if width is None else ", ".join(f"{w:.4g}" for w in width.ravel()[:MOST_SHOWN].tolist())
        facts = [("rows", f"{self.num_rows:,}"), ("widths", widths)]
        return Shown((), facts, repr(self))

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
            raise ModelError(
                f"{name_of(self.cpd)} takes finite arrays {', '.join(self.arrays)}; found {', '.join(made)}."
            )
        width, points, weights, rows = (made[name] for name in ("width", "points", "weights", "rows"))
        if points.shape != (len(weights), size) or rows.shape != (contexts,) or rows.sum() != len(weights):
            found = f"{points.shape} values, {weights.shape} weights and contexts of {rows.tolist()} rows"
            raise ModelError(f"{name_of(self.cpd)} takes {size} values and one weight per row; found {found}.")
        if not ((weights > 0).all() and (rows >= 0).all() and (rows == rows.astype(np.int64)).all()):
            raise ModelError(f"{name_of(self.cpd)} takes weights > 0, and whole numbers of rows; found others.")
        if (len(width) == 0 and len(points)) or (len(width) and (width.shape != (size,) or not (width > 0).all())):
            raise ModelError(f"{name_of(self.cpd)} takes {size} widths > 0 for its rows; found {width.tolist()}.")
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
            raise NotApplicable(
                f"{name_of(self.cpd)} is made of rows; there unseen= is 'raise' or 'keep', not {unseen!r}."
            )
        return self.cpd.from_statistics(stats, unseen="raise" if unseen == "raise" else "keep")


def _widths(width: ArrayLike, size: int, child: Vector) -> Floats:
    array = np.array(width, dtype=np.float64)
    if array.shape not in ((), (size,)):
        raise ModelError(f"The kernels of {child.name} have one width, or {size}; found the shape {array.shape}.")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ModelError(f"The kernels of {child.name} need finite widths > 0; found {array.tolist()}.")
    return np.broadcast_to(array, (size,)).copy()
