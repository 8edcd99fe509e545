"""Positions: the table against the formula in float64, and the modules that add it."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab import LearnedPositionalEncoding, NoPositionalEncoding, PositionalEncoding, sinusoidal_encoding

from . import reference
from .support import DTYPES, close, needs_cuda, numbers, parameters_of

B, T, D = 2, 3, 7


# ------------------------------------------------------------------ the table


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("d_model", [*range(1, 17), 31, 64, 127, 511, 512])
def test_table_equals_the_reference_for_odd_and_even_widths(d_model, layout):
    table = sinusoidal_encoding(23, d_model, layout=layout, dtype=torch.float64)
    assert table.shape == (23, d_model)
    close(table, reference.sinusoid(np.arange(23), d_model, layout))


@given(d_model=st.integers(1, 64), start=st.integers(0, 4000), length=st.integers(1, 9))
def test_table_from_any_start(d_model, start, length):
    table = sinusoidal_encoding(length, d_model, start=start, dtype=torch.float64)
    close(table, reference.sinusoid(np.arange(start, start + length), d_model))


def test_float32_table_is_rounded_once_even_at_position_5000():
    table = sinusoidal_encoding(3, 512, start=4998)
    assert table.dtype == torch.float32
    close(table, reference.sinusoid(np.arange(4998, 5001), 512), 1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_the_float64_table_rounded(dtype):
    table = sinusoidal_encoding(17, 10, start=1000, dtype=dtype)
    assert table.dtype == dtype
    assert torch.equal(table, torch.from_numpy(reference.sinusoid(np.arange(1000, 1017), 10)).to(dtype))


@pytest.mark.parametrize("d_model", [2, 6, 64])
@pytest.mark.parametrize("step", [1, 3, 10])
def test_a_step_of_k_is_one_rotation_the_same_everywhere(step, d_model):
    table = sinusoidal_encoding(200, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = step / 10000 ** (2 * i / d_model)
        rotation = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]], dtype=torch.float64
        )
        close(table[step:, 2 * i : 2 * i + 2], table[:-step, 2 * i : 2 * i + 2] @ rotation.T)


def test_low_columns_are_the_fast_ones():
    table = sinusoidal_encoding(500, 32, dtype=torch.float64)
    turns = (table[1:].sign() != table[:-1].sign()).sum(0)
    assert (turns[::2].diff() <= 0).all() and (turns[1::2].diff() <= 0).all()
    assert turns[0] > 150 and turns[-1] == 0


def test_the_layouts_hold_the_same_columns():
    for d_model in (8, 9):
        interleaved, halves = (sinusoidal_encoding(5, d_model, layout=layout) for layout in ("interleaved", "halves"))
        assert torch.equal(torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1), halves)


def test_table_follows_default_dtype_and_device():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert sinusoidal_encoding(3, 4).dtype == torch.float64
        assert PositionalEncoding(4, 5).table.dtype == torch.float64
    finally:
        torch.set_default_dtype(before)
    with torch.device("meta"):
        assert sinusoidal_encoding(3, 4).is_meta and PositionalEncoding(4, 5).table.is_meta
    assert sinusoidal_encoding(3, 4, device="meta").is_meta


# ------------------------------------------------------------------ the modules


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_module_adds_the_row_of_each_position(layout):
    x = numbers(B, T, D)
    module = PositionalEncoding(D, 11, layout=layout).double()
    for start in (0, 1, 8):
        right = reference.sinusoid(np.arange(start, start + T), D, layout)
        close(module(x, start), x.numpy() + right)


@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositionalEncoding])
def test_positions_per_token(kind):
    module, x = kind(D, 11).double(), numbers(B, T, D)
    positions = torch.tensor([[0, 1, 2], [8, 3, 10]])
    rows = module.table if kind is PositionalEncoding else module.weight
    for dtype in (torch.int64, torch.int32):
        close(module(x, positions=positions.to(dtype)), x + rows[positions], 1e-15)
    close(module(x, positions=torch.arange(4, 4 + T).expand(B, T)), module(x, start=4), 1e-15)


def test_no_tokens_and_no_sentences():
    for module in (PositionalEncoding(D, 11), LearnedPositionalEncoding(D, 11)):
        for b, t in ((0, T), (B, 0)):
            assert module(torch.zeros(b, t, D)).shape == (b, t, D)
            assert module(torch.zeros(b, t, D), positions=torch.zeros(b, t, dtype=torch.long)).shape == (b, t, D)


def test_one_token_at_a_time_equals_the_whole():
    for module in (PositionalEncoding(D, 11).double(), LearnedPositionalEncoding(D, 11).double()):
        x = numbers(B, 11, D)
        steps = [module(x[:, t : t + 1], start=t) for t in range(11)]
        close(torch.cat(steps, dim=1), module(x), 1e-15)


def test_the_row_is_picked_by_position_and_not_by_sentence():
    for module in (PositionalEncoding(D, 4), LearnedPositionalEncoding(D, 4)):
        out = module(torch.zeros(9, T, D))  # more sentences than positions
        assert torch.equal(out[0], out[8])
        assert not torch.equal(out[:, 0], out[:, 1])


def test_learned_positions_get_gradient_for_used_rows_only():
    module = LearnedPositionalEncoding(D, 11).double()
    module(numbers(B, T, D), start=4).sum().backward()
    expected = torch.zeros(11, D, dtype=torch.float64)
    expected[4:7] = B
    close(module.weight.grad, expected)
    assert set(parameters_of(module)) == {"weight"}


def test_no_positions_adds_nothing():
    x = numbers(B, T, D)
    for options in ({}, {"start": 5}, {"positions": torch.zeros(B, T, dtype=torch.long)}):
        assert torch.equal(NoPositionalEncoding()(x, **options), x)
    assert not list(NoPositionalEncoding().parameters())


@pytest.mark.parametrize(
    "make",
    [lambda p: PositionalEncoding(D, 11, p), lambda p: LearnedPositionalEncoding(D, 11, p), NoPositionalEncoding],
)
def test_dropout_of_the_sum(make):
    x, p = torch.ones(997, T, D, dtype=torch.float64), 0.25
    module = make(p).double()
    whole = module.eval()(x)
    module.train()
    torch.manual_seed(0)
    dropped = module(x)
    torch.manual_seed(0)
    assert torch.equal(module(x), dropped)
    kept = dropped != 0
    close(dropped[kept], whole[kept] / (1 - p))
    assert abs(kept.double().mean().item() - (1 - p)) < 3 * math.sqrt(p * (1 - p) / kept.numel())


def test_table_is_no_weight_and_not_in_the_state_dict():
    module = PositionalEncoding(D, 11)
    assert not module.state_dict() and not list(module.parameters())
    assert [name for name, _ in module.named_buffers()] == ["table"]
    strange = module.load_state_dict({})
    assert not strange.missing_keys and not strange.unexpected_keys


@pytest.mark.parametrize("roads", [["double"], ["half", "double"], ["bfloat16", "float", "double"]])
def test_double_after_float32_keeps_no_rounding(roads):
    module = PositionalEncoding(6, 5001)
    for road in roads:
        getattr(module, road)()
    close(module.table, reference.sinusoid(np.arange(5001), 6))
    close(module(torch.zeros(1, 1, 6, dtype=torch.float64), start=5000)[0], reference.sinusoid([5000], 6))


def test_float64_input_to_a_float32_module_gets_float64_positions():
    x, positions = numbers(B, T, 6), torch.tensor([[5000, 0, 7], [1, 4999, 2]])
    module = PositionalEncoding(6, 5001)
    close(module(x, start=4000), x.numpy() + reference.sinusoid(np.arange(4000, 4003), 6))
    close(module(x, positions=positions), x.numpy() + reference.sinusoid(positions.numpy(), 6))
    assert module.table.dtype == torch.float32


@pytest.mark.parametrize("dtype", DTYPES)
def test_result_has_the_dtype_of_the_input(dtype):
    for module in (PositionalEncoding(D, 11), LearnedPositionalEncoding(D, 11), NoPositionalEncoding()):
        assert module(torch.zeros(B, T, D, dtype=dtype)).dtype == dtype


def test_to_moves_and_converts_the_table():
    module = PositionalEncoding(D, 11)
    assert module.to(torch.bfloat16).table.dtype == torch.bfloat16
    module.to("meta")
    assert module.table.is_meta
    module.to_empty(device="cpu")  # a table that was never filled would be rubbish
    assert torch.equal(module.table, sinusoidal_encoding(11, D, dtype=torch.bfloat16))


def test_deepcopy_and_strided_input():
    module, x = PositionalEncoding(D, 11), numbers(T, B, D, dtype=torch.float32).transpose(0, 1)
    assert torch.equal(copy.deepcopy(module)(x), module(x.contiguous()))


def test_compiles_exports_and_maps():
    module, x = PositionalEncoding(D, 11).double(), numbers(B, T, D)
    positions = torch.tensor([[0, 1, 2], [8, 3, 10]])
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    close(compiled(x, start=4), module(x, start=4), 1e-15)
    close(compiled(x, positions=positions), module(x, positions=positions), 1e-15)
    close(torch.export.export(module, (x,)).module()(x), module(x), 1e-15)
    close(
        torch.vmap(lambda row, p: module(row[None], positions=p[None])[0])(x, positions),
        module(x, positions=positions),
        1e-15,
    )


class TestCuda:
    pytestmark = needs_cuda

    def test_table_moves_and_is_bit_identical_to_the_cpus(self):
        module = PositionalEncoding(D, 5001).cuda()
        assert module.table.is_cuda
        assert torch.equal(module.table.cpu(), sinusoidal_encoding(5001, D))
        assert torch.equal(sinusoidal_encoding(17, D, device="cuda").cpu(), sinusoidal_encoding(17, D))

    def test_a_position_out_of_range_is_an_error_and_not_a_device_assert(self):
        with pytest.raises(ValueError, match=r"position 11 at \[0, 2\] is out of range for max_len 11"):
            PositionalEncoding(D, 11).cuda()(torch.zeros(1, 3, D).cuda(), positions=torch.tensor([[0, 1, 11]]).cuda())
