"""Misuse: each raises the documented words, naming what came, what was expected and the way out, before anything is computed."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from transformer_lab import (
    TINY,
    AddNorm,
    Encoder,
    EncoderLayer,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    NoPositionalEncoding,
    PositionalEncoding,
    TokenEmbedding,
    TransformerConfig,
    causal_mask,
    combine_masks,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    sinusoidal_encoding,
    split_heads,
)
from transformer_lab.validation import check_device

from .support import KernelRecorder

MEETS = "it must broadcast to them from the right"
HINT = "a padding mask comes from padding_mask(ids, pad_id), a causal one from causal_mask(T)"
B, T, S, D, H = 2, 5, 7, 12, 4


def vectors(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def mask(*shape: int, dtype: torch.dtype = torch.bool) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def mha() -> MultiHeadAttention:
    return MultiHeadAttention(D, H)


def encoder(**changes) -> Encoder:
    return Encoder(replace(TINY, max_len=6, **changes))


ids = torch.tensor([[4, 7, 9], [3, 5, 6]])
late = torch.tensor([[4, 7, 9], [3, 11, 6]])
x, memory = vectors(B, T, D), vectors(B, S, D)
q, k, v = vectors(B, H, T, 3), vectors(B, H, S, 3), vectors(B, H, S, 2)

VALUE_ERRORS = {
    # heads and sizes
    "heads do not divide the width": (
        partial(MultiHeadAttention, 10, 3),
        "d_model (10) must be divisible by num_heads (3); num_heads that work: 1, 2, 5, 10",
    ),
    "heads do not divide a width beyond 64": (
        partial(MultiHeadAttention, 130, 4),
        "d_model (130) must be divisible by num_heads (4); num_heads that work: 1, 2, 5, 10, 13, 26",
    ),
    "heads do not divide, in a config": (
        partial(TransformerConfig, 11, 13, num_heads=7),
        "d_model (512) must be divisible by num_heads (7)",
    ),
    "heads do not divide, when splitting": (
        partial(split_heads, x, 5),
        "d_model (12) must be divisible by num_heads (5)",
    ),
    "no heads": (partial(MultiHeadAttention, 8, 0), "num_heads must be at least 1, got 0"),
    "no layers": (
        partial(TransformerConfig, 11, 13, num_encoder_layers=0),
        "num_encoder_layers must be at least 1, got 0",
    ),
    "dropout of 1": (partial(MultiHeadAttention, 8, 2, dropout=1.0), "dropout must be at least 0 and below 1, got 1.0"),
    "negative dropout": (partial(AddNorm, 8, dropout=-0.5), "dropout must be at least 0 and below 1, got -0.5"),
    "dropout of positions": (partial(PositionalEncoding, 8, 9, 1.5), "dropout must be at least 0 and below 1, got 1.5"),
    "dropout of learned positions": (
        partial(LearnedPositionalEncoding, 8, 9, 1.5),
        "dropout must be at least 0 and below 1, got 1.5",
    ),
    "dropout of no positions": (partial(NoPositionalEncoding, 1.5), "dropout must be at least 0 and below 1, got 1.5"),
    "dropout of the feed-forward": (
        partial(FeedForward, 8, 9, dropout=2),
        "dropout must be at least 0 and below 1, got 2",
    ),
    "unknown config key": (
        partial(TransformerConfig.from_dict, {"n_heads": 8}),
        "unknown config key 'n_heads'; did you mean 'num_heads'?",
    ),
    "unknown activation": (
        partial(FeedForward, 8, 9, activation="Relu"),
        "activation must be one of 'relu', 'gelu', 'gelu_tanh', 'silu', got 'Relu'; did you mean 'relu'?",
    ),
    "no inner width": (partial(FeedForward, 8, 0), "d_ff must be at least 1, got 0"),
    "no outer width": (partial(FeedForward, 0, 8), "d_model must be at least 1, got 0"),
    "no width of a vector": (partial(TokenEmbedding, 8, 0), "d_model must be at least 1, got 0"),
    "no width to normalise": (partial(AddNorm, 0), "d_model must be at least 1, got 0"),
    "no vocabulary": (partial(TokenEmbedding, 0, 8), "vocab_size must be at least 1, got 0"),
    # query, key and value that do not belong together
    "lengths of key and value": (
        partial(scaled_dot_product_attention, q, vectors(B, H, 6, 3), vectors(B, H, 9, 2)),
        "key and value must have the same length, got 6 and 9",
    ),
    "lengths of key and value, in the module": (
        partial(mha(), x, vectors(B, 6, D), vectors(B, 9, D)),
        "key and value must have the same length, got 6 and 9",
    ),
    "widths of query and key": (
        partial(scaled_dot_product_attention, q, vectors(B, H, S, 4), v),
        "query and key must have the same width, got 3 and 4",
    ),
    "one head against many": (
        partial(scaled_dot_product_attention, q, vectors(B, 1, S, 3), v),
        "query, key and value must agree in every axis before length and width, got key (2, 1, 7, 3) beside query (2, 4, 5, 3)",
    ),
    "one sentence against many": (
        partial(scaled_dot_product_attention, q, k, vectors(1, H, S, 2)),
        "got value (1, 4, 7, 2) beside query (2, 4, 5, 3)",
    ),
    "ranks": (
        partial(scaled_dot_product_attention, q, k[0], v[0]),
        "query, key and value must have the same rank of at least 2 ([..., length, width]), got (2, 4, 5, 3), (4, 7, 3), (4, 7, 2)",
    ),
    "rank 1": (partial(scaled_dot_product_attention, *(q[0, 0, 0],) * 3), "same rank of at least 2"),
    "batches in the module": (partial(mha(), x, vectors(3, S, D)), "key holds batch 3 but query has batch 2"),
    "batch of the value": (partial(mha(), x, memory, vectors(1, S, D)), "value holds batch 1 but query has batch 2"),
    "width of the query": (
        partial(mha(), vectors(B, T, 10)),
        "query must have width d_model=12, got 10 (shape (2, 5, 10))",
    ),
    "width of the value": (partial(mha(), x, memory, vectors(B, S, 13)), "value must have width d_model=12, got 13"),
    "no batch axis": (
        partial(mha(), vectors(T, D)),
        "query must be [batch, length, d_model=12], got (5, 12); add the batch axis with query.unsqueeze(0)",
    ),
    "mask in the key's place": (
        partial(mha(), x, causal_mask(T)),
        "key must be [batch, length, d_model=12], got (5, 5); a mask is given by name: mask=...",
    ),
    "too many axes": (
        partial(mha(), x, vectors(B, H, S, D)),
        "key must be [batch, length, d_model=12], got (2, 4, 7, 12)",
    ),
    "two devices": (
        partial(mha(), x, memory.to("meta")),
        "key is on meta but query is on cpu; move both with .to(device)",
    ),
    "splitting rank 2": (partial(split_heads, vectors(T, D), 4), "x must be [batch, length, d_model], got (5, 12)"),
    "merging rank 3": (partial(merge_heads, x), "x must be [batch, heads, length, d_v], got (2, 5, 12)"),
    # masks
    "mask of other lengths": (
        partial(mha(), x, memory, mask=mask(T, T)),
        f"mask of shape (5, 5) does not fit scores (batch 2, heads 4, queries 5, keys 7); {MEETS}; {HINT}",
    ),
    "mask [B, S] of a padded batch": (
        partial(mha(), x, memory, mask=mask(B, S)),
        f"mask of shape (2, 7) does not fit scores (batch 2, heads 4, queries 5, keys 7); {MEETS}; {HINT}",
    ),
    "mask [B, T, S] without its head axis": (
        partial(mha(), x, memory, mask=mask(B, T, S)),
        "mask of shape (2, 5, 7) does not fit",
    ),
    "mask of rank 1": (partial(mha(), x, mask=mask(T)), "mask of shape (5,) does not fit"),
    "mask of rank 5": (partial(mha(), x, mask=mask(1, B, H, T, T)), "mask of shape (1, 2, 4, 5, 5) does not fit"),
    "mask of rank 4 for rank 3": (
        partial(scaled_dot_product_attention, q[0], k[0], v[0], mask(1, H, T, S)),
        "mask of shape (1, 4, 5, 7) does not fit scores (heads 4, queries 5, keys 7)",
    ),
    "mask for a longer batch": (partial(mha(), x, mask=mask(3, 1, 1, T)), "mask of shape (3, 1, 1, 5) does not fit"),
    "mask on another device": (
        partial(mha(), x, mask=mask(T, T).to("meta")),
        "mask is on meta but query is on cpu; move it with mask.to(query.device)",
    ),
    "masks that do not meet": (
        partial(combine_masks, mask(3, 3), mask(4, 4)),
        "masks of shapes (3, 3) and (4, 4) do not broadcast together",
    ),
    "mask for another sentence, in the encoder": (
        partial(encoder(), ids, mask=mask(4, 4)),
        "mask of shape (4, 4) does not fit scores (batch 2, heads 2, queries 3, keys 3)",
    ),
    "the same in pre-LN": (
        partial(encoder(norm_first=True), ids, mask=mask(4, 4)),
        "mask of shape (4, 4) does not fit",
    ),
    "mask of a pre-LN layer": (
        partial(EncoderLayer(replace(TINY, norm_first=True)), vectors(B, T, 8), mask=mask(4, 4)),
        "mask of shape (4, 4) does not fit",
    ),
    "no room for a causal mask": (partial(causal_mask, 0), "num_queries must be at least 1, got 0"),
    "padding of one sentence": (partial(padding_mask, ids[0], 0), "ids must be [batch, length], got (3,)"),
    # token ids
    "id out of range": (partial(encoder(), late), "token id 11 at [1, 1] is out of range for a vocabulary of 11"),
    "negative id": (
        partial(TokenEmbedding(11, 8), -ids),
        "token id -4 at [0, 0] is out of range for a vocabulary of 11",
    ),
    "ids of one sentence": (partial(encoder(), ids[0]), "src must be token ids of shape [batch, length], got (3,)"),
    "no tokens": (partial(encoder(), ids[:, :0]), "src is empty (shape (2, 0)); at least one token is needed"),
    "no sentences": (
        partial(TokenEmbedding(11, 8), ids[:0]),
        "ids is empty (shape (0, 3)); at least one token is needed",
    ),
    # length and positions
    "sentence too long": (
        partial(encoder(), ids.repeat(1, 3)),
        "sequence of 9 is longer than max_len 6 (build the model with max_len >= 9)",
    ),
    "sentence too long for learned positions": (
        partial(encoder(position="learned"), ids.repeat(1, 3)),
        "sequence of 9 is longer than max_len 6",
    ),
    "past the end of the table": (
        partial(PositionalEncoding(8, 6), vectors(B, 3, 8), 4),
        "sequence of 7 is longer than max_len 6",
    ),
    "start before the table": (
        partial(PositionalEncoding(8, 6), vectors(B, 3, 8), -1),
        "start must be at least 0, got -1",
    ),
    "table that starts before zero": (partial(sinusoidal_encoding, 3, 8, start=-1), "start must be at least 0, got -1"),
    "table of nothing": (partial(sinusoidal_encoding, 0, 8), "length must be at least 1, got 0"),
    "unknown layout": (
        partial(PositionalEncoding, 8, 6, layout="half"),
        "layout must be one of 'interleaved', 'halves', got 'half'; did you mean 'halves'?",
    ),
    "position out of range": (
        partial(PositionalEncoding(8, 6), vectors(B, 3, 8), positions=torch.tensor([[0, 1, 2], [3, 4, 6]])),
        "position 6 at [1, 2] is out of range for max_len 6",
    ),
    "negative position": (
        partial(LearnedPositionalEncoding(8, 6), vectors(B, 3, 8), positions=torch.tensor([[-1, 1, 2], [3, 4, 5]])),
        "position -1 at [0, 0] is out of range for max_len 6",
    ),
    "positions of another shape": (
        partial(PositionalEncoding(8, 6), vectors(B, 3, 8), positions=torch.arange(3)),
        "positions must be [batch, length] (2, 3), got (3,)",
    ),
    "width of the positions": (
        partial(PositionalEncoding(8, 6), vectors(B, 3, 9)),
        "x must have width d_model=8, got 9 (shape (2, 3, 9))",
    ),
    # widths of the other parts
    "width of the feed-forward": (
        partial(FeedForward(8, 9), vectors(B, T, 9)),
        "x must have width d_model=8, got 9 (shape (2, 5, 9))",
    ),
    "rank of the feed-forward": (
        partial(FeedForward(8, 9), vectors(T, 8)),
        "x must be [batch, length, d_model=8], got (5, 8); add the batch axis with x.unsqueeze(0)",
    ),
    "width of Add & Norm": (partial(AddNorm(8), *(vectors(B, T, 7),) * 2), "x must have width d_model=8, got 7"),
    "entering pre-LN": (
        partial(AddNorm(8, norm_first=True).enter, vectors(B, T, 7)),
        "x must have width d_model=8, got 7",
    ),
    "residual of another shape": (
        partial(AddNorm(8), vectors(B, T, 8), vectors(1, T, 8)),
        "x and y must have the same shape to be added, got (2, 5, 8) and (1, 5, 8)",
    ),
    "width of an encoder layer": (partial(EncoderLayer(TINY), vectors(B, T, 9)), "x must have width d_model=8, got 9"),
    "width of a pre-LN layer": (
        partial(EncoderLayer(replace(TINY, norm_first=True)), vectors(B, T, 9)),
        "x must have width d_model=8, got 9",
    ),
}
TYPE_ERRORS = {
    # heads and sizes
    "half a head": (partial(MultiHeadAttention, 8, 2.0), "num_heads must be an int, got float (2.0)"),
    # query, key and value that do not belong together
    "ids where vectors belong": (
        partial(scaled_dot_product_attention, q.long(), k, v),
        "query must be floating point, got int64; look ids up in an embedding first",
    ),
    "two precisions": (
        partial(scaled_dot_product_attention, q, k.double(), v),
        "query, key and value must have one dtype, got float32, float64, float32",
    ),
    "two precisions in the module": (
        partial(mha(), x, memory.bfloat16()),
        "must have one dtype, got float32, bfloat16, bfloat16",
    ),
    # masks
    "float mask": (
        partial(scaled_dot_product_attention, q, k, v, mask(T, S, dtype=torch.float32)),
        f"mask must be boolean (True = may attend), got float32; {HINT}",
    ),
    "float mask in the module": (
        partial(mha(), x, mask=mask(T, T, dtype=torch.float64)),
        f"mask must be boolean (True = may attend), got float64; {HINT}",
    ),
    "float mask that asks for a gradient": (
        partial(mha(), x, mask=torch.ones(T, T, requires_grad=True)),
        "mask must be boolean (True = may attend), got float32",
    ),
    "int mask": (partial(mha(), x, mask=mask(T, T).long()), "mask must be boolean (True = may attend), got int64"),
    "byte mask": (
        partial(encoder(), ids, mask=mask(3, 3).byte()),
        "mask must be boolean (True = may attend), got uint8",
    ),
    "mask in NumPy": (
        partial(mha(), x, mask=np.ones((T, T), bool)),
        "mask must be boolean (True = may attend), got ndarray",
    ),
    "mask in lists": (partial(combine_masks, [[True]]), "mask must be boolean (True = may attend), got list"),
    "float mask among masks": (partial(combine_masks, causal_mask(3), mask(3, 3).float()), "mask must be boolean"),
    "causal mask of half a key": (partial(causal_mask, 3, 2.5), "num_keys must be an int, got float (2.5)"),
    "padding of vectors": (partial(padding_mask, ids.float(), 0), "ids must be token ids (integers), got float32"),
    "padding of a mask": (partial(padding_mask, ids > 0, 0), "ids must be token ids (integers), got bool"),
    # token ids
    "float ids": (
        partial(encoder(), ids.float()),
        "src must be token ids of dtype int64 or int32, got float32; convert with .long()",
    ),
    "byte ids": (
        partial(TokenEmbedding(11, 8), ids.byte()),
        "ids must be token ids of dtype int64 or int32, got uint8",
    ),
    # length and positions
    "float positions": (
        partial(PositionalEncoding(8, 6), vectors(B, 3, 8), positions=torch.zeros(B, 3)),
        "positions must be of dtype int64 or int32, got float32",
    ),
}


MISUSES = {
    **{name: (call, ValueError, words) for name, (call, words) in VALUE_ERRORS.items()},
    **{name: (call, TypeError, words) for name, (call, words) in TYPE_ERRORS.items()},
}
assert len(MISUSES) == len(VALUE_ERRORS) + len(TYPE_ERRORS)


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_the_documented_words_before_anything_is_computed(name):
    call, error, words = MISUSES[name]
    with KernelRecorder() as kernels, pytest.raises(error, match=re.escape(words)):
        call()
    assert kernels.computed == []


@pytest.mark.parametrize("name", [n for n, (call, *_) in MISUSES.items() if isinstance(call.func, MultiHeadAttention)])
def test_misuse_is_noticed_on_both_paths(name):
    call, error, words = MISUSES[name]
    with pytest.raises(error, match=re.escape(words)):
        call(need_weights=True)


def test_the_recorder_sees_what_is_computed():
    """Without this, the misuse test would pass with a recorder that sees nothing."""
    with KernelRecorder() as kernels:
        encoder()(ids)
    assert {"embedding", "addmm", "native_layer_norm"} <= set(kernels.computed)
    assert any("scaled_dot_product" in name for name in kernels.computed)


def test_under_compile_wrong_shapes_are_still_refused():
    torch._dynamo.reset()
    compiled = torch.compile(mha(), backend="aot_eager")
    with pytest.raises(ValueError, match="key and value must have the same length, got 6 and 9"):
        compiled(x, vectors(B, 6, D), vectors(B, 9, D))


def test_right_use_raises_nothing():
    assert encoder()(ids, padding_mask(ids, 0)).shape == (2, 3, 8)
    assert mha()(x, memory, mask=mask(T, S))[0].shape == (B, T, D)
    assert scaled_dot_product_attention(q, k, v, mask(H, 1, S))[0].shape == (B, H, T, 2)
    assert encoder()(ids.repeat(1, 2)).shape == (2, 6, 8)
    assert PositionalEncoding(8, 6)(vectors(B, 3, 8), 3).shape == (B, 3, 8)


def test_devices_are_checked_against_those_that_are_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert [str(check_device(name)) for name in ("cpu", "cuda", "cuda:0", "meta")] == ["cpu", "cuda", "cuda:0", "meta"]
    for name, words in {
        "cuda:1": "there is no cuda:1 here (PyTorch sees 1 CUDA devices); use cpu",
        "gpu": "device must be a device of torch, such as 'cpu' or 'cuda', got 'gpu'",
    }.items():
        with pytest.raises(ValueError, match=re.escape(words)):
            check_device(name)
