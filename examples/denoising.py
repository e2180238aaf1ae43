"""A noisy picture of 16 gray levels restored by five methods: energy against time, above one bound for all."""

import sys
import time

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import sepset as ss

LEVELS, NOISE, SHARES = 16, 2.5, (0.1, 0.2, 0.4, 0.7, 1.0)
METHODS = {
    "ICM": ss.ICM(),
    "max-product": ss.LoopyBP(0.5),
    "swaps": ss.AlphaBetaSwap(),
    "expansions": ss.AlphaExpansion(),
    "TRW-S": ss.TRWS(),
}


def picture(size: int) -> np.ndarray:
    """Gray levels: a slope with a dark disk and a bright box."""
    rows, columns = np.indices((size, size)) / size
    levels = np.floor(3 + 6 * columns)
    levels[(rows - 0.35) ** 2 + (columns - 0.35) ** 2 < 0.04] = 1
    levels[(abs(rows - 0.7) < 0.15) & (abs(columns - 0.65) < 0.2)] = 14
    return levels.astype(int)


def model(seen: np.ndarray) -> tuple[ss.MarkovNet, ss.variables.VariableArray]:
    """Squared distances from what was seen, and truncated linear costs of unequal neighbors."""
    pixel = ss.Discrete.array("pixel", seen.shape, states=LEVELS)
    logs = -0.5 * ((seen[..., None] - np.arange(LEVELS)) / NOISE) ** 2
    alone = ss.potentials.over_scopes(
        np.arange(len(pixel))[:, None], logs.reshape(-1, LEVELS), array=pixel, space="log"
    )
    smooth = ss.potentials.pairwise(pixel.grid_edges(), ss.potentials.TruncatedLinear(0.7, 4.0))
    return ss.MarkovNet(alone, smooth), pixel


def timed(net: ss.MarkovNet, method: object, seconds: float) -> tuple[ss.inference.MapResult, float]:
    """The assignment after this many seconds, and the seconds that it took."""
    start = time.perf_counter()
    found = ss.map_assignment(net, method=method, until=ss.Until(seconds=seconds), progress=False)
    return found, time.perf_counter() - start


def draw(curves: dict[str, list[tuple[float, float]]], bound: float, pictures: dict[str, np.ndarray]) -> None:
    """The pictures in a row, and the energy of each method against time."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = 3.2 * (len(pictures) + 1), 3.2
    figure, axes = plt.subplots(1, len(pictures) + 1, figsize=size, layout="constrained")
    for axis, (name, levels) in zip(axes, pictures.items(), strict=False):
        axis.imshow(levels, cmap="gray", vmin=0, vmax=LEVELS - 1, interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
    for name, points in curves.items():
        axes[-1].plot(*zip(*points, strict=True), "o-", label=name)
    axes[-1].axhline(-bound, linestyle=":", color="gray", label="bound")
    axes[-1].set(xlabel="seconds", ylabel="energy")
    axes[-1].legend(fontsize=7)
    figure.savefig("denoising.png", dpi=120)


def main() -> None:
    size, seconds = (float(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (40, 0.2)
    truth = picture(int(size))
    seen = truth + np.random.default_rng(0).normal(0.0, NOISE, truth.shape)
    net, pixel = model(seen)
    for method in METHODS.values():
        timed(net, method, 0.01)  # loads what it needs
    runs = {name: [timed(net, method, share * seconds) for share in SHARES] for name, method in METHODS.items()}
    bound = min(found.bound for each in runs.values() for found, _ in each)
    table = Table("method", "seconds", "energy", "above the bound", "mean error")
    for name, each in runs.items():
        found, took = each[-1]
        error, gap = np.abs(found[pixel] - truth).mean(), (bound - found.log_value) / abs(bound)
        table.add_row(name, f"{took:.2f}", f"{-found.log_value:.1f}", f"{gap:.3%}", f"{error:.3f}")
    Console().print(f"{int(size)} x {int(size)} pixels, {LEVELS} levels; no energy is below {-bound:.1f}", table)
    curves = {name: [(took, -found.log_value) for found, took in each] for name, each in runs.items()}
    best = max((each[-1][0] for each in runs.values()), key=lambda found: found.log_value)
    draw(curves, bound, {"truth": truth, "seen": np.clip(seen, 0, LEVELS - 1), "restored": best[pixel]})


if __name__ == "__main__":
    main()
