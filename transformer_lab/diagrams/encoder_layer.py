"""One encoder layer: what one batch goes through, with every shape.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

LEFT, WIDTH = 120, 210  # of the blocks; the path around them runs on their left
AROUND = 58  # where that path runs
SHAPE = "[B, S, d_model]"


def encoder_layer() -> Diagram:
    """Draws the two sub-layers of a post-LN encoder layer, each with the path around it, and the shape on every arrow.

    Returns:
        The drawing.

    Source:
        Paper 3.1, figure 1, left (the layout here is ours); article, "Encoder layer and encoder"; chapter 06.
    """
    canvas = Canvas(
        400,
        666,
        title="One encoder layer",
        alt=(
            "Flow of one encoder layer, from top to bottom. X of shape B, S, d_model goes into multi-head self-attention; a "
            "path around it brings X itself to an addition, and LayerNorm follows. The result goes into the feed-forward "
            "network, widened to d_ff inside, again with a path around it, an addition and LayerNorm. The output has the shape "
            "of X."
        ),
    )
    x = canvas.tensor(LEFT + 30, 18, WIDTH - 60, SHAPE, name="X")
    middle = _sub_layer(canvas, x, "multi-head self-attention", "attention", "tokens look at one another")
    between = canvas.tensor(LEFT + 30, middle.bottom[1] + 30, WIDTH - 60, SHAPE)
    canvas.arrow(middle.bottom, between.top)
    last = _sub_layer(canvas, between, "feed-forward network", "feed_forward", "each token by itself")
    out = canvas.tensor(LEFT + 30, last.bottom[1] + 30, WIDTH - 60, SHAPE, name="output")
    canvas.arrow(last.bottom, out.top)
    return canvas.finish()


def _sub_layer(canvas: Canvas, source: Box, name: str, kind: str, note: str) -> Box:
    """Draws a sub-layer, the path around it, the addition and LayerNorm; returns the block of LayerNorm."""
    branch = source.bottom[1] + 20
    block = canvas.operation(LEFT - 12, branch + 18, WIDTH + 24, [name], kind, note=note)
    canvas.arrow(source.bottom, block.top)
    add = canvas.operation(LEFT + 40, block.bottom[1] + 46, WIDTH - 80, ["x + y"], "norm")
    canvas.arrow(block.bottom, add.top)
    canvas.shape(add.top[0], block.bottom[1] + 26, f"y {SHAPE}")
    height = (add.top[1] + add.bottom[1]) / 2
    canvas.arrow((source.bottom[0], branch), (AROUND, branch), (AROUND, height), (LEFT + 40, height))
    canvas.text(AROUND, branch - 8, "x, as it is", size=13)
    norm = canvas.operation(LEFT + 40, add.bottom[1] + 22, WIDTH - 80, ["LayerNorm"], "norm")
    canvas.arrow(add.bottom, norm.top)
    return norm
