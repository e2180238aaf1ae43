"""A model with a method prepared for it once, for many questions in names and states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.checks import generator, whole
from sepset.base.display import Worded
from sepset.base.lazy import lazy
from sepset.base.membership import among, without
from sepset.base.memory import row_blocks
from sepset.base.text import listing
from sepset.data.codes import DrawnColumns
from sepset.engine.draws import Draws
from sepset.engine.explanations import Labels, best_assignments, labels_of, max_marginals
from sepset.engine.jointfindings import takes_joints
from sepset.engine.rowquestions import RowQuestions
from sepset.errors import ArgumentError, NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.inference.conflict import impossible
from sepset.inference.mapresult import MapResult
from sepset.inference.method import (
    LARGEST_RESIDUAL,
    Answer,
    Calibrates,
    MeasuresResiduals,
    Method,
    Prepared,
    ReadsAll,
    ReadsArrays,
    ReportsRuns,
    can,
    dense,
    elimination_settings,
)
from sepset.inference.result import (
    Guarantee,
    Guarantees,
    LogProbabilityResult,
    MarginalsResult,
    QueryResult,
)
from sepset.kernels.kernel import answered
from sepset.models.model import Model
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.findings import Findings
from sepset.variables.variable import State, VariableLike, Vector, listed

if TYPE_CHECKING:
    from sepset.data.counts import Counts
    from sepset.data.dataset import Dataset
    from sepset.data.families import Family
    from sepset.data.sources import Weights
    from sepset.engine.effects.parametereffects import SensitivityResult
    from sepset.engine.information import InformationValues
    from sepset.engine.invariants import CheckReport
    from sepset.engine.view import View
    from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult
    from sepset.inference.compiled.gradients import Derivatives
    from sepset.inference.diagnosis.retraction import RetractionTree
    from sepset.inference.plan import EliminationPlan, JointPlan
    from sepset.inference.treequery.pairs import Pairs

BOUNDS = (Guarantee.UPPER_BOUND, Guarantee.LOWER_BOUND)
"""Guarantees that a difference of two answers does not have."""


class Engine(RowQuestions, Worded):
    """Answers questions about one model with one method; immutable, and safe to share between threads.

    >>> import sepset as ss
    >>> engine = ss.prepare(ss.datasets.load("student"))
    >>> round(engine.query("intelligence", given={"grade": "C", "sat": "high"})["high"], 4)
    0.5783
    """

    def __init__(self, model: Model, method: Method | None = None, *, prepared: Prepared | None = None) -> None:
        super().__init__(model, method, prepared=prepared)
        reads = self.prepared.all_marginals if can(self.prepared, ReadsAll) else self._marginals_and_points
        self.is_measured = can(self.prepared, MeasuresResiduals) or can(self.prepared, ReportsRuns)
        self._read_marginals: Callable[[Evidence], tuple[Callable[[int], Any], float]] = reads
        self._ancestral: Cache[Engine] = Cache(2)
        self._rows: Callable[[Evidence, Ints], Floats] | None = None
        if can(self.prepared, ReadsArrays):
            self._rows = self.prepared.marginal_rows

    @takes_joints
    def query(self, targets: VariableLike | Iterable[VariableLike], *, given: Given = None) -> QueryResult:
        """The joint distribution of the targets given the evidence, axes in the order asked."""
        evidence, positions = self.evidence(given), self.positions(targets)
        return self._answer(self.prepared.query(evidence.free(positions), evidence), positions, evidence=evidence)

    def _answer(self, answer: Answer, positions: Sequence[int], *, evidence: Evidence) -> QueryResult:
        """The result of an answer about the unobserved of these positions, the observed ones as point masses."""
        if answer.log_partition == -np.inf:
            raise impossible(self.prepared, evidence)
        guarantees = {k: answer.guarantee or self.promises[k] for k in ("marginals", "log_partition")}
        distribution = dense(answer.distribution)
        if not evidence.codes.keys().isdisjoint(positions) or not evidence.reals.keys().isdisjoint(positions):
            distribution = self._with_observed(distribution, positions, evidence)
        about = self._about(guarantees, positions, evidence=evidence)
        findings = Findings(evidence, self.known)
        return QueryResult(distribution, answer.log_partition, method=self.method, findings=findings, **about)

    def _about(self, guarantees: Guarantees, targets: Iterable[int], *, evidence: Evidence) -> dict[str, Any]:
        """The guarantees of an answer and, if real variables are in it, its residual: a large one is an estimate."""
        prepared, info = self.prepared, answered()
        if not self.is_measured:
            return {"guarantees": guarantees, "info": info}
        if can(prepared, ReportsRuns):
            told = prepared.report(evidence)
            known = {part: told.guarantees.get(part, found) for part, found in guarantees.items()}
            return {"guarantees": known, "status": told.status, "info": {**info, **told.info}}
        if not can(prepared, MeasuresResiduals):
            return {"guarantees": guarantees, "info": info}
        residual = prepared.residual(evidence.free(targets), evidence)
        if residual is None:
            return {"guarantees": guarantees, "info": info}
        if not residual <= LARGEST_RESIDUAL:
            guarantees = dict.fromkeys(guarantees, Guarantee.ESTIMATE)
        return {"guarantees": guarantees, "info": {**info, "residual": residual}}

    def _with_observed(self, free: Any, positions: Sequence[int], evidence: Evidence) -> Any:
        """The answer over the free targets with a point mass for each observed one."""
        if len(positions) == 1:
            return self._point(positions[0], evidence)
        continuous = [self.model.variables[v].name for v in positions if not self.model.variables[v].is_discrete]
        fixed = among(positions, evidence.observed)
        if continuous:
            seen = [self.model.variables[v].name for v in fixed]
            raise ScopeError(
                f"A joint with observed targets is for discrete variables; {listing(continuous)} are continuous. "
                f"Leave out {listing(seen)}, whose values are known."
            )
        for v in fixed:
            free = free * self._point(v, evidence)
        return free.align([self.model.variables[v] for v in positions])

    @takes_joints
    def marginals(self, *, given: Given = None) -> MarginalsResult:
        """The marginal of every variable given the evidence; observed ones are point masses."""
        evidence, place = self.evidence(given), self.model.variables.positions
        read, log_partition = self._read_marginals(evidence)
        if log_partition == -np.inf:
            raise impossible(self.prepared, evidence)
        about = self._about(self.promises, place.values(), evidence=evidence)
        if self._rows is not None:
            about["rows"] = partial(self._rows, evidence)
        findings = Findings(evidence, self.known)
        return MarginalsResult(place, read, log_partition=log_partition, method=self.method, findings=findings, **about)

    def _marginals_and_points(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of all marginals and the log partition, for a method that reads only unobserved variables."""
        read, log_partition = self.prepared.marginals(evidence)
        observed = frozenset(evidence.observed)
        return lambda v: self._point(v, evidence) if v in observed else dense(read(v)), log_partition

    @takes_joints
    def log_partition(self, *, given: Given = None) -> LogProbabilityResult:
        r"""$\log \sum_{\mathbf x} \prod_i \phi_i$ over the assignments consistent with the evidence."""
        evidence = self.weighted_evidence(given)
        return self._log(self.prepared.log_partition(evidence), evidence)

    @takes_joints
    def log_probability(self, *, given: Given = None) -> LogProbabilityResult:
        """The logarithm of the probability of the evidence; -inf where it is impossible."""
        evidence = self.weighted_evidence(given)
        found = self._log(self.prepared.log_partition(evidence) - self.log_total, evidence)
        if found.guarantees["log_partition"] in BOUNDS and not self.prepared.problem.is_normalized:
            return replace(found, lower=-math.inf, upper=math.inf, guarantees={"log_partition": Guarantee.ESTIMATE})
        return found

    def _log(self, value: float, evidence: Evidence) -> LogProbabilityResult:
        about = self._about({"log_partition": self.promises["log_partition"]}, (), evidence=evidence)
        known, found = about["guarantees"]["log_partition"], float(value)
        lower = found if known in (Guarantee.EXACT, Guarantee.LOWER_BOUND) else -math.inf
        upper = found if known in (Guarantee.EXACT, Guarantee.UPPER_BOUND) else math.inf
        return LogProbabilityResult(found, lower, upper=upper, method=self.method, **about)

    @takes_joints
    def map_assignment(
        self, *, given: Given = None, over: VariableLike | Iterable[VariableLike] | None = None, k: int = 1
    ) -> MapResult:
        """The most probable assignment of `over` (every unobserved variable by default), the rest summed out."""
        return best_assignments(self, given, over, k)

    @lazy
    def labels(self) -> Labels | None:
        """The names and states of the variables, if all are discrete and none is an element of an array."""
        return labels_of(self)

    @takes_joints
    def max_marginals(self, *, given: Given = None) -> MaxMarginalsResult:
        """The largest log value of the joint for every state of every discrete variable, given the evidence."""
        return max_marginals(self, self.evidence(given))

    def sample(self, num_rows: int, *, given: Given = None, seed: int | np.random.Generator = 0) -> Dataset:
        """Independent draws of all variables from the posterior, observed ones at their values."""
        from sepset.data.dataset import Dataset

        variables = self.model.variables
        wide = [v.name for v in variables if isinstance(v, Vector) and v.size > 1]
        if wide:
            raise NotApplicable(
                f"A dataset has one column per variable, and {listing(wide)} are vectors. "
                "Use prepare(model).sample_columns."
            )
        return Dataset._drawn(variables, self.sample_columns(num_rows, given=given, seed=seed), num_rows)

    @takes_joints
    def sample_columns(
        self, num_rows: int, *, given: Given = None, seed: int | np.random.Generator = 0
    ) -> dict[str, AnyArray]:
        """The draws of `sample` as arrays by name: codes, real values, and `[rows, size]` arrays of vectors."""
        whole("num_rows", num_rows, least=0)
        columns = DrawnColumns.of(self.model.variables, num_rows)
        evidence = self.evidence(given)
        if self.prepared.log_partition(evidence) == -np.inf:
            raise impossible(self.prepared, evidence)
        rng, known, draws = generator(seed), {**evidence.codes, **evidence.reals}, Draws(self, evidence)
        for rows in row_blocks(num_rows, len(columns)):
            columns.fill(rows, {**draws(rows.stop - rows.start, rng), **known})
        return columns.by_name

    @takes_joints
    def plan(
        self,
        targets: VariableLike | Iterable[VariableLike] = (),
        *,
        given: Given | Iterable[VariableLike] = None,
        over: VariableLike | Iterable[VariableLike] | None = None,
    ) -> EliminationPlan:
        """The plan and cost of a query, or of the best assignment of `over`.

        Args:
            targets: the variables of a query; without any, the plan is for all marginals.
            given: evidence, or only the names of the observed variables.
            over: the variables of `map_assignment`, all others summed out first; then there are no targets.
        """
        if given is None or isinstance(given, Mapping):
            observed = resolve(given, self.known).observed
        else:
            observed = tuple(sorted(self.positions(given)))
        positions = without(self.positions(targets if over is None else over), observed)
        if over is None:
            return self.prepared.plan(positions, observed)
        if listed(targets):
            raise ArgumentError(
                "A plan is for a query of targets or for the best assignment of over=; found both. Ask for one of them."
            )
        return self.prepared.best_plan(positions, observed)

    @takes_joints
    def joint_plan(self, targets: VariableLike | Iterable[VariableLike], *, given: Given = None) -> JointPlan:
        """How a tree calibrated for this evidence answers a joint: which cliques merge in which order, at what cost.

        The tree is calibrated; the joint is not computed. If an elimination from scratch is cheaper, the plan says so.

        Reference: El-Hay (2001), chapter 4.
        Guarantee: the cheaper by count.
        Tested by: engine/test_engine.py::test_a_joint_across_cliques_has_a_plan

        >>> import sepset as ss
        >>> plan = ss.prepare(ss.datasets.load("student")).joint_plan(["letter", "sat"], given={"grade": "B"})
        >>> plan.route, plan.cost
        ('merging', 10)
        """
        evidence = self.evidence(given)
        positions = without(self.positions(targets), evidence.observed)
        prepared = self.prepared
        if not prepared.problem.variables.all_discrete or not can(prepared, Calibrates):
            raise NotApplicable(
                "Joints are planned on the clique tree of a discrete model; "
                f"{type(self.method).__name__} has none here. Use plan(...) for what a query costs."
            )
        return prepared.joint_plan(positions, evidence, prepared.calibrate(evidence))

    def expected_counts(
        self,
        data: object,
        *,
        families: Iterable[Family] | None = None,
        weights: Weights = None,
        threads: int | None = None,
    ) -> Counts:
        r"""The expected counts of families, the missing cells of each row distributed as the model says.

        $$\bar M[\mathbf u, x] = \sum_m w_m P(\mathbf u, x \mid \mathbf o[m])$$

        Of complete rows these are the counts. They add up and can be kept like any `Counts`.

        Args:
            data: rows, as `fit` takes them; cells and whole columns may be missing.
            families: as in `Counts.of`, any variables of the model together; by default the families of a network's
                CPDs.
            weights: one per row, or the name of a column.
            threads: their number; counts do not depend on it.

        Cost: one batch of rows through the compiled engine, whose cliques hold the families.
        Reference: Koller & Friedman, section 19.2.2.

        >>> import sepset as ss
        >>> rows = {"intelligence": ["high", None], "sat": ["high", "high"]}
        >>> ss.prepare(ss.datasets.load("student")).expected_counts(rows)["intelligence"].round(4).tolist()
        [0.1273, 1.8727]
        """
        from sepset.engine.expectedcounts import expected_counts

        return expected_counts(self, data, families, weights, threads)

    def observe(self, given: Given) -> View:
        """The engine with these findings: an immutable view, calibrated on its first question, that can be extended.

        Guarantee: as the method.
        Tested by: engine/test_view.py::test_findings_one_after_the_other_are_findings_at_once

        >>> import sepset as ss
        >>> seen = ss.prepare(ss.datasets.load("asia")).observe({"xray": "yes"})
        >>> [round(view.marginals()["lung"]["yes"], 4) for view in (seen, seen.observe({"smoke": "no"}))]
        [0.4887, 0.1423]
        """
        from sepset.engine.view import View

        return View(self, given)

    @takes_joints
    def pairwise_marginals(self, *, given: Given = None) -> Pairs:
        """The joint of every pair of variables given the evidence, in one sweep over a calibrated tree.

        Reference: El-Hay (2001), chapter 4, for joints across cliques; the sweep over all pairs extends it.
        Guarantee: exact.
        Tested by: inference/treequery/test_pairs.py::test_every_pair_of_an_engine_is_its_own_query
        """
        from sepset.inference.treequery.pairs import Pairs

        evidence = self.evidence(given)
        if not can(self.prepared, Calibrates):
            raise NotApplicable(
                f"All pairs come from a calibrated tree; {type(self.method).__name__} has none. Use CliqueTree."
            )
        singles = self.marginals(given=given)
        names = frozenset(self.model.variables[v].name for v in evidence.observed)
        reals = frozenset(v.name for v in self.model.variables if not v.is_discrete)
        return Pairs(self.prepared.pairwise_marginals(evidence), singles, observed=names, reals=reals)

    @takes_joints
    def retracted_marginals(self, *, given: Given) -> MarginalsResult:
        r"""For every finding, $P(X \mid \mathbf e_{-X})$: its variable given all the *other* findings.

        A finding that is improbable under its own retracted marginal is suspect. If that is cheaper, one calibration
        with the findings on copies of their variables answers for all of them; otherwise one query per finding. `Soft`
        findings that stay are fitted again without each of the others. The key of a finding on a joint is "(a, b)".

        Reference: Cowell & Dawid (1992), Fast retraction of evidence in a probabilistic expert system.
        Guarantee: exact.
        Tested by: inference/diagnosis/test_retraction.py::test_each_finding_given_the_others

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> engine.retracted_marginals(given={"grade": "A", "letter": "weak"})["letter"].values.round(4)
        array([0.1, 0.9])
        """
        from sepset.inference.diagnosis.retraction import RetractionTree, retracted

        evidence = resolve(given, self.known)
        key = (evidence.observed, tuple(sorted(evidence.weights)))
        make = partial(RetractionTree, self.prepared, *key)
        read = retracted(self.prepared, evidence, lambda: self._retractions.get(key, make))
        place = {self.known[v].name: v for v in evidence.touched}
        return MarginalsResult(place, self._over_members(read), method=self.method, guarantees=self.promises)

    def _over_members(self, read: Callable[[int], Table]) -> Callable[[int], Table]:
        """The reader, with joints over their members in place of the variables that stand for them."""

        def found(position: int) -> Table:
            table = read(position)
            if position not in self.joints:
                return table
            scope: Any = [self.known[v] for v in self.joints[position]]
            return Table(scope, table.values)

        return found if self.joints else read

    @takes_joints
    def sensitivity(self, target: VariableLike, *, state: State, given: Given = None) -> SensitivityResult:
        r"""How $P(\text{target} = \text{state} \mid \mathbf e)$ depends on every parameter of the model.

        A CPD is varied by its own parameters: entries of tables, rows at the leaves of trees, contributions and leaks
        of noisy-or and noisy-max CPDs; an undirected model by the entries of its factors. Each varies alone, the rest
        of its row in proportion; then the posterior is
        $(a \theta + b) / (c \theta + d)$. Tied parameters are varied one CPD at a time.

        Cost: two forward and two reverse sweeps for any number of parameters.
        Reference: Castillo, Gutierrez & Hadi (1997), Sensitivity analysis in discrete Bayesian networks.

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> found = engine.sensitivity("intelligence", state="high", given={"grade": "C"})
        >>> found[0].name, round(found[0].derivative, 4)
        ("P(grade='C' | intelligence='high', difficulty='easy')", 0.4742)
        """
        from sepset.engine import sensitivity as parameters

        return parameters.sensitivity(self, target, state, given)

    @lazy
    def _retractions(self) -> Cache[RetractionTree]:
        return Cache(16)

    @lazy
    def derivatives(self) -> Derivatives:
        """Gradients of the log partition with respect to the factors, planned like the method's own questions."""
        from sepset.inference.compiled.gradients import Derivatives

        return Derivatives(self.prepared.problem, *elimination_settings(self.prepared.method))

    @takes_joints
    def value_of_information(
        self,
        targets: VariableLike | Iterable[VariableLike],
        *,
        candidates: VariableLike | Iterable[VariableLike] | None = None,
        given: Given = None,
        costs: Mapping[Any, float] | None = None,
    ) -> InformationValues:
        r"""The expected reduction of the targets' entropy by observing each candidate, the most informative first.

        $$I(T; C \mid \mathbf e) = H(T \mid \mathbf e) - E_c\, H(T \mid c, \mathbf e)$$

        Args:
            targets: discrete and unobserved.
            candidates: the variables that could be observed next; by default the unobserved discrete variables that the
                model's drawing marks as observations, or all if it marks none.
            costs: the cost of observing each variable, of those not named one; then candidates come in the order of the
                reduction per cost, those without cost first.

        Cost: one calibration for each possible joint state of the targets.
        Reference: Shannon (1948); Heckerman, Horvitz & Middleton (1993) for myopic value of information.

        >>> import sepset as ss
        >>> ss.prepare(ss.datasets.load("asia")).value_of_information("lung", candidates=["xray", "smoke"]).best
        'xray'
        """
        from sepset.engine import information

        return information.value_of_information(self, targets, candidates, given, costs)

    @takes_joints
    def entropy(
        self,
        targets: VariableLike | Iterable[VariableLike],
        *,
        given: Given = None,
        on: VariableLike | Iterable[VariableLike] = (),
    ) -> float:
        r"""$H(\mathbf X \mid \mathbf Z, \mathbf e)$ in nats of discrete or Gaussian targets, on average over `on`.

        Reference: Koller & Friedman A.1.1.
        Guarantee: exact.
        Tested by: engine/test_information.py::test_entropies_and_information

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> round(engine.entropy("grade"), 4), round(engine.entropy("grade", on="intelligence"), 4)
        (1.0938, 0.9547)
        """
        from sepset.engine import information

        return information.entropy(self, targets, given, on)

    @takes_joints
    def mutual_information(
        self,
        xs: VariableLike | Iterable[VariableLike],
        ys: VariableLike | Iterable[VariableLike],
        *,
        given: Given = None,
        on: VariableLike | Iterable[VariableLike] = (),
    ) -> float:
        r"""$I(\mathbf X; \mathbf Y \mid \mathbf Z, \mathbf e)$ in nats of discrete or Gaussian variables, given `on`.

        Reference: Koller & Friedman A.1.2.
        Guarantee: exact.
        Tested by: engine/test_information.py::test_entropies_and_information

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> round(engine.mutual_information("difficulty", "intelligence", given={"grade": "C"}), 4)
        0.0123
        """
        from sepset.engine import information

        return information.mutual_information(self, xs, ys, given, on)

    @takes_joints
    def conditional(
        self,
        targets: VariableLike | Iterable[VariableLike],
        on: VariableLike | Iterable[VariableLike],
        *,
        given: Given = None,
    ) -> Table:
        r"""The table $P(\mathbf X \mid \mathbf Z, \mathbf e)$, axes `(*on, *targets)`; zeros where impossible.

        Reference: Koller & Friedman 2.1.3.
        Guarantee: exact; zeros where impossible.
        Tested by: engine/test_information.py::test_conditional_tables

        >>> import sepset as ss
        >>> ss.prepare(ss.datasets.load("student")).conditional("letter", on="sat").values.round(4)
        array([[0.58  , 0.42  ],
               [0.2805, 0.7195]])
        """
        from sepset.engine import information

        return information.conditional(self, targets, on, given)

    @takes_joints
    def check(self, *, given: Given = None, seed: int = 0, num_points: int = 20) -> CheckReport:
        r"""The invariants of exact inference, verified on this model; raises `BrokenInvariant` where one fails.

        Running intersection; calibration (neighbors agree on sepsets); $\prod \beta / \prod \mu = \prod \phi$ at drawn
        assignments; the engine's log partition and marginals against the tree's; the gradient
        $\phi\, \partial \log Z / \partial \phi$ against clique marginals; and a total of one for normalized models.

        Args:
            given: evidence to check under.
            num_points: the number of assignments drawn.

        Cost: an explicit table per clique, several times the time of `marginals`.
        Reference: Koller & Friedman, sections 10.1.2 and 10.2.3.
        Guarantee: names the violated invariant.
        Tested by: engine/test_invariants.py::test_faults_are_found

        >>> import sepset as ss
        >>> len(ss.prepare(ss.datasets.load("asia")).check(given={"xray": "yes"}))
        7
        """
        from sepset.engine import invariants

        return invariants.check(self, given, seed, num_points)
