"""Small inputs on which public code of this kind went wrong, with the right answer written out.

Each test names the mistake and where it was reported. Where a wrong value is known, the test also shows that it is far
from the right one, so that the check can tell them apart.
"""

import math

import pytest
import torch
import torch.nn.functional as F

from transformer_lab import (
    AddNorm,
    Encoder,
    MultiHeadAttention,
    PositionalEncoding,
    TokenEmbedding,
    TransformerConfig,
    causal_mask,
    combine_masks,
    padding_mask,
    scaled_dot_product_attention,
    sinusoidal_encoding,
    split_heads,
)

from . import reference
from .support import array, close, numbers


def wave(*shape: int, k: int = 0, scale: float = 0.5) -> torch.Tensor:
    """The same numbers on every machine and every version, without a random generator."""
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (scale * torch.sin(1.7 * i + 0.9 * k + 0.3 * torch.cos(0.37 * i * (k + 1)))).reshape(shape)


def right_attention(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    output, weights = reference.attention(*map(array, inputs))
    return torch.from_numpy(output), torch.from_numpy(weights)


# ------------------------------------------------------------------ numerics


def test_n1_layer_norm_divides_by_n_and_has_eps_inside_the_root():
    """harvardnlp/annotated-transformer#122, codertimo/BERT-pytorch#30, hyunwoongko/transformer#7."""
    x = torch.tensor([[[1.0, 0, 0, 0], [3.0, 3, 3, 3]]], dtype=torch.float64, requires_grad=True)
    output = AddNorm(4).double()(x, torch.zeros_like(x))
    root = math.sqrt(0.1875 + 1e-5)
    close(output[0, 0], torch.tensor([0.75, -0.25, -0.25, -0.25], dtype=torch.float64) / root)
    close(output[0, 0], torch.tensor([1.73200, -0.57733, -0.57733, -0.57733]), 1e-5)  # divided by n - 1: 1.5, -0.5 …
    assert (output[0, 1] == 0).all()
    output.sum().backward()
    assert x.grad.isfinite().all()


def test_n2_sine_and_cosine_of_a_pair_share_their_frequency():
    """SamLynnEvans/Transformer#25, dmlc/gluon-nlp#178."""
    rows = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    table = sinusoidal_encoding(20, 4, dtype=torch.float64)
    close(table[:3], torch.tensor(rows, dtype=torch.float64))
    close(table[1], torch.tensor([0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004], dtype=torch.float64), 1e-9)
    turn = torch.tensor([[math.cos(3), math.sin(3)], [-math.sin(3), math.cos(3)]], dtype=torch.float64)
    close(table[3:, :2], table[:-3, :2] @ turn.T)


def test_n3_odd_widths_work():
    """codertimo/BERT-pytorch#78, datawhalechina/base-llm#67."""
    p = torch.arange(3, dtype=torch.float64)
    right = torch.stack(
        [p.sin(), p.cos(), (p / 10000**0.4).sin(), (p / 10000**0.4).cos(), (p / 10000**0.8).sin()], dim=-1
    )
    close(sinusoidal_encoding(3, 5, dtype=torch.float64), right)
    close(PositionalEncoding(5, 3).double()(torch.zeros(1, 3, 5, dtype=torch.float64))[0], right)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_n4_a_hidden_key_in_half_precision(dtype, atol):
    """NVIDIA/apex#1052, facebookresearch/fairseq#3575."""
    query, key, value = wave(1, 1, 3, 4, k=1), wave(1, 1, 4, 4, k=2), wave(1, 1, 4, 4, k=3)
    mask = torch.tensor([True, True, True, False]).expand(1, 1, 3, 4)
    right, right_weights = right_attention(query, key, value, mask)
    output, weights = scaled_dot_product_attention(query.to(dtype), key.to(dtype), value.to(dtype), mask)
    assert (weights[..., 3] == 0).all()
    close(output, right, atol)
    close(weights, right_weights, atol)


@pytest.mark.parametrize("d_k", [1, 4, 9, 64, 81])
def test_n5_the_scale_follows_the_width_of_a_head(d_k):
    """A scale written as a constant (sqrt(64)) is right for one width only."""
    query, key = (
        torch.ones(1, d_k, dtype=torch.float64),
        torch.ones(2, d_k, dtype=torch.float64) * torch.tensor([[0.0], [1.0]]),
    )
    _, weights = scaled_dot_product_attention(query, key, key)
    right = 1 / (1 + math.exp(-math.sqrt(d_k)))  # the scores are 0 and d_k / sqrt(d_k)
    close(weights, torch.tensor([[1 - right, right]], dtype=torch.float64))


# ------------------------------------------------------------------ masks


def test_m1_true_means_may_attend():
    """rasbt/LLMs-from-scratch#1061, pytorch/pytorch!170415, lucidrains/x-transformers#164."""
    zeros = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    _, weights = scaled_dot_product_attention(zeros, zeros, wave(1, 1, 4, 4), causal_mask(4))
    right = [[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [1 / 4, 1 / 4, 1 / 4, 1 / 4]]
    close(weights[0, 0], torch.tensor(right, dtype=torch.float64))


def test_m2_a_float_mask_of_0_and_1_is_refused():
    """pytorch/pytorch#21518: added to the scores, it would leave the hidden key a weight of 0.2689."""
    x = torch.zeros(2, 2)
    with pytest.raises(TypeError, match="mask must be boolean"):
        scaled_dot_product_attention(x, x, x, torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
    _, weights = scaled_dot_product_attention(x, x, x, torch.tensor([[True, False], [True, True]]))
    assert weights.tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_m3_a_row_that_keeps_no_key_is_zero_with_finite_gradients():
    """pytorch/pytorch#41508, d2l-ai/d2l-en!2423."""
    query, key, value = (wave(1, 1, 3, 4, k=n).requires_grad_() for n in (1, 2, 3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    output.sum().backward()
    right, right_weights = right_attention(query, key, value, mask)
    gradients = reference.attention_gradients(*map(array, (query, key, value, mask)), array(torch.ones(1, 1, 3, 4)))
    assert (output[0, 0, 1] == 0).all() and (
        weights[0, 0, 1] == 0
    ).all()  # a fill of -1e9 would give the mean of the values
    close(output, right)
    close(weights, right_weights)
    for x, gradient in zip((query, key, value), gradients, strict=True):
        close(x.grad, gradient)
    close(F.scaled_dot_product_attention(query, key, value, attn_mask=mask), right)


def test_m4_padding_hides_keys_and_meets_the_causal_mask_by_and():
    """harvardnlp/annotated-transformer#137, jadore801120/…-pytorch#217, bentrevett/pytorch-seq2seq#119."""
    ids = torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
    mask = combine_masks(padding_mask(ids, 0), causal_mask(5))
    rows = ["".join(str(int(allowed)) for allowed in row) for row in mask[0, 0]]
    assert mask.shape == (2, 1, 5, 5)
    assert rows == ["10000", "11000", "11100", "11100", "11100"]  # a padding query still sees the real keys
    assert torch.equal(mask[1, 0], causal_mask(5))
    assert mask.any(-1).all()


def test_m5_the_mask_is_really_used():
    """opendilab/DI-engine#333: masked, and the result thrown away."""
    query, key, value = wave(2, 2, 3, 4, k=1), wave(2, 2, 5, 4, k=2), wave(2, 2, 5, 4, k=3)
    mask = torch.tensor([True, True, True, False, False]).expand(3, 5)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    other_key, other_value = key.clone(), value.clone()
    other_key[..., 3:, :], other_value[..., 3:, :] = 1e3, -1e3
    assert torch.equal(scaled_dot_product_attention(query, other_key, other_value, mask)[0], output)
    close(output, right_attention(query, key[..., :3, :], value[..., :3, :])[0])
    assert (output - right_attention(query, key, value)[0]).abs().max() > 1e-3


def test_m6_with_more_keys_than_queries_the_last_query_sees_all():
    """pytorch/pytorch#103082, #108108, #144858, lucidrains/x-transformers#187."""
    key, value = torch.zeros(1, 1, 5, 4, dtype=torch.float64), torch.arange(5.0, dtype=torch.float64).view(1, 1, 5, 1)
    for queries, right in ((1, [2.0]), (2, [1.5, 2.0])):
        output, _ = scaled_dot_product_attention(key[:, :, :queries], key, value, causal_mask(queries, 5))
        close(output.flatten(), torch.tensor(right))
    wrong = F.scaled_dot_product_attention(key[:, :, :1], key, value.expand(1, 1, 5, 4), is_causal=True)
    assert (wrong == 0).all()  # torch's own flag is aligned at the top left
    x = torch.zeros(1, 1, 3, 4, dtype=torch.float64)
    output, weights = scaled_dot_product_attention(x, x[:, :, :2], x[:, :, :2] + 1, causal_mask(3, 2))
    assert (output[0, 0, 0] == 0).all() and (weights[0, 0, 0] == 0).all()
    close(output[0, 0, 1:], torch.ones(2, 4))


# ------------------------------------------------------------------ shapes


def test_s1_more_keys_than_queries():
    """jessevig/bertviz#67, huggingface/transformers#11788: square weights assumed, or softmax over the queries."""
    query, key, value = wave(2, 2, 3, 4, k=1), wave(2, 2, 5, 4, k=2), wave(2, 2, 5, 4, k=3)
    output, weights = scaled_dot_product_attention(query, key, value)
    right, right_weights = right_attention(query, key, value)
    assert weights.shape == (2, 2, 3, 5)
    close(weights.sum(-1), torch.ones(2, 2, 3))
    close(output, right)
    close(weights, right_weights)
    over_queries = (query @ key.mT / 2).softmax(-2)
    assert (over_queries.sum(-1) - 1).abs().max() > 0.1


def test_s2_input_that_is_not_contiguous():
    """facebookresearch/fairseq#2598, NVIDIA/Megatron-LM#251."""
    module = MultiHeadAttention(8, 2).double()
    for x in (numbers(5, 2, 8).transpose(0, 1), numbers(2, 10, 8)[:, ::2], numbers(2, 5, 16)[..., ::2]):
        assert not x.is_contiguous()
        for need_weights in (False, True):
            close(module(x, need_weights=need_weights)[0], module(x.contiguous(), need_weights=need_weights)[0], 1e-14)


def test_s3_heads_are_cut_from_each_token():
    """reczoo/FuxiCTR#30, hyunwoongko/transformer#15: a bare view mixes tokens."""
    heads = split_heads(torch.arange(8.0).view(1, 2, 4), 2)
    assert heads.tolist() == [[[[0, 1], [4, 5]], [[2, 3], [6, 7]]]]


def test_s4_one_token_more_than_there_are_positions():
    """SamLynnEvans/Transformer#8, CUNY-CL/yoyodyne#40."""
    encoder = Encoder(TransformerConfig(7, 7, d_model=4, num_heads=1, num_encoder_layers=1, d_ff=3, max_len=4))
    assert encoder(torch.ones(2, 4, dtype=torch.long)).shape == (2, 4, 4)
    with pytest.raises(
        ValueError, match=r"sequence of 5 is longer than max_len 4 \(build the model with max_len >= 5\)"
    ):
        encoder(torch.ones(2, 5, dtype=torch.long))


def test_s5_positions_are_picked_by_place_and_not_by_sentence():
    """AkiRusProd/numpy-transformer#1, Lightning-AI/pytorch-lightning#19138."""
    out = PositionalEncoding(6, 4)(torch.zeros(9, 3, 6))  # more sentences than positions
    assert torch.equal(out[0], out[1]) and torch.equal(out[0], out[8])
    assert not torch.equal(out[:, 0], out[:, 1])


# ------------------------------------------------------------------ layers, embeddings, what is shown


def test_t5_layers_are_different_layers():
    """datawhalechina/learn-nlp-with-transformers#56, pytorch/pytorch#86274, harvardnlp/annotated-transformer#9."""
    encoder = Encoder(TransformerConfig(7, 7, d_model=4, num_heads=2, num_encoder_layers=3, d_ff=5))
    pointers = [{p.data_ptr() for p in layer.parameters()} for layer in encoder.layers]
    assert not pointers[0] & pointers[1] and not pointers[1] & pointers[2]
    assert not torch.equal(encoder.layers[0].self_attn.W_q.weight, encoder.layers[1].self_attn.W_q.weight)
    sizes = [sum(p.numel() for p in layer.parameters()) for layer in encoder.layers]
    assert sum(p.numel() for p in encoder.layers.parameters()) == 3 * sizes[0]


def test_t6_embeddings_are_scaled_before_positions_are_added():
    """harvardnlp/annotated-transformer#60, SamLynnEvans/Transformer#10, pytorch/tutorials#2849."""
    embedding, positions = TokenEmbedding(7, 16).double(), PositionalEncoding(16, 3).double()
    with torch.no_grad():
        embedding.weight.copy_(wave(7, 16, k=4))
    ids = torch.tensor([[3, 1, 6]])
    rows = wave(7, 16, k=4)[ids]
    close(positions(embedding(ids)), 4 * rows + torch.from_numpy(reference.sinusoid(range(3), 16)))
    bare = TokenEmbedding(7, 16, scale=False).double()
    bare.load_state_dict(embedding.state_dict())
    close(bare(ids), rows)  # positions, of size 1, would drown these


@pytest.mark.parametrize("keys", [1, 5])
def test_p5_weights_to_be_shown_are_those_before_dropout(keys):
    """pytorch/pytorch#42929, #90842: after dropout a weight of 1 is shown as 0 or 2."""
    module = MultiHeadAttention(4, 2, dropout=0.5).train()
    _, weights = module(torch.randn(3, 2, 4), torch.randn(3, keys, 4), need_weights=True)
    close(weights.sum(-1), torch.ones(3, 2, 2), 1e-6)
    if keys == 1:
        assert (weights == 1).all()


def test_d1_low_columns_are_the_high_frequencies():
    """Tongyun1/from-minimind-to-more#20: often told the other way round."""
    table = sinusoidal_encoding(100, 512, dtype=torch.float64)
    changes = (table[1:].sign() != table[:-1].sign()).sum(0)
    assert 30 <= changes[0] <= 33  # wavelength 2 pi: about 31 half turns in 100 positions
    assert changes[511] == 0  # wavelength about 60,611
    slow = sinusoidal_encoding(1, 512, start=15153, dtype=torch.float64)[0, 511]  # a quarter of it
    assert abs(slow) < 1e-3
