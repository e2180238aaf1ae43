"""Depths of a scene from two views: five methods against one bound, and the quality that each reaches in its time."""

import sys
import time
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import sepset as ss

LABELS, NOISE = 16, 0.15
METHODS = {
    "ICM": ss.ICM(),
    "max-product": ss.LoopyBP(0.5),
    "swaps": ss.AlphaBetaSwap(),
    "expansions": ss.AlphaExpansion(),
    "TRW-S": ss.TRWS(),
}


def scene(size: int) -> np.ndarray:
    """Depths: a slanted ground with two boxes and a disk in front of it."""
    rows, columns = np.indices((size, size)) / size
    depth = np.floor(2 + 5 * rows)
    depth[(abs(rows - 0.3) < 0.15) & (abs(columns - 0.3) < 0.12)] = 11
    depth[(abs(rows - 0.65) < 0.2) & (abs(columns - 0.72) < 0.1)] = 14
    depth[(rows - 0.7) ** 2 + (columns - 0.3) ** 2 < 0.02] = 9
    return depth.astype(int)


def model(depth: np.ndarray, rng: np.random.Generator) -> tuple[ss.MarkovNet, ss.variables.VariableArray]:
    """Costs of matching two noisy views at each depth, and truncated linear costs of unequal neighbors."""
    size = len(depth)
    texture = rng.random((size, size + LABELS))
    left = np.take_along_axis(texture, np.arange(size) + depth, axis=1) + rng.normal(0.0, NOISE, depth.shape)
    right = texture + rng.normal(0.0, NOISE, texture.shape)
    costs = np.stack([np.abs(left - right[:, label : label + size]) for label in range(LABELS)], axis=-1)
    pixel = ss.Discrete.array("pixel", depth.shape, states=LABELS)
    views = ss.potentials.over_scopes(
        np.arange(len(pixel))[:, None], -4.0 * np.minimum(costs, 0.8).reshape(-1, LABELS), array=pixel, space="log"
    )
    smooth = ss.potentials.pairwise(pixel.grid_edges(), ss.potentials.TruncatedLinear(0.8, 3.0))
    return ss.MarkovNet(views, smooth), pixel


def run(net: ss.MarkovNet, seconds: float) -> Iterator[tuple[str, ss.inference.MapResult, float]]:
    """Each method with the same time."""
    for name, method in METHODS.items():
        start = time.perf_counter()
        found = ss.map_assignment(net, method=method, until=ss.Until(seconds=seconds), progress=False)
        yield name, found, time.perf_counter() - start


def draw(pictures: dict[str, np.ndarray], path: str) -> None:
    """The depths in a row."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(3 * len(pictures), 3))
    for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture, cmap="viridis", vmin=0, vmax=LABELS - 1, interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    size, seconds = (float(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (64, 0.5)
    depth = scene(int(size))
    net, pixel = model(depth, np.random.default_rng(0))
    results = list(run(net, seconds))
    bound = min(found.bound for _, found, _ in results)
    table = Table("method", "seconds", "energy", "above the bound", "right within one")
    for name, found, took in results:
        right = (abs(found[pixel] - depth) <= 1).mean()
        gap = (bound - found.log_value) / abs(bound)
        table.add_row(name, f"{took:.2f}", f"{-found.log_value:.1f}", f"{gap:.3%}", f"{right:.1%}")
    Console().print(f"{int(size)} x {int(size)} pixels, {LABELS} depths; no energy is below {-bound:.1f}", table)
    draw({"truth": depth, **{name: found[pixel] for name, found, _ in results}}, "stereo.png")


if __name__ == "__main__":
    main()
