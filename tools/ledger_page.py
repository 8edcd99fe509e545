"""The page of the claims ledger, as Markdown for the book."""

import re
from collections import Counter
from collections.abc import Iterator

from ledger_claims import CALCULATED, GIVEN, Claim, Lesson, Proof
from ledger_evidence import ASSERTED, SET, SHOWN
from ledger_prose import CODE, HIDDEN, IS_HIDDEN, LINK, MATH

LONGEST = 120  # characters of a piece of evidence
KINDS = {
    ASSERTED: "a cell (or the solution of an exercise) fails if it is not so",
    CALCULATED: "the sentence holds the calculation, and the ledger has done it again",
    SHOWN: "a cell shows it; the tests run every chapter anew and compare what it shows",
    SET: "a cell sets it: a size or an input that we chose",
    GIVEN: "no cell can compute it: a fact of a paper, an everyday example",
}
OPENING = """# Claims ledger

Every sentence of the chapters that states a number or a cost, and what stands behind it (断言账本). This page is written by a
program that reads the chapters as they were last run; a test fails when a number has no evidence or when this page is not what the
program would write.

{kinds}

How a number is met: a count exactly; a number with decimals, a percentage, or one that the text calls rounded, if the computed value
rounds to it. A small number speaks only for a sentence that shares a word with its evidence, and an interval that is asserted pins a
number down only if it is narrow.

**What the program cannot see.** Numbers that are written as words (*twice*, *a third*, *seven*), 0 and 1, names of things that have a
number (chapters, layers, positions), the constants inside a formula, and what quizzes, headings and the descriptions of figures say.
And it finds numbers, not meanings: another number of the same size beside the sentence would satisfy it. To know how often that
happens it makes every number wrong by one in its last place and looks again: of {all} such errors it notices {noticed}.

{counts}
"""


def escape(text: str) -> str:
    """A text for a cell of a table."""
    return text.replace("|", "\\|")


def code(text: str) -> str:
    """A piece of code as a span, shortened."""
    fence = "``" if "`" in text else "`"
    pad = " " if fence == "``" else ""
    return f"{fence}{pad}{escape(text)}{pad}{fence}"


def shortened(text: str, value: str) -> str:
    """A long piece of evidence, cut so that the value remains visible."""
    if len(text) <= LONGEST:
        return text
    place = max(text.find(value), 0)
    start = 0 if place + len(value) < LONGEST - 2 else max(min(place - LONGEST // 2, len(text) - LONGEST), 0)
    middle = text[start : start + LONGEST]
    return ("… " if start else "") + middle.strip() + (" …" if start + LONGEST < len(text) else "")


def breakable(formula: str) -> str:
    """A formula that a narrow column can break before a sign such as =: each side is a formula of its own."""
    pieces, depth = [""], 0
    for token in re.split(r"( (?:=|<|>|\\approx|\\to) |[\[({]|[\])}])", formula):
        depth += (token in list("[({")) - (token in list("])}"))
        if token.startswith(" ") and depth == 0 and pieces[-1]:
            pieces.append("")
        pieces[-1] += token
    return " ".join(f"${piece.strip()}$" for piece in pieces)


def words_of(sentence: str) -> str:
    """A sentence for a cell: no links, no emphasis (it may have been cut), formulas and code untouched."""
    hidden: list[str] = []

    def hide(match: re.Match) -> str:
        text = match[0]
        if text.startswith("$"):
            text = breakable(text.strip("$").strip().replace("|", r"\vert "))
        hidden.append(escape(text))
        return HIDDEN.format(len(hidden) - 1)

    text = MATH.sub(hide, CODE.sub(hide, sentence))
    while LINK.search(text):
        text = LINK.sub(r"\1", text)
    text = re.sub(r"^(?:[-+*]|\d+\.) +", "", text).replace("*", "").replace("<", "&lt;")
    text = escape(" · ".join(part.strip() for part in text.strip("|").split("|")) if text.startswith("|") else text)
    while IS_HIDDEN.search(text):
        text = IS_HIDDEN.sub(lambda match: hidden[int(match[1])], text)
    return text.strip()


def stated(text: str) -> str:
    """A number or a cost as the value column shows it: costs and powers are formulas."""
    return f"${text}$" if re.search(r"O\(|\^", text) else text


def evidence_lines(proofs: tuple[tuple[str, Proof | None], ...]) -> Iterator[str]:
    """Each piece of evidence once, with the kinds before it."""
    seen: dict[tuple[str, str], str] = {}
    for _, proof in proofs:
        if proof:
            seen.setdefault((proof.kind, proof.text), proof.value)
    for (kind, text), value in seen.items():
        if kind == GIVEN:
            yield f"given: {words_of(text)}"
        elif kind == CALCULATED:
            yield f"calculated: ${text}$" if "\\" in text or "^" in text else f"calculated: {escape(text)}"
        else:
            yield f"{kind}: {code(shortened(text, value))}"


def value_lines(proofs: tuple[tuple[str, Proof | None], ...]) -> Iterator[str]:
    """Each number with the value that was computed, where it is written in another way."""
    for text, proof in proofs:
        if proof is None:
            yield f"{stated(text)}: **nothing**"
        elif proof.value == text or proof.kind == CALCULATED or proof.value.replace("_", "").replace(",", "") == text.replace(",", ""):
            yield stated(text)
        else:
            yield f"{stated(text)}: {code(proof.value)}"


def row(claim: Claim) -> str:
    """A claim as a row of the table."""
    name = f"{claim.name}<br>{words_of(claim.sentence.section or 'Opening')}"
    values, found = "<br>".join(value_lines(claim.proofs)), "<br>".join(evidence_lines(claim.proofs))
    return f"| {name} | {words_of(claim.sentence.text)} | {values} | {found} |"


def table(lesson: Lesson, claims: list[Claim]) -> str:
    """The heading of a chapter, which links to it, and the table of its claims."""
    rows = "\n".join(map(row, claims))
    return (
        f"## [{lesson.number} {lesson.title}](../notebooks/{lesson.name}.ipynb)\n\n"
        "```{table}\n:class: tl-ledger\n\n"
        f"| id, section | claim | value | evidence |\n|---|---|---|---|\n{rows}\n```\n"
    )


def render(lessons: list[Lesson]) -> str:
    """The whole page."""
    claims = {lesson: list(lesson.claims()) for lesson in lessons}
    kinds = Counter(proof.kind for found in claims.values() for claim in found for _, proof in claim.proofs if proof)
    rows = [f"| {kind} | {meaning} | {kinds[kind]} |" for kind, meaning in KINDS.items()]
    noticed = [lesson.noticed() for lesson in lessons]
    head = OPENING.format(
        kinds="\n".join(["| evidence | what it means | how many |", "|---|---|---|", *rows]),
        noticed=sum(some for some, _ in noticed),
        all=sum(total for _, total in noticed),
        counts=f"{sum(map(len, claims.values()))} sentences state {sum(kinds.values())} numbers and costs.",
    )
    return head + "".join(f"\n{table(lesson, found)}" for lesson, found in claims.items())
