"""One decoder layer: its three sub-layers, where the memory of the source comes in, and every shape.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

LEFT, WIDTH = 72, 200  # of the blocks; the paths around them run on their left
AROUND = 34  # where those paths run
RIGHT, NARROW = 302, 138  # of the memory
SHAPE = "[B, T, d_model]"


def decoder_layer() -> Diagram:
    """Draws the three sub-layers of a post-LN decoder layer from Y to Y3, and the memory that the second one reads.

    Returns:
        The drawing.

    Source:
        Paper 3.1, figure 1, right (the layout here is ours); article, "Decoder unrolled"; chapter 07.
    """
    canvas = Canvas(
        460,
        730,
        title="One decoder layer",
        alt=(
            "Flow of one decoder layer, from top to bottom. Y of shape B, T, d_model gives queries, keys and values to the causal "
            "self-attention; Add & Norm, with a path around, makes Y1. Y1 gives the queries to the cross-attention, while the "
            "memory of shape B, S, d_model comes in from the right and gives its keys and values; Add & Norm makes Y2. The "
            "feed-forward network and Add & Norm make Y3, the output. Y, Y1, Y2 and Y3 all have the same shape."
        ),
    )
    y = canvas.tensor(LEFT + 24, 18, WIDTH - 48, SHAPE, name="Y")
    attention, y1 = _sub_layer(canvas, y, ["causal self-attention"], "attention", "weights [B, h, T, T]", "Y1")
    canvas.text(RIGHT - 12, attention.right[1] + 5, "mask: causal", size=14, anchor="start")
    cross, y2 = _sub_layer(canvas, y1, ["cross-attention"], "attention", "weights [B, h, T, S]", "Y2")
    _sub_layer(canvas, y2, ["feed-forward network"], "feed_forward", "each token by itself", "Y3, the output")
    _memory(canvas, cross)
    canvas.text(y.bottom[0] + 8, y.bottom[1] + 22, "Q, K, V", size=14, mono=True, anchor="start")
    canvas.text(y1.bottom[0] + 8, y1.bottom[1] + 22, "Q", size=14, mono=True, anchor="start")
    return canvas.finish()


def _sub_layer(canvas: Canvas, source: Box, lines: list[str], kind: str, note: str, result: str) -> tuple[Box, Box]:
    """Draws a sub-layer, Add & Norm with the path around, and the result; gives the sub-layer and the result."""
    branch = source.bottom[1] + 14
    block = canvas.operation(LEFT, source.bottom[1] + 36, WIDTH, lines, kind, note=note)
    canvas.arrow(source.bottom, block.top)
    norm = canvas.operation(LEFT + 30, block.bottom[1] + 24, WIDTH - 60, ["Add & Norm"], "norm")
    canvas.arrow(block.bottom, norm.top)
    canvas.arrow((source.bottom[0], branch), (AROUND, branch), (AROUND, norm.left[1]), norm.left)
    out = canvas.tensor(LEFT + 24, norm.bottom[1] + 26, WIDTH - 48, SHAPE, name=result)
    canvas.arrow(norm.bottom, out.top)
    return block, out


def _memory(canvas: Canvas, cross: Box) -> None:
    """Draws the memory above the right of the cross-attention, and its way in."""
    memory = canvas.tensor(RIGHT, cross.top[1] - 92, NARROW, "[B, S, d_model]", name="memory")
    canvas.text(memory.top[0], memory.top[1] - 10, "from the encoder", size=14)
    canvas.arrow(memory.bottom, (memory.bottom[0], cross.right[1]), cross.right)
    canvas.text(memory.bottom[0] - 10, cross.right[1] - 8, "K, V", size=14, mono=True, anchor="end")
    canvas.text(RIGHT - 12, cross.right[1] + 24, "mask: source padding", size=14, anchor="start")
