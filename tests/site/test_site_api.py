"""The built reference: every public name has its anchor, on one page, and the pages for teachers show what they should."""

import ast
import re

import pytest
import tl_api
import tl_chapters

from tests.site import checks
from tests.test_style import PACKAGE, public_definitions

API = checks.ROOT / "book" / "api"
ANCHOR = re.compile(r'<dt class="sig sig-object py" id="([^"]+)"')


@pytest.fixture(scope="module")
def anchors(site) -> list[str]:
    """The entries of all pages of the reference."""
    pages = [(site / "book" / "api" / f"{page.stem}.html").read_text(encoding="utf-8") for page in API.glob("*.md")]
    return [anchor for page in pages for anchor in ANCHOR.findall(page)]


def test_no_name_has_two_entries(anchors):
    assert len(anchors) == len(set(anchors)) > 300


def test_every_public_name_has_an_entry(anchors):
    wanted = {entry.name for section in tl_api.catalogue().values() for entry in section}
    assert wanted - set(anchors) == set()


def test_every_public_method_has_an_entry(anchors):
    shown = {
        entry.value: entry.name for entries in tl_api.catalogue().values() for entry in entries if entry.kind == "class"
    }
    names = {(one.__module__, one.__qualname__): name for one, name in shown.items()}
    methods = [
        f"{names[path.relative_to(checks.ROOT).with_suffix('').as_posix().replace('/', '.').removesuffix('.__init__'), owner.name]}"
        f".{node.name}"
        for path in PACKAGE
        for _, node, owner in public_definitions(ast.parse(path.read_text("utf-8")))
        if owner is not None
    ]
    assert len(methods) > 100
    assert sorted(set(methods) - set(anchors)) == []


def test_formulas_links_and_sources_of_an_entry(site):
    page = (site / "book" / "api" / "model.html").read_text(encoding="utf-8")
    start = page.index('id="transformer_lab.scaled_dot_product_attention"')
    entry = page[start : page.index("</dl>\n\n<dl", start)]
    assert r"\text{softmax}" in entry and 'class="math' in entry
    assert "_modules/transformer_lab/attention.html#scaled_dot_product_attention" in entry
    assert "notebooks/02_self_attention.html" in entry
    assert [word for word in ("Parameters", "Returns", "Raises", "Source") if f"{word}<" not in entry] == []


@pytest.mark.parametrize("scheme", checks.SCHEMES)
@pytest.mark.parametrize("width", checks.WIDTHS)
@pytest.mark.parametrize("name", ["index", "transformer_lab/attention", "transformer_lab/training/world_interventions"])
def test_nothing_is_wrong_with_a_page_of_source(browser, home, name, width, scheme):
    with checks.visit(browser, f"{home}_modules/{name}.html", home, width=width, scheme=scheme) as seen:
        assert seen.look(scheme) == {}


def test_the_page_for_instructors_names_every_chapter_four_times(site):
    page = (site / "book" / "instructors.html").read_text(encoding="utf-8")
    article = page[page.index("<article") : page.index("</article>")]
    for chapter in tl_chapters.read_chapters(checks.ROOT):
        assert article.count(f'href="../{chapter.file}.html"') >= 4, "in three tables and the list of aims"


def test_whats_new_shows_the_whole_changelog(site):
    page = (site / "book" / "whats_new.html").read_text(encoding="utf-8")
    entries = re.findall(r"^- ", (checks.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    article = page[page.index("<article") : page.index("</article>")]
    assert article.count("<li>") == len(entries) > 10
