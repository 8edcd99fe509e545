"""Each rule of tools/notebook_rules.py refuses what it is there to refuse, and nothing else."""

import re
import sys
from pathlib import Path

import nbformat
import notebook_rules as rules
import pytest
from nbformat import v4

ROOT = Path(__file__).resolve().parent.parent
PNG = {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure size 640x480 with 1 Axes>"}
ALT = {"mystnb": {"image": {"alt": "Heat map of six by six weights"}}}
WIDGET = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "slider"}


def code(source="1", *data, tags=(), outputs=(), **metadata):
    """A code cell with displayed data and other outputs."""
    shown = [v4.new_output("display_data", data=one) for one in data]
    metadata = {**metadata, **({"tags": list(tags)} if tags else {})}
    return v4.new_code_cell(source, metadata=metadata, outputs=[*shown, *outputs])


def printed(text, name="stdout"):
    return v4.new_output("stream", name=name, text=text)


def error(message="no"):
    return v4.new_output("error", ename="ValueError", evalue=message, traceback=[])


def notebook(*cells):
    return nbformat.from_dict({"cells": [v4.new_markdown_cell(c) if isinstance(c, str) else c for c in cells]})


def broken(rule, *cells):
    """What the rule says about these cells, as one text."""
    return "\n".join(rule(notebook(*cells)))


@pytest.mark.parametrize(
    "source", ["ax.plot(x);", "x = 1;  # quiet", "%matplotlib inline\nx;", "for i in x:\n    print(i);\n\n"]
)
def test_a_semicolon_at_the_end_is_refused(source):
    assert "ends in ';'" in broken(rules.no_semicolon, code(source))


@pytest.mark.parametrize(
    "source", ["print(';')", "x = 1  # not this one;", '"""a;"""', "a = 1; b = 2", "!ls", "", "(("]
)
def test_other_semicolons_are_left_alone(source):
    assert broken(rules.no_semicolon, code(source)) == ""


@pytest.mark.parametrize("quiz", ["choices([])", "x = 1\npredict_shape('?', [2])"])
def test_a_quiz_that_shows_its_answers_is_refused(quiz):
    assert "tag the cell hide-input" in broken(rules.hidden_answers, code(quiz))
    assert broken(rules.hidden_answers, code(quiz, tags=["hide-input"])) == ""
    assert broken(rules.hidden_answers, code("from transformer_lab.quiz import choices")) == ""


PUBLIC = {"causal_mask", "Encoder", "TINY"}


@pytest.mark.parametrize(
    "source",
    [
        "def causal_mask(n):\n    return n",
        "class Encoder: ...",
        "if True:\n    def causal_mask(): ...",
        "def outer():\n    def causal_mask(): ...",
        "TINY = 3",
        "a, (TINY, b) = x",
        "for TINY in x: pass",
        "with open(f) as TINY: pass",
        "(TINY := 3)",
        "TINY += 1",
        "TINY: int = 3",
        "%time\nTINY = 3",
        "from other import Encoder",
        "from other import thing as Encoder",
        "import other as Encoder",
        "from transformer_lab import Decoder as Encoder",
    ],
)
def test_a_cell_that_takes_a_public_name_is_refused(source):
    found = "\n".join(rules.one_story(notebook(code(source)), PUBLIC))
    assert found.count("a name of transformer_lab") == 1


@pytest.mark.parametrize(
    "source",
    [
        "from transformer_lab import Encoder, causal_mask as causal_mask",
        "from transformer_lab.masks import causal_mask",
        "mask = causal_mask(5)",
        "x.TINY = 3",
        "f(TINY=3)",
        "[1 for TINY in x]",
        "def mine(TINY):\n    return TINY",
        "import transformer_lab",
        "this is not Python",
    ],
)
def test_a_cell_may_use_public_names(source):
    assert list(rules.one_story(notebook(code(source)), PUBLIC)) == []


def test_public_names_are_what_the_package_exports(tmp_path):
    files = {
        "__init__.py": "from .masks import causal_mask as causal_mask\nfrom .config import TINY as TINY\nfrom . import trace",
        "masks.py": "LAYOUTS = ()\ndef causal_mask(): ...\ndef _private(): ...",
        "validation.py": "def shape(): ...",
        "trace/__init__.py": "from .shapes import trace_shapes as trace_shapes",
        "trace/shapes.py": "def inner(): ...",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert rules.public_names(tmp_path) == {"causal_mask", "TINY", "trace_shapes"}


def test_the_real_package_exports_its_names():
    exported = rules.public_names(ROOT / "transformer_lab")
    assert {"MultiHeadAttention", "causal_mask", "TransformerConfig", "PAPER_BASE", "plot_attention"} <= exported


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (code("f", PNG), "has no alternative text"),
        (code("f", PNG, mystnb={"image": {"alt": " "}}), "has no alternative text"),
        (code("f", PNG, mystnb={"image": {"alt": "figure.png"}}), "describes nothing"),
        (code("f", PNG, PNG, **ALT), "draws 2 figures"),
        (code("f", {"image/svg+xml": "<svg/>"}), "has no alternative text"),
        (code("1", **ALT), "draws no figure"),
    ],
)
def test_a_figure_needs_a_description(cell, message):
    assert message in broken(rules.alternative_text, cell)


def test_a_described_figure_is_fine():
    assert broken(rules.alternative_text, code("f", PNG, **ALT), code("1", {"text/plain": "1"})) == ""


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([code("w", WIDGET)], "stores a widget"),
        (["It needs a live kernel.", code("w", {"text/plain": "x"}, tags=["live-only"])], "has no still"),
        (["Play!", code("w", PNG, tags=["live-only"])], "neither its output nor the text beside it"),
    ],
)
def test_a_panel_is_a_still_that_says_so(cells, message):
    assert message in broken(rules.live_panels, *cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["It needs a\nlive kernel.", code("w", PNG, tags=["live-only"])],
        [code("w", {"text/html": "<p>This panel needs a live kernel.</p>"}, tags=["live-only"])],
        [code("1", {"text/plain": "1"})],
    ],
)
def test_an_honest_still_is_fine(cells):
    assert broken(rules.live_panels, *cells) == ""


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (code(tags=["raises-exeption"]), "did you mean 'raises-exception'"),
        (code(tags=["zzz"]), "unknown tag 'zzz'; known: "),
        (code("x", tags=["nbval-ignore-output"]), "needs a comment"),
    ],
)
def test_unknown_tags_are_refused(cell, message):
    assert message in broken(rules.known_tags, cell)


def test_known_tags_are_fine():
    assert broken(rules.known_tags, code("x  # differs with the GPU", tags=["nbval-ignore-output", "hide-input"])) == ""


def test_expected_errors_are_tagged():
    assert "without the tag" in broken(rules.expected_errors, code(outputs=[error()]))
    assert "raises nothing" in broken(rules.expected_errors, code(tags=["raises-exception"]))
    assert broken(rules.expected_errors, code(outputs=[error()], tags=["raises-exception"]), code()) == ""


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (code("g", {"text/plain": "<torch._C.Generator object at 0x7fd3b8c0f9d0>"}), "a memory address"),
        (code("y", {"text/plain": "tensor(1., grad_fn=<MulBackward0>)"}), "grad_fn"),
        (code("f", outputs=[printed(f"read {Path.home()}/x")]), "a path of this machine"),
        (code("f", outputs=[error(f"no {sys.prefix}/x")]), "a path of this machine"),
        (code("f", outputs=[printed("\x1b[31mred\x1b[0m")]), "terminal colours"),
        (code("f", outputs=[printed("warning", "stderr")]), "wrote to stderr"),
        (code("f"), "no stored outputs at all"),
    ],
)
def test_outputs_that_differ_between_machines_are_refused(cell, message):
    assert message in broken(rules.stable_outputs, cell)


def test_plain_outputs_are_fine():
    value = code("1", {"text/plain": "tensor([1.000])"}, outputs=[printed("0x1f\n")])
    assert broken(rules.stable_outputs, value, code("x = 1")) == ""


OPENING = "# T\n\nYou will learn. 20 minutes. Prerequisites: none.\n\n## A\n\n### B\n\n## C\n\n"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([OPENING + "## Summary\n\n#### D"], "'D' jumps from level 2 to 4"),
        ([OPENING, "# Second\n\n## Summary"], "exactly one title"),
        (["## First\n\n## Summary"], "exactly one title"),
        ([OPENING], "no section 'Summary'"),
        ([OPENING.replace("You will learn", "It is"), "## Summary"], "objectives"),
        ([OPENING.replace("20 minutes", "long"), "## Summary"], "minutes"),
        ([OPENING.replace("Prerequisites", "Good"), "## Summary"], "prerequisites"),
        (["# T\n\n## A\n\n## B\n\nYou will learn. 20 minutes. Prerequisites: none.\n\n## Summary"], "opening"),
    ],
)
def test_a_chapter_without_its_parts_is_refused(cells, message):
    assert message in broken(rules.chapter_shape, *cells)


def test_a_whole_chapter_is_fine():
    cells = [OPENING + "```python\n# no heading\n```", code("# nor this"), "## Summary\n\n### D"]
    assert broken(rules.chapter_shape, *cells) == ""


@pytest.mark.parametrize(
    "prose", ["```{note}\nx\n```", ":::{tip} x\n:::", "as in {cite}`vaswani2017`", "~~~{math}\nx\n~~~"]
)
def test_markdown_that_only_the_book_understands_is_refused(prose):
    assert "use plain Markdown" in broken(rules.plain_markdown, prose)


SOLVED = "<details><summary>Solution</summary>\n\n```python\nassert 1\n```\n\n</details>"
TASK = f"**1. One.** Show it.\n*Hint:* look.\n\n{SOLVED}"
TASKS = f"# T\n\n## Exercises\n\n{TASK}\n\n{TASK.replace('1. One', '2. Two')}\n\n## Summary\n"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (TASK, "", "has 1 exercises .* and 1 folded solutions"),
        ("**2. Two.**", "Two.", "has 1 exercises .* and 2 folded solutions"),
        (f"*Hint:* look.\n\n{SOLVED}\n\n**2", "**2", "2 exercises .* 1 folded"),
        (f"*Hint:* look.\n\n{SOLVED}\n\n##", f"{SOLVED}\n\n##", "2 exercises but 1 hints"),
        ("assert 1\n```\n\n</details>\n\n##", "1\n```\n\n</details>\n\n##", "the solution of exercise 2 checks nothing"),
    ],
)  # fmt: skip
def test_exercises_that_lack_something_are_refused(before, after, message):
    assert before in TASKS
    assert re.search(message, broken(rules.exercises, TASKS.replace(before, after, 1)))


def test_whole_exercises_are_fine_and_so_is_a_page_without_any():
    assert broken(rules.exercises, TASKS) == broken(rules.exercises, "# T\n\n## Summary") == ""
    assert list(rules.solutions(notebook(TASKS, "```python\nno solution\n```"))) == ["assert 1\n"] * 2


def test_plain_markdown_is_fine():
    prose = (
        "A set $\\{a\\}$, `{x}`, f`{y}`: \n\n```python\nf'{x}'\n```\n\n<details><summary>More</summary>\nx\n</details>"
    )
    assert broken(rules.plain_markdown, prose, code("f'{x}`'")) == ""


def test_the_first_code_cell_is_the_set_up_cell():
    def found(*cells):
        return list(rules.setup_cell(notebook(*cells), "import torch"))

    assert found(code("import torch", tags=["remove-cell"]), code("x")) == []
    assert found()
    assert found(code("import torch"))
    assert found(code("import  torch", tags=["remove-cell"]))
    assert found(code("x"), code("import torch", tags=["remove-cell"]))
