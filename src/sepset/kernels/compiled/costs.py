"""The costs of a single instruction: nanoseconds, measured on one core of an x86-64 server.

Each is the slope of time against the counted quantity in programs of the networks in `benchmarks/`. They choose between
loops and panels and the order of loops, never an answer. The constants of plans and runs are in
`inference.costs`.
"""

from __future__ import annotations

LOOP_PRODUCT = 0.09
"""One product in a vectorized inner loop."""

STEP_TO_NEIGHBOR = 0.035
"""Added for each operand that moves to the next entry with every product."""

STEP_IN_LINE = 0.17
"""Added for each operand that moves within a cache line."""

STEP_BEYOND_LINE, STEP_BEYOND_CACHE = 0.29, 1.2
"""Added for each operand that moves further: if the second-level cache holds the tensors of a step, or not."""

STEP_TO_MEMORY = 3.0
"""Added for each large operand of whose lines one entry at a time is used, long before the next."""

INNER_LOOP, OTHER_STRIDES = 3.0, 1.2
"""Start of an innermost loop; and added for strides that have no loop of their own."""

THREE_LOOPS = 25.0
"""Start of the three innermost loops."""

TILED_PRODUCT = 5.0
"""One product of loops by tiles."""

PANEL_PRODUCT = 0.045
"""One multiplication of a panel."""

PANEL_ENTRY, PANEL_VECTOR = 0.6, 1.9
"""One entry packed for panels, or a vector of neighbors."""

SCATTERED_ENTRY = 1.1
"""Added for each entry of a result whose columns are not neighbors."""

PANEL, BATCH_STATE, PANELS_CALL = 20.0, 100.0, 750.0
"""Start of a panel, of one of several products, and of all of them."""

COLUMNS, ROWS = 2048, 2**14
"""Columns and rows of a product by panels from which more of them are other products."""

REPACKED_ENTRY = 2.0
"""One entry packed for loops, whose tensors are larger than a cache, or unpacked from them."""

PACKED_PRODUCTS = 2**16
"""Products of loops from which packed tensors are considered."""

LINE_ENTRIES = 8
"""Entries in a cache line."""

ALIGNED_ENTRIES = 64
"""Entries of a tensor from which it begins at a line."""

CACHED_ENTRIES = 16384
"""Entries that stay in the second-level cache while others are streamed."""

NEAR_ENTRIES, NEAR_PASSES = 2**17, 12
"""Entries that the second-level cache holds; and passes of loops until the next entry of a line, up to which the line
is still in the first-level cache."""
