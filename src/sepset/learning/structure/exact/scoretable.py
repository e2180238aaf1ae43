"""Score tables: for each child its possible parent sets with their scores, the input of every exact method.

Parent sets are bit masks over the columns: bit i is column i. A set that is not in the table is not allowed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import below, is_number
from sepset.base.foreign import TakesNames
from sepset.base.frozen import read_only
from sepset.base.replacing import write_whole
from sepset.base.text import brief, nearest
from sepset.errors import ArgumentError, FileFormatError, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.kernels.structure.tables import best_in, undominated

MOST_COLUMNS = 62
"""The columns that fit the bits of a mask."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable(TakesNames):
    """The parent sets of each column with their scores, best first; a DAG scores the sum over its families.

    Args:
        names: of the columns.
        starts: where the sets of each child begin in the arrays below, and the end of the last.
        masks: parent sets; bit i is column i.
        scores: one per parent set.

    Guarantee: exact.
    Tested by: learning/structure/exact/test_scoretable.py::test_files_keep_what_was_written

    >>> table = ScoreTable.from_scores({"rain": {(): -4.0, ("wet",): -2.5}, "wet": {(): -3.0, ("rain",): -1.0}})
    >>> table.num_sets, table.score(DAG.parse("rain -> wet"))
    (4, -5.0)
    """

    names: tuple[str, ...]
    starts: Ints
    _: KW_ONLY
    masks: Ints
    scores: Floats

    def __post_init__(self) -> None:
        n = len(self.names)
        if n > MOST_COLUMNS:
            raise ArgumentError(f"A score table has at most {MOST_COLUMNS} columns; found {n}.")
        if len(set(self.names)) != n:
            raise ScopeError("The columns of a score table have different names; some name is there twice.")
        if len(self.starts) != n + 1 or self.starts[-1] != len(self.masks) or len(self.masks) != len(self.scores):
            raise ModelError("The arrays of a score table do not fit its columns. Use ScoreTable.from_scores.")
        for child, name in enumerate(self.names):
            self._check(child, name)
        for array in (self.starts, self.masks, self.scores):
            array.setflags(write=False)

    def _check(self, child: int, name: str) -> None:
        masks, scores = self.of(child)
        if not len(masks):
            raise ModelError(
                f"{name!r} has no parent set in the score table, not even the empty one: no DAG is allowed."
            )
        if (masks >> child & 1).any() or (masks >> len(self.names)).any():
            raise ModelError(f"A parent set of {name!r} has a column that is not there, or {name!r} itself.")
        if np.isnan(scores).any() or (scores == np.inf).any():
            raise ModelError(
                f"The scores of {name!r} are numbers below infinity; found {scores[~(scores < np.inf)][0]}."
            )
        if len(np.unique(masks)) != len(masks):
            raise ModelError(f"A parent set of {name!r} is in the score table twice.")

    @classmethod
    def of_children(cls, names: Sequence[str], families: Iterable[tuple[Ints, Floats]]) -> ScoreTable:
        """The table of each child's masks and scores, in any order; sets with the score minus infinity are left out."""
        parts = [_sorted(np.asarray(m, np.int64), np.asarray(s, np.float64)) for m, s in families]
        starts = np.concatenate([[0], np.cumsum([len(m) for m, _ in parts])]).astype(np.int64)
        masks = np.concatenate([m for m, _ in parts]) if parts else np.zeros(0, np.int64)
        scores = np.concatenate([s for _, s in parts]) if parts else np.zeros(0)
        return cls(tuple(names), starts, masks=masks, scores=scores)

    @classmethod
    def from_scores(cls, scores: Mapping[str, Mapping[Sequence[str], float]]) -> ScoreTable:
        """The table of scores by child and parents."""
        names = tuple(scores)
        place = {name: i for i, name in enumerate(names)}
        families = []
        for sets in scores.values():
            masks = [sum(1 << _place(place, parent) for parent in parents) for parents in sets]
            families.append((np.array(masks, np.int64), np.array(list(sets.values()), np.float64)))
        return cls.of_children(names, families)

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def num_sets(self) -> int:
        """The number of parent sets of all children."""
        return len(self.masks)

    @property
    def max_parents(self) -> int:
        """The size of the largest parent set."""
        return max((int(m).bit_count() for m in self.masks), default=0)

    def of(self, child: int) -> tuple[Ints, Floats]:
        """The parent sets of a child as masks, best first, and their scores."""
        below("child", child, len(self.names))
        part = slice(int(self.starts[child]), int(self.starts[child + 1]))
        return self.masks[part], self.scores[part]

    def best(self, child: int, inside: int) -> tuple[int, float]:
        """The best parent set of a child among the columns in a mask, and its score; -inf if there is none."""
        below("child", child, len(self.names))
        below("inside", inside, 1 << len(self.names))
        at = int(best_in(self.starts, self.masks, child, inside))
        return (int(self.masks[at]), float(self.scores[at])) if at >= 0 else (0, -np.inf)

    def score_of(self, parents: Sequence[int]) -> float:
        """The score of a DAG given as one mask of parents per column; -inf if a family is not in the table."""
        return float(sum(self.family(child, mask) for child, mask in enumerate(parents)))

    def family(self, child: int, parents: int) -> float:
        """The score of a family; minus infinity if it is not in the table."""
        masks, scores = self.of(child)
        at = np.flatnonzero(masks == parents)
        return float(scores[at[0]]) if len(at) else -np.inf

    def score(self, graph: DAG) -> float:
        """The score of a DAG; minus infinity if a family is not in the table."""
        if set(graph.nodes) != set(self.names):
            raise ScopeError("The graph's nodes are not the columns of the score table.")
        place = {name: i for i, name in enumerate(self.names)}
        return self.score_of([sum(1 << place[p] for p in graph.parents(name)) for name in self.names])

    def graph(self, parents: Sequence[int]) -> DAG:
        """The DAG of one mask of parents per column."""
        if len(parents) != self.num_columns or not all(0 <= mask < 1 << self.num_columns for mask in parents):
            raise ScopeError(
                f"A DAG is a mask of parents for each of {self.num_columns} columns; found {brief(parents)}."
            )
        edges = [(self.names[p], name) for name, mask in zip(self.names, parents, strict=True) for p in bits(mask)]
        return DAG(self.names, edges)

    def pruned(self) -> ScoreTable:
        """The table without sets that have a subset of at least the same score: the best DAGs are the same."""
        keep = undominated(self.starts, self.masks, self.scores).astype(bool)
        counts = [int(keep[a:b].sum()) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return ScoreTable(self.names, starts, masks=self.masks[keep], scores=self.scores[keep])

    def permuted(self, order: Sequence[int]) -> ScoreTable:
        """The table with its columns in another order: column order[i] becomes column i."""
        if sorted(order) != [*range(self.num_columns)]:
            raise ScopeError(f"order= has each column from 0 to {self.num_columns - 1} once; found {brief(order)}.")
        place = np.argsort(np.asarray(order), kind="stable")
        families = []
        for child in order:
            masks, scores = self.of(child)
            moved = sum(((masks >> i & 1) << int(place[i]) for i in range(self.num_columns)), np.zeros_like(masks))
            families.append((moved, scores))
        return ScoreTable.of_children([self.names[i] for i in order], families)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table in the text format of GOBNILP and of Jaakkola's score files (`.jkl`, `.scores`)."""
        write_whole(path, "".join(f"{line}\n" for line in self._lines()).encode())

    def _lines(self) -> Iterator[str]:
        yield str(self.num_columns)
        for child, name in enumerate(self.names):
            if not name or any(c.isspace() for c in name):
                raise ModelError(f"Names in a file of scores have no spaces; found {name!r}. Rename the column.")
            masks, scores = self.of(child)
            yield f"{name} {len(masks)}"
            for mask, score in zip(masks.tolist(), scores.tolist(), strict=True):
                yield " ".join([repr(score), str(mask.bit_count()), *(self.names[p] for p in bits(mask))])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ScoreTable:
        """The table in a file of GOBNILP's format.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "two.jkl"
        >>> _ = file.write_text("2\\nrain 2\\n-4 0\\n-2.5 1 wet\\nwet 1\\n-3 0\\n")
        >>> ScoreTable.read(file)
        ScoreTable(2 columns, 3 parent sets, up to 1 parents)
        """
        lines = _Lines(Path(path))
        count = lines.take(1)[0]
        children, families = [], []
        for _ in range(lines.whole(count)):
            name, sets = lines.take(2)
            families.append([lines.family() for _ in range(lines.whole(sets))])
            children.append(name)
        lines.end()
        place = {name: i for i, name in enumerate(children)}
        made: list[tuple[Any, Any]] = []
        for sets_of in families:
            masks = [sum(1 << lines.place(place, p, line) for p in parents) for _, parents, line in sets_of]
            made.append((np.array(masks, np.int64), np.array([score for score, _, _ in sets_of], np.float64)))
        return cls.of_children(children, made)

    def __repr__(self) -> str:
        return f"ScoreTable({self.num_columns} columns, {self.num_sets} parent sets, up to {self.max_parents} parents)"


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits of a mask, in order.

    >>> list(bits(0b1010))
    [1, 3]
    """
    mask = int(mask)
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


N = TypeVar("N", int, Ints)


def without(masks: N, child: int) -> N:
    """The numbers of parent sets of a child: their masks with the child's bit taken out.

    >>> bin(without(0b1001, 1))
    '0b101'
    """
    return (masks & ((1 << child) - 1)) | ((masks >> (child + 1)) << child)


def including(numbers: N, child: int) -> N:
    """The masks of the parent sets of a child with these numbers.

    >>> bin(including(0b101, 1))
    '0b1001'
    """
    return (numbers & ((1 << child) - 1)) | ((numbers >> child) << (child + 1))


def _sorted(masks: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """Best first, ties by mask; without sets that are impossible."""
    keep = scores != -np.inf
    masks, scores = masks[keep], scores[keep]
    order = np.lexsort((masks, -scores))
    return read_only(masks[order]), read_only(scores[order])


def _place(place: Mapping[str, int], name: object) -> int:
    if name not in place:
        raise ScopeError(f"The parent {name!r} is not a column of the score table.{nearest(name, place)}")
    return place[name]  # type: ignore[index]  # a string, since it is found


class _Lines:
    """The lines of a file of scores that are not empty or comments, read in order."""

    def __init__(self, path: Path) -> None:
        self._file = str(path)
        try:
            text = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise FileFormatError(f"The file is not text in UTF-8: {error}.", file=self._file) from None
        self._lines = [(i + 1, line.split()) for i, line in enumerate(text) if line.split() and line[0] != "#"]
        self._lines = [(i, words) for i, words in self._lines if words[0] != "META"]
        self._next = 0

    def words(self) -> tuple[int, list[str]]:
        if self._next == len(self._lines):
            raise FileFormatError("The file ends before its last column.", file=self._file)
        self._next += 1
        return self._lines[self._next - 1]

    def take(self, count: int) -> list[str]:
        line, words = self.words()
        if len(words) != count:
            raise self._error(f"expected {count} words; found {len(words)}.", line)
        return words

    def family(self) -> tuple[float, list[str], int]:
        line, words = self.words()
        try:
            score, size = float(words[0]), int(words[1])
        except (ValueError, IndexError):
            raise self._error(f"expected a score and a number of parents; found {' '.join(words)!r}.", line) from None
        if size != len(words) - 2 or not is_number(score):
            raise self._error(f"expected {size} parents; found {len(words) - 2}.", line)
        return score, words[2:], line

    def whole(self, word: str) -> int:
        if not word.isdigit():
            raise self._error(f"expected a number; found {word!r}.", self._lines[self._next - 1][0])
        return int(word)

    def place(self, place: Mapping[str, int], name: str, line: int) -> int:
        if name not in place:
            raise self._error(f"the parent {name!r} is not a column of the file.{nearest(name, place)}", line)
        return place[name]

    def end(self) -> None:
        if self._next < len(self._lines):
            raise self._error("there is more after the last column.", self._lines[self._next][0])

    def _error(self, message: str, line: int) -> FileFormatError:
        return FileFormatError(message, file=self._file, line=line, column=1)
