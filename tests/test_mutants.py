"""The table of mutants follows the code: each still applies, still parses, and differs from its neighbours.

That the tests kill them takes minutes: `python -m tests.mutants`.
"""

import ast
from pathlib import Path

import pytest

import transformer_lab

from .mutants import Mutant
from .mutants.__main__ import MUTANTS, TESTS

PACKAGE = Path(transformer_lab.__file__).parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_applies_once_and_changes_what_the_code_does(mutant):
    text = (PACKAGE / mutant.file).read_text("utf-8")
    changed = mutant.apply(text)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    assert mutant.why


def test_names_and_mistakes_are_unique():
    assert len({m.name for m in MUTANTS}) == len(MUTANTS)
    assert len({(m.file, m.source, m.replacement) for m in MUTANTS}) == len(MUTANTS)


def test_the_tests_that_judge_exist():
    assert all((Path(__file__).parent / f"test_{name}.py").is_file() for name in TESTS)


@pytest.mark.parametrize("text", ["a = 1\n", "b = 2\nb = 2\n"])
def test_a_mutant_whose_source_is_gone_or_doubled_is_refused(text):
    with pytest.raises(ValueError, match="mutant 'wrong sum' no longer applies: its source occurs"):
        Mutant("wrong sum", "x.py", "b = 2\n", "b = 3\n", "slip of the pen").apply(text)
