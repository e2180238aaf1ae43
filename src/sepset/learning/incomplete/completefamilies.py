"""Regressions whose families miss no cell: each M-step finds their estimate from complete rows, which keeps all digits.

Expected moments are sums of products, which have the square of the condition of rows. Where child and parents are
observed in every row, nothing is expected: the estimate is that of `MLE` or `PosteriorMode`, whatever else is missing.
What rounding may have taken from other regressions is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.cpds.parameters import PriorTerm, is_observed
from sepset.cpds.priors.penalized import COLLAPSE
from sepset.errors import DataError, NotClosed
from sepset.factors.algebra import Columns
from sepset.factors.labels import name_of
from sepset.learning.blocks import Blocks, FlatStatistics
from sepset.models.bayesnet import BayesNet


@dataclass(frozen=True, eq=False)
class CompleteFamily:
    """The rows of one regression, none of which misses a cell of child or parents.

    Attributes:
        columns, weights: the rows.
        statistics: those of the rows, as the CPD's parameters take them.
        made: priors and the estimates that were found with them.
    """

    columns: Columns = field(repr=False)
    weights: Floats | None = field(repr=False)
    statistics: Any
    made: list[tuple[PriorTerm | None, CPD]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, cpd: CPD, columns: Columns, weights: Floats | None) -> CompleteFamily | None:
        """The rows of a CPD; None if it is not a regression of numbers, or some cell is missing."""
        is_regression = not cpd.child.is_discrete and cpd.num_parameters and cpd.parameters.is_exact
        if not is_regression or not all(v in columns and is_observed(columns[v]).all() for v in cpd.scope):
            return None
        rows = {v: columns[v] for v in cpd.scope}
        if not len(rows[cpd.child]):
            return None
        return cls(rows, weights, cpd.parameters.statistics(rows, weights))

    def estimate(self, cpd: CPD, term: PriorTerm | None) -> CPD:
        """The estimate from the rows; contexts without rows stay as they are."""
        if (self.statistics.counts == 0).any():
            return self._estimated(cpd, term)
        for known, made in self.made:
            if known is term:
                return made
        self.made.append((term, self._estimated(cpd, term)))
        return self.made[-1][1]

    def _estimated(self, cpd: CPD, term: PriorTerm | None) -> CPD:
        found = cpd.parameters.maximized(self.statistics, term, unseen="keep")
        try:
            return found.parameters.settled(self.statistics, term, rows=(self.columns, self.weights))  # type: ignore[no-any-return]
        except DataError as error:
            raise NotClosed(f"{name_of(cpd)} fits some rows exactly; {COLLAPSE}") from error


@dataclass(frozen=True, eq=False)
class CompleteFamilies:
    """The complete families of a network, by the position of their block.

    Attributes:
        has_numbers: whether there are regressions at all.
    """

    blocks: Blocks = field(repr=False)
    known: Mapping[int, CompleteFamily]
    has_numbers: bool = True

    @classmethod
    def of(cls, blocks: Blocks, columns: Columns, weights: Floats | None) -> CompleteFamilies:
        """The families that miss no cell and share no parameters."""
        if blocks.template.variables.cards.all():
            return cls(blocks, {}, has_numbers=False)
        alone = {place: block[0] for place, block in enumerate(blocks.members) if len(block) == 1}
        found = {place: CompleteFamily.of(blocks.template.cpds[i], columns, weights) for place, i in alone.items()}
        return cls(blocks, {place: one for place, one in found.items() if one is not None})

    def maximize(self, model: BayesNet, statistics: FlatStatistics, terms: Sequence[PriorTerm | None]) -> BayesNet:
        """The M-step: the estimates of complete families from rows, and all others from expected statistics."""
        known = dict[int, CPD]()
        for place, one in self.known.items():
            known[place] = one.estimate(model.cpds[self.blocks.members[place][0]], terms[place])
        return self.blocks.maximize(model, statistics, tuple(terms), known)

    def start(self, cpd: CPD, term: PriorTerm | None) -> CPD | None:
        """The estimate of a CPD from its rows, if it misses no cell and all contexts have rows enough; else None."""
        places = (
            [i for i in self.known if self.blocks.template.cpds[self.blocks.members[i][0]] is cpd] if self.known else ()
        )
        family = self.known[places[0]] if places else None
        if family is None or (family.statistics.counts <= family.statistics.size + 1).any():
            return None
        try:
            return family.estimate(cpd, term)
        except NotClosed:
            return None

    def lost(self, model: BayesNet, statistics: FlatStatistics, *, uses_rows: bool = True) -> dict[str, float]:
        """How far rounding may have moved regressions, relative to them, by block: those that may be far off.

        Args:
            statistics: the expected ones.
            uses_rows: whether complete families were estimated from rows.
        """
        found = dict[str, float]()
        firsts: list[Any] = self.blocks.firsts(model) if self.has_numbers else []
        for place, (own, stats) in enumerate(zip(firsts, statistics, strict=self.has_numbers)):
            if own.cpd.child.is_discrete or not own.cpd.num_parameters:
                continue
            has_rows = uses_rows and place in self.known
            facts = own.facts(self.known[place].statistics if has_rows else own.scatters(stats), has_rows=has_rows)
            if "relative_error" in facts:
                found[own.cpd.block.name] = facts["relative_error"]
        return found
