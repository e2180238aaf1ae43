r"""Rows of evidence about discrete variables and regressions: each row is a mixture over the contexts that it hides.

$$P(\mathbf o) = \sum_{\mathbf c} P(\mathbf c, \mathbf o_d)\, N(\mathbf o_r; \mu_{\mathbf c}, \Sigma_{\mathbf c}), \qquad
P(\mathbf c \mid \mathbf o) \propto P(\mathbf c, \mathbf o_d)\, N(\mathbf o_r; \mu_{\mathbf c}, \Sigma_{\mathbf c})$$

The first factor is a question about the discrete part of the problem, which any method may answer; the second one comes
from a sweep over the regressions. Where a relation has no noise, a context in which numbers found follow from others
outweighs one in which they have a density only.

Reference: Koller & Friedman, sections 14.2 and 14.3; Lauritzen (1992).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import LRU
from sepset.errors import TooLarge
from sepset.factors.moments import GaussianMixture
from sepset.factors.regression import Regression
from sepset.inference.capabilities import answer_rows, best_rows, draw_rows, summed_marginals
from sepset.inference.evidencerows import EvidenceRows, RowMoments, RowValues, Workers
from sepset.inference.hybrid.choices import Choices, Part
from sepset.inference.hybrid.conditioning import CompletedRows
from sepset.inference.hybrid.coordinates import Coordinates
from sepset.inference.method import Prepared
from sepset.variables.variable import Real

MANY = 2**10
"""Up to this many joint contexts of a row are enumerated; rows with more are asked about one by one."""

MOST = 2**16
"""Expected statistics have to enumerate; a row with more joint contexts is refused."""
