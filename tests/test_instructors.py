"""The page for instructors says what the chapters say, and its plans can be followed."""

import json
import re
from pathlib import Path

import pytest
import tl_chapters

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "book" / "instructors.md").read_text("utf-8")
CHAPTERS = tl_chapters.read_chapters(ROOT)
NUMBERS = [chapter.number for chapter in CHAPTERS]
HEAD = """# A chapter

**What you will be able to do.** After this chapter you can

- do one thing, with
  more words;
- do $x$.

**Time.** About 40 minutes with the experiments. **You need** chapters [02](02_a.ipynb) and [the notation](../book/notation.md),
| and patience.

Words."""


def write(folder: Path, *cells: tuple[str, str], name: str = "07_x") -> Path:
    """A book with one chapter of the given cells."""
    (folder / "notebooks").mkdir(exist_ok=True)
    content = {"cells": [{"cell_type": kind, "source": [text]} for kind, text in cells]}
    (folder / "notebooks" / f"{name}.ipynb").write_text(json.dumps(content))
    toc = f"root: book/index\nparts:\n- chapters:\n  - file: book/setup\n- chapters:\n  - file: notebooks/{name}\n"
    (folder / "_toc.yml").write_text(toc)
    return folder


def test_every_chapter_says_its_aims_minutes_and_prerequisites():
    in_the_toc = re.findall(r"file: (notebooks/\S+)", (ROOT / "_toc.yml").read_text("utf-8"))
    assert [chapter.file for chapter in CHAPTERS] == in_the_toc
    for chapter in CHAPTERS:
        assert len(chapter.aims) >= 3 and 10 <= chapter.minutes <= 120 and chapter.needs.endswith("."), chapter


def test_a_chapter_is_read_whole(tmp_path):
    quiz = "from transformer_lab.quiz import choices\nchoices([...])\nattention_panel()"
    tasks = "## Exercises\n\n**1. One.** Do.\n\n**2. Two.** Do.\n\n## Summary\n\n**3. Not this.**"
    (one,) = tl_chapters.read_chapters(write(tmp_path, ("markdown", HEAD), ("code", quiz), ("markdown", tasks)))
    assert (one.number, one.title, one.minutes, one.exercises) == ("07", "A chapter", 40, 2)
    assert one.aims == ("do one thing, with more words", "do $x$")
    assert one.needs == "chapters [02](02_a.ipynb) and [the notation](../book/notation.md), \\| and patience."
    assert (one.in_the_page, one.in_a_kernel) == (("quiz",), ("panel",))
    assert tl_chapters.needs_table([one])[2] == (
        "| [07 A chapter](../notebooks/07_x.ipynb) | 40 | chapters [02](../notebooks/02_a.ipynb) and [the notation](notation.md), "
        "\\| and patience. |"
    )
    assert tl_chapters.aims_list([one])[1:3] == [": - do one thing, with more words", "  - do $x$"]
    assert tl_chapters.parts_table([one])[2].endswith("| quiz | panel | 2 |")
    assert tl_chapters.weeks_table([one])[2] == "| 1 | [07 A chapter](../notebooks/07_x.ipynb) | 40 | 2 exercises |"


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        ("**Time.** About", "does not say its time"),
        ("**You need**", "its prerequisites"),
        ("- do", "its aims"),
        ("# A", "its title"),
    ],
)
def test_a_chapter_that_does_not_say_them_is_refused(tmp_path, gone, message):
    write(tmp_path, ("markdown", HEAD.replace(gone, "nothing")))
    with pytest.raises(ValueError, match=message):
        tl_chapters.read_chapters(tmp_path)


def test_minutes_add_up_and_unknown_chapters_are_refused():
    assert tl_chapters.total_minutes(CHAPTERS, "all") == sum(chapter.minutes for chapter in CHAPTERS)
    two = {chapter.number: chapter.minutes for chapter in CHAPTERS}
    assert tl_chapters.total_minutes(CHAPTERS, "02 03") == two["02"] + two["03"]
    with pytest.raises(ValueError, match="no chapter 99"):
        tl_chapters.total_minutes(CHAPTERS, "02 99")


def in_the_plan(heading: str) -> list[list[str]]:
    """The numbers of the chapters in each row of the table below a heading of the page."""
    section = PAGE.partition(f"\n### {heading}")[2].partition("\n## ")[0].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [re.findall(r"notebooks/(\d\d)_", row) for row in rows]


def too_early(plan: list[list[str]], needs: dict[str, list[str]], known: set[str]) -> list[tuple[str, str]]:
    """Chapters of a plan that come before one that they need."""
    found, seen = [], set(known)
    for row in plan:
        for number in row:
            found += [(number, one) for one in needs[number] if one not in seen]
            seen.add(number)
    return found


NEEDS = {chapter.number: re.findall(r"\]\((\d\d)_", chapter.needs) for chapter in CHAPTERS}


def test_no_chapter_of_the_week_comes_before_one_that_it_needs():
    plan = in_the_plan("A week")
    assert len(plan) == 5 and all(plan)
    assert too_early(plan, NEEDS, set()) == []
    assert too_early(plan[::-1], NEEDS, set())


def test_the_book_and_so_the_seminar_keeps_the_order_of_prerequisites():
    assert "```{tl-chapters} weeks" in PAGE
    assert too_early([NUMBERS], NEEDS, set()) == []


def test_a_shorter_seminar_can_leave_out_what_the_page_says():
    (left_out,) = re.findall(r"leave out chapters ([\d, and]+):", PAGE)
    dropped = re.findall(r"\d\d", left_out)
    kept = [number for number in NUMBERS if number not in dropped]
    assert len(dropped) == 4
    # Chapter 06 names 05 as a part that it uses, and says in the same sentence all that one has to know of it.
    assert [pair for pair in too_early([kept], NEEDS, set()) if pair != ("06", "05")] == []


def test_the_session_fills_its_time():
    section = PAGE.partition("\n### One session of 90 minutes")[2].partition("\n### ")[0]
    assert sum(map(int, re.findall(r"^\| (\d+) \|", section, re.MULTILINE))) == 90


def test_the_minutes_of_the_week_are_those_of_its_chapters():
    rows = in_the_plan("A week")
    roles = re.findall(r"\{tl-minutes\}`([\d ]+)`", PAGE)
    assert [row for row in rows if " ".join(row) not in roles] == []
    assert " ".join(number for row in rows for number in row) in roles


def test_whats_new_is_the_changelog():
    text = (ROOT / "book" / "whats_new.md").read_text("utf-8")
    assert '```{include} ../CHANGELOG.md\n:start-after: "# Changelog"\n```' in text
    assert (ROOT / "CHANGELOG.md").read_text("utf-8").startswith("# Changelog\n")
