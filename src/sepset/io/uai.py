"""UAI competition files: Bayesian and Markov networks, in which the last variable of a scope runs fastest.

The format has no names: variables are called x0, x1, ... and their states 0, 1, ... on reading; on writing, names are
lost and positions are kept. In a `BAYES` file the last variable of each scope is the child.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import counted, listing
from sepset.errors import NotApplicable, SepsetError
from sepset.factors.algebra import Factor
from sepset.factors.block import FactorBlock
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.io.discrete import bayes_net, table_of
from sepset.io.lexer import Words, decode, whole
from sepset.io.record import READING, NetworkRecord, Reading, TableRecord, VariableRecord, network
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.models.model import Model, NamedModel
from sepset.problem import Block
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Domain

WORDS = re.compile(r"#[^\n]*+|([^\s#]++)")
"""Words separated by whitespace; a hash starts a comment."""

SPARE = 1 << 18
"""The number of states that the variables without a factor may have."""


@dataclass(frozen=True, slots=True)
class _Factor:
    scope: tuple[int, ...]
    values: Floats
    mark: int
    first: int


def parse(data: bytes, file: str = "<text>", reading: Reading = READING) -> BayesNet | MarkovNet:
    """The network in a UAI file: a `BayesNet` for BAYES, a `MarkovNet` for MARKOV.

    Reference: UAI competition.
    Guarantee: models round-trip; any bytes are read or raise one error.
    Tested by: io/test_uai.py::test_damaged_files_are_read_or_refused

    >>> parse(b"MARKOV 2 2 3 1  2 0 1  6  1 2 3 4 5 6").variables
    Universe(2: 'x0', 'x1')
    """
    words = Words(decode(data), WORDS, file)
    kind = words.next
    if kind not in ("BAYES", "MARKOV"):
        raise words.error("expected 'BAYES' or 'MARKOV' at the start of the file")
    words.take()
    cards = _cards(words)
    factors = _factors(words, cards)
    notes = _evidence_note(words, cards)
    if kind == "BAYES" and not (empty := _empty_rows(cards, factors)):
        return network(_record(words, cards, factors, notes), words, reading)
    if kind == "BAYES":
        notes += (f"Read as a Markov network: {counted(empty, 'row')} of its conditional tables sum to zero.",)
    return _markov_net(words, cards, factors, notes)


def _empty_rows(cards: Sequence[int], factors: Sequence[_Factor]) -> int:
    """The number of rows that sum to zero: no distribution, but a factor as the contests use them."""
    rows = [factor.values.reshape(-1, cards[factor.scope[-1]]) for factor in factors if factor.scope]
    return sum(int(np.count_nonzero(~row.any(axis=1))) for row in rows)


def _evidence_note(words: Words, cards: Sequence[int]) -> tuple[str, ...]:
    """The note about evidence after the last table: `1 0 1`, or the number of samples before it; other words raise."""
    rest = [whole(word) for word in words.words[words.at : -1]]
    if not rest:
        return ()
    samples = [rest, rest[1:]] if rest[0] == 1 else [rest]
    found = next((dict(zip(s[1::2], s[2::2], strict=True)) for s in samples if _is_evidence(s, cards)), None)
    if found is None:
        raise words.error("expected the end of the file after the last table, or evidence")
    if not found:
        return ()
    shown = listing([f"x{variable}={state}" for variable, state in found.items()])
    return (f"The file ends with evidence, which is not part of the model: {shown}. Give it as given=.",)


def _is_evidence(sample: Sequence[int | None], cards: Sequence[int]) -> bool:
    """Whether the numbers are a count and as many variables with states."""
    if not sample or sample[0] is None or len(sample) != 1 + 2 * sample[0]:
        return False
    pairs = zip(sample[1::2], sample[2::2], strict=True)
    return all(v is not None and s is not None and v < len(cards) and s < cards[v] for v, s in pairs)


def _cards(words: Words) -> list[int]:
    count = words.integer("the number of variables")
    cards = []
    for position in range(count):
        cards.append(words.integer(f"the number of states of x{position}", 1))
    return cards


def _factors(words: Words, cards: Sequence[int]) -> list[_Factor]:
    """The factors: first all scopes, then all tables; no table is allocated before its numbers are found."""
    count = words.integer("the number of factors")
    scopes = []
    for _ in range(count):
        mark = words.at
        scopes.append((mark, _scope(words, len(cards))))
    _refuse_empty_giants(words, cards, {i for _, scope in scopes for i in scope})
    return [_factor(words, cards, scope, mark) for mark, scope in scopes]


def _scope(words: Words, num_variables: int) -> tuple[int, ...]:
    arity = words.integer("the number of variables of a factor")
    scope = []
    for _ in range(arity):
        variable = words.integer("a variable's number")
        if variable >= num_variables:
            raise words.error(f"the variables are numbered 0 to {num_variables - 1}", words.at - 1)
        scope.append(variable)
    if len(set(scope)) < arity:
        raise words.error("the preceding factor names one variable twice")
    return tuple(scope)


def _refuse_empty_giants(words: Words, cards: Sequence[int], used: set[int]) -> None:
    """Raise if variables without a factor have too many states: no numbers in the file confirm them."""
    spare = sum(card for position, card in enumerate(cards) if position not in used)
    if spare > SPARE:
        raise words.error(f"variables without a factor have {spare:,} states, more than the {SPARE:,} allowed", 2)


def _factor(words: Words, cards: Sequence[int], scope: tuple[int, ...], mark: int) -> _Factor:
    size = math.prod(cards[i] for i in scope)
    if words.integer("the number of entries of a table", 1) != size:
        raise words.error(f"the table over {_names(scope)} has {size} entries", words.at - 1)
    begin = words.at
    if len(words.words) - 1 - begin < size:
        raise words.error(f"the table over {_names(scope)} needs {size} numbers", len(words.words) - 1)
    words.at += size
    values = words.weights(words.words[begin : words.at], lambda i: begin + i)
    return _Factor(scope, values, mark, begin)


def _names(scope: Sequence[int]) -> str:
    return ", ".join(f"x{i}" for i in scope) or "no variables"


def _record(words: Words, cards: Sequence[int], factors: Sequence[_Factor], notes: tuple[str, ...]) -> NetworkRecord:
    variables = tuple(VariableRecord(f"x{i}", tuple(range(card)), 2 + i) for i, card in enumerate(cards))
    tables = []
    for factor in factors:
        if not factor.scope:
            raise words.error("a BAYES file gives each factor a child, the last variable of its scope", factor.mark)
        names = [f"x{i}" for i in factor.scope]
        rows = range(factor.first, factor.first + factor.values.size, cards[factor.scope[-1]])
        tables.append(TableRecord(names[-1], tuple(names[:-1]), factor.values, factor.mark, rows))
    return NetworkRecord(variables, tuple(tables), notes=notes)


def _markov_net(words: Words, cards: Sequence[int], factors: Sequence[_Factor], notes: tuple[str, ...]) -> MarkovNet:
    domains = {card: Domain.of(card, "a variable") for card in sorted(set(cards))}
    variables = [Discrete(f"x{i}", domains[card]) for i, card in enumerate(cards)]
    tables = []
    for factor in factors:
        try:
            tables.append(Table([variables[i] for i in factor.scope], factor.values))
        except SepsetError as error:
            raise words.error(str(error), factor.mark) from error
    return MarkovNet(*tables, variables=variables, notes=notes)


def render(model: Model) -> bytes:
    """The model as a UAI file: BAYES for a `BayesNet`, MARKOV for anything else made of tables."""
    cards = _written_cards(model)
    factors = list(_cpd_factors(model) if isinstance(model, BayesNet) else _model_factors(model))
    lines = ["BAYES" if isinstance(model, BayesNet) else "MARKOV", str(len(cards)), " ".join(map(str, cards))]
    lines.append(str(len(factors)))
    lines += [" ".join(map(str, (len(scope), *scope))) for scope, _ in factors]
    for _, values in factors:
        lines += ["", str(len(values)), " " + " ".join(map(repr, values))]
    return ("\n".join(lines) + "\n").encode()


def _written_cards(model: Model) -> list[int]:
    """The number of states of each variable, all of which are discrete."""
    cards: list[int] = model.variables.cards.tolist()
    if 0 in cards:
        found = model.variables[cards.index(0)]
        raise NotApplicable(f"UAI files store discrete variables; found {found!r}. Write the model as .json.")
    return cards


def _cpd_factors(model: Model) -> Iterator[tuple[Sequence[int], list[float]]]:
    net = bayes_net(model, "UAI")
    for cpd in net.cpds:
        table = table_of(cpd, "UAI")
        yield net.variables.ids(table.scope).tolist(), table.table.flat.tolist()


def _model_factors(model: Model) -> Iterator[tuple[Sequence[int], list[float]]]:
    problem = model.as_written() if isinstance(model, NamedModel) else model.problem()
    if len(problem.variables) != len(model.variables):
        raise NotApplicable("UAI files cannot store hidden auxiliary variables. Write the model as .json.")
    for block in problem.blocks:
        yield from zip(block.scopes.tolist(), _block_values(block, problem.variables), strict=True)


def _block_values(block: Block, variables: Universe) -> Sequence[list[float]]:
    """The values of each factor of a block, from one array where plain numbers hold them all."""
    if isinstance(block, FactorBlock) and len(block) > 1:
        block.factor(0, variables)  # refuses tables that are too large
        found = block.linear()
        if found is not None:
            with np.errstate(over="ignore", under="ignore"):
                values = np.ldexp(found[0], found[1][:, None])
            if np.isfinite(values).all() and ((values == 0) == (found[0] == 0)).all():
                rows: list[list[float]] = values.tolist()
                return rows * len(block) if block.shared else rows
    return [linear_values(block.factor(i, variables)).tolist() for i in range(len(block))]


def linear_values(factor: Factor) -> Floats:
    """The values of a table, dense and in C order; raises if they exceed the range of float64."""
    table = factor.to_table() if isinstance(factor, SparseTable) else factor
    if not isinstance(table, Table):
        raise NotApplicable(f"UAI files store tables; found {factor!r}. Write the model as .json.")
    values = table.values.reshape(-1)
    lost = (values == 0) != (table.log_values.reshape(-1) == -np.inf)
    if lost.any() or not np.isfinite(values).all():
        raise NotApplicable(f"UAI files store plain numbers; {factor!r} exceeds their range. Write it as .json.")
    return values
