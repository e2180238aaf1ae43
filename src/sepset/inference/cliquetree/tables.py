"""Clique trees over discrete variables: compiled questions, rows in blocks, and explicit beliefs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.cache import Cache
from sepset.base.entries import Answers
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.compiled.compiler import Compiler
from sepset.inference.compiled.domains import Zeros
from sepset.inference.compiled.engine import TableEngine
from sepset.inference.compiled.planner import Planner, Settings
from sepset.inference.compiled.store import FactorStore
from sepset.inference.conflict import impossible
from sepset.inference.method import Answer, Best, Calibrated, EliminationMethod
from sepset.inference.plan import EliminationPlan, JointPlan
from sepset.inference.refusals import refuse_maxima, refuse_sums
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence

if TYPE_CHECKING:
    from sepset.inference.cliquetree.summedout import SummedOut
    from sepset.inference.evidencerows import EvidenceRows, RowAnswers, RowCounts, RowValues, Workers
    from sepset.inference.exact.tree import PreparedTree
    from sepset.inference.rows.batch import RowCompiler, RowTables
    from sepset.inference.values import Values


class TableMethod(EliminationMethod, Protocol):
    """The settings of clique trees over tables."""

    @property
    def zeros(self) -> Zeros:
        """The treatment of zeros in the factors."""

    @property
    def threads(self) -> int | None:
        """The number of threads of a large step; None for one per processor."""


class PreparedTables(TableEngine):
    """Clique-tree inference bound to a discrete problem; it has every capability.

    Attributes:
        method: its settings.
    """

    def __init__(
        self,
        method: TableMethod,
        problem: Problem,
        compiler: Compiler,
        *,
        store: FactorStore | None = None,
        row_compiler: RowCompiler | None = None,
    ) -> None:
        super().__init__(problem, compiler, store)
        self.method = method
        if row_compiler is not None:
            self.row_compiler = row_compiler

    @classmethod
    def of(cls, problem: Problem, method: TableMethod) -> PreparedTables:
        """The method bound to a problem, with nothing planned yet."""
        settings = Settings(method.order, method.memory, method.zeros, method.threads)
        return cls(method, problem, Compiler(Planner(problem, settings)))

    @lazy
    def rows(self) -> RowTables:
        """The engine for batches of rows."""
        from sepset.inference.rows.batch import RowTables

        return RowTables(self, self.row_compiler)

    @lazy
    def row_compiler(self) -> RowCompiler:
        """The compiler of programs for batches, which are shared by all values of the factors."""
        from sepset.inference.rows.batch import RowCompiler

        return RowCompiler(self.compiler.planner)

    def portable(self) -> PreparedTables:
        """Itself: what it holds can be pickled, workspaces are left out."""
        return self

    all_marginals = TableEngine.marginals
    """A reader of the marginal of every variable, observed ones as point masses, and the log partition."""

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other unobserved variables summed out first."""
        if len(over) + len(evidence.observed) >= len(self.problem.variables):
            return self.best_of_all(evidence)
        if self.problem.functions and self._is_everything(over, evidence.observed):
            return self.best_of_all(evidence)
        summed = None if self.problem.functions or self.problem.forms else self._summed_out(evidence, over)
        found = None if summed is None else summed.best(evidence)
        return self._tree.best(evidence, over) if found is None else found

    def refuse_sums(self, over: Sequence[int], observed: Sequence[int], apart: Collection[int] = ()) -> None:
        """Raise if every order of the sums before maxima over `over` has tables far beyond the memory."""
        refuse_sums(self.problem, over, observed, self._memory_of_one, apart)

    def refuse_maxima(
        self, over: Sequence[int], observed: Sequence[int], apart: Collection[int] = (), joined: Ints | None = None
    ) -> None:
        """Raise if every order of the sums and of the maxima after them has tables far beyond the memory."""
        memory = self._memory_of_one if joined is None else max(self.method.memory, 1)  # no plan has room for one more
        refuse_maxima(self.problem, over, observed, memory, apart, joined)

    @property
    def _memory_of_one(self) -> int:
        """The bytes that one table may have, where others are gone by then."""
        return max(self.method.memory, 1) * len(self.problem.variables)

    def _summed_out(self, evidence: Evidence, over: Sequence[int]) -> SummedOut | None:
        """The problem with all but `over` summed out, for these variables with evidence; None if that is too large."""
        from sepset.inference.cliquetree.summedout import SummedOut

        free = tuple(v for v in over if v not in evidence.codes)
        touched = tuple(sorted(set(evidence.weights).difference(free)))
        prepare = partial(PreparedTables.of, method=self.method)

        def make() -> SummedOut | None:
            limit = min(
                self.method.memory, max(costs.BYTES_SUMMED_OUT, self._tree.best_plan(free, evidence.observed).memory)
            )
            try:
                return SummedOut.of(self.problem, free, evidence, prepare, limit)
            except TooLarge:  # one elimination has less, or refuses in its own words
                return None

        return self._sums.get((free, evidence.observed, touched), make)

    @lazy
    def _sums(self) -> Cache[SummedOut | None]:
        return Cache(16)

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of `best`: maxima over `over`, after sums over the rest."""
        if self._is_everything(over, observed):
            return self.plan((), observed)
        return self._tree.best_plan(over, observed)

    def _is_everything(self, over: Sequence[int], observed: Sequence[int]) -> bool:
        """Whether nothing is summed out: all other variables are observed, or functions of these."""
        known, problem = {*over, *observed}, self.problem
        if len(known) < problem.num_visible:
            return False
        return len(known.union(problem.determined(known))) == len(problem.variables)

    def with_values(self, values: Values) -> PreparedTables:
        """The same plans and programs with new values, one array per factor over its scope.

        Guarantee: as if prepared from scratch.
        Tested by: inference/test_values.py::test_as_if_prepared_anew
        """
        from sepset.inference.values import checked_values

        problem, store = self.store.with_values(self.problem, checked_values(self.problem, values))
        if self.compiler.is_valid_for(store):
            return PreparedTables(self.method, problem, self.compiler, store=store, row_compiler=self.row_compiler)
        return PreparedTables.of(problem, self.method)

    def factor_marginals(self, evidence: Evidence) -> tuple[Floats, ...]:
        r"""The marginal over every factor's scope: the gradient $\partial \log Z / \partial \log \phi$.

        Reference: Koller & Friedman 20.3; Darwiche (2003).
        Guarantee: exact.
        Tested by: inference/compiled/test_gradients.py::test_factor_marginals_are_those_of_enumeration
        """
        flat = self.flat_factor_marginals(evidence)
        if flat is None:
            raise impossible(self, evidence)
        return self.store.split(self.problem, flat)

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The posterior of each target and the log partition, for every row of findings."""
        return self.rows.answers(rows, targets, workers)

    def summed_marginals(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
        """The weighted sums of the factor marginals given each row, and each row's log partition."""
        from sepset.inference.evidencerows import RowCounts

        totals, log_partition = self.rows.summed(rows, weights, workers)
        return RowCounts(self.store.split(self.problem, totals), log_partition)

    def plan_rows(self, rows: EvidenceRows) -> None:
        """Plan the sums of factor marginals over these rows; raises if a row is too large."""
        self.rows.plan(rows)

    def mode_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        """The targets, each missing cell at its own most probable state."""
        from sepset.inference.completion import by_posteriors

        return by_posteriors(self, rows, targets, workers)

    def complete_rows(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        """The most probable values of the model's variables in every row; one by one if auxiliaries are summed out."""
        from sepset.inference.completion import complete_one_by_one
        from sepset.inference.evidencerows import RowValues

        different, which = rows.distinct()
        num = self.problem.num_visible
        if num < len(self.problem.variables) and not self._is_everything(range(num), rows.positions):
            return complete_one_by_one(self, different, workers).take(which)
        codes, log_value, left = self.rows.modes(different, workers)
        made = different.over(range(num), ())
        possible = log_value > -np.inf
        made.codes[possible] = codes[possible, :num]
        if len(left):
            alone = complete_one_by_one(self, different.take(left), workers)
            made.codes[left], log_value[left] = alone.rows.codes, alone.log_value
        return RowValues(made, log_value).take(which)

    def draw_rows(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, with the missing cells of each row drawn jointly by the chain rule."""
        from sepset.inference.completion import by_chain_rule

        return by_chain_rule(self, rows, targets, rng, workers)

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibrated:
        """The calibrated tree, with clique and sepset beliefs as factors."""
        return self._tree.calibrate(evidence, semiring)

    def pairwise_marginals(self, evidence: Evidence) -> Answers[tuple[str, str], Table]:
        """The joint of every pair of unobserved variables, in one sweep over a calibrated tree."""
        return self._tree.pairwise_marginals(evidence)

    def joint(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The joint of `targets` from the tree calibrated for this evidence, in one clique or across several."""
        return self._tree.joint(targets, evidence, calibration)

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> JointPlan:
        """The plan for a joint from a tree calibrated for this evidence, in one clique or across several."""
        return self._tree.joint_plan(targets, evidence, calibration)

    @lazy
    def _tree(self) -> PreparedTree:
        """The same tree over the factor protocol, for beliefs, pairs, and maximization over some of the variables."""
        from sepset.inference.exact.messages import calibrate
        from sepset.inference.exact.tree import PreparedTree

        return PreparedTree(self.problem, self.method, calibrate)
