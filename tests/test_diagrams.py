"""The drawings: well formed, inside their panel, legible, described, and the same in the book as in the package."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from transformer_lab import diagrams
from transformer_lab.diagrams import Canvas, Diagram, style

STATIC = Path(__file__).resolve().parent.parent / "book" / "_static"
SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = {
    "architecture": diagrams.architecture,
    "two_readers": diagrams.two_readers,
    "self_attention": diagrams.self_attention,
    "multi_head": diagrams.multi_head,
    "feed_forward": diagrams.feed_forward,
    "encoder_layer": diagrams.encoder_layer,
    "decoder_layer": diagrams.decoder_layer,
    "kv_cache": diagrams.kv_cache,
    "gradient_flow": diagrams.gradient_flow,
}


@pytest.fixture(params=DRAWINGS)
def drawing(request) -> Diagram:
    return DRAWINGS[request.param]()


def text_width(element: ET.Element) -> float:
    """Width in DejaVu, which is wider than the Helvetica and Arial that most readers will have."""
    family = "DejaVu Sans Mono" if element.get("font-family") else "DejaVu Sans"
    font = FT2Font(font_manager.findfont(family))
    font.set_size(float(element.get("font-size")), 72)
    font.set_text(element.text)
    return font.get_width_height()[0] / 64


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def outside(drawing: Diagram) -> list[str]:
    """Everything that reaches over the edge of the drawing."""
    root = ET.fromstring(drawing.svg)
    width, height = float(root.get("width")), float(root.get("height"))
    found = []
    for element in root.iter():
        if element.tag == f"{SVG}rect":
            x, y = float(element.get("x")), float(element.get("y"))
            right, bottom = x + float(element.get("width")), y + float(element.get("height"))
        elif element.tag == f"{SVG}text":
            w, x = text_width(element), float(element.get("x"))
            x -= {"start": 0, "middle": w / 2, "end": w}[element.get("text-anchor")]
            bottom = float(element.get("y")) + 4
            right, y = x + w, bottom - float(element.get("font-size"))
        elif element.tag == f"{SVG}polygon":
            points = [tuple(map(float, point.split(","))) for point in element.get("points").split()]
            (x, right), (y, bottom) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))
        else:
            continue
        if x < 0 or y < 0 or right > width or bottom > height:
            found.append(f"{element.tag.removeprefix(SVG)} {element.text or ''} [{x:.0f} {y:.0f} {right:.0f} {bottom:.0f}]")
    return found


def test_drawing_is_one_well_formed_described_svg(drawing):
    root = ET.fromstring(drawing.svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == drawing.alt
    assert len(drawing.alt) > 80
    assert root.find(f"{SVG}title").text


def test_drawing_asks_for_nothing_outside_itself(drawing):
    assert not re.search(r"href|url\(|@import|<script|<image", drawing.svg)


def test_nothing_reaches_over_the_edge(drawing):
    assert outside(drawing) == []


def test_the_edge_check_can_fail():
    canvas = Canvas(100, 40, title="t", alt="a")
    canvas.text(50, 20, "far too long for this panel")
    assert len(outside(canvas.finish())) == 1


def test_type_is_readable_on_a_phone(drawing):
    root = ET.fromstring(drawing.svg)
    scale = min(1.0, 358 / float(root.get("width")))  # a phone of 390 pixels, less its margins
    smallest = min(float(text.get("font-size")) for text in root.iter(f"{SVG}text"))
    assert smallest * scale >= 10


def test_text_has_enough_contrast_on_every_fill():
    fills = [fill for fill, _ in style.KINDS.values()] + [style.PANEL, "#ffffff"]
    assert min(contrast(text, fill) for text in (style.INK, style.MUTED) for fill in fills) >= 4.5


def test_edges_of_blocks_stand_out():
    assert min(contrast(edge, style.PANEL) for _, edge in style.KINDS.values()) >= 3


def test_markup_in_text_is_shown_not_obeyed():
    canvas = Canvas(300, 60, title="<t>", alt='"a" & <b>')
    canvas.operation(10, 10, 200, ["<script>x</script>"], "norm", note="a & b")
    texts = [text.text for text in ET.fromstring(canvas.finish().svg).iter(f"{SVG}text")]
    assert texts == ["<script>x</script>", "a & b"]


def test_arrow_ends_where_it_was_sent():
    canvas = Canvas(100, 100, title="t", alt="a")
    canvas.arrow((10, 10), (50, 10), (50, 90))
    tip = ET.fromstring(canvas.finish().svg).find(f"{SVG}polygon").get("points").split()[0]
    assert tip == "50,90"


def test_notebook_shows_the_picture_and_its_text(drawing):
    assert drawing._repr_mimebundle_() == {"image/svg+xml": drawing.svg, "text/plain": drawing.alt}


def test_the_books_copy_is_the_packages_drawing():
    assert (STATIC / "architecture.svg").read_text("utf-8") == diagrams.architecture().svg, "run: python tools/pictures.py"
