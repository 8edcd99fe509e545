"""The minutes of a chapter are counted as the page for instructors says."""

import re
from pathlib import Path

import nbformat
import notebook_minutes as minutes
import notebook_rules as rules
import pytest
from nbformat import v4

from transformer_lab.quiz import choices, predict_shape

ROOT = Path(__file__).resolve().parent.parent


def counted(*cells):
    """The kinds that these cells count as, without those they hold none of."""
    return {kind: count for kind, count in minutes.counts(nbformat.from_dict({"cells": list(cells)})).items() if count}


def code(source, *data, tags=()):
    """A code cell whose outputs show these data."""
    metadata = {"tags": list(tags)} if tags else {}
    return v4.new_code_cell(source, metadata=metadata, outputs=[v4.new_output("display_data", data=one) for one in data])


def shown(element):
    """What an element of the package leaves in a notebook."""
    return element._repr_mimebundle_()


def ten_minutes(words):
    """A chapter of so many words that says that it takes ten minutes."""
    head = "**Time.** About 10 minutes with it."  # 6 words
    return nbformat.from_dict({"cells": [v4.new_markdown_cell(f"{head}\n\n{'word ' * (words - 6)}")]})


def test_words_are_counted_without_formulas_links_and_folded_text():
    text = "Three [plain words](02_x.ipynb#a-b).\n\n$$\na + b\n$$\n\n<details><summary>More</summary>Not these.</details>"
    assert counted(v4.new_markdown_cell(text)) == {"words": 3, "formulas": 1}


def test_code_counts_by_the_lines_that_show():
    lines = "a = 1\n\nb = 2\nb"
    assert counted(code(lines, {"text/plain": "2"})) == {"lines of code": 3, "outputs": 1}
    assert counted(code(lines, {"text/plain": "2"}, tags=["hide-input"])) == {"outputs": 1}
    assert counted(code(lines, {"text/plain": "2"}, tags=["remove-cell"])) == {}
    source = {"text/plain": "# transformer_lab/masks.py: f\ndef f():\n\n    pass", "text/markdown": "```python\n…"}
    assert counted(code("show_source(f)", source)) == {"lines of code": 4}


def test_figures_predictions_and_play_are_told_apart():
    options = [("a", True, "Yes."), ("b", False, "No.")]
    assert counted(code("plot()", {"image/png": "", "text/plain": "<Figure>"}, tags=["hide-input"])) == {"figures": 1}
    two = choices([("First?", options), ("Second?", options)])
    assert counted(code("choices(…)", shown(two), tags=["hide-input"])) == {"predictions": 2}
    shape = shown(predict_shape("Q?", [2, 3], why="So."))
    assert counted(code("predict_shape(…)", shape, tags=["hide-input"])) == {"predictions": 1}
    explorer = {"text/html": "<tl-heat-1 data-tl-element=\"heat\" data-config='{}'></tl-heat-1>", "text/plain": "maps"}
    assert counted(code("x_playground()", explorer, tags=["hide-input"])) == {"things to play with": 1}
    assert counted(code("x_panel()", {"text/html": "<img>"}, tags=["live-only", "hide-input"])) == {"things to play with": 1}


def test_exercises_are_left_out_and_what_follows_counts():
    cells = [v4.new_markdown_cell(text) for text in ("## Exercises\n\nNot these.", "Nor these.", "## Summary\n\nOnly these two.")]
    assert counted(*cells) == {"words": 4}


@pytest.mark.parametrize("words", [1000, 2000, 3000])  # 5, 10 and 15 minutes
def test_a_head_may_be_off_by_one_step(words):
    assert list(rules.counted_minutes(ten_minutes(words))) == []


@pytest.mark.parametrize(("words", "said"), [(990, "5.0: write 5"), (3020, "15.1: write 15"), (6, "0.0: write 5")])
def test_a_head_that_is_off_by_more_is_refused(words, said):
    (broken,) = rules.counted_minutes(ten_minutes(words))
    assert "says 10 minutes" in broken and broken.endswith(f"counts up to {said}")


def test_a_chapter_without_such_a_head_is_left_to_the_rule_about_openings():
    assert list(rules.counted_minutes(nbformat.from_dict({"cells": [v4.new_markdown_cell("word " * 9000)]}))) == []


def test_the_page_for_instructors_names_the_paces():
    page = (ROOT / "book" / "instructors.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w[^|]*) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert {kind: float(seconds) for kind, seconds in rows} == minutes.PACES
