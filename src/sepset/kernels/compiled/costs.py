"""The costs of a single instruction: nanoseconds, measured on one core of an x86-64 server.

Each is the slope of time against the counted quantity in programs of the networks in `benchmarks/`. They choose between
loops and matrix products and the order of loops, never an answer. The constants of plans and runs are in
`inference.costs`.
"""

from __future__ import annotations

LOOP_PRODUCT = 0.05
"""One product in a vectorized inner loop."""

STEP_TO_NEIGHBOR = 0.08
"""Added for each operand that moves to the next entry with every product."""

STEP_IN_LINE = 0.4
"""Added for each operand that moves within a cache line."""

STEP_BEYOND_LINE = 1.2
"""Added for each operand that moves further."""

INNER_LOOP = 2.5
"""Start of an innermost loop."""

THREE_LOOPS = 10.0
"""Start of the three innermost loops."""

MATRIX_PRODUCT = 0.08
"""One multiplication of a matrix product."""

PACKED_ENTRY = 1.2
"""One entry packed for a matrix product, or unpacked from one."""

REPACKED_ENTRY = 2.0
"""The same for loops, whose tensors are larger than a cache."""

PACKED_PRODUCTS = 2**16
"""Products of loops from which packed tensors are considered."""

MATRIX_CALL = 350.0
"""Start of a matrix product."""

LINE_ENTRIES = 8
"""Entries in a cache line."""

CACHED_ENTRIES = 16384
"""Entries that stay in the second-level cache while others are streamed."""
