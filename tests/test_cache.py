"""The caches: decoding with one is recomputing without, at every step; and what does not fit is refused."""

import copy
import gc
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_lab import DecoderCache, KVCache, MultiHeadAttention, Transformer, causal_mask, padding_mask

from .model_figures import cached_gaps
from .model_reference import cached_bytes
from .model_support import (
    CONFIG,
    B,
    S,
    T,
    breaks_off,
    cache_of,
    model_of,
    refusal,
    sources,
    step_by_step,
    targets,
)
from .support import DTYPES, HALF_DTYPES, close, needs_cuda, numbers, randomise, seeds, some_mask, token_ids

H, D, N, V = CONFIG.num_heads, CONFIG.d_model, CONFIG.num_decoder_layers, CONFIG.tgt_vocab_size
D_K = CONFIG.d_k
both_norms = pytest.mark.parametrize("norm_first", [False, True])


def keys_and_values(length: int, seed: int = 0, batch: int = B, dtype: torch.dtype = torch.float64):
    return [numbers(batch, H, length, D_K, seed=10 * seed + i, dtype=dtype) for i in range(2)]


def growing(capacity: int = 5, **options) -> KVCache:
    return KVCache(B, H, capacity, D_K, **{"dtype": torch.float64, **options})


def lengths(cache: DecoderCache) -> list[int]:
    return [own.length for own, _ in cache.layers]


# ------------------------------------------------------------------ cached is full


@pytest.mark.parametrize(("dtype", "bar"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.slow
def test_cached_logits_equal_a_full_recomputation_at_every_prefix(dtype, bar):
    gaps = cached_gaps(dtype)
    assert gaps.cases >= 1000
    assert gaps.worst < bar, gaps


@settings(max_examples=40)
@given(
    seed=seeds,
    batch=st.integers(1, 4),
    s=st.integers(1, 8),
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    masked=st.booleans(),
)
def test_any_chunks_of_any_batch_with_any_source_mask(seed, batch, s, cuts, masked):
    model = model_of(seed % 50, norm_first=bool(seed % 2), max_len=30)
    src = token_ids(batch, s, vocab_size=CONFIG.src_vocab_size, seed=seed)
    tgt = token_ids(batch, sum(cuts), vocab_size=V, seed=seed + 1)
    mask = some_mask(batch, H, 1, s, seed=seed) if masked else None
    memory = model.encode(src, mask)
    cache = model.new_cache(memory, src_mask=mask, capacity=sum(cuts))
    close(step_by_step(model, tgt, memory, cache, tuple(cuts)), model(src, tgt, mask), 1e-11)
    assert cache.length == cache.capacity == sum(cuts)


@both_norms
def test_every_layer_holds_and_answers_what_the_full_pass_computes(norm_first):
    """Not only the logits: each layer's output, keys and values."""
    model, src, tgt = model_of(norm_first=norm_first), sources(), targets()
    seen, projected = [[] for _ in range(N)], [[] for _ in range(N)]
    for i, layer in enumerate(model.decoder.layers):
        layer.register_forward_hook(lambda _m, _a, out, i=i: seen[i].append(out))
        layer.self_attn.W_k.register_forward_hook(lambda _m, _a, out, i=i: projected[i].append(out))
    memory, cache = cache_of(model, src, T)
    full = model.decode(tgt, memory, src_mask=model.source_mask(src))
    steps = [model.decode(tgt[:, t : t + 1], memory, cache=cache) for t in range(T)]
    close(torch.cat(steps, dim=1), full, 1e-12)
    for i, (own, cross) in enumerate(cache.layers):
        close(torch.cat(seen[i][1:], dim=1), seen[i][0], 1e-12)
        close(own.keys.transpose(1, 2).flatten(2), projected[i][0], 1e-12)
        assert own.keys.shape == own.values.shape == (B, H, T, D_K)
        K, Values = model.decoder.layers[i].cross_attn.project(memory, memory)
        assert torch.equal(cross.keys, K) and torch.equal(cross.values, Values)


@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_cached_is_near_full_in_half_precision(dtype):
    model, src, tgt = model_of(dtype=dtype), sources(), targets()
    memory, cache = cache_of(model, src, T)
    close(step_by_step(model, tgt, memory, cache, (1,) * T), model(src, tgt), 0.02 if dtype == torch.float16 else 0.1)


@pytest.mark.parametrize("chunks", [(1,) * T, (T,), (3, 4), (4, 1, 2)])
def test_a_target_mask_counts_the_cached_tokens_too(chunks):
    model, src, tgt = model_of(), sources(), targets()
    seen = some_mask(B, H, T, T, seed=4) | torch.eye(T, dtype=torch.bool)
    memory, cache = cache_of(model, src, T)
    found, end = [], 0
    for part in tgt.split(list(chunks), dim=1):
        start, end = end, end + part.shape[1]
        mask = seen[:, :, start:end, :end]
        found.append(model.output(model.decode(part, memory, tgt_mask=mask, cache=cache)))
    close(torch.cat(found, dim=1), model(src, tgt, None, seen), 1e-12)


def test_padding_in_the_target_stays_hidden_in_later_steps():
    """Prompts of different lengths, padded on the left: positions are the caller's, what is hidden stays hidden."""
    model, src = model_of(position="none"), sources()[1:]
    real = targets(1, 4)
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.long), real], dim=1)
    mask = padding_mask(padded, 0)
    memory, cache = cache_of(model, src, T)
    first = model.decode(padded[:, :5], memory, tgt_mask=mask[..., :5], cache=cache)
    later = [model.decode(padded[:, t : t + 1], memory, tgt_mask=mask[..., : t + 1], cache=cache) for t in range(5, T)]
    close(torch.cat([first[:, 3:], *later], dim=1), model.decode(real, memory), 1e-12)


def test_the_first_step_alone_proves_nothing():
    """Cached steps that all say position 0 agree at the first token and at no later one."""
    model, src, tgt = model_of(), sources(), targets()
    memory, cache = cache_of(model, src, T)
    model.decoder.pos_encoding.register_forward_pre_hook(
        lambda _m, args, kwargs: (args, {"start": 0}), with_kwargs=True
    )
    wrong = step_by_step(model, tgt, memory, cache, (1,) * T)
    right = model(src, tgt)
    close(wrong[:, 0], right[:, 0], 1e-12)
    assert (wrong - right).abs().amax((0, 2))[1:].min() > 1e-3


def test_positions_are_absolute_and_end_at_max_len():
    model, src, tgt = model_of(max_len=T), sources(), targets()
    memory, cache = cache_of(model, src, T)
    starts = []
    model.decoder.pos_encoding.register_forward_pre_hook(
        lambda _m, _a, kwargs: starts.append(kwargs["start"]), with_kwargs=True
    )
    step_by_step(model, tgt, memory, cache, (3, 1, 1, 2))
    assert starts == [0, 3, 4, 5]
    said, computed = refusal(lambda: model.new_cache(memory, capacity=T + 1), ValueError)
    assert said == "sequence of 8 is longer than max_len 7 (build the model with max_len >= 8)" and computed == []
    assert model_of(position="none", max_len=3).new_cache(memory, capacity=40).capacity == 40


def test_the_mask_of_the_cache_is_used_and_another_can_be_given():
    model, src, tgt = model_of(), sources(), targets()
    memory, mask = model.encode(src), padding_mask(src, 0)
    right, blind = model.decode(tgt, memory, src_mask=mask), model.decode(tgt, memory)
    assert (right - blind).abs().max() > 1e-3
    keeps = model.new_cache(memory, src_mask=mask, capacity=T)
    forgets = model.new_cache(memory, capacity=T)
    close(model.decode(tgt, memory, cache=keeps), right, 1e-13)
    close(model.decode(tgt, memory, src_mask=mask, cache=forgets), right, 1e-13)
    keeps.crop(0)
    everything = torch.ones(B, 1, 1, S, dtype=torch.bool)
    close(model.decode(tgt, memory, src_mask=everything, cache=keeps), blind, 1e-13)


def test_memory_is_not_looked_at_again():
    model, src, tgt = model_of(), sources(), targets()
    memory, cache = cache_of(model, src, T)
    close(
        model.decode(tgt, torch.full_like(memory, 9.0), cache=cache),
        model.decode(tgt, memory, src_mask=cache.src_mask),
        1e-12,
    )


def test_gradients_pass_through_one_call_and_more_are_refused_by_torch():
    """A cache is written in place, so a second call spoils what the first one's gradient needs: an error, never a wrong sum."""
    model, src, tgt = model_of(), sources(), targets()
    model(src, tgt).pow(2).sum().backward()
    right = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    memory, cache = cache_of(model, src, T)
    step_by_step(model, tgt, memory, cache, (T,)).pow(2).sum().backward()
    for name, p in model.named_parameters():
        close(p.grad, right[name], 1e-11)
    memory, cache = cache_of(model, src, T)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        step_by_step(model, tgt, memory, cache, (3, 4)).pow(2).sum().backward()


# ------------------------------------------------------------------ attention with a cache


def attention(seed: int = 0, bias: bool = True) -> MultiHeadAttention:
    return randomise(MultiHeadAttention(D, H, bias=bias).double(), seed)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("chunks", [(1,) * T, (T,), (3, 1, 3), (2, 5)])
def test_causal_attention_with_a_growing_cache(chunks, need_weights):
    module, x = attention(), numbers(B, T, D)
    right, right_weights = module(x, mask=causal_mask(T), need_weights=True)
    cache, outputs, end = growing(capacity=T), [], 0
    for part in x.split(list(chunks), dim=1):
        output, weights = module(part, cache=cache, causal=True, need_weights=need_weights)
        outputs.append(output)
        start, end = end, end + part.shape[1]
        assert cache.length == end
        if need_weights:
            close(weights, right_weights[:, :, start:end, :end], 1e-13)
        else:
            assert weights is None
    close(torch.cat(outputs, dim=1), right, 1e-13)


@pytest.mark.parametrize("need_weights", [False, True])
def test_causal_flag_is_the_causal_mask(need_weights):
    module, x = attention(), numbers(B, T, D)
    mask = some_mask(B, 1, T, T, seed=1)
    close(module(x, causal=True, need_weights=need_weights)[0], module(x, mask=causal_mask(T))[0], 1e-13)
    with_mask = module(x, mask=mask, causal=True, need_weights=need_weights)[0]
    close(with_mask, module(x, mask=mask & causal_mask(T))[0], 1e-13)
    across = module(x, numbers(B, S, D, seed=2), causal=True, need_weights=need_weights)[0]
    close(across, module(x, numbers(B, S, D, seed=2), mask=causal_mask(T, S))[0], 1e-13)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_fixed_cache_is_filled_at_the_first_call(need_weights):
    module, memory = attention(), numbers(B, S, D, seed=3)
    cache = growing(capacity=S, fixed=True)
    calls = []
    for linear in (module.W_k, module.W_v):
        linear.register_forward_hook(lambda *_: calls.append(1))
    mask = some_mask(B, 1, 1, S, seed=1)
    for t in range(3):
        x = numbers(B, 1 + t, D, seed=t)
        found, _ = module(x, memory, mask=mask, cache=cache, need_weights=need_weights)
        assert len(calls) == 2 and cache.length == S
        right, _ = module(x, memory, mask=mask)
        del calls[2:]
        close(found, right, 1e-13)


# ------------------------------------------------------------------ one attention's cache


def test_append_writes_behind_and_returns_all_it_holds():
    cache, parts = growing(), [keys_and_values(n, seed=n) for n in (1, 3, 1)]
    for n, part in enumerate(parts, start=1):
        keys, values = cache.append(*part)
        for found, held, i in ((keys, cache.keys, 0), (values, cache.values, 1)):
            assert torch.equal(found, torch.cat([p[i] for p in parts[:n]], dim=2))
            assert torch.equal(found, held)
    assert cache.length == cache.capacity == 5
    assert cache.shape == (B, H, 5, D_K)


def test_no_memory_is_taken_and_nothing_is_copied_while_it_grows():
    cache = growing(capacity=5)
    start, nbytes = cache._keys.data_ptr(), cache.nbytes
    for t in range(5):
        keys, values = cache.append(*keys_and_values(1, seed=t))
        assert keys.data_ptr() == start and values.data_ptr() == cache._values.data_ptr()
        assert cache.nbytes == nbytes == 2 * B * H * 5 * D_K * 8


def test_crop_forgets_the_end_and_can_be_written_over():
    cache, first, second = growing(), keys_and_values(4), keys_and_values(3, seed=1)
    cache.append(*first)
    cache.crop(2)
    assert cache.length == 2 and torch.equal(cache.keys, first[0][:, :, :2])
    keys, values = cache.append(*second)
    assert torch.equal(keys, torch.cat([first[0][:, :, :2], second[0]], dim=2))
    assert torch.equal(values, torch.cat([first[1][:, :, :2], second[1]], dim=2))
    cache.crop(5)
    assert cache.length == 5
    cache.crop(0)
    assert cache.length == 0 and cache.keys.shape == (B, H, 0, D_K)


@pytest.mark.parametrize("index", [[1, 0], [0, 0], [1], [0, 1, 1, 0, 1]])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_reorder_moves_the_rows(index, dtype):
    cache, (keys, values) = growing(), keys_and_values(3)
    cache.append(keys, values)
    cache.reorder(torch.tensor(index, dtype=dtype))
    assert torch.equal(cache.keys, keys[index]) and torch.equal(cache.values, values[index])
    assert cache.length == 3 and cache.batch == len(index)
    more = keys_and_values(1, seed=2, batch=len(index))
    assert torch.equal(cache.append(*more)[0], torch.cat([keys[index], more[0]], dim=2))


@torch.no_grad()
def test_a_copy_lives_on_its_own():
    model, src, tgt = model_of(), sources(), targets()
    memory, cache = cache_of(model, src, T)
    model.decode(tgt[:, :3], memory, cache=cache)
    other = copy.deepcopy(cache)
    right = model.decode(tgt[:, 3:], memory, cache=cache)
    assert lengths(other) == [3] * N
    model.decode(tgt[:, 1:4], memory, cache=other)
    other.crop(3)
    close(model.decode(tgt[:, 3:], memory, cache=other), right, 1e-13)


# ------------------------------------------------------------------ the decoder's cache


def test_lengths_grow_and_the_source_stays():
    model, src, tgt = model_of(), sources(), targets()
    memory, cache = cache_of(model, src, T)
    calls = []
    for layer in model.decoder.layers:
        for linear in (layer.cross_attn.W_k, layer.cross_attn.W_v):
            linear.register_forward_hook(lambda *_: calls.append(1))
    for t in range(T):
        model.decode(tgt[:, t : t + 1], memory, cache=cache)
        assert cache.length == t + 1 and lengths(cache) == [t + 1] * N
        assert [cross.length for _, cross in cache.layers] == [S] * N
    assert calls == []  # new_cache had projected the source, once
    model.new_cache(memory, capacity=T)
    assert len(calls) == 2 * N


def test_a_cache_of_one_layer_tells_its_sizes():
    _, cache = cache_of(model_of(num_decoder_layers=1), sources(), T)
    assert (cache.batch, cache.capacity, cache.length) == (B, T, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("capacity", [1, T])
def test_bytes_are_those_of_the_formula(dtype, capacity):
    _, cache = cache_of(model_of(dtype=dtype), sources(), capacity)
    size = torch.finfo(dtype).bits // 8
    assert cache.nbytes == cached_bytes(CONFIG, B, capacity, S, size) == 2 * N * B * (capacity + S) * D * size
    tensors = [t for pair in cache.layers for one in pair for t in (one._keys, one._values)]
    assert cache.nbytes == sum(t.untyped_storage().nbytes() for t in tensors)  # nothing more is kept alive


@both_norms
def test_reorder_across_sentences_moves_sources_masks_and_targets(norm_first):
    model, src, tgt = model_of(norm_first=norm_first), sources(), targets()
    memory, cache = cache_of(model, src, T)
    model.decode(tgt[:, :4], memory, cache=cache)
    for index in (torch.tensor([1, 0]), torch.tensor([0, 0, 1])):
        cache.reorder(index)
        src, tgt, memory = src[index], tgt[index], memory[index]
        found = model.output(model.decode(tgt[:, 4:5], memory, cache=cache))
        close(found, model(src, tgt[:, :5])[:, 4:], 1e-12)
        cache.crop(4)
    assert cache.batch == 3 and cache.src_mask.shape == (3, 1, 1, S)


def test_reorder_of_beams_moves_targets_and_leaves_sources_in_place():
    model, tgt = model_of(), targets(4)
    src = sources().repeat_interleave(2, dim=0)
    memory, cache = cache_of(model, src, T)
    model.decode(tgt[:, :4], memory, cache=cache)
    held = [(own._keys.data_ptr(), cross._keys.data_ptr()) for own, cross in cache.layers]
    index = torch.tensor([1, 1, 2, 2])
    cache.reorder(index, same_source=True)
    for (own, cross), (own_before, cross_before) in zip(cache.layers, held, strict=True):
        assert own._keys.data_ptr() != own_before and cross._keys.data_ptr() == cross_before
    found = model.output(model.decode(tgt[:, 4:5], memory, cache=cache))
    moved = torch.cat([tgt[index, :4], tgt[:, 4:5]], dim=1)
    right = model(src, moved)[:, 4:]
    close(found, right, 1e-12)
    assert (model(src, tgt[:, :5])[:, 4:] - right).abs().amax((1, 2))[
        [0, 3]
    ].min() > 1e-4  # left in place it would show


def test_a_mask_that_all_rows_share_is_not_reordered():
    model, memory = model_of(), model_of().encode(sources(padded=False))
    for mask in (None, torch.ones(1, 1, 1, S, dtype=torch.bool), torch.ones(H, 1, S, dtype=torch.bool)):
        cache = model.new_cache(memory, src_mask=mask, capacity=3)
        cache.reorder(torch.tensor([1, 1, 0]))
        assert cache.src_mask is mask
        assert model.decode(targets(3, 2), memory[[1, 1, 0]], cache=cache).shape == (3, 2, D)


@given(seed=seeds, keep=st.integers(0, 4))
def test_crop_then_another_continuation(seed, keep):
    model, src = model_of(seed % 50), sources()
    first, second = targets(seed=seed % 1000), targets(seed=seed % 1000 + 1)
    memory, cache = cache_of(model, src, T)
    model.decode(first[:, :4], memory, cache=cache)
    cache.crop(keep)
    assert cache.length == keep
    mixed = torch.cat([first[:, :keep], second[:, keep:]], dim=1)
    close(model.output(model.decode(second[:, keep:], memory, cache=cache)), model(src, mixed)[:, keep:], 1e-12)


@pytest.mark.parametrize("part", ["self_attn", "cross_attn", "ffn"])
@pytest.mark.parametrize("layer", range(N))
def test_after_a_step_that_broke_off_the_cache_is_refused_or_cropped(layer, part):
    model, src, tgt = model_of(), sources(), targets()
    memory, cache = cache_of(model, src, T)
    model.decode(tgt[:, :3], memory, cache=cache)
    with breaks_off(getattr(model.decoder.layers[layer], part)), pytest.raises(InterruptedError):
        model.decode(tgt[:, 3:4], memory, cache=cache)
    if len(set(lengths(cache))) > 1:
        said, computed = refusal(partial(model.decode, tgt[:, 3:4], memory, cache=cache), ValueError)
        assert said == (
            "cache layers hold different numbers of tokens ([3, 4]): a step broke off midway; go back with crop(3)"
        )
        assert computed == []
        with pytest.raises(ValueError, match="a step broke off midway"):
            _ = cache.length
    cache.crop(3)
    found = model.output(model.decode(tgt[:, 3:], memory, cache=cache))
    close(found, model(src, tgt)[:, 3:], 1e-12)


def test_a_cache_keeps_no_model_alive():
    model = model_of()
    memory, cache = cache_of(model, sources(), T)
    del model
    gc.collect()
    assert cache._owner() is None
    with pytest.raises(ValueError, match="cache was made for another model"):
        model_of().decode(targets(), memory, cache=cache)


def test_no_module_keeps_a_cache():
    model = model_of()
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    memory, cache = cache_of(model, sources(), T)
    model.decode(targets(), memory, cache=cache)
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before


# ------------------------------------------------------------------ misuse


def filled(length: int = 3) -> KVCache:
    cache = growing()
    cache.append(*keys_and_values(length))
    return cache


def fixed_and_filled() -> KVCache:
    cache = growing(capacity=S, fixed=True)
    cache.append(*keys_and_values(S))
    return cache


def bad_append(*pair, cache=growing):
    return lambda: partial(cache().append, *pair)


ONE, THREE = keys_and_values(1), keys_and_values(3)
ONE_CACHE = {
    "batch 0": (lambda: partial(KVCache, 0, H, 5, D_K), ValueError, "batch must be at least 1, got 0"),
    "capacity of 2.5": (
        lambda: partial(KVCache, B, H, 2.5, D_K),
        TypeError,
        "capacity must be an int, got float (2.5)",
    ),
    "another batch": (
        bad_append(*keys_and_values(1, batch=3)),
        ValueError,
        "cache holds batch 2 but the input has batch 3",
    ),
    "other heads": (
        bad_append(*(x[:, :1] for x in ONE)),
        ValueError,
        "cache holds 3 heads of width 2 but the input has 1 of width 2: it was made for another model",
    ),
    "another width": (
        bad_append(*(x[..., :1] for x in ONE)),
        ValueError,
        "cache holds 3 heads of width 2 but the input has 3 of width 1: it was made for another model",
    ),
    "another dtype": (
        bad_append(*(x.float() for x in ONE)),
        ValueError,
        "cache holds torch.float64 on cpu but the input is torch.float32 on cpu; make the cache after moving the model",
    ),
    "another device": (
        bad_append(*(x.to("meta") for x in ONE)),
        ValueError,
        "cache holds torch.float64 on cpu but the input is torch.float64 on meta",
    ),
    "no batch": (
        bad_append(*(x[0] for x in ONE)),
        ValueError,
        "keys and values must be [B, h, T, d_k], got (3, 1, 2)",
    ),
    "keys and values of different length": (
        bad_append(ONE[0], THREE[1]),
        ValueError,
        "keys and values must be alike, got (2, 3, 1, 2) and (2, 3, 3, 2)",
    ),
    "keys and values of different dtype": (bad_append(ONE[0], ONE[1].float()), ValueError, "must be alike"),
    "a full one": (
        bad_append(*THREE, cache=filled),
        ValueError,
        "cache is full: it holds 3 of 5 tokens and 3 more came (make it with capacity >= 6)",
    ),
    "a fixed one that is filled": (
        bad_append(*ONE, cache=fixed_and_filled),
        ValueError,
        "this cache is fixed and already filled; crop(0) empties it",
    ),
    "crop to more than it holds": (lambda: partial(filled().crop, 4), ValueError, "can crop to 0..3 tokens, got 4"),
    "crop to less than nothing": (lambda: partial(filled().crop, -1), ValueError, "can crop to 0..3 tokens, got -1"),
    "crop to half a token": (lambda: partial(filled().crop, 0.5), ValueError, "can crop to 0..3 tokens, got 0.5"),
    "reorder by a list": (
        lambda: partial(filled().reorder, [1, 0]),
        TypeError,
        "index must be a tensor of whole numbers, got list",
    ),
    "reorder by a mask": (
        lambda: partial(filled().reorder, torch.tensor([True, False])),
        TypeError,
        "index must be a tensor of whole numbers, got torch.bool",
    ),
    "reorder by a table": (
        lambda: partial(filled().reorder, torch.tensor([[0, 1]])),
        ValueError,
        "index must be [rows], got (1, 2)",
    ),
    "reorder to nothing": (
        lambda: partial(filled().reorder, torch.tensor([], dtype=torch.long)),
        ValueError,
        "index must be [rows], got (0,)",
    ),
    "reorder outside the batch": (
        lambda: partial(filled().reorder, torch.tensor([0, 2])),
        ValueError,
        "index must name rows 0..1, got [0, 2]",
    ),
    "reorder from the end": (
        lambda: partial(filled().reorder, torch.tensor([0, -1])),
        ValueError,
        "index must name rows 0..1, got [0, -1]",
    ),
}


@pytest.mark.parametrize("name", ONE_CACHE)
def test_misuse_of_one_cache(name):
    prepare, error, words = ONE_CACHE[name]
    said, computed = refusal(prepare(), error)
    assert words in said and computed == []


def with_cache(**changes):
    """A call of `decode` in which one thing does not fit; by default the cache is new and fits the sources."""

    def prepare():
        model = changes.get("model", model_of)()
        src = changes.get("src", sources())
        memory = model.encode(src).detach()
        memory = changes.get("memory", lambda m: m)(memory)
        cache = changes.get("cache", lambda own: cache_of(own, sources(), 5)[1])(model)
        return partial(model.decode, changes.get("tgt", targets(len(src), 2)), memory, cache=cache)

    return prepare


def held(count: int, capacity: int = 5):
    def make(model):
        memory, cache = cache_of(model, sources(), capacity)
        model.decode(targets(B, count), memory, cache=cache)
        return cache

    return make


DECODER_CACHE = {
    "another batch": (
        with_cache(src=sources()[:1]),
        ValueError,
        "cache holds batch 2 but the input has batch 1",
    ),
    "another source length": (
        with_cache(src=token_ids(B, 4, vocab_size=19)),
        ValueError,
        "cache holds a source of 5 tokens but memory has 4",
    ),
    "another model": (
        with_cache(cache=lambda _: cache_of(model_of(), sources(), 5)[1]),
        ValueError,
        "cache was made for another model; make one with this model's new_cache(...)",
    ),
    "a copy of the model": (
        with_cache(cache=lambda model: cache_of(copy.deepcopy(model), sources(), 5)[1]),
        ValueError,
        "cache was made for another model",
    ),
    "a model that has moved to another dtype": (
        with_cache(cache=lambda model: cache_before_moving(model)),
        ValueError,
        "cache holds torch.float32 on cpu but the input is torch.float64 on cpu; make the cache after moving the model",
    ),
    "a full one": (
        with_cache(cache=held(5)),
        ValueError,
        "cache is full: it holds 5 of 5 tokens and 2 more came (make it with capacity >= 7)",
    ),
    "room for one of two": (with_cache(cache=held(4)), ValueError, "cache is full: it holds 4 of 5 tokens and 2 more"),
    "a target of another batch": (
        with_cache(tgt=targets(3, 2)),
        ValueError,
        "tgt holds batch 3 but memory has batch 2",
    ),
    "positions beyond max_len": (
        with_cache(model=lambda: model_of(max_len=6), cache=held(5, capacity=6)),
        ValueError,
        "cache is full: it holds 5 of 6 tokens and 2 more came",
    ),
}


def cache_before_moving(model: Transformer) -> DecoderCache:
    """A cache made while the model was float32; afterwards it is float64 again."""
    _, cache = cache_of(model.float(), sources(), 5)
    model.double()
    return cache


@pytest.mark.parametrize("name", DECODER_CACHE)
def test_a_cache_that_does_not_fit_is_refused_before_anything_is_computed(name):
    prepare, error, words = DECODER_CACHE[name]
    call = prepare()
    before = lengths(call.keywords["cache"])
    said, computed = refusal(call, error)
    assert words in said and computed == []
    assert lengths(call.keywords["cache"]) == before


def test_beams_cannot_be_multiplied_while_their_sources_stay():
    _, cache = cache_of(model_of(), sources(), T)
    for index in ([0, 0, 1], [1]):
        said, computed = refusal(partial(cache.reorder, torch.tensor(index), same_source=True), ValueError)
        assert f"index must name 2 rows, got {len(index)}" in said and computed == []
    assert cache.batch == B


def test_a_crop_that_one_layer_cannot_take_leaves_all_of_them_as_they_are():
    model = model_of()
    memory, cache = cache_of(model, sources(), T)
    model.decode(targets(B, 4), memory, cache=cache)
    cache.layers[1][0].crop(2)
    with pytest.raises(ValueError, match=r"can crop to 0\.\.2 tokens, got 3"):
        cache.crop(3)
    assert lengths(cache) == [4, 2]


@pytest.mark.parametrize("length", [-1, 4, 1.5])
def test_crop_of_a_decoders_cache_is_checked(length):
    model = model_of()
    memory, cache = cache_of(model, sources(), T)
    model.decode(targets(B, 3), memory, cache=cache)
    with pytest.raises(ValueError, match=r"can crop to 0\.\.3 tokens, got"):
        cache.crop(length)
    assert lengths(cache) == [3] * N


def test_new_cache_is_checked():
    model = model_of()
    memory = model.encode(sources()).detach()
    for call, error, words in (
        (partial(model.new_cache, memory[0], capacity=3), ValueError, "memory must be [batch, length, d_model=6]"),
        (partial(model.new_cache, memory.float(), capacity=3), TypeError, "memory is float32 but the model is float64"),
        (partial(model.new_cache, memory, capacity=0), ValueError, "capacity must be at least 1, got 0"),
        (partial(model.new_cache, memory, capacity=2.0), TypeError, "capacity must be an int, got float (2.0)"),
        (
            partial(model.new_cache, memory, src_mask=sources() != 0, capacity=3),
            ValueError,
            "mask of shape (2, 5) does not fit scores (batch 2, heads 3, queries 1, keys 5)",
        ),
        (
            partial(model.new_cache, memory, src_mask=padding_mask(sources(), 0).int(), capacity=3),
            TypeError,
            "mask must be boolean (True = may attend), got int32",
        ),
    ):
        said, computed = refusal(call, error)
        assert words in said and computed == []


def test_a_new_cache_stands_where_its_model_is():
    model = model_of().to("meta")
    cache = model.new_cache(torch.empty(B, S, D, dtype=torch.float64, device="meta"), capacity=T)
    assert all(one.keys.is_meta and one.values.is_meta for pair in cache.layers for one in pair)


def test_a_cache_made_under_autocast_fits_there_and_nowhere_else():
    model, src, tgt = model_of(dtype=torch.float32), sources(), targets()
    memory = model.encode(src)
    outside = model.new_cache(memory, src_mask=model.source_mask(src), capacity=T)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside_memory, inside = cache_of(model, src, T)
        assert inside.layers[0][0].keys.dtype == torch.bfloat16
        close(step_by_step(model, tgt, inside_memory, inside, (3, 1, 3)), model(src, tgt), 0.1)
        with pytest.raises(ValueError, match="cache holds torch.float32 on cpu but the input is torch.bfloat16"):
            model.decode(tgt, memory, cache=outside)
    assert lengths(outside) == [0] * N
    inside.crop(0)
    with pytest.raises(ValueError, match="cache holds torch.bfloat16 on cpu but the input is torch.float32"):
        model.decode(tgt, memory, cache=inside)


class TestCuda:
    pytestmark = needs_cuda

    @both_norms
    def test_cached_equals_full_and_the_cpu(self, norm_first):
        model, src, tgt = model_of(norm_first=norm_first), sources(), targets()
        right = model(src, tgt).detach()
        model.cuda()
        memory, cache = cache_of(model, src.cuda(), T)
        assert cache.layers[0][0].keys.is_cuda
        close(step_by_step(model, tgt.cuda(), memory, cache, (1, 3, 1, 2)), right, 1e-11)

    def test_a_cache_of_the_cpu_is_refused(self):
        model = model_of()
        _, cache = cache_of(model, sources(), T)
        model.cuda()
        with pytest.raises(
            ValueError, match="cache holds torch.float64 on cpu but the input is torch.float64 on cuda:0"
        ):
            model.decode(targets().cuda(), model.encode(sources().cuda()), cache=cache)
        with pytest.raises(ValueError, match="memory is on cpu but the model is on cuda:0"):
            model.decode(targets().cuda(), numbers(B, S, D))
