"""What planning and running cost, in numbers: every tuned constant of the exact engine, in one place.

Each says what it decides, its unit, and where it comes from. Times were measured on one core of a current x86-64
server with the programs of the networks in `benchmarks/`, as the slope of time over the counted quantity; sizes are
where one way begins to win over the other there. None changes an answer, only how soon it comes. The layout of single
instructions has its own, in `kernels.compiled.costs`, and the search for orders in `graphs.costs`: those layers are
below this one.
"""

from __future__ import annotations

# Planning: how long to look for a cheaper plan.

USES_BEFORE_SEARCH = 2
"""Questions about one observed set before a longer search for a cheaper way to all its marginals."""

ENTRIES_PLANNED_OUTRIGHT = 4_000
"""Entries of all factors up to which the one tree is planned first; above, one greedy order tells its size."""

VARIABLES_ALWAYS_PLANNED = 20_000
"""Variables up to which a plan is always made, so that what is refused is refused with its size; above, the search ends
where every order tried is far beyond the memory."""

ENTRIES_PER_SINK_FOR_GROUPS = 60_000
"""Entries of the one tree, for each variable without children, from which groups of targets are looked for: the search
costs a greedy order per sink, about as long as this many entries take to run."""

ENTRIES_PER_SINK_FOR_GROUPS_LATER = 6_000
"""The same for an observed set that keeps being asked about."""

ENTRIES_PER_PLANNED_VARIABLE = 150
"""What one more variable in a plan costs beyond its tables, in table entries."""

MOST_SHARED_ENTRIES = 2**24
"""Entries of the largest program that several groups of targets share; beyond it they run one by one, when read."""

# Running: one compiled call.

WORK_ON_ANY_BLAS = 1_000_000
"""Multiplications up to which a run has no matrix products that the threads of BLAS could slow down."""

WORK_UNINTERRUPTED = 100_000_000
"""Multiplications (about a tenth of a second) beyond which a run listens for interruptions."""

LOG_SLOWDOWN = 30
"""How many times longer a multiplication takes in logarithms."""

# Zeros: smaller domains, and products over supports.

ENTRIES_FOR_SMALLER_DOMAINS = 10_000
"""Entries of all factors up to which looking at their zeros takes longer than the tables do."""

MOST_ENTRIES_PER_VARIABLE_FOR_SMALLER_DOMAINS = 800
"""Entries per variable above which looking at the zeros takes as long as planning does."""

BITS_FOR_SMALLER_DOMAINS = 2.0
"""The power of two by which factors must shrink, on average, before all tables leave out what is impossible: that costs
a little with every question."""

PLAN_NANOSECONDS_PER_VARIABLE = 15_000.0
"""What a new observed set takes to plan and compile, per variable."""

RUN_NANOSECONDS_PER_ENTRY = 2.0
"""What its first run takes, per entry of the factors."""

SHRINK_NANOSECONDS_PER_ENTRY = 3.0
"""What laying out smaller factors takes, per entry of them."""

SAVING_FOR_FIRST_DOMAINS = 4.0
"""How many times the saving of smaller tables must cover their making before first values get tables of their own."""

DENSE_NANOSECONDS = 0.1
"""A multiplication of a large dense program."""

TRIPLE_NANOSECONDS = 2.0
"""A product of two entries of supports, in one sweep."""

WORK_FOR_SUPPORTS = 1_000_000
"""Multiplications of a dense run below which no program over supports is looked for."""

ZEROS_FOR_SUPPORTS = 0.25
"""The part of the factors' entries that must be zero before one is."""

USES_BEFORE_SUPPORTS = 200
"""How often a question is asked before one is looked for: making it takes as long as many runs."""

MOST_TRIPLES = 2**24
"""Triples that a program over supports may have at most."""

TRIPLES_UNINTERRUPTED = 10**7
"""Triples beyond which a run over supports listens for interruptions."""

# Rows: many cases in blocks, on several threads.

ROW_PLAN_SECONDS_PER_VARIABLE = 5e-5
"""What planning a program for one observed set is taken to cost, per variable."""

ROW_SECONDS_PER_MULTIPLICATION = 4e-10
"""A multiplication in one row of a block."""

BLOCK_SECONDS_PER_INSTRUCTION = 3e-8
"""The start of an instruction, per block of rows."""

LANES = (32, 16, 8)
"""Rows in a block, the most first."""

CACHED_WORKSPACE_BYTES = 2 * 2**20
"""Bytes of a workspace up to which it stays in a core's cache; larger ones take fewer lanes."""

SHORTEST_TASK_SECONDS, LONGEST_TASK_SECONDS = 2e-4, 0.25
"""What one task of a batch may take: enough to be worth a thread, and not so long that progress stands still."""

TASK_SHARE = 4
"""Between these, a task takes one in so many of the rows that are left."""

MOST_TASKS_OF_COUNTS = 64
"""Tasks over which counts are spread, each of which makes totals of its own."""

# Trees: calibrating one, or eliminating again and again.

TREE_PASSES = 4
"""What calibrating a tree over the factor protocol takes, in multiplications of a compiled elimination, per entry."""

TREE_WORK_PER_VARIABLE = 50_000
"""The same per variable."""

WORK_RETRACTED_OUTRIGHT = 1_000_000
"""Multiplications up to which one tree retracts all findings without asking whether single queries would cost less."""
