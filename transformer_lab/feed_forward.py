"""The feed-forward network: what happens to each token on its own, between two attentions.

Floor 1.
"""

import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from .validation import check_choice, check_dropout, check_hidden, check_positive

_ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    r"""Widens each token's vector, bends it, and narrows it again; the same weights at every position.

    $$\text{FFN}(x) = \max(0,\; xW_1 + b_1)\,W_2 + b_2$$

    Args:
        d_model: width of input and output.
        d_ff: inner width.
        activation: relu (the paper), gelu, gelu_tanh or silu.
        dropout: probability of dropping an inner number while training. The paper has none here, so 0 is the default.

    Raises:
        ValueError: a size is below 1, the activation is unknown, or dropout is outside [0, 1).

    Source:
        Paper 3.3, equation 2; article, "Feed-forward"; chapter 05.
    """

    def __init__(self, d_model: int = 512, d_ff: int = 2048, *, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        check_positive(d_model=d_model, d_ff=d_ff)
        check_choice("activation", activation, tuple(_ACTIVATIONS))
        check_dropout(dropout)
        self.d_model = d_model
        self.activation = activation
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.linear1, self.linear2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transforms every position by itself.

        Args:
            x: [B, T, d_model].

        Returns:
            [B, T, d_model].

        Raises:
            ValueError: x is not [B, T, d_model].

        Source:
            Paper 3.3; chapter 05.
        """
        check_hidden("x", x, self.d_model)
        inner = _ACTIVATIONS[self.activation](self.linear1(x))  # [B, T, d_ff]
        return self.linear2(self.dropout(inner) if self.training else inner)  # [B, T, d_model]
