"""Error rates of a random code of 1,000 bits, each in three checks of six, decoded by sums and by maxima."""

import sys

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

import sepset as ss

ERRORS = (0.03, 0.05, 0.06, 0.07, 0.08, 0.1)


def random_checks(num_bits: int, rng: np.random.Generator) -> np.ndarray:
    """The bits of random checks of six, every bit in three different ones."""
    checks = rng.permutation(np.repeat(np.arange(num_bits), 3)).reshape(-1, 6)
    while any(len(set(row)) < 6 for row in checks.tolist()):
        for row, bits in enumerate(checks):
            for place in range(6):
                if (bits == bits[place]).sum() > 1:  # a bit that is there twice changes places with any other
                    other = rng.integers(len(checks)), rng.integers(6)
                    checks[row, place], checks[other] = checks[other], checks[row, place]
    return checks


def received(checks: np.ndarray, flipped: np.ndarray, error: float) -> tuple[ss.MarkovNet, ss.variables.VariableArray]:
    """The code after the word of all zeros went through a channel that flips bits."""
    bit = ss.Discrete.array("bit", len(flipped))
    seen = np.log([[1.0 - error, error], [error, 1.0 - error]])[flipped.astype(int)]
    channel = ss.potentials.over_scopes(np.arange(len(flipped))[:, None], seen, array=bit, space="log")
    return ss.MarkovNet(channel, ss.potentials.over_scopes(checks, ss.potentials.Parity(), array=bit)), bit


def measured(num_bits: int, num_words: int, seed: int = 0) -> dict[str, list[float]]:
    """For each error of the channel, the share of wrong bits before decoding, and after by sums and by maxima."""
    rng = np.random.default_rng(seed)
    checks, rates = random_checks(num_bits, rng), {"channel": [], "sums": [], "maxima": []}
    for error in ERRORS:
        wrong = np.zeros((num_words, 3))
        for word in range(num_words):
            flipped = rng.random(num_bits) < error
            net, bit = received(checks, flipped, error)
            beliefs = ss.marginals(net, method=ss.LoopyBP(0.0, until=50))
            best = ss.map_assignment(net, method=ss.LoopyBP(0.2, until=50), progress=False)
            ones = np.array([beliefs[f"bit[{i}]"].values[1] > 0.5 for i in range(num_bits)])
            wrong[word] = flipped.mean(), ones.mean(), best[bit].mean()
        for name, rate in zip(rates, wrong.mean(axis=0).tolist(), strict=True):
            rates[name].append(rate)
    return rates


def draw(rates: dict[str, list[float]], path: str) -> None:
    """The error rates as a picture."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name, values in rates.items():
        axes.semilogy(ERRORS, np.maximum(values, 1e-5), marker="o", label=name)
    axes.set(xlabel="probability that the channel flips a bit", ylabel="share of wrong bits")
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    num_bits, num_words = (int(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (1000, 2)
    rates = measured(num_bits, num_words)
    table = Table("flipped", *rates)
    for place, error in enumerate(ERRORS):
        table.add_row(f"{error:.2f}", *(f"{values[place]:.4f}" for values in rates.values()))
    Console().print(table)
    draw(rates, "ldpc.png")


if __name__ == "__main__":
    main()
