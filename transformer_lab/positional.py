"""Positions: what tells the model where a token stands.

Floor 1. Attention alone treats its input as a set; these modules add a vector that depends on the position.
"""

from collections.abc import Callable

import torch
import torch.nn as nn
from torch import Tensor

from .config import TransformerConfig
from .validation import check_choice, check_dropout, check_hidden, check_length, check_positions, check_positive

LAYOUTS = ("interleaved", "halves")


def sinusoidal_encoding(
    length: int,
    d_model: int,
    *,
    start: int = 0,
    layout: str = "interleaved",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Writes each position as sines and cosines of many wavelengths.

    $$PE_{p,2i} = \sin\frac{p}{10000^{2i/d}}, \qquad PE_{p,2i+1} = \cos\frac{p}{10000^{2i/d}}$$

    Computed in float64 on the CPU (not every device knows float64) and then rounded: float32 angles would be off by 4e-4
    at position 5,000.

    Args:
        length: number of positions.
        d_model: width d; may be odd (the last pair then has only its sine).
        start: first position.
        layout: "interleaved" (sin, cos, sin, cos …: the paper) or "halves" (all sines, then all cosines).
        dtype: of the result; torch's default when None.
        device: of the result.

    Returns:
        [length, d_model], every entry in [-1, 1].

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1, start is negative, or the layout is unknown.

    Source:
        Paper 3.5; article, "Positional encoding"; chapter 04.
    """
    check_positive(length=length, d_model=d_model)
    check_choice("layout", layout, LAYOUTS)
    if start < 0:
        raise ValueError(f"start must be at least 0, got {start}")
    position = torch.arange(start, start + length, dtype=torch.float64, device="cpu")[:, None]  # [length, 1]
    pair = torch.arange((d_model + 1) // 2, dtype=torch.float64, device="cpu")  # i of the formula
    angle = position / 10000 ** (2 * pair / d_model)  # [length, ceil(d/2)]
    sine, cosine = angle.sin(), angle.cos()[:, : d_model // 2]
    if layout == "halves":
        table = torch.cat([sine, cosine], dim=1)
    else:
        table = torch.empty(length, d_model, dtype=torch.float64, device="cpu")
        table[:, 0::2], table[:, 1::2] = sine, cosine
    return torch.empty(length, d_model, dtype=dtype, device=device).copy_(table)  # [length, d_model]


class PositionalEncoding(nn.Module):
    r"""Adds the sinusoidal encoding of each token's position.

    $$\text{out}_{b,t} = \text{dropout}(x_{b,t} + PE_{p(t)})$$

    The table has no weights and is not in the state dict; it follows the module's device and dtype, and is computed anew
    in float64 when they change, so that `.double()` does not keep the rounding of float32.

    Args:
        d_model: width.
        max_len: number of positions in the table.
        dropout: probability of dropping a number of the sum while training (paper 5.4).
        layout: "interleaved" (the paper) or "halves".

    Raises:
        ValueError: a size is below 1, dropout is outside [0, 1), or the layout is unknown.

    Source:
        Paper 3.5; article, "Positional encoding"; chapter 04.
    """

    def __init__(self, d_model: int = 512, max_len: int = 5000, dropout: float = 0.0, *, layout: str = "interleaved") -> None:
        super().__init__()
        check_dropout(dropout)
        self.layout = layout
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", sinusoidal_encoding(max_len, d_model, layout=layout), persistent=False)

    def forward(self, x: Tensor, start: int = 0, positions: Tensor | None = None) -> Tensor:
        """Adds positions start, start + 1, … or the given ones.

        Args:
            x: [B, T, d_model].
            start: position of the first token (in cached decoding: how many came before).
            positions: whole numbers [B, T] instead of start.

        Returns:
            x + PE, [B, T, d_model].

        Raises:
            TypeError: positions are not integers.
            ValueError: wrong shape, or a position that the table does not have.

        Source:
            Paper 3.5; chapter 04.
        """
        table = self.table
        if x.dtype != table.dtype and torch.promote_types(table.dtype, x.dtype) != table.dtype:  # x is finer than the table
            table = self._compute(x.dtype, x.device)
        x = x + _rows(x, table, start, positions).to(x.dtype)
        return self.dropout(x) if self.training else x

    def _compute(self, dtype: torch.dtype, device: torch.device) -> Tensor:
        length, d_model = self.table.shape
        return sinusoidal_encoding(length, d_model, layout=self.layout, dtype=dtype, device=device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        super()._apply(fn, recurse)
        self.table = self._compute(self.table.dtype, self.table.device)
        return self


class LearnedPositionalEncoding(nn.Module):
    """Adds a trained vector per position, as BERT and GPT-2 do.

    out[b, t] = dropout(x[b, t] + weight[p(t)]).

    Args:
        d_model: width.
        max_len: number of positions.
        dropout: probability of dropping a number of the sum while training.

    Raises:
        ValueError: a size is below 1, or dropout is outside [0, 1).

    Source:
        Paper 3.5 and table 3 row E; chapter 04.
    """

    def __init__(self, d_model: int = 512, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__()
        check_positive(d_model=d_model, max_len=max_len)
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, start: int = 0, positions: Tensor | None = None) -> Tensor:
        """Adds the vectors of positions start, start + 1, … or of the given ones.

        Args:
            x: [B, T, d_model].
            start: position of the first token.
            positions: whole numbers [B, T] instead of start.

        Returns:
            [B, T, d_model].

        Raises:
            TypeError: positions are not integers.
            ValueError: wrong shape, or a position without a vector.

        Source:
            Chapter 04.
        """
        return self.dropout(x + _rows(x, self.weight, start, positions).to(x.dtype))


class NoPositionalEncoding(nn.Module):
    """Adds nothing, so that order can be taken away in an experiment.

    out = dropout(x).

    Args:
        dropout: probability of dropping a number while training.

    Raises:
        ValueError: dropout is outside [0, 1).

    Source:
        Article, "The blind spot"; chapter 04.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, start: int = 0, positions: Tensor | None = None) -> Tensor:
        """Returns x as it is, whatever the positions.

        Args:
            x: [B, T, d_model].
            start: not looked at; here so that the three kinds can stand for one another.
            positions: likewise.

        Returns:
            dropout(x), [B, T, d_model].

        Source:
            Chapter 04.
        """
        return self.dropout(x)


def positional_module(config: TransformerConfig) -> nn.Module:
    """Builds the module that config.position names.

    Args:
        config: uses position, d_model, max_len and dropout.

    Returns:
        A module with `forward(x, start=0, positions=None)`.

    Source:
        Paper 3.5; chapter 04.
    """
    if config.position == "none":
        return NoPositionalEncoding(config.dropout)
    if config.position == "learned":
        return LearnedPositionalEncoding(config.d_model, config.max_len, config.dropout)
    layout = "halves" if config.position == "sinusoidal_halves" else "interleaved"
    return PositionalEncoding(config.d_model, config.max_len, config.dropout, layout=layout)


def _rows(x: Tensor, table: Tensor, start: int, positions: Tensor | None) -> Tensor:
    """Picks the rows of the table for x [B, T, d_model]: [T, d_model] by start, [B, T, d_model] by positions."""
    max_len, d_model = table.shape
    check_hidden("x", x, d_model)
    if positions is not None:
        check_positions(positions, (x.shape[0], x.shape[1]), max_len)
        return table[positions]
    if start < 0:
        raise ValueError(f"start must be at least 0, got {start}")
    end = start + x.shape[1]
    check_length(end, max_len)
    return table[start:end]
