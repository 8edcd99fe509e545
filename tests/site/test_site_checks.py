"""The site checks themselves: each must find the mistake that it is there for, and be silent on a sound page."""

import shutil

import pytest

from tests.site import checks

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
PAGE = """<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>
<body style="background:#fff;color:#111"><main><article><h1>A page</h1>{}</article></main></body></html>"""
TYPESET = '<span class="math"><mjx-container>x</mjx-container></span>'

SOUND = f"""<p>Plain text, 2 * 3 * 4, that costs $5 or <code>**kwargs</code>, a formula {TYPESET}, <a href="#here">a link</a>.</p>
<p id="here"><img src="{PIXEL}" alt="One grey dot"></p><details><summary>More</summary><p>Hidden.</p></details>
<div style="overflow-x:auto" tabindex="0"><div style="width:2000px">A box that scrolls.</div></div>
<div class="tag_raises-exception"><div class="output traceback">Traceback (most recent call last)</div></div>"""

BROKEN = {
    "an outside script": ("outside", '<script src="https://example.com/a.js"></script>'),
    "an outside picture": ("outside", '<img alt="A dot" src="//example.com/a.png">'),
    "an outside connection": ("outside", '<link rel="preconnect" href="https://example.com">'),
    "an outside request by script": ("outside", "<script>fetch('https://example.com/').catch(() => 0)</script>"),
    "a path from the root": ("missing", '<img alt="A dot" src="/a.png">'),
    "a missing picture": ("missing", '<img alt="A dot" src="not-there.png">'),
    "a picture that is none": ("image", '<img alt="A dot" src="data:image/png;base64,AAAA">'),
    "an error in the console": ("console", "<script>console.error('broken')</script>"),
    "an exception": ("console", "<script>throw new Error('broken')</script>"),
    "an exception later": ("console", "<script>Promise.reject(new Error('broken'))</script>"),
    "no alt text": ("alt", f'<img src="{PIXEL}">'),
    "empty alt text": ("alt", f'<img src="{PIXEL}" alt="">'),
    "a file name as alt text": ("alt", f'<img src="{PIXEL}" alt="../_images/0a1b2c.png">'),
    "a drawing without a name": ("alt", '<svg width="9" height="9"><rect width="9" height="9"/></svg>'),
    "a page that is too wide": ("overflow", '<div style="width:2000px">wide</div>'),
    "a picture cut at the edge": ("overflow", f'<div style="overflow:hidden"><img alt="A" width="2000" src="{PIXEL}"></div>'),
    "something wide that is folded away": ("overflow", '<details><summary>s</summary><p style="width:2000px">w</p></details>'),
    "an explorer that shows no number": (
        "number",
        "<div id='e'></div><script>e.attachShadow({mode: 'open'}).innerHTML = '<p>weight <b>NaN</b></p>'</script>",
    ),
    "a formula left raw": ("math", '<span class="math">\\(x\\)</span>'),
    "a table left as text": ("markup", "<p>| step | shape | |---|---| | ids | [2, 6] |</p>"),
    "dollars left in the text": ("math", "<p>so $$x$$ is</p>"),
    "a dollar formula left in the text": ("math", "<p>so $x_i$ is</p>"),
    "a formula that MathJax refuses": ("math", '<span class="math"><mjx-container><mjx-merror>x</mjx-merror></mjx-container></span>'),
    "stars left in the text": ("markup", "<p>a **bold** word</p>"),
    "a link left in the text": ("markup", "<p>see [this](that)</p>"),
    "a role left in the text": ("markup", "<p>see {term}`that`</p>"),
    "a star left in an interactive part": (
        "markup",
        "<x-part></x-part><script>document.querySelector('x-part').attachShadow({mode: 'open'}).innerHTML = 'the *word*'</script>",
    ),
    "an interactive part that is too wide": (
        "overflow",
        """<div style="overflow:hidden"><x-part></x-part></div><script>document.querySelector('x-part')
        .attachShadow({mode: 'open'}).innerHTML = '<p style="width:2000px">wide</p>'</script>""",
    ),
    "a traceback": ("traceback", "<pre>Traceback (most recent call last)</pre>"),
    "words on stderr": ("traceback", '<div class="output stderr">careful</div>'),
    "a dead widget": ("dead control", '<script type="application/vnd.jupyter.widget-view+json">{}</script>'),
    "pale text": ("axe", '<p style="color:#ccc">hard to read</p>'),
    "a pale word of code": (
        "axe",
        '<div class="highlight"><pre><span class="n">a</span> <span class="c" style="color:#ccc"># b</span></pre></div>',
    ),
    "a button without a name": ("axe", "<button></button>"),
    "a box that the keyboard cannot scroll": ("axe", '<div style="overflow:auto;height:20px"><p style="height:99px">a</p></div>'),
}  # fmt: skip


@pytest.fixture
def problems_of(browser, tmp_path):
    """Give what the checks find on a page with the given body, on a phone."""

    def look(body: str, width: str = "phone", scheme: str = "light") -> dict[str, list[str]]:
        (tmp_path / "page.html").write_text(PAGE.format(body), encoding="utf-8")
        with (
            checks.serve(tmp_path) as home,
            checks.visit(browser, f"{home}page.html", home, width=width, scheme=scheme) as seen,
        ):
            return seen.look(scheme)

    return look


def test_a_sound_page_has_no_problem(problems_of):
    assert problems_of(SOUND) == {}


@pytest.mark.parametrize("mistake", BROKEN)
def test_each_mistake_is_found(problems_of, mistake):
    check, body = BROKEN[mistake]
    assert check in problems_of(SOUND + body)


def test_a_page_that_ignores_the_reader_s_dark_mode_is_found(problems_of):
    assert "theme" in problems_of(SOUND, scheme="dark")


def test_dead_links_and_anchors_are_found(tmp_path):
    body = '<a href="#there">a</a> <a href="#gone">b</a> <a href="other.html#gone">c</a> <a href="missing.html">d</a>'
    (tmp_path / "page.html").write_text(PAGE.format(f'<p id="there">x</p>{body}'), encoding="utf-8")
    (tmp_path / "other.html").write_text(PAGE.format("<p>x</p>"), encoding="utf-8")
    found = checks.dead_links(tmp_path)
    assert [line.split(": ")[1].split(" ")[0] for line in found] == ["#gone", "missing.html", "other.html#gone"]


def test_without_a_browser_the_finder_says_so(monkeypatch, tmp_path):
    class NoPlaywright:
        class chromium:
            executable_path = str(tmp_path / "none")

    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(checks, "MAC", ())
    assert checks.find_browser(NoPlaywright) is None
    for way in ("apt-get install chromium", "brew install", "CHROMIUM="):
        assert way in checks.HOW_TO_GET_A_BROWSER
