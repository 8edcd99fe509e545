"""The decoder against the reference and torch, and what must hold whatever the weights are."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor

from transformer_lab import TINY, Decoder, DecoderCache, DecoderLayer, KVCache, causal_mask, padding_mask

from . import model_reference
from .model_support import CONFIG, POSITIONS, B, S, T, names_of_torch, refusal, sources, targets, torch_decoder_layer
from .support import (
    DTYPES,
    array,
    close,
    gradients_of,
    numbers,
    parameters_of,
    randomise,
    some_mask,
    torch_func_is_slow,
)
from .test_encoder import LAYER_NAMES

H, D = CONFIG.num_heads, CONFIG.d_model
NAMES_OF_TORCH = names_of_torch(D, cross=True)
both_norms = pytest.mark.parametrize("norm_first", [False, True])


def decoder_of(seed: int = 0, dtype: torch.dtype = torch.float64, **changes) -> Decoder:
    return randomise(Decoder(replace(CONFIG, **changes)).to(dtype), seed)


def layer_of(seed: int = 0, **changes) -> DecoderLayer:
    return randomise(DecoderLayer(replace(CONFIG, **changes)).double(), seed)


def memory_of(dtype: torch.dtype = torch.float64) -> Tensor:
    return numbers(B, S, D, seed=5, dtype=dtype)


def source_mask() -> Tensor:
    return padding_mask(sources(), 0)


def target_mask() -> Tensor:
    """Hides some of the past, never a position from itself."""
    return some_mask(B, H, T, T, seed=2) | torch.eye(T, dtype=torch.bool)


# ------------------------------------------------------------------ exactness


@both_norms
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_layer_equals_torch_and_the_reference(activation, norm_first):
    config = replace(CONFIG, activation=activation, norm_first=norm_first, layer_norm_eps=0.01)
    layer, seen = randomise(DecoderLayer(config).double(), 1), target_mask()
    theirs = torch_decoder_layer(layer, config)
    blocked = ~(seen & causal_mask(T)).flatten(0, 1)  # torch's masks mean the opposite
    results = []
    for run in (
        lambda x, m: layer(x, m, source_mask(), seen),
        lambda x, m: theirs(x, m, tgt_mask=blocked, memory_key_padding_mask=~source_mask()[:, 0, 0]),
    ):
        x, memory = numbers(B, T, D).requires_grad_(), memory_of().requires_grad_()
        output = run(x, memory)
        (output * numbers(B, T, D, seed=1)).sum().backward()
        results.append((output, x.grad, memory.grad))
    for ours, oracle in zip(*results, strict=True):
        close(ours, oracle, 1e-11)
    found, oracle = gradients_of(layer), dict(theirs.named_parameters())
    for name, (other, rows) in NAMES_OF_TORCH.items():
        close(torch.from_numpy(found[name]), oracle[other].grad[rows], 1e-11)
    right, back = model_reference.decoder_layer(
        parameters_of(layer), array(numbers(B, T, D)), array(memory_of()), config, array(source_mask()), array(seen)
    )
    d_x, d_memory, gradients = back(array(numbers(B, T, D, seed=1)))
    for ours, expected in zip(results[0], (right, d_x, d_memory), strict=True):
        close(ours, expected, 1e-11)
    assert found.keys() == gradients.keys()
    for name, gradient in gradients.items():
        close(torch.from_numpy(found[name]), gradient, 1e-11)


def test_every_parameter_of_the_layer_is_compared_with_torch():
    layer = layer_of()
    assert set(NAMES_OF_TORCH) == set(layer.state_dict())
    assert len(NAMES_OF_TORCH) == 26


@both_norms
@pytest.mark.parametrize("position", POSITIONS)
def test_built_in_float32_then_doubled(position, norm_first):
    decoder = randomise(Decoder(replace(CONFIG, position=position, norm_first=norm_first, max_len=5001)))
    right, _ = model_reference.decoder(
        parameters_of(decoder), array(targets()), array(memory_of()), decoder.config, array(source_mask())
    )
    close(decoder.double()(targets(), memory_of(), source_mask()), right)


# ------------------------------------------------------------------ what must hold


@torch_func_is_slow
@both_norms
@pytest.mark.parametrize("masked", [False, True])
def test_causal_by_jacobian_through_the_whole_stack(norm_first, masked):
    """The article's mask and its attention together would show each position the future alone."""
    decoder = decoder_of(norm_first=norm_first)
    x = decoder.pos_encoding(decoder.embedding(targets())).detach()[:1]
    seen = target_mask()[:1] if masked else None

    def run(one):
        h = one[None]
        for layer in decoder.layers:
            h = layer(h, memory_of()[:1], source_mask()[:1], seen)
        return decoder.final_norm(h)[0]

    jacobian = torch.func.jacrev(run)(x[0]).abs().amax(dim=(1, 3))  # [output position, input position]
    assert (jacobian.triu(1) == 0).all()
    assert (jacobian.diagonal() > 0).all()
    if not masked:
        assert (jacobian[causal_mask(T)] > 0).all()
    close(run(x[0])[None], decoder(targets()[:1], memory_of()[:1], source_mask()[:1], seen), 1e-12)


@both_norms
def test_a_mask_cannot_show_the_future(norm_first):
    decoder, all_seen = decoder_of(norm_first=norm_first), torch.ones(T, T, dtype=torch.bool)
    close(decoder(targets(), memory_of(), None, all_seen), decoder(targets(), memory_of()), 1e-13)


@both_norms
def test_hidden_source_tokens_have_no_effect(norm_first):
    decoder, changed = decoder_of(norm_first=norm_first), memory_of()
    changed[0, 3:] = 1e3
    whole = decoder(targets(), memory_of(), source_mask())
    close(decoder(targets(), changed, source_mask()), whole, 1e-13)
    close(decoder(targets()[:1], memory_of()[:1, :3]), whole[:1], 1e-12)
    assert (decoder(targets(), changed) - decoder(targets(), memory_of()))[0].abs().max() > 1e-3


@both_norms
def test_tokens_of_the_target_after_the_padding_began_change_no_real_position(norm_first):
    decoder = decoder_of(norm_first=norm_first)
    alone = decoder(targets()[:, :4], memory_of())
    for pad in (0, 16):
        padded = targets()
        padded[:, 4:] = pad
        close(decoder(padded, memory_of())[:, :4], alone, 1e-12)
        close(decoder(padded, memory_of(), None, padding_mask(padded, pad))[:, :4], alone, 1e-12)


@both_norms
def test_a_sentence_alone_equals_the_sentence_in_a_batch(norm_first):
    for dtype, atol in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        decoder, memory = decoder_of(norm_first=norm_first, dtype=dtype), memory_of(dtype)
        together = decoder(targets(), memory, source_mask())
        for b in range(B):
            one = slice(b, b + 1)
            close(decoder(targets()[one], memory[one], source_mask()[one]), together[one], atol)


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_memory_and_both_masks_reach_every_layer(num_layers):
    decoder, seen = decoder_of(num_decoder_layers=num_layers), []
    for layer in decoder.layers:
        layer.register_forward_pre_hook(lambda _module, args: seen.append(args[1:4]))
    given = (memory_of(), source_mask(), target_mask())
    decoder(targets(), *given)
    assert len(seen) == num_layers
    assert all(mine is theirs for args in seen for mine, theirs in zip(args, given, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@both_norms
def test_a_source_of_nothing_but_padding_is_finite_and_harms_no_other(norm_first, dtype):
    decoder = decoder_of(norm_first=norm_first, dtype=dtype)
    mask = source_mask()
    mask[0] = False
    hidden = decoder(targets(), memory_of(dtype), mask)
    hidden.float().pow(2).sum().backward()
    assert hidden.isfinite().all()
    assert all(p.grad.isfinite().all() for p in decoder.parameters())
    alone = decoder(targets()[1:], memory_of(dtype)[1:], mask[1:])
    close(hidden[1:], alone, {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 0.1))


def test_every_parameter_learns_but_the_key_biases_and_unused_rows():
    for norm_first in (False, True):
        decoder = decoder_of(norm_first=norm_first, num_decoder_layers=3)
        (decoder(targets(), memory_of(), source_mask()) * numbers(B, T, D, seed=3)).sum().backward()
        for name, p in decoder.named_parameters():
            assert p.grad.isfinite().all(), name
            if name.endswith("W_k.bias"):
                assert p.grad.abs().max() < 1e-12, name  # it moves all scores of a query alike
            else:
                assert p.grad.abs().max() > 1e-6, name
        used = torch.zeros(CONFIG.tgt_vocab_size, dtype=torch.bool)
        used[targets().flatten()] = True
        assert torch.equal(decoder.embedding.weight.grad.abs().amax(1) > 0, used)


def test_layers_are_apart():
    torch.manual_seed(0)
    decoder = Decoder(replace(CONFIG, num_decoder_layers=3))
    pointers = [{p.data_ptr() for p in layer.parameters()} for layer in decoder.layers]
    assert len(set.union(*pointers)) == sum(map(len, pointers)) == 3 * 26
    first, second, _ = decoder.layers
    assert not torch.equal(first.self_attn.W_q.weight, second.self_attn.W_q.weight)
    assert not torch.equal(first.self_attn.W_q.weight, first.cross_attn.W_q.weight)


def test_dropout_in_training_only_and_where_the_paper_has_it():
    decoder = decoder_of(dropout=0.1)
    still = decoder.eval()(targets(), memory_of())
    close(still, decoder_of(dropout=0.0)(targets(), memory_of()), 1e-15)
    decoder.train()
    torch.manual_seed(0)
    first = decoder(targets(), memory_of())
    torch.manual_seed(0)
    assert torch.equal(decoder(targets(), memory_of()), first)
    assert not torch.allclose(first, still)
    dropped = [name for name, m in decoder.named_modules() if isinstance(m, torch.nn.Dropout) and m.p == 0.1]
    per_layer = [f"layers.{i}.add_norm{n}.dropout" for i in range(2) for n in (1, 2, 3)]
    assert sorted(dropped) == sorted(["pos_encoding.dropout", *per_layer])
    assert all(a.dropout == 0.0 for layer in decoder.layers for a in (layer.self_attn, layer.cross_attn))
    assert all(layer.ffn.dropout.p == 0.0 for layer in decoder.layers)


def test_scale_of_embeddings_is_a_switch():
    scaled, bare = decoder_of(), decoder_of(scale_embedding=False)
    with torch.no_grad():
        bare.embedding.weight.mul_(D**0.5)
    close(bare(targets(), memory_of()), scaled(targets(), memory_of()), 1e-13)


@both_norms
@pytest.mark.parametrize("position", POSITIONS)
def test_state_dict_has_exactly_the_names_of_the_contract(position, norm_first):
    decoder = Decoder(replace(CONFIG, position=position, norm_first=norm_first))
    names = [*LAYER_NAMES, *(name.replace("self_attn", "cross_attn") for name in LAYER_NAMES if "self_attn" in name)]
    names += ["add_norm3.norm.weight", "add_norm3.norm.bias"]
    expected = {"embedding.weight"} | {f"layers.{i}.{name}" for i in range(2) for name in names}
    expected |= {"pos_encoding.weight"} if position == "learned" else set()
    expected |= {"final_norm.weight", "final_norm.bias"} if norm_first else set()
    assert set(decoder.state_dict()) == expected == {name for name, _ in decoder.named_parameters()}


def test_tiny_is_built_as_written():
    decoder = Decoder(TINY)
    assert len(decoder.layers) == 1 and decoder.layers[0].cross_attn.num_heads == 2
    assert decoder(torch.ones(1, 64, dtype=torch.long), torch.zeros(1, 3, 8)).shape == (1, 64, 8)


# ------------------------------------------------------------------ misuse

MISUSES = {
    "a target without a batch axis": (
        lambda d: partial(d, targets()[0], memory_of()),
        ValueError,
        "tgt must be token ids of shape [batch, length], got (7,)",
    ),
    "a target of numbers": (
        lambda d: partial(d, torch.zeros(B, T), memory_of()),
        TypeError,
        "tgt must be token ids of dtype int64 or int32, got float32; convert with .long()",
    ),
    "an empty target": (
        lambda d: partial(d, torch.zeros(B, 0, dtype=torch.long), memory_of()),
        ValueError,
        "tgt is empty (shape (2, 0)); at least one token is needed",
    ),
    "an id out of range": (
        lambda d: partial(d, torch.tensor([[3, 17]]), memory_of()[:1]),
        ValueError,
        "token id 17 at [0, 1] is out of range for a vocabulary of 17",
    ),
    "a negative id": (
        lambda d: partial(d, torch.tensor([[3], [-1]]), memory_of()),
        ValueError,
        "token id -1 at [1, 0] is out of range for a vocabulary of 17",
    ),
    "a target that is too long": (
        lambda d: partial(d, targets(length=24), memory_of()),
        ValueError,
        "sequence of 24 is longer than max_len 23 (build the model with max_len >= 24)",
    ),
    "a memory without a batch axis": (
        lambda d: partial(d, targets(), memory_of()[0]),
        ValueError,
        "memory must be [batch, length, d_model=6], got (5, 6); add the batch axis with memory.unsqueeze(0)",
    ),
    "a memory of another width": (
        lambda d: partial(d, targets(), numbers(B, S, 5)),
        ValueError,
        "memory must have width d_model=6, got 5 (shape (2, 5, 5))",
    ),
    "a memory of another batch": (
        lambda d: partial(d, targets(3), memory_of()),
        ValueError,
        "tgt holds batch 3 but memory has batch 2",
    ),
    "a source mask of numbers": (
        lambda d: partial(d, targets(), memory_of(), source_mask().double()),
        TypeError,
        "mask must be boolean (True = may attend), got float64; a padding mask comes from padding_mask(ids, pad_id)",
    ),
    "a source mask of rank 2 meant as padding": (
        lambda d: partial(d, targets(), memory_of(), source_mask()[:, 0, 0]),
        ValueError,
        "mask of shape (2, 5) does not fit scores (batch 2, heads 3, queries 7, keys 5)",
    ),
    "the masks exchanged": (
        lambda d: partial(d, targets(), memory_of(), target_mask(), source_mask()),
        ValueError,
        "mask of shape (2, 3, 7, 7) does not fit scores (batch 2, heads 3, queries 7, keys 5)",
    ),
    "a target mask of another length": (
        lambda d: partial(d, targets(), memory_of(), None, causal_mask(6)),
        ValueError,
        "mask of shape (6, 6) does not fit scores (batch 2, heads 3, queries 7, keys 7)",
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_the_documented_words_before_anything_is_computed(name):
    call, error, words = MISUSES[name]
    said, computed = refusal(call(decoder_of()), error)
    assert words in said and computed == []


LAYER_MISUSES = {
    "x of another width": (
        lambda layer: partial(layer, numbers(B, T, 5), memory_of()),
        "x must have width d_model=6, got 5",
    ),
    "memory of another width": (
        lambda layer: partial(layer, numbers(B, T, D), numbers(B, S, 5)),
        "memory must have width",
    ),
    "memory of another batch": (
        lambda layer: partial(layer, numbers(3, T, D), memory_of()),
        "x holds batch 3 but memory has batch 2",
    ),
    "a source mask that does not fit": (
        lambda layer: partial(layer, numbers(B, T, D), memory_of(), causal_mask(T)),
        "mask of shape (7, 7) does not fit scores (batch 2, heads 3, queries 7, keys 5)",
    ),
    "a target mask that does not fit": (
        lambda layer: partial(layer, numbers(B, T, D), memory_of(), None, source_mask()),
        "mask of shape (2, 1, 1, 5) does not fit scores (batch 2, heads 3, queries 7, keys 7)",
    ),
}


@both_norms
@pytest.mark.parametrize("name", LAYER_MISUSES)
def test_misuse_of_a_layer_too(name, norm_first):
    call, words = LAYER_MISUSES[name]
    said, computed = refusal(call(layer_of(norm_first=norm_first)), ValueError)
    assert words in said and computed == []


def test_tokens_of_a_cache_made_by_hand_count_towards_the_length():
    decoder, options = decoder_of(), {"dtype": torch.float64}
    pairs = [(KVCache(B, H, 40, D // H, **options), KVCache(B, H, S, D // H, fixed=True, **options)) for _ in range(2)]
    cache = DecoderCache(pairs)
    with torch.no_grad():
        decoder(targets(length=20), memory_of(), cache=cache)
    said, computed = refusal(partial(decoder, targets(length=4), memory_of(), cache=cache), ValueError)
    assert said == "sequence of 24 is longer than max_len 23 (build the model with max_len >= 24)"
    assert computed == [] and cache.length == 20
    assert decoder(targets(length=3), memory_of(), cache=cache).shape == (B, 3, D)
