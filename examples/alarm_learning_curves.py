"""How much data do the parameters of ALARM need? Learning curves with priors of different strength.

Rows are drawn from the network, its structure is given, and parameters are learned by `Bayes(BDeu(alpha))`; alpha is
the equivalent sample size of the whole network. The measure is the exact divergence from the true network, in nats, by
families. Reference: Koller & Friedman, box 17.C; the published numbers were computed independently of this library.

Usage: python examples/alarm_learning_curves.py [plot.png] [--quick]
"""

from __future__ import annotations

import sys

import matplotlib as mpl
from rich.console import Console
from rich.table import Table

import sepset as ss
from sepset.cpds.priors.dirichlet import BDeu
from sepset.learning.estimation.estimators import MLE, Bayes
from sepset.learning.evaluation.learningcurve import LearningCurveResult, learning_curve
from sepset.learning.evaluation.validation import Learner

SIZES = (100, 250, 500, 1000, 2000, 5000, 20_000)
ALPHAS = (1, 5, 10, 20, 50, 100)
PUBLISHED = {
    "alpha = 1": (1.298, 0.707, 0.430, 0.231, 0.132, 0.060, 0.0164),
    "alpha = 5": (1.021, 0.506, 0.308, 0.166, 0.094, 0.044, 0.0130),
    "alpha = 10": (1.198, 0.537, 0.307, 0.160, 0.087, 0.040, 0.0119),
    "alpha = 20": (1.775, 0.742, 0.388, 0.191, 0.095, 0.041, 0.0116),
    "alpha = 50": (3.560, 1.538, 0.769, 0.364, 0.166, 0.061, 0.0143),
    "alpha = 100": (5.940, 2.832, 1.470, 0.712, 0.323, 0.112, 0.0225),
    "MLE, floor 1e-3": (1.677, 0.864, 0.457, 0.227, 0.124, 0.053, 0.0142),
    "MLE, floor 1e-6": (4.477, 2.344, 1.234, 0.608, 0.331, 0.135, 0.0297),
}


def procedures(alarm: ss.BayesNet) -> dict[str, Learner]:
    """One learner per curve. Plain maximum likelihood gives zeros, so that its divergence is infinite."""
    bayes = {f"alpha = {alpha}": Learner(alarm, Bayes(BDeu(alpha))) for alpha in ALPHAS}
    floored = {
        f"MLE, floor {text}": Learner(alarm, MLE(unseen="uniform", floor=float(text))) for text in ("1e-3", "1e-6")
    }
    return {**bayes, **floored, "MLE": Learner(alarm, MLE(unseen="uniform"))}


def curves(sizes: tuple[int, ...] = SIZES, repeats: int = 10, seed: int = 1) -> LearningCurveResult:
    """The divergence of every learner at every size, with repetitions."""
    alarm = ss.datasets.load("alarm")
    return learning_curve(procedures(alarm), alarm, sizes=sizes, repeats=repeats, seed=seed)


def compared(found: LearningCurveResult) -> Table:
    """A table of our means and the published ones."""
    table = Table(
        "rows", *found.values, title="KL from the true network in nats: here / published", title_justify="left"
    )
    for place, size in enumerate(found.sizes):
        cells = []
        for name in found.values:
            theirs = PUBLISHED[name][SIZES.index(size)] if name in PUBLISHED else float("inf")
            cells.append(f"{found.mean(name)[place]:.3g} / {theirs:.3g}")
        table.add_row(f"{size:,}", *cells)
    return table


def picture(found: LearningCurveResult, path: str) -> None:
    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    found.plot(axes)
    axes.set_title("ALARM: parameters learned from M rows, true structure")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    paths = [a for a in arguments if not a.startswith("--")]
    found = curves(SIZES[:4], repeats=3) if quick else curves()
    console = Console(width=170)
    console.print(compared(found))
    console.print(
        f"log-log slope at alpha = 5: {found.slope('alpha = 5'):.2f}, at alpha = 50: {found.slope('alpha = 50'):.2f}"
    )
    console.print("Plain maximum likelihood gives unseen states probability zero: its divergence is infinite.")
    path = paths[0] if paths else "alarm_learning_curves.png"
    picture(found, path)
    console.print(f"The plot is in {path}.")


if __name__ == "__main__":
    main(sys.argv[1:])
