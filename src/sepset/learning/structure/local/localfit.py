r"""Families with few parameters, scored by their penalized likelihood: noisy-or and noisy-max, logistic, linear."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sepset.base.checks import one_of
from sepset.base.frozen import fill
from sepset.base.text import listing, nearest
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.parameters import weighted
from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError, NotApplicable, ScopeError
from sepset.factors.algebra import Columns as CodedColumns
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.concavefits import indicators, logistic_likelihood, noisy_or_likelihood
from sepset.learning.structure.local.leaves import LeafRows
from sepset.learning.structure.scores.likelihood import AIC, BIC, LogLikelihood, PenalizedLikelihood
from sepset.models.defaults import default_cpd
from sepset.variables.variable import Discrete

Form = Callable[[Any, tuple[Any, ...]], CPD]
"""Makes the CPD of a child and its parents, whose parameters are to be fitted."""


def noisy_or(child: Discrete, parents: tuple[Discrete, ...]) -> NoisyOr:
    """A noisy-or with a leak; a parent's first state (or False) has no effect."""
    return NoisyOr(child, dict.fromkeys(parents, 0.5), leak=0.5)


def noisy_max(child: Discrete, parents: tuple[Discrete, ...]) -> NoisyMax:
    """A noisy-max with a leak; a parent's first state contributes nothing."""
    r = child.num_states
    rows = {p: np.where(np.arange(p.num_states)[:, None] == 0, np.eye(r)[0], 1.0 / r) for p in parents}
    return NoisyMax(child, rows, leak=np.full(r, 1.0 / r))


def logistic(child: Discrete, parents: tuple[Discrete, ...]) -> LogisticCPD:
    """A logistic CPD with a weight for each state of each parent."""
    return LogisticCPD(child, {p: np.zeros((p.num_states, child.num_states)) for p in parents})


FORMS: Mapping[object, Form] = {
    NoisyOr: noisy_or,
    NoisyMax: noisy_max,
    LogisticCPD: logistic,
    LinearGaussian: default_cpd,
    TableCPD: default_cpd,
}
"""The CPDs of a family by their class."""


def fitted_likelihood(cpd: CPD, rows: LeafRows) -> float:
    """The log-likelihood of any CPD at its own estimate."""
    codes: CodedColumns = dict(zip(cpd.parents, rows.codes, strict=True))
    stats = cpd.parameters.statistics({**codes, cpd.child: rows.child}, rows.weights)
    made = cpd.parameters.maximized(stats)
    found = made.parameters.log_likelihood(stats)
    return weighted(made, {**codes, cpd.child: rows.child}, rows.weights) if found is None else float(found)


def _noisy_or_likelihood(cpd: Any, rows: LeafRows) -> float:
    off = [int(np.argmin(effect)) for effect in cpd.effects.values()]
    features = indicators(rows.codes, [p.num_states for p in cpd.parents], off)
    return noisy_or_likelihood(features, rows.child == cpd.child.code(cpd.on), rows.weights)


def _logistic_likelihood(cpd: Any, rows: LeafRows) -> float:
    features = indicators(rows.codes, [p.num_states for p in cpd.parents], [0] * len(cpd.parents))
    return logistic_likelihood(features, rows.child, rows.weights, cpd.child.num_states)


LIKELIHOODS: Mapping[Form, Callable[[Any, LeafRows], float]] = {
    noisy_or: _noisy_or_likelihood,
    logistic: _logistic_likelihood,
}
"""Forms whose largest likelihood Newton's method finds."""

CONCAVE = (NoisyOr, LogisticCPD, LinearGaussian, TableCPD)
"""Those whose likelihood has no local optimum but the global one."""

PENALTIES: Mapping[str, PenalizedLikelihood] = {"bic": BIC(), "aic": AIC(), "none": LogLikelihood()}


@dataclass(frozen=True, slots=True)
class LocalFit:
    r"""The score of families whose CPDs have few parameters: their best likelihood, less a penalty for each parameter.

    $$\max_\theta \log P(\mathcal D_X \mid \mathcal D_{\mathbf U}; \theta) - c \cdot \text{Dim}$$

    A noisy-or of ten parents has eleven parameters, a table a thousand: so larger families are affordable. Each family
    is fitted to its distinct rows, once. `Learned.fit` gives a network of these CPDs.

    Args:
        form: `NoisyOr`, `NoisyMax`, `LogisticCPD` or `LinearGaussian`; a function of the child and its parents that
            makes a CPD to be fitted; or a mapping from names of columns to such, where the others have tables and
            linear Gaussians.
        penalty: "bic" ($\frac{\log M}{2}$ for each parameter), "aic" (1), or "none".

    Cost: an iterative fit for each family, of all but linear Gaussians and tables.
    Reference: Koller & Friedman, section 18.6.1; Meek & Heckerman (1997).
    Guarantee: the maximum where the likelihood is concave (`is_concave`: logistic, noisy-or, linear); for noisy-max a
        local one. Not equal on I-equivalent structures.
    Tested by: learning/structure/local/test_localfit.py::test_forms_that_are_tables

    >>> columns = Columns.of({"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8, "x": [0, 1, 1, 1] * 8})
    >>> round(LocalFit(NoisyOr).family(2, (0, 1), columns), 3)  # three parameters, and no row is surprising
    -5.199
    """

    form: Any
    _: KW_ONLY
    penalty: str = "bic"
    _forms: Mapping[str, Form] | Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        one_of("LocalFit(penalty=)", self.penalty, tuple(PENALTIES))
        if isinstance(self.form, Mapping):
            made: Mapping[str, Form] | Form = {str(name): _form_of(form) for name, form in self.form.items()}
        else:
            made = _form_of(self.form)
        fill(self, _forms=made)

    def __repr__(self) -> str:
        if isinstance(self.form, Mapping):
            shown = "{" + ", ".join(f"{name!r}: {_named(form)}" for name, form in self.form.items()) + "}"
        else:
            shown = _named(self.form)
        return f"LocalFit({shown}, penalty={self.penalty!r})"

    @property
    def is_equivalent(self) -> bool:
        """Whether I-equivalent structures have equal scores: of linear Gaussians they have."""
        return self.form is LinearGaussian

    @property
    def is_concave(self) -> bool:
        """Whether every fit is the global optimum."""
        known = self.form.values() if isinstance(self.form, Mapping) else (self.form,)
        return all(form in CONCAVE for form in known)

    @property
    def kinds(self) -> frozenset[str]:
        """Real columns for linear Gaussians, discrete ones for other forms, and both if each column has its own."""
        if isinstance(self.form, Mapping):
            return frozenset({"discrete", "real"})
        return frozenset({"real" if self.form is LinearGaussian else "discrete"})

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        penalty = PENALTIES[self.penalty]
        if self._form(child, columns) is default_cpd:
            return penalty.family(child, parents, columns)
        if columns.is_real[list(parents)].any():
            return -math.inf
        cpd = self.cpd(child, parents, columns)
        rows = LeafRows.of(child, parents, columns)
        fit = LIKELIHOODS.get(self._form(child, columns), fitted_likelihood)
        return fit(cpd, rows) - penalty.per_parameter(columns.total) * cpd.num_parameters

    def cpd(self, child: int, parents: tuple[int, ...], columns: Columns) -> CPD:
        """The CPD of a family, before its parameters are fitted."""
        own, *given = (columns.variables[columns.names[c]] for c in (child, *parents))
        return self._form(child, columns)(own, tuple(given))

    def _form(self, child: int, columns: Columns) -> Form:
        name = columns.names[child]
        if not isinstance(self._forms, Mapping):
            return self._forms
        if strange := [known for known in self._forms if known not in columns.names]:
            raise ScopeError(
                f"LocalFit names {listing(strange)}, which the data does not have.{nearest(strange[0], columns.names)}"
            )
        form = self._forms.get(name, default_cpd)
        is_linear = self.form.get(name) is LinearGaussian
        if (form is not default_cpd and columns.is_real[child]) or (is_linear and not columns.is_real[child]):
            kind = "real" if columns.is_real[child] else "discrete"
            raise NotApplicable(f"LocalFit gives {self.form[name]!r} to {name!r}, a {kind} column. Name another form.")
        return form


def _named(form: object) -> str:
    return str(getattr(form, "__name__", repr(form)))


def _form_of(form: object) -> Form:
    """The function that makes CPDs of a form."""
    try:
        known = FORMS.get(form)
    except TypeError:
        known = None
    if known is not None:
        return known
    if not callable(form) or isinstance(form, type):
        names = listing([kind.__name__ for kind in FORMS])  # type: ignore[attr-defined]
        raise ArgumentError(f"LocalFit takes {names}, or a function of a child and its parents; found {form!r}.")
    return form
