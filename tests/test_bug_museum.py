"""The bug museum: its exhibits are mutants of the table, line by line, and the tests that it names catch them.

    python -m tests.test_bug_museum FOLDER    # makes a copy of the package there, and lets each named test judge its mutant
"""

import ast
import inspect
import multiprocessing
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
import pytest

import transformer_lab

from .mutants import Mutant
from .mutants import __main__ as judging
from .mutants.__main__ import MUTANTS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(transformer_lab.__file__).parent
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
CATALOGUE = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (\d) \|$", re.MULTILINE)
LABEL = re.compile(r"^\*Mutants?\* (.+?) · \*caught by\* (.+)$", re.MULTILINE)


@dataclass
class Exhibit:
    """One bug on show, as the notebook has it."""

    number: int
    title: str
    room: int
    mutants: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    code: str = ""

    def edits(self):
        """(function, right line, wrong line) of every call that has a right and a wrong line."""
        for node in ast.walk(ast.parse(self.code)):
            if isinstance(node, ast.Call):
                lines = {k.arg: k.value.value for k in node.keywords if k.arg in ("right", "wrong")}
                if lines:
                    (function,) = (ast.unparse(arg) for arg in node.args if not isinstance(arg, ast.Constant))
                    yield function, lines["right"], lines["wrong"]


@cache
def cells():
    return nbformat.read(ROOT / "notebooks" / "14_bug_museum.ipynb", as_version=4).cells


@cache
def prose():
    return "\n\n".join(cell.source for cell in cells() if cell.cell_type == "markdown")


@cache
def exhibits() -> tuple[Exhibit, ...]:
    found, room, opened = [], 0, False
    for cell in cells():
        if cell.cell_type == "code" and opened:
            found[-1].code += cell.source + "\n"
        for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
            if door := re.match(r"## Room (\d): ", line):
                room = int(door[1])
            if line.startswith("#"):
                opened = bool(plate := re.match(r"### (\d+)\. (.+)", line))
                if plate:
                    found.append(Exhibit(int(plate[1]), plate[2], room))
            if label := LABEL.match(line):
                found[-1].mutants, found[-1].tests = (re.findall(r"`(.+?)`", part) for part in label.groups())
    return tuple(found)


@cache
def imported() -> dict:
    """The names that the notebook imports."""
    names: dict = {}
    exec(next(c.source for c in cells() if c.cell_type == "code" and "from transformer_lab import (" in c.source), names)
    return names


def function_in(text: str, qualified_name: str) -> str:
    """A function of a module, without its layout and its docstring."""
    node = ast.parse(text)
    for name in qualified_name.split("."):
        (node,) = (part for part in node.body if getattr(part, "name", "") == name)
    if ast.get_docstring(node):
        node.body = node.body[1:]
    return ast.dump(node)


def pairs() -> list[tuple[Mutant, str]]:
    return [(BY_NAME[name], test) for e in exhibits() for name, test in zip(e.mutants, e.tests, strict=True)]


def test_forty_two_exhibits_stand_in_order_in_seven_rooms():
    assert [e.number for e in exhibits()] == list(range(1, 43))
    assert [e.room for e in exhibits()] == sorted(e.room for e in exhibits())
    assert {e.room for e in exhibits()} == set(range(1, 8))


def test_the_catalogue_agrees_with_the_rooms():
    rows = CATALOGUE.findall(prose())
    assert [(int(n), title, int(room)) for n, title, _, room in rows] == [(e.number, e.title, e.room) for e in exhibits()]
    assert all(len(symptom.split()) <= 5 for _, _, symptom, _ in rows)


def test_every_exhibit_names_mutants_of_the_table_and_none_is_shown_twice():
    names = [name for e in exhibits() for name in e.mutants]
    assert set(names) <= set(BY_NAME)
    assert len(names) == len(set(names)) >= 42
    assert all(e.mutants and len(e.mutants) == len(e.tests) for e in exhibits())


def test_every_named_test_exists():
    for e in exhibits():
        for test in e.tests:
            file, name = test.split("::")
            tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{e.number}: {test}"


@pytest.mark.parametrize("number", range(1, 43))
def test_the_lines_of_an_exhibit_make_its_mutant_and_nothing_else(number):
    e = exhibits()[number - 1]
    if e.mutants == ["ReLU dropped"]:  # a line of a table, which the notebook exchanges as a dict
        assert BY_NAME["ReLU dropped"].replacement.rstrip(",") in e.code
        return
    edits = list(dict.fromkeys(e.edits()))
    assert len(edits) == len(e.mutants)
    for (name, right, wrong), mutant in zip(edits, map(BY_NAME.get, e.mutants), strict=True):
        function = inspect.unwrap(eval(name, imported()))
        assert Path(inspect.getsourcefile(function)) == PACKAGE / mutant.file
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(right) == 1
        assert wrong.count("\n") <= 10
        made = mutant.apply((PACKAGE / mutant.file).read_text("utf-8"))
        assert function_in(source.replace(right, wrong), function.__name__) == function_in(made, function.__qualname__)


def test_what_the_page_says_about_the_table_is_so():
    said = re.search(r"The table has (\d+) mutants now, among them the (\d+) of these forty-two exhibits", prose())
    assert (int(said[1]), int(said[2])) == (len(MUTANTS), len(pairs()))
    assert "make mutants" in prose()
    assert re.search(r"^mutants: environment\n\t@\$\(RUN\) -m tests\.mutants$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="a process is forked for each mutant")
def test_every_named_test_fails_on_its_mutant(tmp_path):
    command = [sys.executable, "-m", "tests.test_bug_museum", str(tmp_path / "copy")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("killed") == len(pairs())


def judge_one(copy: Path, test: str) -> None:
    """In a process of its own: runs one test on the copy."""
    file, name = test.split("::")
    judging.OPTIONS += ["-k", name]
    judging._run_tests(copy, [file.removeprefix("test_").removesuffix(".py")])


def main(folder: Path) -> int:
    """Makes each mutant in turn, lets its named test judge it, and prints the verdict."""
    judging._import_once()
    copy, wrong = judging._copy(folder), 0
    for mutant, test in pairs():
        text = judging._make(mutant, copy)
        process = multiprocessing.get_context("fork").Process(target=judge_one, args=(copy, test))
        process.start()
        process.join(judging.SECONDS)
        verdict, why = judging._read_verdict(process, copy)
        (copy / "transformer_lab" / mutant.file).write_text(text, "utf-8")
        right = verdict == "killed" and why == test
        wrong += not right
        print(verdict if right else f"NOT SO ({verdict}: {why})", mutant.name, test, sep="  ", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
