"""The whole Transformer in one drawing.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import MUTED, Box, Diagram

BLOCK = 150  # width of every block
LEFT, RIGHT = 40, 268  # left edges of the two columns
GAP = 26  # length of an arrow between two blocks


def architecture() -> Diagram:
    """Draws the encoder and the decoder with their sub-layers, masks, residual paths and shapes, as in the paper: post-LN.

    Both stacks flow downwards. The encoder's result, the memory, crosses over to the decoder's cross-attention.

    Returns:
        The drawing.

    Source:
        Paper 3.1, figure 1 (the layout here is ours); article, "Architecture overview"; chapter 01.
    """
    canvas = Canvas(
        460,
        872,
        title="The Transformer: encoder and decoder",
        alt=(
            "Two columns of blocks. Left, the encoder: source ids of shape B by S go through embedding plus positions, then "
            "N layers of self-attention and feed-forward network, each followed by Add & Norm with a path around it, and "
            "become the memory of shape B by S by d_model. Right, the decoder: target ids of shape B by T go through "
            "embedding plus positions, then N layers of causal self-attention, cross-attention and feed-forward network, "
            "each followed by Add & Norm; an arrow brings the memory to the cross-attention as keys and values. A linear "
            "layer turns the result into logits of shape B by T by V."
        ),
    )
    memory = _encoder(canvas)
    cross = _decoder(canvas)
    turn = memory.x + memory.width + 22
    canvas.arrow(memory.right, (turn, memory.right[1]), (turn, cross.left[1]), cross.left)
    canvas.text(turn + 5, cross.left[1] - 8, "K, V", size=14, mono=True, anchor="start")
    _legend(canvas)
    return canvas.finish()


def _encoder(canvas: Canvas) -> Box:
    canvas.text(LEFT + BLOCK / 2, 34, "Encoder", size=18, weight=600)
    ids = canvas.tensor(LEFT, 48, BLOCK, "[B, S]", name="source ids")
    table = _below(canvas, ids, ["Embedding", "+ positions"], "embedding")
    canvas.frame(LEFT - 28, table.bottom[1] + 36, BLOCK + 38, 328, "N = 6 layers", side="right")
    attention = _below(canvas, table, ["Multi-head", "self-attention"], "attention", note="mask: padding", gap=66)
    canvas.shape(table.bottom[0], table.bottom[1] + 22, "[B, S, d_model]")
    norm = _add_norm(canvas, attention, lane=LEFT - 16)
    network = _below(canvas, norm, ["Feed-forward", "network"], "feed_forward", gap=38)
    norm = _add_norm(canvas, network, lane=LEFT - 16)
    memory = canvas.tensor(LEFT, norm.bottom[1] + 44, BLOCK, "[B, S, d_model]", name="memory")
    canvas.arrow(norm.bottom, memory.top)
    return memory


def _decoder(canvas: Canvas) -> Box:
    lane = RIGHT + BLOCK + 16
    canvas.text(RIGHT + BLOCK / 2, 34, "Decoder", size=18, weight=600)
    ids = canvas.tensor(RIGHT, 48, BLOCK, "[B, T]", name="target ids")
    table = _below(canvas, ids, ["Embedding", "+ positions"], "embedding")
    canvas.frame(RIGHT - 10, table.bottom[1] + 36, BLOCK + 38, 482, "N = 6 layers")
    attention = _below(canvas, table, ["Multi-head", "self-attention"], "attention", note="mask: causal", gap=66)
    canvas.shape(table.bottom[0], table.bottom[1] + 22, "[B, T, d_model]")
    norm = _add_norm(canvas, attention, lane=lane)
    cross = _below(canvas, norm, ["Multi-head", "cross-attention"], "attention", note="mask: source padding", gap=38)
    norm = _add_norm(canvas, cross, lane=lane)
    network = _below(canvas, norm, ["Feed-forward", "network"], "feed_forward", gap=38)
    norm = _add_norm(canvas, network, lane=lane)
    linear = _below(canvas, norm, ["Linear"], "linear", gap=44)
    logits = canvas.tensor(RIGHT, linear.bottom[1] + GAP, BLOCK, "[B, T, V]", name="logits")
    canvas.arrow(linear.bottom, logits.top)
    return cross


def _below(canvas: Canvas, above: Box, lines: list[str], kind: str, *, note: str = "", gap: float = GAP) -> Box:
    block = canvas.operation(above.x, above.bottom[1] + gap, BLOCK, lines, kind, note=note)
    canvas.arrow(above.bottom, block.top)
    return block


def _add_norm(canvas: Canvas, sublayer: Box, *, lane: float) -> Box:
    """Puts Add & Norm under a sub-layer, and the residual path around it in the given lane."""
    block = _below(canvas, sublayer, ["Add & Norm"], "norm", gap=20)
    start = (sublayer.top[0], sublayer.top[1] - 17)
    side = block.left if lane < block.x else block.right
    canvas.arrow(start, (lane, start[1]), (lane, side[1]), side)
    return block


def _legend(canvas: Canvas) -> None:
    x, y = 16, 742
    canvas.tensor(x, y, 34, "[ ]")
    canvas.text(x + 50, y + 20, "tensor and its shape", size=14, anchor="start")
    canvas.operation(x, y + 40, 34, ["f"], "norm")
    canvas.text(x + 50, y + 62, "operation", size=14, anchor="start")
    canvas.text(x, y + 102, "B batch, S source, T target,", size=14, anchor="start", fill=MUTED)
    canvas.text(x, y + 120, "V target vocabulary", size=14, anchor="start", fill=MUTED)
