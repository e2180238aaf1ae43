"""An image cut into object and background by one minimum cut, with the proof that no other segmentation is better."""

import sys
import time

import matplotlib as mpl
import numpy as np
from rich.console import Console

import sepset as ss

NOISE, SMOOTHNESS = 1.2, 2.0


def blobs(size: int, rng: np.random.Generator) -> np.ndarray:
    """A picture of some round objects."""
    rows, columns = np.indices((size, size)) / size
    picture = np.zeros((size, size), bool)
    for _ in range(8):
        y, x, radius = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), rng.uniform(0.04, 0.15)
        picture |= (rows - y) ** 2 + (columns - x) ** 2 < radius**2
    return picture


def segmented(seen: np.ndarray) -> tuple[ss.inference.MapResult, np.ndarray]:
    """The best segmentation under a Potts model: object has mean one, background zero, neighbors agree."""
    pixel = ss.Discrete.array("pixel", seen.shape)
    logs = -0.5 * np.stack([seen**2, (seen - 1.0) ** 2], axis=-1) / NOISE**2
    found = ss.map_assignment(ss.MarkovNet.potts(pixel, SMOOTHNESS, log_values=logs), method=ss.MinCut())
    return found, found[pixel]


def draw(pictures: dict[str, np.ndarray], path: str) -> None:
    """The pictures in a row."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(4 * len(pictures), 4))
    for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture, cmap="gray", interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    rng = np.random.default_rng(0)
    truth = blobs(size, rng)
    seen = truth + rng.normal(0.0, NOISE, truth.shape)
    start = time.perf_counter()
    found, labels = segmented(seen)
    seconds = time.perf_counter() - start
    alone = (seen > 0.5) == truth
    console = Console()
    console.print(f"{size} x {size} pixels in {seconds:.2f} s: {found.guarantees['assignment']!r}, gap {found.gap:g}")
    console.print(f"right pixels: {alone.mean():.2%} one by one, {(labels == truth).mean():.2%} together")
    console.print(f"the flow proves it: {found.certificate.check()}")
    draw({"truth": truth, "seen": seen, "minimum cut": labels}, "segmentation.png")


if __name__ == "__main__":
    main()
