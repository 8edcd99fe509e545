"""Multi-head attention in one drawing: project, split, attend in every head, merge, mix.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

COLUMNS = (20, 155, 290)  # left edges of the three projections, and of the three heads that are drawn
BLOCK = 116  # width of a projection and of a head
WIDE = COLUMNS[2] + BLOCK - COLUMNS[0]  # width of what handles all heads at once


def multi_head() -> Diagram:
    """Draws how X is projected, cut into heads, attended to in each head by itself, put together and mixed, with every shape.

    Returns:
        The drawing.

    Source:
        Paper 3.2.2, figure 2 (the layout here is ours); article, "Multi-head: definition"; chapter 03.
    """
    canvas = Canvas(
        426,
        650,
        title="Multi-head attention",
        alt=(
            "Flow of multi-head attention, from top to bottom. X, S rows of width d_model, is multiplied by three matrices. "
            "split_heads cuts each result into h slices of width d_k. Then h attentions stand side by side, head 1, head 2 and "
            "so on to head h, each with its own S by S map and an output of width d_v. merge_heads puts the outputs side by "
            "side again, S rows of width h times d_v, and the matrix W_o mixes them into the output of width d_model."
        ),
    )
    split = _project_and_split(canvas)
    heads = _heads(canvas, split)
    merge = canvas.operation(COLUMNS[0], heads[0].bottom[1] + 56, WIDE, ["merge_heads"], "norm", note="slices side by side again")
    for head in heads:
        canvas.arrow(head.bottom, (head.bottom[0], merge.y))
        canvas.shape(head.bottom[0], head.bottom[1] + 30, "[S, d_v]")
    mixer = canvas.operation(COLUMNS[1] - 40, merge.bottom[1] + 54, BLOCK + 80, ["× W_o"], "linear", note="mixes the heads")
    canvas.arrow(merge.bottom, mixer.top)
    canvas.shape(merge.bottom[0], merge.bottom[1] + 29, "[S, h·d_v]")
    output = canvas.tensor(COLUMNS[1] - 17, mixer.bottom[1] + 28, 150, "[S, d_model]", name="output")
    canvas.arrow(mixer.bottom, output.top)
    return canvas.finish()


def _project_and_split(canvas: Canvas) -> Box:
    """Draws X, the three projections and the cut; gives the cut."""
    x = canvas.tensor(138, 18, 150, "[S, d_model]", name="X")
    branch = x.bottom[1] + 18
    projections = []
    for left, letter in zip(COLUMNS, "qkv", strict=True):
        matrix = canvas.operation(left, branch + 18, BLOCK, [f"× W_{letter}"], "linear")
        corners = [] if matrix.top[0] == x.bottom[0] else [(x.bottom[0], branch), (matrix.top[0], branch)]
        canvas.arrow(x.bottom, *corners, matrix.top)
        projections.append(matrix)
    y = projections[0].bottom[1] + 54
    split = canvas.operation(COLUMNS[0], y, WIDE, ["split_heads"], "norm", note="each of Q, K, V into h slices")
    for matrix in projections:
        canvas.arrow(matrix.bottom, (matrix.bottom[0], split.y))
        canvas.shape(matrix.bottom[0], matrix.bottom[1] + 29, "[S, d_model]")
    return split


def _heads(canvas: Canvas, split: Box) -> list[Box]:
    """Draws the first, the second and the last head under the cut."""
    made = []
    for left, name in zip(COLUMNS, ("1", "2", "h"), strict=True):
        head = canvas.operation(left, split.bottom[1] + 56, BLOCK, [f"head {name}"], "attention", note="own [S, S] map")
        canvas.arrow((head.top[0], split.bottom[1]), head.top)
        canvas.shape(head.top[0], split.bottom[1] + 30, "3 × [S, d_k]")
        made.append(head)
    middle = (made[1].right[0] + made[2].left[0]) / 2
    canvas.text(middle, made[1].right[1] + 4, "…", size=16)
    return made
