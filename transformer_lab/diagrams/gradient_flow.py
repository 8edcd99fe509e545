"""The way of the gradient: from the loss down the decoder, and through keys and values into the encoder.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

LEFT, RIGHT = 18, 240  # left edges of the columns' frames: encoder and decoder
WIDE, NARROW = 202, 168  # of those frames
ATTENTION = "W_q, W_k, W_v, W_o"


def gradient_flow() -> Diagram:
    """Draws a backward pass from top to bottom: loss, output layer, decoder layers, and the encoder, entered in every layer.

    Returns:
        The drawing.

    Source:
        Ours; article, "Joint training" (its drawing shows one entrance, there are N); chapter 10.
    """
    canvas = Canvas(
        460,
        916,
        title="Where the gradient goes",
        alt=(
            "A backward pass, drawn from top to bottom. On the right the gradient goes from the loss to the output layer and down "
            "through decoder layer N, the layers between, decoder layer 1 and the target embedding; in each layer it meets the "
            "feed-forward network, the cross-attention and the causal self-attention. From the cross-attention of every layer "
            "an arrow called K, V leads to the left, where all of them are summed at the memory. From there the gradient goes down "
            "the N encoder layers to the source embedding. The arrow called Q stays in the decoder."
        ),
    )
    middle = RIGHT + WIDE / 2
    loss = canvas.tensor(middle - 60, 18, 120, "[ ]", name="loss")
    for line, words in enumerate(
        ("Read it downwards:", "this is the way back,", "from the loss to the", "first weights.")
    ):
        canvas.text(LEFT, 36 + 19 * line, words, size=14, anchor="start")
    output = canvas.operation(RIGHT + 16, 90, WIDE - 32, ["output layer"], "linear", note="W, b")
    canvas.arrow(loss.bottom, output.top)
    top, upper, last = _decoder_layer(canvas, 164, "layer N")
    canvas.arrow(output.bottom, top.top)
    canvas.text(RIGHT, 158, "decoder", size=14, weight=600, anchor="start")
    between = last.bottom[1] + 44
    canvas.arrow(last.bottom, (middle, between - 13))
    canvas.text(middle, between + 4, "layers N - 1 … 2", size=14)
    first, lower, end = _decoder_layer(canvas, between + 34, "layer 1")
    canvas.arrow((middle, between + 11), first.top)
    target = canvas.operation(RIGHT + 16, end.bottom[1] + 44, WIDE - 32, ["target embedding"], "embedding")
    canvas.arrow(end.bottom, target.top)
    for line, words in enumerate(("Left out: Add & Norm", "and the paths around", "each sub-layer.")):
        canvas.text(target.x, target.bottom[1] + 34 + 18 * line, words, size=14, anchor="start")
    _encoder(canvas, upper, lower, between)
    return canvas.finish()


def _decoder_layer(canvas: Canvas, y: float, label: str) -> tuple[Box, Box, Box]:
    """Draws the three sub-layers of a decoder layer, the last one first, and gives them in the order drawn."""
    canvas.frame(RIGHT, y, WIDE, 242, label, side="right")
    x, width = RIGHT + 16, WIDE - 32
    ffn = canvas.operation(x, y + 30, width, ["feed-forward"], "feed_forward", note="W_1, W_2")
    cross = canvas.operation(x, ffn.bottom[1] + 22, width, ["cross-attention"], "attention", note=ATTENTION)
    own = canvas.operation(x, cross.bottom[1] + 22, width, ["causal self-attention"], "attention", note=ATTENTION)
    canvas.arrow(ffn.bottom, cross.top)
    canvas.arrow(cross.bottom, own.top)
    canvas.text(cross.bottom[0] + 8, cross.bottom[1] + 16, "Q", size=14, mono=True, anchor="start")
    return ffn, cross, own


def _encoder(canvas: Canvas, upper: Box, lower: Box, between: float) -> None:
    """Draws the memory beside the lower cross-attention, what arrives there, and the encoder below it."""
    middle = LEFT + NARROW / 2
    memory = canvas.tensor(LEFT + 17, lower.left[1] - 23, NARROW - 34, "[B, S, d_model]", name="memory: sum")
    canvas.arrow(upper.left, (middle, upper.left[1]), memory.top)
    canvas.arrow((RIGHT + 32, between), (middle, between), head=False)
    canvas.arrow(lower.left, memory.right)
    for y in (upper.left[1], between, lower.left[1]):
        canvas.text(RIGHT - 8, y - 8, "K, V", size=14, mono=True, anchor="end")
    y = memory.bottom[1] + 30
    canvas.text(LEFT, y - 9, "encoder", size=14, weight=600, anchor="start")
    canvas.frame(LEFT, y, NARROW, 170, "N layers")
    x, width = LEFT + 12, NARROW - 24
    ffn = canvas.operation(x, y + 32, width, ["feed-forward"], "feed_forward", note="W_1, W_2")
    own = canvas.operation(x, ffn.bottom[1] + 22, width, ["self-attention"], "attention", note=ATTENTION)
    source = canvas.operation(x, y + 170 + 26, width, ["source", "embedding"], "embedding")
    canvas.arrow(memory.bottom, ffn.top)
    canvas.arrow(ffn.bottom, own.top)
    canvas.arrow(own.bottom, source.top)
