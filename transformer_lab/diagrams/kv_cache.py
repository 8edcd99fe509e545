"""The two caches of a decoder layer: one that grows by a slice at every step, and one that is filled once.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

LEFT, RIGHT = 18, 226  # left edges of the two columns
WIDTH = 186  # of a column
SLICE, GAP = 30, 8  # a slice of keys and values, and the room between two


def kv_cache() -> Diagram:
    """Draws step t of a decoder layer: the new token's slice joins the growing cache, the source's cache only is read.

    Returns:
        The drawing.

    Source:
        Article, "two caches" (the layout here is ours); chapter 09.
    """
    canvas = Canvas(
        430,
        470,
        title="The two caches of a decoder layer",
        alt=(
            "Two columns, from top to bottom. Left, self-attention: at every step the new token's vector is multiplied by W_k "
            "and W_v, and the slice that comes out, of shape B, h, 1, d_k, joins the slices of tokens 1, 2, 3 and so on as "
            "number t. Right, cross-attention: the memory of the source is multiplied by W_k and W_v once, before step 1, which "
            "fills all slices 1 to S together; they never change. Below, the query of the new token reads first the left cache "
            "of t slices in self-attention, then the right one of S slices in cross-attention."
        ),
    )
    new = _sources(canvas, LEFT, "new token", "[B, 1, d_model]", "at every step")
    source = _sources(canvas, RIGHT, "memory", "[B, S, d_model]", "once, before step 1")
    grows = _slices(canvas, LEFT, ["1", "2", "3", "…", "t"], new.bottom[1] + 62)
    fixed = _slices(canvas, RIGHT, ["1", "2", "3", "…", "S"], new.bottom[1] + 62)
    canvas.arrow(new.bottom, (new.bottom[0], new.bottom[1] + 22), (grows[-1].top[0], new.bottom[1] + 22), grows[-1].top)
    canvas.shape(LEFT + 70, new.bottom[1] + 46, "[B, h, 1, d_k]")
    for one in fixed:
        canvas.arrow((one.top[0], source.bottom[1] + 22), one.top)
    canvas.arrow((fixed[0].top[0], source.bottom[1] + 22), (fixed[-1].top[0], source.bottom[1] + 22), head=False)
    canvas.arrow(source.bottom, (source.bottom[0], source.bottom[1] + 22), head=False)
    own = _attention(canvas, LEFT, grows, "self-attention", "[B, h, t, d_k]", "one slice more each step")
    other = _attention(canvas, RIGHT, fixed, "cross-attention", "[B, h, S, d_k]", "the same at every step")
    canvas.arrow((LEFT + WIDTH, own.right[1]), (RIGHT, other.left[1]))
    out = canvas.tensor(RIGHT + 13, other.bottom[1] + 28, WIDTH - 26, "[B, 1, d_model]", name="to the FFN")
    canvas.arrow(other.bottom, out.top)
    return canvas.finish()


def _sources(canvas: Canvas, left: float, name: str, shape: str, when: str) -> Box:
    """Draws what enters a column and the two projections; gives the projections."""
    entering = canvas.tensor(left + 13, 18, WIDTH - 26, shape, name=name)
    projections = canvas.operation(left, entering.bottom[1] + 28, WIDTH, ["× W_k and × W_v"], "linear", note=when)
    canvas.arrow(entering.bottom, projections.top)
    return projections


def _slices(canvas: Canvas, left: float, names: list[str], y: float) -> list[Box]:
    """Draws keys and values, two sheets a slice, side by side along the axis of length."""
    return [canvas.tensor(left + 2 + number * (SLICE + GAP), y, SLICE, name) for number, name in enumerate(names)]


def _attention(canvas: Canvas, left: float, slices: list[Box], name: str, shape: str, change: str) -> Box:
    """Draws what is said about the slices, and the attention that reads them."""
    y = slices[0].bottom[1]
    canvas.text(left + WIDTH / 2, y + 24, shape, size=14, mono=True)
    canvas.text(left + WIDTH / 2, y + 43, change, size=13)
    block = canvas.operation(left, y + 92, WIDTH, [name], "attention", note="query: the new token")
    canvas.arrow((left + WIDTH / 2, y + 52), block.top)
    return block
