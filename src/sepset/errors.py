"""The exception tree.

    SepsetError
    ├── ArgumentError (ValueError, TypeError)  a setting or argument of the wrong kind, or out of range
    ├── ScopeError (ValueError)          a variable that is not there, or twice there
    ├── StateError (ValueError)          a state, code or value outside a variable's domain
    ├── ModelError (ValueError)          a variable, factor, CPD, prior, graph or model that breaks its own rules
    ├── FileFormatError (ValueError)     a file that cannot be read, with file, line and column
    ├── DataError (ValueError)           a frame that does not fit its variables
    ├── ImpossibleEvidence (ValueError)  evidence of probability zero
    ├── TooLarge (MemoryError)           work refused before anything was allocated
    ├── NotClosed (ArithmeticError)      an operation that leaves the factor family
    ├── NotApplicable (TypeError)        a method that cannot take this problem
    ├── MissingExtra (ImportError)       an optional library that is not installed
    └── BrokenInvariant (AssertionError) an engine whose answers contradict each other

A mistake has one type wherever it is made. How something is asked or computed (a number of rows, a level, a word among
several, a seed, a method's setting) is an `ArgumentError`; the numbers that models and priors are made of are a
`ModelError`; rows, their weights and their columns are a `DataError`. What a file contains, or a format cannot, is a
`FileFormatError`; what the system refuses when a file is written (no folder, no permission, a full disk) is its own
`OSError` with the name of the file, whatever is written: nothing was.

A message says what was asked, what was found, the nearest valid thing, and what to do.
"""

from __future__ import annotations

from typing import Self

__all__ = [
    "ArgumentError",
    "BrokenInvariant",
    "DataError",
    "FileFormatError",
    "ImpossibleEvidence",
    "MissingExtra",
    "ModelError",
    "NotApplicable",
    "NotClosed",
    "ScopeError",
    "SepsetError",
    "StateError",
    "TooLarge",
]


class SepsetError(Exception):
    """The root of every exception this library raises on purpose."""

    def __new__(cls, *args: object, **_: object) -> Self:
        """A new error, made the same way whatever built-in type it also is: unpickling libraries call this by name."""
        return Exception.__new__(cls, *args)


class ArgumentError(SepsetError, ValueError, TypeError):
    """An argument or a setting of a method is of the wrong kind, or out of range."""


class ScopeError(SepsetError, ValueError):
    """A variable is unknown, repeated, or of the wrong kind for its place."""


class StateError(SepsetError, ValueError):
    """A value lies outside its variable's domain."""


class ModelError(SepsetError, ValueError):
    """A variable, factor, CPD, prior, graph or model breaks its own rules."""


class DataError(SepsetError, ValueError):
    """A frame or file of rows does not fit its variables."""


class ImpossibleEvidence(SepsetError, ValueError):
    """The evidence has probability zero."""


class TooLarge(SepsetError, MemoryError):
    """The work was refused before anything was allocated."""


class NotClosed(SepsetError, ArithmeticError):
    """The exact result is outside the factor family (for example a mixture)."""


class NotApplicable(SepsetError, TypeError):
    """The method cannot take this problem; the message names one that can."""


class MissingExtra(SepsetError, ImportError):
    """An optional library is needed and not installed."""


class BrokenInvariant(SepsetError, AssertionError):
    """An engine's answers contradict each other: a fault of this library, or of a method of your own."""


class FileFormatError(SepsetError, ValueError):
    """A file cannot be read: `file:line:column: what was found, what was expected`."""

    def __init__(self, message: str, *, file: str = "<text>", line: int = 0, column: int = 0) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column
        place = f"{file}:{line}:{column}" if line else file
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_file_error, (self.message, self.file, self.line, self.column)


def _rebuild_file_error(message: str, file: str, line: int, column: int) -> FileFormatError:
    return FileFormatError(message, file=file, line=line, column=column)
