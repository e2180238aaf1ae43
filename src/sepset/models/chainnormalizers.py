r"""The normalizers of many small chain components at once, those of one shape in one batch.

$$Z(\mathbf u) = \sum_{\mathbf k} \prod_j \phi_j(\mathbf k, \mathbf u)$$

is a sum over few states for most components of a large chain graph; alone each would be eliminated variable by
variable.

Reference: Koller & Friedman, section 4.6.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.frozen import fill
from sepset.base.threads import require_time
from sepset.factors.table import Table

if TYPE_CHECKING:
    from sepset.models.chaincomponent import ChainComponent

MOST_STATES = 2**10
"""The joint states of a component and its parents up to which the product of its factors is made whole."""

FEWEST = 8
"""The components of one shape from which they are normalized together."""

ENTRIES_AT_ONCE = 2**20
"""The entries of the products that are in memory together."""

SAFE_BITS = 300
"""How far from one a product of entries may be, in powers of two: it is far from the ends of the range of floats."""


class _Shape(NamedTuple):
    """The shape of components that are normalized together.

    Attributes:
        cards: the states of the component's variables, and then of its parents.
        num_own: how many are the component's.
        axes: the variables of each factor among these.
    """

    cards: tuple[int, ...]
    num_own: int
    axes: tuple[tuple[int, ...], ...]


def normalize_together(components: Iterable[ChainComponent]) -> None:
    """Find the normalizers of small components, where there are several of one shape.

    Those with a parent state of weight zero, or with numbers far from one, are left: each finds its own when asked.

    >>> from sepset.models.chaincomponent import ChainComponent
    >>> from sepset.variables.variable import Discrete
    >>> u, a = Discrete("u"), Discrete("a")
    >>> parts = [ChainComponent(a, Table((u, a), [[1, 3], [k, 8 - k]])) for k in range(8)]
    >>> normalize_together(parts)
    >>> parts[3].normalizer.values.tolist()
    [0.25, 0.125]
    """
    groups: dict[_Shape, list[ChainComponent]] = {}
    for part in components:
        if not part.is_normalized and "normalizer" not in part.__dict__ and _is_plain(part):
            groups.setdefault(_shape(part), []).append(part)
    for shape, group in groups.items():
        size = math.prod(shape.cards)
        if len(group) >= FEWEST and size <= MOST_STATES:
            step = max(ENTRIES_AT_ONCE // size, 1)
            for first in range(0, len(group), step):
                require_time()
                _normalize(shape, group[first : first + step])


def _is_plain(part: ChainComponent) -> bool:
    """Whether all factors are dense tables of plain numbers."""
    return all(type(f) is Table and f.space == "linear" and not f.exponent for f in part.factors)


def _parents(part: ChainComponent) -> tuple[Any, ...]:
    """The parents that some factor has."""
    used = {v for factor in part.factors for v in factor.scope}
    return tuple([v for v in part.parents if v in used])


def _shape(part: ChainComponent) -> _Shape:
    scope = (*part.variables, *_parents(part))
    place = {v: i for i, v in enumerate(scope)}
    axes = tuple([tuple([place[v] for v in factor.scope]) for factor in part.factors])
    return _Shape(tuple([v.num_states for v in scope]), len(part.variables), axes)


def _normalize(shape: _Shape, group: Sequence[ChainComponent]) -> None:
    """Give each component of this shape its normalizer, unless that takes more than plain numbers."""
    tables = [np.stack([part.factors[k].flat for part in group]) for k in range(len(shape.axes))]  # type: ignore[union-attr]
    is_near = sum(map(_width, tables), np.zeros(len(group))) < SAFE_BITS
    product = np.ones((int(is_near.sum()), *shape.cards))
    for rows, axes in zip(tables, shape.axes, strict=True):
        product *= _along(rows[is_near], axes, shape.cards)
    totals = product.sum(axis=tuple(range(1, 1 + shape.num_own)))
    totals = totals.reshape(len(totals), math.prod(totals.shape[1:]))
    for i, total in zip(np.flatnonzero(is_near).tolist(), totals, strict=True):
        if total.all():
            fill(group[i], normalizer=Table._make(_parents(group[i]), 1.0 / total))


def _along(rows: Floats, axes: tuple[int, ...], cards: tuple[int, ...]) -> Floats:
    """Tables over these axes, one per row, shaped to be multiplied with ones over all."""
    order = sorted(range(len(axes)), key=axes.__getitem__)
    table = rows.reshape(len(rows), *[cards[a] for a in axes]).transpose(0, *[1 + k for k in order])
    return table.reshape(len(rows), *[card if a in axes else 1 for a, card in enumerate(cards)])


def _width(rows: Floats) -> Floats:
    """How far the positive entries of each row are from one, in powers of two; zero if there are none."""
    is_positive: Bools = rows > 0.0
    sizes = np.abs(np.log2(np.where(is_positive, rows, 1.0)))
    return np.asarray(sizes.max(axis=1, initial=0.0))
