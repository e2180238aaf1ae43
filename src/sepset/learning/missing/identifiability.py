r"""Information of data about parameters: the rank of the map from parameters to the distribution of what is observed.

$$\theta \mapsto P(\mathbf Y), \qquad J = \frac{\partial P(\mathbf Y)}{\partial \theta}$$

Where $J$ has full column rank, nearby parameters have other distributions: $\theta$ is locally identifiable. Otherwise
the rank is the effective dimension of the model, and along the null space of $J$ the likelihood is flat however many
rows there are. Labels of hidden states can always be exchanged, so that with them nothing is identifiable globally.

Reference: Koller & Friedman, section 19.1.4; Geiger, Heckerman & Meek (1996) for the rank.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import Seed, generator, number, one_of
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.lazy import lazy
from sepset.base.memory import machine_memory
from sepset.base.text import brief, listing, readable
from sepset.cpds.cpd import CPD
from sepset.data.missingness import MissingPatternsResult
from sepset.engine.engine import Engine
from sepset.errors import ModelError, NotApplicable, ScopeError, TooLarge
from sepset.factors.algebra import num_entries
from sepset.factors.labels import name_of
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.learning.blocks import blocks_of, with_shared
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete, VariableLike, Vector

Observed: TypeAlias = Iterable[VariableLike] | Iterable[Iterable[VariableLike]] | MissingPatternsResult

OUTCOMES = 4096
"""Up to this many joint states of what is observed are all looked at; of more, a sample."""

ENTRIES = 2**22
"""The largest table of a CPD whose parameters are varied."""

NEGLIGIBLE = 1e-10
"""Singular values below this share of the largest are zero."""

VISIBLE = 1e-5
"""A parameter with a larger part in the null space is not identified."""


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiabilityReport(Assessment):
    """Which parameters of a network its observable part determines, near a point.

    Attributes:
        parameters: the names of the free parameters.
        effective_dimension: the rank of the Jacobian.
        singular_values: those of the Jacobian, largest first: how clear the rank is.
        null_space: directions along which nothing observable changes, one row each.
        label_switching: how many ways hidden states can be relabeled.
        hidden: the variables that are never observed.
        guarantees: EXACT for the rank where all joint states were looked at; a LOWER_BOUND from a sample.
    """

    parameters: tuple[str, ...]
    effective_dimension: int
    _: KW_ONLY
    singular_values: Floats
    null_space: Floats
    label_switching: int
    hidden: tuple[str, ...]

    @property
    def num_parameters(self) -> int:
        """The number of free parameters."""
        return len(self.parameters)

    @property
    def is_exact(self) -> bool:
        """Whether all joint states were looked at."""
        return self.guarantees["rank"] is Guarantee.EXACT

    @property
    def deficiency(self) -> int:
        """How many dimensions of the parameters leave no trace."""
        return self.num_parameters - self.effective_dimension

    @property
    def is_locally_identifiable(self) -> bool:
        """Whether all nearby parameters have other observable distributions."""
        return self.deficiency == 0

    @property
    def unidentified(self) -> tuple[str, ...]:
        """The parameters that can change without a trace, together with others."""
        part = np.sqrt((self.null_space**2).sum(axis=0))
        return tuple(itertools.compress(self.parameters, part > VISIBLE))

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "free parameters", str(self.num_parameters)
        yield (
            "effective dimension",
            f"{self.effective_dimension}{'' if self.is_exact else ' (at least; from a sample)'}",
        )
        yield "locally identifiable", "yes" if self.is_locally_identifiable else f"no, {self.deficiency} too many"
        if self.unidentified:
            yield "not identified", listing(self.unidentified).replace('"', "")
        if self.hidden:
            yield "never observed", listing(self.hidden)
            yield "relabelings", f"{self.label_switching} (equal likelihood; never identified globally)"

    def __repr__(self) -> str:
        return (
            f"IdentifiabilityReport({self.effective_dimension} of {self.num_parameters} dimensions, "
            f"{self.label_switching} labelings)"
        )

    def _shown(self) -> Shown:
        return Shown((), list(self._facts()), "Identifiability")


@dataclass(frozen=True, eq=False)
class FreeParameters:
    r"""The free parameters of a network of discrete CPDs, in the order of its blocks, and derivatives by them.

    With $g$ the derivative of $P(\mathbf y)$ by the entries of a CPD's table, exact from one forward and one reverse
    sweep, the chain rule through the CPD's own parameters gives the rest.

    Args:
        model: the network.

    >>> from sepset.cpds.table import TableCPD
    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], given=a))
    >>> FreeParameters(net).names
    ('P(a=0)', 'P(b=0 | a=0)', 'P(b=0 | a=1)')
    """

    model: BayesNet

    @lazy
    def _blocks(self) -> list[tuple[CPD, ...]]:
        return [cpds for cpds in blocks_of(self.model).values() if len(cpds[0].parameters.names)]

    @lazy
    def names(self) -> tuple[str, ...]:
        """The name of each parameter: a conditional probability, a contribution, or a weight."""
        return tuple(name for cpds in self._blocks for name in cpds[0].parameters.names)

    @lazy
    def values(self) -> Floats:
        """The parameters of the model."""
        return np.concatenate([np.zeros(0), *(cpds[0].parameters.values for cpds in self._blocks)])

    def __len__(self) -> int:
        return len(self.names)

    def moved(self, step: Floats) -> BayesNet | None:
        """The network with its parameters moved; None where a probability would leave [0, 1]."""
        sizes = [len(cpds[0].parameters.names) for cpds in self._blocks]
        made: list[CPD] = []
        for cpds, part in zip(self._blocks, np.split(step, np.cumsum(sizes))[:-1], strict=True):
            first = cpds[0].parameters.moved(part)
            if first is None:
                return None
            made += with_shared(cpds, first)
        return self.model.with_cpds(*made)

    def random(self, rng: np.random.Generator) -> BayesNet:
        """The network with random parameters, away from zero."""
        firsts = ((cpds, cpds[0].parameters.random(rng, interior=True)) for cpds in self._blocks)
        return self.model.with_cpds(*(cpd for cpds, first in firsts for cpd in with_shared(cpds, first)))

    @lazy
    def _engine(self) -> Engine:
        for cpd in self.model.cpds:
            size = num_entries(cpd.scope)
            if size > ENTRIES:
                raise TooLarge(
                    f"The derivative by the parameters of {name_of(cpd)} goes through a table of {float(size):.3g} "
                    "entries; "
                    f"at most {ENTRIES:,} are allowed. Give it fewer parents."
                )
        tables = BayesNet(*(cpd.to_table() for cpd in self.model.cpds))  # type: ignore[attr-defined]  # discrete
        return Engine(tables)

    @lazy
    def _factor(self) -> dict[str, int]:
        return {cpd.child.name: number for number, cpd in enumerate(self.model.cpds)}

    def gradient(self, codes: dict[int, int], *, power: float = 0.0) -> tuple[float, Floats]:
        r"""$\log P(\mathbf y)$, and $\partial P(\mathbf y) / \partial \theta$ over $P(\mathbf y)$ to some power.

        Args:
            codes: $\mathbf y$ by position.
            power: 0 for the derivative itself, 1 for that of the logarithm; 0 is used where $P(\mathbf y) = 0$.
        """
        found = self._engine.derivatives.gradient(Evidence(codes))
        reference = power * found.log_partition if found.log_partition > -np.inf else 0.0
        parts = [np.zeros(0)]
        for cpds in self._blocks:
            total = np.zeros(len(cpds[0].parameters.names))
            for cpd in cpds:
                entries = found.relative(self._factor[cpd.child.name], reference)
                if entries is not None:
                    total += cpd.parameters.table_slope(entries.reshape(-1))
            parts.append(total)
        return found.log_partition, np.concatenate(parts)


@translated
def identifiability(
    model: BayesNet,
    observed: Observed,
    *,
    at: Literal["random", "model"] = "random",
    seed: Seed = 0,
) -> IdentifiabilityReport:
    r"""Which parameters can be learned when only some variables are observed.

    Args:
        model: any discrete CPDs, each with the parameters it really has (functions have none): cells of tables, trees
            and rules, contributions of noisy-or and noisy-max, weights of logistic CPDs; tied ones count once.
        observed: the variables that are observed; several sets, where rows observe different ones; or the table of
            missingness patterns of data.
        at: "random" parameters, where the rank is that of almost all; or those of the "model", where it can be less.
        seed: a number or a generator, for random parameters.

    Cost: one forward and one reverse sweep for each joint state of what is observed, or of a sample of them.
    Reference: Koller & Friedman, definitions 19.4 and 19.5.
    Guarantee: exact rank at a point; lower bound beyond 4,096 outcomes.
    Tested by: learning/missing/test_identifiability.py::test_a_hidden_cause_needs_three_children

    >>> from sepset.cpds.table import TableCPD
    >>> h, a, b = Discrete("h"), Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(h, [0.4, 0.6]), *(TableCPD(x, [[0.7, 0.3], [0.2, 0.8]], given=h) for x in (a, b)))
    >>> identifiability(net, ["a", "b"])
    IdentifiabilityReport(3 of 5 dimensions, 2 labelings)
    """
    one_of("at", at, ("random", "model"))
    sets = _sets(model, observed)
    _check_size(model, sets)
    rng = generator(seed)
    own = FreeParameters(model)
    point = own if at == "model" else FreeParameters(own.random(rng))
    outcomes, is_exact = _outcomes(point, sets, rng)
    jacobian = np.array([point.gradient(y, power=0.5 if is_exact else 1.0)[1] for y in outcomes])
    values, null = _rank(jacobian.reshape(len(outcomes), len(own)))
    hidden = [v.name for i, v in enumerate(model.variables) if not any(i in s for s in sets)]
    cards = {v.name: int(card) for v, card in zip(model.variables, model.variables.cards, strict=True)}
    switches = math.prod([math.factorial(cards[name]) for name in hidden if can_switch(model, name)])
    return IdentifiabilityReport(
        own.names,
        len(own) - len(null),
        singular_values=values,
        null_space=null,
        label_switching=switches,
        hidden=tuple(hidden),
        guarantees={"rank": Guarantee.EXACT if is_exact else Guarantee.LOWER_BOUND},
    )


@translated
def equivalent_neighbor(model: BayesNet, observed: Observed, *, distance: float = 0.01, seed: Seed = 0) -> BayesNet:
    r"""Another network with the same distribution of what is observed, near this one: a step along the ridge.

    A step in the null space of $J$, then Gauss-Newton steps $-J^+ (P' - P)$ back to the distribution.

    Args:
        model: as for `identifiability`.
        observed: as for `identifiability`; few enough joint states to look at all of them.
        distance: the length of the step in the space of free parameters.
        seed: decides the direction.

    Reference: Koller & Friedman, section 19.1.4.
    Guarantee: same observable distribution.
    Tested by: learning/missing/test_identifiability.py::test_the_explicit_neighbor

    >>> from sepset.cpds.table import TableCPD
    >>> h, x = Discrete("h"), Discrete("x")
    >>> net = BayesNet(TableCPD(h, [0.5, 0.5]), TableCPD(x, [[0.8, 0.2], [0.2, 0.8]], given=h))
    >>> other = equivalent_neighbor(net, ["x"], distance=0.1)
    >>> round(float(other.cpd("h").values @ other.cpd("x").values[:, 0]), 9)
    0.5
    """
    rng, length = generator(seed), number("distance", distance, above=0)
    sets = _sets(model, observed)
    _check_size(model, sets)
    point = FreeParameters(model)
    outcomes, is_exact = _outcomes(point, sets, rng)
    if not is_exact:
        raise NotApplicable(f"What is observed has more than {OUTCOMES} joint states; observe fewer variables.")
    target, jacobian = _map(point, outcomes)
    null = _rank(jacobian)[1]
    if not len(null):
        raise ModelError("The parameters are locally identifiable: no neighbor has the same observable distribution.")
    direction = rng.standard_normal(len(null)) @ null
    moved = point.moved(length * direction / np.linalg.norm(direction))
    for _ in range(50):
        if moved is None:
            raise ModelError(f"A step of {distance} leaves the space of probabilities. Take a smaller distance.")
        here = FreeParameters(moved)
        values, slope = _map(here, outcomes)
        if np.abs(values - target).max() <= 1e-14:
            break
        moved = here.moved(-np.linalg.pinv(slope, rcond=NEGLIGIBLE) @ (values - target))
    assert moved is not None
    return moved


def _map(point: FreeParameters, outcomes: Sequence[dict[int, int]]) -> tuple[Floats, Floats]:
    """The probabilities of the outcomes, and their derivatives."""
    found = [point.gradient(y) for y in outcomes]
    return np.exp([log for log, _ in found]), np.array([slope for _, slope in found]).reshape(len(outcomes), len(point))


def _sets(model: BayesNet, observed: Observed) -> list[tuple[int, ...]]:
    """The sets of positions that rows observe together."""
    listed: list[Any]
    if isinstance(observed, MissingPatternsResult):
        listed = [observed.observed_names(i) for i in range(len(observed))]
    else:
        listed = [observed] if isinstance(observed, str) else list(observed)
    single = all(isinstance(item, str | Discrete | Vector) for item in listed)
    groups = [listed] if single else listed
    if not all(isinstance(group, Iterable) for group in groups):
        raise ScopeError(f"observed= names variables, or several sets of them; found {brief(listed)}.")
    return list(dict.fromkeys(tuple(sorted({model.variables.id(v) for v in group})) for group in groups))


def _check_size(model: BayesNet, sets: Sequence[tuple[int, ...]]) -> None:
    """Raise if the Jacobian, and the square matrix of its singular vectors, do not fit in memory."""
    number, room = model.num_parameters, machine_memory()
    rows = min(_num_outcomes(model, sets), 2 * _num_drawn(number, sets))
    need = 8 * number * (rows + number)
    if need > room:
        raise TooLarge(
            f"The derivatives of {rows:,} outcomes by {number:,} parameters need about {readable(need)}, more memory "
            f"than is available ({readable(room)}). Ask about a smaller network."
        )


def _num_outcomes(model: BayesNet, sets: Sequence[tuple[int, ...]]) -> int:
    """The number of joint states of all sets."""
    return sum(math.prod(model.variables.cards[list(members)].tolist()) for members in sets)


def _num_drawn(num_parameters: int, sets: Sequence[tuple[int, ...]]) -> int:
    """The number of rows drawn at the parameters, and again of those drawn uniformly: as many for each set."""
    return len(sets) * -(-(2 * num_parameters + 50) // len(sets)) if sets else 0


def _outcomes(
    point: FreeParameters, sets: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> tuple[list[dict[int, int]], bool]:
    """All joint states of each set, or a sample of them."""
    cards = [int(card) for card in point.model.variables.cards]
    if _num_outcomes(point.model, sets) <= OUTCOMES:
        return [
            dict(zip(s, states, strict=True))
            for s in sets
            for states in itertools.product(*(range(cards[v]) for v in s))
        ], True
    num_rows = _num_drawn(len(point), sets)
    likely = point.model.sample(num_rows, rng).matrix()
    spread = rng.integers(0, cards, (num_rows, len(cards)))  # rare contexts are met as often as others
    pairs = itertools.chain.from_iterable(zip(itertools.cycle(sets), rows, strict=False) for rows in (likely, spread))
    drawn = {tuple((v, int(row[v])) for v in s): None for s, row in pairs}
    return [dict(y) for y in drawn], False


def _rank(jacobian: Floats) -> tuple[Floats, Floats]:
    """The singular values, and a basis of the null space."""
    if not jacobian.size:
        return np.zeros(0), np.eye(jacobian.shape[1])
    _, values, right = np.linalg.svd(jacobian, full_matrices=True)
    rank = int((values > NEGLIGIBLE * values[0]).sum()) if values[0] > 0 else 0
    return values, right[rank:]


def can_switch(model: BayesNet, name: str) -> bool:
    """Whether the states of a hidden variable can be renamed in all CPDs that mention them."""
    variable = model.variables.named(name)
    cpds = [model.cpd(name), *(model.cpd(child) for child in model.children(name))]
    blocks = [cpd.block for cpd in model.cpds]
    return all(cpd.parameters.relabels(variable) and blocks.count(cpd.block) == 1 for cpd in cpds)
