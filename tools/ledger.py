"""The claims ledger: every number and every cost that a lesson states, beside the evidence for it.

    python tools/ledger.py check [NN ...]   exits with 1 if a number or a cost has no evidence, or if the page is out of date
    python tools/ledger.py write            writes the page, book/ledger.md

A number in prose needs a neighbour: a cell of the same section, or one of the nearest cells, that asserts it, shows it or sets
it. What no cell can compute is listed in notebooks/claims.toml with the reason: a fact of a paper, an everyday example. A cost
such as O(n^2) is listed there with the assertion that shows it. Nothing is run: the stored notebooks are read.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ledger_claims import Lesson, in_book, read_lessons
from ledger_page import render
from ledger_prose import costs_of, numbers_of
from notebook_form import write_atomically

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python tools/ledger.py"


def without_evidence(lesson: Lesson) -> Iterator[str]:
    """Each number or cost of a lesson that nothing stands behind, and what to do about it."""
    for claim in lesson.claims():
        missing = [stated for stated, proof in claim.proofs if proof is None]
        if missing:
            yield (
                f"{lesson.name}, {claim.sentence.section or 'opening'}: nothing computes {', '.join(missing)} in\n"
                f"    {claim.sentence.text}\n"
                "  Assert or show it in a cell beside the sentence, reword the sentence, or list it in notebooks/claims.toml\n"
                "  (with why = its source, or by = a piece of an assertion in this chapter that shows it)."
            )


def dead_entries(lessons: list[Lesson]) -> Iterator[str]:
    """Each entry of the list that answers for nothing any more."""
    for lesson in lessons:
        for entry in lesson.entries:
            where = f"notebooks/claims.toml, chapter {entry.chapter}, {entry.words!r}"
            texts = [sentence.text for sentence in lesson.sentences]
            if not any(entry.words in text for text in texts):
                yield f"{where}: no sentence with a number or a cost says this any more; change words to what the text says, or delete it"
            elif not [*numbers_of(entry.words), *costs_of(entry.words)]:
                yield f"{where}: these words state no number and no cost; take in those that the entry answers for"
            elif entry.by and not any(entry.by in text for text in lesson.assertions):
                yield f"{where}: no assertion of the chapter holds {entry.by!r}"


def check(root: Path, numbers: Iterable[str] = ()) -> int:
    """Report what has no evidence and whether the page is current; return the exit status."""
    lessons = read_lessons(root)
    chosen = [lesson for lesson in lessons if not numbers or lesson.number in {f"{number:0>2}"[:2] for number in numbers}]
    found = [problem for lesson in chosen for problem in without_evidence(lesson)] + list(dead_entries(chosen))
    path = page_path(root)
    if not numbers and (not path.exists() or path.read_text("utf-8") != render(in_book(root, lessons))):
        found.append(f"{path.relative_to(root)} is out of date; run: {COMMAND} write")
    stated = sum(len(claim.proofs) for lesson in chosen for claim in lesson.claims())
    print("\n".join(found) if found else f"{len(chosen)} lessons, {stated} numbers and costs: each has its evidence.")
    return 1 if found or not chosen else 0


def page_path(root: Path) -> Path:
    """Where the page stands."""
    return root / "book" / "ledger.md"


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (default: the one of this tool)")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("check", help="is there evidence for every number and cost, and is the page current?")
    command.add_argument("number", nargs="*", help="numbers of chapters (default: all, and the page)")
    commands.add_parser("write", help="write the page")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    if options.command == "check":
        return check(root, options.number)
    write_atomically(page_path(root), render(in_book(root, read_lessons(root))))
    print(f"{page_path(root).relative_to(root)} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
