"""What the code cells of a chapter give as evidence: what they assert, what they show, what they set.

Quizzes are no evidence, since they hold wrong answers on purpose; nor are outputs that are not compared when the chapter is
tested.
"""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ledger_numbers import NUMBER, SCALES, Written, calculate, plain
from ledger_prose import NAMED, solutions_in
from nbformat import NotebookNode
from notebook_rules import python_of, tags_of

ASSERTED, SHOWN, SET = "asserted", "shown", "set"  # from strong to weak
QUIZZES = {"choices", "predict_shape"}
CLOSE = re.compile(r"(?:^|\.)assert_(?:close|allclose|equal)$")
PLACES = {"dim", "axis", "dims", "keepdim"}  # arguments that name an axis
IN_OUTPUT = re.compile(rf"(?<![\w.,])(?<![A-Za-z]-)[-−]?({NUMBER})(?:\s?(%)|(?![\w%]))")
COMMON = {
    re.sub(r"(?:e?s|ed|ing)$", "", word)
    for word in (
        "the and for with not all one its that this are has was were from than but into per each every only other more most when "
        "where which what there here they them their then will can may must have does been being over under out after before "
        "assert testing torch close tensor dtype double float range len sum round item max min abs rtol atol int list dict def "
        "return shape size value values number numbers two three four none true false print math mean model"
    ).split()
}
FIGURE = "<Figure size"  # what stands for a figure without a screen
ELEMENT = "<tl-"  # the HTML of an explorer or a quiz


@dataclass(frozen=True)
class Found:
    """A number that a cell computes, asserts or sets.

    Attributes:
        kind: ASSERTED, SHOWN or SET.
        low: Its value, or the lower end of an interval that is asserted.
        high: Its value, or the upper end.
        text: The number as it stands there.
        where: The assertion, the line of output or the statement that it stands in.
        cell: The index of the cell.
        units: The units that the statement or the table speaks of: 57.7 in a table of percentages may be 57.7 %.
        about: What tells whether it is about the same thing as a sentence: its own words, those of its comment or of a table's head.
    """

    kind: str
    low: float
    high: float
    text: str
    where: str
    cell: int
    units: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()

    def supports(self, number: Written) -> bool:
        """Whether this is the number that was written."""
        if self.low != self.high:
            return number.within(self.low, self.high)
        if self.kind != SET and number.unit in self.units and number.fits(self.low, number.unit):
            return True
        share = number.unit != "%" or not self.low.is_integer() or self.text.endswith("%")  # 2 is 200 % only where it says so
        return share and number.fits(self.low)

    def has_row(self, number: Written) -> bool:
        """Whether the whole row that a number stands in, such as [6, 0], can be found here."""
        here = [abs(value) for value, _ in numbers_shown(self.where)]
        return bool(number.among) and all(any(abs(abs(want) - have) <= number.half for have in here) for want in number.among)


def units_in(text: str) -> frozenset[str]:
    """The units that a text names."""
    percent = {"%"} if re.search(r"%|\bper ?cent|\b100 \*", text) else set()
    return frozenset({unit for unit in SCALES if re.search(rf"(?<![A-Za-z]){unit}s?(?![A-Za-z])", text)} | percent)


@functools.cache
def topics(text: str) -> frozenset[str]:
    """What a sentence or a piece of code is about: its words without endings, and the letters of its formulas as code spells them."""
    text = re.sub(r"_\{(?:\\text\{)?(\w+)\}*", r"_\1", text)
    names = set(re.findall(r"\b(?:[A-Za-z]_\w+|[A-Z]|h|n)\b", text))
    words = re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower().replace("_", " "))
    return frozenset(names | {re.sub(r"(?:e?s|ed|ing)$", "", word) for word in words} - COMMON)


def short(source: str) -> str:
    """A statement on one line."""
    return " ".join(source.split())


def called(node: ast.AST) -> str:
    """The dotted name of what a call calls."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def is_quiz(node: ast.AST) -> bool:
    """Whether a statement or expression asks the reader."""
    return called(node).split(".")[-1] in QUIZZES


def interval(node: ast.AST) -> tuple[float, float] | None:
    """The ends of the interval that a comparison such as 0.55 < share < 0.6 asserts."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 2 or {type(op) for op in node.ops} - {ast.Lt, ast.LtE, ast.Gt, ast.GtE}:
        return None
    first, last = calculate(node.left), calculate(node.comparators[-1])
    return None if first is None or last is None else (min(first, last), max(first, last))


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node in which numbers are quantities: no quiz, no index, no axis, no end of an interval."""
    if isinstance(node, ast.Subscript):
        yield node.value
        return
    if interval(node):
        yield node.comparators[0]
        return
    for child in ast.iter_child_nodes(node):
        axis = isinstance(child, ast.keyword) and child.arg in PLACES
        if not axis and not is_quiz(child):
            yield child


def literals(node: ast.AST, strings: bool = False) -> Iterator[tuple[float, str]]:
    """Every number in a piece of code and every calculation that is made of numbers only, with its text; in strings too if asked."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from numbers_shown(node.value) if strings else ()
        return
    if isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp):
        value = calculate(node)
        if value is not None:
            yield float(value), ast.unparse(node)
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.operand, ast.Constant):
        for child in children(node):
            yield from literals(child, strings)


def intervals(node: ast.AST) -> Iterator[tuple[float, float, str]]:
    """The intervals that a statement asserts, each with its text."""
    return ((*ends, ast.unparse(part)) for part in ast.walk(node) if (ends := interval(part)))


def numbers_shown(text: str) -> Iterator[tuple[float, str]]:
    """The numbers in a line of output; names that have a number (layer 2) are none."""
    for match in IN_OUTPUT.finditer(NAMED.sub(" ", text)):
        value = plain(match[1])
        yield (value / 100 if match[2] else value), match[0].strip()


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a cell, also those inside loops and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and is_quiz(node.value)):
            yield node


COMPOUND = ast.FunctionDef | ast.ClassDef | ast.For | ast.While | ast.If | ast.With | ast.Try


def is_assertion(node: ast.AST) -> bool:
    """Whether a statement fails when something is not as it should be."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and bool(CLOSE.search(called(node.value))))


def parsed(source: str) -> Iterator[tuple[ast.stmt, str, str]]:
    """The statements of a cell, each as code on one line and as the lines that it stands on, with their comments.

    Of a compound statement, such as a loop, only the head counts.
    """
    source = python_of(source)
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell that shows one to the reader
        return
    lines = source.splitlines()
    for node in statements(tree):
        last = node.body[0].lineno - 1 if isinstance(node, COMPOUND) else node.end_lineno
        first = min(node.lineno - 1, max(last - 1, 0))
        text = ast.get_source_segment(source, node) or ""
        yield node, short(text.split(":\n")[0] if isinstance(node, COMPOUND) else text), "\n".join(lines[first:last])


def from_source(source: str, cell: int) -> Iterator[Found]:
    """What the code of a cell asserts and sets."""
    for node, where, written in parsed(source):
        units, about = units_in(written), topics(written)
        if is_assertion(node):
            checked = node.test if isinstance(node, ast.Assert) else node
            yield from (Found(ASSERTED, v, v, text, where, cell, units, about) for v, text in literals(checked, strings=True))
            yield from (Found(ASSERTED, low, high, text, where, cell, units, about) for low, high, text in intervals(checked))
            continue
        only_shown = isinstance(node, ast.Expr) and not called(node.value).endswith("_")  # weight.mul_(0.3) sets something
        parts = [] if only_shown else [node]
        if isinstance(node, COMPOUND):
            parts = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt | ast.ExceptHandler)]
        for part in parts:
            yield from (Found(SET, v, v, text, where, cell, units, about) for v, text in literals(part))


def shown_text(cell: NotebookNode) -> Iterator[str]:
    """The text that a cell shows and that a test of the chapter compares."""
    if "nbval-ignore-output" in tags_of(cell):
        return
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/markdown" in data or ELEMENT in str(data.get("text/html", ""))[:400]:
            continue  # source code, an explorer
        text = str(output.get("text") or output.get("evalue") or data.get("text/plain") or "")
        if not text.startswith(FIGURE):
            yield text


def from_outputs(cell: NotebookNode, index: int) -> Iterator[Found]:
    """What a cell shows, line by line; each line is about what the first two (the head of a table) and the cell's last statement say."""
    result = topics(max(((node.lineno, written) for node, _, written in parsed(cell.source)), default=(0, ""))[1])
    for text in shown_text(cell):
        lines = text.splitlines()
        head = " ".join(lines[:2])
        units, topic = units_in(head), topics(head) | result
        for line in lines:
            about = topics(line) | topic
            yield from (Found(SHOWN, v, v, number, short(line), index, units | units_in(line), about) for v, number in numbers_shown(line))


def evidence(notebook: NotebookNode) -> list[Found]:
    """All that the cells of a chapter assert, show and set, and what its solutions assert and set, in order."""
    found: list[Found] = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and "remove-cell" not in tags_of(cell):
            found += [*from_source(cell.source, index), *from_outputs(cell, index)]
        elif cell.cell_type == "markdown":
            for solution in solutions_in(cell.source):
                found += from_source(solution, index)
    return found


def assertions(notebook: NotebookNode) -> list[str]:
    """Every assertion of a chapter and of its solutions, on one line each."""
    found = []
    for cell in notebook.cells:
        for source in [cell.source] if cell.cell_type == "code" else solutions_in(cell.source):
            found += [where for node, where, _ in parsed(source) if is_assertion(node)]
    return found
