"""The encoder against the reference and torch, and what must hold whatever the weights are."""

import copy
import multiprocessing
import pickle
from dataclasses import replace

import pytest
import torch

from transformer_lab import (
    PAPER_BASE,
    TINY,
    Encoder,
    EncoderLayer,
    TransformerConfig,
    causal_mask,
    combine_masks,
    padding_mask,
)

from . import reference
from .figures import encoder_errors, paper_size_errors
from .support import (
    DTYPES,
    array,
    close,
    gradients_of,
    needs_cuda,
    needs_inductor,
    numbers,
    parameters_of,
    randomise,
    some_mask,
    token_ids,
    torch_encoder,
    torch_func_is_slow,
    torch_layer,
)

B, S = 2, 5
CONFIG = TransformerConfig(
    src_vocab_size=19, tgt_vocab_size=23, d_model=6, num_heads=3, num_encoder_layers=2, d_ff=11, max_len=17, dropout=0.0
)
both_norms = pytest.mark.parametrize("norm_first", [False, True])


def encoder_of(seed: int = 0, dtype: torch.dtype = torch.float64, **changes) -> Encoder:
    return randomise(Encoder(replace(CONFIG, **changes)).to(dtype), seed)


def ids_with_padding() -> torch.Tensor:
    return torch.tensor([[4, 7, 9, 0, 0], [3, 5, 6, 8, 10]])


# ------------------------------------------------------------------ exactness


@both_norms
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_layer_equals_torch_and_the_reference(activation, norm_first):
    config = replace(CONFIG, activation=activation, norm_first=norm_first, layer_norm_eps=0.01)
    layer = randomise(EncoderLayer(config).double(), 1)
    mask = some_mask(B, 1, S, S, seed=1, blocked_rows=False)
    theirs = torch_layer(layer, config)
    results = []
    for run in (lambda x: layer(x, mask), lambda x: theirs(x, src_mask=~mask.expand(B, 3, S, S).flatten(0, 1))):
        x = numbers(B, S, 6).requires_grad_()
        output = run(x)
        (output * numbers(B, S, 6, seed=1)).sum().backward()
        results.append((output, x.grad))
    for ours, oracle in zip(*results, strict=True):
        close(ours, oracle, 1e-11)
    found, oracle = gradients_of(layer), dict(theirs.named_parameters())
    for name in ("linear1", "linear2"):
        for kind in ("weight", "bias"):
            close(torch.from_numpy(found[f"ffn.{name}.{kind}"]), oracle[f"{name}.{kind}"].grad, 1e-11)
    for n in (1, 2):
        close(torch.from_numpy(found[f"add_norm{n}.norm.weight"]), oracle[f"norm{n}.weight"].grad, 1e-11)
    right, back = reference.encoder_layer(parameters_of(layer), array(numbers(B, S, 6)), config, array(mask))
    d_x, gradients = back(array(numbers(B, S, 6, seed=1)))
    close(results[0][0], right)
    close(results[0][1], d_x, 1e-11)
    for name, gradient in gradients.items():
        close(torch.from_numpy(found[name]), gradient, 1e-11)


@both_norms
def test_encoder_equals_torch_in_output_and_gradients(norm_first):
    ours = encoder_of(norm_first=norm_first)
    theirs, ids = torch_encoder(ours), ids_with_padding()
    memory = ours(ids, padding_mask(ids, 0))
    x = ours.pos_encoding(ours.embedding(ids)).detach().requires_grad_()
    oracle = theirs(x, src_key_padding_mask=ids == 0)
    close(memory, oracle, 1e-12)
    for out in (memory, oracle):
        (out * numbers(B, S, 6, seed=1)).sum().backward()
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        close(mine.ffn.linear1.weight.grad, other.linear1.weight.grad)
        close(mine.self_attn.W_o.weight.grad, other.self_attn.out_proj.weight.grad)
        close(mine.self_attn.W_v.weight.grad, other.self_attn.in_proj_weight.grad[12:])
    expected = torch.zeros_like(ours.embedding.weight).index_add_(0, ids.flatten(), x.grad.flatten(0, 1)) * 6**0.5
    close(ours.embedding.weight.grad, expected)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("position", ["sinusoidal", "sinusoidal_halves", "learned", "none"])
def test_built_in_float32_then_doubled(position, norm_first):
    encoder = Encoder(replace(CONFIG, position=position, norm_first=norm_first, max_len=5001))
    randomise(encoder)
    right, _ = reference.encoder(parameters_of(encoder), ids_with_padding().numpy(), encoder.config, None)
    close(encoder.double()(ids_with_padding()), right)


# ------------------------------------------------------------------ what must hold


def test_without_positions_order_is_invisible_and_with_them_it_is_not():
    ids, order = ids_with_padding(), torch.tensor([3, 0, 4, 1, 2])
    blind, sighted = encoder_of(position="none"), encoder_of()
    close(blind(ids[:, order]), blind(ids)[:, order])
    assert (sighted(ids[:, order]) - sighted(ids)[:, order]).abs().amax((1, 2)).min() > 0.01


@both_norms
@pytest.mark.parametrize("extra", [1, 4, 12])
def test_padding_changes_no_real_position(extra, norm_first):
    encoder, ids = encoder_of(norm_first=norm_first), ids_with_padding()
    alone = encoder(ids[:1, :3])
    for pad in (0, 18):
        padded = torch.cat([ids[:1, :3], torch.full((1, extra), pad)], dim=1)
        memory = encoder(padded, padding_mask(padded, pad))
        close(memory[:, :3], alone, 1e-12)
    assert (encoder(padded)[:, :3] - alone).abs().max() > 1e-3  # without the mask it would


@both_norms
def test_a_sentence_alone_equals_the_sentence_in_a_batch(norm_first):
    ids = ids_with_padding()
    mask = padding_mask(ids, 0)
    for dtype, atol in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        encoder = encoder_of(norm_first=norm_first, dtype=dtype)
        together = encoder(ids, mask)
        for b in range(B):
            close(encoder(ids[b : b + 1], mask[b : b + 1]), together[b : b + 1], atol)


@torch_func_is_slow
@both_norms
def test_causal_by_jacobian_through_the_whole_stack(norm_first):
    encoder = encoder_of(norm_first=norm_first)
    x = encoder.pos_encoding(encoder.embedding(ids_with_padding()))[1].detach()

    def run(one):
        h = one[None]
        for layer in encoder.layers:
            h = layer(h, causal_mask(S))
        return encoder.final_norm(h)[0]

    jacobian = torch.func.jacrev(run)(x).abs().amax(dim=(1, 3))  # [output position, input position]
    assert (jacobian.triu(1) == 0).all()
    assert (jacobian[causal_mask(S)] > 0).all()
    close(run(x)[None], encoder(ids_with_padding()[1:], causal_mask(S)))


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_the_mask_reaches_every_layer(num_layers):
    ids, seen = ids_with_padding(), []
    encoder = encoder_of(num_encoder_layers=num_layers)
    for layer in encoder.layers:
        layer.self_attn.register_forward_pre_hook(lambda _m, _a, kwargs: seen.append(kwargs["mask"]), with_kwargs=True)
    mask = combine_masks(padding_mask(ids, 0), causal_mask(S))
    encoder(ids, mask)
    assert len(seen) == num_layers and all(m is mask for m in seen)


@pytest.mark.parametrize("dtype", DTYPES)
@both_norms
def test_a_sentence_of_nothing_but_padding_is_finite_and_harms_no_other(norm_first, dtype):
    ids = ids_with_padding()
    encoder = encoder_of(norm_first=norm_first, dtype=dtype)
    with_empty = torch.cat([ids, torch.zeros(1, S, dtype=torch.long)])
    memory = encoder(with_empty, padding_mask(with_empty, 0))
    memory.float().pow(2).sum().backward()
    assert memory.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
    close(memory[:2], encoder(ids, padding_mask(ids, 0)), {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 0.1))


def test_every_parameter_learns_but_the_key_bias_and_unused_rows():
    for norm_first in (False, True):
        encoder = encoder_of(norm_first=norm_first, num_encoder_layers=3)
        ids = ids_with_padding()
        (encoder(ids, padding_mask(ids, 0)) * numbers(B, S, 6, seed=3)).sum().backward()
        for name, p in encoder.named_parameters():
            assert p.grad.isfinite().all(), name
            if name.endswith("W_k.bias"):
                assert p.grad.abs().max() < 1e-12, name  # it moves all scores of a query alike
            else:
                assert p.grad.abs().max() > 1e-6, name
        used = torch.zeros(19, dtype=torch.bool)
        used[ids.flatten()] = True
        assert torch.equal(encoder.embedding.weight.grad.abs().amax(1) > 0, used)


def test_layers_are_apart():
    torch.manual_seed(0)
    encoder = Encoder(replace(CONFIG, num_encoder_layers=3))
    pointers = [{p.data_ptr() for p in layer.parameters()} for layer in encoder.layers]
    assert len(set.union(*pointers)) == sum(map(len, pointers)) == 3 * 16
    first, second, _ = encoder.layers
    assert not torch.equal(first.self_attn.W_q.weight, second.self_attn.W_q.weight)
    one = sum(p.numel() for p in EncoderLayer(CONFIG).parameters())
    assert sum(p.numel() for p in encoder.layers.parameters()) == 3 * one


def test_dropout_in_training_only_and_where_the_paper_has_it():
    ids = ids_with_padding()
    encoder = encoder_of(dropout=0.1)
    still = encoder.eval()(ids)
    assert torch.equal(still, encoder(ids))
    close(still, encoder_of(dropout=0.0)(ids), 1e-15)
    encoder.train()
    torch.manual_seed(0)
    first = encoder(ids)
    torch.manual_seed(0)
    assert torch.equal(encoder(ids), first)
    assert not torch.allclose(first, still)
    dropped = [name for name, m in encoder.named_modules() if isinstance(m, torch.nn.Dropout) and m.p == 0.1]
    per_layer = [f"layers.{i}.add_norm{n}.dropout" for i in range(2) for n in (1, 2)]
    assert sorted(dropped) == sorted(["pos_encoding.dropout", *per_layer])
    assert all(layer.self_attn.dropout == 0.0 and layer.ffn.dropout.p == 0.0 for layer in encoder.layers)


def test_scale_of_embeddings_is_a_switch():
    ids = ids_with_padding()
    scaled, bare = encoder_of(num_encoder_layers=1), encoder_of(num_encoder_layers=1, scale_embedding=False)
    with torch.no_grad():
        bare.embedding.weight.mul_(6**0.5)
    close(bare(ids), scaled(ids), 1e-14)


# ------------------------------------------------------------------ names, copies, moves

LAYER_NAMES = [
    "self_attn.W_q.weight", "self_attn.W_q.bias", "self_attn.W_k.weight", "self_attn.W_k.bias",
    "self_attn.W_v.weight", "self_attn.W_v.bias", "self_attn.W_o.weight", "self_attn.W_o.bias",
    "ffn.linear1.weight", "ffn.linear1.bias", "ffn.linear2.weight", "ffn.linear2.bias",
    "add_norm1.norm.weight", "add_norm1.norm.bias", "add_norm2.norm.weight", "add_norm2.norm.bias",
]  # fmt: skip


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("position", ["sinusoidal", "sinusoidal_halves", "learned", "none"])
def test_state_dict_has_exactly_the_names_of_the_contract(position, norm_first):
    encoder = Encoder(replace(CONFIG, position=position, norm_first=norm_first))
    expected = {"embedding.weight"} | {f"layers.{i}.{name}" for i in range(2) for name in LAYER_NAMES}
    expected |= {"pos_encoding.weight"} if position == "learned" else set()
    expected |= {"final_norm.weight", "final_norm.bias"} if norm_first else set()
    assert set(encoder.state_dict()) == expected == {name for name, _ in encoder.named_parameters()}


def test_shapes_of_the_paper_encoder():
    with torch.device("meta"):
        encoder = Encoder(PAPER_BASE)
    shapes = {name: tuple(p.shape) for name, p in encoder.state_dict().items()}
    assert shapes["embedding.weight"] == (37000, 512)
    assert shapes["layers.5.self_attn.W_o.weight"] == (512, 512)
    assert shapes["layers.0.ffn.linear1.weight"] == (2048, 512) and shapes["layers.0.ffn.linear2.weight"] == (512, 2048)
    assert sum(p.numel() for p in encoder.layers.parameters()) == 6 * 3_152_384
    assert encoder.pos_encoding.table.shape == (5000, 512)


def test_load_state_dict_is_strict():
    encoder = encoder_of()
    right = encoder_of(1).state_dict()
    encoder.load_state_dict(right)
    close(encoder(ids_with_padding()), encoder_of(1)(ids_with_padding()), 1e-15)
    with pytest.raises(RuntimeError, match="Missing key"):
        encoder.load_state_dict({name: x for name, x in right.items() if "W_v" not in name})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        encoder.load_state_dict(right | {"pos_encoding.table": torch.zeros(1)})
    with pytest.raises(RuntimeError, match="size mismatch"):
        encoder.load_state_dict(encoder_of(d_ff=13).state_dict())


def test_copies_and_pickles_answer_the_same():
    encoder, ids = encoder_of(), ids_with_padding()
    right = encoder(ids)
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert torch.equal(other(ids), right)
        with torch.no_grad():
            other.embedding.weight.zero_()
        assert torch.equal(encoder(ids), right)


def _answer(encoder, ids, queue):
    queue.put(encoder(ids).detach().numpy())


@pytest.mark.slow
def test_round_trip_through_a_spawned_process():
    encoder, ids = encoder_of(), ids_with_padding()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_answer, args=(encoder, ids, queue))
    process.start()
    try:
        answer = queue.get(timeout=120)
    finally:
        process.join(timeout=30)
    assert process.exitcode == 0
    close(encoder(ids), answer, 1e-15)


def test_to_moves_everything():
    encoder = encoder_of()
    for dtype in DTYPES:
        encoder.to(dtype)
        tensors = [*encoder.parameters(), *encoder.buffers()]
        assert len(tensors) == 34 and all(x.dtype == dtype for x in tensors)
        assert encoder(ids_with_padding()).dtype == dtype
    encoder.to("meta")
    assert all(x.is_meta for x in (*encoder.parameters(), *encoder.buffers()))
    ids = ids_with_padding().to("meta")
    assert encoder(ids, padding_mask(ids, 0)).shape == (B, S, 6)


def test_default_dtype_float64():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        encoder = randomise(Encoder(CONFIG))
    finally:
        torch.set_default_dtype(before)
    right, _ = reference.encoder(parameters_of(encoder), ids_with_padding().numpy(), CONFIG, None)
    close(encoder(ids_with_padding()), right)


def test_default_device():
    torch.set_default_device("meta")
    try:
        ids = torch.zeros(B, S, dtype=torch.long)
        memory = Encoder(CONFIG)(ids, combine_masks(padding_mask(ids, 0), causal_mask(S)))
    finally:
        torch.set_default_device(None)
    assert memory.is_meta and memory.shape == (B, S, 6)


# ------------------------------------------------------------------ modes and transforms of torch


def test_inference_mode_int32_and_autocast():
    encoder, ids = encoder_of(dtype=torch.float32), ids_with_padding()
    mask = padding_mask(ids, 0)
    right = encoder(ids, mask)
    with torch.inference_mode():
        assert torch.equal(encoder(ids, mask), right)
    assert torch.equal(encoder(ids.int(), mask), right)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        close(encoder(ids, mask), right, 0.1)


@both_norms
@pytest.mark.slow
def test_compiles_to_one_graph(norm_first):
    encoder, ids = encoder_of(norm_first=norm_first), ids_with_padding()
    torch._dynamo.reset()
    compiled = torch.compile(encoder, fullgraph=True, backend="aot_eager")
    close(compiled(ids, padding_mask(ids, 0)), encoder(ids, padding_mask(ids, 0)), 1e-13)


@pytest.mark.slow
def test_compiles_to_one_graph_of_any_length():
    encoder, ids = encoder_of(), ids_with_padding()
    torch._dynamo.reset()
    compiled = torch.compile(encoder, fullgraph=True, backend="aot_eager", dynamic=True)
    for length in (5, 3, 4):
        some = ids[:, :length]
        close(compiled(some, padding_mask(some, 0)), encoder(some, padding_mask(some, 0)), 1e-13)


@pytest.mark.slow
@needs_inductor
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # said by inductor to itself
def test_compiles_with_inductor():
    encoder, ids = encoder_of(), ids_with_padding()
    torch._dynamo.reset()
    compiled = torch.compile(encoder, fullgraph=True)
    close(compiled(ids, padding_mask(ids, 0)), encoder(ids, padding_mask(ids, 0)), 1e-12)


def test_exports_with_any_length():
    encoder, ids = encoder_of().eval(), ids_with_padding()
    length = torch.export.Dim("S", min=2, max=17)
    program = torch.export.export(
        encoder, (ids, padding_mask(ids, 0)), dynamic_shapes=({1: length}, {3: length})
    ).module()
    for n in (5, 2, 4):
        some = ids[:, :n]
        close(program(some, padding_mask(some, 0)), encoder(some, padding_mask(some, 0)), 1e-13)


@torch_func_is_slow
def test_vmap_and_gradients_by_functional_call():
    encoder, ids = encoder_of(), ids_with_padding()
    mask = padding_mask(ids, 0)
    close(torch.vmap(lambda row, m: encoder(row[None], m[None])[0])(ids, mask), encoder(ids, mask))
    weights = dict(encoder.named_parameters())

    def loss(parameters):
        return (torch.func.functional_call(encoder, parameters, (ids, mask)) * numbers(B, S, 6, seed=1)).sum()

    found = torch.func.grad(loss)(weights)
    loss(weights).backward()
    for name, p in encoder.named_parameters():
        close(found[name], p.grad)


def test_tiny_is_built_as_written():
    encoder = Encoder(TINY)
    assert len(encoder.layers) == 1 and encoder.layers[0].self_attn.num_heads == 2
    assert encoder.config is TINY
    assert encoder(token_ids(2, 64, vocab_size=11)).shape == (2, 64, 8)


# ------------------------------------------------------------------ many random cases: `python -m tests.figures` prints them


def test_encoder_equals_the_reference_and_torch_on_random_configs():
    errors = encoder_errors(60)
    assert max(errors.values()) < 1e-10, errors


@both_norms
@pytest.mark.slow
def test_paper_size_in_float32(norm_first):
    errors = paper_size_errors(norm_first)
    assert max(errors.values()) < 1e-5, errors


class TestCuda:
    pytestmark = needs_cuda

    @both_norms
    def test_equals_the_cpu(self, norm_first):
        encoder, ids = encoder_of(norm_first=norm_first), ids_with_padding()
        right = encoder(ids, padding_mask(ids, 0)).detach()
        encoder.cuda()
        assert all(x.is_cuda for x in (*encoder.parameters(), *encoder.buffers()))
        close(encoder(ids.cuda(), padding_mask(ids, 0).cuda()), right, 1e-12)

    def test_an_id_out_of_range_is_an_error_and_not_a_device_assert(self):
        encoder = encoder_of().cuda()
        with pytest.raises(ValueError, match=r"token id 19 at \[0, 1\] is out of range for a vocabulary of 19"):
            encoder(torch.tensor([[3, 19]]).cuda())
        assert encoder(torch.tensor([[3, 18]]).cuda()).isfinite().all()
