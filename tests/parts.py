"""What the tests of the interactive parts share: samples, pages to put them in, and a browser window that notices."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from playwright.sync_api import Browser, Page
from torch import nn

from tests.site.checks import AXE
from transformer_lab import Encoder, TransformerConfig, quiz
from transformer_lab.element import Element
from transformer_lab.explorers import attention_playground
from transformer_lab.pretrained import load_world

WIDTHS = {"phone": (390, 844), "wide": (1000, 900)}
PAPER = {"light": "#ffffff", "dark": "#14181e"}

# Labels that break careless pages. Each must show as it was typed and run nothing.
ODD_LABELS = (
    "<script>window.hacked=1</script>",
    "<img/src=x/onerror=window.hacked=1>",
    '"onload="window.hacked=1"',
    "'onfocus='window.hacked=1'",
    "&lt;b&gt;",
    "</style>",
    "</script>",
    "javascript:window.hacked=1",
    "$x$",
    "\\frac{",
    "<s>",
    "{word}",
    "\u202eletfer",
    "🙂",
    "我爱你",
    "w" * 10_000,
)


class OddWorld(nn.Module):
    """A model of the mini-world's kind with any vocabulary and random weights that make sharp attention."""

    def __init__(self, words: Sequence[str], *, seed: int = 0, sharpness: float = 2.0, **sizes: int) -> None:
        super().__init__()
        self.vocabulary = ("<pad>", "<mask>", *words)
        V = len(self.vocabulary)
        sizes = {"d_model": 20, "num_heads": 2, "num_encoder_layers": 3, "d_ff": 28, "max_len": 32} | sizes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = Encoder(TransformerConfig(V, V, dropout=0.0, **sizes))
            self.word_head = nn.Linear(sizes["d_model"], V)
            self.replaced_head = nn.Linear(sizes["d_model"], 1)
            for parameter in self.parameters():
                parameter.data = (parameter.data * sharpness + 0.05 * torch.randn_like(parameter)).half().float()
        self.eval()

    def tokenize(self, sentence: str) -> list[str]:
        return sentence.split()


@functools.cache
def playground() -> Element:
    """The playground as the chapter shows it."""
    return attention_playground(load_world(), control=load_world(trained=False))


@functools.cache
def question() -> Element:
    """Two questions, one of them with two right answers."""
    return quiz.choices(
        [
            (
                r"Why divide by $\sqrt{d_k}$ in `attention`?",
                [
                    ("To keep the softmax from saturating", True, r"$q\cdot k$ has variance $d_k$."),
                    ("To make a row sum to 1", False, "The softmax does that."),
                    ("To save memory", False, "No number is saved."),
                ],
            ),
            (
                "What holds for every row of weights?",
                [
                    ("It sums to 1", True, "Softmax."),
                    ("It has one entry per key", True, "$S$ of them."),
                    ("It may hold -1", False, "An exponential is positive."),
                ],
            ),
        ]
    )


@functools.cache
def shape() -> Element:
    """A shape to predict."""
    return quiz.predict_shape(
        "`x` is `[1, 6, 512]`, 8 heads. One head's queries?", (1, 6, 64), why=r"$d_k=512/8$.", axes=("B", "S", "d_k")
    )


SAMPLES = {"playground": playground, "choice": question, "shape": shape}


def document(*html: str, theme: str = "light", paper: str | None = None) -> str:
    """A plain page with some outputs in it."""
    style = f"background:{paper or PAPER[theme]};color:{'#222' if theme == 'light' else '#ddd'};margin:8px;font-family:serif"
    body = "".join(f"<div class='output'>{one}</div>" for one in html)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>Page</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f'<body style="{style}"><main style="max-width:760px;margin:auto"><h1>Page</h1>{body}</main></body></html>'
    )


@dataclass
class Window:
    """An open page, and everything it should not have done."""

    page: Page
    problems: list[str] = field(default_factory=list)

    def axe(self) -> list[str]:
        """What axe finds, of whatever weight."""
        self.page.evaluate(AXE)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")["violations"]
        return [f"{v['id']}: {node['html'][:120]}" for v in found for node in v["nodes"]]


@contextlib.contextmanager
def window(
    browser: Browser, folder, html: str, *, width: str = "wide", scripts: bool = True, **options
) -> Iterator[Window]:
    """Opens a page from disk with the network cut; at the end nothing may have gone wrong."""
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    x, y = WIDTHS[width]
    context = browser.new_context(viewport={"width": x, "height": y}, java_script_enabled=scripts, **options)
    try:
        page = context.new_page()
        page.set_default_timeout(10_000)
        opened = Window(page)
        address = file.as_uri()

        def on_request(request) -> None:
            if request.url != address and not request.url.startswith("about:"):
                opened.problems.append(f"request: {request.url}")

        page.on("request", on_request)
        page.on("pageerror", lambda error: opened.problems.append(f"error: {error}"))
        page.on("console", lambda message: opened.problems.append(f"console: {message.text}"))
        page.on("dialog", lambda dialog: (opened.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        yield opened
        assert opened.problems == []
    finally:
        context.close()
