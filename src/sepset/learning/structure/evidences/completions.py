r"""The exact evidence of incomplete rows: the sum over all completions.

$$P(\mathcal D \mid \mathcal G) = \sum_{\mathbf h} P(\mathcal D, \mathbf h \mid \mathcal G)$$

Completions with equal counts have equal evidence, so that the rows are added one by one to a table of the counts that
are possible so far, with the number of completions that lead to each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.base.checks import whole
from sepset.base.logarithms import log_sum
from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import DataError, NotApplicable, TooLarge
from sepset.factors.labels import name_of
from sepset.inference.result import Guarantee
from sepset.learning.blocks import Blocks, prior_for
from sepset.learning.structure.evidences.logevidence import EvidenceTask, LogEvidenceResult
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True)
class CompletionSum:
    r"""The sum of the evidences of all completed data sets, for a few dozen missing cells.

    Args:
        prior: of the parameters; a Dirichlet, such as `BDeu(1)`, `K2()`.
        most: the largest number of different tables of counts that are kept.

    Cost: one step for each row, completion of it, and table of counts so far.
    Reference: Koller & Friedman, section 19.4.1; Cooper & Herskovits (1992).
    Guarantee: exact.
    Tested by: learning/structure/evidences/test_completions.py::test_every_completion_by_itself

    >>> from sepset.cpds.priors.dirichlet import K2
    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.structure.evidences.logevidence import log_evidence
    >>> round(log_evidence(DAG.parse("x"), {"x": [0, 0, 1, None]}, method=CompletionSum(K2())).value, 6)
    -2.484907
    """

    prior: object = BDeu(1.0)
    most: int = 200_000

    def __post_init__(self) -> None:
        whole("CompletionSum(most=)", self.most, least=1)

    def evidence(self, task: EvidenceTask) -> LogEvidenceResult:
        """The log evidence."""
        task.require_multinomials("CompletionSum")
        cells = _Cells.of(task.template)
        tables, log_number = _tables(task, cells, self.most)
        values = cells.log_evidence(tables, self.prior) + log_number
        total = float(log_sum(values, -1))
        number = float(log_sum(log_number, -1))
        return LogEvidenceResult(
            total,
            {"most_probable_counts": float(values.max()), "other_counts": total - float(values.max())},
            dimension=task.template.num_parameters,
            method=self,
            guarantees={"log_evidence": Guarantee.EXACT},
            info={
                "completions": f"{math.exp(number):.6g}" if number < 700 else f"e^{number:.6g}",
                "tables": len(tables),
            },
        )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of all parameter blocks of a network, one after the other."""

    blocks: Blocks
    starts: Ints

    @classmethod
    def of(cls, template: BayesNet) -> _Cells:
        blocks = Blocks.of(template, {})
        for cpd in template.cpds:
            if not cpd.num_parameters and not cpd.parameters.is_table:
                raise NotApplicable(f"CompletionSum is for CPDs with parameters; found {name_of(cpd)}.")
        sizes = [len(own.zero) for own in blocks.firsts(template)]
        return cls(blocks, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    def increments(self, codes: Int32s) -> Ints:
        """The counts that each of some complete rows adds, one row each."""
        template = self.blocks.template
        made = np.zeros((len(codes), int(self.starts[-1])), np.int64)
        rows = {v: codes[:, i] for i, v in enumerate(template.variables)}
        for start, members in zip(self.starts, self.blocks.members, strict=False):
            for i in members:
                cpd: Any = template.cpds[i]
                cells = cpd.parameters.cells({v: rows[v] for v in cpd.scope})
                np.add.at(made, (np.arange(len(codes)), start + cells), 1)
        return made

    def log_evidence(self, tables: Ints, prior: object) -> Floats:
        """The log evidence of each table of counts."""
        total = np.zeros(len(tables))
        for start, end, members in zip(self.starts, self.starts[1:], self.blocks.members, strict=False):
            cpds = [self.blocks.template.cpds[i] for i in members]
            own: Any = cpds[0].parameters
            alpha = own.pseudo_counts(prior_for(prior, cpds), cpds)
            counts, groups = tables[:, start:end], own.groups
            total += (gammaln(alpha + counts) - gammaln(alpha) - counts * np.log(own.multiplicities)).sum(axis=1)
            belongs = (groups[:, None] == np.arange(int(groups.max(initial=-1)) + 1)).astype(np.float64)
            total -= (gammaln((alpha + counts) @ belongs) - gammaln(alpha @ belongs)).sum(axis=1)
        return total


def _tables(task: EvidenceTask, cells: _Cells, most: int) -> tuple[Ints, Floats]:
    """The tables of counts that completions lead to, and the log number of completions of each."""
    tables, logs = np.zeros((1, int(cells.starts[-1])), np.int64), np.zeros(1)
    for codes, weight in _weighted_rows(task):
        added = cells.increments(_completions(codes, task.template))
        if len(added) == 1:
            tables = tables + weight * added
            continue
        for _ in range(weight):
            tables, logs = _merged((tables[:, None] + added).reshape(-1, tables.shape[1]), np.repeat(logs, len(added)))
            if len(tables) > most:
                raise TooLarge(
                    f"The completions of these rows lead to more than {most:,} tables of counts. Use CheesemanStutz() "
                    "or Laplace(), or fewer rows with missing cells."
                )
    return tables, logs


def _merged(tables: Ints, logs: Floats) -> tuple[Ints, Floats]:
    """The different tables, and the logarithm of the sum of their numbers."""
    seen, which = np.unique(tables, axis=0, return_inverse=True)
    total = np.full(len(seen), -np.inf)
    np.logaddexp.at(total, which.reshape(-1), logs)
    return seen, total


def _weighted_rows(task: EvidenceTask) -> Iterator[tuple[Int32s, int]]:
    """The different rows over the network's variables and their whole weights."""
    for variable in task.template.variables:
        if not isinstance(variable, Discrete):
            raise NotApplicable(f"CompletionSum is for discrete variables; found {variable!r}.")
    rows = task.dataset.collapse()
    columns = np.stack([np.asarray(rows.codes(v), np.int32) for v in task.template.variables], axis=1)
    weights = np.ones(len(columns)) if rows.weights is None else rows.weights
    for codes, weight in zip(columns, weights, strict=True):
        if weight != round(float(weight)):
            raise DataError(f"CompletionSum needs rows that count whole times; found the weight {weight}.")
        yield codes, int(weight)


def _completions(codes: Int32s, template: BayesNet) -> Int32s:
    """All complete rows that agree with a row."""
    choices = [
        range(int(card)) if code < 0 else (int(code),)
        for code, card in zip(codes, template.variables.cards, strict=True)
    ]
    return np.array(list(itertools.product(*choices)), dtype=np.int32).reshape(-1, len(codes))
