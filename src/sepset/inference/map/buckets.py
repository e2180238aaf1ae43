r"""Buckets of a max-elimination: the factors of each variable, and the maxima that it sends on.

Eliminating $X$ adds the log factors that mention it first to the messages of the buckets below,

$$m_X(\mathbf s) = \max_x \Bigl[\ell_X(x, \mathbf s) + \sum_{c} m_c(\mathbf s_c)\Bigr],$$

so that $m_X(\mathbf s)$ is the value of the best assignment of $X$ and of everything below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.inference.buckets.pool import Pool
from sepset.inference.method import dense
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """Log values over some variables: the maxima that a bucket sends on, or a factor.

    Attributes:
        scope: the variables.
        logs: one number per joint state, flat, the last variable fastest.
        bucket: the number of the bucket that sent it; -1 for a factor.
    """

    scope: tuple[Discrete, ...]
    logs: Floats
    bucket: int = -1

    def over(self, wide: Sequence[Discrete]) -> Floats:
        """The log values with an axis for each of these variables, of length one where they are constant."""
        mine = [v for v in wide if v in self.scope]
        shaped = self.logs.reshape([v.num_states for v in self.scope])
        moved = shaped.transpose([self.scope.index(v) for v in mine])
        return moved.reshape([v.num_states if v in self.scope else 1 for v in wide])

    def strides(self, wide: Sequence[Discrete]) -> tuple[tuple[int, int], ...]:
        """For each variable of the scope its place among these variables, and its step in the flat values."""
        steps, step = [], 1
        for variable in reversed(self.scope):
            steps.append((wide.index(variable), step))
            step *= variable.num_states
        return tuple(steps)


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """One variable, the variables that its best state depends on, its factors, and the messages it received.

    Attributes:
        variable: the variable; None in the root, which joins the parts of a forest.
        sepset: the variables that are assigned before it.
        factors: the product of its own factors, as log values.
        below: the messages of other buckets.
    """

    variable: Discrete | None
    sepset: tuple[Discrete, ...]
    factors: Message
    below: tuple[Message, ...]

    @property
    def scope(self) -> tuple[Discrete, ...]:
        """The variables assigned before it, then its own."""
        return self.sepset if self.variable is None else (*self.sepset, self.variable)


def log_factor(factor: Factor) -> Message:
    """A discrete factor as log values; its table is made if it is sparse, and its size checked.

    >>> log_factor(Table(Discrete("a"), [1, 0])).logs.tolist()
    [0.0, -inf]
    """
    table = dense(factor)
    if not isinstance(table, Table):
        raise NotApplicable(f"The k best need discrete factors; found {factor!r}. Use k=1.")
    return Message(table.scope, np.asarray(table.log_values).reshape(-1))


def max_buckets(factors: Iterable[Message], order: Sequence[Discrete]) -> tuple[Bucket, ...]:
    """The bucket of each variable in elimination order, then the root, whose messages have one value each.

    Cost: that of the elimination; the tables of all buckets are kept.
    Reference: Dechter (1999), Bucket elimination: a unifying framework for reasoning.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> buckets = max_buckets([log_factor(Table((a, b), [[1, 2], [3, 4]]))], [a, b])
    >>> round(float(np.exp(buckets[-1].below[0].logs[0])), 6)
    4.0
    """
    place = {variable: number for number, variable in enumerate(order)}
    pool: Pool[Message] = Pool(factors)
    buckets = []
    for number, variable in enumerate(order):
        taken = pool.take(variable)
        sepset = tuple(sorted({v for m in taken for v in m.scope if v != variable}, key=place.__getitem__))
        bucket = _bucket(variable, sepset, taken)
        buckets.append(bucket)
        pool.put(Message(sepset, _maxima(bucket), number))
    return (*buckets, _bucket(None, (), pool.rest()))


def _bucket(variable: Discrete | None, sepset: tuple[Discrete, ...], taken: Sequence[Message]) -> Bucket:
    own = [m for m in taken if m.bucket < 0]
    mentioned = {v for m in own for v in m.scope}
    wide = sepset if variable is None else (*sepset, variable)
    scope = tuple(v for v in wide if v in mentioned)
    logs = np.zeros([v.num_states for v in scope])
    for message in own:
        logs = logs + message.over(scope)
    below = tuple(m for m in taken if m.bucket >= 0)
    return Bucket(variable, sepset, Message(scope, logs.reshape(-1)), below)


def _maxima(bucket: Bucket) -> Floats:
    total = np.zeros([v.num_states for v in bucket.scope])
    for message in (bucket.factors, *bucket.below):
        total += message.over(bucket.scope)
    return np.asarray(total.max(axis=-1).reshape(-1))
