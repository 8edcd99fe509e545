"""The decoder: from the target so far, and the memory of the source, to one vector per target position.

Floor 2. A decoder never looks ahead: its self-attention is causal, whatever mask is given besides.
"""

import torch.nn as nn
from torch import Tensor

from .add_norm import AddNorm
from .attention import MultiHeadAttention
from .cache import DecoderCache, KVCache
from .config import TransformerConfig
from .embedding import TokenEmbedding
from .feed_forward import FeedForward
from .masks import check_mask
from .positional import positional_module
from .validation import check_hidden, check_length, check_token_ids


class DecoderLayer(nn.Module):
    """Looks back over the target, looks at the source, then transforms each position by itself.

    x = AddNorm(x, CausalSelfAttention(x)); x = AddNorm(x, CrossAttention(x, memory)); x = AddNorm(x, FFN(x)).

    Args:
        config: sizes and switches.

    Source:
        Paper 3.1, figure 1 (right); article, "Decoder layer code"; chapter 07.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = c = config
        self.self_attn = MultiHeadAttention(c.d_model, c.num_heads)
        self.cross_attn = MultiHeadAttention(c.d_model, c.num_heads)
        self.ffn = FeedForward(c.d_model, c.d_ff, activation=c.activation)
        self.add_norm1 = AddNorm(c.d_model, eps=c.layer_norm_eps, dropout=c.dropout, norm_first=c.norm_first)
        self.add_norm2 = AddNorm(c.d_model, eps=c.layer_norm_eps, dropout=c.dropout, norm_first=c.norm_first)
        self.add_norm3 = AddNorm(c.d_model, eps=c.layer_norm_eps, dropout=c.dropout, norm_first=c.norm_first)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        cache: tuple[KVCache, KVCache] | None = None,
    ) -> Tensor:
        """Applies the three sub-layers.

        Args:
            x: [B, T, d_model].
            memory: the encoder's result, [B, S, d_model].
            src_mask: boolean, True = may attend, broadcastable to [B, h, T, S]; hides padding of the source.
            tgt_mask: the same for the target, besides the causal mask; broadcastable to [B, h, T, cached + T].
            cache: this layer's (self, cross) pair.

        Returns:
            [B, T, d_model].

        Raises:
            TypeError: a mask is not boolean.
            ValueError: a shape or the cache does not fit.

        Source:
            Paper 3.1; chapters 07 and 09.
        """
        own, source = cache if cache is not None else (None, None)
        check_hidden("x", x, self.config.d_model)
        _check_sides("x", x, memory, src_mask, tgt_mask, self.config, 0 if own is None else own.length)
        attended, _ = self.self_attn(self.add_norm1.enter(x), mask=tgt_mask, cache=own, causal=True)
        x = self.add_norm1(x, attended)  # [B, T, d_model]
        attended, _ = self.cross_attn(self.add_norm2.enter(x), memory, mask=src_mask, cache=source)
        x = self.add_norm2(x, attended)
        return self.add_norm3(x, self.ffn(self.add_norm3.enter(x)))


class Decoder(nn.Module):
    """Embeds the target tokens, adds positions, and runs the stack of layers.

    x = dropout(sqrt(d_model)·E[tgt] + PE), then N decoder layers; pre-LN ends with one more LayerNorm.

    Args:
        config: sizes and switches; uses tgt_vocab_size and num_decoder_layers.

    Source:
        Paper 3.1 and 3.4; article, "Decoder unrolled"; chapter 07.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.tgt_vocab_size, config.d_model, scale=config.scale_embedding)
        self.pos_encoding = positional_module(config)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.final_norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Decodes a batch of targets, or the newest tokens of them when there is a cache.

        Args:
            tgt: token ids [B, T], beginning with bos: the target shifted right. With a cache only the tokens it does not
                hold yet; their positions go on from its length.
            memory: the encoder's result, [B, S, d_model].
            src_mask: boolean, True = may attend, broadcastable to [B, h, T, S].
            tgt_mask: the same for the target, besides the causal mask; broadcastable to [B, h, T, cached + T].
            cache: made by `Transformer.new_cache`.

        Returns:
            hidden [B, T, d_model]; `Transformer.output` turns it into logits.

        Raises:
            TypeError: ids are not integers, or a mask is not boolean.
            ValueError: an id is out of range, the target is empty or too long, or a shape or the cache does not fit.

        Source:
            Paper 3.1; chapters 07 and 09.
        """
        held = 0 if cache is None else cache.length
        check_token_ids("tgt", tgt)  # their range is checked where they are looked up
        if self.config.position != "none":
            check_length(held + tgt.shape[1], self.config.max_len)
        _check_sides("tgt", tgt, memory, src_mask, tgt_mask, self.config, held)
        x = self.pos_encoding(self.embedding(tgt), start=held)  # [B, T, d_model]
        pairs = [None] * len(self.layers) if cache is None else cache.layers
        for layer, pair in zip(self.layers, pairs, strict=True):
            x = layer(x, memory, src_mask, tgt_mask, pair)
        return self.final_norm(x)


def _check_sides(
    name: str, x: Tensor, memory: Tensor, src_mask: Tensor | None, tgt_mask: Tensor | None, config: TransformerConfig, held: int
) -> None:
    """Refuses a target [B, T, …], a memory and masks that do not belong together; held tokens came before the target."""
    check_hidden("memory", memory, config.d_model)
    if x.shape[0] != memory.shape[0]:
        raise ValueError(f"{name} holds batch {x.shape[0]} but memory has batch {memory.shape[0]}")
    if src_mask is not None or tgt_mask is not None:
        B, T = x.shape[:2]
        check_mask(src_mask, x, (B, config.num_heads, T, memory.shape[1]))
        check_mask(tgt_mask, x, (B, config.num_heads, T, held + T))
