"""What the search for elimination orders costs and may cost.

Times are nanoseconds, measured on one core of a current x86-64 server over the networks of `benchmarks/`, as the slope
of time over the counted quantity. They decide how long to search, and with it which order is found, but no answer.
Those of planning and running are in `inference.compiled.costs`.
"""

from __future__ import annotations

NANOSECONDS_PER_READ = 14.0
"""A place of the graph read by a greedy pass, its unit of work."""

NANOSECONDS_PER_TRY = 14_000.0
"""The start of a greedy pass."""

NANOSECONDS_PER_ENTRY = 4.0
"""A table entry in a pass up and down the tree: what a better order saves."""

MOST_TRIES = 128
"""Orders that a search tries at most, where nobody says how many."""

MOST_WORK = 4_000_000
"""Places read by a search at most, where nobody says how long."""

SMALL_GRAPH = 100
"""Nodes up to which one order is tried first, before simplicial nodes are looked for."""

HOPELESS_BITS = 10.0
"""How far beyond the limit, in powers of two, the tables of an order must be to give up on it."""

LARGE_GRAPH = 2**16
"""Nodes from which on a part of the graph is asked first whether it is hopeless."""

PART_OF_LARGE_GRAPH = 2**14
"""Nodes of that part."""
