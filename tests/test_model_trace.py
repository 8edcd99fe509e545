"""Traces and recordings of the whole model: the step tables of encoder and decoder, cached steps, every attention map."""

import inspect
import re
from dataclasses import replace

import pytest
import torch

from transformer_lab import DecoderLayer, KVCache, MultiHeadAttention, Transformer, causal_mask
from transformer_lab.generation import beam_search, greedy_decode
from transformer_lab.generation.steps import Steps
from transformer_lab.trace import ShapeTrace, TraceRow, record_attention, trace_shapes

from .model_support import CONFIG, TYINGS, B, S, T, cache_of, model_of, sources, targets
from .support import close, numbers, randomise

V_src, V_tgt, d_model, h, d_ff = (
    CONFIG.src_vocab_size,
    CONFIG.tgt_vocab_size,
    CONFIG.d_model,
    CONFIG.num_heads,
    CONFIG.d_ff,
)
PROJECTION, NORM = d_model * d_model + d_model, 2 * d_model  # W and b; gain and shift
ATTENTION, FFN = 4 * d_model**2 + 4 * d_model, 2 * d_model * d_ff + d_ff + d_model
SOURCE, TARGET = "[B, S, d_model]", "[B, T, d_model]"
MAPS = ["encoder.layers.0.self_attn"]
MAPS += [f"decoder.layers.{i}.{name}" for i in range(2) for name in ("self_attn", "cross_attn")]


def named(row: TraceRow) -> str:
    return "[" + ", ".join(row.symbols) + "]"


def short(trace: ShapeTrace) -> list[tuple]:
    """(step, named shape, parameters, path) of every row."""
    return [(row.operation, named(row), row.parameters, row.path) for row in trace]


def attention_steps(path: str, length: str, keys: str, queries: str = "T", masked: bool = True) -> list[tuple]:
    """The steps of one attention as the formula has them."""
    at, steps = "scaled_dot_product_attention: ", []
    for letter, W in ((queries, "W_q"), (length, "W_k"), (length, "W_v")):
        if letter:
            steps.append(("Linear", f"[B, {letter}, d_model]", PROJECTION, f"{path}.{W}"))
            steps.append(("split_heads: reshape", f"[B, {letter}, h, d_k]", 0, path))
            steps.append(("split_heads: transpose", f"[B, h, {letter}, d_k]", 0, path))
    if keys == "L":  # what a growing cache takes
        steps += [("append: write", f"[B, h, {length}, d_k]", 0, path)] * 2
    scores = f"[B, h, {queries}, {keys}]"
    hide = [(at + "masked_fill", scores, 0, path)] * masked
    return [
        *steps,
        (at + "divide", f"[B, h, {queries}, d_k]", 0, path),
        (at + "transpose", f"[B, h, d_k, {keys}]", 0, path),
        (at + "matmul", scores, 0, path),
        *hide,
        (at + "softmax", scores, 0, path),
        *hide,
        (at + "matmul", f"[B, h, {queries}, d_k]", 0, path),
        ("merge_heads: transpose", f"[B, {queries}, h, d_k]", 0, path),
        ("merge_heads: reshape", f"[B, {queries}, d_model]", 0, path),
        ("Linear", f"[B, {queries}, d_model]", PROJECTION, f"{path}.W_o"),
    ]


def add_norm_steps(path: str, shape: str) -> list[tuple]:
    return [("add", shape, 0, path), ("LayerNorm", shape, NORM, f"{path}.norm")]


def ffn_steps(path: str, shape: str) -> list[tuple]:
    wide = shape.replace("d_model", "d_ff")
    return [
        ("Linear", wide, d_model * d_ff + d_ff, f"{path}.linear1"),
        ("relu", wide, 0, path),
        ("Linear", shape, d_ff * d_model + d_model, f"{path}.linear2"),
    ]


def decoder_steps(i: int, *, cached: bool = False) -> list[tuple]:
    layer = f"decoder.layers.{i}"
    return [
        *attention_steps(f"{layer}.self_attn", "T", "L" if cached else "T"),
        *add_norm_steps(f"{layer}.add_norm1", TARGET),
        *attention_steps(f"{layer}.cross_attn", "" if cached else "S", "S"),
        *add_norm_steps(f"{layer}.add_norm2", TARGET),
        *ffn_steps(f"{layer}.ffn", TARGET),
        *add_norm_steps(f"{layer}.add_norm3", TARGET),
    ]


# ------------------------------------------------------------------ the tables of the article


def test_every_step_of_the_whole_model():
    trace = trace_shapes(model_of(), sources(), targets())
    layer = "encoder.layers.0"
    assert short(trace) == [
        ("TokenEmbedding", SOURCE, V_src * d_model, "encoder.embedding"),
        ("add", SOURCE, 0, "encoder.pos_encoding"),
        *attention_steps(f"{layer}.self_attn", "S", "S", "S"),
        *add_norm_steps(f"{layer}.add_norm1", SOURCE),
        *ffn_steps(f"{layer}.ffn", SOURCE),
        *add_norm_steps(f"{layer}.add_norm2", SOURCE),
        ("TokenEmbedding", TARGET, V_tgt * d_model, "decoder.embedding"),
        ("add", TARGET, 0, "decoder.pos_encoding"),
        *decoder_steps(0),
        *decoder_steps(1),
        ("Linear", "[B, T, V_tgt]", d_model * V_tgt + V_tgt, "output_linear"),
    ]
    d_k = d_model // h
    sizes = {
        "B": B,
        "T": T,
        "S": S,
        "V_src": V_src,
        "V_tgt": V_tgt,
        "d_model": d_model,
        "h": h,
        "d_ff": d_ff,
        "d_k": d_k,
    }
    assert trace.sizes == sizes
    numbers_of = {**sizes, "1": 1}
    assert all(row.output == tuple(numbers_of[name] for name in row.symbols) for row in trace)
    cross = [row for row in trace if "cross_attn" in row.path and row.operation.endswith("matmul")]
    assert [row.inputs for row in cross[:2]] == [((B, h, T, d_k), (B, h, d_k, S)), ((B, h, T, S), (B, h, S, d_k))]


OUTLINE = [  # the article's two tables, one row for a step of them
    ("TokenEmbedding", SOURCE, V_src * d_model, "encoder.embedding"),
    ("PositionalEncoding", SOURCE, 0, "encoder.pos_encoding"),
    ("MultiHeadAttention", SOURCE, ATTENTION, "encoder.layers.0.self_attn"),
    ("AddNorm", SOURCE, NORM, "encoder.layers.0.add_norm1"),
    ("FeedForward", SOURCE, FFN, "encoder.layers.0.ffn"),
    ("AddNorm", SOURCE, NORM, "encoder.layers.0.add_norm2"),
    ("2 × the same", SOURCE, 2 * (ATTENTION + FFN + 2 * NORM), "encoder.layers.1 … 2"),
    ("TokenEmbedding", TARGET, V_tgt * d_model, "decoder.embedding"),
    ("PositionalEncoding", TARGET, 0, "decoder.pos_encoding"),
    ("MultiHeadAttention", TARGET, ATTENTION, "decoder.layers.0.self_attn"),
    ("AddNorm", TARGET, NORM, "decoder.layers.0.add_norm1"),
    ("MultiHeadAttention", TARGET, ATTENTION, "decoder.layers.0.cross_attn"),
    ("AddNorm", TARGET, NORM, "decoder.layers.0.add_norm2"),
    ("FeedForward", TARGET, FFN, "decoder.layers.0.ffn"),
    ("AddNorm", TARGET, NORM, "decoder.layers.0.add_norm3"),
    ("the same", TARGET, 2 * ATTENTION + FFN + 3 * NORM, "decoder.layers.1"),
    ("Linear", "[B, T, V_tgt]", d_model * V_tgt + V_tgt, "output_linear"),
]


def test_the_outline_is_the_table_of_the_article():
    model = model_of(num_encoder_layers=3)
    table = trace_shapes(model, sources(), targets()).outline().folded()
    assert short(table) == OUTLINE
    inputs = {row.path: row.inputs for row in table}
    source, target = (B, S, d_model), (B, T, d_model)
    assert inputs["encoder.embedding"] == ((B, S),) and inputs["decoder.embedding"] == ((B, T),)
    assert inputs["decoder.layers.0.self_attn"] == (target,)
    assert inputs["decoder.layers.0.cross_attn"] == (target, source)  # queries from here, keys and values from there
    assert inputs["decoder.layers.0.add_norm2"] == (target, target)
    assert inputs["encoder.layers.1 … 2"] == (source,) and inputs["decoder.layers.1"] == (target,)


def test_outline_and_folding_in_either_order_and_as_often_as_one_likes():
    trace = trace_shapes(model_of(num_encoder_layers=3), sources(), targets())
    once, other = trace.outline().folded(), trace.folded().outline()
    assert short(once) == short(other) == short(once.folded().outline()) == OUTLINE
    assert trace.sizes == once.sizes == other.sizes
    layer = sum(row.path.startswith("encoder.layers.0.") for row in trace)
    other_layer = sum(row.path.startswith("decoder.layers.0.") for row in trace)
    assert len(trace.folded()) == len(trace) - 2 * layer - other_layer + 2


def test_layers_that_differ_are_not_folded():
    model = model_of(num_encoder_layers=4)
    model.encoder.layers[2].ffn.linear1.bias = None  # one layer is not like the others
    paths = [row.path for row in trace_shapes(model, sources(), targets()).outline().folded()]
    assert [path for path in paths if path.startswith("encoder.layers") and ".add_norm1" in path] == [
        "encoder.layers.0.add_norm1",
        "encoder.layers.2.add_norm1",
        "encoder.layers.3.add_norm1",
    ]
    assert paths.count("encoder.layers.1") == 1


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_of_one_module_are_counted_once_and_named(norm_first):
    model = model_of(norm_first=norm_first, num_encoder_layers=2)
    model.encoder.layers[1].ffn.linear2 = model.encoder.layers[0].ffn.linear1.__class__(d_ff, d_model).double()
    model.encoder.layers[1].ffn.linear2.weight = model.encoder.layers[0].ffn.linear2.weight
    trace = trace_shapes(model, sources(), targets())
    shared = [row for row in trace if "tied" in row.operation]
    assert [(row.operation, row.path, row.parameters) for row in shared] == [
        ("Linear (tied to encoder.layers.0.ffn.linear2)", "encoder.layers.1.ffn.linear2", d_model)
    ]
    assert trace.parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("output_bias", [True, False])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("tying", TYINGS)
def test_parameters_add_up_to_those_of_the_formula(tying, norm_first, output_bias, position):
    model = model_of(
        tie_embeddings=tying, norm_first=norm_first, output_bias=output_bias, position=position, num_encoder_layers=2
    )
    V = model.config.src_vocab_size
    tables = {"none": V + 2 * V_tgt, "output": V + V_tgt, "all": V_tgt}[tying] * d_model
    layers = 2 * (ATTENTION + FFN + 2 * NORM) + 2 * (2 * ATTENTION + FFN + 3 * NORM)
    rest = output_bias * V_tgt + norm_first * 2 * NORM + (position == "learned") * 2 * CONFIG.max_len * d_model
    trace = trace_shapes(model, sources().clamp(max=V - 1), targets())
    for table in (trace, trace.outline(), trace.folded(), trace.outline().folded()):
        assert table.parameters == sum(row.parameters for row in table) == tables + layers + rest
    assert trace.parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("tying", TYINGS)
def test_a_tied_table_says_so(tying):
    model = model_of(tie_embeddings=tying)
    rows = {row.path: row for row in trace_shapes(model, sources().clamp(max=V_tgt - 1), targets())}
    found = [rows[path].operation for path in ("encoder.embedding", "decoder.embedding", "output_linear")]
    assert (
        found
        == {
            "none": ["TokenEmbedding", "TokenEmbedding", "Linear"],
            "output": ["TokenEmbedding", "TokenEmbedding", "Linear (tied to decoder.embedding)"],
            "all": [
                "TokenEmbedding",
                "TokenEmbedding (tied to encoder.embedding)",
                "Linear (tied to encoder.embedding)",
            ],
        }[tying]
    )
    assert rows["output_linear"].symbols[-1] == ("V" if tying == "all" else "V_tgt")
    assert rows["output_linear"].parameters == V_tgt + (tying == "none") * V_tgt * d_model


def test_text_markdown_and_html_of_the_whole_model():
    table = trace_shapes(model_of(num_encoder_layers=3), sources(), targets()).outline().folded()
    text, markdown, html = repr(table), table.to_markdown(), table._repr_html_()
    assert len(text.splitlines()) == len(OUTLINE) + 3 and max(map(len, text.splitlines())) <= 120
    assert text.splitlines()[-1].startswith("B=2  T=7  S=5  V_src=19  V_tgt=17  d_model=6  h=3  d_ff=11  d_k=2")
    cross = next(line for line in markdown.splitlines() if "cross" in line)
    assert cross == (
        "| MultiHeadAttention | [2, 7, 6] × [2, 5, 6] | [2, 7, 6] | [B, T, d\\_model] | 168 | decoder.layers.0.cross\\_attn |"
    )
    assert len(re.findall("<tr>", html)) == len(OUTLINE) + 1 and "encoder.layers.1 … 2" in html


# ------------------------------------------------------------------ parts, methods, cached steps


def test_encoder_and_decoder_alone_have_the_rows_they_have_in_the_model():
    model = model_of()
    whole = short(trace_shapes(model, sources(), targets()))
    memory, mask = model.encode(sources()), model.source_mask(sources())
    encoder = short(trace_shapes(model.encoder, sources(), mask))
    decoder = trace_shapes(model.decoder, targets(), memory, mask)
    assert [(*row[:3], f"encoder.{row[3]}") for row in encoder] == [
        row for row in whole if row[3].startswith("encoder")
    ]
    assert [(*row[:3], f"decoder.{row[3]}") for row in short(decoder)] == [
        row for row in whole if row[3].startswith("decoder")
    ]
    assert decoder.sizes["V"] == V_tgt and "V_src" not in decoder.sizes
    layer = trace_shapes(model.decoder.layers[1], numbers(B, T, d_model), memory, mask)
    assert [(*row[:3], f"decoder.layers.1.{row[3]}") for row in short(layer)] == decoder_steps(1)


def test_methods_of_a_model_are_traced_as_it_is():
    model = model_of()
    whole = short(trace_shapes(model, sources(), targets()))
    memory, mask = model.encode(sources()), model.source_mask(sources())
    parts = [
        trace_shapes(model.encode, sources()),
        trace_shapes(model.decode, targets(), memory, src_mask=mask),
        trace_shapes(model.output, numbers(B, T, d_model), symbols={"S": S, "T": T}),
    ]
    assert [row for part in parts for row in short(part)] == whole
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_cached_step_has_one_query_and_all_keys_held():
    model, tgt = model_of(), targets(length=9)
    memory, cache = cache_of(model, sources(), capacity=9)
    model.decode(tgt[:, :8], memory, cache=cache)
    trace = trace_shapes(model.decode, tgt[:, 8:], memory, cache=cache)
    assert short(trace) == [
        ("TokenEmbedding", TARGET, V_tgt * d_model, "decoder.embedding"),
        ("add", TARGET, 0, "decoder.pos_encoding"),
        *decoder_steps(0, cached=True),
        *decoder_steps(1, cached=True),
    ]
    assert trace.sizes["T"] == 1 and trace.sizes["L"] == 9 and trace.sizes["S"] == S
    scores = [row.output for row in trace if row.operation.endswith("softmax")]
    assert scores == [(B, h, 1, 9), (B, h, 1, S)] * 2
    assert trace.parameters == V_tgt * d_model + 2 * (
        ATTENTION + 2 * PROJECTION + FFN + 3 * NORM
    )  # no W_k, W_v of memory


@pytest.mark.parametrize("chunk", [1, 4])
def test_a_traced_step_is_the_step_itself(chunk):
    model, tgt = model_of().train(), targets(length=12)
    new, mask = tgt[:, 8 : 8 + chunk], model.source_mask(sources())
    memory, cache = cache_of(model, sources(), capacity=12)
    with torch.no_grad():
        model.decode(tgt[:, :8], memory, cache=cache)
        trace_shapes(model.decode, new, memory, cache=cache)
        held = [(growing.keys.clone(), growing.values.clone()) for growing, _ in cache.layers]
        assert cache.length == 8 + chunk and model.training
        cache.crop(8)
        whole = model.decode(tgt[:, : 8 + chunk], memory, src_mask=mask)
        close(model.decode(new, memory, cache=cache), whole[:, 8:], 1e-12)
    for (keys, values), (growing, _) in zip(held, cache.layers, strict=True):
        close(keys, growing.keys, 1e-12)
        close(values, growing.values, 1e-12)


def test_prefill_is_a_pass_without_history():
    model = model_of()
    memory, cache = cache_of(model, sources(), capacity=9)
    trace = trace_shapes(model.decode, targets(), memory, cache=cache)
    scores = [named(row) for row in trace if row.operation.endswith("softmax")]
    assert scores == ["[B, h, T, T]", "[B, h, T, S]"] * 2 and "L" not in trace.sizes
    assert sum(row.operation == "append: write" for row in trace) == 2 * 2


def test_a_layer_and_an_attention_with_caches_of_their_own():
    layer = randomise(DecoderLayer(CONFIG).double())
    memory, x = numbers(B, S, d_model), numbers(B, T, d_model, seed=1)
    caches = [KVCache(B, h, n, d_model // h, fixed=fixed, dtype=torch.float64) for n, fixed in ((13, False), (S, True))]
    layer(x, memory, cache=tuple(caches))
    trace = trace_shapes(layer, x[:, :1], memory, cache=tuple(caches))
    assert [named(row) for row in trace if row.operation.endswith("softmax")] == ["[B, h, T, L]", "[B, h, T, S]"]
    assert trace.sizes["L"] == T + 1
    caches[0].crop(0)  # what the fixed one holds is the source and no history
    trace = trace_shapes(layer, x, memory, cache=tuple(caches))
    assert [named(row) for row in trace if row.operation.endswith("softmax")] == ["[B, h, T, T]", "[B, h, T, S]"]
    trace = trace_shapes(layer.cross_attn, x, memory, cache=caches[1])
    assert trace.sizes == {"B": B, "T": T, "S": S, "d_model": d_model, "h": h, "d_k": d_model // h}
    caches[0].crop(4)
    trace = trace_shapes(layer.self_attn, x[:, :1], cache=caches[0], causal=True)
    assert [named(row) for row in trace if row.operation.endswith("softmax")] == ["[B, h, T, L]"]
    assert trace.sizes == {"B": B, "T": 1, "L": 5, "d_model": d_model, "h": h, "d_k": d_model // h}


def test_a_function_that_is_given_a_model_shows_its_steps():
    model, tgt = model_of(), targets(length=9)
    memory, cache = cache_of(model, sources(), capacity=9)
    model.decode(tgt[:, :8], memory, cache=cache)

    def scores(model, tgt, memory, cache):
        return model.output(model.decode(tgt, memory, cache=cache))

    def from_both(model, src, tgt, memory):
        return model.decode(tgt, memory, src_mask=model.source_mask(src))

    assert trace_shapes(from_both, model, sources(), targets(), memory).sizes.items() >= {"S": S, "T": T}.items()
    trace = trace_shapes(scores, model, tgt[:, 8:], memory, cache)
    assert trace.rows[-1].path == "output_linear" and trace.rows[-1].symbols == ("B", "T", "V_tgt")
    assert trace.sizes["L"] == 9 and not any(module._forward_hooks for module in model.modules())


def test_a_search_can_be_traced_and_no_parameter_is_counted_twice():
    model = model_of()
    trace = trace_shapes(greedy_decode, model, sources(), max_new_tokens=3)
    assert trace.parameters == sum(p.numel() for p in model.parameters())
    assert [row.operation for row in trace].count("TokenEmbedding") == 1 + (
        greedy_decode(model, sources(), max_new_tokens=3).shape[1] - 1
    )


def test_one_head_and_one_query_leave_the_ones_without_a_name():
    model = model_of(num_heads=1)
    memory, cache = cache_of(model, sources(), capacity=9)
    model.decode(targets(length=7), memory, cache=cache)
    trace = trace_shapes(model.decode, targets(length=1), memory, cache=cache)
    assert [named(row) for row in trace if row.operation.endswith("softmax")] == ["[B, 1, 1, L]", "[B, 1, 1, S]"] * 2


# ------------------------------------------------------------------ sizes that coincide


@pytest.mark.parametrize(
    ("src", "tgt", "words"),
    [
        (5, 5, "T and S are both 5, so a shape could not say which is which; trace with inputs of another size"),
        (5, 6, "T and d_model are both 6, .*; trace with inputs of another size"),
        (11, 7, "S and d_ff are both 11, .*; trace with inputs of another size"),
        (17, 7, "S and V_tgt are both 17, .*; trace with inputs of another size"),
    ],
)
def test_lengths_that_coincide_are_refused_with_a_way_out(src, tgt, words):
    model = model_of()
    with pytest.raises(ValueError, match=words):
        trace_shapes(model, torch.ones(B, src, dtype=torch.long), targets(length=tgt))
    assert not any(module._forward_hooks or module.training is False for module in model.modules())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"d_model": 9}, "h and d_k are both 3, .*; trace a model whose sizes all differ"),
        ({"d_ff": 6}, "d_model and d_ff are both 6, .*; trace a model whose sizes all differ"),
        ({"src_vocab_size": 11}, "V_src and d_ff are both 11, .*; trace a model whose sizes all differ"),
    ],
)
def test_sizes_of_the_model_that_coincide_are_refused_with_another_way_out(changes, words):
    with pytest.raises(ValueError, match=words):
        trace_shapes(Transformer(replace(CONFIG, **changes)), sources(), targets())


def test_a_cached_step_whose_history_is_as_long_as_the_source_is_refused():
    model = model_of()
    memory, cache = cache_of(model, sources(), capacity=9)
    model.decode(targets(length=S - 1), memory, cache=cache)
    with pytest.raises(ValueError, match="S and L are both 5, .*; trace with inputs of another size"):
        trace_shapes(model.decode, targets(length=1), memory, cache=cache)
    assert cache.length == S - 1


def test_a_sequence_too_long_is_refused_by_the_model_and_leaves_no_hook():
    model = model_of()
    with pytest.raises(ValueError, match="sequence of 24 is longer than max_len 23"):
        trace_shapes(model, sources(), targets(length=24))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


# ------------------------------------------------------------------ every attention map


@torch.no_grad()
def full_maps(model: Transformer, src: torch.Tensor, tgt: torch.Tensor) -> dict[str, torch.Tensor]:
    """The maps of one pass, computed by hand from the parts of the model."""
    mask, found = model.source_mask(src), {}
    x = model.encoder.pos_encoding(model.encoder.embedding(src))
    for i, layer in enumerate(model.encoder.layers):
        found[f"encoder.layers.{i}.self_attn"] = layer.self_attn(
            layer.add_norm1.enter(x), mask=mask, need_weights=True
        )[1]
        x = layer(x, mask)
    memory, future = model.encoder.final_norm(x), causal_mask(tgt.shape[1])
    y = model.decoder.pos_encoding(model.decoder.embedding(tgt))
    for i, layer in enumerate(model.decoder.layers):
        attended, own = layer.self_attn(layer.add_norm1.enter(y), mask=future, need_weights=True)
        z = layer.add_norm1(y, attended)
        _, cross = layer.cross_attn(layer.add_norm2.enter(z), memory, mask=mask, need_weights=True)
        found |= {f"decoder.layers.{i}.self_attn": own, f"decoder.layers.{i}.cross_attn": cross}
        y = layer(y, memory, mask)
    return found


@pytest.mark.parametrize("norm_first", [False, True])
def test_every_map_of_a_pass_by_the_path_of_its_module(norm_first):
    model = model_of(norm_first=norm_first)
    right = model(sources(), targets())
    with record_attention(model) as maps:
        logits = model(sources(), targets())
    close(logits, right, 1e-12)
    assert list(maps) == MAPS
    expected = full_maps(model, sources(), targets())
    for path, (weights,) in maps.items():
        close(weights, expected[path], 1e-12)
        assert weights.shape == (
            B,
            h,
            S if "encoder" in path else T,
            S if "decoder" not in path or "cross" in path else T,
        )
        assert not weights.requires_grad
        close(weights.sum(-1), torch.ones(weights.shape[:-1]), 1e-12)
        if path.startswith("decoder") and "self" in path:
            assert weights.triu(1).eq(0).all() and weights.tril().gt(0).sum() == B * h * T * (T + 1) // 2
        else:
            assert weights[0, :, :, 3:].eq(0).all() and weights[0, :, :, :3].gt(0).all()  # padding of the source


@pytest.mark.parametrize("chunks", [(1,) * T, (T,), (4, 1, 2), (3, 1, 1, 2)])
@pytest.mark.parametrize("norm_first", [False, True])
def test_maps_of_prefill_and_steps_are_the_rows_of_the_full_pass(norm_first, chunks):
    model, tgt = model_of(norm_first=norm_first), targets()
    memory, cache = cache_of(model, sources(), capacity=T)
    expected = full_maps(model, sources(), tgt)
    with record_attention(model) as maps:
        for part in tgt.split(list(chunks), dim=1):
            model.decode(part, memory, cache=cache)
    assert list(maps) == MAPS[1:]  # the source was read before
    for path, calls in maps.items():
        assert len(calls) == len(chunks)
        start = 0
        for weights, length in zip(calls, chunks, strict=True):
            end = start + length
            rows = expected[path][:, :, start:end]
            assert rows[..., end:].eq(0).all() or "cross" in path
            close(weights, rows if "cross" in path else rows[..., :end], 1e-12)
            start = end


def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.Tensor, bool]]:
    """Notes the ids [rows, t] that every step of a search has, and whether it has a cache."""
    seen, logits = [], Steps.logits
    monkeypatch.setattr(
        Steps, "logits", lambda self, ids: (seen.append((ids.clone(), self.cache is not None)), logits(self, ids))[1]
    )
    return seen


def assert_maps_of_a_search(model, src, maps, seen):
    """Each step's maps are the newest row (with a cache) or all rows (without) of a full pass over its ids."""
    assert list(maps) == MAPS and len(maps[MAPS[0]]) == 1
    close(maps[MAPS[0]][0], full_maps(model, src, seen[0][0][: len(src)])[MAPS[0]], 1e-12)
    for path in MAPS[1:]:
        assert len(maps[path]) == len(seen)
    for step, (ids, cached) in enumerate(seen):
        expected = full_maps(model, src.repeat_interleave(len(ids) // len(src), dim=0), ids)
        for path in MAPS[1:]:
            close(maps[path][step], expected[path][:, :, -1:] if cached else expected[path], 1e-12)
            assert cached or "cross" in path or maps[path][step].triu(1).eq(0).all()


@pytest.mark.parametrize("use_cache", [True, False])
def test_maps_of_a_greedy_search_are_those_of_the_full_pass(monkeypatch, use_cache):
    model = model_of(4)
    right = greedy_decode(model, sources(), max_new_tokens=6, use_cache=use_cache)
    seen = watched(monkeypatch)
    with record_attention(model) as maps:
        ids = greedy_decode(model, sources(), max_new_tokens=6, use_cache=use_cache)
    assert torch.equal(ids, right) and len(seen) >= 4
    assert_maps_of_a_search(model, sources(), maps, seen)


@pytest.mark.parametrize("cached", [True, False])
def test_maps_of_a_beam_search_follow_the_beams(monkeypatch, cached):
    model = model_of(4)
    right = beam_search(model, sources(), num_beams=3, max_new_tokens=6)
    seen = watched(monkeypatch)
    if not cached:  # the search itself always keeps a cache; without one every step is a pass over all ids

        def whole(self, ids):
            hidden = self.model.decode(ids, self.memory, src_mask=self.src_mask)
            seen.append((ids.clone(), False))
            self.cache.layers[0][0].length = self.cache.layers[1][0].length = ids.shape[1]
            return self.model.output(hidden[:, -1:])[:, 0]

        monkeypatch.setattr(Steps, "logits", whole)
    with record_attention(model) as maps:
        ids, scores = beam_search(model, sources(), num_beams=3, max_new_tokens=6)
    assert torch.equal(ids, right[0])
    close(scores, right[1], 1e-12)
    moved = [a for (a, _), (b, _) in zip(seen, seen[1:], strict=False) if not torch.equal(a, b[:, : a.shape[1]])]
    assert moved, "no beam changed places, so this would prove nothing"
    assert_maps_of_a_search(model, sources(), maps, seen)


def test_recordings_inside_recordings_and_parts_of_a_model():
    model, tgt = model_of(), targets()
    expected = full_maps(model, sources(), tgt)
    with record_attention(model) as outer:
        with record_attention(model) as inner, record_attention(model.decoder.layers[1]) as part:
            model(sources(), tgt)
        model(sources(), tgt)
    assert {path: len(calls) for path, calls in outer.items()} == dict.fromkeys(MAPS, 2)
    assert {path: len(calls) for path, calls in inner.items()} == dict.fromkeys(MAPS, 1)
    assert list(part) == ["self_attn", "cross_attn"]
    for path, calls in outer.items():
        for weights in (*calls, *inner[path]):
            close(weights, expected[path], 1e-12)
    close(part["cross_attn"][0], expected["decoder.layers.1.cross_attn"], 1e-12)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_after_an_exception_hooks_are_gone_and_what_ran_is_kept():
    model = model_of()
    handle = model.decoder.layers[1].cross_attn.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), record_attention(model) as maps:
        model(sources(), targets())
    assert list(maps) == MAPS[:4]
    with pytest.raises(ZeroDivisionError), record_attention(model) as maps:
        greedy_decode(model, sources(), max_new_tokens=3)
    assert list(maps) == MAPS[:4]
    handle.remove()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    with record_attention(model) as maps:
        try:
            model(sources(), targets(length=24))
        except ValueError:  # too long; the recording goes on
            model(sources(), targets())
    assert list(maps) == MAPS and all(len(calls) == 1 for calls in maps.values())


def test_recording_leaves_weights_modes_randomness_and_gradients_alone():
    model = model_of(dropout=0.3).train()
    model.decoder.layers[0].eval()
    modes = [module.training for module in model.modules()]
    before = {name: x.clone() for name, x in model.state_dict().items()}
    results = []
    for recorded in (False, True):
        torch.manual_seed(5)
        model.zero_grad()
        if recorded:
            with record_attention(model) as maps:
                logits = model(sources(), targets())
        else:
            logits = model(sources(), targets())
        logits.square().sum().backward()
        results.append([logits.detach(), *(p.grad.clone() for p in model.parameters())])
    for mine, theirs in zip(*results, strict=True):
        close(mine, theirs, 1e-9)
    assert list(maps) == MAPS and [module.training for module in model.modules()] == modes
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())


def test_the_code_of_the_model_knows_of_no_recording():
    """need_weights is asked for from outside: no module between the model and its attentions takes or hands on a flag."""
    model = model_of()
    for module in model.modules():
        if not isinstance(module, MultiHeadAttention) and type(module).__module__.startswith("transformer_lab"):
            assert not re.search(r"need_weights|record|trace|hook", inspect.getsource(type(module)))
