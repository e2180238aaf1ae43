r"""How data spread over contexts: the more parents, the fewer rows for each of their joint states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Plain, Shown
from sepset.base.foreign import translated
from sepset.base.lazy import lazy
from sepset.base.text import counted, nearest
from sepset.cpds.counts import SHOWN, Contexts
from sepset.cpds.cpd import CPD
from sepset.data.sources import Weights
from sepset.errors import ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.factors.labels import in_rows
from sepset.graphs.graph import DAG
from sepset.learning.assessment import Assessment
from sepset.learning.blocks import Blocks
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import Template

FEW = 5.0
"""Contexts with fewer rows than this are listed as thin."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockFragmentation(Plain):
    """The contexts of one parameter block.

    Attributes:
        name: the block.
        cpds: the CPDs that share it.
        context_counts: the number of rows of each context.
        zero_cells: cells without a row, in contexts that have some.
    """

    name: str
    cpds: tuple[CPD, ...]
    context_counts: Floats
    zero_cells: int

    def __repr__(self) -> str:
        rows = in_rows(self.context_counts.tolist(), self.num_contexts, 1)
        return f"BlockFragmentation({self.name!r}; rows {rows}; {counted(self.zero_cells, 'zero cell')})"

    @property
    def num_contexts(self) -> int:
        """The number of contexts."""
        return len(self.context_counts)

    @property
    def num_unseen(self) -> int:
        """The number of contexts without a row."""
        return int((self.context_counts == 0).sum())

    @property
    def num_thin(self) -> int:
        """The number of contexts with only a few rows."""
        return int(((self.context_counts > 0) & (self.context_counts < FEW)).sum())

    @property
    def unseen(self) -> tuple[str, ...]:
        """The contexts without a row, as text."""
        return tuple(self._describe(int(c)) for c in np.flatnonzero(self.context_counts == 0))

    @property
    def thin(self) -> tuple[str, ...]:
        """The contexts with only a few rows, as text."""
        few = (self.context_counts > 0) & (self.context_counts < FEW)
        return tuple(self._describe(int(c)) for c in np.flatnonzero(few))

    def to_dict(self) -> dict[str, Any]:
        """The rows of each context, by its description, and the number of cells without any."""
        contexts = [self._describe(k) for k in range(self.num_contexts)]
        rows = dict(zip(contexts, self.context_counts.tolist(), strict=True))
        return {"name": self.name, "rows": rows, "zero_cells": self.zero_cells}

    def _describe(self, context: int) -> str:
        return self.cpds[0].parameters.describe_context(context)


@dataclass(frozen=True, eq=False, repr=False)
class CoverageResult(Assessment):
    r"""How many rows each context $\mathbf u$ of each CPD has, and which cells have none.

    The contexts of noisy-or, noisy-max and logistic CPDs are the states of each of their parents, one by one.

    Reference: Koller & Friedman, section 17.2.3.
    Guarantee: exact.
    Tested by: learning/test_coverage.py::test_contexts_by_plain_counting

    >>> rows = {"a": [0, 0, 0, 1], "b": [0, 1, 1, 0]}
    >>> report = CoverageResult.of(Statistics.of(Task(Template.of(DAG.parse("a -> b"), rows).network, rows), "MLE"))
    >>> report, report["b"].context_counts.tolist()
    (CoverageResult(3 contexts: 0 unseen, 3 with fewer than 5 rows; 1 zero cell), [3.0, 1.0])
    """

    blocks: tuple[BlockFragmentation, ...]

    @classmethod
    def of(cls, stats: Statistics) -> CoverageResult:
        """The report of some statistics; CPDs without contexts of their own are left out."""
        pools = stats.blocks.values()
        return cls._of([(pool.cpds, pool.cpds[0].parameters.contexts(pool.total)) for pool in pools])

    @classmethod
    def expected(cls, blocks: Blocks, statistics: Sequence[Floats]) -> CoverageResult:
        """The report of expected statistics: fractions of rows whose contexts are not all known."""
        cpds, rows = blocks.template.cpds, zip(blocks.members, statistics, strict=True)
        found = [(tied, blocks.forms[tied[0]].expected_contexts(stats)) for tied, stats in rows]
        return cls._of([(tuple(map(cpds.__getitem__, tied)), contexts) for tied, contexts in found])

    @classmethod
    def _of(cls, parts: Iterable[tuple[tuple[CPD, ...], Contexts | None]]) -> CoverageResult:
        known = [(cpds, found) for cpds, found in parts if found is not None]
        return cls(tuple(BlockFragmentation(c[0].block.name, c, f.counts, f.zero_cells) for c, f in known))

    def __getitem__(self, name: str) -> BlockFragmentation:
        for block in self.blocks if isinstance(name, str) else ():
            if name == block.name or any(name == cpd.child.name for cpd in block.cpds):
                return block
        raise ScopeError(f"No contexts are reported for {name!r}.{nearest(name, [b.name for b in self.blocks])}")

    def __iter__(self) -> Iterator[BlockFragmentation]:
        return iter(self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def unseen(self) -> dict[str, tuple[str, ...]]:
        """For each block with such, the contexts without a row."""
        return {b.name: b.unseen for b in self.blocks if b.num_unseen}

    @property
    def shown_unseen(self) -> str:
        """The first contexts without a row, and where all are listed; nothing where there are none."""
        firsts = [f"{name} {context}" for name, contexts in self.unseen.items() for context in contexts[:SHOWN]][:SHOWN]
        rest = sum(b.num_unseen for b in self.blocks) - len(firsts)
        more = f" and {rest} more, all in coverage.unseen" if rest > 0 else ""
        return ", ".join(firsts) + more

    @lazy
    def headline(self) -> str:
        """One line that says how thin the data are."""
        contexts, unseen, thin, zeros = (
            sum(getattr(b, what) for b in self.blocks)
            for what in ("num_contexts", "num_unseen", "num_thin", "zero_cells")
        )
        sparse = f"{unseen:,} unseen, {thin:,} with fewer than {FEW:g} rows"
        return f"{counted(contexts, 'context')}: {sparse}; {counted(zeros, 'zero cell')}"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for b in self.blocks:
            few = [f"{float(least(b.context_counts)):g}" if b.num_contexts else "" for least in (np.min, np.median)]
            yield b.name, str(b.num_contexts), str(b.num_unseen), str(b.num_thin), str(b.zero_cells), *few

    def __repr__(self) -> str:
        return f"CoverageResult({self.headline})"

    def _shown(self) -> Shown:
        return Shown(HEAD, list(self._rows()), self.headline)


HEAD = ("parameters", "contexts", "unseen", "thin", "zero cells", "fewest rows", "median rows")


@translated
def context_coverage(
    structure: DAG | BayesNet,
    data: object,
    *,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
) -> CoverageResult:
    r"""How many rows of the data each context $\mathbf u$ of each CPD has, before anything is fitted.

    Args:
        structure, data, weights, variables: as in `fit`. Rows are complete.

    Reference: Koller & Friedman, section 17.2.3.
    Guarantee: exact.
    Tested by: learning/test_coverage.py::test_a_report_before_anything_is_fitted

    >>> rows = {"a": [0, 0, 0], "b": [0, 1, 1]}
    >>> from sepset.variables.variable import Discrete
    >>> context_coverage(DAG.parse("a -> b"), rows, variables=[Discrete("a")]).unseen
    {'b': ('(a=1)',)}
    """
    template = Template.of(structure, data, variables)
    task = Task(template.network, data, weights=weights, coded=template.coded)
    return CoverageResult.of(Statistics.of(task, "coverage"))
