"""The texts of the library and its documents are in plain American English, in the field's own words.

Read are docstrings, comments and texts of `src/sepset` (never identifiers), and the prose of the documents; code in
backticks, equations, doctests and fenced blocks are left out. Each rule gives the words to write instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from support.blocks import in_blocks

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sepset"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

FOLDERS = sorted({path.parent for path in SOURCE.rglob("*.py")})

UNIT = (
    "(?:assignment|axis|batch|block|byte|call|case|cell|child|chunk|class|clique|cluster|column|component|context|copy|"
    "core|cpd|curve|document|edge|engine|entry|factor|family|feature|file|fold|format|group|input|iteration|lane|"
    "leaf|library|line|method|model|module|multiplication|network|node|pair|parent|part|pass|process|query|question|row|"
    "run|sample|scope|second|shape|slice|spin|split|state|step|table|thread|value|variable|word)"
)
COUNTED = (
    "(?:bits|bytes|calls|cells|columns|counts|entries|factors|iterations|multiplications|nanoseconds|numbers|objects|"
    "operations|passes|products|rows|seconds|steps|tables|values|variables|weights|words)"
)
PLAIN = (  # a word that may come between "one" and "a row": no preposition, verb or conjunction
    r"(?!(?:and|are|as|at|be|by|for|from|get|gets|give|gives|given|has|have|if|in|inside|into|is|like|makes|needs|not|"
    r"of|on|or|over|past|per|since|such|takes|than|that|to|under|was|when|where|which|whose|with|within|without)\b)[\w-]+"
)
IZE = (
    "(?:author|capital|categor|character|critic|custom|diagonal|discret|emphas|factor|final|general|initial|linear|local|"
    "marginal|maxim|memor|minim|moral|normal|optim|organ|orthogonal|parallel|parameter|penal|quant|random|real|recogn|"
    "regular|serial|special|stabil|standard|summar|symmetr|synchron|token|util|vector|visual)"
)


@dataclass(frozen=True)
class Rule:
    """Words to avoid, as a regular expression in which a space is also a line break, and the words to write instead."""

    avoid: str
    instead: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.avoid.replace(" ", r"\s"), re.IGNORECASE)

    def found(self, text: str) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(text)


DIALECT = (
    Rule(rf"\bone(?: {PLAIN}){{0,2}} an? {UNIT}\b", "per: one weight per row"),
    Rule(rf"\ban?(?: {PLAIN}){{1,2}} an? {UNIT}\b", "per: a weight per row"),
    Rule(rf"\b{COUNTED} an? {UNIT}\b", "per: entries per variable"),
    Rule(r"\banew\b", "again, from scratch"),
    Rule(r"\bdearer\b|\bdearest\b", "more expensive"),
    Rule(r"\bshall\b", "will"),
    Rule(r"\bholes?\b", "missing cells"),
    Rule(r"\bbeside\b", "relative to, compared with, next to, in addition to"),
    Rule(r"\b(?:says?|said) nothing of\b|\bsp(?:eaks?|oken|oke) of\b|\bknown of\b|\btells? of\b|\btold of\b", "about"),
    Rule(r"\bon the average\b", "on average"),
    Rule(r"\bnothing over\b|\bleft over\b|\bleaves? over\b", "residual, zero residual variance"),
    Rule(r"\bfirst among equals\b", "ties go to the first"),
    Rule(r"\b(?:any|no|some)body\b", "say it in the passive, or name who it is"),
    Rule(r"(?<!there )\bis (?-i:none)\b", "is not a number, unknown"),
    Rule(r"(?<!there )\bis no (?!better|fewer|larger|less|longer|more|slower|smaller|worse)", "is not a"),
    Rule(
        r"(?<!there )\b(?:are|be) no (?!better|fewer|larger|less|longer|more|slower|smaller|worse)(?=\w+s\b)", "are not"
    ),
    Rule(r"\bhow many (?:they|there) are\b", "their number"),
    Rule(r"\brefuses? what\b", "raise unless"),
    Rule(r"\bonce it is (?:certain|known|sure)\b", "after checking that"),
    Rule(r"\bfirst met\b", "its first occurrence, first used"),
    Rule(r"\bhills?\b(?![- ]climb)|(?<!hill.)\bclimb(?:s|ed|ers?|ing)?\b", "objective, ascend, ascent direction"),
    Rule(r"\bfalls? of the slope\b", "gradient difference"),
    Rule(r"(?<!new )\bfigures?\b", "statistic, number, size"),
    Rule(r"\bpriors? (?:of|for|over) (?:(?:a|each|the) )?lines?\b|\blines? and variances?\b", "regression"),
    Rule(r"\bnumbers of (?:a|an|the) (?:CPD|model|network)\b", "parameters"),
    Rule(r"\ba mark of\b", "a fingerprint of"),
    Rule(r"\b(?:no|any) company\b|\bdeaf\b|\blend a hand\b|\bcrew\b|\bhir(?:e|es|ed|ing)\b|\bledger\b", "a plain word"),
    Rule(r"\b(?:it|looking|that|this|which) pays\b|\bnot pay\b", "is worth it, saves more than it costs"),
    Rule(r"\bto the bit\b", "exactly"),
    Rule(r"\b(?:turned|way) round\b", "reversed, in either order"),
    Rule(r"\b(?:hitherto|nought|thereof|upon|whence|whereof|wherein)\b", "a plain word"),
)

BRITISH = (
    Rule(rf"\b(?:re|un|de)?{IZE}is(?:able|ations?|ed|ers?|es?|ing)\b", "-ize"),
    Rule(r"\banalys(?:e|ed|er|ers|ing)\b", "analyze"),
    Rule(r"\b(?:behavi|col|endeav|fav|flav|hon|lab|neighb|rum)our\w*", "-or: neighbor, behavior, color"),
    Rule(r"\bcent(?:re|red|res|ring)\b", "center"),
    Rule(r"\b(?:de|of|pre)fence\b|\blicences?\b|\bpretence\b", "-se: license, defense"),
    Rule(
        r"\b(?:re|un)?(?:cancel|channel|label|level|model|signal|total|travel|tunnel)l(?:ed|ers?|ings?)\b",
        "one l: labeled",
    ),
    Rule(r"\bgrey\b", "gray"),
    Rule(r"\b(?:learnt|spelt)\b", "learned, spelled"),
    Rule(r"\b(?:amongst|whilst)\b", "among, while"),
    Rule(r"\btowards\b", "toward"),
    Rule(r"\b(?:artefact|fulfil(?:s|ment)?|judgement|maths|programme|sceptic\w*)\b", "the American spelling"),
)

OPENINGS = (
    Rule(r"\AWhat\b", "a noun: The ..., Shared parts of ..."),
    Rule(r"\ARefuse\b", "Raise if, Raise unless"),
    Rule(r"\A(?:Nothing|No|None|Yes|True|False)\.\Z", "what the contract asks for"),
)
"""Rules for docstrings alone."""


@dataclass(frozen=True)
class Text:
    """A piece of prose and the line on which it begins."""

    line: int
    text: str
    is_docstring: bool = False


def texts(source: str) -> list[Text]:
    """The comments, docstrings and other texts of a module; of formatted ones the fixed parts."""
    lines = enumerate(source.splitlines(), start=1)
    comments = [Text(line, text.partition("# ")[2]) for line, text in lines if "# " in text and ">>>" not in text]
    return comments + list(_strings(ast.parse(source)))


def _strings(tree: ast.Module) -> Iterator[Text]:
    nodes = list(ast.walk(tree))
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield Text(node.lineno, "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield Text(node.lineno, node.value, is_docstring=id(node) in docstrings)


def paragraphs(document: str) -> list[Text]:
    """The prose of a Markdown document, as one text with the fenced blocks blanked out."""
    blank = re.sub(r"^```.*?^```", _lines, document, flags=re.MULTILINE | re.DOTALL)
    made = re.sub(r"<!-- generated:start -->.*?<!-- generated:end -->", _lines, blank, flags=re.DOTALL)  # docstrings
    return [Text(1, re.sub(r"<!--.*?-->|\]\([^)]*\)", " ", made))]


def prose(text: str) -> str:
    """The text without doctests, equations, code and indentation; lines stay. One word alone is a key, not prose."""
    if not re.search(r"\s", text.strip()) and not text.endswith("."):
        return ""
    plain = re.sub(r"^ *>>>.*?(?=\n *\n|\Z)", _lines, text, flags=re.MULTILINE | re.DOTALL)
    plain = re.sub(r"`[^`\n]*`|\$\$.*?\$\$|\$[^$]*\$", lambda match: "~" + _lines(match), plain, flags=re.DOTALL)
    return re.sub(r" ?\n ?", "\n", re.sub(r" +", " ", plain))


def _lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def violations(pieces: list[Text]) -> list[str]:
    """Each word to avoid, with its line and the words to write instead."""
    found = []
    plains = [prose(piece.text) for piece in pieces]
    together = "\0".join(plains)  # which is not a space, so that no rule reads across
    everywhere = [rule for rule in (*DIALECT, *BRITISH) if next(rule.found(together), None)]
    for piece, plain in zip(pieces, plains, strict=True):
        for rule in (*everywhere, *(OPENINGS if piece.is_docstring else ())):
            for match in rule.found(plain):
                line = piece.line + plain.count("\n", 0, match.start())
                found.append(f"{line}: {' '.join(match[0].split())!r}; write: {rule.instead}")
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_modules_are_in_plain_words(folder):
    found = []
    for path in sorted(folder.glob("*.py")):
        found += [f"{path.relative_to(ROOT)}:{said}" for said in violations(texts(path.read_text(encoding="utf-8")))]
    assert not found, "\n".join(found)


@in_blocks("path", DOCUMENTS)
def test_documents_are_in_plain_words(path):
    found = violations(paragraphs(path.read_text(encoding="utf-8")))
    assert not found, f"{path.relative_to(ROOT)}\n" + "\n".join(found)


SAMPLE = '''
"""One weight a
row."""
beside = "anew"  # made anew
ROW = f"the {beside} of a neighbour"


def shall(hole):
    """What is left.

    >>> beside
    'anew'
    """
    raise ValueError(f"{hole} shall `anew` be $anew$")
'''


def test_the_checker_finds_words_in_texts_and_not_in_code():
    assert violations(texts(SAMPLE)) == [
        "4: 'anew'; write: again, from scratch",
        "2: 'One weight a row'; write: per: one weight per row",
        "5: 'neighbour'; write: -or: neighbor, behavior, color",
        "9: 'What'; write: a noun: The ..., Shared parts of ...",
        "14: 'shall'; write: will",
    ]


def test_the_checker_reads_the_prose_of_documents():
    document = "# Holes\n\n```python\nbeside = 1\n```\n\nIt says [nothing](beside.md)\nof `anew`, on the\naverage.\n"
    assert violations(paragraphs(document)) == [
        "1: 'Holes'; write: missing cells",
        "8: 'on the average'; write: on average",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "one weight a row",
        "one non-negative weight a state",
        "a value a row",
        "8 bytes an entry",
        "the first that is none",
        "a value that is no number",
        "names that are no identifiers",
        "what is known of it",
        "renormalised rows",
        "its neighbours",
        "centred at zero",
        "labelled rows",
        "the licence of a file",
        "hill of the likelihood",
    ],
)
def test_the_rules_find(text):
    assert violations([Text(1, text)])


@pytest.mark.parametrize(
    "text",
    [
        "one weight per row",
        "one of a row's cells",
        "one with a state of its own",
        "each row is given a state",
        "None if there is none",
        "there is no number, and there are no rows",
        "the error is no larger than that",
        "hill-climbing and hill climbing",
        "the analyses of a precise promise",
        "draw on a new figure",
        "centered, normalized, labeled, modeling",
        "beside",
    ],
)
def test_the_rules_leave_alone(text):
    assert not violations([Text(1, text)])


@pytest.mark.parametrize("text", ["Nothing.", "True.", "What it is.", "Refuse a cycle."])
def test_docstrings_say_what_comes_back(text):
    assert violations([Text(1, text, is_docstring=True)])
    assert not violations([Text(1, text)])
