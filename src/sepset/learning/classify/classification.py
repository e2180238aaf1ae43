r"""Posteriors of one class in many rows, without an engine: what a class's Markov blanket says, in log space.

$$P(c \mid \mathbf x) \propto P(c \mid \mathbf{pa}_C) \prod_{i : C \in \mathbf{Pa}_i} P(x_i \mid \mathbf{pa}_i)$$

All other CPDs cancel. Where a row leaves cells of features empty that no other feature depends on, their terms drop
out; other empty cells go to exact inference.

Reference: Koller & Friedman, box 17.A and section 4.5.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints, Objects
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD, is_discrete
from sepset.cpds.lineargaussian import LinearGaussian, is_linear_gaussian
from sepset.data.dataset import Dataset
from sepset.errors import ImpossibleEvidence, ModelError, ScopeError
from sepset.factors.algebra import AnyVariable, Columns
from sepset.factors.coordinates import entries, matrix
from sepset.learning.predictor import Predictor, over, remedy
from sepset.models.bayesnet import BayesNet
from sepset.models.decisions.costs import DECLINED, decide
from sepset.variables.variable import Discrete, VariableLike

OnImpossible: TypeAlias = Literal["raise", "null"]


@dataclass(frozen=True, eq=False)
class Classifier:
    r"""A Bayesian network asked for one variable in rows that observe the others.

    Naive Bayes, trees of features, or any other network: only the CPDs that mention the class are read. The answers
    are those of exact inference.

    Args:
        model: the network, with CPDs of any kind.
        target: the class, discrete.

    Cost: one pass over the rows for each CPD that mentions the class.
    Reference: Koller & Friedman, box 17.A.

    >>> from sepset.cpds.table import TableCPD
    >>> spam, word = Discrete("spam", (False, True)), Discrete("word", (False, True))
    >>> net = BayesNet(TableCPD(spam, [0.6, 0.4]), TableCPD(word, [[0.9, 0.1], [0.2, 0.8]], given=spam))
    >>> classify = Classifier(net, "spam")
    >>> classify.probabilities({"word": [True, False, None]}).round(3).tolist()
    [[0.158, 0.842], [0.871, 0.129], [0.6, 0.4]]
    >>> rows = {"word": [True, False]}
    >>> classify.predict(rows).tolist(), classify.decide(rows, decline=0.14).tolist()
    ([True, False], [None, False])
    """

    model: BayesNet
    target: Discrete

    def __init__(self, model: BayesNet, target: VariableLike) -> None:
        if not isinstance(model, BayesNet):
            raise ModelError(f"A classifier is made of a Bayesian network; found {model!r}. {remedy(model)}")
        found = model.variables[target]
        if not isinstance(found, Discrete):
            raise ScopeError(f"A classifier's target is discrete; {found.name!r} is not.")
        fill(self, model=model, target=found)

    @lazy
    def features(self) -> tuple[AnyVariable, ...]:
        """The variables whose values matter where all are known: the class's Markov blanket."""
        members = {v for cpd in self._cpds for v in cpd.scope}
        return tuple(v for v in self.model.variables if v in members and v != self.target)

    @lazy
    def _cpds(self) -> tuple[CPD, ...]:
        return tuple(cpd for cpd in self.model.cpds if self.target in cpd.scope)

    def log_probabilities(self, frame: object, *, on_impossible: OnImpossible = "raise") -> Floats:
        """The log posterior of the class in every row, one column a state.

        Args:
            frame: a dataset, any data frame, or a mapping of columns; empty cells and columns are unobserved.
            on_impossible: "raise" names the rows of probability zero; "null" leaves them NaN.
        """
        rows = self._bound(frame)
        absent = {v: _absent(rows, v) for v in self.model.variables if v != self.target}
        hard = self._needs_engine(absent, rows.num_rows)
        scores = np.empty((rows.num_rows, self.target.num_states))
        easy = rows.take(~hard) if hard.any() else rows
        scores[~hard] = self._scores(easy, {v: mask[~hard] for v, mask in absent.items()})
        if hard.any():
            (found,) = Predictor.of(self.model).probabilities(rows.take(hard), [self.target])
            with np.errstate(divide="ignore"):
                scores[hard] = np.log(np.nan_to_num(found, nan=0.0))
        return log_posteriors(scores, on_impossible, self.target)

    def probabilities(self, frame: object, *, on_impossible: OnImpossible = "raise") -> Floats:
        """The posterior of the class in every row, one column a state; see `log_probabilities`."""
        return np.exp(self.log_probabilities(frame, on_impossible=on_impossible))

    def predict(self, frame: object) -> Objects:
        """The most probable state of the class in every row, the first among equals."""
        return self._states(self.log_probabilities(frame).argmax(axis=1))

    def decide(self, frame: object, costs: ArrayLike | None = None, *, decline: float | None = None) -> Objects:
        """The state of least expected cost in every row, None where declining is cheaper still.

        Args:
            frame: the rows.
            costs: what deciding for one state costs where another is true, as `costs[true, decided]`; by default one
                for any other.
            decline: what it costs to decline; by default no row is declined.

        Reference: Koller & Friedman, box 17.A; Chow (1970).
        """
        return self._states(decide(self.probabilities(frame), costs, decline=decline))

    def _states(self, codes: Ints) -> Objects:
        states = np.empty(self.target.num_states + 1, object)
        states[:] = [*self.target.states, None]
        assert DECLINED == -1
        return states[codes]

    def _bound(self, frame: object) -> Dataset:
        """The rows over all variables but the class, whose own column is not looked at."""
        return over(frame, [v for v in self.model.variables if v != self.target])

    def _needs_engine(self, absent: dict[AnyVariable, Bools], num_rows: int) -> Bools:
        """The rows where something unobserved has something observed, or the class, below it: it must be summed out."""
        hard = np.zeros(num_rows, np.bool_)
        if not any(mask.any() for mask in absent.values()):
            return hard
        barren: dict[str, Bools] = {}
        for name in reversed(self.model.dag.topological_order):
            variable = self.model.variables[name]
            if variable == self.target:
                continue
            below = np.ones(num_rows, np.bool_)
            for child in self.model.children(name):
                below &= barren.get(child, np.zeros(num_rows, np.bool_))
            barren[name] = absent[variable] & below
            hard |= absent[variable] & ~below
        return hard

    def _scores(self, rows: Dataset, absent: dict[AnyVariable, Bools]) -> Floats:
        columns: Columns = {v: rows.column(v) for v in self.features}
        total = np.zeros((self.target.num_states, rows.num_rows))
        for cpd in self._cpds:
            blank = absent.get(cpd.child, np.zeros(rows.num_rows, np.bool_))
            if not blank.any():
                total += class_scores(cpd, self.target, columns, rows.num_rows)
            elif not blank.all():
                seen: Columns = {v: columns[v][~blank] for v in cpd.scope if v != self.target}
                total[:, ~blank] += class_scores(cpd, self.target, seen, int((~blank).sum()))
        return total.T


def class_scores(cpd: CPD, target: Discrete, columns: Columns, num_rows: int) -> Floats:
    r"""$\log P(x \mid \mathbf u)$ with the target at each of its states: one row a state, one column a row of data.

    Args:
        cpd: a CPD that mentions the target, as child or as parent.
        target: whose states are tried.
        columns: codes and numbers of the other variables of its scope.
        num_rows: how many rows.

    >>> from sepset.cpds.table import TableCPD
    >>> c, x = Discrete("c"), Discrete("x")
    >>> cpd = TableCPD(x, [[0.5, 0.5], [0.25, 0.75]], given=c)
    >>> np.exp(class_scores(cpd, c, {x: np.array([1])}, 1)).tolist()
    [[0.5], [0.75]]
    """
    if is_discrete(cpd):
        return _table_scores(cpd, target, columns, num_rows)
    if is_linear_gaussian(cpd) and cpd.child.size == 1 and (cpd.covariance > 0).all():
        return _line_scores(cpd, target, columns, num_rows)
    codes = (np.full(num_rows, code) for code in range(target.num_states))
    return np.stack([cpd.log_probability({**columns, target: code}) for code in codes])


def _table_scores(cpd: DiscreteCPD, target: Discrete, columns: Columns, num_rows: int) -> Floats:
    others = tuple(v for v in cpd.scope if v != target)
    with np.errstate(divide="ignore"):
        table = np.log(cpd.to_table().table.align((target, *others)).values).reshape(target.num_states, -1)
    return table.take(_place(others, columns, num_rows), axis=1)


def _line_scores(cpd: LinearGaussian, target: Discrete, columns: Columns, num_rows: int) -> Floats:
    others = tuple(v for v in cpd.by if v != target)
    # Entry (class, context of the others) of the reordered parameters is entry `order` of the CPD's own.
    order = entries((target, *others), cpd.by).reshape(target.num_states, -1)
    # Without other discrete parents there is one context, which spreads over the rows by itself.
    place = _place(others, columns, num_rows) if others else np.zeros(1, np.int64)
    u = matrix(cpd.given, columns, num_rows)
    x = np.asarray(columns[cpd.child], np.float64).reshape(num_rows)
    scores = np.empty((target.num_states, num_rows))
    for code, at in enumerate(order):
        mean = cpd.intercept[at, 0].take(place)
        if cpd.given:
            mean = mean + (u * cpd.coefficients[at, 0].take(place, axis=0)).sum(axis=1)
        scale = cpd.covariance[at, 0, 0].take(place) ** -0.5
        apart = (x - mean) * scale
        apart *= apart
        apart *= -0.5
        np.add(apart, np.log(scale) - 0.5 * LOG_2PI, out=scores[code])
    return scores


def _place(variables: Iterable[Discrete], columns: Columns, num_rows: int) -> Ints:
    place: Ints | None = None
    for variable in variables:
        codes = columns[variable]
        place = codes.astype(np.int64) if place is None else place * variable.num_states + codes
    return np.zeros(num_rows, np.int64) if place is None else place


def _absent(rows: Dataset, variable: AnyVariable) -> Bools:
    column = rows.column(variable)
    return np.asarray(column < 0 if isinstance(variable, Discrete) else np.isnan(column))


def log_posteriors(scores: Floats, on_impossible: OnImpossible, target: Discrete) -> Floats:
    """Rows of unnormalized log probabilities, each less the logarithm of its sum.

    >>> np.exp(log_posteriors(np.array([[-1000.0, -1000.0]]), "raise", Discrete("c"))).tolist()
    [[0.5, 0.5]]
    """
    top = scores.max(axis=1, keepdims=True)
    bad = np.flatnonzero(top[:, 0] == -np.inf)
    if bad.size and on_impossible == "raise":
        raise ImpossibleEvidence(
            f"{bad.size} of {len(scores)} rows are impossible whatever {target.name!r} is (first: row {bad[0]}). "
            "Smooth the parameters, as with Bayes(K2()), or use on_impossible='null'."
        )
    apart = scores - np.where(top == -np.inf, 0.0, top)
    apart[bad] = 0.0
    result = apart - np.log(np.exp(apart).sum(axis=1, keepdims=True))
    result[bad] = np.nan
    return np.asarray(result)
