"""The tuned constants of the search for elimination orders.

Times are nanoseconds, measured on one core of an x86-64 server with the networks of `benchmarks/`, as the slope of time
against the counted quantity. They determine how long to search, and so which order is found, but never an answer. Those
of planning and running are in `inference.costs`.
"""

from __future__ import annotations

NANOSECONDS_PER_READ = 14.0
"""Time of one array read of a greedy pass, its unit of work."""

NANOSECONDS_PER_TRY = 14_000.0
"""Time to start a greedy pass."""

NANOSECONDS_PER_ENTRY = 4.0
"""Time of one table entry in a pass up and down the tree, which a better order saves."""

MOST_TRIES = 128
"""Orders tried at most, if neither `restarts` nor `seconds` is given."""

MOST_READS = 4_000_000
"""Array reads of a search at most, if neither is given."""

SMALL_GRAPH = 100
"""Nodes up to which one order of the whole graph is tried first, including simplicial nodes."""

EDGES_UNINTERRUPTED = 20_000
"""Entries of the neighbor lists up to which a greedy pass does not look for Ctrl-C."""

READS_BEFORE_REFUSAL = 10_000_000
"""Array reads of a greedy pass, or variables in the scopes of an order, up to which it is finished although its tables
are hopeless, so that an error can state their size."""

READS_OF_A_PLAN = 100_000_000
"""The same for a plan that is only looked at."""

BITS_OF_ANY_MEMORY = 64.0
"""Powers of two of table entries that no machine can hold."""

HOPELESS_BITS = 10.0
"""Powers of two beyond the limit from which the tables of an order are hopeless."""

NODES_LOOKED_AT = 2**16
"""The number of nodes from which parts are tried first where there is no limit: an order of so many that is hopeless
takes more than a second."""

PARTS_OF_LARGE_GRAPH = (2**12, 2**14)
"""Nodes of the parts of a large graph that are tried first, the smaller before the larger."""

READS_OF_MATRICES = (30_000_000, 60_000_000)
"""The array reads of a greedy pass from which these parts of a graph of real variables are hopeless. It reads about as
many places as the matrices of its cliques have entries: of a square grid 1.5 and 14 million, of random graphs with
three neighbors each, if they have 16,000 nodes, more than that."""

MOST_OF_MATRICES = 500_000_000
"""The same for a whole graph: two seconds, and four gigabytes of matrices. A grid of 316 x 316 takes 0.28 billion."""

SWEPT_REALS = 4096
"""Real variables up to which no graph is hopeless: at the worst a matrix of 130 megabytes."""

TIMES_OF_PART = 4
"""How many times as many nodes as a part a graph has at least if the part is tried: then it takes little time."""

SWEPT_BITS = 20.0
"""The logarithm (base two) of the total size of tables above which an order from side to side is tried too: it takes
one pass over the graph, and a tenth of a second to load what finds it."""

SWEPT_NODES = 50
"""Nodes from which that is tried: on smaller graphs the varied greedy orders find as good ones, and it took a tenth of
the time of the search."""
