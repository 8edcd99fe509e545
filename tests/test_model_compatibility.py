"""The whole model under what torch offers around it: compile, export, vmap, functional calls, copies, autocast, GPUs."""

import copy
import multiprocessing
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab.generation import beam_search, greedy_decode, sample

from .model_support import POSITIONS, TYINGS, B, T, cache_of, model_of, sources, step_by_step, targets
from .support import DTYPES, HALF_DTYPES, close, needs_cuda, needs_inductor, numbers, torch_func_is_slow

both_norms = pytest.mark.parametrize("norm_first", [False, True])
V = 17


# ------------------------------------------------------------------ compile and export


@pytest.mark.parametrize(("norm_first", "padded"), [(False, True), (True, False)])
@pytest.mark.slow
def test_compiles_to_one_graph(norm_first, padded):
    model = model_of(norm_first=norm_first)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    close(compiled(sources(padded), targets()), model(sources(padded), targets()), 1e-13)


@pytest.mark.slow
def test_gradients_of_the_compiled_model():
    model, found = model_of(tie_embeddings="all"), []
    torch._dynamo.reset()
    for run in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
        model.zero_grad()
        (run(sources(), targets()) * numbers(B, T, V)).sum().backward()
        found.append([p.grad.clone() for p in model.parameters()])
    for eager, compiled in zip(*found, strict=True):
        close(compiled, eager, 1e-12)


@pytest.mark.slow
def test_parts_compile_to_one_graph_each():
    model, mask = model_of(), model_of().source_mask(sources())
    memory = model.encode(sources()).detach()
    for call, args, kwargs in (
        (model.decode, (targets(), memory), {"src_mask": mask}),
        (model.decoder.layers[0], (numbers(B, T, 6), memory, mask), {}),
    ):
        torch._dynamo.reset()
        close(torch.compile(call, fullgraph=True, backend="aot_eager")(*args, **kwargs), call(*args, **kwargs), 1e-13)


@pytest.mark.slow
def test_a_step_with_a_cache_compiles_to_one_graph():
    """Every new length of the cache is a new graph at first; what counts is that none is broken and all are right."""
    model, src, tgt = model_of(), sources(), targets()
    torch._dynamo.reset()
    with torch.no_grad():
        memory, cache = cache_of(model, src, T)
        step = torch.compile(model.decode, fullgraph=True, backend="aot_eager")
        found = [model.output(step(tgt[:, t : t + 1], memory, cache=cache)) for t in range(3)]
    close(torch.cat(found, dim=1), model(src, tgt)[:, :3], 1e-12)


@pytest.mark.slow
def test_compiles_to_one_graph_of_any_length():
    model = model_of()
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for s, t in ((5, 7), (3, 4), (4, 6)):
        src, tgt = sources()[:, :s], targets()[:, :t]
        close(compiled(src, tgt), model(src, tgt), 1e-13)


@pytest.mark.slow
@needs_inductor
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # said by inductor to itself
def test_compiles_with_inductor():
    model = model_of()
    torch._dynamo.reset()
    close(torch.compile(model, fullgraph=True)(sources(), targets()), model(sources(), targets()), 1e-12)


@pytest.mark.parametrize(
    "position", ["sinusoidal", *(pytest.param(p, marks=pytest.mark.slow) for p in POSITIONS if p != "sinusoidal")]
)
@pytest.mark.slow
def test_exports_with_any_lengths(position):
    model = model_of(position=position).eval()
    s, t = torch.export.Dim("S", min=2, max=20), torch.export.Dim("T", min=2, max=20)
    program = torch.export.export(model, (sources(), targets()), dynamic_shapes=({1: s}, {1: t})).module()
    for a, b in ((5, 7), (2, 3), (4, 2), (5, 5)):
        src, tgt = sources()[:, :a], targets()[:, :b]
        close(program(src, tgt), model(src, tgt), 1e-13)


# ------------------------------------------------------------------ torch.func


@torch_func_is_slow
@both_norms
def test_vmap_over_sentences(norm_first):
    model = model_of(norm_first=norm_first)
    found = torch.vmap(lambda src, tgt: model(src[None], tgt[None])[0])(sources(), targets())
    close(found, model(sources(), targets()), 1e-12)


@torch_func_is_slow
@pytest.mark.parametrize("tying", TYINGS)
def test_gradients_by_functional_call(tying):
    model = model_of(tie_embeddings=tying)
    weights = dict(model.named_parameters())

    def loss(parameters):
        logits = torch.func.functional_call(model, parameters, (sources(), targets()), tie_weights=True)
        return (logits * numbers(B, T, V, seed=1)).sum()

    found = torch.func.grad(loss)(weights)
    loss(weights).backward()
    for name, p in model.named_parameters():
        close(found[name], p.grad, 1e-12)


@torch_func_is_slow
def test_jacobian_of_the_loss_by_sentence():
    """Gradients per sentence, vmap around grad: they add up to those of the batch."""
    model = model_of()
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters, src, tgt):
        logits = torch.func.functional_call(model, parameters, (src[None], tgt[None, :-1]))
        return F.cross_entropy(logits[0], tgt[1:], reduction="sum")

    each = torch.vmap(torch.func.grad(loss), (None, 0, 0))(weights, sources(), targets())
    F.cross_entropy(
        model(sources(), targets()[:, :-1]).flatten(0, 1), targets()[:, 1:].flatten(), reduction="sum"
    ).backward()
    for name, p in model.named_parameters():
        close(each[name].sum(0), p.grad, 1e-12)


@torch_func_is_slow
def test_jacobian_by_hidden_states():
    model = model_of()
    hidden = numbers(B, T, 6)
    jacobian = torch.func.jacrev(model.output)(hidden)
    close(jacobian[1, 2, :, 1, 2], model.output_linear.weight, 1e-13)
    assert (jacobian[1, 2, :, 1, 3] == 0).all()


def test_gradcheck_through_the_decoder():
    model = model_of(activation="gelu", num_encoder_layers=1, num_decoder_layers=1)
    mask = model.source_mask(sources())
    memory = numbers(B, 5, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda m: model.decode(targets()[:, :3], m, src_mask=mask), (memory,))


# ------------------------------------------------------------------ copies and processes


@pytest.mark.parametrize("tying", TYINGS)
def test_copies_and_pickles_answer_the_same_and_live_on_their_own(tying):
    model = model_of(tie_embeddings=tying)
    right = model(sources(), targets())
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(sources(), targets()), right)
        assert len(list(other.parameters())) == len(list(model.parameters()))
        with torch.no_grad():
            other.output_linear.weight.zero_()
        assert torch.equal(model(sources(), targets()), right)


def _answer(model, src, queue):
    memory, cache = cache_of(model, src, T)
    queue.put(
        [
            step_by_step(model, targets(), memory, cache, (1, 4, 2)).detach().numpy(),
            greedy_decode(model, src, max_new_tokens=6).numpy(),
        ]
    )


@pytest.mark.slow
def test_round_trip_through_a_spawned_process():
    model = model_of(tie_embeddings="output")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_answer, args=(model, sources(), queue))
    process.start()
    try:
        logits, ids = queue.get(timeout=120)
    finally:
        process.join(timeout=30)
    assert process.exitcode == 0
    close(model(sources(), targets()), logits, 1e-12)
    assert greedy_decode(model, sources(), max_new_tokens=6).tolist() == ids.tolist()


@pytest.mark.parametrize("tying", TYINGS)
def test_state_dict_round_trip(tying):
    model, other = model_of(tie_embeddings=tying), model_of(1, tie_embeddings=tying)
    result = other.load_state_dict(model.state_dict())
    assert not result.missing_keys and not result.unexpected_keys
    assert torch.equal(other(sources(), targets()), model(sources(), targets()))


def test_training_with_checkpointed_layers_gives_the_same_gradients():
    model = model_of(norm_first=True)
    memory = model.encode(sources()).detach()
    x, found = numbers(B, T, 6), []
    for keep in (True, False):
        model.zero_grad()
        h = x
        for layer in model.decoder.layers:
            h = layer(h, memory) if keep else torch.utils.checkpoint.checkpoint(layer, h, memory, use_reentrant=False)
        h.pow(2).sum().backward()
        found.append([p.grad.clone() for p in model.decoder.layers.parameters()])
    for whole, again in zip(*found, strict=True):
        close(again, whole, 1e-13)


# ------------------------------------------------------------------ dtypes


@both_norms
@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_autocast_on_the_cpu(dtype, norm_first):
    model = model_of(norm_first=norm_first, dtype=torch.float32)
    right = model(sources(), targets()).detach()
    with torch.autocast("cpu", dtype=dtype):
        logits = model(sources(), targets())
        assert logits.dtype == dtype
        close(logits, right, 0.15 if dtype == torch.bfloat16 else 0.02)
        memory, cache = cache_of(model, sources(), T)
        cached = step_by_step(model, targets(), memory, cache, (2, 1, 4))
        ids = greedy_decode(model, sources(), max_new_tokens=4)
        beams, scores = beam_search(model, sources(), num_beams=2, max_new_tokens=4)
        drawn = sample(model, sources(), max_new_tokens=4)
    close(cached, right, 0.15 if dtype == torch.bfloat16 else 0.02)
    F.cross_entropy(logits.float().flatten(0, 1), targets(seed=4).flatten()).backward()
    assert all(p.grad.isfinite().all() and p.grad.dtype == torch.float32 for p in model.parameters())
    assert ids.shape[0] == drawn.shape[0] == beams.shape[0] == 2 and scores.isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_model_of_any_dtype_trains_and_writes(dtype):
    model = model_of(dtype=dtype)
    F.cross_entropy(model(sources(), targets()).float().flatten(0, 1), targets(seed=4).flatten()).backward()
    assert all(p.grad.isfinite().all() and p.grad.dtype == dtype for p in model.parameters())
    for use_cache in (False, True):
        assert greedy_decode(model, sources(), max_new_tokens=4, use_cache=use_cache).dtype == torch.int64


def test_default_dtype_and_default_device():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        model = model_of()
        ids = greedy_decode(model, sources(), max_new_tokens=4)
    finally:
        torch.set_default_dtype(before)
    assert torch.equal(ids, greedy_decode(model_of(), sources(), max_new_tokens=4))
    torch.set_default_device("meta")
    try:
        model = nn.Sequential(model_of())[0]
        logits = model(torch.zeros(B, 5, dtype=torch.long), torch.ones(B, T, dtype=torch.long))
        memory, cache = cache_of(model, torch.zeros(B, 5, dtype=torch.long), T)
        hidden = model.decode(torch.ones(B, 3, dtype=torch.long), memory, cache=cache)
    finally:
        torch.set_default_device(None)
    assert logits.is_meta and logits.shape == (B, T, V) and hidden.shape == (B, 3, 6)


# ------------------------------------------------------------------ GPU


class TestCuda:
    pytestmark = needs_cuda

    @both_norms
    @pytest.mark.parametrize("position", POSITIONS)
    def test_equals_the_cpu_in_output_and_gradients(self, norm_first, position):
        model = model_of(norm_first=norm_first, position=position)
        right = model(sources(), targets())
        right.pow(2).sum().backward()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
        model.zero_grad()
        model.cuda()
        assert all(x.is_cuda for x in (*model.parameters(), *model.buffers()))
        found = model(sources().cuda(), targets().cuda())
        found.pow(2).sum().backward()
        close(found, right, 1e-11)
        for name, p in model.named_parameters():
            close(p.grad, gradients[name], 1e-9)

    @pytest.mark.parametrize("dtype", HALF_DTYPES)
    def test_autocast(self, dtype):
        model = model_of(dtype=torch.float32).cuda()
        right = model(sources().cuda(), targets().cuda()).detach()
        with torch.autocast("cuda", dtype=dtype):
            close(model(sources().cuda(), targets().cuda()), right, 0.15 if dtype == torch.bfloat16 else 0.02)
            memory, cache = cache_of(model, sources().cuda(), T)
            close(step_by_step(model, targets().cuda(), memory, cache, (2, 1, 4)), right, 0.15)

    def test_tied_tables_stay_tied(self):
        model = model_of(tie_embeddings="all").cuda()
        assert model.encoder.embedding.weight is model.decoder.embedding.weight is model.output_linear.weight

    def test_tensors_of_two_devices_are_an_error_that_names_them(self):
        model = model_of().cuda()
        memory = model.encode(sources().cuda())
        with pytest.raises(ValueError, match="memory is on cpu but the model is on cuda:0"):
            model.decode(targets().cuda(), memory.cpu())
        with pytest.raises(ValueError, match="mask is on cpu but"):
            model(sources().cuda(), targets().cuda(), torch.ones(B, 1, 1, 5, dtype=torch.bool))
