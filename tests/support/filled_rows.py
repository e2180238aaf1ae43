"""Rows over all variables with missing cells, and the same rows with those filled in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.completion import complete_rows, draw_rows, mean_rows, mode_rows
from sepset.inference.evidencerows import EvidenceRows, Workers


@dataclass(frozen=True)
class Cells:
    """Codes with -1, and numbers with NaN, where missing; `discrete` and `real` are the positions of the columns."""

    discrete: tuple[int, ...]
    codes: np.ndarray
    real: tuple[int, ...]
    reals: np.ndarray

    def __len__(self):
        return len(self.codes)

    def repeated(self, times):
        return replace(self, codes=np.tile(self.codes, (times, 1)), reals=np.tile(self.reals, (times, 1)))

    @property
    def evidence(self):
        return EvidenceRows(self.discrete, np.asarray(self.codes, np.int32), self.real, self.reals).found()


def filled(net, cells, kind, seed=0, wanted=None, prepared=None):
    """The cells with the wanted columns filled in, and the log values of the rows."""
    prepared = CliqueTree().prepare(net.problem()) if prepared is None else prepared
    targets = list(range(len(net.variables)) if wanted is None else wanted)
    workers, rows = Workers(1), cells.evidence
    if kind == "map":
        made, log_value = complete_rows(prepared, rows, workers)
    elif kind == "draw":
        made, log_value = draw_rows(prepared, rows, targets, np.random.default_rng(seed), workers)
    else:
        made, log_value = (mode_rows if kind == "mode" else mean_rows)(prepared, rows, targets, workers)
    whole = made.over(cells.discrete, cells.real)
    codes = np.where([p in targets for p in cells.discrete], whole.codes, cells.codes)
    reals = np.where([p in targets for p in cells.real], whole.reals, cells.reals)
    return replace(cells, codes=codes, reals=reals), log_value
