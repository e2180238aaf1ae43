"""Methods that keep no state in a file refuse one; those that iterate keep it."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.learning.checkpoints import check_checkpoint, keeps_checkpoint


def test_who_keeps_a_checkpoint():
    keepers = ss.EM(), ss.learning.HardEM(), ss.learning.GradientAscent(), ss.HillClimb()
    others = (
        ss.MLE(),
        ss.Bayes(ss.BDeu(1)),
        ss.PosteriorMode(ss.BDeu(1)),
        ss.missing.AvailableCases(),
        ss.structure.ChowLiu(),
    )
    assert [keeps_checkpoint(method) for method in (*keepers, *others)] == [True] * 4 + [False] * 5
    for method in (*keepers, *others):
        check_checkpoint(None, method, "EM() keeps one")
    for method in others:
        with pytest.raises(ss.errors.NotApplicable, match=r"keeps no checkpoint; EM\(\) keeps one\. Leave checkpoint="):
            check_checkpoint("file", method, "EM() keeps one")
