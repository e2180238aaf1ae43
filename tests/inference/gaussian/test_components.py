"""Parts of a network that share no hidden number."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.inference.gaussian.components import components
from sepset.inference.gaussian.conditioning import FOUND, MISSING
from sepset.inference.gaussian.coordinates import Coordinates

C, D = ss.Discrete("c"), ss.Discrete("d", 3)
X, Y, Z, W = map(ss.Real, "xyzw")
NET = ss.BayesNet(
    ss.TableCPD(C, [0.5, 0.5]),
    ss.TableCPD(D, [0.2, 0.3, 0.5]),
    ss.LinearGaussian(X, [0.0, 1.0], covariance=[1.0, 2.0], by=C),
    ss.LinearGaussian(Y, 0.0, coefficients=1.0, covariance=1.0, given=X),
    ss.LinearGaussian(Z, [0.0, 1.0, 2.0], coefficients=[1.0, 2.0, 3.0], covariance=[1.0, 1.0, 1.0], given=Y, by=D),
    ss.LinearGaussian(W, [0.0, 1.0, 2.0], covariance=[1.0, 1.0, 1.0], by=D),
)
COORDINATES = Coordinates.of(NET.problem())
PLACE = {name: COORDINATES.column(NET.variables.id(name)) for name in "xyzw"}


def parts(targets, found, **codes):
    named = {NET.variables.id(name): code for name, code in codes.items()}
    made = components(COORDINATES, [PLACE[t] for t in targets], [PLACE[f] for f in found], named)
    back = {i: name for name, i in PLACE.items()}
    return {
        "".join(sorted(back[int(i)] for i in part.places)): (
            "".join(sorted(back[int(i)] for i in part.hidden)),
            tuple(NET.variables[v].name for v in part.by),
            part.num_states,
        )
        for part in made
    }


def test_barren_numbers_are_left_out():
    assert parts("x", "") == {"x": ("x", ("c",), 2)}
    assert parts("", "") == {}


def test_an_observed_number_separates():
    """y observed: x above it depends on c alone, z below it on d alone, with y as a constant."""
    assert parts("xz", "y") == {"xy": ("x", ("c",), 2), "yz": ("z", ("d",), 3)}


def test_hidden_numbers_connect_and_observed_states_are_no_contexts():
    assert parts("", "z") == {"xyz": ("xy", ("c", "d"), 6)}
    assert parts("", "z", d=1) == {"xyz": ("xy", ("c",), 2)}


def test_complete_numbers_with_the_same_contexts_are_one_part():
    found = parts("", "xyzw")
    assert found == {"x": ("", ("c",), 2), "xy": ("", (), 1), "wyz": ("", ("d",), 3)}


def test_constants_and_contexts_of_a_part():
    (part,) = (p for p in components(COORDINATES, [PLACE["z"]], [PLACE["y"]], {}) if PLACE["z"] in p.hidden)
    kinds = dict(zip(part.places.tolist(), part.kinds.tolist(), strict=True))
    assert kinds == {PLACE["y"]: 0, PLACE["z"]: MISSING}
    assert FOUND not in kinds.values()
    assert part.entries(np.arange(3))[:, part.places.tolist().index(PLACE["z"])].tolist() == [0, 1, 2]
    covariances = [spread.noise.tolist() for _, spread in part.spreads()]
    assert covariances == [[1.0, 1.0, 1.0]]
