"""What the chapters say about themselves, for the page for instructors.

Title, aims, minutes and prerequisites stand at the top of every chapter; what can be pressed stands in its cells. A directive and a role
read them from the chapters themselves, so the page for instructors is never out of step:

``{tl-chapters} needs`` is a table of minutes and prerequisites, ``aims`` a list of aims, ``parts`` a table of what can be pressed,
``weeks`` a plan of one chapter a week;
``{tl-minutes}`02 03` `` is the sum of the minutes of two chapters, ``{tl-minutes}`all` `` that of all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

FOLDER = "notebooks/"
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
AIMS = re.compile(r"^\*\*What you will be able to do\.\*\*[^\n]*\n\n((?:- .+\n?(?:  .+\n?)*)+)", re.MULTILINE)
TIME = re.compile(r"^\*\*Time\.\*\* About (\d+) minutes", re.MULTILINE)
NEEDS = re.compile(r"\*\*You need\*\* (.+?)(?=\n\n|\Z)", re.DOTALL)
TASK = re.compile(r"^\*\*\d+\. ", re.MULTILINE)
IN_THE_PAGE = {"explorer": r"_playground\(", "shapes to predict": r"\bpredict_shape\(", "quiz": r"\bchoices?\("}
IN_A_KERNEL = {"panel": r"_panel\("}


@dataclass(frozen=True)
class Chapter:
    """What a chapter says about itself."""

    file: str
    title: str
    aims: tuple[str, ...]
    minutes: int
    needs: str
    exercises: int
    in_the_page: tuple[str, ...]
    in_a_kernel: tuple[str, ...]

    @property
    def number(self) -> str:
        """The two digits in front of its file's name."""
        return self.file.removeprefix(FOLDER)[:2]


def files_in_order(toc: Path) -> list[str]:
    """The chapters of a table of contents, without their ending; pages that are no notebooks are left out."""
    content = yaml.safe_load(toc.read_text(encoding="utf-8"))
    listed = [one["file"] for part in content["parts"] for one in part["chapters"]]
    return [file for file in listed if file.startswith(FOLDER)]


def read_chapter(source: Path, file: str) -> Chapter:
    """Read one chapter; a heading without aims, minutes or prerequisites is an error that says so."""
    cells = json.loads((source / f"{file}.ipynb").read_text(encoding="utf-8"))["cells"]
    prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    found = {name: pattern.search(prose) for name, pattern in _HEAD.items()}
    if missing := [name for name, match in found.items() if match is None]:
        raise ValueError(f"{file} does not say its {' and '.join(missing)}; write them as the other chapters do")
    return Chapter(
        file=file,
        title=found["title"][1],
        aims=tuple(_one_line(aim).rstrip(";.") for aim in re.split(r"^- ", found["aims"][1], flags=re.MULTILINE)[1:]),
        minutes=int(found["time"][1]),
        needs=_one_line(found["prerequisites"][1]).replace("|", "\\|"),  # it will stand in a table
        exercises=len(TASK.findall(prose.partition("\n## Exercises\n")[2].partition("\n## ")[0])),
        in_the_page=_used(IN_THE_PAGE, code),
        in_a_kernel=_used(IN_A_KERNEL, code),
    )


_HEAD = {"title": TITLE, "aims": AIMS, "time": TIME, "prerequisites": NEEDS}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _used(kinds: dict[str, str], code: str) -> tuple[str, ...]:
    return tuple(kind for kind, pattern in kinds.items() if re.search(pattern, code))


def read_chapters(source: Path) -> list[Chapter]:
    """Every chapter of the book, in its order."""
    return [read_chapter(source, file) for file in files_in_order(source / "_toc.yml")]


def link(chapter: Chapter) -> str:
    """A link to a chapter from a page in ``book``."""
    return f"[{chapter.number} {chapter.title}](../{chapter.file}.ipynb)"


def from_book(text: str) -> str:
    """A chapter's text with its links as a page in ``book`` must write them."""
    return re.sub(r"\]\((?!https?://|#)([^)]+)\)", lambda found: f"]({_moved(found[1])})", text)


def _moved(target: str) -> str:
    return target.removeprefix("../book/") if target.startswith("../book/") else f"../{FOLDER}{target}"


def needs_table(chapters: list[Chapter]) -> list[str]:
    """Minutes and prerequisites."""
    rows = [f"| {link(one)} | {one.minutes} | {from_book(one.needs)} |" for one in chapters]
    return ["| chapter | minutes | you need |", "|---|--:|---|", *rows]


def parts_table(chapters: list[Chapter]) -> list[str]:
    """What can be pressed, and what there is to solve."""
    rows = [
        f"| {link(one)} | {', '.join(one.in_the_page) or '–'} | {', '.join(one.in_a_kernel) or '–'} | {one.exercises or '–'} |"
        for one in chapters
    ]
    return ["| chapter | works in the page | needs a kernel | exercises |", "|---|---|---|--:|", *rows]


def aims_list(chapters: list[Chapter]) -> list[str]:
    """What a student can do after each chapter."""
    lines: list[str] = []
    for one in chapters:
        first, *others = [f"- {from_book(aim)}" for aim in one.aims]
        lines += [link(one), f": {first}", *(f"  {aim}" for aim in others), ""]
    return lines


def weeks_table(chapters: list[Chapter]) -> list[str]:
    """A chapter a week, in the book's order."""
    rows = [
        f"| {week} | {link(one)} | {one.minutes} | {f'{one.exercises} exercises' if one.exercises else 'a report of one page'} |"
        for week, one in enumerate(chapters, start=1)
    ]
    return ["| week | chapter | minutes to read | to hand in |", "|--:|---|--:|---|", *rows]


FORMS = {"needs": needs_table, "aims": aims_list, "parts": parts_table, "weeks": weeks_table}


class Chapters(SphinxDirective):
    """Shows what the chapters say about themselves."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table or list that was asked for."""
        if self.arguments[0] not in FORMS:
            raise self.error(f"tl-chapters shows {', '.join(FORMS)}, not {self.arguments[0]}")
        lines = FORMS[self.arguments[0]](read_chapters(Path(self.env.srcdir)))
        box = nodes.Element()
        self.state.nested_parse(StringList(lines, source="chapters"), self.content_offset, box)
        return box.children


class Minutes(SphinxRole):
    """The minutes of some chapters together."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The sum, as plain text."""
        return [nodes.Text(str(total_minutes(read_chapters(Path(self.env.srcdir)), self.text)))], []


def total_minutes(chapters: list[Chapter], wanted: str) -> int:
    """The minutes of the chapters with these numbers, or of all."""
    minutes = {one.number: one.minutes for one in chapters}
    numbers = list(minutes) if wanted == "all" else wanted.split()
    if unknown := [number for number in numbers if number not in minutes]:
        raise ValueError(f"there is no chapter {' and '.join(unknown)}; there are {', '.join(minutes)}")
    return sum(minutes[number] for number in numbers)


def setup(app: Sphinx) -> dict:
    """Register the directive and the role."""
    app.add_directive("tl-chapters", Chapters)
    app.add_role("tl-minutes", Minutes())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
