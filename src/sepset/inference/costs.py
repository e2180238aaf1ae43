"""The tuned constants of inference, in one place: when to search longer, which executor to run, how to split work.

Each docstring gives the decision, the unit, and the origin of the value. Times were measured on one core of an x86-64
server with the programs of the networks in `benchmarks/`, as the slope of time against the counted quantity; a size is
where one way becomes faster than the other there. None changes an answer, only how soon it comes. Layers below have
their own: `kernels.compiled.costs` for single instructions, and `graphs.costs` for the search for elimination orders.
"""

from __future__ import annotations

# Planning: how long to look for a cheaper plan.

USES_BEFORE_SEARCH = 2
"""Questions about one observed set before a longer search for a cheaper plan for all its marginals."""

FACTORS_AT_ONCE = 2_000
"""Factors up to which a question is compiled in one call, without checks for interrupts."""

ENTRIES_PLANNED_OUTRIGHT = 4_000
"""Entries of all factors up to which a single tree is planned first; above, one greedy order gives its size."""

VARIABLES_ALWAYS_PLANNED = 20_000
"""Variables up to which zeros and target groups are considered: both look at every variable many times."""

SHARE_READ_ALONE = 4
"""Where a question takes at most one factor in so many, only the values of these are read."""

READS_FOR_GROUPS = 20_000_000
"""Array reads, and variables looked at, of the search for target groups."""

ENTRIES_PER_SINK_FOR_GROUPS = 60_000
"""Entries of the single tree, per variable without children, from which target groups are considered: the search runs
a greedy order per sink, which takes about as long as running this many entries."""

ENTRIES_PER_SINK_FOR_GROUPS_LATER = 6_000
"""The same for an observed set with repeated questions."""

ENTRIES_PER_PLANNED_VARIABLE = 150
"""The cost of one more variable in a plan beyond that of its tables, in table entries."""

MOST_SHARED_ENTRIES = 2**24
"""Entries of the largest program that several target groups share; beyond it each group runs when it is read."""

VISITS_TO_CHOOSE_RESULTS = 300_000
"""Visits of nodes, in all passes over a dtree, up to which the results to keep are chosen one by one."""

FIRST_ORDER_PASSES, LATER_ORDER_PASSES = 0.25, 2.0
"""How long to search for the elimination order of a program, in passes over all clique tables (`graphs.costs`): at
first, where a pass of its steps takes less than over the tables; and after repeated questions."""

ROW_ORDER_PASSES = 1.0
"""The same for a program of rows, which usually answers for many."""

HASTY_ORDER_PASSES, ENTRIES_FOR_HASTE = 0.1, 100_000
"""The same for the first plan of a program that is planned again after repeated questions, and the entries of all
tables of a greedy order from which that is likely: a longer search gained less than it took."""

NANOSECONDS_BEFORE_SEARCH = 100_000.0
"""Time that a search for an order takes beyond its orders, in calls from Python: a shorter search is not begun. On the
networks of `benchmarks/` with such small tables, later runs took as long with the first greedy order."""

PATIENT_FACTOR = 64
"""Ratio of the largest table to the memory up to which a question that is too large gets the longer search at once."""

HOPELESS_FACTOR = 1024
"""Ratio of the largest table to the memory from which a plan that is only looked at gets no program."""

VARIABLES_OF_MINORS = 1000
"""Variables from which a problem is refused by its minors before compiled kernels are loaded; smaller ones are planned
without these."""

# Planning: contraction trees rearranged.

ENTRIES_BEFORE_TREE_SEARCH = 500_000
"""Entries that all steps read and write (about a millisecond) up to which their tree is left as it is."""

NANOSECONDS_PER_PRODUCT, NANOSECONDS_PER_MAXIMIZED_PRODUCT = 0.05, 0.07
"""Time of a multiplication in a step by panels: summed, or maximized."""

NANOSECONDS_PER_LOG_PRODUCT = 5.0
"""The same in log space."""

NANOSECONDS_PER_ENTRY, NANOSECONDS_PER_STREAMED_ENTRY = 1.2, 0.7
"""Time of an entry that a step reads or writes: by panels, or passed once if one of the step's tensors has all
variables. Both include its share of rescaling the results."""

NANOSECONDS_PER_STEP = 1000.0
"""Time of any step."""

NANOSECONDS_PER_ROTATION, NANOSECONDS_PER_ROTATED_WORD = 85.0, 5.0
"""Time to try a rotation of a tree, and of each word of a scope in it."""

SWEEPS_DOWNHILL, SWEEPS_ANNEALED = 10, 30
"""Rotations tried for each product, none of them uphill, before a tree is annealed; and the least for annealing it."""

GAIN_BEFORE_ANNEALING = 0.99
"""The estimated time after the rotations downhill, relative to that before, from which a first plan is not annealed:
such trees hardly ever improve."""

SHARE_OF_TREE_SEARCH, LATER_SHARE_OF_TREE_SEARCH = 0.35, 1.4
"""The time of annealing a tree, as a share of the estimated time of its steps: at first, and after repeated
questions."""

MOST_ROTATIONS = 2**21
"""Rotations tried at most: by then nothing more is gained."""

ROTATIONS_UNINTERRUPTED = 300_000
"""Rotations above which a search heeds Ctrl-C."""

SHARPNESS = 5.0, 50.0
"""Annealing begins and ends with rotations that make two steps r times as expensive having the chance r to the power of
minus this."""

MOST_STAGES, FINAL_STAGES = 48, 8
"""Stages of annealing; in the last ones no rotation goes uphill."""

MOST_TREE_WORDS = 2**22
"""Words of the scopes of all products up to which a tree is rearranged."""

# Running: one compiled call.

WORK_OF_A_SHORT_RUN = 60_000
"""Multiplications (about 50 microseconds) up to which other threads wait for a run: to get the GIL back from one of
them takes as long."""

WORK_OF_A_FIRST_RUN = 200_000
"""Multiplications (about 100 microseconds) up to which a program runs in the call that compiles it, by loops alone: so
short, steps by panels gain less than a second call costs."""

WORK_UNDIVIDED = 1_000_000
"""Multiplications up to which a run has no steps that are worth several threads."""

FACTORS_UNINTERRUPTED = 2_000
"""Factors up to which a contraction is planned without checks for interrupts."""

ENTRIES_FOR_FREE_AXES = 2_500_000
"""Entries of all tensors from which the order of each tensor's axes is chosen: those of smaller programs stay in a
cache, where axes in any order take little time."""

ENTRIES_AT_A_LINE = 4096
"""Entries of a workspace from which it begins at a line of the cache: to find one takes longer than small ones gain."""

ENTRIES_SLICED, ENTRIES_OF_A_SLICE = 2**23, 3 * 2**16
"""Entries of a result from which it is made and read by slices, and of a slice: no cache holds the one, and the
second-level cache holds the other."""

ENTRIES_FOR_SHARED_PLACES, ENTRIES_WITH_SHARED_PLACES = 2_500_000, 4096
"""Entries of all tensors from which large ones of the reverse sweep have places in common, one after the other; and of
those that have."""

ENTRIES_FOR_PASSING = 2**27
"""Entries of all tensors from which those of a single sweep have places in common too, and nothing is left for the next
run: a gigabyte."""

TIMES_OF_MEMORY = 16
"""How many times the memory the tensors of a single sweep may have in all, since few are needed at a time."""

NANOSECONDS_FOR_THREADS = 200_000.0
"""Estimated time of a step from which several threads share it: to wake a thread and to wait for it takes about a tenth
of that."""

TURNS_PER_THREAD = 4
"""Turns in which each thread takes parts of a step: the last one is then waited for only briefly."""

WORK_UNINTERRUPTED = 100_000_000
"""Multiplications (about a tenth of a second) above which a run checks for interrupts."""

LOG_SLOWDOWN = 30
"""Time of a multiplication in log space, in multiplications."""

NANOSECONDS_OF_A_SEARCH = 1.8e9
"""Estimated time after which a search for best values is refused, if `until=` sets no other: of all its parts, and of
eliminations of which it is not known before how long they will take."""

NANOSECONDS_OF_ONE_MAXIMUM = 1e10
"""The longest elimination of a problem with functions of many variables whose time is known before it begins: a longer
one is refused at once. What was begun ends with an answer."""

ENTRIES_TAKEN = 2**20
"""Entries of a joint from which it is not copied if it is most of a workspace, which is then not used again."""

STATES_READ_BY_CLIQUE = 2**16
"""Joint states of the variables that a clique eliminates up to which they are read back together."""

WORK_OF_READING = 2**20
"""Multiplications (a few milliseconds) up to which all joint states of a clique with ties are compared."""

ENTRIES_READ_AT_ONCE = 2**18
"""Weights of joint states in different contexts that are in memory at a time while values are read back."""

# Zeros: smaller domains, and products over supports.

ENTRIES_FOR_SMALLER_DOMAINS = 10_000
"""Entries of all factors up to which a scan for zeros takes longer than the tables do."""

MOST_ENTRIES_PER_VARIABLE_FOR_SMALLER_DOMAINS = 800
"""Entries per variable above which a scan for zeros takes as long as planning."""

BITS_FOR_SMALLER_DOMAINS = 2.0
"""Powers of two by which factors must shrink on average before all tables leave out impossible states, which adds a
little time to every question."""

ENTRIES_BEFORE_NARROWING, TABLES_PER_LOOK_AT_ZEROS = 300_000, 200
"""Entries of all tables of one greedy order (about half a millisecond), and their ratio to the entries of all factors,
from which the zeros of the factors are looked at whatever the size of these."""

SHARE_OF_FEWER_STATES = 0.85
"""The largest share of the entries of all tables, or of their time, for which impossible states are then left out."""

PLAN_NANOSECONDS_PER_VARIABLE = 15_000.0
"""Time to plan and compile for a new observed set, per variable."""

RUN_NANOSECONDS_PER_ENTRY = 2.0
"""Time of its first run, per entry of the factors."""

SHRINK_NANOSECONDS_PER_ENTRY = 3.0
"""Time to lay out smaller factors, per entry of theirs."""

SAVING_FOR_FIRST_DOMAINS = 4.0
"""Ratio of the time that smaller tables save to the time to make them, from which the first values get their own."""

NANOSECONDS_FOR_OWN_STATES = 4_000_000.0
"""Estimated time of a run of best values from which each set of findings gets tables over the states that it leaves."""

BITS_FOR_OWN_STATES = 1.0
"""Powers of two by which factors must shrink on average for that."""

SHARE_OF_OWN_STATES = 0.5
"""The largest share of that time that their own tables take."""

DENSE_NANOSECONDS, SHARE_OF_CHANGED_WORK = 0.15, 0.7
"""Time of a multiplication in a large dense program, and the share of them that depends on changed findings."""

TRIPLE_NANOSECONDS = 1.7
"""Time of a product of two entries of supports, in one sweep."""

WORK_FOR_SUPPORTS = 1_000_000
"""Multiplications of a dense run below which no program over supports is considered."""

ZEROS_FOR_SUPPORTS = 0.25
"""The fraction of the factors' entries that must be zero before one is considered."""

USES_BEFORE_SUPPORTS = 100
"""Runs of a question before one is considered: making it takes as long as about twenty runs."""

MOST_TRIPLES, MOST_FAST_TRIPLES = 2**24, 2**21
"""The largest number of triples of a program over supports, and of one that is made for its speed: beyond that no cache
holds them, and a triple takes three times as long."""

TRIPLES_UNINTERRUPTED = 10**7
"""Triples above which a run over supports checks for interrupts."""

# Rows: many cases in blocks, on several threads.

ROW_PLAN_SECONDS_PER_VARIABLE = 5e-5
"""Estimated time to plan a row program for one observed set, per variable."""

ROW_SECONDS_PER_MULTIPLICATION = 4e-10
"""Time of a multiplication in one row of a block."""

BLOCK_SECONDS_PER_INSTRUCTION = 3e-8
"""Time to start an instruction, per block of rows."""

LANES = (32, 16, 8)
"""Rows in a block, the largest number first."""

CACHED_WORKSPACE_BYTES = 2 * 2**20
"""Bytes of a workspace up to which it stays in a core's cache; larger ones take fewer lanes."""

SHORT_WORKSPACE_BYTES = 16 * 2**20
"""Bytes of a workspace up to which the time of a task is as estimated; beyond, memory may be slower."""

SHORTEST_TASK_SECONDS, LONGEST_TASK_SECONDS = 2e-4, 0.25
"""Bounds on the time of one task of a batch: long enough to be worth a thread, short enough that progress is seen."""

TASK_SHARE = 4
"""Between these bounds, a task takes the remaining rows divided by this number."""

MOST_TASKS_OF_COUNTS = 64
"""Tasks among which counting is divided, each of which sums its own counts."""

ROWS_SAMPLED_FOR_REPEATS = 1024
"""Rows of a large batch that are compared first: if no two of them are equal, equal rows are not looked for."""

# Rows of models with real variables.

CONTEXTS_ENUMERATED_PER_ROW = 2**10
"""Joint contexts of a row up to which they are enumerated; a row with more is queried on its own."""

CHOICES_AT_ONCE = 2**17
"""About how many choices (a row in one of its joint contexts) are in memory at a time."""

GAIN_ENTRIES_AT_ONCE = 2**22
"""About how many entries of loadings and gains are in memory at a time."""

GAIN_ENTRIES_CACHED = 2**22
"""Entries of loadings and gains up to which they are cached for the next question with the same observed variables."""

TOLD_FIRST = 200
"""Auxiliaries that findings determine from which they are findings too, so that values of these share no program."""

NANOSECONDS_BEFORE_TELLING = 1e8
"""Estimated time of a run from which programs for these very findings are compared with those that all values share."""

ENTRIES_FOR_OWN_STATES = 2.0**15
"""Entries of all factors up to which too large tables are planned again, over the states that findings leave."""

NUMBERS_SWEPT = 1024
"""Hidden numbers up to which one sweep over a part of a network computes their covariances; more are eliminated."""

WEIGHTS_CARRIED_BACK, PAIRS_CARRIED_BACK = 2**24, 2**33
"""Weights of all ancestors in the real targets and findings of a question up to which these are sums over paths, if
their part is not swept; and products of two of them (about a second)."""

WEIGHTS_OF_ALL, TARGETS_TOGETHER = 3 * 2**28, 64
"""The same number of weights, and a quarter for each arc, for the marginals of all real variables (about ten seconds),
of which so many, or as many as there are findings, are sums over paths at a time."""

PAIRS_REVERSED, NEIGHBORS_REVERSED, TRIANGLES_REVERSED = 2**25, 2**25, 2**28
"""Pairs of numbers in the cliques of an order up to which the hidden numbers of a wide part are eliminated by the
reversal of arcs (a few seconds); neighbors in the graph that are read while the order is sought; and triangles in the
graph up to which it is."""

NUMBERS_AT_ONCE = 2**22
"""About how many numbers of rows that were eliminated so are in memory at a time."""

MOST_CONTEXT_ENTRIES = 2**28
"""The largest number of entries of the moments of real variables in all joint contexts; beyond it, `TooLarge`."""

REALS_TOGETHER = 2**12
"""Joint contexts up to which all real marginals are read from one sweep."""

CHOICES_CACHED = 2**20
"""Choices up to which their layout is cached for the next question about the same rows."""

MOMENT_ENTRIES_LISTED_ONCE = 2**24
"""Entries of the moments of all real variables, if no others are there, up to which these serve every question."""

MOMENT_ENTRIES_LISTED_OUTRIGHT = 2**18
"""Entries of the moments in all joint states up to which they are computed without estimating a sweep's size."""

# Trees: calibration once, or one elimination per question.

TREE_PASSES = 4
"""Cost of calibrating a tree by the factor protocol, in multiplications of a compiled elimination, per entry."""

TREE_WORK_PER_VARIABLE = 50_000
"""The same per variable."""

WORK_RETRACTED_OUTRIGHT = 1_000_000
"""Multiplications up to which one tree retracts all findings without an estimate of the cost of single queries."""

SPLITS_PER_MERGE_SEARCH = 20_000
"""Splits examined by the search for a merge order: about a tenth of a second."""

ENTRIES_OF_CACHED_CODES = 2**16
"""Entries of a clique up to which a sweep over all pairs caches the places of a marginal's entries."""

# Recursive conditioning.

SECONDS_PER_RECURSION_STEP = 6e-8
"""Time to visit one state of one node of a dtree."""

STATES_UNINTERRUPTED = 1_000_000
"""States visited between two returns to Python, where an interrupt is noticed."""

CONTEXTS_AT_ONCE = 4096
"""Contexts in one call of the compiled recursion."""

# One question by NumPy, without a plan (inference.exact.direct).

DIRECT_VARIABLES = 48
"""The most variables, ancestors of targets and findings, of a question that is answered without a plan. Each takes
about 8 microseconds; a program takes about 500 for the first and 10 for each further one."""

DIRECT_ENTRIES = 4096
"""The most entries of one product of such a question: NumPy's loops take about 5 nanoseconds for each."""

DIRECT_OPERANDS = 8
"""The most tables that are multiplied in one pass; the pass is over all their variables."""

# Complete rows, and sums before a maximization.

ENTRIES_OF_COMPLETE_ROWS = 4096
"""The most entries of all tables together for which complete rows are looked up; beyond that a program is faster."""

BYTES_SUMMED_OUT = 2**26
"""The bytes of a table over a boundary above which one elimination is left to do the sums."""

ENTRIES_OF_TABLED_CPD = 2**16
"""The entries of a table that is read instead of its CPD, if there are no more rows than that."""
