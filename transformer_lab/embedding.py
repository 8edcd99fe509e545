"""Token embeddings: from whole numbers to vectors.

Floor 1.
"""

import math

import torch.nn as nn
from torch import Tensor

from .validation import check_positive, check_token_ids


class TokenEmbedding(nn.Embedding):
    r"""Looks up one row per token and scales it to the size of the positions that will be added.

    $$x_{b,t} = \sqrt{d_{model}}\; E_{\text{ids}_{bt}}$$

    Rows start as N(0, 1/d_model), so that the scaled vectors have entries of variance 1.

    Args:
        vocab_size: number of rows of the table E.
        d_model: width of a row.
        scale: multiply by sqrt(d_model) (the paper); False gives the bare row.

    Raises:
        ValueError: a size is below 1.

    Source:
        Paper 3.4; article, "Vocabulary size versus width"; chapter 08.
    """

    def __init__(self, vocab_size: int, d_model: int, *, scale: bool = True) -> None:
        check_positive(vocab_size=vocab_size, d_model=d_model)
        super().__init__(vocab_size, d_model)
        self.scale = math.sqrt(d_model) if scale else 1.0

    def reset_parameters(self) -> None:
        """Draws the table anew, N(0, 1/d_model).

        Source:
            Paper 3.4; chapter 08.
        """
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Looks the ids up.

        Args:
            ids: token ids [B, T].

        Returns:
            [B, T, d_model].

        Raises:
            TypeError: ids are not integers.
            ValueError: ids are not [B, T], are empty, or one is out of range.

        Source:
            Paper 3.4; chapter 08.
        """
        check_token_ids("ids", ids, self.num_embeddings)
        return super().forward(ids) * self.scale
