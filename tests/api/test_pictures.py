"""The verb `draw`: what is drawn, what is asked, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss

ASIA = ss.datasets.load("asia")


def boxes(picture):
    return {box.name: box for box in picture.sketch.boxes}


def test_beliefs_come_with_evidence():
    assert not boxes(ss.draw(ASIA))["lung"].rows
    assert boxes(ss.draw(ASIA, beliefs=True))["lung"].rows[0].shares == pytest.approx((0.055,))
    assert boxes(ss.draw(ASIA, given={"xray": "yes"}))["lung"].rows[0].shares == pytest.approx((0.4887,), abs=1e-4)
    only = boxes(ss.draw(ASIA, given={}))["lung"]
    assert only.rows[0].shares == pytest.approx((0.055,))
    assert not only.observed


def test_two_states_side_by_side():
    picture = ss.draw(ASIA, given={"xray": "yes"}, compare={})
    assert boxes(picture)["lung"].rows[0].shares == pytest.approx((0.055, 0.4887), abs=1e-4)
    assert picture.sketch.cases == ("without evidence", "given xray = yes")


def test_a_view_is_drawn_as_its_model_with_its_findings():
    view = ss.prepare(ASIA).observe({"xray": "yes"})
    ours, theirs = boxes(ss.draw(view)), boxes(ss.draw(ASIA, given={"xray": "yes"}))
    assert set(ours) == set(theirs)
    assert ours["lung"].rows[0].shares == pytest.approx(theirs["lung"].rows[0].shares)
    assert ours["xray"].observed


def test_groups():
    picture = ss.draw(ASIA, groups={"causes": ["asia", "smoke"], "one": "xray"})
    assert picture.sketch.groups == ("causes", "one")
    groups = {name: box.group for name, box in boxes(picture).items()}
    assert (groups["asia"], groups["smoke"], groups["xray"], groups["tub"]) == (0, 0, 1, -1)
    with pytest.raises(ss.errors.ScopeError, match=r"names 'smok'.*smoke"):
        ss.draw(ASIA, groups={"causes": ["smok"]})


def test_what_is_refused():
    with pytest.raises(ss.errors.ModelError, match="is drawn; found a str"):
        ss.draw("asia")
    with pytest.raises(ss.errors.NotApplicable, match="are of a model; found a DAG"):
        ss.draw(ASIA.dag, given={"xray": "yes"})
    with pytest.raises(ss.errors.StateError, match="maybe"):
        ss.draw(ASIA, given={"xray": "maybe"})


def test_other_orders_of_variables():
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = ss.BayesNet(*(ASIA.cpds[k] for k in rng.permutation(8)))
        found = boxes(ss.draw(other, given={"xray": "yes"}))
        for name, box in boxes(ss.draw(ASIA, given={"xray": "yes"})).items():
            assert [row.label for row in found[name].rows] == [row.label for row in box.rows]
            assert np.array([row.shares for row in found[name].rows]) == pytest.approx(
                np.array([row.shares for row in box.rows])
            )
