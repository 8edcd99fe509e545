"""The chapters themselves: in step with their text, keeping the rules, and able to run offline, twice, in a minute."""

import copy
import tempfile
from pathlib import Path

import nbformat
import notebook_rules as rules
import pytest
from nbformat import v4
from notebook_form import normalise, read_notebook
from notebook_run import ChapterError, execute
from notebook_text import HEADER, parse_text, setup_source

import notebooks

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = notebooks.chapter_names(ROOT)
RULES = (
    rules.chapter_shape, rules.exercises, rules.plain_markdown, rules.known_tags, rules.no_semicolon, rules.hidden_answers,
    rules.alternative_text, rules.live_panels, rules.expected_errors, rules.stable_outputs,
)  # fmt: skip

# Runs in the kernel before the chapter: from here on no socket leaves the machine and every write is written down.
GUARD = """
import os, sys, tempfile

WRITES = []
FREE = tuple(map(os.path.realpath, (tempfile.gettempdir(), os.environ["IPYTHONDIR"], os.environ["MPLCONFIGDIR"], "/dev/null")))

def note(path):
    if isinstance(path, (str, bytes, os.PathLike)):
        full = os.path.realpath(os.fsdecode(path))
        if not full.startswith(FREE) and "__pycache__" not in full:
            WRITES.append(full)

def guard(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in ("127.0.0.1", "::1", "localhost"):
        raise PermissionError(f"no network here: {arguments[1]}")
    if event in ("socket.getaddrinfo", "socket.gethostbyname") and arguments[0] not in (None, "127.0.0.1", "::1", "localhost"):
        raise PermissionError(f"no network here: {arguments[0]}")
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        note(arguments[0])
    if event in ("os.remove", "os.rmdir") and arguments[1] != -1:  # inside a folder that rmtree empties, and then removes by name
        return
    if event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"):
        note(arguments[0])

sys.addaudithook(guard)
"""
CLOCK = "import time\nprint(time.process_time())"
REPORT = "print(sorted(set(WRITES)))"


def text_outputs(cells):
    """What nbval would compare, cell by cell."""
    found = []
    for cell in cells:
        if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            outputs = copy.deepcopy(cell.outputs)
            for output in outputs:
                output.pop("execution_count", None)
                output.get("data", {}).pop("image/png", None)
            found.append((cell.source, outputs))
    return found


def run_guarded(notebook, folder, times=1, then=()):
    """Run a chapter several times in one kernel, and code after it: the cells of each run, what it wrote outside, and the first
    run's seconds of computing, which do not depend on what else the machine does.
    """
    count = len(notebook.cells)
    first, *again = ([copy.deepcopy(cell) for cell in notebook.cells] for _ in range(times))
    after = [v4.new_code_cell(CLOCK), *(cell for run in again for cell in run), *map(v4.new_code_cell, then)]
    cells = [v4.new_code_cell(GUARD), *first, *after, v4.new_code_cell(REPORT)]
    whole = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    for cell in whole.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    execute(
        whole,
        ROOT / "notebooks",
        OMP_NUM_THREADS="1",
        TMPDIR=str(folder),
        TORCHINDUCTOR_CACHE_DIR=str(folder),  # torch leaves it in the environment of whoever compiled before
        PYTHONDONTWRITEBYTECODE="1",
    )
    took = float(whole.cells[count + 1].outputs[0].text)
    written = whole.cells[-1].outputs[0].text.strip()
    del whole.cells[count + 1]  # the clock
    ran = normalise(whole, "guarded").cells[1 : times * count + 1]
    return [ran[k * count : (k + 1) * count] for k in range(times)], written, took


def toy(*sources):
    """A notebook of code cells."""
    return parse_text(HEADER + "".join(f"\n```{{code-cell}} ipython3\n{source}\n```\n" for source in sources))


def test_there_is_a_chapter():
    assert CHAPTERS


@pytest.mark.parametrize("name", CHAPTERS)
def test_text_and_notebook_agree_and_every_rule_is_kept(name):
    problems = list(notebooks.check(notebooks.Chapter(ROOT, name), rules.public_names(ROOT / "transformer_lab")))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", CHAPTERS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(name, rule):
    problems = list(rule(read_notebook(ROOT / "notebooks" / f"{name}.ipynb")))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_chapter_redefines_a_name_of_the_package(name):
    public = rules.public_names(ROOT / "transformer_lab")
    assert not list(rules.one_story(read_notebook(ROOT / "notebooks" / f"{name}.ipynb"), public))


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_is_in_the_table_of_contents(name):
    assert f"file: notebooks/{name}\n" in (ROOT / "_toc.yml").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs_offline_twice_in_one_kernel_and_its_solutions_run(name, tmp_path):
    stored = read_notebook(ROOT / "notebooks" / f"{name}.ipynb")
    (first, second), written, took = run_guarded(stored, tmp_path, times=2, then=rules.solutions(stored))
    assert text_outputs(first) == text_outputs(stored.cells)
    assert text_outputs(second) == text_outputs(first)
    assert written == "[]", f"the chapter wrote outside a temporary folder: {written}"
    assert took < 60, f"one run took {took:.0f} s of a processor"


@pytest.mark.parametrize("name", [name for name in CHAPTERS if name < "12"])  # what follows is no lesson
def test_every_lesson_has_exercises(name):
    text = "\n".join(cell.source for cell in read_notebook(ROOT / "notebooks" / f"{name}.ipynb").cells)
    assert "\n## Exercises\n" in text


@pytest.mark.slow
def test_a_solution_that_fails_is_noticed(tmp_path):
    with pytest.raises(ChapterError, match="wrong by one"):
        run_guarded(toy("n = 1"), tmp_path, then=["assert n == 2, 'wrong by one'"])


@pytest.mark.slow
def test_the_guard_notices_writes_outside_a_temporary_folder(tmp_path):
    with tempfile.TemporaryDirectory(dir=ROOT / "tests") as outside:
        chapter = toy(f"open({outside + '/made.txt'!r}, 'w').close()", "import tempfile\n_ = tempfile.mkdtemp()")
        _, written, _ = run_guarded(chapter, tmp_path)
    assert written == str([f"{outside}/made.txt"])


@pytest.mark.slow
@pytest.mark.parametrize("call", ["create_connection(('192.0.2.1', 80), timeout=1)", "getaddrinfo('example.org', 80)"])
def test_the_guard_cuts_the_network(call, tmp_path):
    with pytest.raises(ChapterError, match="no network here"):
        run_guarded(toy(f"import socket\nsocket.{call}"), tmp_path)


@pytest.mark.slow
def test_a_second_run_that_differs_is_noticed(tmp_path):
    chapter = toy("n = globals().get('n', 0) + 1\nn")
    (first, second), _, took = run_guarded(chapter, tmp_path, times=2)
    assert text_outputs(first) != text_outputs(second)
    assert 0 < took < 10


def test_the_set_up_cell_seeds_torch_so_that_a_second_run_can_equal_the_first():
    assert "torch.manual_seed(0)" in setup_source(ROOT)
