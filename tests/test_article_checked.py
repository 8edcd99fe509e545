"""The page that checks the article: every point once, short cells that fail, and an overview that says where they stand."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml
from notebook_run import EXPECTED_ERROR

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| (\d+) \| .+ \| ([A-D]) \| ([IVX]+) \| (.*)\|$", re.MULTILINE)
STEP = re.compile(r"^## (?:([IVX]+)\. )?|^\*\*(\d+) · ([A-D])\. ", re.MULTILINE)  # a part, another section, or a point
MOST_LINES = 10
ARGUED = {24, 37, 39, 46, 49}  # without a cell that fails; all but one beside a cell that holds


@dataclass
class Point:
    """One point of the page: its text, and the cells up to the next one."""

    number: int
    letter: str
    part: str
    text: str = ""
    failing: list = field(default_factory=list)
    holding: list = field(default_factory=list)


@cache
def page():
    return nbformat.read(ROOT / "notebooks" / "13_article_checked.ipynb", as_version=4).cells


@cache
def overview():
    """(number, letter, part, links) of each row."""
    text = "\n".join(cell.source for cell in page() if cell.cell_type == "markdown")
    return [(int(number), *rest) for number, *rest in ROW.findall(text)]


@cache
def points():
    """The points in the order of the page."""
    found, part, point = [], None, None
    for cell in page():
        if cell.cell_type == "code" and point is not None:
            (point.failing if EXPECTED_ERROR in cell.metadata.get("tags", []) else point.holding).append(cell)
        if cell.cell_type != "markdown":
            continue
        steps = [*STEP.finditer(cell.source)]
        starts = [step.start() for step in steps] + [len(cell.source)]
        if point is not None:
            point.text += cell.source[: starts[0]]
        for step, end in zip(steps, starts[1:], strict=True):
            if step[2] is None:
                part, point = step[1], None
            else:
                point = Point(int(step[2]), step[3], part, cell.source[step.start() : end])
                found.append(point)
    return found


def test_the_overview_has_fifty_points_in_order():
    assert [number for number, *_ in overview()] == list(range(1, 51))


def test_every_point_stands_once_with_the_letter_and_in_the_part_that_the_overview_says():
    assert sorted((p.number, p.letter, p.part) for p in points()) == [tuple(row[:3]) for row in overview()]


def test_every_point_that_can_run_has_a_cell_that_fails():
    assert {p.number for p in points() if not p.failing} == ARGUED


def test_cells_that_fail_are_short():
    lengths = {p.number: [len(re.findall(r"(?m)^.*\S", cell.source)) for cell in p.failing] for p in points()}
    assert {number: lines for number, lines in lengths.items() if max(lines, default=0) > MOST_LINES} == {}


def test_every_failure_says_what_is_wrong():
    for p in points():
        for cell in p.failing:
            (error,) = [output for output in cell.outputs if output.output_type == "error"]
            assert error.ename in ("AssertionError", "RuntimeError", "NameError"), p.number
            assert len(error.evalue) > 10, p.number


def test_every_point_has_a_right_version():
    assert [p.number for p in points() if "**Right:**" not in p.text and not p.holding] == [37]


@pytest.mark.parametrize("number", range(1, 51))
def test_the_overview_links_to_chapters_of_the_book(number):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    files = {chapter["file"] for part in toc["parts"] for chapter in part["chapters"]}
    for name, target in re.findall(r"\[(\d\d)\]\((\w+)\.ipynb\)", overview()[number - 1][3]):
        assert target.startswith(name) and f"notebooks/{target}" in files
