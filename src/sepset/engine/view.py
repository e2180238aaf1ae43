"""An engine with findings: an immutable view that is calibrated on its first question and then only read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.display import Shown, Tabulated, html_table, shortened
from sepset.base.frozen import Frozen, fill
from sepset.base.lazy import lazy
from sepset.data.dataset import Dataset
from sepset.engine.jointfindings import JointFindings, has_joints, named_group
from sepset.graphs.pictures.picture import with_picture
from sepset.graphs.pictures.sketch import Sketch, Sketched
from sepset.inference.mapresult import MapResult
from sepset.inference.method import Calibrates, can
from sepset.inference.result import LogProbabilityResult, MarginalsResult, QueryResult
from sepset.inference.treequery.joints import ManyJoints
from sepset.variables.evidence import Evidence, Finding, Given, is_missing, one_row, resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import VariableLike

if TYPE_CHECKING:
    from sepset.engine.blanket import OnImpossible
    from sepset.engine.engine import Engine
    from sepset.engine.information import InformationValues
    from sepset.engine.prediction import Prediction
    from sepset.engine.rowquestions import Targets
    from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult


class View(Frozen, Sketched, Tabulated):
    """A model with findings, calibrated once: each answer is computed when first read, and cached.

    `observe` returns a new view and leaves this one unchanged. Views share the engine, and so its factors and compiled
    programs. If only *values* of the observed variables differ, nothing is planned again, and only what depends on a
    changed value is computed again. If a finding is added or dropped, a plan for the new set of observed variables is
    made once.

    >>> import sepset as ss
    >>> seen = ss.prepare(ss.datasets.load("student")).observe({"grade": "C"})
    >>> round(seen.query("intelligence")["high"], 4)
    0.0789
    >>> round(seen.observe({"sat": "high"}).query("intelligence")["high"], 4)
    0.5783
    """

    __slots__ = ("__dict__", "__weakref__", "engine", "given")
    engine: Engine
    given: Mapping[Any, Finding]

    def __init__(self, engine: Engine, given: Given = None) -> None:
        variables, given = engine.model.variables, one_row(given)
        if has_joints(given):
            single = JointFindings.of(given, variables)  # type: ignore[arg-type]  # as was asked
            resolve(single.given, engine._with_joints(single.groups).known)
        else:
            resolve(given, variables)
        named = {_named(v, variables): finding for v, finding in (() if given is None else given.items())}
        kept = {name: finding for name, finding in named.items() if not is_missing(finding)}
        fill(self, engine=engine, given=MappingProxyType(kept))

    def observe(self, given: Given) -> View:
        """The view with these findings added or changed; None drops one.

        >>> import sepset as ss
        >>> seen = ss.prepare(ss.datasets.load("asia")).observe({"xray": "yes"})
        >>> dict(seen.observe({"smoke": "no", "xray": None}).given)
        {'smoke': 'no'}
        """
        changed = View(self.engine, given).given
        variables = self.engine.model.variables
        given = one_row(given)
        named = {_named(v, variables) for v in (() if given is None else given.keys())}
        kept = {name: finding for name, finding in self.given.items() if name not in named}
        return View(self.engine, {**kept, **changed})

    def marginals(self) -> MarginalsResult:
        """The marginal of every variable; observed ones are point masses."""
        return self._marginals

    @lazy
    def _marginals(self) -> MarginalsResult:
        return self.engine.marginals(given=self.given)

    def query(self, targets: VariableLike | Iterable[VariableLike]) -> QueryResult:
        """The joint distribution of the targets, axes in the order asked.

        After several joints a calibrated tree costs less than one elimination per joint: it is then made once, and
        answers where it is cheaper, across cliques too. `Engine.joint_plan` shows how.
        """
        joints = self._joints
        if joints is None:
            return self.engine.query(targets, given=self.given)
        evidence, positions = self._evidence, self.engine.positions(targets)
        return self.engine._answer(joints.query(evidence.free(positions)), positions, evidence=evidence)

    @lazy
    def _evidence(self) -> Evidence:
        return self.engine.evidence(self.given)

    @lazy
    def _joints(self) -> ManyJoints | None:
        prepared = self.engine.prepared
        if not prepared.problem.variables.all_discrete or not can(prepared, Calibrates) or has_joints(self.given):
            return None
        return ManyJoints(self.engine.prepared, prepared, self._evidence)

    def log_probability(self) -> LogProbabilityResult:
        """The logarithm of the probability of the findings; -inf where they are impossible."""
        return self._log_probability

    @lazy
    def _log_probability(self) -> LogProbabilityResult:
        return self.engine.log_probability(given=self.given)

    def map_assignment(self, *, over: VariableLike | Iterable[VariableLike] | None = None, k: int = 1) -> MapResult:
        """The most probable assignment of `over` (every unobserved variable by default), the rest summed out."""
        return self.engine.map_assignment(given=self.given, over=over, k=k)

    def max_marginals(self) -> MaxMarginalsResult:
        """The largest log value of the joint for every state of every discrete variable."""
        return self.engine.max_marginals(given=self.given)

    def sample(self, num_rows: int, *, seed: int | np.random.Generator = 0) -> Dataset:
        """Independent draws of all variables from the posterior, observed ones at their values."""
        return self.engine.sample(num_rows, given=self.given, seed=seed)

    def predict(
        self,
        data: object,
        *,
        targets: Targets | None = None,
        on_impossible: OnImpossible = "raise",
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Prediction:
        """The posterior of each target given these findings and every row of data; see `Engine.predict`."""
        return self.engine.predict(
            data,
            targets=targets,
            given=self.given,
            on_impossible=on_impossible,
            threads=threads,
            progress=progress,
        )

    def retracted_marginals(self) -> MarginalsResult:
        """For every finding the distribution of its variable given all the other findings."""
        return self.engine.retracted_marginals(given=self.given)

    def value_of_information(
        self,
        targets: VariableLike | Iterable[VariableLike],
        *,
        candidates: VariableLike | Iterable[VariableLike] | None = None,
        costs: Mapping[Any, float] | None = None,
    ) -> InformationValues:
        """How much each unobserved candidate is expected to tell about the targets (per cost), the most first."""
        return self.engine.value_of_information(targets, candidates=candidates, given=self.given, costs=costs)

    def _shown(self) -> Shown:
        found = self.marginals()._shown()
        return found if found.title else found._replace(title="without findings")

    def to_dict(self) -> dict[str, Any]:
        """The marginals given the findings in plain values, as `to_json` writes them."""
        return self.marginals().to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """The marginals given the findings as JSON."""
        return self.marginals().to_json(indent)

    def _sketch(self) -> Sketch:
        from sepset.engine.beliefs import believed

        model = self.engine.model
        plain = Sketch.of(model.variables.names, ())
        return believed(model._sketch() if isinstance(model, Sketched) else plain, [self])

    def _repr_html_(self) -> str:
        return with_picture(html_table(shortened(self._shown())), len(self.engine.model), self)

    def __repr__(self) -> str:
        findings = ", ".join(f"{name}={finding!r}" for name, finding in list(self.given.items())[:6])
        more = f", ... {len(self.given)} findings" if len(self.given) > 6 else ""
        return f"View({self.engine.model!r}; {findings or 'nothing'}{more})"

    def __reduce__(self) -> tuple[object, ...]:
        return View, (self.engine, dict(self.given))


def _named(key: Any, variables: Universe) -> str | tuple[str, ...]:
    """The name of a variable with a finding, or the names of several."""
    return named_group(key, variables) if type(key) is tuple else variables[variables.id(key)].name
