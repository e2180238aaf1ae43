"""The way through `fit`: a frame is coded once, one network is made per step, and the path between modules is short."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import sepset as ss

SOURCE = str(Path(str(ss.__file__)).parent)
ROWS = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
DAG = ss.DAG.parse("x -> y")


class Trace:
    """Calls of sepset's own functions outside kernels, and calls from one module into another."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.stack: list[str] = []
        self.crossings = 0
        self.modules: set[str] = set()

    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(SOURCE) or "/kernels/" in file:
            return
        if event == "return" and self.stack:
            self.stack.pop()
        if event == "call":
            self.calls[frame.f_code.co_qualname] += 1
            self.crossings += bool(self.stack) and self.stack[-1] != file
            self.stack.append(file)
            self.modules.add(file)


def traced(steps):
    ss.fit(DAG, ROWS, ss.EM(), until=steps)
    found = Trace()
    sys.setprofile(found)
    try:
        ss.fit(DAG, ROWS, ss.EM(), until=steps)
    finally:
        sys.setprofile(None)
    return found


def test_a_frame_is_coded_once_and_checked_once():
    calls = traced(3).calls
    assert calls["from_objects"] == len(ROWS)
    assert calls["bind_column"] == len(ROWS)
    assert calls["Universe.__init__"] == 1
    assert calls["BayesNet._build"] == calls["Problem.of_conditionals"] == 1
    assert calls["TableCPD.__init__"] == calls["check_rows"] == 0


def test_one_network_per_step():
    one, four = traced(1), traced(4)
    assert four.calls["BayesNet.with_parameters"] - one.calls["BayesNet.with_parameters"] == 3
    assert four.calls["RowCompiler._compiled"] == one.calls["RowCompiler._compiled"] == 1


def test_the_path_is_short():
    one, four = traced(1), traced(4)
    assert one.crossings < 420
    assert one.calls.total() < 750
    assert len(one.modules) < 62
    assert four.crossings - one.crossings < 3 * 80
    assert four.calls.total() - one.calls.total() < 3 * 140
