"""The claims of a lesson: its sentences that state numbers or costs, matched with the evidence in its cells."""

import bisect
import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ledger_evidence import ASSERTED, SET, SHOWN, Found, assertions, evidence, topics
from ledger_numbers import Written
from ledger_prose import Sentence, costs_of, numbers_of, section_titles, sentences
from nbformat import NotebookNode
from notebook_form import read_notebook
from notebook_rules import HEADING

LESSON = re.compile(r"(?:0[1-9]|1[0-2])_\w+")
SUMMING_UP = {"", "Exercises", "Summary"}  # these sections speak of the whole chapter
NEAR = 2  # cells before and after a text that are its neighbours, whatever the section
LARGE, UNMISTAKABLE = 10, 1000  # below the first a number is everywhere; from the second on none stands anywhere by chance
CALCULATED, GIVEN = "calculated", "given"
STRENGTH = {ASSERTED: 0, CALCULATED: 1, SHOWN: 2, SET: 3, GIVEN: 4}


@dataclass(frozen=True)
class Entry:
    """A claim that is listed by hand.

    Attributes:
        chapter: The number of the chapter.
        words: A piece of its text, word for word, with the numbers or costs that the entry answers for.
        why: Where they come from, if no cell can compute them.
        by: Otherwise a piece of the assertion that shows them.
    """

    chapter: str
    words: str
    why: str = ""
    by: str = ""


@dataclass(frozen=True)
class Proof:
    """What stands behind one number or cost: how it is computed, as it stands there, and the evidence in code or words."""

    kind: str
    value: str
    text: str


@dataclass(frozen=True)
class Claim:
    """A sentence with its numbers and costs, each with its proof, or None where there is none."""

    name: str
    sentence: Sentence
    proofs: tuple[tuple[str, Proof | None], ...]


class Lesson:
    """A chapter as the ledger sees it."""

    def __init__(self, name: str, notebook: NotebookNode, entries: Iterable[Entry] = ()) -> None:
        self.name, self.number = name, name[:2]
        self.title = next((t for cell in notebook.cells for marks, t in HEADING.findall(cell.source) if marks == "#"), name)
        self.sentences = list(sentences(notebook))
        self.evidence = evidence(notebook)
        self.assertions = assertions(notebook)
        self.code = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
        self.sections = list(sections_by_cell(notebook))
        self.entries = [entry for entry in entries if entry.chapter == self.number]

    def is_near(self, sentence: Sentence, found: Found) -> bool:
        """Whether a piece of evidence is a neighbour of a sentence."""
        if found.cell == sentence.cell or (sentence.section and self.sections[found.cell] == sentence.section):
            return True
        place = bisect.bisect(self.code, sentence.cell)
        return found.cell in self.code[max(place - NEAR, 0) : place + NEAR]

    def may_speak(self, sentence: Sentence, number: Written, found: Found) -> bool:
        """Whether a piece of evidence may speak for a number of a sentence.

        A neighbour may; but small numbers are everywhere, so that for these it must share a word with the sentence. From farther
        off, a setting may that was made before, and where the chapter is summed up anything may, if a word is shared.
        """
        shared = bool(found.about & topics(sentence.text)) or found.has_row(number)
        if self.is_near(sentence, found):
            return shared or not number.exact or number.value >= LARGE
        far = sentence.section in SUMMING_UP or (found.kind == SET and found.cell < sentence.cell and number.value >= LARGE)
        return far and (shared or number.value >= UNMISTAKABLE)

    def proof(self, sentence: Sentence, number: Written) -> Proof | None:
        """The best evidence for a number: what is listed by hand; else by its kind, then by the words it shares, then by distance."""
        if listed := self.listed(sentence, number.text, lambda words: [found.text for found in numbers_of(words)]):
            return listed
        if number.known:
            return Proof(CALCULATED, number.text, number.known)
        fitting = [found for found in self.evidence if found.supports(number) and self.may_speak(sentence, number, found)]
        if not fitting:
            return None
        about = topics(sentence.text)

        def rank(found: Found) -> tuple:
            distance = abs(found.cell - sentence.cell)
            return STRENGTH[found.kind], found.low != found.high, -len(about & found.about), distance, len(found.text)

        best = min(fitting, key=rank)
        return Proof(best.kind, best.text, best.where)

    def listed(self, sentence: Sentence, stated: str, read) -> Proof | None:
        """What the list says about a number or cost of a sentence; an assertion that is not there any more proves nothing."""
        for entry in self.entries:
            if entry.words in sentence.text and stated in read(entry.words):
                if entry.why:
                    return Proof(GIVEN, stated, entry.why)
                shown = [text for text in self.assertions if entry.by in text]
                return Proof(ASSERTED, stated, shown[0]) if shown else None
        return None

    def claims(self) -> Iterator[Claim]:
        """Every sentence that states a number or a cost, with its proofs."""
        taken: set[str] = set()
        for sentence in self.sentences:
            proofs = [(number.text, self.proof(sentence, number)) for number in sentence.numbers]
            proofs += [(cost, self.listed(sentence, cost, costs_of)) for cost in sentence.costs]
            yield Claim(name_of(self.number, sentence.text, taken), sentence, tuple(dict(proofs).items()))

    def noticed(self) -> tuple[int, int]:
        """How many numbers would be missed if they were wrong by one in the last place, as (noticed, all that are not given)."""
        noticed = total = 0
        for sentence in self.sentences:
            for number in {number.text: number for number in sentence.numbers}.values():
                proof = self.proof(sentence, number)
                if proof and proof.kind != GIVEN:
                    wrong = replace(number, text="", value=number.value + (2 * number.half or number.value), known="", among=())
                    noticed, total = noticed + (self.proof(sentence, wrong) is None), total + 1
        return noticed, total


def sections_by_cell(notebook: NotebookNode) -> Iterator[str]:
    """For each cell the heading of level 2 under which its end stands."""
    section = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            section = [section, *section_titles(cell.source)][-1]
        yield section


def name_of(chapter: str, text: str, taken: set[str]) -> str:
    """The id of a claim: the chapter and a short digest of the words without the numbers, so that mending a number keeps it."""
    letters = " ".join(re.findall(r"[^\W\d_]+", text.lower()))
    digest = hashlib.sha256(letters.encode()).hexdigest()
    candidates = [f"{chapter}-{digest[:length]}" for length in range(4, 12)] + [f"{chapter}-{digest[:4]}-{n}" for n in range(2, 1000)]
    name = next(candidate for candidate in candidates if candidate not in taken)
    taken.add(name)
    return name


def read_entries(path: Path) -> list[Entry]:
    """The claims that are listed by hand.

    Raises:
        ValueError: If an entry is not complete.
    """
    entries = []
    for number, given in enumerate(tomllib.loads(path.read_text("utf-8")).get("claim", []) if path.exists() else [], start=1):
        try:
            entry = Entry(**{key: " ".join(value.split()) for key, value in given.items()})
        except TypeError as error:
            raise ValueError(f"{path.name}, entry {number}: needs chapter, words, and why or by ({error})") from error
        if bool(entry.why) == bool(entry.by):
            raise ValueError(f"{path.name}, entry {number} ({entry.words!r}): needs either why (a reason) or by (an assertion)")
        entries.append(entry)
    return entries


def read_lessons(root: Path) -> list[Lesson]:
    """The lessons that there are, in order, also those that are not in the table of contents yet."""
    folder = root / "notebooks"
    entries = read_entries(folder / "claims.toml")
    paths = [path for path in sorted(folder.glob("*.ipynb")) if LESSON.fullmatch(path.stem)]
    return [Lesson(path.stem, read_notebook(path), entries) for path in paths]


def in_book(root: Path, lessons: Iterable[Lesson]) -> list[Lesson]:
    """The lessons that the table of contents names."""
    contents = (root / "_toc.yml").read_text("utf-8")
    return [lesson for lesson in lessons if f"notebooks/{lesson.name}\n" in contents]
