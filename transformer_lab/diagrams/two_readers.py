"""A recurrent network and self-attention reading the same four words: how far apart the first and the last word are.

Floor 5: standard library only.
"""

from .canvas import Canvas
from .style import Box, Diagram

WORDS, STEP, WIDTH, LEFT = 4, 92, 64, 30  # four columns, each WIDTH wide


def two_readers() -> Diagram:
    """Draws a recurrent network above, self-attention below, with the way from the first word to the last result.

    Returns:
        The drawing.

    Source:
        Ours, after paper 4 and table 1; article, "Background"; chapter 01.
    """
    canvas = Canvas(
        400,
        490,
        title="Two ways to read four words",
        alt=(
            "Two drawings, one above the other. Above, a recurrent network: each of the words x1 to x4 enters a step of its own, "
            "arrows lead from each step to the next, and each step gives a state h1 to h4; from x1 to h4 the way leads through "
            "four steps, one after the other. Below, self-attention: x1 to x4 all enter one wide block and y1 to y4 come out of "
            "it; from x1 to y4 the way leads through that one block."
        ),
    )
    canvas.text(LEFT, 32, "Recurrent: one step after another", size=16, weight=600, anchor="start")
    _recurrent(canvas, 46)
    canvas.text(LEFT, 228, "from x1 to h4: 4 steps; with n words, n steps", size=14, anchor="start")
    canvas.text(LEFT, 278, "Self-attention: all at once", size=16, weight=600, anchor="start")
    _attention(canvas, 292)
    canvas.text(LEFT, 472, "from x1 to y4: 1 layer; with n words, 1 layer", size=14, anchor="start")
    return canvas.finish()


def _recurrent(canvas: Canvas, y: float) -> None:
    before: Box | None = None
    for number, word in enumerate(_row(canvas, y, "x"), 1):
        step = canvas.operation(word.x, word.bottom[1] + 30, WIDTH, ["step"], "linear")
        state = canvas.tensor(word.x, step.bottom[1] + 30, WIDTH, f"h{number}")
        canvas.arrow(word.bottom, step.top)
        canvas.arrow(step.bottom, state.top)
        if before is not None:
            canvas.arrow(before.right, step.left)
        before = step


def _attention(canvas: Canvas, y: float) -> None:
    words = _row(canvas, y, "x")
    block = canvas.operation(LEFT, y + 58, STEP * (WORDS - 1) + WIDTH, ["self-attention"], "attention")
    results = _row(canvas, block.bottom[1] + 30, "y")
    for word, result in zip(words, results, strict=True):
        canvas.arrow(word.bottom, (word.bottom[0], block.y))
        canvas.arrow((result.top[0], block.bottom[1]), result.top)


def _row(canvas: Canvas, y: float, letter: str) -> list[Box]:
    return [canvas.tensor(LEFT + STEP * i, y, WIDTH, f"{letter}{i + 1}") for i in range(WORDS)]
