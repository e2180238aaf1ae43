r"""The CPD protocol: the operations of any conditional distribution $P(X \mid \mathbf U)$.

A CPD knows its child and its parents, draws the child given its parents, and *produces* factors:

$$\sum_{\mathbf a} \prod_i \phi_i(x, \mathbf u, \mathbf a) = P(x \mid \mathbf u),$$

where the auxiliaries $\mathbf a$ are hidden variables of a decomposition. It is learned from additive
statistics, pooled over all CPDs with the same `ParameterBlock`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.display import Plain, Worded, plain
from sepset.base.frozen import changed
from sepset.cpds.parameters import AnyParameters
from sepset.errors import ModelError
from sepset.factors.algebra import AnyVariable, Columns, Factor, Scope
from sepset.factors.decomposition import Decomposition
from sepset.variables.variable import Discrete, State, Vector


@dataclass(frozen=True, slots=True)
class ParameterBlock:
    """The name of a set of parameters; CPDs with equal blocks share theirs.

    >>> ParameterBlock("weather") == ParameterBlock("weather")
    True
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"A parameter block's name is a non-empty string; found {self.name!r}.")

    @classmethod
    def of(cls, block: ParameterBlock | str | None, child: AnyVariable) -> ParameterBlock:
        """The block itself, the block of that name, or by default the block named after the child.

        >>> ParameterBlock.of(None, Discrete("grade"))
        ParameterBlock(name='grade')
        """
        if isinstance(block, ParameterBlock):
            return block
        return cls(child.name if block is None else block)


@dataclass(frozen=True, slots=True)
class ContextIndependence(Worded, Plain):
    r"""A context $\mathbf c$, and the parents $\mathbf Y$ that drop out in it.

    $$P(x \mid \mathbf c, \mathbf y, \mathbf z) = P(x \mid \mathbf c, \mathbf z)$$

    Reference: Koller & Friedman, section 5.3.

    >>> ContextIndependence({"selector": 0}, (Discrete("b"),)).irrelevant
    (Discrete('b', (0, 1)),)
    """

    context: Mapping[str, State]
    irrelevant: tuple[Discrete, ...]

    def to_dict(self) -> dict[str, Any]:
        """The states of the context and the names of the parents, as `to_json` writes them."""
        return {"context": plain(self.context), "irrelevant": [v.name for v in self.irrelevant]}

    def __str__(self) -> str:
        given = ", ".join(f"{name}={state!r}" for name, state in self.context.items())
        return f"given {given}: {', '.join(v.name for v in self.irrelevant)} irrelevant"


@runtime_checkable
class CPD(Protocol):
    r"""A conditional distribution $P(X \mid \mathbf U)$ of one child given its parents."""

    @property
    def child(self) -> AnyVariable:
        """The variable $X$."""

    @property
    def parents(self) -> Scope:
        r"""The variables $\mathbf U$ it is conditioned on."""

    @property
    def scope(self) -> Scope:
        """The parents, then the child."""

    @property
    def block(self) -> ParameterBlock:
        """The name of its parameters; CPDs with equal blocks share them."""

    @property
    def num_parameters(self) -> int:
        """The number of free parameters."""

    @property
    def parameters(self) -> AnyParameters:
        """The parameters, with all operations that learning needs."""

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The hidden variables that `factors` introduces, to be summed out."""

    def factors(self) -> tuple[Factor, ...]:
        """Factors whose product, summed over `auxiliaries`, is the conditional distribution."""

    def decomposition(self) -> Decomposition | None:
        """The factors that serve whatever is observed; None if they are too large, so that evidence comes first."""

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> AnyArray:
        """A draw of the child for each row of its parents."""

    def log_probability(self, rows: Columns) -> Floats:
        """The log probability (density) of the child given its parents, one value per row."""

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` on which the child does not depend in that context."""

    def statistics(self, codes: Columns, weights: Floats | None = None) -> Any:
        """Sufficient statistics of complete rows; those of two sets of rows add up with `+`."""

    def from_statistics(self, stats: Any, prior: Any = None) -> Self:
        """The CPD of this form and block, estimated from statistics and a prior."""


T = TypeVar("T", bound=CPD)


def with_block(cpd: T, block: ParameterBlock) -> T:
    """The same CPD with another name for its parameters."""
    return changed(cpd, block=block)


class RealChild:
    """The scope of a CPD of a real child, with discrete and real parents.

    Attributes:
        child: the variable.
        given: its real parents.
        by: its discrete parents.
    """

    __slots__ = ()

    child: Vector
    given: tuple[Vector, ...]
    by: tuple[Discrete, ...]

    @property
    def parents(self) -> tuple[AnyVariable, ...]:
        """The discrete parents, then the real ones."""
        return (*self.by, *self.given)

    @property
    def scope(self) -> tuple[AnyVariable, ...]:
        """The parents, then the child."""
        return (*self.parents, self.child)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """An empty tuple: the density itself is the factor, if there is one."""
        return ()
