"""Weights of the article's model give the same answers here, once they are renamed.

The article's modules are written again below from its formulas, under its names: masks mean "may attend", the encoding is a
buffer `pe`, every layer is post-LN.
"""

from dataclasses import replace

import pytest
import torch
from torch import nn

from transformer_lab import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    causal_mask,
    padding_mask,
)
from transformer_lab.article_names import from_article_names

from .support import close, numbers, randomise, token_ids

CONFIG = TransformerConfig(
    src_vocab_size=19, tgt_vocab_size=17, d_model=6, num_heads=3, num_encoder_layers=2, num_decoder_layers=2, d_ff=11, max_len=13,
    dropout=0.0, scale_embedding=False,
)  # fmt: skip
D, H = CONFIG.d_model, CONFIG.num_heads


class ArticleAttention(nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(D, D))

    def forward(self, query, key, value, mask=None):
        per_head = [x.unflatten(-1, (H, D // H)) for x in (self.W_q(query), self.W_k(key), self.W_v(value))]
        scores = torch.einsum("bthd,bshd->bhts", *per_head[:2]) / (D // H) ** 0.5
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
        mixed = torch.einsum("bhts,bshd->bthd", scores.softmax(-1), per_head[2])
        return self.W_o(mixed.flatten(-2))


class ArticleFeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(D, CONFIG.d_ff), nn.Linear(CONFIG.d_ff, D)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x).clamp(min=0)))


class ArticleLayer(nn.Module):
    """Both of the article's layers: without and with cross-attention."""

    def __init__(self, cross):
        super().__init__()
        self.self_attn, self.ffn = ArticleAttention(), ArticleFeedForward()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        if cross:
            self.cross_attn, self.norm3 = ArticleAttention(), nn.LayerNorm(D)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask=None, memory=None, src_mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        if memory is None:
            return self.norm2(x + self.dropout(self.ffn(x)))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory, src_mask)))
        return self.norm3(x + self.dropout(self.ffn(x)))


class ArticlePositions(nn.Module):
    def __init__(self):
        super().__init__()
        position, column = torch.arange(CONFIG.max_len).double()[:, None], torch.arange(D)
        angle = position * torch.exp((column - column % 2).double() * (-torch.tensor(10000.0).double().log() / D))
        self.register_buffer("pe", torch.where(column % 2 == 0, angle.sin(), angle.cos())[None])

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]]


class ArticleStack(nn.Module):
    def __init__(self, vocab_size, cross):
        super().__init__()
        self.embedding, self.pos_encoding = nn.Embedding(vocab_size, D), ArticlePositions()
        self.layers = nn.ModuleList(ArticleLayer(cross) for _ in range(2))
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids, mask=None, memory=None, src_mask=None):
        x = self.dropout(self.pos_encoding(self.embedding(ids)))
        for layer in self.layers:
            x = layer(x, mask, memory, src_mask)
        return x


class ArticleTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = ArticleStack(19, cross=False), ArticleStack(17, cross=True)
        self.output_linear = nn.Linear(D, 17)

    def forward(self, src, tgt, src_mask, tgt_mask):
        return self.output_linear(self.decoder(tgt, tgt_mask, self.encoder(src, src_mask), src_mask))


def drawn(module: nn.Module) -> nn.Module:
    return randomise(module.double(), 1).eval()


def filled(ours: nn.Module, theirs: nn.Module) -> nn.Module:
    ours = randomise(ours.double(), 2).eval()
    ours.load_state_dict(from_article_names(theirs.state_dict()))
    return ours


def source() -> torch.Tensor:
    ids = token_ids(2, 5, vocab_size=19)
    ids[0, 3:] = 0
    return ids


def test_the_whole_model():
    theirs = drawn(ArticleTransformer())
    ours = filled(Transformer(CONFIG), theirs)
    src, tgt = source(), token_ids(2, 7, vocab_size=17, seed=1)
    mask = padding_mask(src, 0)
    right = theirs(src, tgt, mask, causal_mask(7))
    close(ours(src, tgt), right, 1e-12)
    assert (Transformer(CONFIG).double()(src, tgt) - right).abs().max() > 0.1
    scaled = filled(Transformer(replace(CONFIG, scale_embedding=True)), theirs)
    assert (scaled(src, tgt) - right).abs().max() > 1e-3  # the article adds positions to bare rows


def test_the_encoder_and_the_decoder_alone():
    src, tgt, memory = source(), token_ids(2, 7, vocab_size=17), numbers(2, 5, D)
    mask = padding_mask(src, 0)
    theirs = drawn(ArticleStack(19, cross=False))
    close(filled(Encoder(CONFIG), theirs)(src, mask), theirs(src, mask), 1e-12)
    theirs = drawn(ArticleStack(17, cross=True))
    close(filled(Decoder(CONFIG), theirs)(tgt, memory, mask), theirs(tgt, causal_mask(7), memory, mask), 1e-12)


def test_one_layer_and_one_attention():
    x, memory = numbers(2, 7, D), numbers(2, 5, D, seed=1)
    theirs = drawn(ArticleLayer(cross=False))
    close(filled(EncoderLayer(CONFIG), theirs)(x), theirs(x), 1e-12)
    theirs = drawn(ArticleLayer(cross=True))
    close(filled(DecoderLayer(CONFIG), theirs)(x, memory), theirs(x, causal_mask(7), memory), 1e-12)
    theirs = drawn(ArticleAttention())
    close(filled(MultiHeadAttention(D, H), theirs)(x, memory)[0], theirs(x, memory, memory), 1e-12)


def test_names_change_where_they_differ_and_nowhere_else():
    one, table = torch.ones(1), torch.zeros(1, 13, 6)
    names = {
        "encoder.layers.0.norm1.weight": "encoder.layers.0.add_norm1.norm.weight",
        "decoder.layers.11.norm3.bias": "decoder.layers.11.add_norm3.norm.bias",
        "norm2.weight": "add_norm2.norm.weight",
        "encoder.layers.0.self_attn.W_q.weight": "encoder.layers.0.self_attn.W_q.weight",
        "decoder.embedding.weight": "decoder.embedding.weight",
        "output_linear.bias": "output_linear.bias",
        "subnorm1.weight": "subnorm1.weight",
        "norm4.weight": "norm4.weight",
    }
    given = {name: one for name in names} | {"encoder.pos_encoding.pe": table, "pos_encoding.pe": table}
    before = dict(given)
    found = from_article_names(given)
    assert list(found) == list(names.values())
    assert all(tensor is one for tensor in found.values())
    assert given == before
    assert from_article_names(found) == found  # our own names stay
    with pytest.raises(ValueError, match="both stand for 'add_norm1.norm.weight'"):
        from_article_names({"add_norm1.norm.weight": one, "norm1.weight": one})


def test_every_name_of_the_model_is_reached():
    theirs = from_article_names(ArticleTransformer().state_dict())
    assert list(theirs) != list(ArticleTransformer().state_dict())
    assert set(theirs) == set(Transformer(CONFIG).state_dict())


def test_what_does_not_fit_is_still_refused():
    state = from_article_names(ArticleTransformer().state_dict())
    with pytest.raises(RuntimeError, match="Missing key"):
        Transformer(CONFIG).load_state_dict({name: x for name, x in state.items() if "add_norm3" not in name})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        Transformer(CONFIG).load_state_dict(state | {"decoder.layers.0.norm4.weight": torch.ones(6)})
