"""The tuned constants of structure learning, in one place: how rows are counted, and what is refused as too long.

Each docstring gives the decision and the unit. Times were measured on one core of an x86-64 server, as the slope of
time against the counted quantity; a size is where one way becomes faster than the other there. None changes a score.
"""

from __future__ import annotations

# Counts of the rows of families.

ROWS_UNINTERRUPTED = 1 << 22
"""Rows times candidates that are counted at once: by one thread, without looking for Ctrl-C."""

CELLS_BY_BITS = 96
"""Cells beyond a candidate's first state up to which intersections of sets of rows are faster: 64 rows take 0.25 ns."""

CANDIDATES_AT_ONCE = 4
"""The candidates that are counted in one pass over the rows: parts of the candidates are whole groups."""

CANDIDATES_FOR_BITS = 4
"""Candidates from which preparing the sets of rows is worth it."""

# Scores of all families.

SECONDS_OF_SUMS = 60.0
"""The time for sums over all sets of columns; beyond it, sets that a bound excludes are left out where that helps."""

SECONDS_LISTED, SECONDS_ASKED = 2e-6, 1e-4
"""The time that a family takes in a table of sums, and one by one."""

SECONDS_COUNTED = 6e-9
"""The time that a row takes in the count of a set of columns."""

COLUMNS_FOR_PARTS, COLUMNS_FIXED = 14, 3
"""The columns from which sets are counted in parts, by which of so many columns they have: for several threads."""

# Sums and maxima over all sets of columns.

SECONDS_PER_ENTRY = 2e-9
"""The time for each column, of each parent set, of each child."""

SECONDS_PER_PAIR = 5e-9
"""The time of `TianHe` for each column and each pair of a subset and its subset."""
