"""The companion files of UAI networks: evidence (`.evid`), virtual evidence (`.virt`), and results (PR, MAR, MPE).

Variables are positions and states are codes in these files. Given a model they are translated to its names and states;
without one, variables are x0, x1, ... and states are integers, as in a network read from a UAI file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.foreign import translated
from sepset.errors import FileFormatError
from sepset.io.files import PathLike, read_bytes, write_bytes
from sepset.io.lexer import BadNumber, Words, decode, reals, whole
from sepset.io.uai import WORDS
from sepset.variables.evidence import Likelihood
from sepset.variables.variable import Discrete, State

if TYPE_CHECKING:
    from sepset.models.model import Model

Row: TypeAlias = dict[str, State]


@dataclass(frozen=True, slots=True)
class PartitionFunction:
    r"""A PR result: $\log_{10}$ of the partition function, or of the probability of the evidence.

    >>> round(PartitionFunction(2.0).log_value, 3)
    4.605
    """

    log10_value: float

    @property
    def log_value(self) -> float:
        """The natural logarithm."""
        return self.log10_value * math.log(10.0)


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """A MAR result: a distribution for each variable, by position."""

    rows: tuple[Floats, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """An MPE (or MAP) result: the code of a state for each variable, by position."""

    codes: tuple[int, ...]

    def assignment(self, model: Model) -> Row:
        """The explanation in the names and states of a model."""
        return {
            v.name: v.states[c] for v, c in zip(model.variables, self.codes, strict=True) if isinstance(v, Discrete)
        }


Result: TypeAlias = PartitionFunction | Marginals | Explanation


@translated
def read_evidence(path: PathLike, model: Model | None = None) -> Row:
    """The evidence in a `.evid` file; both forms are read, with and without a leading number of samples.

    Args:
        path: the file.
        model: supplies names and states; variables and codes are checked against it.

    Reference: UAI competition.
    Guarantee: both forms.
    Tested by: io/test_results.py::test_both_forms_of_evidence

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(f"{folder}/a.evid", b"1\\n2 0 1 3 0")
    ...     read_evidence(f"{folder}/a.evid")
    {'x0': 1, 'x3': 0}
    """
    rows = read_evidence_rows(path, model)
    if len(rows) > 1:
        message = f"found {len(rows)} samples of evidence; read_evidence_rows returns them all"
        raise FileFormatError(message, file=os.fspath(path), line=1, column=1)
    return rows[0] if rows else {}


def read_evidence_rows(path: PathLike, model: Model | None = None) -> tuple[Row, ...]:
    """Every sample of evidence in a `.evid` file."""
    return parse_evidence(_words(path), model)


def parse_evidence(words: Words, model: Model | None = None) -> tuple[Row, ...]:
    """The samples of evidence in these words: `n v s v s ...`, or a number of samples followed by each in that form."""
    total = len(words.words) - 1
    first = words.integer("the number of observed variables, or of samples")
    if total == 1 + 2 * first:
        return (_sample(words, first, model),)
    rows = tuple(_sample(words, words.integer("the number of observed variables"), model) for _ in range(first))
    _finish(words)
    return rows


def _sample(words: Words, count: int, model: Model | None) -> Row:
    row: Row = {}
    for _ in range(count):
        mark = words.at
        name, states = _variable(words, model)
        if name in row:
            raise words.error(f"{name} is observed twice", mark)
        code = words.integer(f"the code of a state of {name}")
        if states is not None and code >= len(states):
            raise words.error(f"{name} has the codes 0 to {len(states) - 1}", words.at - 1)
        row[name] = code if states is None else states[code]
    return row


def _variable(words: Words, model: Model | None) -> tuple[str, tuple[State, ...] | None]:
    position = words.integer("a variable's number")
    if model is None:
        return f"x{position}", None
    if position >= len(model.variables):
        raise words.error(f"the model has {len(model.variables)} variables, numbered from 0", words.at - 1)
    variable = model.variables[position]
    if not isinstance(variable, Discrete):
        raise words.error(f"{variable.name} is continuous and has no codes", words.at - 1)
    return variable.name, variable.states


@translated
def write_evidence(evidence: Mapping[str, State], path: PathLike, *, model: Model) -> None:
    """Write hard evidence, in the names and states of a model, to a `.evid` file.

    Reference: UAI competition.
    Guarantee: round-trips.
    Tested by: io/test_results.py::test_evidence_by_the_names_of_a_model

    >>> import os, tempfile
    >>> import sepset as ss
    >>> path, asia = os.path.join(tempfile.mkdtemp(), "asia.evid"), ss.datasets.load("asia")
    >>> write_evidence({"xray": "yes"}, path, model=asia)
    >>> read_evidence(path, asia)
    {'xray': 'yes'}
    """
    parts = [str(len(evidence))]
    for name, state in evidence.items():
        variable = model.variables[name]
        if not isinstance(variable, Discrete):
            raise FileFormatError(f"{variable.name} is continuous; UAI evidence is discrete", file=os.fspath(path))
        parts.append(f"{model.variables.id(name)} {variable.code(state)}")
    write_bytes(os.fspath(path), (" ".join(parts) + "\n").encode())


@translated
def read_virtual_evidence(path: PathLike, model: Model | None = None) -> dict[str, Likelihood]:
    """The virtual evidence in a `.virt` file: `n`, then each variable's number, number of states, and weights.

    Args:
        path: the file.
        model: supplies names and numbers of states; both are checked against it.

    Reference: UAI competition.
    Guarantee: weights as written.
    Tested by: io/test_uai.py::test_chest_clinic_with_evidence

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(f"{folder}/a.virt", b"1\\n2 2 0.9 0.3")
    ...     read_virtual_evidence(f"{folder}/a.virt")
    {'x2': Likelihood(weights=(0.9, 0.3))}
    """
    words = _words(path)
    found: dict[str, Likelihood] = {}
    for _ in range(words.integer("the number of variables with virtual evidence")):
        mark = words.at
        name, states = _variable(words, model)
        if name in found:
            raise words.error(f"{name} has virtual evidence twice", mark)
        row = _row(words, None if states is None else len(states))
        if not row.any():
            raise words.error(f"the weights of {name} are all zero", mark)
        found[name] = Likelihood(row)
    _finish(words)
    return found


def _row(words: Words, num_states: int | None = None) -> Floats:
    """The weights of one row: a count, then that many numbers of at least zero."""
    count = words.integer("the number of states", 1)
    if num_states is not None and count != num_states:
        raise words.error(f"the variable has {num_states} states", words.at - 1)
    begin = words.at
    if len(words.words) - 1 - begin < count:
        raise words.error(f"expected {count} numbers", len(words.words) - 1)
    words.at += count
    return words.weights(words.words[begin : words.at], lambda i: begin + i)


@translated
def read_result(path: PathLike) -> Result:
    """The result in a PR, MAR or MPE file of a UAI competition; a leading number of samples is skipped.

    Reference: UAI competition.
    Guarantee: PR, MAR, MPE.
    Tested by: io/test_results.py::test_results_come_back

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_result(Explanation((0, 1)), f"{folder}/a.MPE")
    ...     read_result(f"{folder}/a.MPE")
    Explanation(codes=(0, 1))
    """
    return parse_result(_words(path))


def parse_result(words: Words) -> Result:
    """The result in these words."""
    kinds: dict[str, Callable[[Words], Result]] = {
        "PR": _partition_function,
        "MAR": _marginals,
        "MPE": _explanation,
        "MAP": _explanation,
    }
    read = kinds.get(words.next)
    if read is None:
        raise words.error("expected 'PR', 'MAR', 'MPE' or 'MAP' at the start of the file")
    words.take()
    result = read(words)
    _finish(words)
    return result


def _partition_function(words: Words) -> PartitionFunction:
    if len(words.words) == 4 and words.next == "1":
        words.take()
    try:
        value = float(reals([words.next])[0]) if words.next.lower() not in ("-inf", "-infinity") else -math.inf
    except BadNumber as bad:
        raise words.error(bad.reason) from None
    words.take()
    return PartitionFunction(value)


def _marginals(words: Words) -> Marginals:
    if _has_samples(words, _row_lengths):
        words.take()
    count = words.integer("the number of variables")
    rows: list[Floats] = []
    for _ in range(count):
        rows.append(_row(words))
    return Marginals(tuple(rows))


def _row_lengths(words: Sequence[str]) -> bool:
    """Whether the words are exactly a count and that many rows."""
    count, at = whole(words[0]), 1
    for _ in range(count or 0):
        size = whole(words[at]) if at < len(words) else None
        if size is None:
            return False
        at += 1 + size
    return count is not None and at == len(words)


def _explanation(words: Words) -> Explanation:
    if _has_samples(words, lambda rest: whole(rest[0]) == len(rest) - 1):
        words.take()
    count = words.integer("the number of variables")
    codes: list[int] = []
    for _ in range(count):
        codes.append(words.integer("the code of a state"))
    return Explanation(tuple(codes))


def _has_samples(words: Words, fits: Callable[[Sequence[str]], bool]) -> bool:
    """Whether the number of samples, one, precedes words that pass `fits`."""
    rest = words.words[words.at : -1]
    return len(rest) > 1 and rest[0] == "1" and not fits(rest) and fits(rest[1:])


@translated
def write_result(result: Result, path: PathLike) -> None:
    """Write a result to a PR, MAR or MPE file.

    Reference: UAI competition.
    Guarantee: round-trips.
    Tested by: io/test_results.py::test_results_come_back

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "asia.PR")
    >>> write_result(PartitionFunction(-0.5), path)
    >>> read_result(path)
    PartitionFunction(log10_value=-0.5)
    """
    write_bytes(os.fspath(path), ("\n".join(lines_of(result)) + "\n").encode())


def lines_of(result: Result) -> Iterator[str]:
    """The lines of a file with this result."""
    if isinstance(result, PartitionFunction):
        yield from ("PR", repr(float(result.log10_value)))
    elif isinstance(result, Marginals):
        rows = (" ".join(map(repr, (len(row), *np.asarray(row, np.float64).tolist()))) for row in result.rows)
        yield from ("MAR", " ".join((str(len(result.rows)), *rows)))
    else:
        yield from ("MPE", " ".join(map(str, (len(result.codes), *result.codes))))


def _finish(words: Words) -> None:
    if words.next:
        raise words.error("expected the end of the file")


def _words(path: PathLike) -> Words:
    name = os.fspath(path)
    return Words(decode(read_bytes(name)), WORDS, name)
