"""What decoding costs, in counts that do not depend on the machine: kernels, bytes, calls, products.

The size is small: d_model 128, 4 heads, 2 + 2 layers, d_ff 512, 4,000 words.
"""

from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from transformer_lab import Transformer, TransformerConfig
from transformer_lab.generation import beam_search, greedy_decode, sample

from .model_reference import cached_bytes, step_flops
from .model_support import cache_of
from .support import KernelRecorder, token_ids

SMALL = TransformerConfig(
    src_vocab_size=4000,
    tgt_vocab_size=4000,
    d_model=128,
    num_heads=4,
    num_encoder_layers=2,
    num_decoder_layers=2,
    d_ff=512,
    max_len=256,
)
N, S = SMALL.num_decoder_layers, 61


def small(**changes) -> Transformer:
    """The small model with random weights; it never ends a target."""
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**{**SMALL.to_dict(), **changes})).eval()
    with torch.no_grad():
        model.output_linear.bias[SMALL.eos_id] = -100.0
    return model


def source(batch: int = 1, padded: bool = False) -> Tensor:
    ids = token_ids(batch, S, vocab_size=4000)
    if padded:
        ids[0, S // 2 :] = SMALL.pad_id
    return ids


def kernels_of_one_step(search, model: Transformer, src: Tensor) -> Counter:
    """The kernels of a search of ten tokens without those of a search of nine."""
    counts = []
    for most in (9, 10):
        with KernelRecorder() as kernels:
            search(model, src, max_new_tokens=most)
        counts.append(Counter(kernels.names))
    assert not counts[0] - counts[1]
    return counts[1] - counts[0]


# ------------------------------------------------------------------ a cached step


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_cached_greedy_step_runs_at_most_100_kernels_and_joins_nothing(batch, norm_first):
    found = kernels_of_one_step(greedy_decode, small(norm_first=norm_first), source(batch))
    assert sum(found.values()) <= 100 + norm_first, found  # pre-LN has one norm more
    assert found["cat"] == 0 and found["stack"] == 0
    assert found["linear"] == 8 * N + 1  # self q, k, v, o; cross q, o; two of the feed-forward; the vocabulary
    assert found["scaled_dot_product_attention"] == 2 * N
    assert found["copy_"] == 2 * N + 1  # one slice of keys and of values per layer, and the new token
    assert "tril" not in found and "dropout" not in found


@pytest.mark.parametrize("batch", [2, 3])
def test_padding_in_the_source_costs_a_cached_step_nothing(batch):
    plain, padded = (kernels_of_one_step(greedy_decode, small(), source(batch, p)) for p in (False, True))
    assert padded == plain


def test_layers_cost_the_same_each():
    counts = [
        sum(kernels_of_one_step(greedy_decode, small(num_decoder_layers=n), source()).values()) for n in (1, 2, 4)
    ]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_more_source_and_more_history_cost_no_more_kernels():
    model, found = small(), []
    for most in (9, 39, 99):
        counts = []
        for n in (most, most + 1):
            with KernelRecorder() as kernels:
                greedy_decode(model, source(), max_new_tokens=n)
            counts.append(len(kernels.names))
        found.append(counts[1] - counts[0])
    assert len(set(found)) == 1


@pytest.mark.parametrize("batch", [1, 3])
def test_products_with_weights_of_one_step(batch):
    """Nothing of the source or of older tokens is multiplied again."""
    model = small()
    with torch.no_grad():
        memory, cache = cache_of(model, source(batch), 20)
        model.decode(token_ids(batch, 7, vocab_size=4000), memory, cache=cache)
        for _ in range(2):
            with FlopCounterMode(display=False) as counter:
                model.output(model.decode(token_ids(batch, 1, vocab_size=4000), memory, cache=cache))
            products = {str(op): n for op, n in counter.get_flop_counts()["Global"].items() if "mm" in str(op)}
            assert sum(products.values()) == step_flops(SMALL, batch)


# ------------------------------------------------------------------ a whole call

SEARCHES = {
    "greedy": greedy_decode,
    "sample": sample,
    "beams": lambda model, src, max_new_tokens: beam_search(model, src, num_beams=4, max_new_tokens=max_new_tokens),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("batch", [1, 3])
def test_source_encoded_once_and_only_the_last_position_goes_to_the_vocabulary(name, batch):
    model, calls, rows = small(), Counter(), []
    model.encoder.register_forward_hook(lambda *_: calls.update(["encoder"]))
    for layer in model.decoder.layers:
        for key in ("W_k", "W_v"):
            getattr(layer.cross_attn, key).register_forward_hook(lambda _m, _a, _o, key=key: calls.update([key]))
        layer.self_attn.W_k.register_forward_hook(lambda _m, args, _o: calls.update(["new tokens"] * args[0].shape[1]))
    model.output_linear.register_forward_hook(lambda _m, args, _o: rows.append(args[0].shape[:-1].numel()))
    SEARCHES[name](model, source(batch, padded=True), max_new_tokens=11)
    beams = 4 if name == "beams" else 1
    assert calls == {"encoder": 1, "W_k": N, "W_v": N, "new tokens": 11 * N}
    assert rows == [batch * beams] * 11


def test_without_a_cache_too_only_the_last_position_goes_to_the_vocabulary():
    model, rows, read = small(), [], []
    model.output_linear.register_forward_hook(lambda _m, args, _o: rows.append(tuple(args[0].shape)))
    model.decoder.register_forward_hook(lambda _m, args, _o: read.append(tuple(args[0].shape)))
    greedy_decode(model, source(3), max_new_tokens=5, use_cache=False)
    assert rows == [(3, 1, 128)] * 5
    assert read == [(3, t) for t in range(1, 6)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("batch", "capacity"), [(1, 1), (3, 20), (8, 256)])
def test_bytes_of_the_cache(dtype, batch, capacity):
    _, cache = cache_of(small().to(dtype), source(batch), capacity)
    size = torch.finfo(dtype).bits // 8
    assert cache.nbytes == cached_bytes(SMALL, batch, capacity, S, size) == 2 * N * batch * (capacity + S) * 128 * size


def test_a_greedy_call_takes_a_cache_for_the_tokens_it_may_write_and_no_more(monkeypatch):
    model, made = small(), []
    new_cache = model.new_cache
    monkeypatch.setattr(model, "new_cache", lambda *args, **kwargs: made.append(new_cache(*args, **kwargs)) or made[-1])
    greedy_decode(model, source(3), max_new_tokens=20)
    assert [cache.nbytes for cache in made] == [cached_bytes(SMALL, 3, 20, S, 4)]
    assert made[0].length == 20  # bos and all new tokens but the last, which nothing follows


# ------------------------------------------------------------------ no table of pairs


class LargestStorage(KernelRecorder):
    """Keeps the size of the largest memory that a kernel wrote its result to, and the shapes of all results."""

    def __init__(self) -> None:
        super().__init__()
        self.nbytes, self.shapes = 0, set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = super().__torch_dispatch__(func, types, args, kwargs)
        for x in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(x, Tensor):
                self.nbytes = max(self.nbytes, x.untyped_storage().nbytes())
                self.shapes.add(tuple(x.shape[-2:]))
        return result


def narrow() -> Transformer:
    """A model so narrow that a table of pairs of tokens is larger than anything else."""
    torch.manual_seed(0)
    return Transformer(TransformerConfig(11, 13, 8, 2, 2, 2, 8, max_len=256))


LONG_SOURCE, LONG_TARGET = 211, 199


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_no_table_of_pairs_of_tokens_is_built(padded, training):
    """Not even of booleans: fewer bytes than there are pairs, in the forward pass of training too."""
    model = narrow().train(training)
    src, tgt = token_ids(1, LONG_SOURCE, vocab_size=11), token_ids(1, LONG_TARGET, vocab_size=13)
    if padded:
        src[0, 100:] = 0
    with LargestStorage() as largest:
        logits = model(src, tgt)
    assert logits.requires_grad
    assert largest.nbytes < min(LONG_SOURCE, LONG_TARGET) ** 2
    if not padded:  # a padding mask is repeated over the queries without being copied
        pairs = {(a, b) for a in (LONG_SOURCE, LONG_TARGET) for b in (LONG_SOURCE, LONG_TARGET)}
        assert not largest.shapes & pairs


def test_the_recorder_notices_a_table_of_pairs():
    module = narrow().encoder.layers[0].self_attn
    with LargestStorage() as largest:
        module(torch.zeros(1, LONG_SOURCE, 8), need_weights=True)
    assert largest.nbytes >= LONG_SOURCE**2 and (LONG_SOURCE, LONG_SOURCE) in largest.shapes


@pytest.mark.parametrize("padded", [False, True])
def test_masks_that_reach_the_fused_kernel(monkeypatch, padded):
    """No mask where nothing is hidden, the causal flag where it is right, the source's padding as it is."""
    seen, kernel = [], F.scaled_dot_product_attention

    def note(Q, K, V, *, attn_mask, is_causal, dropout_p):
        seen.append((None if attn_mask is None else tuple(attn_mask.shape), is_causal))
        return kernel(Q, K, V, attn_mask=attn_mask, is_causal=is_causal, dropout_p=dropout_p)

    monkeypatch.setattr(F, "scaled_dot_product_attention", note)
    model, src = narrow(), token_ids(2, 7, vocab_size=11)
    if padded:
        src[0, 5:] = 0
    hides = (2, 1, 1, 7) if padded else None
    memory, cache = cache_of(model, src, 9)
    assert seen == [(hides, False)] * 2
    for length, own in ((5, (None, True)), (1, (None, False)), (2, ((2, 8), False)), (1, (None, False))):
        seen.clear()
        model.decode(token_ids(2, length, vocab_size=13), memory, cache=cache)
        assert seen == [own, (hides, False)] * 2
    seen.clear()
    model(src, token_ids(2, 5, vocab_size=13))
    assert seen == [(hides, False)] * 2 + [(None, True), (hides, False)] * 2
