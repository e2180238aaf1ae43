"""From codes to counts, and from counts to rows of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, AnyInts, Floats, Ints
from sepset.base.checks import one_of, row_weights
from sepset.cpds.parameters import multinomials
from sepset.cpds.priors.dirichlet import CellPrior, Dirichlet, FamilyPrior, pseudo_counts_of
from sepset.errors import DataError, NotApplicable
from sepset.factors.algebra import AnyVariable, Columns
from sepset.variables.variable import Discrete

Unseen: TypeAlias = Literal["uniform", "raise"]
"""What to do where neither data nor prior say anything of a row: the uniform distribution, or an error."""

SHOWN = 3
"""How many contexts without rows an error names."""


def column(rows: Columns, variable: Discrete, num_rows: int, owner: object) -> Ints:
    """The codes of one variable, checked: present, one a row, complete and within its states."""
    found: AnyArray | None = rows.get(variable)
    if found is None:
        names = ", ".join(v.name for v in rows) or "nothing"
        raise DataError(f"{owner!r} needs a column of codes for {variable.name}; found {names}.")
    codes = np.asarray(found)
    if not np.issubdtype(codes.dtype, np.integer):
        raise DataError(f"{owner!r} needs integer codes for {variable.name}; found {codes.dtype}.")
    if codes.shape != (num_rows,):
        raise DataError(f"{owner!r} needs {num_rows} codes for {variable.name}; found the shape {codes.shape}.")
    if codes.size and not (codes.min() >= 0 and codes.max() < variable.num_states):
        raise DataError(_outside(codes, variable, owner))
    return codes.astype(np.int64, copy=False)


def _outside(codes: AnyInts, variable: Discrete, owner: object) -> str:
    missing = int((codes == -1).sum())
    if missing:
        return f"{owner!r} needs complete rows; {missing} of {codes.size} are missing for {variable.name}. Use EM."
    bad = codes[(codes < 0) | (codes >= variable.num_states)][0]
    return f"{owner!r}: {variable.name} has codes 0 to {variable.num_states - 1}; found {bad}."


def joint_codes(rows: Columns, variables: tuple[Discrete, ...], num_rows: int, owner: object) -> Ints:
    """The flat C-order position of each row's joint state of `variables`."""
    place: Ints | None = None
    for variable in variables:
        codes = column(rows, variable, num_rows, owner)
        place = codes if place is None else place * variable.num_states + codes
    return np.zeros(num_rows, np.int64) if place is None else place


def num_rows_of(rows: Columns, variable: AnyVariable, owner: object) -> int:
    """How many rows there are, by the column of `variable`."""
    if variable not in rows:
        raise DataError(f"{owner!r} needs a column for {variable.name}.")
    return len(rows[variable])


def checked_weights(weights: ArrayLike | None, num_rows: int, owner: object) -> Floats | None:
    """Row weights as floats: one per row, finite and not negative; None where all rows count once."""
    return None if weights is None else row_weights(weights, num_rows, owner)


def count(places: Ints, num_cells: int, weights: Floats | None = None) -> Floats:
    """How often (or with what total weight) each cell occurs.

    >>> count(np.array([0, 2, 2]), 3).tolist()
    [1.0, 0.0, 2.0]
    """
    return np.bincount(places, weights=weights, minlength=num_cells).astype(np.float64, copy=False)


def checked_counts(stats: ArrayLike, num_cells: int, owner: object) -> Floats:
    """Counts as a flat array of the right size, finite and not negative."""
    counts = np.asarray(stats, dtype=np.float64)
    if counts.size != num_cells:
        raise DataError(f"{owner!r} has {num_cells} counts; found an array of shape {counts.shape}.")
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise DataError(f"{owner!r} needs finite counts >= 0.")
    return counts.reshape(-1)


def pseudo_counts(prior: object, shape: tuple[int, int], owner: object) -> Floats:
    """The pseudo-counts of a Dirichlet prior; zeros for none."""
    if prior is None:
        return np.zeros(shape)
    if isinstance(prior, Dirichlet):
        return prior.pseudo_counts(shape)
    if not isinstance(prior, CellPrior | FamilyPrior):
        raise NotApplicable(f"{owner!r} takes a Dirichlet prior or None; found {prior!r}.")
    if multinomials(owner) is not None:
        return pseudo_counts_of(prior, [owner]).reshape(shape)
    if isinstance(prior, FamilyPrior):
        raise NotApplicable(f"{owner!r} takes pseudo-counts such as Dirichlet(1); found {prior!r}.")
    return prior.pseudo_counts(shape)


def estimate(counts: Floats, prior: object, unseen: Unseen, owner: object, name: Callable[[int], str]) -> Floats:
    r"""Rows $\theta_k = (M_k + \alpha_k) / \sum_j (M_j + \alpha_j)$; rows without any count follow `unseen`.

    Args:
        counts: contexts by child states.
        name: describes the context of a row, for errors.
    """
    check_unseen(unseen)
    total = counts + pseudo_counts(prior, counts.shape, owner)
    sums = total.sum(axis=1, keepdims=True)
    empty = np.flatnonzero(sums[:, 0] == 0)
    if empty.size and unseen == "raise":
        raise DataError(unseen_message(owner, empty, len(counts), name))
    uniform = np.full(total.shape, 1.0 / total.shape[1])
    return np.asarray(np.divide(total, sums, out=uniform, where=sums > 0))


def check_unseen(unseen: str) -> None:
    """Raise unless this is one of the two policies."""
    one_of("unseen", unseen, ("uniform", "raise"))


def states_of(variable: Discrete) -> Callable[[int], str]:
    """Describes the states of a parent.

    >>> states_of(Discrete("light", ["red", "green"]))(1)
    "light='green'"
    """
    return lambda code: f"{variable.name}={variable.states[code]!r}"


def unseen_message(
    owner: object,
    silent: Iterable[int],
    num_contexts: int,
    name: Callable[[int], str],
    remedy: str = "Give a prior such as Dirichlet(1), or unseen='uniform'.",
) -> str:
    """What to say where data are silent: how many contexts, the first few, what to do, and where the others are listed.

    Args:
        silent: the contexts without rows, of which there are `num_contexts` in all.
        name: describes one of them.
    """
    empty = [int(context) for context in silent]
    if len(empty) == num_contexts:
        return f"{owner!r}: there are no rows, or all weigh nothing. {remedy}"
    rest = len(empty) - SHOWN
    named = ", ".join(map(name, empty[:SHOWN])) + (f" and {rest} more" if rest > 0 else "")
    where = " fragmentation(structure, data).unseen lists them all." if rest > 0 else ""
    return f"{owner!r}: {len(empty)} of {num_contexts} contexts never occur in the data: {named}. {remedy}{where}"
