"""Variables matched by name: the same ones in another order, with their states in another order.

Two objects with equal variables may list them, and the states of each, differently. Codes and axes of one are
meaningless to the other; what they share is names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.text import listing, nearest
from sepset.errors import ScopeError
from sepset.variables.variable import Discrete, Vector


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Where the variables of one list, and the states of each, are in another.

    Attributes:
        sizes: the number of states of each variable of the other list; one for real ones.
        axes: the position of each variable in the other list.
        orders: the code there of each state; one zero for a real variable.

    >>> a, b = Discrete("a", "xy"), Discrete("b", 3)
    >>> found = Match.of((a, b), (b, Discrete("a", "yx")))
    >>> found.axes, found.orders[1].tolist(), found.entries.tolist()
    ((1, 0), [1, 0], [3, 0, 4, 1, 5, 2])
    """

    sizes: tuple[int, ...]
    axes: tuple[int, ...]
    orders: tuple[Ints, ...]

    @classmethod
    def of(cls, own: Sequence[Discrete | Vector], wanted: Sequence[Discrete | Vector]) -> Match:
        """The match of `wanted` in `own`; raises unless both have the same names, and variables the same states."""
        names = [v.name for v in own]
        for mine, other in ((names, wanted), ([v.name for v in wanted], own)):
            lost = next((v.name for v in other if v.name not in mine), None)
            if lost is not None:
                raise ScopeError(
                    f"{lost!r} is in one of {listing(names)} and {listing(v.name for v in wanted)}, and not in the "
                    f"other.{nearest(lost, mine)} Variables are matched by name."
                )
        axes = tuple(names.index(v.name) for v in wanted)
        orders = tuple(state_order(own[axis], v) for axis, v in zip(axes, wanted, strict=True))
        return cls(tuple(v.num_states if isinstance(v, Discrete) else 1 for v in own), axes, orders)

    @property
    def entries(self) -> Ints:
        """For each joint state, in C order, its position among the joint states of the other list."""
        places = np.arange(int(np.prod(self.sizes, dtype=np.int64))).reshape(self.sizes)
        return np.asarray(places.transpose(self.axes)[np.ix_(*self.orders)].reshape(-1))


def state_order(own: Discrete | Vector, wanted: Discrete | Vector) -> Ints:
    """The code under `own` of each state of `wanted`; raises unless both have the same states, or the same size.

    >>> state_order(Discrete("a", ("x", "y", "z")), Discrete("a", ("z", "x", "y"))).tolist()
    [2, 0, 1]
    """
    if isinstance(own, Discrete) and isinstance(wanted, Discrete):
        codes = [own.domain.find(state) for state in wanted.states]
        if None not in codes and len(codes) == own.num_states:
            return np.array(codes, np.int64)
    elif isinstance(own, Vector) and isinstance(wanted, Vector) and own.size == wanted.size:
        return np.zeros(1, np.int64)
    raise ScopeError(f"{own!r} and {wanted!r} share a name, and are different variables. Give both the same states.")


def has_states_of(own: Discrete | Vector, wanted: Discrete | Vector) -> bool:
    """Whether two variables have the same states, in any order, or the same size.

    >>> has_states_of(Discrete("a", "xy"), Discrete("a", "yx")), has_states_of(Discrete("a", "xy"), Discrete("a", "xz"))
    (True, False)
    """
    try:
        state_order(own, wanted)
    except ScopeError:
        return False
    return True


def state_codes(own: Discrete, wanted: Discrete) -> Ints:
    """The code under `wanted` of each state of `own`.

    >>> state_codes(Discrete("a", ("x", "y", "z")), Discrete("a", ("z", "x", "y"))).tolist()
    [1, 2, 0]
    """
    return np.argsort(state_order(own, wanted), kind="stable")
