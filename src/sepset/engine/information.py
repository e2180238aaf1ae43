"""Entropy, mutual information, conditional tables, and the value of further observations, from an engine's answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Shown, Tabulated
from sepset.base.membership import without
from sepset.base.text import listing, nearest
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.inference.conflict import impossible
from sepset.inference.method import dense
from sepset.inference.result import Answers, Result
from sepset.variables.evidence import Evidence, Given
from sepset.variables.variable import Discrete, VariableLike, Vector

if TYPE_CHECKING:
    from sepset.engine.engine import Engine

Names = VariableLike | Iterable[VariableLike]


@dataclass(frozen=True, eq=False)
class InformationValues(Result, Answers[str, float], Tabulated):
    r"""The expected information about the targets from each candidate, in nats, the most informative first.

    $$I(T; C \mid \mathbf e) = H(T \mid \mathbf e) - \sum_c P(c \mid \mathbf e)\, H(T \mid c, \mathbf e)$$

    Attributes:
        targets: the names of the targets.
        entropy: the entropy of the targets given the evidence so far.
        reductions: from candidate to expected reduction.
    """

    targets: tuple[str, ...]
    entropy: float
    reductions: Mapping[str, float]

    @property
    def best(self) -> str | None:
        """The most informative candidate, or None if there are no candidates."""
        return next(iter(self.reductions), None)

    def __getitem__(self, key: VariableLike) -> float:
        name = key.name if isinstance(key, Discrete | Vector) else key
        if name not in self.reductions:
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
        title = f"about {', '.join(self.targets)}: entropy {self.entropy:.4g} nats"
        return Shown(("observe next", "expected reduction", "of entropy"), rows, title)


def entropy(engine: Engine, targets: Names, given: Given, on: Names) -> float:
    """The entropy of discrete targets given the evidence, and on average given `on`."""
    xs, zs = _apart(engine, targets, on)
    joint = engine.query([*zs, *xs], given=given).distribution
    return float(joint.conditional_entropy(xs, zs)) if zs else float(joint.entropy())


def mutual_information(engine: Engine, xs: Names, ys: Names, given: Given, on: Names) -> float:
    """The mutual information of two sets of discrete variables given the evidence, and on average given `on`."""
    first, second, third = _apart(engine, xs, ys, on)
    joint = engine.query([*first, *second, *third], given=given).distribution
    return max(0.0, float(joint.mutual_information(first, second, given=third)))


def conditional(engine: Engine, targets: Names, on: Names, given: Given) -> Table:
    """The table of the targets given `on` and the evidence; rows of impossible conditions are zero."""
    xs, zs = _apart(engine, targets, on)
    joint: Table = engine.query([*zs, *xs], given=given).distribution
    return joint.normalize(over=xs)


def _apart(engine: Engine, *groups: Names) -> list[list[Discrete]]:
    """The groups as lists of discrete variables; raises unless they are disjoint."""
    variables, seen = engine.model.variables, set[int]()
    found: list[list[Discrete]] = []
    for group in groups:
        positions = engine.positions(group)
        twice = [variables[v].name for v in positions if v in seen]
        if twice:
            raise ScopeError(f"{listing(twice)} appear in two groups. Name each variable once.")
        seen.update(positions)
        found.append([_discrete(variables[v]) for v in positions])
    return found


def _discrete(variable: Discrete | Vector) -> Discrete:
    if not isinstance(variable, Discrete):
        raise NotApplicable(
            f"Information is measured between discrete variables; {variable.name!r} is continuous. "
            "The differential entropy of one answer is `query(...).entropy()`."
        )
    return variable


def value_of_information(engine: Engine, targets: Names, candidates: Names | None, given: Given) -> InformationValues:
    """The expected reduction of the targets' entropy by each candidate, from one calibration a joint target state."""
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
    values = {names[c]: _information(weights, rows[c]) for c in chosen}
    ordered = dict(sorted(values.items(), key=lambda item: -item[1]))
    about = tuple(names[v] for v in asked)
    return InformationValues(about, _entropy(weights), ordered, method=engine.method, guarantees=engine.promises)


def _candidates(engine: Engine, asked: Sequence[int], candidates: Names | None, evidence: Evidence) -> list[int]:
    variables, observed = engine.model.variables, set(evidence.observed)
    for v in asked:
        _discrete(variables[v])
    known = [variables[v].name for v in asked if v in observed]
    if known or not asked:
        why = f"The target {listing(known)} is observed already." if known else "There is no target."
        raise ScopeError(f"{why} Ask about an unobserved variable.")
    if candidates is None:
        out = observed | set(asked)
        return [v for v in range(len(variables)) if v not in out and isinstance(variables[v], Discrete)]
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
        read, _ = engine.prepared.marginals(Evidence(codes, weights, {}, evidence.reals))
        for c in chosen:
            rows[c].append(np.asarray(dense(read(c)).values))
    return {c: np.array(found) for c, found in rows.items()}


def _information(weights: Floats, rows: Floats) -> float:
    r"""$\sum_t P(t)\, KL(P(C \mid t) \,\|\, P(C))$, clipped at zero, since rounding may leave it slightly negative."""
    joint = weights[:, None] * rows
    mixture = np.broadcast_to(joint.sum(axis=0), joint.shape)
    found = joint > 0.0  # products that underflow contribute nothing
    return max(0.0, float(joint[found] @ (np.log(rows[found]) - np.log(mixture[found]))))


def _entropy(weights: Floats) -> float:
    return max(0.0, float(-(weights * np.log(weights)).sum()))
