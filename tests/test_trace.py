"""Traces: every shape on the way, every attention map, and nothing in the model is changed by looking."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import torch
from torch import nn

from transformer_lab import TINY, Encoder, FeedForward, MultiHeadAttention, causal_mask, scaled_dot_product_attention
from transformer_lab.trace import ShapeTrace, TraceRow, record_attention, trace_shapes

from .support import close, numbers, randomise, token_ids

CONFIG = replace(
    TINY, d_model=15, num_heads=3, num_encoder_layers=2, d_ff=13, max_len=17, src_vocab_size=19, dropout=0.0
)


def encoder_of(**changes) -> Encoder:
    return randomise(Encoder(replace(CONFIG, **changes)).double())


def ids() -> torch.Tensor:
    return token_ids(2, 7, vocab_size=19)


# ------------------------------------------------------------------ trace_shapes


def test_every_step_of_multi_head_attention():
    x, memory = torch.zeros(2, 7, 15), torch.zeros(2, 11, 15)
    trace = trace_shapes(MultiHeadAttention(15, 3), x, memory)
    found = [(row.path, row.operation, row.output, row.symbols, row.parameters) for row in trace]
    heads, wide, at = ("B", "h", "T", "d_k"), ("B", "T", "d_model"), "scaled_dot_product_attention: "
    projections = []
    for name, length, letter in (("W_q", 7, "T"), ("W_k", 11, "S"), ("W_v", 11, "S")):
        projections += [
            (name, "Linear", (2, length, 15), ("B", letter, "d_model"), 240),
            ("", "split_heads: reshape", (2, length, 3, 5), ("B", letter, "h", "d_k"), 0),
            ("", "split_heads: transpose", (2, 3, length, 5), ("B", "h", letter, "d_k"), 0),
        ]
    assert found == [
        *projections,
        ("", at + "divide", (2, 3, 7, 5), heads, 0),
        ("", at + "transpose", (2, 3, 5, 11), ("B", "h", "d_k", "S"), 0),
        ("", at + "matmul", (2, 3, 7, 11), ("B", "h", "T", "S"), 0),
        ("", at + "softmax", (2, 3, 7, 11), ("B", "h", "T", "S"), 0),
        ("", at + "matmul", (2, 3, 7, 5), heads, 0),
        ("", "merge_heads: transpose", (2, 7, 3, 5), ("B", "T", "h", "d_k"), 0),
        ("", "merge_heads: reshape", (2, 7, 15), wide, 0),
        ("W_o", "Linear", (2, 7, 15), wide, 240),
    ]
    assert trace.sizes == {"B": 2, "T": 7, "S": 11, "d_model": 15, "h": 3, "d_k": 5}
    assert [row.inputs for row in trace if row.operation == at + "matmul"] == [
        ((2, 3, 7, 5), (2, 3, 5, 11)),
        ((2, 3, 7, 11), (2, 3, 11, 5)),
    ]


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("position", ["sinusoidal", "sinusoidal_halves", "learned", "none"])
def test_parameters_of_the_rows_add_up_to_the_models(position, norm_first):
    encoder = encoder_of(position=position, norm_first=norm_first)
    trace = trace_shapes(encoder, ids())
    assert trace.parameters == sum(p.numel() for p in encoder.parameters()) == sum(row.parameters for row in trace)


def test_modules_stand_in_the_order_they_run():
    names = [row.path for row in trace_shapes(encoder_of(norm_first=True), ids()) if row.path]
    order = ["embedding", "pos_encoding", "layers.0.add_norm1.norm", "layers.0.self_attn.W_q", "layers.0.self_attn.W_o"]
    order += ["layers.0.add_norm1", "layers.0.add_norm2.norm", "layers.0.ffn.linear1", "layers.0.ffn.linear2"]
    order += ["layers.0.add_norm2", "layers.1.add_norm1.norm", "layers.1.ffn.linear2", "final_norm"]
    places = [names.index(name) for name in order]
    assert places == sorted(places)


def test_a_mask_adds_the_step_that_hides():
    operations = [row.operation for row in trace_shapes(encoder_of(num_encoder_layers=1), ids(), causal_mask(7))]
    hiding = operations.index("scaled_dot_product_attention: masked_fill")
    assert operations[hiding - 1].endswith("matmul") and operations[hiding + 1].endswith("softmax")
    assert not any("masked_fill" in row.operation for row in trace_shapes(encoder_of(num_encoder_layers=1), ids()))


def test_a_function_can_be_traced_and_symbols_given():
    query, key, value = torch.zeros(5, 7), torch.zeros(11, 7), torch.zeros(11, 13)
    trace = trace_shapes(
        scaled_dot_product_attention, query, key, value, symbols={"T": 5, "S": 11, "d_k": 7, "d_v": 13}
    )
    assert trace.rows[-1].symbols == ("T", "d_v")
    assert trace.parameters == 0 and all(row.path == "" for row in trace)
    heads = [x.expand(2, 3, *x.shape) for x in (query, key, value)]
    trace = trace_shapes(scaled_dot_product_attention, *heads)
    assert trace.sizes == {"B": 2, "h": 3, "T": 5, "S": 11}
    assert trace.rows[2].symbols == ("B", "h", "T", "S") and trace.rows[-1].symbols == ("B", "h", "T", "13")


@pytest.mark.parametrize(("module", "parameters"), [(nn.Linear(3, 5), 20), (nn.LayerNorm(3), 6)])
def test_a_single_module_can_be_traced(module, parameters):
    trace = trace_shapes(module, torch.zeros(2, 7, 3))
    assert [(row.path, row.parameters) for row in trace] == [("", parameters)]


def test_sizes_that_are_equal_are_refused_with_a_way_out():
    with pytest.raises(
        ValueError, match=r"S and h are both 3, so a shape could not say which is which; trace with inputs of another"
    ):
        trace_shapes(MultiHeadAttention(15, 3), torch.zeros(2, 3, 15))
    with pytest.raises(ValueError, match="S and d_ff are both 13"):
        trace_shapes(FeedForward(5, 13), torch.zeros(2, 13, 5))


def test_the_batch_is_known_by_its_place():
    trace = trace_shapes(MultiHeadAttention(15, 3), torch.zeros(3, 7, 15))  # as many sentences as heads
    assert trace.rows[2].output == (3, 3, 7, 5) and trace.rows[2].symbols == ("B", "h", "S", "d_k")
    assert trace_shapes(MultiHeadAttention(15, 3), torch.zeros(1, 1, 15)).rows[0].symbols == ("B", "S", "d_model")


def test_one_head_needs_no_axis_name():
    trace = trace_shapes(MultiHeadAttention(6, 1), torch.zeros(2, 5, 6))
    assert trace.rows[2].symbols == ("B", "1", "S", "d_model")
    trace = trace_shapes(scaled_dot_product_attention, *[torch.zeros(2, 1, 5, 7)] * 3)
    assert trace.rows[2].symbols == ("B", "1", "S", "S")


def test_tracing_changes_nothing():
    encoder = encoder_of(dropout=0.5).train()
    encoder.layers[0].eval()
    modes = [module.training for module in encoder.modules()]
    weights = {name: x.clone() for name, x in encoder.state_dict().items()}
    torch.manual_seed(0)
    right = encoder(ids())
    state = torch.random.get_rng_state()
    trace_shapes(encoder, ids())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert [module.training for module in encoder.modules()] == modes
    assert all(torch.equal(x, weights[name]) for name, x in encoder.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in encoder.modules())
    torch.manual_seed(0)
    assert torch.equal(encoder(ids()), right)
    assert all(p.grad is None for p in encoder.parameters())


def test_hooks_and_modes_are_restored_when_the_model_fails():
    encoder = encoder_of().train()
    with pytest.raises(ValueError, match="out of range"):
        trace_shapes(encoder, ids() + 19)
    assert encoder.training and encoder.layers[1].ffn.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in encoder.modules())
    assert len(trace_shapes(encoder, ids())) > 20


# ------------------------------------------------------------------ what a trace looks like


class Cells(HTMLParser):
    """The texts of the cells of a table, row by row."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def test_text_html_and_markdown_say_the_same():
    trace = trace_shapes(encoder_of(num_encoder_layers=1), ids())
    text, html, markdown = repr(trace), Cells(trace._repr_html_()), trace.to_markdown()
    assert html.rows[0] == ["step", "input", "output", "named", "parameters", "where"]
    assert len(html.rows) == len(trace) + 1 == len(markdown.splitlines()) - 1
    lines = text.splitlines()
    assert len(lines) == len(trace) + 3
    for cells, line, marked in zip(
        html.rows, [lines[0], *lines[2:-1]], [markdown.splitlines()[0], *markdown.splitlines()[2:]], strict=True
    ):
        assert re.split(r" {2,}", line.strip()) == [cell for cell in cells if cell]
        assert [cell.strip().replace("\\_", "_") for cell in marked.strip("|").split(" | ")] == cells
    assert lines[2].split() == [
        "TokenEmbedding",
        "[2,",
        "7]",
        "[2,",
        "7,",
        "15]",
        "[B,",
        "S,",
        "d_model]",
        "285",
        "embedding",
    ]
    total = f"{trace.parameters:,}"
    assert lines[-1] == f"B=2  S=7  V=19  d_model=15  h=3  d_ff=13  d_k=5   parameters: {total}"
    assert f"{total} parameters" in trace._repr_html_()


def test_a_wide_table_scrolls_and_can_be_reached_by_keyboard():
    html = trace_shapes(FeedForward(5, 13), torch.zeros(2, 7, 5))._repr_html_()
    assert 'tabindex="0"' in html and 'role="region"' in html and 'aria-label="' in html and "overflow-x:auto" in html
    assert html.count('scope="col"') == 6


def test_names_are_shown_as_typed():
    row = TraceRow("<script>alert(1)</script>", "a|b_c: <b>", ((1, 2),), (1, 2), ("B", "<i>"), 3)
    trace = ShapeTrace([row], {"B": 1, "<i>": 2})
    cells = Cells(trace._repr_html_())
    assert cells.rows[1] == ["<b>", "[1, 2]", "[1, 2]", "[B, <i>]", "3", "<script>alert(1)</script> › a|b_c"]
    assert not cells.tags & {"script", "b", "i"}
    assert "a\\|b\\_c" in trace.to_markdown()


# ------------------------------------------------------------------ record_attention


def test_recorded_weights_are_those_of_the_formula_and_the_result_is_the_models_own():
    encoder = encoder_of()
    right = encoder(ids(), causal_mask(7))
    with record_attention(encoder) as maps:
        memory = encoder(ids(), causal_mask(7))
    close(memory, right, 1e-12)
    assert list(maps) == ["layers.0.self_attn", "layers.1.self_attn"]
    x = encoder.pos_encoding(encoder.embedding(ids()))
    for i, layer in enumerate(encoder.layers):
        (weights,) = maps[f"layers.{i}.self_attn"]
        assert not weights.requires_grad and weights.shape == (2, 3, 7, 7)
        close(weights, layer.self_attn(x, mask=causal_mask(7), need_weights=True)[1], 1e-12)
        x = layer(x, causal_mask(7))


def test_calls_are_recorded_in_order_until_the_block_ends():
    module = randomise(MultiHeadAttention(6, 2).double())
    inputs = [numbers(2, length, 6, seed=length) for length in (3, 5)]
    with record_attention(module) as maps:
        for x in inputs:
            module(x)
    module(inputs[0])
    assert list(maps) == [""] and [w.shape[-1] for w in maps[""]] == [3, 5]
    for x, weights in zip(inputs, maps[""], strict=True):
        assert torch.equal(weights, module(x, need_weights=True)[1])
    assert not module._forward_hooks and not module._forward_pre_hooks


@pytest.mark.parametrize("asked", [False, True])
def test_the_caller_gets_what_it_asked_for(asked):
    module = MultiHeadAttention(6, 2)
    with record_attention(module) as maps:
        _, weights = module(torch.zeros(2, 3, 6), need_weights=asked)
    assert (weights is not None) == asked
    assert len(maps[""]) == 1


def test_torchs_own_attention_is_recorded_and_keeps_its_default():
    theirs = nn.MultiheadAttention(6, 2, batch_first=True)
    x = torch.zeros(2, 3, 6)
    with record_attention(theirs) as maps:
        _, weights = theirs(x, x, x)  # it returns weights unless told otherwise
        _, none = theirs(x, x, x, need_weights=False)
    assert torch.equal(weights, maps[""][0]) and none is None and len(maps[""]) == 2


def test_recordings_and_traces_inside_a_recording():
    encoder = encoder_of()
    with record_attention(encoder) as outer:
        with record_attention(encoder.layers[1]) as inner:
            encoder(ids())
        trace_shapes(encoder, ids())
    assert {path: len(w) for path, w in outer.items()} == {"layers.0.self_attn": 2, "layers.1.self_attn": 2}
    assert torch.equal(inner["self_attn"][0], outer["layers.1.self_attn"][0])


def test_weights_recorded_in_training_are_whole():
    module = MultiHeadAttention(6, 2, dropout=0.5).train()
    with record_attention(module) as maps:
        module(torch.zeros(2, 3, 6))
    close(maps[""][0], torch.full((2, 2, 3, 3), 1 / 3), 1e-6)


def test_hooks_are_gone_after_an_error_and_what_ran_is_kept():
    encoder = encoder_of()
    encoder.layers[1].ffn.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), record_attention(encoder) as maps:
        encoder(ids())
    assert len(maps) == 2
    assert not any(module._forward_hooks for module in encoder.modules())


def test_a_model_without_attention_is_refused():
    with pytest.raises(
        ValueError, match=r"FeedForward holds no attention module \(none whose forward takes need_weights\)"
    ):
        with record_attention(FeedForward(4, 5)):
            pass
