"""The reference of the package: complete, each name once, and docstrings that survive their way onto a page."""

import argparse
import ast
import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest
import tl_api
from docutils.core import publish_doctree
from sphinx.ext.napoleon import Config, GoogleDocstring
from tl_docstrings import COLON, convert, inline, link_chapters, restore_colons

from tests.test_style import PACKAGE, public_definitions
from transformer_lab.__main__ import _parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "book" / "api").glob("*.md"))
ENTRIES = [entry for section in tl_api.catalogue().values() for entry in section]


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def in_the_source() -> set[tuple[str, str]]:
    """Every public function and class as the source has it: (module, name)."""
    return {
        (module_of(path), name)
        for path in PACKAGE
        for name, _, owner in public_definitions(ast.parse(path.read_text("utf-8")))
        if owner is None
    }


def listed(directive: str) -> list[str]:
    """What the pages give to a directive."""
    found = (re.findall(rf"^\.\. {directive}::(.*)$", page.read_text("utf-8"), re.MULTILINE) for page in PAGES)
    return [argument.strip() for page in found for argument in page]


# Complete, and each name once


def test_every_public_function_and_class_has_one_entry():
    found = Counter((e.value.__module__, e.value.__qualname__) for e in ENTRIES if e.kind != "data")
    assert set(found) == in_the_source()
    assert [name for name, times in found.items() if times > 1] == []


def test_every_section_stands_on_one_page():
    assert sorted(listed("tl-names")) == sorted(tl_api.catalogue()), (
        "a module with public names stands on no page of book/api or on two: add `.. tl-names:: MODULE` to one"
    )


@pytest.mark.parametrize("package", [path for path in PACKAGE if path.name == "__init__.py"], ids=module_of)
def test_everything_that_a_package_exports_is_in_the_reference(package):
    name = module_of(package)
    module = importlib.import_module(name)
    values = {
        alias.asname or alias.name: getattr(module, alias.asname or alias.name)
        for node in ast.parse(package.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
        if alias.asname == alias.name or alias.name in getattr(module, "__all__", ())
    }
    for short, value in values.items():
        assert len([e for e in ENTRIES if e.short == short and e.value is value]) == 1, f"{name}.{short}"


def test_the_name_of_an_entry_can_be_imported():
    for entry in ENTRIES:
        path, _, short = entry.name.rpartition(".")
        assert getattr(importlib.import_module(path), short) is entry.value, entry.name


def test_names_that_the_package_exports_are_shown_by_the_short_path():
    names = {entry.name for entry in ENTRIES}
    assert {"transformer_lab.MultiHeadAttention", "transformer_lab.TINY", "transformer_lab.KVCache"} <= names
    assert {"transformer_lab.cache.may_become", "transformer_lab.training.vocabulary.PAD"} <= names
    assert not {"transformer_lab.attention.MultiHeadAttention", "transformer_lab.cache.KVCache"} & names


def test_an_exported_constant_without_a_comment_is_refused():
    with pytest.raises(ValueError, match="no comment that starts with #:"):
        tl_api.explanation(tl_api.Entry("transformer_lab.NOTHING", "data", 1))


@pytest.mark.parametrize(
    "target", ["torch.Tensor", "os.PathLike", "int", "ValueError", "collections.abc.Sequence", "torch"]
)
def test_types_of_others_need_no_entry_here(target):
    assert any(re.fullmatch(kind, "py:class") and re.fullmatch(name, target) for kind, name in tl_api.ELSEWHERE)


@pytest.mark.parametrize(
    "target", ["transformer_lab.Gone", "transformer_lab.trace.Gone", "Gone", "torchgone", "TracRow", "integer"]
)
def test_a_name_of_ours_or_a_misspelt_one_does(target):
    assert not any(re.fullmatch(kind, "py:class") and re.fullmatch(name, target) for kind, name in tl_api.ELSEWHERE)


# The command line


def commands(parser: argparse.ArgumentParser, words: str = "") -> dict[str, argparse.ArgumentParser]:
    """Every parser below one, by the words that lead to it."""
    found = {words: parser}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                found |= commands(below, f"{words} {name}".strip())
    return found


def test_the_page_shows_the_help_of_every_command():
    assert sorted(listed("tl-help")) == sorted(commands(_parser()))


@pytest.mark.parametrize("words", sorted(commands(_parser())))
def test_help_names_every_option_and_fits_the_page(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    text = tl_api.help_text(words.split())
    options = [name for action in commands(_parser())[words]._actions for name in action.option_strings]
    assert [name for name in options if name not in text] == []
    assert max(map(len, text.splitlines())) <= tl_api.HELP_WIDTH
    assert "\x1b" not in text


# Docstrings on their way to a page


def known(name: str) -> str | None:
    return {"causal_mask": "transformer_lab.causal_mask"}.get(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("`code`", "``code``"),
        ("see `causal_mask`.", r"see :py:obj:`causal_mask <transformer_lab.causal_mask>`\ ."),
        ("the 的 of`我`的", r"the 的 of\ ``我``\ 的"),
        ("`a * b_`, 2 * 3", r"``a * b_``\ , 2 \* 3"),
        ("`` `code` ``", "```code```"),
        ("a `b\nc` d", "a ``b c`` d"),
        ("$x^2$", ":math:`x^2`"),
        ("US$5 and $6", "US$5 and $6"),
        ("**bold** and *one*", "**bold** and *one*"),
        ("norm{n}.* and head.*", r"norm{n}.\* and head.\*"),
        ("rows * max(S, T)", r"rows \* max(S, T)"),
        ("word_ and d_model", r"word\_ and d_model"),
        ("sin | cos", r"sin \| cos"),
        ("a\\b", r"a\\b"),
    ],
)
def test_inline_markup(text, expected):
    assert inline(text, known) == expected


DOCSTRING = """Doubles x: see `causal_mask`.

$$y = 2 \\cdot
x$$
Also called twice:
* once, and
  again `here`;
* then *more*.

Args:
    x: a number: any.
    **slots: phrases.

Returns:
    The double: `2 * x`, as in
    school: yes.

Raises:
    ValueError: x is negative.

Source:
    Paper 3.1: table; chapters 02 and 99.
"""


def page(lines: list[str]) -> str:
    """What docutils makes of a docstring, after napoleon; a warning is an error."""
    settings = Config(napoleon_use_rtype=False, napoleon_custom_sections=[("Source", "returns_style")])
    text = "\n".join(restore_colons(GoogleDocstring(lines, settings, what="function").lines()))
    # Roles that Sphinx knows and docutils does not.
    text = re.sub(r":(?:py:obj|doc):`([^`<]+?)(?: <[^>]+>)?`", r"\1", text)
    return publish_doctree(text, settings_overrides={"halt_level": 2, "report_level": 2}).pformat()


def test_a_whole_docstring_keeps_its_sections_and_loses_nothing():
    shown = page(convert(DOCSTRING.split("\n"), known))
    assert r"y = 2 \cdot x" in shown and "<math_block" in shown
    assert shown.count("<list_item") == 2 and "<emphasis>" in shown
    for field in ("param x", "returns", "raises ValueError", "Source"):
        assert field in shown
    assert "a number: any." in shown and "**slots" in shown
    whole = ("The double: ", "2 * x", "school: yes.", "Paper 3.1: table")
    assert [text for text in whole if text not in shown] == []
    assert COLON not in shown and "rtype" not in shown


def test_napoleon_alone_would_take_the_words_before_a_colon_for_a_type():
    raw = ["Doubles.", "", "Returns:", "    The double: of x."]
    settings = Config(napoleon_use_rtype=False)
    assert "*The double*" in "\n".join(GoogleDocstring(raw, settings, what="function").lines())
    assert "*The double*" not in "\n".join(GoogleDocstring(convert(raw), settings, what="function").lines())


def test_the_first_line_of_a_property_keeps_its_colon():
    assert convert(["Its size: bytes."], is_value=True) == [f"Its size{COLON} bytes."]
    assert convert(["Its size: bytes."]) == ["Its size: bytes."]


def test_chapters_of_the_book_become_links_and_others_do_not():
    pages = {"02": "notebooks/02_self", "03": "notebooks/03_heads"}
    assert link_chapters(["See chapter 02."], pages) == ["See chapter :doc:`02 </notebooks/02_self>`."]
    both = link_chapters(["Chapters 02, 03 and 99; table 02"], pages)[0]
    assert both == "Chapters :doc:`02 </notebooks/02_self>`, :doc:`03 </notebooks/03_heads>` and 99; table 02"


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.kind != "data"], ids=lambda entry: entry.name)
def test_no_docstring_breaks_on_its_way(entry):
    text = inspect.getdoc(entry.value)
    assert page(convert(text.split("\n"), tl_api.link_from(entry.value.__module__, set())))


def test_names_in_backticks_link_to_what_they_mean():
    link = tl_api.link_from("transformer_lab.attention", {"num_heads"})
    assert link("split_heads") == link("split_heads()") == "transformer_lab.split_heads"
    assert link("KVCache") == "transformer_lab.KVCache"
    assert link("TransformerConfig.d_k") == "transformer_lab.TransformerConfig.d_k"
    assert [link("num_heads"), link("train"), link("nothing_known"), link("is_held_out")] == [None] * 4
    grammar = tl_api.link_from("transformer_lab.training.grammar", set())
    assert grammar("is_held_out") == "transformer_lab.training.grammar.is_held_out"


def test_modules_link_to_their_section_in_the_docstring_of_a_module():
    link = tl_api.link_from("transformer_lab.quiz", set(), with_modules=True)
    assert link("markup") == "transformer_lab.quiz.markup"
    assert tl_api.link_from("transformer_lab.quiz", set())("markup") is None
