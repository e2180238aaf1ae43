"""Laws that every file format obeys: what was written comes back, and bad files are refused with their place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from sepset.errors import FileFormatError
from sepset.models.bayesnet import BayesNet

WORDS = re.compile(rb"\s+|[A-Za-z0-9_.+-]+|.", re.DOTALL)
INSERTED = (
    b"{ } ( ) [ ] ; , | = < > / \\ \" ' : - 0 1 -1 2 0.5 nan inf 1e999 -0.1 1_0 99999999999999999999 true null a x0 "
    b"table default variable probability network node potential data states BAYES MARKOV &lt; &x; <!-- --> <a> </a> "
    b"// /* */ % # \xff \x00 \xef\xbb\xbf \xe2\x80\xa8"
).split(b" ")


@st.composite
def mutated(draw: Any, data: bytes, most: int = 4) -> bytes:
    """The file with a few words or bytes deleted, inserted, replaced, repeated or swapped, perhaps cut short."""
    words = WORDS.findall(data)
    for _ in range(draw(st.integers(1, most))):
        place = draw(st.integers(0, max(len(words) - 1, 0)))
        other = draw(st.integers(0, max(len(words) - 1, 0)))
        action = draw(st.sampled_from(["delete", "insert", "replace", "repeat", "swap", "cut", "byte"]))
        if action == "insert" or not words:
            words.insert(place, draw(st.sampled_from(INSERTED) | st.binary(max_size=3)))
        elif action == "delete":
            del words[place : place + draw(st.integers(1, 3))]
        elif action == "replace":
            words[place] = draw(st.sampled_from(INSERTED))
        elif action == "repeat":
            words.insert(other, words[place])
        elif action == "swap":
            words[place], words[other] = words[other], words[place]
        elif action == "cut":
            words = words[: max(place, 1)]
        else:
            word = bytearray(words[place] or b" ")
            word[draw(st.integers(0, len(word) - 1))] = draw(st.integers(0, 255))
            words[place] = bytes(word)
        words = words or [b""]
    return b"".join(words)


def accept_or_refuse(codec: Any, data: bytes) -> None:
    """Read a file: a whole model, or one error with its place; nothing else."""
    refused = []
    try:
        model = codec.parse(data, "some.file")
    except FileFormatError as error:
        model = None
        refused.append(error)
    for error in refused:
        assert error.file == "some.file"
        assert error.line >= 1
        assert error.column >= 1
        assert str(error).startswith(f"some.file:{error.line}:{error.column}: ")
    for cpd in getattr(model, "cpds", ()):
        if cpd.child.is_discrete:
            rows = cpd.to_table().table.flat.reshape(-1, cpd.child.num_states)
            assert np.abs(rows.sum(axis=1) - 1.0).max() < 1e-12


def refusal(codec: Any, data: bytes | str) -> FileFormatError:
    """The error a file is refused with."""
    with pytest.raises(FileFormatError) as caught:
        codec.parse(data.encode() if isinstance(data, str) else data, "some.file")
    return caught.value


def assert_same_network(back: BayesNet, net: BayesNet, *, printed: bool) -> None:
    """The same variables in the same order with the same states (or their print), and the same numbers, bit for bit."""
    assert back.variables.names == net.variables.names
    for name in net.variables.names:
        ours, theirs = net[name].states, back[name].states
        assert theirs == (tuple(map(str, ours)) if printed else ours)
        assert [type(s) for s in theirs] == [str if printed else type(s) for s in ours]
        assert back.parents(name) == net.parents(name)
        old, new = net.cpd(name).to_table(), back.cpd(name).to_table()
        assert new.table.flat.tobytes() == old.table.flat.tobytes()
