"""The columns of an instruction, which is a row of integers: a step over one workspace, and how it runs.

Offsets are into the workspace. A group is a run of axes that every operand steps through as one; groups are rows of a
table, selected by the first and their number.
"""

from __future__ import annotations

# How a step runs; its result and operands, and their numbers among the tensors; its nested loops.
KIND, DST, A, B, SIZE, TENSOR_D, TENSOR_A, TENSOR_B, FIRST, COUNT = range(10)
LOOPS, PANELS, PACKED = 0, 1, 2

# Panels: the groups of the four roles of axes one after the other (batch, rows, terms, columns), their number and the
# states of each role, and whether the second operand has the rows.
ROLES, NUM_BATCH, NUM_ROWS, NUM_TERMS, NUM_COLUMNS, BATCH, M, K, N, SWAPPED = range(10, 20)

# Packed loops: the groups that pack a and b and unpack the result, the entries of a and b, and the loops over them.
PACK_A, COUNT_A, PACK_B, COUNT_B, UNPACK, COUNT_D, ROOM_A, ROOM_B, LOOPED, COUNT_L = range(10, 20)

# Where packed tensors are; and one if the place of the result is also that of others, which it does not outlast: then
# it is due in every run.
SCRATCH, ALWAYS = 20, 21
WIDTH = 22

# Columns of a factor's row: its target, the groups that copy it, its source, and its findings.
TO, COPIES, NUM_COPIES, FROM, FIXED, END_FIXED = range(6)

# Columns of a group: its size, and its strides in the first operand, the second, and the result.
SIZE_OF, STRIDE_A, STRIDE_B, STRIDE_D = range(4)
