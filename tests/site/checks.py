"""Opens pages in a real browser with the network cut, and says everything that is wrong with them.

The tests beside this file use it on the built book, and on pages that are broken on purpose: a check that finds
nothing there would find nothing anywhere.
"""

from __future__ import annotations

import contextlib
import functools
import html.parser
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import axe_playwright_python
from playwright.sync_api import Browser, Page, Playwright

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SITE = Path(os.environ.get("SITE_DIR", ROOT / "_build" / "html"))
SUB_PATH = "/some/sub/path/"  # where the site is served: an address that starts with / would miss it

WIDTHS = {"phone": (390, 844), "wide": (1280, 900)}
SCHEMES = ("light", "dark")

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
HOW_TO_GET_A_BROWSER = (
    "No Chromium or Chrome was found, so the site cannot be checked. Any one of these is enough: "
    "`apt-get install chromium` (Debian, Ubuntu), `brew install --cask chromium` (macOS), an installed Google Chrome, "
    "`python -m playwright install chromium` in the project's environment, or CHROMIUM=/path/to/the/browser."
)
ARGUMENTS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the cut: no name leads anywhere
]

# What axe says about parts of the theme that the book does not write. Each rule is ignored on the elements named and
# nowhere else; the reason stands beside it.
AXE_ALLOWED = {
    # Docutils marks the bibliography as a list whose entries have a role of their own, which ARIA does not foresee.
    "aria-required-children": (".citation-list",),
}

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# Code is thousands of coloured words in a dozen colours: one word of each kind is looked at.
RUN_AXE = """async () => {
    const words = new Map([...document.querySelectorAll('.highlight span')].reverse().map(one => [one.className, one]));
    words.forEach(one => { one.dataset.sample = ''; });
    const settings = {resultTypes: ['violations'], preload: false};
    const runs = [await axe.run({exclude: [['.highlight span']]}, settings)];
    if (words.size) runs.push(await axe.run({include: [['[data-sample]']]}, {...settings, runOnly: ['color-contrast']}));
    return runs.flatMap(run => run.violations)
        .filter(found => ['serious', 'critical'].includes(found.impact))
        .flatMap(found => found.nodes.map(node => (
            {rule: found.id, help: found.help, target: node.target.flat().join(' '), html: node.html})));
}"""
PAGE_CHECKS = (HERE / "page_checks.js").read_text(encoding="utf-8")
SETTLED = """async () => {
    if (window.MathJax?.startup?.promise) await window.MathJax.startup.promise;
    await document.fonts.ready;
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


def find_browser(playwright: Playwright) -> str | None:
    """The path of a Chromium-like browser: $CHROMIUM, one that is installed, or Playwright's own; None if none is."""
    if named := os.environ.get("CHROMIUM"):
        return named if Path(named).is_file() else shutil.which(named)
    for name in CANDIDATES:
        if found := shutil.which(name):
            return found
    places = [Path(base) / "Applications" / one for base in ("/", Path.home()) for one in MAC]
    return next((str(one) for one in [*places, Path(playwright.chromium.executable_path)] if one.is_file()), None)


def page_names(site: Path) -> list[str]:
    """Every page that people can open, as a path below the site: all but the parts under _static and _sources."""
    names = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(name.as_posix() for name in names if not name.parts[0].startswith("_"))


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder under SUB_PATH on this machine and give the address of its root; all else is 404."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            inside = urlsplit(path).path
            return super().translate_path("/" + inside.removeprefix(SUB_PATH) if inside.startswith(SUB_PATH) else "/-")

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address) -> None:
            """A page that is closed early drops its connections: nothing to report."""

    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{SUB_PATH}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Visit:
    """An open page and what was noticed while it loaded."""

    page: Page
    problems: dict[str, list[str]] = field(default_factory=dict)

    def note(self, check: str, text: str) -> None:
        """Add one problem."""
        self.problems.setdefault(check, []).append(text)

    def look(self, scheme: str, with_axe: bool = True) -> dict[str, list[str]]:
        """Run every check on the page as it stands and return all problems, those of loading included."""
        for check, found in self.page.evaluate(PAGE_CHECKS).items():
            for text in found:
                self.note(check, text)
        shown = self.page.evaluate("document.documentElement.dataset.theme")
        if shown not in (scheme, None):
            self.note("theme", f"the reader prefers {scheme}, the page is {shown}")
        if with_axe:
            self.page.evaluate(AXE)
        for found in self.page.evaluate(RUN_AXE) if with_axe else ():
            if not any(part in found["target"] for part in AXE_ALLOWED.get(found["rule"], ())):
                self.note("axe", f"{found['rule']} ({found['help']}) at {found['target']}: {found['html'][:140]}")
        return self.problems


@contextlib.contextmanager
def visit(browser: Browser, address: str, home: str, *, width: str = "wide", scheme: str = "light") -> Iterator[Visit]:
    """Open a page in a fresh window, wait until its mathematics and fonts are there, and note what went wrong."""
    x, y = WIDTHS[width]
    context = browser.new_context(viewport={"width": x, "height": y}, color_scheme=scheme, reduced_motion="reduce")
    try:
        page = context.new_page()
        page.set_default_timeout(15_000)
        seen = Visit(page)

        def on_request(request) -> None:
            if not request.url.startswith((home, "data:", "blob:")):
                seen.note("outside", request.url)

        def on_response(response) -> None:
            if response.status >= 400:
                seen.note("missing", f"{response.status} {response.url}")

        def on_console(message) -> None:
            if message.type == "error":
                seen.note("console", message.text[:200])

        page.on("request", on_request)
        page.on("response", on_response)
        page.on("requestfailed", lambda request: seen.note("missing", request.url))
        page.on("console", on_console)
        page.on("pageerror", lambda error: seen.note("console", str(error)[:200]))
        page.goto(address, wait_until="load")
        page.evaluate(SETTLED)
        yield seen
    finally:
        context.close()


class _Collector(html.parser.HTMLParser):
    """The ids of a page and the addresses that it points to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keep ids, names, links and sources."""
        for name, value in attributes:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.ids.add(value)
            elif value and name in ("href", "src"):
                self.addresses.add(value)


def dead_links(site: Path) -> list[str]:
    """Internal links, sources and anchors of the built pages that lead nowhere."""
    pages: dict[Path, _Collector] = {}
    for name in page_names(site):
        pages[site / name] = _Collector()
        pages[site / name].feed((site / name).read_text(encoding="utf-8"))
    dead = []
    for page, collected in pages.items():
        for address in sorted(collected.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            where = f"{page.relative_to(site).as_posix()}: {address}"
            if not target.is_file() or not target.is_relative_to(site.resolve()):
                dead.append(where)
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                dead.append(f"{where} (no such anchor)")
    return dead
