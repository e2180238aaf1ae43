r"""Block-coordinate descent on the dual of triplets of variables that agree on their pairs.

With the tables $h_e$ of the three pairs of a triplet without its own values $\lambda$,

$$\mu_e(\mathbf x_e) = \max_{\mathbf x_{t \setminus e}} \sum_{e' \in t} h_{e'}(\mathbf x_{e'}), \qquad
\lambda_{t \to e} \leftarrow \tfrac13 \mu_e - h_e$$

is the best choice of the values that a triplet gives to its pairs.

Reference: Sontag, Meltzer, Globerson, Jaakkola & Weiss (2008), Tightening LP relaxations for MAP using message passing.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.map.dual import UNIT
from sepset.kernels.propagation.wires import Wires


@kernel(borrows=True)
def pair_values(wires: Wires, p: int, messages: Floats, h: Floats, base: int) -> None:
    """The table of a pair less its messages to the two variables."""
    s = wires.starts[p]
    size, other = wires.cards[wires.scope[s]], wires.cards[wires.scope[s + 1]]
    one, two, place = wires.messages[s], wires.messages[s + 1], wires.places[p]
    for x in range(size):
        for y in range(other):
            h[base + x * other + y] = wires.tables[place + x * other + y] - messages[one + x] - messages[two + y]


@kernel(borrows=True)
def triplet_marginals(a: int, b: int, c: int, h: Floats, out: Floats, step: int) -> None:
    """The largest sums of three tables `(a, b)`, `(b, c)`, `(a, c)` at each entry of each, in one pass."""
    for place in range(3 * step):
        out[place] = -np.inf
    for x in range(a):
        for y in range(b):
            first = h[x * b + y]
            if first > -np.inf:
                best = out[x * b + y]
                for z in range(c):
                    value = first + h[step + y * c + z] + h[2 * step + x * c + z]
                    best = max(best, value)
                    out[step + y * c + z] = max(out[step + y * c + z], value)
                    out[2 * step + x * c + z] = max(out[2 * step + x * c + z], value)
                out[x * b + y] = best


def _work(wires: Wires, members: Ints, *_: object) -> float:
    widest = float(wires.cards.max(initial=1))
    return len(members) * (widest**3 + 6.0 * widest**2)


def _pass_work(wires: Wires, tables: Floats, members: Ints, *_: object) -> float:
    return _work(wires, members)


@kernel(work=_pass_work, borrows=True)
def triplet_pass(
    wires: Wires, tables: Floats, members: Ints, at: Ints, lambdas: Floats, messages: Floats, h: Floats, out: Floats,
    step: int, cancel: Bytes,
) -> float:  # fmt: skip
    """Update the values of every triplet once, which changes the tables of its pairs; -inf if one is impossible.

    Args:
        tables: those of the model, to be written.
        members: the pairs `(a, b)`, `(b, c)`, `(a, c)` of each triplet.
        at: where the values of each of its pairs start in `lambdas`.
        lambdas: what the triplets give to their pairs.
        messages: what the pairs give to variables.
        h, out: room for three tables, `step` apart.
    """
    for t in range(len(members)):
        if cancel[0]:
            return np.inf
        one, two = wires.starts[members[t, 0]], wires.starts[members[t, 1]]
        a, b, c = wires.cards[wires.scope[one]], wires.cards[wires.scope[one + 1]], wires.cards[wires.scope[two + 1]]
        for k in range(3):
            pair_values(wires, members[t, k], messages, h, k * step)
            for place in range(at[t, k + 1] - at[t, k]):
                h[k * step + place] -= lambdas[at[t, k] + place]
        triplet_marginals(a, b, c, h, out, step)
        best = -np.inf
        for k in range(3):
            start = wires.places[members[t, k]]
            for place in range(at[t, k + 1] - at[t, k]):
                found = out[k * step + place]
                best = max(best, found)
                if found > -np.inf:
                    given = found / 3.0 - h[k * step + place]
                    tables[start + place] += given - lambdas[at[t, k] + place]
                    lambdas[at[t, k] + place] = given
        if best == -np.inf:
            return best
    return 0.0


@kernel(work=_work, borrows=True)
def triplet_bound(wires: Wires, members: Ints, at: Ints, lambdas: Floats, h: Floats, step: int, cancel: Bytes) -> float:
    """The sum of the maxima of minus the values of each triplet where its pairs are possible, rounded up."""
    total = sizes = 0.0
    for t in range(len(members)):
        if cancel[0]:
            return np.inf
        first, second = wires.starts[members[t, 0]], wires.starts[members[t, 1]]
        a, b, c = (
            wires.cards[wires.scope[first]],
            wires.cards[wires.scope[first + 1]],
            wires.cards[wires.scope[second + 1]],
        )
        for k in range(3):
            start = wires.places[members[t, k]]
            for place in range(at[t, k + 1] - at[t, k]):
                is_possible = wires.tables[start + place] > -np.inf
                h[k * step + place] = -lambdas[at[t, k] + place] if is_possible else -np.inf
        best = -np.inf
        for x in range(a):
            for y in range(b):
                for z in range(c):
                    one, two, three = h[x * b + y], h[step + y * c + z], h[2 * step + x * c + z]
                    value = one + two + three
                    if value > -np.inf:
                        best = max(best, value + 2.0 * UNIT * (abs(one) + abs(two) + abs(three)))
        if best == -np.inf:
            return -np.inf
        total += best
        sizes += abs(best)
    return total + UNIT * len(members) * sizes
