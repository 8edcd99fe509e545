"""The mechanism of the interactive parts: one text/html output that works anywhere, and shows a picture where it cannot."""

import html.parser
import json
import os
import re
import subprocess
import sys

import pytest

from tests.parts import ODD_LABELS, PAPER, SAMPLES, document, window
from transformer_lab.element import DEEP, Element, escape, heat_map, read_source, still_card

SCRIPT = """
const STYLE = '.x { color: inherit; }';
function build(card, config) {
  const count = h('output', {}, '0');
  const input = h('input', { type: 'text', 'aria-label': 'text' });
  const add = () => { count.textContent = +count.textContent + 1; };
  card.append(h('p', {}, config.label), h('button', { type: 'button', onclick: add }, 'more'), count, input);
}
"""
samples = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def element(label: str = "label", script: str = SCRIPT, name: str = "sample") -> Element:
    """A small part with a counter."""
    return Element(name, script, {"label": label}, f"text {label}", f"<p>still {escape(label)}</p>")


class Reader(html.parser.HTMLParser):
    """Notes tags and attributes as a browser would read them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.append((tag, dict(attributes)))


def test_shows_itself_as_text_and_html_only():
    part = element()
    assert part._repr_mimebundle_() == {"text/plain": "text label", "text/html": part.html}
    assert repr(part) == "text label"


def test_the_tag_follows_the_script_and_not_the_data():
    first, second, changed = element("a"), element("b"), element("a", SCRIPT + "\n// changed")
    assert first.tag == second.tag != changed.tag
    assert re.fullmatch(r"tl-sample-[0-9a-f]{8}", first.tag)


@pytest.mark.parametrize("label", ODD_LABELS, ids=lambda label: label[:12])
def test_data_survives_the_attribute_and_brings_no_tag_in(label):
    part = element(label)
    reader = Reader(part.html)
    assert [tag for tag, _ in reader.tags] == [part.tag, "p", "bdi", "script"]
    import json

    assert json.loads(reader.tags[0][1]["data-config"]) == {"label": label}


@pytest.mark.parametrize("name", ["", "Upper", "a b", "1st", "a>b"])
def test_refuses_a_name_that_is_no_tag(name):
    with pytest.raises(ValueError, match="name must be lower-case"):
        element(name=name)


@pytest.mark.parametrize("end", ["</script>", "</SCRIPT", "<!-- x"])
def test_refuses_a_script_that_would_end_early(end):
    with pytest.raises(ValueError, match="must not hold '</script'"):
        element(script=f"{SCRIPT} // {end}")


def test_refuses_data_that_is_not_json():
    with pytest.raises(ValueError, match="JSON"):
        Element("sample", SCRIPT, {"x": float("nan")}, "", "")
    with pytest.raises(TypeError, match="JSON"):
        Element("sample", SCRIPT, {"x": object()}, "", "")


@pytest.mark.slow
def test_is_the_same_in_another_process():
    program = "from tests.parts import SAMPLES; import json; print(json.dumps([[s().html, s().text] for s in SAMPLES.values()]))"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, encoding="utf-8"
    )
    assert json.loads(done.stdout) == [[sample().html, sample().text] for sample in SAMPLES.values()]


def test_a_style_sheet_becomes_a_constant():
    assert read_source("transformer_lab", "element.css").startswith('const ELEMENT_CSS = "')
    with pytest.raises(FileNotFoundError):
        read_source("transformer_lab", "no_such_file.js")


def luminance(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb, by WCAG's formula."""
    digits = colour.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    r, g, b = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return sum(
        k * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for k, c in zip((0.2126, 0.7152, 0.0722), (r, g, b), strict=True)
    )


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_number_of_a_still_map_is_readable():
    weights = [[i / 1000 for i in range(1001)]]
    drawn = heat_map(weights, ["q"], [str(i) for i in range(1001)], "caption")
    cells = re.findall(r"background:(#\w{6});color:(#\w{3})\"", drawn)
    assert len(cells) == 1001
    assert min(contrast(*cell) for cell in cells) >= 4.5
    assert cells[0][0] == "#ffffff" and cells[-1][0] == "#0b3a75"
    assert 0 < DEEP < 1


def test_a_still_map_names_rows_and_columns():
    drawn = heat_map([[0.25, 0.75]], ["<q>"], ["a", "b"], "cap <1>")
    assert "0.25" in drawn and "0.75" in drawn and "&lt;q&gt;" in drawn and "cap &lt;1&gt;" in drawn
    assert [t for t, a in Reader(drawn).tags if a.get("scope") == "col"] == ["th", "th"]
    with pytest.raises(ValueError, match="zip"):
        heat_map([[1.0]], ["a", "b"], ["c"], "")


@samples
def test_works_from_a_file_with_nothing_but_itself(browser, tmp_path, sample):
    part = sample()
    bare = document("<p>nothing</p>")
    with window(browser, tmp_path, bare) as opened:
        before = opened.page.evaluate("Object.getOwnPropertyNames(window).sort()")
    with window(browser, tmp_path, document(part.html)) as opened:
        assert opened.page.evaluate(f"!!document.querySelector('{part.tag}').shadowRoot")
        assert opened.page.evaluate("Object.getOwnPropertyNames(window).sort()") == before  # no global is left behind
        assert opened.page.evaluate("document.querySelectorAll('[id]').length") == 0


@samples
def test_without_scripts_the_still_picture_shows(browser, tmp_path, sample):
    part = sample()
    for theme in PAPER:
        with window(browser, tmp_path, document(part.html, theme=theme), scripts=False) as opened:
            card = opened.page.locator(f"{part.tag} > div")
            assert card.is_visible()
            assert opened.page.locator(f"{part.tag} > div :visible").count() > 3
            assert "rgb(255, 255, 255)" in card.evaluate("e => getComputedStyle(e).backgroundColor")


def test_when_a_part_fails_its_still_picture_stays(browser, tmp_path):
    part = element(script="const STYLE = ''; function build() { throw new Error('broken'); }")
    with window(browser, tmp_path, document(part.html)) as opened:
        assert opened.page.locator("text=still label").is_visible()
        assert [p for p in opened.problems if "broken" in p] == opened.problems != []
        opened.problems.clear()


def check_it_answers(frame, name: str) -> None:
    """One click or two, and what must follow."""
    card = frame.locator(".card").first
    if name == "playground":
        card.get_by_label("the, word 1", exact=True).check()
        card.get_by_label("causal").check()
        assert card.locator(".rows .number").all_inner_texts() == ["1.00", "0.00", "0.00", "0.00", "0.00", "0.00"]
    elif name == "choice":
        card.locator(".option").first.click()
        assert card.get_by_text("has variance").is_visible()
    else:
        card.get_by_role("textbox").fill("1, 6, 64")
        card.get_by_role("button", name="Check").click()
        assert card.get_by_text("Right: [1, 6, 64].").is_visible()


@pytest.mark.parametrize("name", SAMPLES)
def test_works_in_a_sandboxed_frame(browser, tmp_path, name):
    part = SAMPLES[name]()
    inner = html.escape(document(part.html), quote=True)
    outer = document(
        f'<iframe title="output" sandbox="allow-scripts" style="width:100%;height:900px" srcdoc="{inner}"></iframe>'
    )
    with window(browser, tmp_path, outer) as opened:
        check_it_answers(opened.page.frame_locator("iframe"), name)


@pytest.mark.parametrize("name", SAMPLES)
def test_works_when_the_script_is_made_again_elsewhere(browser, tmp_path, name):
    # VS Code sets innerHTML, where scripts are dead, and makes each script again in the head.
    with window(browser, tmp_path, document("<div id='cell'></div>")) as opened:
        opened.page.evaluate(
            """html => {
                const cell = document.getElementById('cell');
                cell.innerHTML = html;
                for (const dead of cell.querySelectorAll('script')) {
                    const alive = document.createElement('script');
                    alive.textContent = dead.textContent;
                    document.head.append(alive);
                }
            }""",
            SAMPLES[name]().html,
        )
        check_it_answers(opened.page, name)


def test_two_of_a_kind_and_an_older_version_live_on_one_page(browser, tmp_path):
    parts = [element("one"), element("two"), element("three", SCRIPT.replace("+ 1", "+ 10"))]
    with window(browser, tmp_path, document(*(part.html for part in parts))) as opened:
        for button in opened.page.get_by_role("button").all():
            button.click()
        assert opened.page.locator("output").all_inner_texts() == ["1", "1", "10"]
        assert opened.page.locator(".card p").all_inner_texts() == ["one", "two", "three"]


@samples
def test_two_instances_do_not_disturb_each_other(browser, tmp_path, sample):
    part = sample()
    with window(browser, tmp_path, document(part.html, part.html)) as opened:
        first, second = opened.page.locator(".card").all()
        untouched = second.inner_html()
        assert first.inner_html() == untouched
        check_it_answers(opened.page, part.tag.split("-")[1])
        assert second.inner_html() == untouched != first.inner_html()


def test_survives_being_moved(browser, tmp_path):
    with window(browser, tmp_path, document(element().html, "<p>target</p>")) as opened:
        opened.page.get_by_role("button").click()
        opened.page.evaluate("document.querySelector('main').append(document.querySelector('[data-tl-element]'))")
        opened.page.get_by_role("button").click()
        assert opened.page.locator("output").inner_text() == "2"


def test_keys_stay_inside_unless_they_are_the_pages(browser, tmp_path):
    with window(browser, tmp_path, document(element().html)) as opened:
        opened.page.evaluate("window.keys = []; document.addEventListener('keydown', e => window.keys.push(e.key))")
        opened.page.get_by_role("textbox").focus()
        for key in ("a", "ArrowRight", "Enter", "Escape", "Control+k"):
            opened.page.keyboard.press(key)
        assert opened.page.evaluate("window.keys") == ["Escape", "Control", "k"]
        host = opened.page.locator("[data-tl-element]")
        assert host.get_attribute("data-lm-suppress-shortcuts") == "true"  # JupyterLab listens before anyone else


DARK_PAGES = {
    "dark paper": document(element().html, theme="dark"),
    "a page that says so": document(element().html, theme="dark", paper="transparent"),
    "Colab": document(element().html, paper="transparent").replace("<html", "<html theme='dark'"),
    "VS Code": document(element().html, paper="transparent").replace("<body", "<body class='vscode-dark'"),
    "JupyterLab": document(element().html, paper="transparent")
    .replace("<main", "<main data-x")
    .replace("max-width:760px", "background:rgb(17, 17, 17);max-width:760px"),
}
LIGHT_PAGES = {
    "light paper": document(element().html),
    "a light box on a dark page": document(f"<div style='background:#ced6dd'>{element().html}</div>", theme="dark"),
    "a page that says nothing": document(element().html, paper="transparent"),
}


def is_dark(page) -> bool:
    """Whether the card shows its dark colours."""
    return page.locator(".card").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(22, 27, 36)"


@pytest.mark.parametrize("page", DARK_PAGES.values(), ids=DARK_PAGES)
def test_is_dark_on_dark(browser, tmp_path, page):
    with window(browser, tmp_path, page) as opened:
        assert is_dark(opened.page)


@pytest.mark.parametrize("page", LIGHT_PAGES.values(), ids=LIGHT_PAGES)
def test_is_light_on_light(browser, tmp_path, page):
    with window(browser, tmp_path, page, color_scheme="dark") as opened:
        assert not is_dark(opened.page)


def test_follows_the_page_when_its_theme_changes(browser, tmp_path):
    with window(browser, tmp_path, document(element().html)) as opened:
        opened.page.evaluate("document.body.style.background = '#111'; document.documentElement.dataset.theme = 'dark'")
        opened.page.wait_for_function("document.querySelector('[data-tl-element]').shadowRoot.querySelector('.dark')")
        opened.page.emulate_media(media="print")
        assert not is_dark(opened.page)  # paper is white


@samples
@pytest.mark.parametrize("theme", PAPER)
@pytest.mark.parametrize("width", ["phone", "wide"])
def test_axe_finds_nothing_and_nothing_overflows(browser, tmp_path, sample, theme, width):
    part = sample()
    with window(browser, tmp_path, document(part.html, theme=theme), width=width) as opened:
        name = part.tag.split("-")[1]
        check_it_answers(opened.page, name)
        assert opened.axe() == []
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        small = opened.page.evaluate(
            """tag => [...document.querySelector(tag).shadowRoot.querySelectorAll('button, select, label, input')]
                .map(e => [e.textContent || e.type, e.getBoundingClientRect()])
                .filter(([, box]) => box.width && (box.width < 24 || box.height < 24) && !(box.width === 20 && box.height === 20))
                .map(([name, box]) => `${name} ${box.width} x ${box.height}`)""",
            part.tag,
        )
        assert small == []  # a check box of 20 px lies in its label of 40


@samples
def test_nothing_moves_where_the_reader_wants_no_motion(browser, tmp_path, sample):
    part = sample()
    with window(browser, tmp_path, document(part.html), reduced_motion="reduce") as opened:
        moving = opened.page.evaluate(
            """tag => [...document.querySelector(tag).shadowRoot.querySelectorAll('*')]
                .filter(e => getComputedStyle(e).transitionDuration !== '0s' || getComputedStyle(e).animationName !== 'none').length""",
            part.tag,
        )
        assert moving == 0


def test_a_still_card_is_opaque_and_dark_on_white():
    card = still_card("<p>a</p>", "<p>b</p>")
    assert card.startswith('<div style="background:#fff;color:#18202c') and card.endswith("<p>a</p><p>b</p></div>")
