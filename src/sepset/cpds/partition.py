r"""Partition CPDs: contexts grouped into parts, with one multinomial per part."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.display import Shown
from sepset.base.frames import without_labels
from sepset.base.frozen import fill
from sepset.cpds.contexts import shown_parts
from sepset.cpds.counts import joint_codes
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import DiscreteCPD, check_rows, discrete_scope
from sepset.cpds.multinomials import Rows
from sepset.cpds.registry import Fields, registered
from sepset.errors import ModelError, ScopeError
from sepset.factors.algebra import Columns, Scope, check_size, num_entries
from sepset.factors.labels import name_of
from sepset.variables.matching import Match, state_order
from sepset.variables.variable import Discrete


@registered("partition")
class PartitionCPD(DiscreteCPD):
    r"""A CPD in which contexts of one part share one distribution: $P(x \mid \mathbf u) = \theta^{k(\mathbf u)}_x$.

    Several CPDs with the same block share their parts too, whatever their parents: part $k$ of one is part $k$ of the
    other. If every context is a part of its own, this is a table.

    Args:
        child: the variable $X$.
        parts: the index of each context's part, shaped like the parents' states (or flat); or a mapping from the
            parents' states (a tuple, or one bare state for one parent) to indices.
        distributions: $\theta$, one row per part.
        given: the parents, a variable or a sequence of them.
        block: the parameters it uses; by default its own, named after the child.

    Reference: Koller & Friedman, section 17.5.2.
    Guarantee: exact.
    Tested by: cpds/test_partition.py::test_contract

    >>> a, b, x = Discrete("a"), Discrete("b"), Discrete("x")
    >>> cpd = PartitionCPD(x, [[0, 0], [0, 1]], distributions=[[0.9, 0.1], [0.2, 0.8]], given=(a, b))
    >>> cpd, cpd.num_parameters, cpd.to_table()[1, 0]
    (PartitionCPD(x[2] | a[2], b[2]), 2, array([0.9, 0.1]))
    """

    __slots__ = ("distributions", "parts")
    parts: Ints
    distributions: Floats

    def __init__(
        self,
        child: Discrete,
        parts: ArrayLike | Mapping[Any, int],
        *,
        distributions: ArrayLike,
        given: Discrete | Iterable[Discrete] = (),
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, given, block)
        check_size(self.parents)
        rows = np.array(without_labels(distributions, "distributions of parts"), dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != child.num_states or not len(rows):
            raise ModelError(f"{self!r} needs rows of {child.num_states} probabilities; found the shape {rows.shape}.")
        fill(self, parts=_checked_parts(self, parts, len(rows)), distributions=rows)
        check_rows(rows, self, self.parameters.describe_context)

    def _shown(self) -> Shown:
        """The parts with their contexts; without parents a table."""
        if not self.parents:
            return super()._shown()
        return shown_parts(self.label, self.child, self.parents, self.parts, self.distributions)

    @property
    def num_parameters(self) -> int:
        """One less than the child's states, for each part."""
        return len(self.distributions) * (self.child.num_states - 1)

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return self.distributions, self.parts[joint_codes(rows, self.parents, num_rows, self)]

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it: exact, by comparing rows."""
        return self.to_table().irrelevant(context)

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        rows = fields["rows"].array((-1, child.num_states))
        return cls(child, fields["parts"].wholes(), distributions=rows, given=parents, block=block)

    @property
    def parameters(self) -> PartitionRows:
        """The rows of the parts, with all operations that learning needs."""
        return PartitionRows(self)


@dataclass(frozen=True, eq=False, repr=False)
class PartitionRows(Rows[PartitionCPD]):
    r"""The rows of the parts: $\theta^k_x$, with counts $\check M_k[x]$.

    Reference: Koller & Friedman, equation 17.21.
    """

    @property
    def form(self) -> dict[str, Any]:
        """The part of each context."""
        return {"parts": self.cpd.parts.tolist()}

    @property
    def rows(self) -> Floats:
        """The probabilities, `[parts, states]`."""
        return self.cpd.distributions

    @property
    def context_sizes(self) -> Floats:
        """The number of joint states of the parents in each part."""
        return np.bincount(self.cpd.parts, minlength=len(self.cpd.distributions)).astype(np.float64)

    @property
    def key(self) -> Hashable:
        """The child's states and the number of parts: parents may differ."""
        return type(self.cpd), self.cpd.child.domain, len(self.cpd.distributions)

    def from_rows(self, rows: Floats) -> PartitionCPD:
        """The same parts with these rows."""
        return self.cpd._with(distributions=rows)

    def reordered(self, scope: Scope) -> PartitionCPD:
        """The same parts, with contexts and states in another order."""
        *parents, child = discrete_scope(scope)
        return self.cpd._named(
            (*parents, child),
            parts=self.cpd.parts[Match.of(self.cpd.parents, parents).entries],
            distributions=self.cpd.distributions[:, state_order(self.cpd.child, child)],
        )

    def describe_context(self, context: int) -> str:
        """The text of a part: its index and its first context."""
        inside = np.flatnonzero(self.cpd.parts == context)
        return f"(part {context}: {self.cpd.describe(int(inside[0]))})" if inside.size else f"(part {context})"


def _checked_parts(cpd: PartitionCPD, parts: ArrayLike | Mapping[Any, int], num_parts: int) -> Ints:
    """The part of each context, flat: every context in exactly one."""
    total = num_entries(cpd.parents)
    flat = _from_mapping(cpd, parts, total) if isinstance(parts, Mapping) else np.asarray(parts)
    shape = tuple(p.num_states for p in cpd.parents)
    if flat.shape not in (shape, (total,)) or (flat.size and flat.dtype.kind not in "iu"):
        raise ModelError(
            f"{name_of(cpd)} needs one integer per context, of shape {shape}; found {flat.dtype} {flat.shape}."
        )
    if flat.size and not (flat.min() >= 0 and flat.max() < num_parts):
        raise ModelError(
            f"{name_of(cpd)} has parts 0 to {num_parts - 1}; found {int(flat.max())} and {int(flat.min())}."
        )
    return flat.reshape(-1).astype(np.int64)


def _from_mapping(cpd: PartitionCPD, parts: Mapping[Any, int], total: int) -> Ints:
    found = np.full(total, -1, np.int64)
    for states, part in parts.items():
        listed = states if isinstance(states, tuple) else (states,)
        if len(listed) != len(cpd.parents):
            raise ScopeError(f"{name_of(cpd)} has {len(cpd.parents)} parents; found {len(listed)} states: {states!r}.")
        place = 0
        for parent, state in zip(cpd.parents, listed, strict=True):
            place = place * parent.num_states + parent.code(state)
        found[place] = part
    if (found < 0).any():
        raise ModelError(f"{name_of(cpd)}: the context {cpd.describe(int((found < 0).argmax()))} is in no part.")
    return found
