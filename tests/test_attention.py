"""Attention against the formula in float64, against torch, and against itself by another road."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab import (
    MultiHeadAttention,
    causal_mask,
    combine_masks,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)

from . import reference
from .figures import formula_errors, half_precision_ratio, multi_head_errors
from .support import (
    DTYPES,
    HALF_DTYPES,
    array,
    close,
    gradients_of,
    needs_cuda,
    numbers,
    parameters_of,
    randomise,
    seeds,
    some_mask,
    torch_attention,
    torch_func_is_slow,
)

B, H, T, S, D_K, D_V = 2, 3, 5, 7, 11, 13  # a different prime per axis, so that no swapped axis can pass
D_MODEL = H * D_K


def qkv(seed: int = 0, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    sizes = [(T, D_K), (S, D_K), (S, D_V)]
    return [numbers(B, H, *size, seed=10 * seed + i, dtype=dtype) for i, size in enumerate(sizes)]


def hidden(seed: int = 0, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    return [numbers(B, n, D_MODEL, seed=10 * seed + i, dtype=dtype) for i, n in enumerate((T, S, S))]


def attention_module(seed: int = 0, dtype: torch.dtype = torch.float64, **options) -> MultiHeadAttention:
    return randomise(MultiHeadAttention(D_MODEL, H, **options).to(dtype), seed, scale=0.2)


# ------------------------------------------------------------------ the formula


@given(seed=seeds, sizes=st.tuples(*[st.integers(1, 9)] * 6), rank=st.integers(2, 4))
def test_formula_equals_torch(seed, sizes, rank):
    b, h, t, s, d_k, d_v = sizes
    query, key, value = (
        numbers(b, h, t, d_k, seed=seed),
        numbers(b, h, s, d_k, seed=seed + 1),
        numbers(b, h, s, d_v, seed=seed + 2),
    )
    mask = some_mask(*(b, h, t, s)[4 - rank :], seed=seed)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    close(output, F.scaled_dot_product_attention(query, key, value, attn_mask=mask), 1e-13)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 3, 5)])
def test_formula_takes_any_axes_in_front(lead):
    query, key, value = numbers(*lead, T, D_K), numbers(*lead, S, D_K, seed=1), numbers(*lead, S, D_V, seed=2)
    output, weights = scaled_dot_product_attention(query, key, value, some_mask(T, S))
    right, right_weights = reference.attention(array(query), array(key), array(value), array(some_mask(T, S)))
    assert output.shape == (*lead, T, D_V) and weights.shape == (*lead, T, S)
    close(output, right)
    close(weights, right_weights)


def test_gradcheck_with_a_fully_blocked_row():
    mask = some_mask(B, 1, T, S, seed=3)
    mask[1, 0, 2] = False
    inputs = [x[:, :2].requires_grad_() for x in qkv()]
    assert torch.autograd.gradcheck(lambda *x: scaled_dot_product_attention(*x, mask), inputs)


def test_weights_are_probabilities_and_exactly_zero_where_blocked():
    mask = some_mask(B, H, T, S, seed=1)
    mask[0, 1, 2] = False
    _, weights = scaled_dot_product_attention(*qkv(), mask)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert (weights[mask] > 0).all()
    close(weights.sum(-1), mask.any(-1).double())


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_that_sees_nothing_is_exactly_zero_and_disturbs_no_other_row(dtype):
    mask = some_mask(B, H, T, S, seed=1, blocked_rows=False)
    without = mask.clone()
    mask[1, 2, 3] = False
    inputs = [x.requires_grad_() for x in qkv(dtype=dtype)]
    output, weights = scaled_dot_product_attention(*inputs, mask)
    output.sum().backward()
    whole, whole_weights = scaled_dot_product_attention(*inputs, without)
    others = torch.ones(B, H, T, dtype=torch.bool)
    others[1, 2, 3] = False
    for x in (output[1, 2, 3], weights[1, 2, 3], inputs[0].grad[1, 2, 3]):
        assert (x == 0).all()
    assert torch.equal(output[others], whole[others]) and torch.equal(weights[others], whole_weights[others])
    assert all(x.grad.isfinite().all() and x.grad.any() for x in inputs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_when_every_row_sees_nothing_everything_is_zero(dtype):
    inputs = [x.requires_grad_() for x in qkv(dtype=dtype)]
    output, weights = scaled_dot_product_attention(*inputs, torch.zeros(T, S, dtype=torch.bool))
    (output.sum() + weights.sum()).backward()
    for x in (output, weights, *(x.grad for x in inputs)):
        assert (x == 0).all()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled:UserWarning")
def test_a_row_that_sees_nothing_makes_no_nan_even_on_the_way():
    inputs = [x.requires_grad_() for x in qkv()]
    mask = some_mask(T, S, seed=1, blocked_rows=False).index_fill(0, torch.tensor(3), False)
    with (
        torch.autograd.detect_anomaly()
    ):  # raises where a step of the backward pass gives NaN, even if it is hidden later
        output, weights = scaled_dot_product_attention(*inputs, mask)
        (output.sum() + weights.sum()).backward()
    assert (inputs[0].grad[:, :, 3] == 0).all()


def test_adding_a_constant_to_a_querys_scores_changes_nothing():
    query, key, value = qkv()
    shift = numbers(D_K, seed=9, scale=5.0)  # moves every score of query t by q_t·shift / sqrt(d_k)
    output, weights = scaled_dot_product_attention(query, key, value)
    shifted_output, shifted_weights = scaled_dot_product_attention(query, key + shift, value)
    close(shifted_output, output)
    close(shifted_weights, weights)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_scores_stay_finite(dtype, masked):
    size = 300.0 if dtype in HALF_DTYPES else 100.0  # fp16: q·k / sqrt(64) is 720,000, beyond its largest 65,504
    query = torch.full((1, 2, 3, 64), size, dtype=dtype)
    query[:, :, 1:] *= -1
    inputs = [
        query.clone().requires_grad_(),
        query.clone().requires_grad_(),
        numbers(1, 2, 3, 64, dtype=dtype).requires_grad_(),
    ]
    mask = causal_mask(3).index_fill(0, torch.tensor(1), False) if masked else None
    output, weights = scaled_dot_product_attention(*inputs, mask)
    output.sum().backward()
    for x in (output, weights, *(x.grad for x in inputs)):
        assert x.isfinite().all()
    close(output, F.scaled_dot_product_attention(*(x.double() for x in inputs), attn_mask=mask), 4e-3)


def test_scores_of_plus_and_minus_ten_thousand():
    query, key = torch.tensor([[1.0], [-1.0]]) * 1e4, torch.tensor([[1.0], [-1.0], [0.0]])
    output, weights = scaled_dot_product_attention(query, key, torch.eye(3))
    assert torch.equal(weights, torch.tensor([[1.0, 0, 0], [0, 1, 0]]))
    assert torch.equal(output, weights)


def test_keys_in_another_order_change_nothing_and_queries_carry_their_outputs():
    query, key, value = qkv()
    mask = some_mask(B, H, T, S, seed=2)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    by_key, by_query = torch.tensor([3, 6, 0, 2, 5, 1, 4]), torch.tensor([2, 4, 1, 0, 3])
    same, same_weights = scaled_dot_product_attention(query, key[:, :, by_key], value[:, :, by_key], mask[..., by_key])
    close(same, output)
    close(same_weights, weights[..., by_key])
    moved, moved_weights = scaled_dot_product_attention(query[:, :, by_query], key, value, mask[:, :, by_query])
    close(moved, output[:, :, by_query])
    close(moved_weights, weights[:, :, by_query])


def test_what_stands_at_a_blocked_key_does_not_matter():
    query, key, value = qkv()
    mask = torch.tensor([True, True, False, True, True, False, True]).expand(T, S)
    other_key, other_value = key.clone(), value.clone()
    other_key[:, :, [2, 5]], other_value[:, :, [2, 5]] = 1e3, -1e3
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    same, same_weights = scaled_dot_product_attention(query, other_key, other_value, mask)
    assert torch.equal(same, output) and torch.equal(same_weights, weights)
    kept = [0, 1, 3, 4, 6]
    close(output, scaled_dot_product_attention(query, key[:, :, kept], value[:, :, kept])[0])


def test_strided_and_expanded_inputs():
    query = numbers(T, B, D_K, H).permute(1, 3, 0, 2)
    key, value = numbers(B, H, 2 * S, D_K, seed=1)[:, :, ::2], numbers(1, 1, S, D_V, seed=2).expand(B, H, S, D_V)
    mask = some_mask(S, T, seed=4).T.expand(B, H, T, S)
    found = scaled_dot_product_attention(query, key, value, mask)
    right = scaled_dot_product_attention(query.contiguous(), key.contiguous(), value.contiguous(), mask.contiguous())
    assert not any(x.is_contiguous() for x in (query, key, value, mask))
    for x, y in zip(found, right, strict=True):
        close(x, y, 1e-14)


@pytest.mark.parametrize("sizes", [(0, 5, 7), (2, 0, 7), (2, 5, 0)])
def test_empty_batch_no_queries_no_keys(sizes):
    b, t, s = sizes
    output, weights = scaled_dot_product_attention(
        numbers(b, t, D_K), numbers(b, s, D_K), numbers(b, s, D_V), torch.ones(t, s, dtype=torch.bool)
    )
    assert output.shape == (b, t, D_V) and weights.shape == (b, t, s)
    assert (output == 0).all()


def test_inputs_are_not_changed():
    inputs, mask = qkv(), some_mask(T, S, seed=1)
    before = [x.clone() for x in (*inputs, mask)]
    scaled_dot_product_attention(*inputs, mask)
    attention_module()(*hidden(), mask=mask, need_weights=True)
    assert all(torch.equal(x, y) for x, y in zip((*inputs, mask), before, strict=True))


# ------------------------------------------------------------------ NaN and infinity: documented in attention.py


def poisoned(place: str, number: float) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Key or value 6 of the first sentence is NaN or infinite; queries 0 … 3 may not see it, query 4 may."""
    inputs = qkv()
    inputs[1 if place == "key" else 2][0, :, 6] = number
    return inputs, causal_mask(T, S)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_bad_blocked_key_reaches_only_the_rows_that_see_it(number):
    inputs, mask = poisoned("key", number)
    output, weights = scaled_dot_product_attention(*inputs, mask)
    clean, clean_weights = scaled_dot_product_attention(*qkv(), mask)
    assert torch.equal(output[0, :, :4], clean[0, :, :4]) and torch.equal(weights[0, :, :4], clean_weights[0, :, :4])
    assert torch.equal(output[1], clean[1])


@pytest.mark.parametrize("place", ["key", "value"])
def test_nan_stays_inside_its_own_sentence_and_head(place):
    (query, key, value), mask = poisoned(place, math.nan)
    key[0, 1:], value[0, 1:] = 0.5, 0.5  # the other heads of that sentence are clean
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    assert output[0, 0, 4].isnan().any()
    assert output[0, 1:].isfinite().all() and output[1].isfinite().all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_nan_in_a_padding_vector_stays_inside_its_own_sentence(need_weights):
    module, (query, memory, _) = attention_module(), hidden()
    right, _ = module(query, memory)
    memory[0, 6] = math.nan
    mask = (torch.arange(S) < 6).expand(T, S)
    output, _ = module(
        query, memory, mask=torch.stack([mask, torch.ones_like(mask)])[:, None], need_weights=need_weights
    )
    close(output[1], right[1])
    assert output[0].isnan().all()  # 0 times NaN: attention does not hide what is not a number


# ------------------------------------------------------------------ heads


def test_split_heads_gives_each_head_its_slice_of_every_token():
    x = numbers(B, T, D_MODEL)
    heads = split_heads(x, H)
    assert heads.shape == (B, H, T, D_K)
    for j in range(H):
        assert torch.equal(heads[:, j], x[..., j * D_K : (j + 1) * D_K])


def test_merge_heads_undoes_split_heads():
    x = numbers(B, T, D_MODEL)
    assert torch.equal(merge_heads(split_heads(x, H)), x)
    heads = numbers(B, H, T, D_V)
    merged = merge_heads(heads)
    assert merged.shape == (B, T, H * D_V)
    for j in range(H):
        assert torch.equal(merged[..., j * D_V : (j + 1) * D_V], heads[:, j])


def test_split_and_merge_of_strided_input():
    x = numbers(T, B, D_MODEL).transpose(0, 1)
    assert not x.is_contiguous()
    assert torch.equal(split_heads(x, H), split_heads(x.contiguous(), H))
    heads = numbers(H, B, T, D_V).transpose(0, 1)
    assert torch.equal(merge_heads(heads), merge_heads(heads.contiguous()))


# ------------------------------------------------------------------ multi-head attention


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("num_heads", range(1, 9))
def test_multi_head_equals_torch_in_outputs_weights_and_gradients(num_heads, bias):
    d_model = 5 * num_heads
    ours = randomise(MultiHeadAttention(d_model, num_heads, bias=bias).double(), num_heads)
    theirs = torch_attention(ours)
    mask = some_mask(T, S, seed=num_heads, blocked_rows=False)
    results = []
    for module, options in ((ours, {"mask": mask}), (theirs, {"attn_mask": ~mask, "average_attn_weights": False})):
        inputs = [numbers(B, n, d_model, seed=i).requires_grad_() for i, n in enumerate((T, S, S))]
        output, weights = module(*inputs, need_weights=True, **options)
        (output * numbers(*output.shape, seed=7)).sum().backward()
        results.append([output, weights, *(x.grad for x in inputs)])
    for x, y in zip(*results, strict=True):
        close(x, y)
    in_proj = torch.cat([ours.W_q.weight.grad, ours.W_k.weight.grad, ours.W_v.weight.grad])
    close(in_proj, theirs.in_proj_weight.grad)
    close(ours.W_o.weight.grad, theirs.out_proj.weight.grad)
    assert (ours.W_q.bias is not None) == bias


def test_key_and_value_default_to_the_query():
    module = attention_module()
    x, memory, _ = hidden()
    assert torch.equal(module(x)[0], module(x, x, x)[0])
    assert torch.equal(module(x, memory)[0], module(x, memory, memory)[0])
    assert not torch.allclose(module(x, memory)[0], module(x)[0])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "shape", [(T, S), (H, T, S), (B, 1, 1, S), (B, 1, T, S), (1, H, T, S), (B, H, T, S), (1, S), None]
)
def test_fused_path_equals_formula_path_in_output_and_gradients(shape, training):
    module = attention_module(bias=True).train(training)
    mask = None if shape is None else some_mask(*shape, seed=5)
    results = []
    for need_weights in (False, True):
        module.zero_grad()
        inputs = [x.requires_grad_() for x in hidden()]
        output, weights = module(*inputs, mask=mask, need_weights=need_weights)
        assert (weights is not None) == need_weights
        (output * numbers(*output.shape, seed=8)).sum().backward()
        results.append([output, *(x.grad for x in inputs), *map(torch.from_numpy, gradients_of(module).values())])
    for x, y in zip(*results, strict=True):
        close(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_query_that_sees_nothing_gets_zero_heads_on_every_path(dropout, need_weights, training, dtype):
    module = attention_module(dtype=dtype, dropout=dropout).train(training)
    mask = some_mask(B, 1, T, S, seed=6, blocked_rows=False)
    mask[1, :, 3] = False
    inputs = [x.requires_grad_() for x in hidden(dtype=dtype)]
    torch.manual_seed(0)
    output, weights = module(*inputs, mask=mask, need_weights=need_weights)
    output.sum().backward()
    assert output.isfinite().all()
    assert torch.equal(output[1, 3], module.W_o.bias)  # all heads gave exactly 0
    assert weights is None or (weights[1, :, 3] == 0).all()
    assert (inputs[0].grad[1, 3] == 0).all()
    assert all(x.grad.isfinite().all() for x in inputs)


def test_each_head_depends_on_its_own_slice_only():
    module = attention_module(bias=False)
    whole, _ = module(*hidden())
    parts = torch.zeros_like(whole)
    for j in range(H):
        own = slice(j * D_K, (j + 1) * D_K)
        Q, K, V = (W(x)[..., own] for W, x in zip((module.W_q, module.W_k, module.W_v), hidden(), strict=True))
        head, _ = scaled_dot_product_attention(Q, K, V)
        only = attention_module(bias=False)
        with torch.no_grad():
            only.W_o.weight[:, : own.start] = 0
            only.W_o.weight[:, own.stop :] = 0
        contribution, _ = only(*hidden())
        close(contribution, head @ module.W_o.weight[:, own].T)
        parts = parts + contribution
    close(parts, whole)


def test_masks_of_rank_2_3_and_4_that_mean_the_same_give_the_same():
    mask = some_mask(T, S, seed=2)
    same = [mask, mask[None], mask.expand(H, T, S), mask[None, None], mask.expand(B, 1, T, S), mask.expand(B, H, T, S)]
    for need_weights in (False, True):
        outputs = [attention_module()(*hidden(), mask=m, need_weights=need_weights)[0] for m in same]
        for output in outputs[1:]:
            close(output, outputs[0], 1e-14)


def test_a_mask_of_rank_3_is_per_head_and_of_rank_4_per_sentence():
    per_head, per_sentence = some_mask(H, T, S, seed=3), some_mask(B, 1, 1, S, seed=4)
    _, weights = attention_module()(*hidden(), mask=per_head, need_weights=True)
    assert all(((weights[:, j] > 0) == per_head[j]).all() for j in range(H))
    _, weights = attention_module()(*hidden(), mask=per_sentence, need_weights=True)
    assert all(((weights[b] > 0) == per_sentence[b]).all() for b in range(B))


@pytest.mark.parametrize("need_weights", [False, True])
def test_causal_by_jacobian(need_weights):
    module = MultiHeadAttention(6, 2).double()
    x = numbers(T, 6)

    def run(one):
        return module(one[None], mask=causal_mask(T), need_weights=need_weights)[0][0]

    jacobian = torch.autograd.functional.jacobian(run, x).abs().amax(dim=(1, 3))  # [output position, input position]
    assert (jacobian.triu(1) == 0).all()
    assert (jacobian[causal_mask(T)] > 0).all()


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lengths", [(5, 5), (5, 7), (7, 5), (1, 7), (1, 1)])
def test_causal_flag_equals_the_causal_mask(lengths, masked, need_weights):
    module, (t, s) = attention_module(), lengths
    query, memory = numbers(B, t, D_MODEL), numbers(B, s, D_MODEL, seed=1)
    mask = some_mask(B, 1, t, s, seed=2) if masked else None
    found, found_weights = module(query, memory, mask=mask, need_weights=need_weights, causal=True)
    right, right_weights = module(query, memory, mask=combine_masks(mask, causal_mask(t, s)), need_weights=True)
    close(found, right)
    if need_weights:
        assert torch.equal(found_weights, right_weights)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_sentence_alone_equals_the_sentence_in_a_batch(need_weights):
    module, inputs, mask = attention_module(), hidden(), some_mask(B, 1, T, S, seed=1)
    together, _ = module(*inputs, mask=mask, need_weights=need_weights)
    for b in range(B):
        alone, _ = module(*(x[b : b + 1] for x in inputs), mask=mask[b : b + 1], need_weights=need_weights)
        close(alone, together[b : b + 1])


def test_padding_keys_and_what_they_are_does_not_matter():
    module, (query, memory, _) = attention_module(), hidden()
    alone, _ = module(query, memory)
    padded = torch.cat([memory, numbers(B, 19, D_MODEL, seed=5, scale=100.0)], dim=1)
    mask = (torch.arange(S + 19) < S)[None, :]
    for need_weights in (False, True):
        close(module(query, padded, mask=mask, need_weights=need_weights)[0], alone)


@pytest.mark.parametrize("need_weights", [False, True])
def test_strided_inputs(need_weights):
    module = attention_module()
    query, memory = numbers(T, B, D_MODEL).transpose(0, 1), numbers(B, S, 2 * D_MODEL)[..., ::2]
    value, mask = numbers(1, S, D_MODEL).expand(B, S, D_MODEL), some_mask(S, T, seed=4).T
    found, _ = module(query, memory, value, mask, need_weights=need_weights)
    right, _ = module(
        query.contiguous(), memory.contiguous(), value.contiguous(), mask.contiguous(), need_weights=need_weights
    )
    close(found, right, 1e-14)


# ------------------------------------------------------------------ dropout


def test_dropout_only_in_training_repeatable_and_returned_weights_are_whole():
    module = attention_module(dropout=0.5)
    for need_weights in (False, True):
        module.eval()
        still, weights = module(*hidden(), need_weights=need_weights)
        module.dropout = 0.0
        assert torch.equal(still, module(*hidden(), need_weights=need_weights)[0])
        module.dropout = 0.5
        module.train()
        torch.manual_seed(1)
        first, kept_weights = module(*hidden(), need_weights=need_weights)
        torch.manual_seed(1)
        assert torch.equal(module(*hidden(), need_weights=need_weights)[0], first)
        assert not torch.allclose(first, still)
        if need_weights:
            assert torch.equal(kept_weights, weights)


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_of_weights_keeps_the_mean(need_weights):
    p, batch = 0.25, 4000
    module = MultiHeadAttention(2, 1, bias=False, dropout=p).double().train()
    with torch.no_grad():
        for linear in (module.W_q, module.W_k, module.W_v, module.W_o):
            linear.weight.copy_(torch.eye(2))
    torch.manual_seed(0)
    output, _ = module(torch.ones(batch, 3, 2, dtype=torch.float64), need_weights=need_weights)
    kept = output[..., 0] * 3 * (1 - p)  # number of weights of 1/3 that were kept, of three
    assert ((kept - kept.round()).abs() < 1e-9).all()
    sigma = math.sqrt(p * (1 - p) / (3 * output[..., 0].numel()))
    assert abs((kept / 3).mean().item() - (1 - p)) < 3 * sigma


# ------------------------------------------------------------------ dtypes, devices, transforms


@pytest.mark.parametrize("dtype", HALF_DTYPES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_module_in_half_precision_stays_near_float64(need_weights, dtype):
    exact = attention_module()
    half = attention_module().to(dtype)
    inputs, mask = hidden(dtype=dtype), some_mask(B, H, T, S, seed=1)
    exact.load_state_dict({name: x.double() for name, x in half.state_dict().items()})
    output, weights = half(*inputs, mask=mask, need_weights=need_weights)
    right, right_weights = exact(*(x.double() for x in inputs), mask=mask, need_weights=True)
    theirs = torch_attention(half)(*inputs, attn_mask=~mask.flatten(0, 1), need_weights=False)[0]
    seen = mask.any(-1).all(1)  # torch's module gives NaN where a head sees nothing
    assert output.dtype == dtype and output.isfinite().all()
    assert (output - right).abs()[seen].max() <= 2 * (theirs - right).abs()[seen].max()
    if need_weights:
        assert weights.dtype == dtype
        close(weights, right_weights, 1e-2 if dtype == torch.bfloat16 else 1e-3)


@pytest.mark.parametrize("need_weights", [False, True])
def test_autocast(need_weights):
    module, inputs = attention_module(dtype=torch.float32), hidden(dtype=torch.float32)
    mask = some_mask(B, 1, T, S, seed=1)
    mask[1, :, 3] = False
    right, _ = module(*inputs, mask=mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, weights = module(*inputs, mask=mask, need_weights=need_weights)
    assert output.dtype == torch.bfloat16 and output.isfinite().all()
    close(output, right, 0.1)
    assert weights is None or (weights[~mask.expand_as(weights)] == 0).all()


def test_inference_mode_and_meta_device():
    module, inputs, mask = attention_module(), hidden(), some_mask(B, 1, T, S, seed=1)
    right, _ = module(*inputs, mask=mask)
    with torch.inference_mode():
        assert torch.equal(module(*inputs, mask=mask)[0], right)
    output, weights = module.to("meta")(*(x.to("meta") for x in inputs), mask=mask.to("meta"), need_weights=True)
    assert output.shape == (B, T, D_MODEL) and weights.shape == (B, H, T, S) and weights.is_meta


@pytest.mark.parametrize("need_weights", [False, True])
def test_compiles_to_one_graph(need_weights):
    module, inputs, mask = attention_module(), hidden(), some_mask(B, 1, T, S, seed=1)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    found, right = (
        compiled(*inputs, mask=mask, need_weights=need_weights),
        module(*inputs, mask=mask, need_weights=need_weights),
    )
    close(found[0], right[0], 1e-14)
    if need_weights:
        close(found[1], right[1], 1e-14)


@torch_func_is_slow
@pytest.mark.parametrize("need_weights", [False, True])
def test_vmap_and_jacrev(need_weights):
    module, inputs, mask = attention_module(), hidden(), some_mask(B, 1, T, S, seed=1)

    def one(query, key, value, m):
        return module(query[None], key[None], value[None], m[None], need_weights=need_weights)[0][0]

    close(torch.vmap(one)(*inputs, mask), module(*inputs, mask=mask)[0])
    first = [*(x[0] for x in inputs), mask[0]]
    jacobian = torch.func.jacrev(one)(*first)
    close(jacobian, torch.autograd.functional.jacobian(lambda query: one(query, *first[1:]), first[0]))


def test_export():
    module, inputs, mask = attention_module().eval(), hidden(), some_mask(B, 1, T, S, seed=1)
    exported = torch.export.export(module, tuple(inputs), {"mask": mask}).module()
    close(exported(*inputs, mask=mask)[0], module(*inputs, mask=mask)[0], 1e-14)


def test_new_weights_are_xavier_and_biases_zero():
    torch.manual_seed(0)
    module = MultiHeadAttention(64, 4)
    limit = math.sqrt(6 / 128)
    for linear in (module.W_q, module.W_k, module.W_v, module.W_o):
        assert linear.weight.abs().max() <= limit
        assert abs(linear.weight.std().item() - limit / math.sqrt(3)) < 0.005
        assert (linear.bias == 0).all()
    assert set(parameters_of(module)) == {
        f"{W}.{kind}" for W in ("W_q", "W_k", "W_v", "W_o") for kind in ("weight", "bias")
    }
    assert set(parameters_of(MultiHeadAttention(6, 2, bias=False))) == {
        f"{W}.weight" for W in ("W_q", "W_k", "W_v", "W_o")
    }


# ------------------------------------------------------------------ many random cases: `python -m tests.figures` prints them


def test_formula_equals_the_reference_on_2000_random_shapes_and_masks():
    errors = formula_errors(2000)
    assert max(errors.values()) < 1e-12, errors


@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_half_precision_is_at_most_twice_as_far_off_as_torchs_fused_kernel(dtype):
    found = half_precision_ratio(dtype, 300)
    assert found["ratio"] <= 2.0, found


def test_multi_head_equals_the_reference_on_300_random_cases():
    errors = multi_head_errors(300)
    assert max(errors.values()) < 1e-12, errors


class TestCuda:
    pytestmark = needs_cuda

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("need_weights", [False, True])
    def test_equals_the_cpu_and_blocked_rows_are_zero(self, need_weights, dtype):
        module, mask = attention_module(dtype=dtype), some_mask(B, 1, T, S, seed=6, blocked_rows=False)
        mask[1, :, 3] = False
        right, _ = module.double()(*hidden(), mask=mask)
        module = attention_module(dtype=dtype).cuda()
        inputs = [x.cuda().requires_grad_() for x in hidden(dtype=dtype)]
        output, weights = module(*inputs, mask=mask.cuda(), need_weights=need_weights)
        output.sum().backward()
        tolerance = {torch.float64: 1e-12, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}[dtype]
        close(output, right, tolerance)
        assert torch.equal(output[1, 3], module.W_o.bias)
        assert weights is None or (weights[1, :, 3] == 0).all()
        assert (inputs[0].grad[1, 3] == 0).all()
        assert all(x.grad.isfinite().all() for x in inputs)

    def test_a_mask_on_another_device_is_refused(self):
        module, inputs = attention_module().cuda(), [x.cuda() for x in hidden()]
        with pytest.raises(ValueError, match=r"mask is on cpu but query is on cuda.*mask\.to\(query\.device\)"):
            module(*inputs, mask=some_mask(T, S))
