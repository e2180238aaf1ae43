"""The UAI 2014 instances with their published answers and times, if they are available."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.networks import ROOT

# The published answer of relational_2 is not that of the file: its 250 parts are independent, two variables with fifty
# others attached to them, and without evidence in its part P(x0 = 1) sums by hand to 0.835056 while the answer says
# 0.835647 (and similarly for every such variable). It is compared with the sum by hand, `stars`.
SUMMED_BY_HAND = ("relational_2",)


def folder() -> Path:
    """The folder of instances: `uai` in `SEPSET_SHARED`, or in `shared` next to the repository."""
    return Path(os.environ.get("SEPSET_SHARED", ROOT.parent / "shared")) / "uai"


def names() -> list[str]:
    """The instances of PR and MAR, by name."""
    found = folder().glob("mar/*.uai.evid")
    return sorted(path.name.removesuffix(".uai.evid") for path in found)


def file(name: str, suffix: str = "") -> Path:
    """One of an instance's files, compressed or not."""
    plain = folder() / "mar" / f"{name}.uai{suffix}"
    return plain if plain.is_file() else plain.with_name(f"{plain.name}.gz")


@dataclass(frozen=True)
class Answers:
    """The correct answers of an instance.

    Attributes:
        log10: log10 of the partition function.
        slack: half a unit in the last printed place of `log10`.
        rows: the marginal of each variable, by position.
    """

    log10: float
    slack: float
    rows: tuple[Any, ...]


def load(name: str) -> tuple[Any, dict[str, Any]]:
    """The model and its evidence."""
    import sepset as ss

    model = ss.read(file(name))
    return model, ss.io.read_evidence(file(name, ".evid"), model)


def answers(name: str, model: Any, evidence: Mapping[str, Any]) -> Answers:
    """The published answers, or the sums by hand."""
    import sepset as ss

    if name in SUMMED_BY_HAND:
        return stars(model, evidence)
    printed = file(name, ".PR").read_text().split()[-1]
    marginals: Any = ss.io.read_result(file(name, ".MAR"))
    return Answers(float(printed), last_place(printed), marginals.rows)


def last_place(printed: str) -> float:
    """Half a unit in the last place of six significant digits, the precision of the printed answers.

    >>> last_place("-38.5556"), last_place("303.086"), last_place("63.1467")
    (5e-05, 0.0005, 5e-05)
    """
    digits = 5 - math.floor(math.log10(abs(float(printed))))
    return 0.5 * 10.0**-digits


def published_times() -> dict[str, dict[str, float]]:
    """Seconds for all marginals by instance and library, on other hardware."""
    path = folder() / "published-times.csv"
    times: dict[str, dict[str, float]] = {}
    if path.is_file():
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                times.setdefault(row["problem"], {})[row["library"]] = float(row["execution_time"])
    return times


def stars(model: Any, evidence: Mapping[str, Any]) -> Answers:
    r"""The answers if each part is a pair of variables with others attached to it, summed by hand.

    $$Z = \prod_{\text{parts}} \sum_{x, z} u(x)\, v(z)\, p(x, z) \prod_i \sum_{y_i} l_i(y_i)\, t_i(x, y_i, z)$$
    """
    place = {v.name: i for i, v in enumerate(model.variables)}
    factors = [(tuple(place[v.name] for v in f.scope), np.asarray(f.values)) for f in model.factors]
    single = [np.ones(2) for _ in place]
    for scope, values in factors:
        if len(scope) == 1:
            single[scope[0]] = single[scope[0]] * values
    for name, state in evidence.items():
        code = model.variables[name].states.index(state)
        single[place[name]] = single[place[name]] * np.eye(2)[code]
    pairs = {scope: values * np.outer(*(single[v] for v in scope)) for scope, values in factors if len(scope) == 2}
    leaves = [(scope, values) for scope, values in factors if len(scope) == 3]
    for (x, y, z), values in leaves:
        pairs[x, z] = pairs[x, z] * np.einsum("xyz,y->xz", values, single[y])
    rows: list[Any] = [None for _ in place]
    for (x, z), joint in pairs.items():
        rows[x], rows[z] = joint.sum(1) / joint.sum(), joint.sum(0) / joint.sum()
    for (x, y, z), values in leaves:
        rest = pairs[x, z] / np.einsum("xyz,y->xz", values, single[y])
        whole = np.einsum("xz,xyz,y->y", rest, values, single[y])
        rows[y] = whole / whole.sum()
    log10 = sum(math.log10(joint.sum()) for joint in pairs.values())
    return Answers(log10, 1e-9 * abs(log10), tuple(rows))
