"""Add & Norm: the residual connection and the layer normalisation around every sub-layer.

Floor 1.
"""

import torch.nn as nn
from torch import Tensor

from .validation import check_dropout, check_hidden, check_positive


class AddNorm(nn.Module):
    r"""Adds what a sub-layer returned to what went in, and normalises each token's vector.

    $$\text{post-LN (paper): } \text{LayerNorm}(x + \text{dropout}(y)), \quad y = \text{Sublayer}(x)$$
    $$\text{pre-LN: } x + \text{dropout}(y), \quad y = \text{Sublayer}(\text{LayerNorm}(x))$$

    In use, for either kind: ``x = add_norm(x, sublayer(add_norm.enter(x)))``.

    Args:
        d_model: width.
        eps: epsilon inside the square root of LayerNorm.
        dropout: probability of dropping a number of y while training (paper 5.4).
        norm_first: False is post-LN, True is pre-LN.

    Raises:
        ValueError: d_model is below 1, or dropout is outside [0, 1).

    Source:
        Paper 3.1 and 5.4; article, "Add & Norm"; chapter 06.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5, dropout: float = 0.0, norm_first: bool = False) -> None:
        super().__init__()
        check_positive(d_model=d_model)
        check_dropout(dropout)
        self.d_model = d_model
        self.norm_first = norm_first
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """Gives the sub-layer its input: norm(x) in pre-LN, x itself in post-LN.

        Args:
            x: [B, T, d_model].

        Returns:
            [B, T, d_model].

        Raises:
            ValueError: x is not [B, T, d_model].

        Source:
            Chapter 06.
        """
        check_hidden("x", x, self.d_model)
        return self.norm(x) if self.norm_first else x

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Joins the residual x and the sub-layer's result y.

        Args:
            x: what went into the sub-layer's branch, [B, T, d_model].
            y: what the sub-layer returned, [B, T, d_model].

        Returns:
            norm(x + dropout(y)) in post-LN, x + dropout(y) in pre-LN, [B, T, d_model].

        Raises:
            ValueError: x is not [B, T, d_model], or y differs from it in shape.

        Source:
            Paper 3.1; chapter 06.
        """
        check_hidden("x", x, self.d_model)
        if x.shape != y.shape:
            raise ValueError(f"x and y must have the same shape to be added, got {tuple(x.shape)} and {tuple(y.shape)}")
        added = x + (self.dropout(y) if self.training else y)  # [B, T, d_model]; no call at all in eval
        return added if self.norm_first else self.norm(added)
