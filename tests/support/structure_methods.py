"""Every public method of structure learning, by what it takes, and rows for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import sepset as ss

ST = ss.structure
DATA = ss.datasets.load("asia").sample(400, seed=3)
NAMES = list(DATA.variables.names)
RNG = np.random.default_rng(5)
REALS = {name: RNG.normal(size=60) for name in "abcd"}

SEARCHES: list[Any] = [
    ss.HillClimb(tabu=5, restarts=1), ss.GES(), ST.GIES(), ST.KES(runs=3), ST.BOSS(), ST.GRaSP(), ST.OBS(),
    ST.FirstAscent(2), ST.Annealing(rounds=5), ST.DataPerturbation(3), ST.BasinFlooding(5), ST.PlateauWalk(5),
    ST.OptimalReinsertion(1), ST.SparseCandidate(3), ST.TreeSearch(), ST.ModuleSearch(2), ss.MMHC(),
    ST.MMHC(candidates=ST.HPC()), ss.StructuralEM(), ST.SelectiveClustering(2), ST.FindHidden(max_candidates=2),
]  # fmt: skip
MIXTURES: list[Any] = [ST.MixtureOfTrees(2), ST.MixtureOfNetworks(2)]
WITHOUT: list[Any] = [
    ss.ExactSearch(), ss.ChowLiu(), ST.Branching(), ST.KnownOrder(NAMES), ST.KnownOrder(NAMES, is_greedy=True),
    ST.CandidateGraph(ss.UndirectedGraph(NAMES)), ST.LatentTree(), ST.Forest(), ss.StructuralEM(ss.ExactSearch()),
    ss.MMHC(search=ss.ExactSearch()), ST.FindHidden(ss.ExactSearch()),
]  # fmt: skip
BY_TESTS: list[Any] = [
    ss.PC(), ss.FCI(), ST.RFCI(), ST.SGS(), ST.IC(), ST.Cheng(), ST.GrowShrink(), ST.IAMB(), ST.InterIAMB(),
    ST.FastIAMB(), ST.MMPC(), ST.HPC(),
]  # fmt: skip
BY_PENALTY: list[Any] = [ss.GraphicalLasso(), ST.NeighborhoodSelection()]
CHAINS: list[Any] = [
    ss.OrderMCMC(num_samples=12), ss.PartitionMCMC(num_samples=12), ss.StructureMCMC(num_samples=12),
    ST.BootstrapStructures(ss.HillClimb(), 4), ST.BootstrapStructures(ss.PC(), 4),
]  # fmt: skip
SUMS: list[Any] = [
    ST.Exhaustive(), ST.TianHe(), ST.KoivistoSood(), ST.TreePosterior(), ST.AlongOrder(NAMES), ST.BestStructures(5),
]  # fmt: skip


def binary_rows() -> dict[str, list[int]]:
    """Columns of the same two states, as modules need them."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 200)
    return {name: np.where(rng.random(200) < 0.2, 1 - first, first).tolist() for name in "abcdef"}


def rows_for(method: object) -> Any:
    """Rows that a method takes."""
    if isinstance(method, ST.ModuleSearch):
        return binary_rows()
    if isinstance(method, ST.Exhaustive):
        return DATA.select(NAMES[:5])
    return REALS if method in BY_PENALTY else DATA


def score_for(method: object) -> Any:
    """A score that a method needs, where the default is none."""
    return ss.BDeu(1.0) if isinstance(method, ST.ModuleSearch) else None
