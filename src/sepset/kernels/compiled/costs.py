"""What one instruction of a program costs: nanoseconds, measured on one core of a current x86-64 server.

Each was measured as the slope of time over the counted quantity, in programs of the networks in `benchmarks/`. They
decide between loops and matrix products and the order of loops, never an answer. Those of whole plans and runs are in
`inference.compiled.costs`.
"""

from __future__ import annotations

LOOP_PRODUCT = 0.05
"""A product of two numbers in an inner loop, vectorized."""

STEP_TO_NEIGHBOR = 0.08
"""More for each operand that moves to the next entry with every product."""

STEP_IN_LINE = 0.4
"""More for each that moves within a cache line."""

STEP_BEYOND_LINE = 1.2
"""More for each that moves further."""

INNER_LOOP = 2.5
"""The start of an innermost loop."""

THREE_LOOPS = 10.0
"""The start of the three innermost loops."""

MATRIX_PRODUCT = 0.08
"""A multiplication inside a matrix product."""

PACKED_ENTRY = 1.2
"""An entry packed for a matrix product, or unpacked from one."""

MATRIX_CALL = 350.0
"""The start of a matrix product."""

LINE_ENTRIES = 8
"""Entries of a cache line."""

CACHED_ENTRIES = 16384
"""Entries that stay in the second cache while others stream past."""
