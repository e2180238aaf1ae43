"""A model with a method prepared for it once, for many questions in names and states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.cache import Cache
from sepset.base.checks import generator, whole
from sepset.base.lazy import lazy
from sepset.base.progress import Bar
from sepset.base.text import brief, listing
from sepset.data.dataset import Dataset
from sepset.engine import information, invariants, sensitivity as parameters
from sepset.engine.information import InformationValues
from sepset.engine.invariants import CheckReport
from sepset.engine.prediction import (
    OnImpossible,
    Prediction,
    Source,
    check_action,
    check_impossible,
    default_targets,
    discrete_targets,
    findings_of,
    is_frame,
)
from sepset.engine.sensitivity import Sensitivity
from sepset.engine.view import Observed
from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import Factor
from sepset.factors.moments import Gaussian
from sepset.factors.table import Table
from sepset.inference.capabilities import answer_rows
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.conflict import impossible
from sepset.inference.diagnosis.retraction import RetractionTree, retracted
from sepset.inference.diagnosis.soft import resolve_soft
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.map.kbest import k_best
from sepset.inference.method import Answer, Best, Calibrates, Method, ReadsAll, can, dense, elimination_settings
from sepset.inference.plan import JointPlan, Plan
from sepset.inference.result import LogProbability, MapResult, Marginals, QueryResult
from sepset.inference.treequery.pairs import Pairs
from sepset.models.model import MODEL_MEMBERS, Model, NamedModel, offers
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.variable import Discrete, State, VariableLike, Vector, listed


class Engine:
    """Answers questions about one model with one method; immutable, and safe to share between threads.

    >>> import sepset as ss
    >>> engine = ss.prepare(ss.datasets.load("student"))
    >>> round(engine.query("intelligence", given={"grade": "C", "sat": "high"})["high"], 4)
    0.5783
    """

    def __init__(self, model: Model, method: Method) -> None:
        if not (isinstance(model, NamedModel) or offers(model, *MODEL_MEMBERS)):
            raise ModelError(f"A model was expected; found {brief(model)}. Build one, or read a file: ss.read(path).")
        if not offers(method, "prepare", "promises"):
            raise ArgumentError(f"method= takes a method such as CliqueTree(); found {brief(method)}.")
        self.model = model
        self.method = method
        self.prepared = method.prepare(model.problem())
        self._promises = dict(method.promises(model.problem()))
        reads = self.prepared.all_marginals if can(self.prepared, ReadsAll) else self._marginals_and_points
        self._read_marginals: Callable[[Evidence], tuple[Callable[[int], Any], float]] = reads

    def query(self, targets: VariableLike | Iterable[VariableLike], given: Given = None) -> QueryResult:
        """The joint distribution of the targets given the evidence, axes in the order asked."""
        evidence = self._evidence(given)
        return self._query(targets, evidence, lambda free: self.prepared.query(free, evidence))

    def _query(
        self,
        targets: VariableLike | Iterable[VariableLike],
        evidence: Evidence,
        ask: Callable[[Sequence[int]], Answer],
    ) -> QueryResult:
        """The answer that `ask` finds for the unobserved targets, with the observed ones as point masses."""
        positions = self._positions(targets)
        observed = set(evidence.observed)
        answer = ask([v for v in positions if v not in observed])
        if answer.log_partition == -np.inf:
            raise impossible(self.prepared, evidence)
        guarantees = {k: answer.guarantee or self._promises[k] for k in ("marginals", "log_partition")}
        distribution = self._with_observed(dense(answer.distribution), positions, evidence)
        return QueryResult(distribution, answer.log_partition, method=self.method, guarantees=guarantees)

    def _with_observed(self, free: Any, positions: Sequence[int], evidence: Evidence) -> Any:
        """The answer over the free targets with a point mass for each observed one."""
        fixed = [v for v in positions if v in set(evidence.observed)]
        if not fixed:
            return free
        if len(positions) == 1:
            return self._point(positions[0], evidence)
        continuous = [self.model.variables[v].name for v in positions if not self.model.variables[v].is_discrete]
        if continuous:
            seen = [self.model.variables[v].name for v in fixed]
            raise ScopeError(
                f"A joint with observed targets is for discrete variables; {listing(continuous)} are continuous. "
                f"Leave out {listing(seen)}, whose values are known."
            )
        for v in fixed:
            free = free * self._point(v, evidence)
        return free.align([self.model.variables[v] for v in positions])

    def _point(self, position: int, evidence: Evidence) -> Factor | Gaussian:
        variable = self.model.variables[position]
        if isinstance(variable, Discrete):
            return Table.indicator(variable, variable.states[evidence.codes[position]])
        value = evidence.reals[position]
        return Gaussian((variable,), value, np.zeros((len(value), len(value))))

    def marginals(self, given: Given = None) -> Marginals:
        """The marginal of every variable given the evidence; observed ones are point masses."""
        evidence = self._evidence(given)
        read, log_partition = self._read_marginals(evidence)
        if log_partition == -np.inf:
            raise impossible(self.prepared, evidence)
        return Marginals(self._place, read, log_partition, method=self.method, guarantees=self._promises)

    def _marginals_and_points(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of all marginals and the log partition, for a method that reads only unobserved variables."""
        read, log_partition = self.prepared.marginals(evidence)
        observed = frozenset(evidence.observed)
        return lambda v: self._point(v, evidence) if v in observed else dense(read(v)), log_partition

    @lazy
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.model.variables.names)}

    def log_partition(self, given: Given = None) -> LogProbability:
        r"""$\log \sum_{\mathbf x} \prod_i \phi_i$ over the assignments consistent with the evidence."""
        return self._log(self.prepared.log_partition(self._weighted(given)))

    @overload  # a mapping is evidence, though it is an object too
    def log_probability(self, given: Given = None) -> LogProbability: ...  # type: ignore[overload-overlap]
    @overload
    def log_probability(self, given: object) -> Floats: ...
    def log_probability(self, given: Any = None) -> LogProbability | Floats:
        """The logarithm of the probability of the evidence; -inf where it is impossible.

        A frame or a dataset instead of a mapping gives an array, one value per row: see `log_probabilities`.
        """
        if given is not None and not isinstance(given, Mapping) and is_frame(given):
            return self.log_probabilities(given)
        value = self.prepared.log_partition(self._weighted(given))
        return self._log(value - self._log_total)

    def log_probabilities(self, frame: object, *, threads: int | None = None, progress: bool | None = None) -> Floats:
        """The logarithm of the probability of every row's findings; missing cells are summed out, -inf is impossible.

        >>> import sepset as ss
        >>> rows = {"letter": ["weak", None], "grade": ["A", "B"]}
        >>> np.exp(ss.prepare(ss.datasets.load("student")).log_probabilities(rows)).round(4).tolist()
        [0.0362, 0.2884]
        """
        return self._rows(findings_of(frame, self.model.variables), (), threads, progress)[0]

    def predict(
        self,
        frame: object,
        *,
        targets: VariableLike | Iterable[VariableLike] | None = None,
        on_impossible: OnImpossible = "raise",
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Prediction:
        r"""The posterior $P(Y \mid \mathbf e[m])$ of each target given every row of a frame.

        Columns are findings on the variables of their name, states in their cells; missing cells are unobserved and
        summed out. Targets are predicted from the other columns: their own, like columns of other names, are ignored.

        Args:
            frame: a pandas, polars, Arrow or DuckDB frame, a mapping from names to columns, or a dataset.
            targets: discrete variables; by default those that have no column.
            on_impossible: "raise" names the rows whose findings have probability zero; "null" leaves them empty.
            threads: the number of threads, one per processor by default. Answers do not depend on it.
            progress: whether to show a progress bar; by default in a terminal, when the work is long.

        Cost: one collect pass per row for one target, two for several, in blocks of rows; equal rows are answered once.
        """
        check_action(on_impossible)
        variables = self.model.variables
        positions = default_targets(variables, frame) if targets is None else self._positions(targets)
        asked = discrete_targets(variables, positions)
        findings = findings_of(frame, variables, without=positions)
        log_probability, found = self._rows(findings, positions, threads, progress)
        check_impossible(self.prepared, findings, log_probability, on_impossible)
        probabilities = {v.name: found[i] for v, i in zip(asked, positions, strict=True)}
        source = Source.of(frame)
        return Prediction(asked, log_probability, probabilities, source, method=self.method, guarantees=self._promises)

    def _rows(
        self, findings: EvidenceRows, targets: Sequence[int], threads: int | None, progress: bool | None
    ) -> tuple[Floats, dict[int, Floats]]:
        """Log probabilities of rows, and the targets' posteriors in each."""
        with Bar(progress) as bar:
            found = answer_rows(self.prepared, findings, targets, Workers(threads, bar.report))
        for array in found.probabilities.values():
            array.setflags(write=False)
        return found.log_partition - self._log_total, found.probabilities

    @lazy
    def _log_total(self) -> float:
        """The logarithm of the total weight, which normalizes the weights of an undirected model."""
        if self.prepared.problem.is_normalized:
            return 0.0
        total = self.prepared.log_partition(Evidence())
        if total == -np.inf:
            raise impossible(self.prepared, Evidence())
        return total

    def _log(self, value: float) -> LogProbability:
        guarantee = {"log_partition": self._promises["log_partition"]}
        return LogProbability(float(value), float(value), float(value), method=self.method, guarantees=guarantee)

    def map_assignment(
        self, given: Given = None, *, over: VariableLike | Iterable[VariableLike] | None = None, k: int = 1
    ) -> MapResult:
        """The most probable assignment of `over` (every unobserved variable by default), the rest summed out."""
        whole("k", k, least=1)
        evidence = self._evidence(given)
        observed = set(evidence.observed)
        asked = range(len(self.model.variables)) if over is None else self._positions(over)
        found = k_best(self.prepared, evidence, [v for v in asked if v not in observed], k)
        if found[0].log_value == -np.inf:
            raise impossible(self.prepared, evidence)
        return MapResult(
            tuple(self._assignment(best, asked, evidence, over is not None) for best in found),
            tuple(best.log_value for best in found),
            lambda: self.prepared.log_partition(evidence),
            upper=found[0].log_value,
            method=self.method,
            guarantees={"assignment": self._promises["assignment"]},
        )

    def _assignment(self, best: Best, asked: Iterable[int], evidence: Evidence, fixed: bool) -> dict[str, Any]:
        """States by name; observed variables only if they were asked for."""
        values = {**best.values, **evidence.codes, **evidence.reals} if fixed else best.values
        return {
            self.model.variables[v].name: _readable(self.model.variables[v], values[v]) for v in asked if v in values
        }

    def sample(self, num_rows: int, given: Given = None, *, seed: int | np.random.Generator = 0) -> Dataset:
        """Independent draws of all variables from the posterior, observed ones at their values."""
        variables = self.model.variables
        wide = [v.name for v in variables if isinstance(v, Vector) and v.size > 1]
        if wide:
            raise NotApplicable(
                f"A dataset has one column per variable, and {listing(wide)} are vectors. "
                "Use prepare(model).sample_columns."
            )
        columns = self.sample_columns(num_rows, given, seed=seed)
        if not columns:
            return Dataset.from_codes(variables, np.zeros((num_rows, 0), np.int8))
        return Dataset.from_codes(variables.parts, columns)

    def sample_columns(
        self, num_rows: int, given: Given = None, *, seed: int | np.random.Generator = 0
    ) -> dict[str, AnyArray]:
        """The draws of `sample` as arrays by name: codes, real values, and `[rows, size]` arrays of vectors."""
        whole("num_rows", num_rows, least=0)
        evidence = self._evidence(given)
        if self.prepared.log_partition(evidence) == -np.inf:
            raise impossible(self.prepared, evidence)
        drawn: dict[int, AnyArray] = dict(self.prepared.sample(num_rows, evidence, generator(seed)))
        drawn.update((v, np.full(num_rows, code)) for v, code in evidence.codes.items())
        drawn.update((v, _repeated(value, num_rows)) for v, value in evidence.reals.items())
        return {name: drawn[v] for v, name in enumerate(self.model.variables.names)}

    def plan(
        self, targets: VariableLike | Iterable[VariableLike] = (), given: Given | Iterable[VariableLike] = None
    ) -> Plan:
        """The plan and cost of a query; `given` may be evidence, or only the names of the observed variables."""
        if given is None or isinstance(given, Mapping):
            observed = resolve(given, self.model.variables).observed
        else:
            observed = tuple(sorted(self._positions(given)))
        positions = [v for v in self._positions(targets) if v not in set(observed)]
        return self.prepared.plan(positions, observed)

    def joint_plan(self, targets: VariableLike | Iterable[VariableLike], given: Given = None) -> JointPlan:
        """The plan for a joint from the tree calibrated for this evidence: its merges of cliques and its cost.

        The tree is calibrated; the joint is not computed. If an elimination from scratch is cheaper, the plan says so.

        Reference: El-Hay (2001), chapter 4.

        >>> import sepset as ss
        >>> plan = ss.prepare(ss.datasets.load("student")).joint_plan(["letter", "sat"], given={"grade": "B"})
        >>> plan.route, plan.cost
        ('merging', 10)
        """
        evidence = self._evidence(given)
        positions = [v for v in self._positions(targets) if v not in set(evidence.observed)]
        prepared = self.prepared
        if not prepared.problem.variables.all_discrete or not can(prepared, Calibrates):
            raise NotApplicable(
                "Joints are planned on the clique tree of a discrete model; "
                f"{type(self.method).__name__} has none here. Use plan(...) for what a query costs."
            )
        return prepared.joint_plan(positions, evidence, prepared.calibrate(evidence))

    def observe(self, given: Given) -> Observed:
        """The engine with these findings: an immutable view, calibrated on its first question, that can be extended.

        >>> import sepset as ss
        >>> seen = ss.prepare(ss.datasets.load("asia")).observe({"xray": "yes"})
        >>> [round(view.marginals()["lung"]["yes"], 4) for view in (seen, seen.observe({"smoke": "no"}))]
        [0.4887, 0.1423]
        """
        return Observed(self, given)

    def pairwise_marginals(self, given: Given = None) -> Pairs:
        """The joint of every pair of variables given the evidence, in one sweep over a calibrated tree.

        Reference: El-Hay (2001), chapter 4, for joints across cliques; the sweep over all pairs extends it.
        """
        evidence = self._evidence(given)
        if not can(self.prepared, Calibrates):
            raise NotApplicable(
                f"All pairs come from a calibrated tree; {type(self.method).__name__} has none. Use CliqueTree."
            )
        singles = self.marginals(given)
        names = frozenset(self.model.variables[v].name for v in evidence.observed)
        return Pairs(self.prepared.pairwise_marginals(evidence), singles, names)

    def retracted_marginals(self, given: Given) -> Marginals:
        r"""For every finding, $P(X \mid \mathbf e_{-X})$: its variable given all the *other* findings.

        A finding that is improbable under its own retracted marginal is suspect. If that is cheaper, one calibration
        with the findings on copies of their variables answers for all of them; otherwise one query per finding.

        Reference: Cowell & Dawid (1992), Fast retraction of evidence in a probabilistic expert system.

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> engine.retracted_marginals({"grade": "A", "letter": "weak"})["letter"].values.round(4)
        array([0.1, 0.9])
        """
        evidence = self._evidence(given)
        key = (evidence.observed, tuple(sorted(evidence.weights)))
        make = partial(RetractionTree, self.prepared, *key)
        read = retracted(self.prepared, evidence, lambda: self._retractions.get(key, make))
        place = {self.model.variables[v].name: v for v in evidence.touched}
        return Marginals(place, read, method=self.method, guarantees=self._promises)

    def sensitivity(self, target: VariableLike, state: State, given: Given = None) -> Sensitivity:
        r"""How $P(\text{target} = \text{state} \mid \mathbf e)$ depends on every parameter of every table CPD.

        Each parameter varies alone, the rest of its row in proportion; then the posterior is
        $(a \theta + b) / (c \theta + d)$. Tied parameters are varied one CPD at a time.

        Cost: two forward and two reverse sweeps for any number of parameters.
        Reference: Castillo, Gutierrez & Hadi (1997), Sensitivity analysis in discrete Bayesian networks.

        >>> import sepset as ss
        >>> found = ss.prepare(ss.datasets.load("student")).sensitivity("intelligence", "high", {"grade": "C"})
        >>> str(found[0]), round(found[0].derivative, 4)
        ("P(grade='C' | intelligence='high', difficulty='easy')", 0.4742)
        """
        return parameters.sensitivity(self, target, state, given)

    @lazy
    def _retractions(self) -> Cache[RetractionTree]:
        return Cache(16)

    @lazy
    def _derivatives(self) -> Derivatives:
        return Derivatives(self.prepared.problem, *elimination_settings(self.prepared.method))

    def value_of_information(
        self,
        targets: VariableLike | Iterable[VariableLike],
        candidates: VariableLike | Iterable[VariableLike] | None = None,
        given: Given = None,
    ) -> InformationValues:
        r"""The expected reduction of the targets' entropy by observing each candidate, the most informative first.

        $$I(T; C \mid \mathbf e) = H(T \mid \mathbf e) - E_c\, H(T \mid c, \mathbf e)$$

        Args:
            targets: discrete and unobserved.
            candidates: the variables that could be observed next; by default every other unobserved discrete variable.

        Cost: one calibration for each possible joint state of the targets.
        Reference: Shannon (1948); Heckerman, Horvitz & Middleton (1993) for myopic value of information.

        >>> import sepset as ss
        >>> ss.prepare(ss.datasets.load("asia")).value_of_information("lung", ["xray", "smoke", "asia"]).best
        'xray'
        """
        return information.value_of_information(self, targets, candidates, given)

    def entropy(
        self,
        targets: VariableLike | Iterable[VariableLike],
        given: Given = None,
        *,
        on: VariableLike | Iterable[VariableLike] = (),
    ) -> float:
        r"""$H(\mathbf X \mid \mathbf Z, \mathbf e)$ in nats: of discrete targets, on average over the states of `on`.

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> round(engine.entropy("grade"), 4), round(engine.entropy("grade", on="intelligence"), 4)
        (1.0938, 0.9547)
        """
        return information.entropy(self, targets, given, on)

    def mutual_information(
        self,
        xs: VariableLike | Iterable[VariableLike],
        ys: VariableLike | Iterable[VariableLike],
        given: Given = None,
        *,
        on: VariableLike | Iterable[VariableLike] = (),
    ) -> float:
        r"""$I(\mathbf X; \mathbf Y \mid \mathbf Z, \mathbf e)$ in nats, on average over the states of `on`.

        >>> import sepset as ss
        >>> engine = ss.prepare(ss.datasets.load("student"))
        >>> round(engine.mutual_information("difficulty", "intelligence", {"grade": "C"}), 4)
        0.0123
        """
        return information.mutual_information(self, xs, ys, given, on)

    def conditional(
        self,
        targets: VariableLike | Iterable[VariableLike],
        on: VariableLike | Iterable[VariableLike],
        given: Given = None,
    ) -> Table:
        r"""The table $P(\mathbf X \mid \mathbf Z, \mathbf e)$, axes `(*on, *targets)`; zeros where impossible.

        >>> import sepset as ss
        >>> ss.prepare(ss.datasets.load("student")).conditional("letter", on="sat").values.round(4)
        array([[0.58  , 0.42  ],
               [0.2805, 0.7195]])
        """
        return information.conditional(self, targets, on, given)

    def check(self, given: Given = None, *, seed: int = 0, num_points: int = 20) -> CheckReport:
        r"""The invariants of exact inference, verified on this model; raises `BrokenInvariant` if one fails.

        Running intersection; calibration (neighbors agree on sepsets); $\prod \beta / \prod \mu = \prod \phi$ at drawn
        assignments; the engine's log partition and marginals against the tree's; the gradient
        $\phi\, \partial \log Z / \partial \phi$ against clique marginals; and a total of one for normalized models.

        Args:
            given: evidence to check under.
            num_points: the number of assignments drawn.

        Cost: an explicit table per clique, several times the time of `marginals`.
        Reference: Koller & Friedman, sections 10.1.2 and 10.2.3.

        >>> import sepset as ss
        >>> len(ss.prepare(ss.datasets.load("asia")).check({"xray": "yes"}))
        7
        """
        return invariants.check(self, given, seed, num_points)

    def _evidence(self, given: Given) -> Evidence:
        return resolve_soft(self.prepared, resolve(given, self.model.variables))

    def _weighted(self, given: Given) -> Evidence:
        """Evidence that has a probability; raises for soft evidence, which states a posterior instead."""
        evidence = resolve(given, self.model.variables)
        if evidence.soft:
            names = [self.model.variables[v].name for v in sorted(evidence.soft)]
            raise NotApplicable(
                f"Soft evidence on {listing(names)} fixes a posterior and has no probability of its own. "
                "Use Likelihood for an uncertain observation."
            )
        return evidence

    def _positions(self, targets: VariableLike | Iterable[VariableLike]) -> list[int]:
        if not isinstance(targets, str | Discrete | Vector | Iterable):
            raise ScopeError(f"A variable, its name, or several of them were expected; found {targets!r}.")
        positions = [self.model.variables.id(v) for v in listed(targets)]
        if len(set(positions)) != len(positions):
            twice = next(v for v in positions if positions.count(v) > 1)
            raise ScopeError(f"{self.model.variables[twice].name} is asked for twice. Name each target once.")
        return positions

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the model and the method; preparation is repeated on load."""
        return type(self), (self.model, self.method)

    def __repr__(self) -> str:
        return f"Engine({self.model!r}, {type(self.method).__name__})"


def _readable(variable: Discrete | Vector, value: Any) -> Any:
    if isinstance(variable, Discrete):
        return variable.states[int(value)]
    number = np.asarray(value, dtype=np.float64)
    return float(number.reshape(-1)[0]) if variable.size == 1 else number


def _repeated(value: Floats, num_rows: int) -> Floats:
    rows = np.tile(value, (num_rows, 1))
    return rows[:, 0] if rows.shape[1] == 1 else rows
