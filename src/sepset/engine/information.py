"""Entropy, mutual information, conditional tables, and the value of further observations, from an engine's answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.axes import BELOW, axes_of, entitle, named_rows
from sepset.base.checks import number, whole
from sepset.base.display import Report, Shown, plain
from sepset.base.entries import Answers
from sepset.base.extras import FrameKind, frame
from sepset.base.membership import without
from sepset.base.text import listing, nearest
from sepset.errors import ArgumentError, NotApplicable, ScopeError
from sepset.factors import information as measures
from sepset.factors.coordinates import columns
from sepset.factors.moments import Gaussian
from sepset.factors.table import Table
from sepset.inference.conflict import impossible
from sepset.inference.documents import about_document, findings_document
from sepset.inference.method import dense
from sepset.inference.result import Result
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.findings import NOTHING_FOUND, Findings
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

if TYPE_CHECKING:
    from sepset.engine.engine import Engine

Names = VariableLike | Iterable[VariableLike]

NEGLIGIBLE = 1e-3
"""The share of the largest reduction below which a candidate is left out of a chart."""

NO_CANDIDATE = "no discrete variable is left to observe"
"""Printed where there is nothing to choose from."""


@dataclass(frozen=True, eq=False)
class InformationValues(Result, Answers[str, float], Report):
    r"""The expected information about the targets from each candidate, in nats, the most informative first.

    $$I(T; C \mid \mathbf e) = H(T \mid \mathbf e) - \sum_c P(c \mid \mathbf e)\, H(T \mid c, \mathbf e)$$

    Attributes:
        targets: the names of the targets.
        entropy: the entropy of the targets given the evidence so far.
        reductions: from candidate to expected reduction.
        costs: the cost of observing each candidate, if costs were given; then candidates are in the order of the
            reduction per cost.
        findings: the evidence.
    """

    targets: tuple[str, ...]
    entropy: float
    _: KW_ONLY
    reductions: Mapping[str, float]
    costs: Mapping[str, float] | None = None
    findings: Findings = field(default=NOTHING_FOUND, kw_only=True, repr=False)

    @property
    def best(self) -> str | None:
        """The first candidate: the most informative one, or per cost; None if there are no candidates."""
        return next(iter(self.reductions), None)

    @property
    def per_cost(self) -> Mapping[str, float]:
        """The expected reduction per unit of cost of each candidate; infinite if it tells something for nothing.

        >>> import sepset as ss
        >>> asia = ss.datasets.load("asia")
        >>> found = ss.value_of_information(asia, "lung", candidates=["xray", "smoke"], costs={"xray": 50.0})
        >>> found.best, round(found.per_cost["xray"], 4)
        ('smoke', 0.0026)
        """
        costs = self.costs or {}
        return {name: _ratio(value, costs.get(name, 1.0)) for name, value in self.reductions.items()}

    @property
    def title(self) -> str:
        """The question, as in `information about lung given dysp=yes`."""
        given = f" given {self.findings}" if self.findings.evidence else ""
        return f"information about {', '.join(self.targets)}{given}"

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per candidate, the first to observe first.

        >>> import sepset as ss
        >>> found = ss.value_of_information(ss.datasets.load("asia"), "lung", candidates=["xray", "smoke"])
        >>> found.to_frame().round(4).values.tolist()
        [['xray', 0.1281, 0.6015], ['smoke', 0.0224, 0.1054]]
        """
        values = list(self.reductions.values())
        columns: dict[str, list[Any]] = {
            "candidate": list(self.reductions),
            "reduction": values,
            "of_entropy": [value / self.entropy if self.entropy > 0 else 0.0 for value in values],
        }
        if self.costs is not None:
            columns |= {"cost": [self.costs[name] for name in self], "per_cost": list(self.per_cost.values())}
        return frame(columns, kind)

    def plot(self, ax: Any = None, *, num_candidates: int = 20) -> Any:
        """The matplotlib axes with a bar for each candidate: its expected reduction, per cost if there are costs.

        Args:
            ax: matplotlib axes.
            num_candidates: the largest number of candidates; those that say next to nothing are left out.
        """
        axes = axes_of(ax)
        least = NEGLIGIBLE * max(filter(math.isfinite, self.per_cost.values()), default=0.0)
        telling = [(name, value) for name, value in self.per_cost.items() if value >= least]
        shown = telling[: whole("num_candidates", num_candidates, least=1)]
        lengths = [value if math.isfinite(value) else 0.0 for _, value in shown]
        axes.barh(range(len(shown)), lengths, color=BELOW)
        named_rows(axes, [name if math.isfinite(value) else f"{name} (free)" for name, value in shown])
        unit = "nats" if self.costs is None else "nats per cost"
        axes.set_xlabel(f"expected reduction of entropy ({unit})")
        entitle(axes, f"{self.title}: {self.entropy:.4g} nats unknown")
        return axes

    def to_dict(self) -> dict[str, Any]:
        """The expected reductions in plain values, as `to_json` writes them."""
        told = {"entropy": self.entropy, "reductions": self.reductions, "costs": self.costs}
        asked = {"targets": list(self.targets), "given": findings_document(self.findings)}
        return {**asked, **plain(told), **about_document(self)}

    def __getitem__(self, key: VariableLike) -> float:
        name = key.name if isinstance(key, Discrete | Vector) else key
        if not isinstance(name, str) or name not in self.reductions:
            raise ScopeError(f"{name!r} is not a candidate.{nearest(name, self.reductions)}")
        return self.reductions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.reductions)

    def __len__(self) -> int:
        return len(self.reductions)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {value:.4g}" for name, value in itertools.islice(self.reductions.items(), 5))
        more = f", ... {len(self)} candidates" if len(self) > 5 else ""
        return f"InformationValues({', '.join(self.targets)}, entropy {self.entropy:.4g}; {shown}{more})"

    def _shown(self) -> Shown:
        best = itertools.islice(self.reductions.items(), 20)
        rows = [(n, f"{v:.6f}", f"{v / self.entropy:.1%}" if self.entropy > 0 else "") for n, v in best]
        title = f"{self.title}: entropy {self.entropy:.4g} nats"
        caption = f"first 20 of {len(self)} candidates" if len(self) > 20 else "" if rows else NO_CANDIDATE
        head = "observe next", "expected reduction", "of entropy"
        if self.costs is None:
            return Shown(head, rows, title, caption)
        ratios = self.per_cost
        priced = [(*row, f"{self.costs[row[0]]:.6g}", f"{ratios[row[0]]:.6g}") for row in rows]
        return Shown((*head, "cost", "per cost"), priced, title, caption)


def _ratio(value: float, cost: float) -> float:
    """The value per cost; at no cost infinity, or zero for what has no value."""
    if cost > 0.0:
        return value / cost
    return math.inf if value > 0.0 else 0.0


def entropy(engine: Engine, targets: Names, given: Given, on: Names) -> float:
    """The entropy of targets given the evidence, and on average given `on`: all discrete, or jointly Gaussian."""
    targets, on = listed(targets), listed(on)
    if (joint := _gaussian(engine, (targets, on), given)) is not None:
        return _differential(engine, joint, targets, given, on)
    xs, zs = _apart(engine, targets, on)
    table = engine.query([*zs, *xs], given=given).distribution
    return float(table.conditional_entropy(xs, zs)) if zs else float(table.entropy())


def mutual_information(engine: Engine, xs: Names, ys: Names, given: Given, on: Names) -> float:
    """The mutual information of two sets of variables given the evidence, and on average given `on`.

    They are all discrete, or jointly Gaussian.
    """
    xs, ys, on = listed(xs), listed(ys), listed(on)
    if (found := _gaussian(engine, (xs, ys, on), given)) is not None:
        alone, told = (_differential(engine, found, xs, given, known) for known in (on, [*ys, *on]))
        return alone - told if alone - told > 1.0 else _dependence(_at_means(found, on), xs)
    first, second, third = _apart(engine, xs, ys, on)
    joint = engine.query([*first, *second, *third], given=given).distribution
    return max(0.0, float(joint.mutual_information(first, second, given=third)))


def conditional(engine: Engine, targets: Names, on: Names, given: Given) -> Table:
    """The table of the targets given `on` and the evidence; rows of impossible conditions are zero."""
    xs, zs = _apart(engine, targets, on)
    joint: Table = engine.query([*zs, *xs], given=given).distribution
    return joint.normalize(over=xs)


def _gaussian(engine: Engine, groups: Sequence[Names], given: Given) -> Gaussian | None:
    """The joint of groups of real variables; None where some of them are discrete."""
    variables = engine.model.variables
    positions = _separate(engine, groups)
    if not positions or any(variables[v].is_discrete for v in positions):
        return None
    joint = engine.query([variables[v] for v in positions], given=given).distribution
    if not isinstance(joint, Gaussian):
        raise NotApplicable(
            "The joint of these continuous variables is a mixture of Gaussians, whose information has no closed form. "
            "Observe the discrete variables that they depend on."
        )
    return joint


def _differential(engine: Engine, joint: Gaussian, targets: Names, given: Given, on: Names) -> float:
    """The entropy of variables of a Gaussian given others, one after the other: a covariance of all may be singular.

    It does not depend on the values of the others, which are taken to be their means.
    """
    total, known = 0.0, dict[Any, Any](given or {}) | _means(joint, on)
    for target in listed(targets):
        own = engine.query(target, given=known).distribution
        assert isinstance(own, Gaussian)  # as the joint is
        total += own.entropy()
        known |= _means(joint, [target])
    return total


def _means(joint: Gaussian, names: Names) -> dict[str, Any]:
    """The means of some variables by name."""
    known = joint.marginal(listed(names))
    return {v.name: mean[0] for v, mean in columns(known.scope, known.mu[None]).items()}


def _at_means(joint: Gaussian, on: Names) -> Gaussian:
    """The Gaussian of the other variables given the means of some."""
    return joint.condition(_means(joint, on))


def _dependence(joint: Gaussian, xs: Names) -> float:
    """The divergence of a Gaussian from one in which some variables do not depend on the others."""
    varying = joint.marginal([v for v in joint.scope if joint.marginal([v]).covariance.any()])
    names = {v if isinstance(v, str) else v.name for v in listed(xs)}
    is_x = np.repeat([v.name in names for v in varying.scope], [v.size for v in varying.scope])
    apart = np.where(is_x[:, None] == is_x, varying.covariance, 0.0)
    return varying.kl(Gaussian(varying.scope, varying.mu, covariance=apart)) if is_x.any() and not is_x.all() else 0.0


def _separate(engine: Engine, groups: Iterable[Names]) -> list[int]:
    """The positions of all variables; raises unless the groups are disjoint."""
    found: list[int] = []
    for group in groups:
        positions = engine.positions(group)
        twice = [engine.model.variables[v].name for v in positions if v in found]
        if twice:
            raise ScopeError(f"{listing(twice)} appear in two groups. Name each variable once.")
        found += positions
    return found


def _apart(engine: Engine, *groups: Names) -> list[list[Discrete]]:
    """The groups as lists of discrete variables; raises unless they are disjoint."""
    _separate(engine, groups)
    variables = engine.model.variables
    return [[_discrete(variables[v]) for v in engine.positions(group)] for group in groups]


def _discrete(variable: Discrete | Vector) -> Discrete:
    if not isinstance(variable, Discrete):
        raise NotApplicable(
            f"Information is measured between discrete variables; {variable.name!r} is continuous. "
            "The differential entropy of one answer is `query(...).entropy()`."
        )
    return variable


def value_of_information(
    engine: Engine, targets: Names, candidates: Names | None, given: Given, costs: Mapping[Any, float] | None = None
) -> InformationValues:
    """The expected reduction of the targets' entropy by each candidate, from one calibration per joint target state."""
    prices = None if costs is None else _prices(engine, costs)
    evidence = engine.evidence(given)
    asked = engine.positions(targets)
    chosen = _candidates(engine, asked, candidates, evidence)
    joint = engine.prepared.query(asked, evidence)
    if joint.log_partition == -np.inf:
        raise impossible(engine.prepared, evidence)
    prior = np.asarray(dense(joint.distribution).values)
    rows = _given_each_state(engine, asked, prior, evidence, chosen)
    weights = prior[prior > 0]
    names = engine.model.variables.names
    values = {names[c]: measures.mutual_information((weights[:, None] * rows[c])[None]) for c in chosen}
    own = None if prices is None else {name: prices.get(name, 1.0) for name in values}
    ratios = values if own is None else {name: _ratio(value, own[name]) for name, value in values.items()}
    ordered = {name: values[name] for name in sorted(values, key=lambda name: (-ratios[name], -values[name]))}
    return InformationValues(
        tuple(names[v] for v in asked),
        measures.entropy(weights),
        reductions=ordered,
        costs=None if own is None else {name: own[name] for name in ordered},
        findings=Findings(resolve(given, engine.known), engine.known),
        method=engine.method,
        guarantees=engine.promises,
    )


def _prices(engine: Engine, costs: Mapping[Any, float]) -> dict[str, float]:
    """The costs by name, which are finite and not negative."""
    if not isinstance(costs, Mapping):
        raise ArgumentError(f"costs= is a mapping from variables to numbers; found {type(costs).__name__}.")
    found: dict[str, float] = {}
    for key, cost in costs.items():
        name = engine.model.variables[engine.model.variables.id(key)].name
        if name in found:
            raise ArgumentError(f"costs= has two costs of {name!r}. Give one.")
        found[name] = number(f"the cost of {name!r}", cost, least=0.0)
    return found


def _observable(engine: Engine) -> set[str]:
    """The variables that can be observed: those that the model's drawing marks, or all if it marks none."""
    marked = engine.model.drawing.observable if isinstance(engine.model, BayesNet) else ()
    return set(engine.model.variables.names).intersection(marked) or set(engine.model.variables.names)


def _candidates(engine: Engine, asked: Sequence[int], candidates: Names | None, evidence: Evidence) -> list[int]:
    variables, observed = engine.model.variables, set(evidence.observed)
    for v in asked:
        _discrete(variables[v])
    known = [variables[v].name for v in asked if v in observed]
    if known or not asked:
        why = f"The target {listing(known)} is observed already." if known else "There is no target."
        raise ScopeError(f"{why} Ask about an unobserved variable.")
    if candidates is None:
        out, own = observed | set(asked), _observable(engine)
        free = (v for v in range(len(variables)) if v not in out and variables[v].name in own)
        return [v for v in free if isinstance(variables[v], Discrete)]
    chosen = engine.positions(candidates)
    names = {v: _discrete(variables[v]).name for v in chosen}
    useless = [names[v] for v in chosen if v in observed or v in asked]
    if useless:
        raise ScopeError(f"{listing(useless)} is observed or a target, and cannot be a candidate. Leave it out.")
    return chosen


def _given_each_state(
    engine: Engine, asked: Sequence[int], prior: Floats, evidence: Evidence, chosen: Sequence[int]
) -> dict[int, Floats]:
    """For each candidate its distribution given each possible joint state of the targets, one per row."""
    rows: dict[int, list[Floats]] = {c: [] for c in chosen}
    weights = {v: evidence.weights[v] for v in without(evidence.weights, asked)}
    for cell in np.argwhere(prior > 0).tolist():
        codes = {**evidence.codes, **dict(zip(asked, cell, strict=True))}
        read, _ = engine.prepared.marginals(Evidence(codes, weights, reals=evidence.reals))
        for c in chosen:
            rows[c].append(np.asarray(dense(read(c)).values))
    return {c: np.array(found) for c, found in rows.items()}
