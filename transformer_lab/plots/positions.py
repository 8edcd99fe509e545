"""Positional encodings: the whole table as a map, single dimensions as curves.

Floor 5: torch and matplotlib.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from .style import BLUE, GREY, INK, ORANGE, write_title

LINES = (
    (BLUE, "-"),
    (ORANGE, "--"),
    (INK, "-."),
    (GREY, ":"),
)  # colour and stroke, so that grey paper tells them apart


def plot_positional_encoding(
    table: Tensor, *, start: int = 0, ax: Axes | None = None, title: str = "", vmax: float = 1.0, colorbar: bool = True
) -> Axes:
    """Draws an encoding as a map: a row per position, a column per dimension; purple is positive, orange negative.

    Args:
        table: [length, d_model].
        start: position of the first row.
        ax: where to draw; new Axes when None.
        title: above the map.
        vmax: size of the darkest colour, for sinusoids 1.
        colorbar: draw the scale below the map.

    Returns:
        The Axes.

    Raises:
        ValueError: the table is not [length, d_model], or vmax is not above 0.

    Source:
        Article, "Positional encoding"; chapter 04.
    """
    length, d_model = _check_table(table)
    if not vmax > 0:
        raise ValueError(f"vmax must be above 0, got {vmax}")
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 5), layout="constrained")
    image = ax.imshow(
        table.detach().to("cpu").float().numpy(),
        cmap="PuOr",
        vmin=-vmax,
        vmax=vmax,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, d_model - 0.5, start + length - 0.5, start - 0.5),
    )
    if colorbar:
        ticks = (-vmax, -vmax / 2, 0, vmax / 2, vmax)  # few enough for a narrow figure
        ax.figure.colorbar(image, ax=ax, location="bottom", shrink=0.8, label="value", ticks=ticks)
    ax.set_xlabel("dimension")
    ax.set_ylabel("position")
    write_title(ax, title)
    return ax


def plot_encoding_curves(
    table: Tensor, *, dimensions: Sequence[int], start: int = 0, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draws up to four dimensions of an encoding as curves over the position.

    Args:
        table: [length, d_model].
        dimensions: which columns, one to four.
        start: position of the first row.
        ax: where to draw; new Axes when None.
        title: above the curves.

    Returns:
        The Axes.

    Raises:
        ValueError: the table is not [length, d_model], there are no or more than four dimensions, or it lacks one.

    Source:
        Article, "Positional encoding"; chapter 04.
    """
    length, d_model = _check_table(table)
    if not 1 <= len(dimensions) <= len(LINES):
        raise ValueError(f"dimensions must name 1 to {len(LINES)} columns, got {len(dimensions)}")
    if missing := [d for d in dimensions if not 0 <= d < d_model]:
        raise ValueError(f"dimensions must lie between 0 and {d_model - 1}, got {missing[0]}")
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
    columns = table.detach().to("cpu").float().numpy()
    for dimension, (colour, stroke) in zip(dimensions, LINES, strict=False):
        ax.plot(
            range(start, start + length), columns[:, dimension], stroke, color=colour, label=f"dimension {dimension}"
        )
    ax.set_xlabel("position")
    ax.set_ylabel("value")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, fontsize=8)  # below: curves fill the axes
    write_title(ax, title)
    return ax


def _check_table(table: Tensor) -> tuple[int, int]:
    if table.dim() != 2 or 0 in table.shape:
        raise ValueError(f"table must be [length, d_model], got {tuple(table.shape)}; a batch has one table: take x[0]")
    length, d_model = table.shape
    return length, d_model
