"""The panel over `PositionalEncoding`: how alike positions are, for sizes of the reader's own.

Floor 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..element import escape, heat_map
from ..positional import PositionalEncoding
from .panel import Panel, check_choices, check_sizes, facts

LAYOUTS = ("interleaved", "halves")
MAX_NUMBERS = 5_000_000  # in one tensor
SHOWN = 12  # rows and columns of the heat map


@dataclass(frozen=True)
class PositionsReport:
    """What one run of the module gave.

    Args:
        shape: of what it added, (length, d_model).
        row_length: Euclidean length of every row.
        likeness: dot products of rows, divided by that of a row with itself, [length, length].
        turns: of the fastest and of the slowest pair of dimensions over these positions.

    Source:
        Paper 3.5; chapter 04.
    """

    shape: tuple[int, int]
    row_length: float
    likeness: Tensor
    turns: tuple[float, float]


def run_positions(*, start: int = 0, length: int = 8, d_model: int = 64, layout: str = "interleaved") -> PositionsReport:
    """Runs a new `PositionalEncoding` on zeros, so that what comes out is what it adds.

    Args:
        start: position of the first token.
        length: tokens.
        d_model: width, even.
        layout: "interleaved" or "halves".

    Returns:
        Shape, lengths and likeness of the rows.

    Raises:
        ValueError: a size is below 1, start is negative, d_model is odd, the layout is unknown, or a tensor would be too large.

    Source:
        Paper 3.5; chapter 04.
    """
    check_choices(layout=(layout, LAYOUTS))
    if d_model % 2:
        raise ValueError(f"d_model must be even here, got {d_model}: the last sine would have no cosine, and rows no common length")
    if start < 0:
        raise ValueError(f"start must be at least 0, got {start}: there is no position before the first")
    check_sizes(MAX_NUMBERS, max((start + length) * d_model, length**2), length=length, d_model=d_model)
    encode = PositionalEncoding(d_model, start + length, layout=layout).double()
    rows = encode(torch.zeros(1, length, d_model, dtype=torch.float64), start=start)[0]  # [length, d_model]
    products = rows @ rows.T  # [length, length]
    slowest = 10_000 ** ((d_model - 2) / d_model)
    return PositionsReport(
        (length, d_model),
        float(products[0, 0].sqrt()),
        products / products[0, 0],
        (length / (2 * torch.pi), length / (2 * torch.pi * slowest)),
    )


def position_panel(**settings: Any) -> Panel:
    """Makes the panel: start, length, width and layout of the real module, and how alike the positions are.

    Args:
        settings: what to start with, as `run_positions` takes it.

    Returns:
        The panel. As the last expression of a cell it shows its controls in a live notebook, and a still elsewhere.

    Raises:
        TypeError: a setting is unknown.
        ValueError: a setting is refused by `run_positions`.

    Source:
        Ours; chapter 04.
    """
    return Panel("Position", run_positions, _tell, _say, settings, {"layout": LAYOUTS})


def _say(settings: Mapping[str, Any], report: PositionsReport) -> str:
    return f"{report.shape[0]} positions from {settings['start']} on, d_model {report.shape[1]}, {settings['layout']}"


def _tell(settings: Mapping[str, Any], report: PositionsReport, live: bool) -> list[str]:
    shown = min(SHOWN, report.shape[0])
    names = [str(settings["start"] + i) for i in range(shown)]
    whole = "" if shown == report.shape[0] else f", the first {shown} of {report.shape[0]}"
    return [
        f"<p><strong>PositionalEncoding</strong>: {escape(_say(settings, report))}</p>",
        facts(
            {
                "what it adds": list(report.shape),
                "length of every row": f"{report.row_length:.2f}",
                "turns of the fastest pair": f"{report.turns[0]:.2f}",
                "turns of the slowest pair": f"{report.turns[1]:.4f}",
            }
        ),
        heat_map(report.likeness[:shown, :shown].tolist(), names, names, f"How alike two positions are (1 is the same){whole}"),
    ]
