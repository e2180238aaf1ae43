r"""Greedy search over classes of DAGs that rows with interventions cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.errors import DataError
from sepset.learning.structure.classes.ges import GES
from sepset.learning.structure.columns import Columns


@dataclass(frozen=True, slots=True)
class GIES(GES):
    r"""Greedy search over interventional equivalence classes, from rows in which some variables may have been set.

    The members of a class agree on the skeleton, on immoralities, and on every edge of which some intervention sets
    exactly one end. A row counts in the families of the variables that were not set in it. Without interventions it is
    `GES`.

    Args:
        phases: of "forward", "backward", "turning", in order.

    Reference: Hauser & Buehlmann (2012), "Characterization and greedy learning of interventional Markov equivalence
        classes of directed acyclic graphs".
    Guarantee: a local optimum: no operator of its phases improves the class.
    Tested by: learning/structure/classes/test_gies.py::test_interventions_direct_what_observation_cannot

    >>> GIES()
    GIES(phases=('forward', 'backward', 'turning'))
    """

    def _cut(self, columns: Columns) -> Bools | None:
        """The pairs of which some intervention sets exactly one."""
        if columns.intervened is None:
            return None
        always = np.flatnonzero(columns.intervened.all(1))
        if len(always):
            raise DataError(
                f"The column {columns.names[always[0]]!r} was set in every row, so that nothing is known about its "
                "family. Add rows in which it was not, or leave the column out of interventions=."
            )
        return told_apart(columns.intervened)


def told_apart(intervened: Bools) -> Bools:
    """From row to column, whether some intervention sets exactly one of the two.

    >>> told_apart(np.array([[True, False], [False, False], [True, False]])).astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    targets = np.unique(intervened, axis=1)
    alone = targets.astype(np.int64) @ (~targets).astype(np.int64).T
    return np.asarray((alone + alone.T) > 0)
