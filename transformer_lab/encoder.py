"""The encoder: from token ids to one context-aware vector per token, the memory.

Floor 2.
"""

import torch.nn as nn
from torch import Tensor

from .add_norm import AddNorm
from .attention import MultiHeadAttention
from .config import TransformerConfig
from .embedding import TokenEmbedding
from .feed_forward import FeedForward
from .masks import check_mask
from .positional import positional_module
from .validation import check_hidden, check_length, check_token_ids


class EncoderLayer(nn.Module):
    """Lets the tokens look at one another, then transforms each by itself.

    x = AddNorm(x, SelfAttention(x)); x = AddNorm(x, FFN(x)).

    Args:
        config: sizes and switches.

    Source:
        Paper 3.1, figure 1 (left); article, "Encoder layer"; chapter 06.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        c = config
        self.self_attn = MultiHeadAttention(c.d_model, c.num_heads)
        self.ffn = FeedForward(c.d_model, c.d_ff, activation=c.activation)
        self.add_norm1 = AddNorm(c.d_model, eps=c.layer_norm_eps, dropout=c.dropout, norm_first=c.norm_first)
        self.add_norm2 = AddNorm(c.d_model, eps=c.layer_norm_eps, dropout=c.dropout, norm_first=c.norm_first)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Applies the two sub-layers.

        Args:
            x: [B, S, d_model].
            mask: boolean, True = may attend, broadcastable to [B, h, S, S].

        Returns:
            [B, S, d_model].

        Raises:
            TypeError: the mask is not boolean.
            ValueError: a shape does not fit.

        Source:
            Paper 3.1; chapter 06.
        """
        check_hidden("x", x, self.self_attn.d_model)
        check_mask(mask, x, (x.shape[0], self.self_attn.num_heads, x.shape[1], x.shape[1]))
        attended, _ = self.self_attn(self.add_norm1.enter(x), mask=mask)  # [B, S, d_model]
        x = self.add_norm1(x, attended)
        return self.add_norm2(x, self.ffn(self.add_norm2.enter(x)))


class Encoder(nn.Module):
    """Embeds the source tokens, adds positions, and runs the stack of layers.

    x = dropout(sqrt(d_model)·E[src] + PE), then N encoder layers; pre-LN ends with one more LayerNorm.

    Args:
        config: sizes and switches; uses src_vocab_size and num_encoder_layers.

    Source:
        Paper 3.1 and 3.4; article, "Encoder layer and encoder"; chapter 06.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.src_vocab_size, config.d_model, scale=config.scale_embedding)
        self.pos_encoding = positional_module(config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.final_norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()

    def forward(self, src: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encodes a batch of sentences.

        Args:
            src: token ids [B, S].
            mask: boolean, True = may attend, broadcastable to [B, h, S, S]; for padded batches
                `padding_mask(src, pad_id)`. None hides nothing, padding included.

        Returns:
            memory [B, S, d_model].

        Raises:
            TypeError: ids are not integers, or the mask is not boolean.
            ValueError: an id is out of range, the sentence is empty or longer than max_len, or the mask does not fit.

        Source:
            Paper 3.1; chapter 06.
        """
        self._check(src, mask)
        x = self.pos_encoding(self.embedding(src))  # [B, S, d_model]
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)

    def _check(self, src: Tensor, mask: Tensor | None) -> None:
        check_token_ids("src", src)  # their range is checked where they are looked up
        if self.config.position != "none":
            check_length(src.shape[1], self.config.max_len)
        check_mask(mask, src, (src.shape[0], self.config.num_heads, src.shape[1], src.shape[1]))
