"""The build can be trusted: what is wrong fails it, every time, and what is on a page is what the code says now."""

import re

import pytest

import book
from tests.site.tiny_book import CHAPTER, build, make_tiny_book, page, write_chapter

pytestmark = pytest.mark.slow

CONSTANT = "from tiny_package import CONSTANT\nprint('the constant is', CONSTANT)"


def test_a_failing_cell_fails_the_build_also_the_second_time(tmp_path):
    folder = make_tiny_book(tmp_path / "a tiny book", "print('fine')", "raise ValueError('planted')")
    for _ in range(2):
        code, said = build(folder)
        assert code != 0
        assert "ValueError: planted" in said
        assert "02_self_attention.ipynb" in said
        assert "The book was NOT built" in said
        assert not book.is_current(folder)


@pytest.mark.parametrize(
    "cell", ["import warnings\nwarnings.warn('planted', stacklevel=1)", "import sys\nprint('planted', file=sys.stderr)"]
)
def test_what_a_cell_writes_to_stderr_fails_the_build(tmp_path, cell):
    folder = make_tiny_book(tmp_path, cell)
    code, said = build(folder)
    assert code != 0
    assert "stderr was found in the cell outputs" in said


def test_a_page_shows_the_package_as_it_is_now(tmp_path):
    folder = make_tiny_book(tmp_path / "a tiny book", CONSTANT)
    module = folder / "transformer_lab" / "part.py"
    module.parent.mkdir()
    for number in (1234, 4321):
        (folder / "tiny_package.py").write_text(f"CONSTANT = {number}\n")
        module.write_text(f"CONSTANT = {number}\n")
        assert not book.is_current(folder), "a change of the package makes the book out of date"
        code, said = build(folder)
        assert code == 0, said
        assert "index.html" in said
        assert f"the constant is {number}" in page(folder)
        assert book.is_current(folder)
    write_chapter(folder, CONSTANT + " ")
    assert not book.is_current(folder), "a change of a chapter makes the book out of date"


def test_every_mistake_in_the_prose_fails_the_build(tmp_path):
    folder = make_tiny_book(tmp_path, "print('fine')")
    mistakes = {
        "[there](nowhere.md)": "nowhere.md",
        "{term}`nothing`": "term not in glossary",
        "{cite}`nobody2017`": "nobody2017",
        "```{figure} nothing.png\n:alt: nothing\n```": "nothing.png",
    }
    (folder / "book" / "index.md").write_text("# Tiny book\n\n" + "\n\n".join(mistakes) + "\n")
    code, said = build(folder)
    assert code != 0
    assert [reason for reason in mistakes.values() if reason not in said] == []


def test_only_the_pages_of_the_table_of_contents_are_built_and_none_loads_thebe(tmp_path):
    folder = make_tiny_book(tmp_path, "print('fine')")
    for name in (".venv/lib/README.md", ".pytest_cache/README.md", "README.md", "notebooks/src/02_self_attention.md",
                 "tests/notes.md", "transformer_lab/explorers/README.md"):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# Not a page\n\n[dead](nowhere.md)\n")
    code, said = build(folder)
    assert code == 0, said
    site = folder / "_build" / "html"
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts}
    assert built == {"book/index.html", f"{CHAPTER}.html", "index.html", "genindex.html", "search.html"}
    for name in built:
        assert not re.search(r"sphinx-thebe|THEBE_JS_URL|x-thebe-config", (site / name).read_text("utf-8"))
    assert "custom.css" in page(folder)
