"""A model with a method prepared for it: names become positions, findings become evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sepset.base.cache import Cache
from sepset.base.foreign import often
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing
from sepset.engine.default import DEFAULT_METHOD
from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.inference.conflict import impossible
from sepset.inference.method import Method, Portable, Prepared, TakesWholeFactors, can, prepare
from sepset.inference.result import Guarantee, Guarantees
from sepset.models.model import MODEL_MEMBERS, Model, NamedModel, offers
from sepset.problem import Problem
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

if TYPE_CHECKING:
    from sepset.factors.moments import Gaussian


class Bound:
    """A model bound to a method: the shared part of all that is asked of an engine.

    Attributes:
        model: the model.
        method: the settings of the method; clique trees where none is named.
        prepared: the method bound to the problem of the model, in which variables are positions.
        promises: what its answers about this model guarantee.
        known: the variables that findings are on: those of the model, then one for each joint with a finding.
        joints: the members of each joint, by the position of its variable.
    """

    def __init__(self, model: Model, method: Method | None = None, *, prepared: Prepared | None = None) -> None:
        if not (can(model, NamedModel) or offers(model, *MODEL_MEMBERS)):
            raise ModelError(f"Questions are asked of a model; found {brief(model)}. {remedy(model)}")
        chosen = DEFAULT_METHOD if method is None else method
        if not (can(chosen, Method) or offers(chosen, "prepare", "promises")):
            raise ArgumentError(
                f"method= takes a method such as CliqueTree(); found {brief(method)}.{_searches(method)}"
            )
        self.model: Model = model
        self.method: Method = chosen
        problem = _problem(model, chosen)
        self.prepared: Prepared = prepare(chosen, problem) if prepared is None else prepared
        self.promises: Guarantees = dict(chosen.promises(problem))
        self.known: Universe = model.variables
        self.joints: Mapping[int, tuple[int, ...]] = {}

    @property
    def is_exact(self) -> bool:
        """Whether probabilities of findings, and with them posteriors of discrete variables, are exact."""
        return self.promises["log_partition"] is Guarantee.EXACT

    @often
    def evidence(self, given: Given) -> Evidence:
        """The findings by position, soft ones as the weights that give the posteriors they ask for."""
        found = resolve(given, self.known)
        if not found.soft:
            return found
        from sepset.inference.diagnosis.soft import resolve_soft

        return resolve_soft(self.prepared, found)

    @often
    def weighted_evidence(self, given: Given) -> Evidence:
        """Evidence that has a probability, which soft evidence does not: it says what a posterior will be."""
        evidence = resolve(given, self.known)
        if evidence.soft:
            names = [self.known[v].name for v in sorted(evidence.soft)]
            raise NotApplicable(
                f"Soft evidence on {listing(names)} fixes a posterior and has no probability of its own. "
                "Use Likelihood for an uncertain observation."
            )
        return evidence

    def _with_joints(self, groups: tuple[tuple[int, ...], ...]) -> Self:
        """The same engine, with one more variable for findings on each group of variables."""

        def extended() -> Any:
            from sepset.engine.jointfindings import with_joint_variables

            problem = with_joint_variables(self.prepared.problem, groups)
            made = type(self)(self.model, self.method, prepared=prepare(self.method, problem))
            made.known = Universe(problem.variables[: problem.num_visible])
            made.joints = dict(enumerate(groups, start=len(self.model.variables)))
            return made

        found: Self = self._extended.get(groups, extended)
        return found

    @lazy
    def _extended(self) -> Cache[Any]:
        return Cache(4)

    @often
    def positions(self, targets: VariableLike | Iterable[VariableLike]) -> list[int]:
        """The positions of variables, each named at most once."""
        if type(targets) is str:
            return [self.model.variables.id(targets)]
        return positions_of(self.model, targets)

    def _point(self, position: int, evidence: Evidence) -> Factor | Gaussian:
        """The point mass of an observed variable at its value."""
        variable = self.model.variables[position]
        if isinstance(variable, Discrete):
            return Table.indicator(variable, variable.states[evidence.codes[position]])
        from sepset.factors.moments import Gaussian

        value = evidence.reals[position]
        return Gaussian((variable,), value, covariance=np.zeros((len(value), len(value))))

    @lazy
    def log_total(self) -> float:
        """The logarithm of the total weight, by which an undirected model's weights become probabilities."""
        if self.prepared.problem.is_normalized:
            return 0.0
        total = self.prepared.log_partition(Evidence())
        if total == -np.inf:
            raise impossible(self.prepared, Evidence())
        return total

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled with its plans and programs if the method has them to send, so that a worker need not make them."""
        prepared = self.prepared.portable() if can(self.prepared, Portable) else None
        return _revived, (type(self), self.model, self.method, prepared)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {type(self.method).__name__})"


def _problem(model: Model, method: Method) -> Problem:
    """The normal form that a method takes."""
    if can(method, TakesWholeFactors) and isinstance(model, NamedModel):
        return model.as_written()
    return model.problem()


def _revived(kind: type[Bound], model: Model, method: Method, prepared: Prepared | None) -> Bound:
    return kind(model, method, prepared=prepared)


def positions_of(model: Model, targets: VariableLike | Iterable[VariableLike]) -> list[int]:
    """The positions of a model's variables, each named at most once."""
    if not isinstance(targets, str | Discrete | Vector | Iterable):
        raise ScopeError(f"A variable, its name, or several of them were expected; found {targets!r}.")
    positions = [model.variables.id(v) for v in listed(targets)]
    if len(set(positions)) != len(positions):
        twice = next(v for v in positions if positions.count(v) > 1)
        raise ScopeError(f"{model.variables[twice].name} is asked for twice. Name each target once.")
    return positions


def _searches(method: object) -> str:
    """A word on methods that only search for assignments."""
    return " It finds assignments: use map_assignment(model, method=...)." if offers(method, "assign") else ""


FROM_WHERE = "Build one, fit one, or read a file: ss.read(path); networks that come along: ss.datasets.load(name)."
"""Where models come from."""


def remedy(found: Any) -> str:
    """The advice where a model was expected: a fit has one, other objects do not."""
    own = getattr(found, "model", None)
    return "Use its .model." if isinstance(own, NamedModel) else FROM_WHERE
