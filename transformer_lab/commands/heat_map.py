"""A heat map for the terminal: shades and percent, no colour, aligned beside Chinese characters too.

Floor 7a. More weight is more ink, so the map reads the same on a dark and on a light ground, in a pipe and in a file.
"""

import unicodedata
from collections.abc import Sequence

SHADES = ((80, "█"), (55, "▓"), (30, "▒"), (10, "░"), (0, " "))  # from this percentage on
LETTERS = ((80, "#"), (55, "+"), (30, "-"), (10, "."), (0, " "))  # where those cannot be written
CELL, LABEL, GAP = 5, 12, 2  # columns of "██100", of the longest label, between two


def heat_map(
    weights: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    width: int = 80,
    encoding: str = "utf-8",
) -> str:
    """Draws weights as shades with their percentage.

    Args:
        weights: one list a row, numbers from 0 to 1.
        rows: a label for each.
        columns: a label for each number in a row; long ones are cut.
        width: of the terminal; columns that do not fit go into a map of their own below.
        encoding: of the stream; where it lacks block characters, marks of ASCII stand for them.

    Returns:
        Lines joined by newlines, without one at the end.

    Source:
        Ours; chapter 11.
    """
    shades = SHADES if can_write("".join(shade for _, shade in SHADES), encoding) else LETTERS
    labels, heads = [_shortened(row) for row in rows], [_shortened(column) for column in columns]
    margin = max(map(display_width, labels))
    lines: list[str] = []
    for part in _parts([max(CELL, display_width(head)) + GAP for head in heads], width - margin):
        sizes = [max(CELL, display_width(heads[i])) + GAP for i in part]
        lines += [""] * bool(lines)
        lines.append(" " * margin + "".join(_right(heads[i], size) for i, size in zip(part, sizes, strict=True)))
        for label, row in zip(labels, weights, strict=True):
            cells = "".join(_right(_cell(row[i], shades), size) for i, size in zip(part, sizes, strict=True))
            lines.append(label + " " * (margin - display_width(label)) + cells)
    return "\n".join(lines)


def display_width(text: str) -> int:
    """Counts the columns that a text takes in a terminal.

    Args:
        text: without control characters.

    Returns:
        2 for each wide character (Chinese, full-width marks, emoji), 0 for each that joins the one before, 1 for the others.

    Source:
        Unicode Standard Annex 11; chapter 11.
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(character) in ("Mn", "Me") for character in text)


def can_write(text: str, encoding: str) -> bool:
    """Tells whether a stream can take a text as it is.

    Args:
        text: to write.
        encoding: of the stream.

    Returns:
        False where some character would have to be escaped.

    Source:
        Ours; chapter 11.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _parts(sizes: Sequence[int], width: int) -> list[list[int]]:
    """Numbers of the columns, in groups that fit side by side; a group has at least one."""
    parts, room = [[]], width
    for i, size in enumerate(sizes):
        if size > room and parts[-1]:
            parts, room = [*parts, []], width
        parts[-1].append(i)
        room -= size
    return parts


def _cell(weight: float, shades: Sequence[tuple[int, str]]) -> str:
    percent = round(100 * weight)
    return 2 * next(shade for least, shade in shades if percent >= least) + f"{percent:3}"


def _right(text: str, size: int) -> str:
    return " " * (size - display_width(text)) + text


def _shortened(text: str) -> str:
    if display_width(text) <= LABEL:
        return text
    while display_width(text) > LABEL - 2:
        text = text[:-1]
    return text + ".."
