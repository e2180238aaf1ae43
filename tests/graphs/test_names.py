from __future__ import annotations

import numpy as np

from sepset.graphs.names import Names


def test_names_are_looked_up_when_read():
    asked = []

    def name(i):
        asked.append(i)
        return f"N{i}"

    names = Names(name, np.array([4, 2, 7]))
    assert len(names) == 3
    assert not asked
    assert (names[1], names[-1], names[1:], list(names)) == ("N2", "N7", ("N2", "N7"), ["N4", "N2", "N7"])
