"""The sentences of a chapter that state numbers or costs.

What is no claim is left out: names of things that have a number (chapter 02, exercise 3, layer 2, dimension 511), years and
citations, numbers of lists, code, the constants inside a formula, and 0 and 1, which stand everywhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ledger_numbers import NUMBER, ROUND_WORDS, SCALES, Written, calculate_formula, written
from nbformat import NotebookNode
from notebook_rules import FENCED, HEADING, PYTHON

FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
MATH = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$(?!\s)(.+?)(?<![\s\\])\$", re.DOTALL)
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.) +")
RULER = re.compile(r"^\|?[\s:|-]+\|?$")
HIDDEN = "\ue000{}\ue001"  # a formula or a piece of code while sentences are told apart
IS_HIDDEN = re.compile("\ue000(\\d+)\ue001")
END = re.compile(r"(?<=[.?!])(?<!\bal\.)(?<!e\.g\.)(?<!i\.e\.)(?<!\bcf\.)[)*\"”’]*\s+(?=[A-Z0-9*(\"“‘\[\ue000])")

ORDINAL = r"\d+(?:\.\d+)*"
NOUNS = (
    "chapter exercise mistake figure table section equation layer head hand position row column dimension dim step stage word output "
    "output test row sentence task case version place rank rule axis experiment row block Python PyTorch torch"
).split()
NAMED = re.compile(
    rf"\b(?:{'|'.join(NOUNS)})s? (?:number )?{ORDINAL}(?:(?:, | and | or | to |, and |–){ORDINAL})*(?![\d%]|,\d| ?%|\.\d)", re.IGNORECASE
)
YEAR = re.compile(r"(?<![\d.,])(?:19[4-9]\d|20[0-3]\d)[a-z]?(?=[\s).,;:\]–]|$)(?!,\d)")
NO_CLAIM = (
    re.compile(r"^- \W*\d\d (?=[A-Z])"),  # a chapter at the head of an item
    re.compile(r"(?<![\d.,])0\d\b(?!\.\d)"),  # chapters again: no quantity is written so
    re.compile(r"^\| \d+ (?=\|)"),  # the label of a row
    re.compile(r"(?:\d+, )+(?:…|\.\.\.)"),  # 0, 1, 2, …: any number at all
    re.compile(r"(?i)\bpaper,? \(?(?:section )?\d\.\d(?:\.\d)?\)?"),
    re.compile(r"(?i)\b(?:llama|gpt|bert|version) \d\b"),
    re.compile(r"#\d+"),
    NAMED,
    YEAR,
)
LABEL = re.compile(r"^\W{0,2}(?:\d+\. |Time\.\W+About \d+ minutes[^.]*\.)")  # of an exercise, a mistake, a step; minutes to read
UNIT = rf"(?:\s?(%)|\s({'|'.join(SCALES)})\b)"
SHARED = rf"(?:\s(?:–|to|or|and)\s|–)(?:{NUMBER})"  # 4 or 5 %: the unit is that of both
CLAIMED = re.compile(rf"(?<![\w.,#/^])(?<![A-Za-z]-)({NUMBER})(?![\w/]|,\d|\.\d)(?={SHARED}{UNIT}|())(?:{UNIT})?")
ROUNDED = re.compile(rf"(?:\b|(?<=\W)|^)(?:{ROUND_WORDS})(?: the| a)?\W*$", re.IGNORECASE)
SUM = re.compile(rf"(?<![\w.,])((?:{NUMBER})(?: ?[×·+−*/] ?(?:{NUMBER}))+) ?(=|≈) ?({NUMBER})(?!\w|,\d)")
TRIVIAL = {"0", "1"}

COST = re.compile(r"\bO\((?:[^()]|\([^()]*\))+\)")
PARTS = re.compile(r"\\q?quad|;\\;|\\(?:text|quad)\{[^{}]*\}|\\(?:iff|implies|Rightarrow)|(?<!\{),(?!\d{3}(?!\d)|\})(?![^\[]*\])|;")
RELATION = re.compile(r"(=|\\approx|\\le(?:q|ss)?\b|\\ge(?:q)?\b|\\ll\b|\\gg\b|<|>|\\equiv|\\sim|\\to\b|\\ne(?:q)?\b|\\pm)")
BARE = re.compile(rf"^\s*[-−+]?\s*({NUMBER})\s*(?:\\?%)?\s*$")
POWER_OF_TEN = re.compile(r"^\s*10\^\{?(-?\d+)\}?\s*$")
VECTOR = re.compile(r"^\s*\[([^\[\]]*)\]\s*$")


@dataclass(frozen=True)
class Sentence:
    """A sentence or a row of a table, with what it states.

    Attributes:
        text: Its Markdown, on one line.
        cell: The index of its cell in the notebook.
        section: The heading of level 2 under which it stands; "" before the first.
        numbers: The numbers that it states.
        costs: The costs that it states, such as O(n^2).
    """

    text: str
    cell: int
    section: str
    numbers: tuple[Written, ...]
    costs: tuple[str, ...]


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The paragraphs, items and table rows of a Markdown text, each with the heading of level 2 that it follows ("" for none)."""
    section, lines = "", []
    for line in [*FENCED.sub("", FOLDED.sub("", text)).splitlines(), ""]:
        stripped = re.sub(r"^\s*>\s?", "", line).strip()
        heading = HEADING.match(line)
        row = stripped.startswith("|")
        if (not stripped or heading or row or ITEM.match(line)) and lines:
            yield section, " ".join(lines)
            lines = []
        if heading:
            section = heading[2].strip() if len(heading[1]) == 2 else section
        elif row:
            if not RULER.match(stripped):
                yield section, stripped
        elif stripped:
            lines.append(stripped)


def sentences_of(block: str) -> Iterator[str]:
    """The sentences of a block, or the one row that it is; formulas and code are never cut."""
    hidden: list[str] = []

    def hide(match: re.Match) -> str:
        hidden.append(match[0])
        return HIDDEN.format(len(hidden) - 1)

    masked = MATH.sub(hide, CODE.sub(hide, LABEL.sub("", block)))
    for sentence in [masked] if block.startswith("|") else END.split(masked):
        while IS_HIDDEN.search(sentence):
            sentence = IS_HIDDEN.sub(lambda m: hidden[int(m[1])], sentence)
        yield sentence.strip()


def numbers_in_formula(formula: str, rounded: bool) -> Iterator[Written]:
    """The numbers that a formula states: a side of a relation that is a number, or a row of them; constants inside a side are not."""
    for part in PARTS.split(formula):
        parts = RELATION.split(part or "")
        sides, relations = parts[::2], [r"\approx" if rounded else "", *parts[1::2]]
        values = [calculate_formula(side) for side in sides]
        sums = [(side.strip(), value) for side, value in zip(sides, values, strict=True) if value is not None and not BARE.match(side)]
        for side, relation, value in zip(sides, relations, values, strict=True):
            if POWER_OF_TEN.match(side):
                yield Written(side.strip(), value, 0.0)
            yield from numbers_in_side(side.replace("{,}", ",").replace(r"\,", ""), relation in (r"\approx", r"\sim"), sums)


def numbers_in_side(side: str, rounded: bool, sums: list[tuple[str, float]]) -> Iterator[Written]:
    """The number that one side of a relation is, or those of the row that it is, with the other side that calculates it, if any."""
    vector = VECTOR.match(side)
    items = vector[1].split(",") if vector else [side]
    among = tuple(value for item in items if (value := calculate_formula(item)) is not None) if vector else ()
    for item in items:
        if (bare := BARE.match(item)) and bare[1] not in TRIVIAL:
            number = written(bare[1], rounded=rounded, among=among)
            yield replace(number, known=next((text for text, value in sums if number.fits(value)), ""))


def numbers_in_text(text: str) -> Iterator[Written]:
    """The numbers that plain text states."""
    known = {m[3]: m[1] for m in SUM.finditer(text) if written(m[3], "", m[2] == "≈").fits(calculate_formula(m[1]) or 0)}
    for match in CLAIMED.finditer(text):
        unit = next((group for group in match.groups()[1:] if group), "")
        rounded = bool(ROUNDED.search(text[: match.start()]))
        if match[1] not in TRIVIAL or unit:
            yield written(match[1], unit, rounded, known.get(match[1], ""))


def numbers_of(sentence: str) -> Iterator[Written]:
    """The numbers that a sentence states, in its formulas and outside."""
    sentence = CODE.sub(" ", sentence)
    while LINK.search(sentence):
        sentence = LINK.sub(r"\1", sentence)
    for match in MATH.finditer(sentence):
        yield from numbers_in_formula(match[1] or match[2], bool(ROUNDED.search(sentence[: match.start()])))
    text = MATH.sub(" \ue000 ", sentence).replace("**", "").replace("*", "")
    for pattern in NO_CLAIM:
        text = pattern.sub(" ", text)
    yield from numbers_in_text(text)


def costs_of(sentence: str) -> Iterator[str]:
    """The costs that a sentence states."""
    return (match[0] for match in COST.finditer(CODE.sub(" ", sentence)))


def section_titles(source: str) -> list[str]:
    """The headings of level 2 in a Markdown text."""
    return [title.strip() for marks, title in HEADING.findall(FENCED.sub("", source)) if len(marks) == 2]


def sentences(notebook: NotebookNode) -> Iterator[Sentence]:
    """Every sentence and table row of a chapter that states a number or a cost."""
    section = ""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        for heading, block in blocks(cell.source):
            for text in sentences_of(block):
                numbers, costs = tuple(numbers_of(text)), tuple(costs_of(text))
                if numbers or costs:
                    yield Sentence(text, index, heading or section, numbers, costs)
        section = [section, *section_titles(cell.source)][-1]


def solutions_in(source: str) -> Iterator[str]:
    """The Python of the folded solutions of a Markdown cell."""
    return ("\n\n".join(PYTHON.findall(folded)) for folded in FOLDED.findall(source))
