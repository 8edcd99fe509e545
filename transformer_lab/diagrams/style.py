"""The visual language of the book's drawings: one palette, one type, and what a finished drawing is.

Floor 5: standard library only. A drawing is an SVG text with its own light panel, so it reads the same on a light page, on
a dark page and in print. Colour never carries meaning alone: every block is labelled. Type is at least 13 units in a
drawing of about 430 units, which is 11 pixels on a phone.
"""

from dataclasses import dataclass

INK = "#1a1a1a"
MUTED = "#4d4d4d"
PANEL, PANEL_EDGE = "#fbfaf7", "#cfcabd"
SANS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MONO = "Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
KINDS = {  # kind of operation: (fill, edge); ink and blue are those of `plots`
    "embedding": ("#dff0e6", "#1c7048"),
    "attention": ("#d9e8f5", "#0b5fa5"),
    "feed_forward": ("#fde7cf", "#9a4d00"),
    "norm": ("#eceae4", "#625d50"),
    "linear": ("#f0e2f2", "#7d3c86"),
}

Point = tuple[float, float]


@dataclass(frozen=True)
class Diagram:
    """Holds a finished drawing and the sentence that says what one sees in it.

    Args:
        svg: the drawing, a complete SVG document.
        alt: its text alternative.

    Source:
        Ours; chapter 02.
    """

    svg: str
    alt: str

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.alt}


@dataclass(frozen=True)
class Box:
    """Remembers where a block was drawn, so that arrows can start and end on its edges.

    Args:
        x: left edge.
        y: upper edge.
        width: in drawing units.
        height: in drawing units.

    Source:
        Ours; chapter 02.
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> Point:
        """Middle of the upper edge."""
        return (self.x + self.width / 2, self.y)

    @property
    def bottom(self) -> Point:
        """Middle of the lower edge."""
        return (self.x + self.width / 2, self.y + self.height)

    @property
    def left(self) -> Point:
        """Middle of the left edge."""
        return (self.x, self.y + self.height / 2)

    @property
    def right(self) -> Point:
        """Middle of the right edge."""
        return (self.x + self.width, self.y + self.height / 2)
