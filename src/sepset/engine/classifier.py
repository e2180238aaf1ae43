r"""One variable's posterior in many rows: from its Markov blanket where that is observed, else from an engine.

Where a row misses cells of features that no other feature depends on, their terms drop out; rows that miss other cells
go to inference.

Reference: Koller & Friedman, box 17.A and section 4.5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints, Objects
from sepset.base.display import Report, Shown, Worded, plain
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.base.text import brief, counted
from sepset.cpds.cpd import CPD
from sepset.data.columns import absent_cells, has_absent
from sepset.data.dataset import Dataset
from sepset.engine.blanket import OnImpossible, blanket_scores, excluding_cpds, log_posteriors
from sepset.engine.bound import remedy
from sepset.engine.default import DEFAULT_METHOD
from sepset.engine.kept import engine_for
from sepset.engine.rows import is_observed, most_probable, rows_over
from sepset.errors import ModelError, ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.inference.documents import about_document, plain_state
from sepset.inference.method import Method
from sepset.inference.result import EVERYTHING_EXACT, Result
from sepset.models.bayesnet import BayesNet
from sepset.models.decisions.costs import DECLINED, least_cost_action
from sepset.variables.variable import Discrete, VariableLike


@dataclass(frozen=True, eq=False, repr=False)
class Classification(Report, Result):
    """The posterior of a class in every row.

    Attributes:
        target: the class.
        log_probabilities: one row per row of data, one column per state; NaN where the row is impossible.

    >>> import sepset as ss
    >>> found = ss.classify.Classifier(ss.datasets.load("asia"), "lung").predict({"xray": ["yes", "no"]})
    >>> found.states.tolist()
    ['no', 'no']
    """

    target: Discrete
    log_probabilities: Floats = field(repr=False)

    @lazy
    def probabilities(self) -> Floats:
        """The posterior, one column per state."""
        return np.exp(self.log_probabilities)

    @property
    def states(self) -> Objects:
        """The most probable state in every row, ties to the first; None where the row is impossible."""
        return self._named(most_probable(self.log_probabilities))

    def decide(self, costs: ArrayLike | None = None, *, decline: float | None = None) -> Objects:
        """The state of least expected cost in every row, None where declining is cheaper still.

        Args:
            costs: what deciding for one state costs where another is true, as `costs[true, decided]`; by default one
                for any other.
            decline: what it costs to decline; by default no row is declined.

        Reference: Koller & Friedman, box 17.A; Chow (1970).
        """
        return self._named(least_cost_action(self.probabilities, costs, decline=decline))

    def _named(self, codes: Ints) -> Objects:
        states = np.empty(self.target.num_states + 1, object)
        states[:] = [*self.target.states, None]
        assert DECLINED == -1
        return states[codes]

    def to_dict(self) -> dict[str, Any]:
        """The class, the probabilities of its states in each row, and guarantees, as `to_json` writes them."""
        states = [plain_state(state) for state in self.target.states]
        rows = [dict(zip(map(str, states), row, strict=True)) for row in plain(self.probabilities)]
        return {"target": self.target.name, "states": states, "probabilities": rows, **about_document(self)}

    def __len__(self) -> int:
        return len(self.log_probabilities)

    def __repr__(self) -> str:
        return f"Classification({counted(len(self), 'row')}; {self.target.name})"

    def _shown(self) -> Shown:
        named = list(map(str, self.target.states))
        codes = most_probable(self.log_probabilities)
        means = np.nanmean(self.probabilities, axis=0) if (codes >= 0).any() else np.full(len(named), np.nan)
        rows = [(s, f"{(codes == code).sum():,}", f"{means[code]:.4f}") for code, s in enumerate(named)]
        return Shown((self.target.name, "rows", "mean probability"), rows, f"Classification of {len(self):,} rows")


@dataclass(frozen=True, eq=False)
class Classifier(Worded):
    r"""A Bayesian network asked for one variable in rows that observe the others.

    Naive Bayes, trees of features, or any other network: only the CPDs that mention the class are read, and
    those with zeros, which may exclude a row.

    Args:
        model: the network, with CPDs of any kind.
        target: the class, discrete.
        method: what answers for rows that miss cells which must be summed out; clique trees by default.

    Cost: one pass over the rows for each CPD that mentions the class.
    Reference: Koller & Friedman, box 17.A.
    Guarantee: exact.
    Tested by: engine/test_classifier.py::test_any_discrete_network_any_holes_is_enumeration

    >>> from sepset.cpds.table import TableCPD
    >>> spam, word = Discrete("spam", (False, True)), Discrete("word", (False, True))
    >>> net = BayesNet(TableCPD(spam, [0.6, 0.4]), TableCPD(word, [[0.9, 0.1], [0.2, 0.8]], given=spam))
    >>> found = Classifier(net, "spam").predict({"word": [True, False, None]})
    >>> found.probabilities.round(3).tolist()
    [[0.158, 0.842], [0.871, 0.129], [0.6, 0.4]]
    >>> found.states.tolist(), found.decide(decline=0.14).tolist()
    ([True, False, False], [None, False, None])
    """

    model: BayesNet
    target: Discrete
    method: Method | None

    def __init__(self, model: BayesNet, target: VariableLike, *, method: Method | None = None) -> None:
        if not isinstance(model, BayesNet):
            raise ModelError(f"A classifier is made of a Bayesian network; found {brief(model)}. {remedy(model)}")
        found = model.variables.named(target)
        if not isinstance(found, Discrete):
            raise ScopeError(f"A classifier's target is discrete; {found.name!r} is not.")
        fill(self, model=model, target=found, method=method)

    @lazy
    def features(self) -> tuple[AnyVariable, ...]:
        """The variables whose values matter where all are known: the class's Markov blanket."""
        members = {v for cpd in self.model.cpds if self.target in cpd.scope for v in cpd.scope}
        return tuple(v for v in self.model.variables if v in members and v != self.target)

    def predict(self, data: object, *, on_impossible: OnImpossible = "raise") -> Classification:
        """The posterior of the class in every row.

        Args:
            data: a dataset, any data frame, a mapping of columns, or the path of a file; missing cells and columns are
                unobserved.
            on_impossible: "raise" names the rows of probability zero; "null" leaves them NaN.
        """
        rows = self._rows(data)
        hard = self._needs_engine(rows)
        scores = self._mixed_scores(rows, hard) if hard.any() else self._scores(rows)
        logs = log_posteriors(scores, on_impossible, self.target)
        promises = engine_for(self.model, self.method).promises if hard.any() else EVERYTHING_EXACT
        chosen = DEFAULT_METHOD if self.method is None else self.method
        return Classification(self.target, logs, method=chosen, guarantees={"marginals": promises["log_partition"]})

    def _rows(self, data: object) -> Dataset:
        """The rows over all variables but the class; a dataset of the same variables as it is."""
        if isinstance(data, Dataset) and data.variables.parts == self.model.variables.parts:
            return data
        return rows_over(data, self._others)

    @lazy
    def _others(self) -> tuple[AnyVariable, ...]:
        return tuple(v for v in self.model.variables if v is not self.target)

    def _scores(self, rows: Dataset) -> Floats:
        absent = {v: rows.is_missing(v) for v in self._others if has_absent(rows.column(v))}
        return blanket_scores(self.model, self.target, rows, absent, self._excluding)

    @lazy
    def _excluding(self) -> tuple[CPD, ...]:
        return excluding_cpds(self.model, self.target)

    def _mixed_scores(self, rows: Dataset, hard: Bools) -> Floats:
        """The scores of all rows, where those that are `hard` go to inference, first: it may be too much."""
        asked = rows if hard.all() else rows.take(hard)
        (found,) = engine_for(self.model, self.method).posteriors(asked, self.target)
        scores = np.empty((rows.num_rows, self.target.num_states))
        with np.errstate(divide="ignore"):
            scores[hard] = np.log(np.nan_to_num(found, nan=0.0))
        if asked is not rows:
            scores[~hard] = self._scores(rows.take(~hard))
        return scores

    def _needs_engine(self, rows: Dataset) -> Bools:
        """The rows where something unobserved has something observed, or the class, below it: it must be summed out."""
        if is_observed(rows, self.model.variables, but=self.target):
            return np.zeros(rows.num_rows, np.bool_)
        dag = self.model.dag
        start, below = (part.tolist() for part in dag.child_csr)
        missing = self._missing(rows)
        barren, hard = [0] * len(missing), 0
        for node in dag.topological_ids[::-1].tolist():
            absent = is_barren = missing[node]
            if absent:
                for child in below[start[node] : start[node + 1]]:
                    is_barren &= barren[child]
                barren[node] = is_barren
                hard |= absent ^ is_barren
        width = -(-rows.num_rows // 8)
        bits = np.unpackbits(np.frombuffer(hard.to_bytes(width, "big"), np.uint8), count=rows.num_rows)
        return bits.astype(np.bool_)

    def _missing(self, rows: Dataset) -> list[int]:
        """For each variable the rows that miss its cell, as the bits of a number; of the class none."""
        places = rows.variables.found_places(self._others)
        packed = np.packbits(absent_cells([rows.columns[i] for i in places.tolist()], rows.num_rows), axis=1)
        found = [int.from_bytes(row, "big") for row in map(bytes, packed)]
        found.insert(self.model.variables.id(self.target), 0)
        return found
