"""The feed-forward network in one drawing: every word goes through the same two matrices, and no arrow leads to a neighbour.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

COLUMNS = (20, 155, 290)  # left edges of the three words that are drawn
BLOCK = 116  # width of a word's vector
WIDE = COLUMNS[2] + BLOCK - COLUMNS[0]  # width of what serves all words


def feed_forward() -> Diagram:
    """Draws three words going down through W_1, ReLU and W_2, each in its own column, with the width on every arrow.

    Returns:
        The drawing.

    Source:
        Paper 3.3, equation 2 (the layout here is ours); article, "Feed-forward"; chapter 05.
    """
    canvas = Canvas(
        426,
        446,
        title="The feed-forward network",
        alt=(
            "Flow of the feed-forward network, from top to bottom. Word 1, word 2 and so on to word S stand side by side, each a "
            "vector of width d_model. Three wide blocks serve all of them: W_1 widens each vector to d_ff, ReLU sets negative "
            "numbers to zero, and W_2 brings each back to width d_model. All arrows run straight down; none leads from one "
            "word to another."
        ),
    )
    words = [
        canvas.tensor(left, 18, BLOCK, "[d_model]", name=f"word {name}")
        for left, name in zip(COLUMNS, "12S", strict=True)
    ]
    _dots(canvas, words)
    widen = _serve(canvas, words, "× W_1 + b_1", "linear", "widens; the same for every word")
    bend = _serve(canvas, _below(words, widen), "ReLU", "feed_forward", "negative numbers become 0", "[d_ff]")
    narrow = _serve(canvas, _below(words, bend), "× W_2 + b_2", "linear", "narrows; the same for every word", "[d_ff]")
    results = [
        canvas.tensor(left, narrow.bottom[1] + 28, BLOCK, "[d_model]", name=f"new {name}")
        for left, name in zip(COLUMNS, "12S", strict=True)
    ]
    for above, below in zip(_below(words, narrow), results, strict=True):
        canvas.arrow(above.bottom, below.top)
    _dots(canvas, results)
    return canvas.finish()


def _serve(canvas: Canvas, above: list[Box], name: str, kind: str, note: str, shape: str = "") -> Box:
    """Draws a block that serves every word, with one arrow from each word above it."""
    low = above[0].bottom[1]
    block = canvas.operation(COLUMNS[0], low + (54 if shape else 28), WIDE, [name], kind, note=note)
    for column in above:
        canvas.arrow(column.bottom, (column.bottom[0], block.y))
        if shape:
            canvas.shape(column.bottom[0], low + 29, shape)
    return block


def _below(words: list[Box], block: Box) -> list[Box]:
    """The words' columns where they leave a block."""
    return [Box(word.x, block.y, word.width, block.height) for word in words]


def _dots(canvas: Canvas, words: list[Box]) -> None:
    canvas.text((words[1].right[0] + words[2].left[0]) / 2 + 2, words[1].right[1] + 4, "…", size=16)
