r"""Cost functions: a wired model as costs to be minimized, with operations that keep its best assignment.

$$\min_{\mathbf x} \sum_f c_f(\mathbf x_f), \qquad c_f = -\theta_f$$
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import require_time
from sepset.inference.wiring import Wiring

Scope = tuple[int, ...]


@dataclass
class CostFunctions:
    """Cost functions by scope: one per set of variables, merged as they are added.

    Attributes:
        cards: the number of states of each variable.
        constant: the cost of functions without variables.
        tables: the costs of each scope, whose variables increase.
        touching: the scopes that have each variable.
    """

    cards: tuple[int, ...]
    constant: float = 0.0
    tables: dict[Scope, Floats] = field(default_factory=dict)
    touching: dict[int, dict[Scope, None]] = field(default_factory=dict)

    @classmethod
    def of(cls, wiring: Wiring) -> CostFunctions:
        """The cost functions of a wired model.

        Cost: a pass over the tables; named potentials of pairs become tables.
        """
        made = cls(tuple(wiring.plugs.cards.tolist()), -wiring.constant)
        for i in range(len(made.cards)):
            made.add((i,), -wiring.logs(i))
        for f in range(wiring.num_factors):
            require_time()
            scope = wiring.scope(f)
            axes = np.argsort(scope, kind="stable")
            made.add(tuple(scope[axes].tolist()), -wiring.table(f).transpose(axes))
        return made

    def add(self, scope: Scope, costs: Floats) -> None:
        """Add a function; the variables of its scope increase."""
        if not scope:
            self.constant += float(costs)
            return
        if scope in self.tables:
            self.tables[scope] = self.tables[scope] + costs
            return
        self.tables[scope] = costs
        for i in scope:
            self.touching.setdefault(i, {})[scope] = None

    def take(self, scope: Scope) -> Floats:
        """The costs of a scope, which are removed."""
        for i in scope:
            del self.touching[i][scope]
        return self.tables.pop(scope)

    def of_variable(self, i: int) -> list[Scope]:
        """The scopes that have a variable."""
        return list(self.touching.get(i, ()))

    def neighbors(self, i: int) -> Scope:
        """The other variables of a variable's functions."""
        return tuple(sorted({j for scope in self.of_variable(i) for j in scope} - {i}))

    def size(self, scope: Iterable[int]) -> int:
        """The number of joint states."""
        return math.prod(self.cards[i] for i in scope)

    @property
    def is_possible(self) -> bool:
        """Whether no function forbids everything."""
        return self.constant < math.inf and all(np.isfinite(t).any() for t in self.tables.values())

    def cost(self, codes: Sequence[int] | Ints) -> float:
        """The cost of an assignment."""
        return self.constant + sum(float(t[tuple(codes[i] for i in scope)]) for scope, t in self.tables.items())

    def components(self) -> Iterator[list[int]]:
        """The variables of each connected part, in increasing order; those without functions are left out."""
        seen: set[int] = set()
        for first in self.touching:
            part, open_ = [], [first] if self.touching[first] and first not in seen else []
            seen.update(open_)
            while open_:
                require_time()
                part.append(open_.pop())
                fresh = set(self.neighbors(part[-1])) - seen
                seen |= fresh
                open_ += fresh
            if part:
                yield sorted(part)


def spread(scope: Scope, costs: Floats, wide: Scope) -> Floats:
    """Costs with an axis for each variable of a wider scope, of length one for those that they do not depend on."""
    sizes: Mapping[int, int] = dict(zip(scope, costs.shape, strict=True))
    return costs.reshape([sizes.get(i, 1) for i in wide])
