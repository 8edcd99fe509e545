"""Self-attention in one drawing: three projections, then the four steps.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

COLUMNS = (20, 155, 290)  # left edges of Q, K and V
TENSOR = 116  # width of Q, K and V
STEP_X, STEP = 56, 180  # left edge and width of a step


def self_attention() -> Diagram:
    """Draws how X becomes queries, keys and values, and the four steps from there to the output, with every shape.

    Returns:
        The drawing.

    Source:
        Paper 3.2.1, figure 2 (the layout here is ours); article, "Four steps"; chapter 02.
    """
    canvas = Canvas(
        426,
        724,
        title="Self-attention, step by step",
        alt=(
            "Flow of self-attention, from top to bottom. X, S rows of width d_model, is multiplied by three matrices and "
            "gives Q, K and V. Step 1: dot products of every query with every key give scores of shape S by S. Step 2: they "
            "are divided by the root of d_k. A mask may then hide pairs. Step 3: softmax over the keys makes each row sum to "
            "1; these are the weights. Step 4: the weights and V give the weighted sum, one row of width d_v per word."
        ),
    )
    query, key, value = _projections(canvas)
    scores = canvas.operation(STEP_X, query.bottom[1] + 32, STEP, ["1  dot products"], "attention", note="each query · each key")
    for source in (query, key):
        canvas.arrow(source.bottom, (source.bottom[0], scores.top[1]))
    scaled = _step(canvas, scores, "2  divide by √d_k", shape="scores [S, S]")
    masked = _step(canvas, scaled, "mask, if there is one", kind="norm", note="hidden pairs: −∞")
    weights = _step(canvas, masked, "3  softmax", note="over the keys of a row")
    y, wide = weights.bottom[1] + 54, COLUMNS[2] + TENSOR - STEP_X
    total = canvas.operation(STEP_X, y, wide, ["4  weighted sum"], "attention", note="weights · V")
    _down(canvas, weights, y, "weights [S, S]")
    canvas.arrow(value.bottom, (value.bottom[0], y))
    output = canvas.tensor(total.top[0] - 70, total.bottom[1] + 28, 140, "[S, d_v]", name="output")
    canvas.arrow(total.bottom, output.top)
    return canvas.finish()


def _projections(canvas: Canvas) -> list[Box]:
    """Draws X, its three matrices, and Q, K and V."""
    x = canvas.tensor(138, 18, 150, "[S, d_model]", name="X")
    branch = x.bottom[1] + 18
    made = []
    for left, letter, shape in zip(COLUMNS, "QKV", ("[S, d_k]", "[S, d_k]", "[S, d_v]"), strict=True):
        matrix = canvas.operation(left, branch + 18, TENSOR, [f"× W_{letter.lower()}"], "linear")
        middle = matrix.top[0]
        canvas.arrow(x.bottom, *([] if middle == x.bottom[0] else [(x.bottom[0], branch), (middle, branch)]), matrix.top)
        tensor = canvas.tensor(left, matrix.bottom[1] + 24, TENSOR, shape, name=letter)
        canvas.arrow(matrix.bottom, tensor.top)
        made.append(tensor)
    return made


def _step(canvas: Canvas, above: Box, name: str, *, kind: str = "attention", note: str = "", shape: str = "") -> Box:
    block = canvas.operation(STEP_X, above.bottom[1] + (50 if shape else 26), STEP, [name], kind, note=note)
    _down(canvas, above, block.top[1], shape)
    return block


def _down(canvas: Canvas, above: Box, y: float, shape: str) -> None:
    x = above.bottom[0]
    canvas.arrow(above.bottom, (x, y))
    if shape:
        canvas.shape(x, (above.bottom[1] + y) / 2 + 1, shape)
