"""Array types for signatures: one name per kind of number."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Probabilities, weights, values of factors."""

Ints: TypeAlias = NDArray[np.int64]
"""Codes of states, positions, counts of entries."""

Floats32: TypeAlias = NDArray[np.float32]
"""Numbers of which few digits matter, and counts below $2^{24}$."""

Bools: TypeAlias = NDArray[np.bool_]
"""Masks of selected entries."""

Bytes: TypeAlias = NDArray[np.uint8]
"""Flags that kernels read and write."""

Int16s: TypeAlias = NDArray[np.int16]
"""Codes of columns with few distinct values."""

Int32s: TypeAlias = NDArray[np.int32]
"""Compact codes and graph nodes."""

UInt32s: TypeAlias = NDArray[np.uint32]
"""Compact positions in large tables."""

UInt64s: TypeAlias = NDArray[np.uint64]
"""Bit sets and hashes."""

AnyInts: TypeAlias = NDArray[np.integer[Any]]
"""Integers of any width."""

Objects: TypeAlias = NDArray[np.object_]
"""Python objects, such as labels of states."""

AnyArray: TypeAlias = NDArray[Any]
"""Numbers of any kind."""
