"""The pen: blocks for operations and tensors, frames, arrows and type, drawn in the book's visual language.

Floor 5: standard library only.
"""

from html import escape

from .style import INK, KINDS, MONO, MUTED, PANEL, PANEL_EDGE, SANS, Box, Diagram, Point


class Canvas:
    """Collects blocks and arrows on a light panel and gives back the drawing.

    Args:
        width: of the panel, in drawing units.
        height: of the panel.
        title: short name of the drawing, kept inside the file.
        alt: one or two sentences that say what one sees.

    Source:
        Ours; chapter 02.
    """

    def __init__(self, width: float, height: float, *, title: str, alt: str) -> None:
        self.width, self.height, self.title, self.alt = width, height, title, alt
        self._parts: list[str] = []

    def operation(self, x: float, y: float, width: float, lines: list[str], kind: str, *, note: str = "") -> Box:
        """Draws something that computes: a filled block with a strong left edge.

        Args:
            x: left edge.
            y: upper edge.
            width: of the block.
            lines: its name, one string a line.
            kind: a key of `KINDS`; it picks the colour.
            note: one smaller line under the name.

        Returns:
            Where it stands.

        Source:
            Ours; chapter 02.
        """
        fill, edge = KINDS[kind]
        height = 14 + 19 * len(lines) + (17 if note else 0)
        self._add(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{edge}"/>')
        self._add(f'<rect x="{x:g}" y="{y:g}" width="5" height="{height:g}" rx="2.5" fill="{edge}"/>')
        middle = x + width / 2 + 2
        for number, line in enumerate(lines):
            self.text(middle, y + 21 + 19 * number, line, weight=600)
        if note:
            self.text(middle, y + 19 + 19 * len(lines), note, size=13, fill=MUTED)
        return Box(x, y, width, height)

    def tensor(self, x: float, y: float, width: float, shape: str, *, name: str = "") -> Box:
        """Draws numbers at rest: a white block on a second sheet, with the shape in fixed-width type.

        Args:
            x: left edge.
            y: upper edge.
            width: of the block.
            shape: such as "[B, S, d_model]".
            name: a line above the shape.

        Returns:
            Where it stands.

        Source:
            Ours; chapter 02.
        """
        height = 46 if name else 28
        for shift in (4, 0):
            self._add(
                f'<rect x="{x + shift:g}" y="{y + shift:g}" width="{width:g}" height="{height:g}" rx="3" '
                f'fill="#ffffff" stroke="{INK}"/>'
            )
        if name:
            self.text(x + width / 2, y + 19, name, weight=600)
        self.text(x + width / 2, y + height - 9, shape, size=14, mono=True)
        return Box(x, y, width, height)

    def frame(self, x: float, y: float, width: float, height: float, label: str, *, side: str = "left") -> Box:
        """Draws a dashed frame around what repeats, with a label in an upper corner.

        Args:
            x: left edge.
            y: upper edge.
            width: of the frame.
            height: of the frame.
            label: such as "N layers".
            side: left or right corner for the label.

        Returns:
            Where it stands.

        Source:
            Ours; chapter 02.
        """
        self._add(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="10" fill="none" '
            f'stroke="{MUTED}" stroke-dasharray="5 4"/>'
        )
        corner, anchor = (x + 8, "start") if side == "left" else (x + width - 8, "end")
        self.text(corner, y + 18, label, size=13, anchor=anchor, fill=MUTED)
        return Box(x, y, width, height)

    def arrow(self, *points: Point, head: bool = True) -> None:
        """Draws a path with rounded corners from the first point to the last.

        Args:
            points: two or more; horizontal and vertical pieces.
            head: whether it ends in an arrowhead.

        Source:
            Ours; chapter 02.
        """
        path = [f"M{points[0][0]:g} {points[0][1]:g}"]
        for before, corner, after in zip(points, points[1:], points[2:], strict=False):
            into, out = _toward(corner, before, 8), _toward(corner, after, 8)
            path.append(f"L{into[0]:g} {into[1]:g}Q{corner[0]:g} {corner[1]:g} {out[0]:g} {out[1]:g}")
        end, before = points[-1], points[-2]
        stop = _toward(end, before, 7) if head else end
        path.append(f"L{stop[0]:g} {stop[1]:g}")
        self._add(f'<path d="{"".join(path)}" fill="none" stroke="{INK}" stroke-width="1.6"/>')
        if head:
            base, (dx, dy) = _toward(end, before, 9), _direction(end, before)
            corners = (end, (base[0] + 4.5 * dy, base[1] + 4.5 * dx), (base[0] - 4.5 * dy, base[1] - 4.5 * dx))
            self._add(f'<polygon points="{" ".join(f"{x:g},{y:g}" for x, y in corners)}" fill="{INK}"/>')

    def shape(self, x: float, y: float, shape: str) -> None:
        """Writes a shape on an arrow, which it interrupts.

        Args:
            x: middle of the text.
            y: the base line.
            shape: such as "[B, S, d_model]".

        Source:
            Ours; chapter 02.
        """
        width = 8 * len(shape) + 4  # fixed-width type of size 13 advances 7.8
        self._add(f'<rect x="{x - width / 2:g}" y="{y - 14:g}" width="{width}" height="19" fill="{PANEL}"/>')
        self.text(x, y, shape, size=13, mono=True)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 16,
        weight: int = 400,
        mono: bool = False,
        anchor: str = "middle",
        fill: str = INK,
    ) -> None:
        """Writes one line, as it is.

        Args:
            x: where the anchor stands.
            y: the base line.
            text: the words; markup in them is shown, not obeyed.
            size: height of the type, at least 13.
            weight: 400 or 600.
            mono: fixed-width type, for shapes and code names.
            anchor: start, middle or end.
            fill: colour.

        Source:
            Ours; chapter 02.
        """
        family = f' font-family="{MONO}"' if mono else ""
        self._add(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" '
            f'fill="{fill}"{family}>{escape(text)}</text>'
        )

    def finish(self) -> Diagram:
        """Closes the drawing.

        Returns:
            The SVG and its text alternative.

        Source:
            Ours; chapter 02.
        """
        w, h = f"{self.width:g}", f"{self.height:g}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" '
            f'aria-label="{escape(self.alt)}" font-family="{SANS}">\n<title>{escape(self.title)}</title>\n'
            f'<rect x=".5" y=".5" width="{self.width - 1:g}" height="{self.height - 1:g}" rx="12" fill="{PANEL}" '
            f'stroke="{PANEL_EDGE}"/>\n'
        )
        return Diagram(head + "\n".join(self._parts) + "\n</svg>\n", self.alt)

    def _add(self, element: str) -> None:
        self._parts.append(element)


def _direction(start: Point, end: Point) -> Point:
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])  # pieces are horizontal or vertical
    return ((end[0] - start[0]) / length, (end[1] - start[1]) / length)


def _toward(start: Point, end: Point, distance: float) -> Point:
    dx, dy = _direction(start, end)
    return (start[0] + dx * distance, start[1] + dy * distance)
