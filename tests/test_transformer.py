"""The whole model against the reference and torch, and what must hold whatever the weights are."""

import copy
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer_lab import (
    PAPER_BASE,
    DecoderLayer,
    EncoderLayer,
    Transformer,
    causal_mask,
    padding_mask,
)

from . import model_reference
from .model_figures import add_tied, half_precision_ratio, model_errors, paper_size_errors
from .model_support import (
    CONFIG,
    POSITIONS,
    TYINGS,
    B,
    S,
    T,
    model_of,
    names_of_torch,
    refusal,
    run_torch,
    sources,
    targets,
    torch_transformer,
)
from .support import (
    DTYPES,
    HALF_DTYPES,
    array,
    close,
    gradients_of,
    numbers,
    parameters_of,
    randomise,
    seeds,
    some_mask,
    token_ids,
    torch_func_is_slow,
)

V, D, H = CONFIG.tgt_vocab_size, CONFIG.d_model, CONFIG.num_heads
both_norms = pytest.mark.parametrize("norm_first", [False, True])
every_tying = pytest.mark.parametrize("tying", TYINGS)


# ------------------------------------------------------------------ exactness


@pytest.mark.slow
def test_model_equals_the_reference_and_torch_on_random_configs():
    errors = model_errors(40)
    assert max(errors.values()) < 1e-10, errors


@pytest.mark.slow
@both_norms
def test_paper_size_in_float32(norm_first):
    errors = paper_size_errors(norm_first)
    assert max(errors.values()) < 1e-5, errors


@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_half_precision_is_no_worse_than_torch_in_half_precision(dtype):
    found = half_precision_ratio(dtype, count=10)
    assert found["ratio"] < 2, found


@both_norms
def test_every_gradient_equals_torchs(norm_first):
    ours = model_of(norm_first=norm_first)
    theirs, src, tgt = torch_transformer(ours), sources(), targets()
    for run in (lambda: ours(src, tgt), lambda: run_torch(theirs, ours, src, tgt)):
        ours.zero_grad()
        (run() * numbers(B, T, V, seed=1)).sum().backward()
        if theirs.decoder.layers[0].linear1.weight.grad is None:
            found = {name: p.grad.clone() for name, p in ours.named_parameters()}
    oracle, seen = dict(theirs.named_parameters()), set()
    for part, layers in (("encoder", 1), ("decoder", 2)):
        for i in range(layers):
            for name, (other, rows) in names_of_torch(D, cross=part == "decoder").items():
                close(found[f"{part}.layers.{i}.{name}"], oracle[f"{part}.layers.{i}.{other}"].grad[rows], 1e-11)
                seen.add(f"{part}.layers.{i}.{name}")
        if norm_first:
            for kind in ("weight", "bias"):
                close(found[f"{part}.final_norm.{kind}"], oracle[f"{part}.norm.{kind}"].grad, 1e-11)
                seen.add(f"{part}.final_norm.{kind}")
    for name, p in ours.named_parameters():  # embeddings and output layer are ours on both sides
        if name not in seen:
            close(found[name], p.grad, 1e-11)
    assert len(seen) == 16 + 2 * 26 + 4 * norm_first


def test_torchs_whole_model_ends_both_stacks_with_a_norm_more_than_the_paper():
    """`nn.Transformer` as it is built by default, post-LN: ours, with one more LayerNorm after each stack."""
    ours = model_of()
    theirs = torch_transformer(ours)
    theirs.encoder.norm, theirs.decoder.norm = (nn.LayerNorm(D).double() for _ in range(2))
    default = nn.Transformer(D, 2, 1, 1, 8, batch_first=True)
    assert isinstance(default.encoder.norm, nn.LayerNorm) and isinstance(default.decoder.norm, nn.LayerNorm)
    mask = ours.source_mask(sources())
    memory = F.layer_norm(ours.encode(sources()), (D,))
    hidden = F.layer_norm(ours.decode(targets(), memory, src_mask=mask), (D,))
    close(run_torch(theirs, ours, sources(), targets()), ours.output(hidden), 1e-12)
    assert (ours.output(hidden) - ours(sources(), targets())).abs().max() > 0.01


@every_tying
@both_norms
@pytest.mark.parametrize("position", POSITIONS)
def test_logits_and_gradients_of_every_kind_equal_the_reference(position, norm_first, tying):
    model = model_of(1, position=position, norm_first=norm_first, tie_embeddings=tying)
    logits = model(sources(), targets())
    (logits * numbers(B, T, V, seed=2)).sum().backward()
    right, back = model_reference.transformer(
        parameters_of(model), array(sources()), array(targets()), model.config, tgt_mask=None
    )
    close(logits, right)
    expected, found = add_tied(model, back(array(numbers(B, T, V, seed=2)))), gradients_of(model)
    assert expected.keys() == found.keys()
    for name, gradient in expected.items():
        close(torch.from_numpy(found[name]), gradient, 1e-11)


@settings(max_examples=40)
@given(seed=seeds, batch=st.integers(1, 4), s=st.integers(1, 9), t=st.integers(1, 9), norm_first=st.booleans())
def test_any_masks_equal_the_reference(seed, batch, s, t, norm_first):
    model = model_of(seed % 100, norm_first=norm_first)
    src, tgt = token_ids(batch, s, vocab_size=17, seed=seed), token_ids(batch, t, vocab_size=V, seed=seed + 1)
    src_mask = some_mask(batch, H if seed % 2 else 1, 1, s, seed=seed)
    tgt_mask = some_mask(*(batch, H, t, t)[seed % 3 :], seed=seed)
    right, _ = model_reference.transformer(
        parameters_of(model), array(src), array(tgt), model.config, array(src_mask), array(tgt_mask)
    )
    close(model(src, tgt, src_mask, tgt_mask), right, 1e-11)


# ------------------------------------------------------------------ parts and masks


@both_norms
def test_forward_is_encode_decode_output(norm_first):
    model, src, tgt = model_of(norm_first=norm_first), sources(), targets()
    mask = padding_mask(src, 0)
    memory = model.encode(src)
    assert memory.shape == (B, S, D)
    assert torch.equal(memory, model.encoder(src, mask))
    hidden = model.decode(tgt, memory, src_mask=mask)
    assert hidden.shape == (B, T, D)
    assert torch.equal(hidden, model.decoder(tgt, memory, mask))
    logits = model.output(hidden)
    assert logits.shape == (B, T, V)
    assert torch.equal(logits, model(src, tgt))
    assert torch.equal(logits, model(src, tgt, mask))
    assert torch.equal(logits, model.output_linear(hidden))


def test_logits_are_no_probabilities():
    logits = model_of()(sources(), targets())
    assert (logits < 0).any() and not torch.allclose(logits.sum(-1), torch.ones(B, T, dtype=torch.float64))


def test_padding_is_found_by_the_configs_own_id():
    model = model_of(pad_id=9)
    mask = model.source_mask(sources())
    assert torch.equal(mask[:, 0, 0], sources() != 9)
    assert model_of().source_mask(sources(padded=False)) is None
    close(model(sources(), targets()), model(sources(), targets(), padding_mask(sources(), 9)), 1e-15)


@both_norms
@pytest.mark.parametrize("extra", [1, 4, 12])
def test_padding_of_the_source_changes_nothing(extra, norm_first):
    model, tgt = model_of(norm_first=norm_first), targets(1)
    real = sources()[:1, :3]
    alone = model(real, tgt)
    padded = F.pad(real, (0, extra))
    close(model(padded, tgt), alone, 1e-12)
    other_id = torch.cat([real, torch.full((1, extra), 18)], dim=1)
    close(model(other_id, tgt, padding_mask(other_id, 18)), alone, 1e-12)
    assert (model(other_id, tgt) - alone).abs().max() > 1e-3


@both_norms
def test_padding_of_the_target_changes_no_real_position(norm_first):
    model, src = model_of(norm_first=norm_first), sources()
    alone = model(src, targets()[:, :4])
    for pad in (0, 16):
        padded = targets()
        padded[:, 4:] = pad
        close(model(src, padded)[:, :4], alone, 1e-12)
        close(model(src, padded, None, padding_mask(padded, pad))[:, :4], alone, 1e-12)


@both_norms
def test_a_sentence_alone_equals_the_sentence_in_a_batch(norm_first):
    for dtype, atol in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        model = model_of(norm_first=norm_first, dtype=dtype)
        together = model(sources(), targets())
        for b in range(B):
            close(model(sources()[b : b + 1], targets()[b : b + 1]), together[b : b + 1], atol)


@torch_func_is_slow
@both_norms
@every_tying
def test_logits_do_not_depend_on_later_tokens_by_jacobian(norm_first, tying):
    model = model_of(norm_first=norm_first, tie_embeddings=tying)
    memory = model.encode(sources()[1:])
    x = model.decoder.pos_encoding(model.decoder.embedding(targets(1))).detach()[0]

    def run(one):
        h = one[None]
        for layer in model.decoder.layers:
            h = layer(h, memory)
        return model.output(model.decoder.final_norm(h))[0]

    jacobian = torch.func.jacrev(run)(x).abs().amax(dim=(1, 3))  # [logits of position, embedding of position]
    assert (jacobian.triu(1) == 0).all()
    assert (jacobian[causal_mask(T)] > 0).all()
    close(run(x)[None], model(sources()[1:], targets(1)), 1e-12)


def test_every_logit_depends_on_every_real_token_of_the_source_and_on_no_padding():
    model, tgt = model_of(), targets()
    right = model(sources(), tgt)
    for b, s in [(b, s) for b in range(B) for s in range(S)]:
        changed = sources()
        changed[b, s] = 12
        kept = padding_mask(sources(), 0)
        moved = (model(changed, tgt, kept) - right).abs().amax(-1)  # [B, T]
        assert (moved[1 - b] == 0).all()
        assert (moved[b] > 1e-6).all() if sources()[b, s] else (moved[b] == 0).all()


# ------------------------------------------------------------------ parameters


@every_tying
def test_tied_tables_are_one_parameter(tying):
    model = model_of(tie_embeddings=tying)
    tables = [model.encoder.embedding.weight, model.decoder.embedding.weight, model.output_linear.weight]
    assert len({id(table) for table in tables}) == {"none": 3, "output": 2, "all": 1}[tying]
    assert (tables[1] is tables[2]) == (tying != "none") and (tables[0] is tables[1]) == (tying == "all")
    for other in (copy.deepcopy(model), copy.deepcopy(model).float()):
        again = [other.encoder.embedding.weight, other.decoder.embedding.weight, other.output_linear.weight]
        assert len({id(table) for table in again}) == len({id(table) for table in tables})
    names = {"encoder.embedding.weight", "decoder.embedding.weight", "output_linear.weight", "output_linear.bias"}
    assert names < set(model.state_dict())
    assert len(list(model.parameters())) == 3 + 1 + 16 + 2 * 26 - {"none": 0, "output": 1, "all": 2}[tying]


@every_tying
def test_a_step_of_an_optimizer_keeps_tables_tied_and_moves_them_once(tying):
    model = model_of(tie_embeddings=tying)
    before = model.output_linear.weight.detach().clone()
    F.cross_entropy(model(sources(), targets()).flatten(0, 1), targets(seed=4).flatten()).backward()
    gradient = model.output_linear.weight.grad.clone()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    close(model.output_linear.weight, before - 0.5 * gradient, 1e-13)
    if tying != "none":
        assert torch.equal(model.decoder.embedding.weight, model.output_linear.weight)


def test_parameters_of_the_paper():
    with torch.device("meta"):
        model = Transformer(PAPER_BASE)
        untied = Transformer(replace(PAPER_BASE, tie_embeddings="none"))
    attention, ffn, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder_layer, decoder_layer = attention + ffn + 2 * norm, 2 * attention + ffn + 3 * norm
    assert (encoder_layer, decoder_layer) == (3_152_384, 4_204_032)
    table, bias = 37000 * 512, 37000
    total = 6 * (encoder_layer + decoder_layer) + table + bias
    assert sum(p.numel() for p in model.parameters()) == total == 63_119_496
    assert sum(p.numel() for p in untied.parameters()) == total + 2 * table
    assert sum(p.numel() for p in DecoderLayer(replace(PAPER_BASE)).parameters()) == decoder_layer
    assert sum(p.numel() for p in EncoderLayer(replace(PAPER_BASE)).parameters()) == encoder_layer


@pytest.mark.parametrize("output_bias", [False, True])
@both_norms
def test_state_dict_has_exactly_the_names_of_its_parts(norm_first, output_bias):
    model = Transformer(replace(CONFIG, norm_first=norm_first, output_bias=output_bias))
    expected = {f"encoder.{name}" for name in model.encoder.state_dict()}
    expected |= {f"decoder.{name}" for name in model.decoder.state_dict()}
    expected |= {"output_linear.weight"} | ({"output_linear.bias"} if output_bias else set())
    assert set(model.state_dict()) == expected == {name for name, _ in model.named_parameters()}


def test_every_parameter_learns_but_the_key_biases_and_unused_rows():
    for norm_first in (False, True):
        model = model_of(norm_first=norm_first, num_encoder_layers=2)
        (model(sources(), targets()) * numbers(B, T, V, seed=3)).sum().backward()
        for name, p in model.named_parameters():
            assert p.grad.isfinite().all(), name
            if name.endswith("W_k.bias"):
                assert p.grad.abs().max() < 1e-12, name
            else:
                assert p.grad.abs().max() > 1e-6, name
        for part, ids in ((model.encoder, sources()), (model.decoder, targets())):
            used = torch.zeros(part.embedding.num_embeddings, dtype=torch.bool)
            used[ids.flatten()] = True
            used[0] = False  # padding is looked up and then seen by nobody
            assert torch.equal(part.embedding.weight.grad.abs().amax(1) > 1e-12, used)


def test_new_models_are_drawn_apart_and_repeatably():
    models = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        models.append(Transformer(CONFIG))
    first, same, other = (m(sources(), targets()) for m in models)
    assert torch.equal(first, same) and not torch.allclose(first, other)
    weights = [p for name, p in models[0].named_parameters() if p.dim() == 2]
    assert all(not torch.equal(a, b) for i, a in enumerate(weights) for b in weights[:i] if a.shape == b.shape)


@every_tying
def test_a_new_model_is_nearly_undecided(tying):
    """The first loss is near log V: neither embeddings nor output layer start too large."""
    torch.manual_seed(0)
    config = replace(CONFIG, src_vocab_size=97, tgt_vocab_size=97, d_model=64, num_heads=4, tie_embeddings=tying)
    model = Transformer(config)
    src, tgt = token_ids(7, 11, vocab_size=97), token_ids(7, 13, vocab_size=97, seed=1)
    loss = F.cross_entropy(model(src, tgt).flatten(0, 1), token_ids(7, 13, vocab_size=97, seed=2).flatten())
    assert 4.5 < loss < 5.7  # log 97 is 4.57


# ------------------------------------------------------------------ modes and dtypes


def test_dropout_in_training_only():
    model = model_of(dropout=0.1)
    still = model.eval()(sources(), targets())
    close(still, model_of()(sources(), targets()), 1e-15)
    model.train()
    torch.manual_seed(0)
    first = model(sources(), targets())
    torch.manual_seed(0)
    assert torch.equal(model(sources(), targets()), first)
    assert not torch.allclose(first, still)
    dropped = [name for name, m in model.named_modules() if isinstance(m, nn.Dropout) and m.p == 0.1]
    assert len(dropped) == 2 + 1 * 2 + 2 * 3


@pytest.mark.parametrize("dtype", DTYPES)
@both_norms
def test_a_source_of_nothing_but_padding_is_finite_and_harms_no_other(norm_first, dtype):
    model = model_of(norm_first=norm_first, dtype=dtype)
    src = sources()
    src[0] = 0
    logits = model(src, targets())
    logits.float().pow(2).sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    close(logits[1:], model(src[1:], targets()[1:]), {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 0.1))


@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_large_activations_stay_finite_in_half_precision(dtype):
    model = randomise(Transformer(replace(CONFIG, d_model=48, norm_first=True)).to(dtype), 1, scale=3.0)
    assert model(sources(), targets()).isfinite().all()


def test_int32_ids_and_inference_mode_change_nothing():
    model = model_of()
    right = model(sources(), targets())
    assert torch.equal(model(sources().int(), targets().int()), right)
    with torch.inference_mode():
        assert torch.equal(model(sources(), targets()), right)


def test_to_moves_everything():
    model = model_of()
    for dtype in DTYPES:
        model.to(dtype)
        assert all(x.dtype == dtype for x in (*model.parameters(), *model.buffers()))
        assert model(sources(), targets()).dtype == dtype
    model.to("meta")
    assert all(x.is_meta for x in (*model.parameters(), *model.buffers()))
    assert model(sources().to("meta"), targets().to("meta")).shape == (B, T, V)


def test_built_in_float32_then_doubled():
    model = randomise(Transformer(replace(CONFIG, max_len=5001)))
    right, _ = model_reference.transformer(parameters_of(model), array(sources()), array(targets()), model.config)
    close(model.double()(sources(), targets()), right)


# ------------------------------------------------------------------ misuse


def forward(*args, **kwargs):
    return lambda model: partial(model, *args, **kwargs)


def decode(*args, **kwargs):
    """A call of `decode` with the memory of the two sources unless another is given."""

    def prepare(model):
        tgt, memory = args if len(args) == 2 else (args[0], model.encode(sources()).detach())
        return partial(model.decode, tgt, memory, **kwargs)

    return prepare


NO_BATCH = "must be token ids of shape [batch, length], got"
MISUSES = {
    "a target without a batch axis": (forward(sources(), targets()[0]), ValueError, f"tgt {NO_BATCH} (7,)"),
    "a source without a batch axis": (
        forward(sources()[0], targets(5)),
        ValueError,
        "ids must be [batch, length], got (5,)",
    ),
    "a source of numbers": (
        forward(sources().double(), targets()),
        TypeError,
        "ids must be token ids (integers), got float64",
    ),
    "a target of numbers": (
        forward(sources(), targets().float()),
        TypeError,
        "tgt must be token ids of dtype int64 or int32, got float32; convert with .long()",
    ),
    "another number of targets": (forward(sources(), targets(3)), ValueError, "src has batch 2 but tgt has batch 3"),
    "an empty source": (
        forward(sources()[:, :0], targets()),
        ValueError,
        "src is empty (shape (2, 0)); at least one token is needed",
    ),
    "an empty target": (
        forward(sources(), targets()[:, :0]),
        ValueError,
        "tgt is empty (shape (2, 0)); at least one token is needed",
    ),
    "an id of the source out of range": (
        forward(torch.tensor([[1, 2, 3], [4, 19, 5]]), targets()),
        ValueError,
        "token id 19 at [1, 1] is out of range for a vocabulary of 19",
    ),
    "an id of the target out of range": (
        forward(sources(), torch.tensor([[1, 17], [1, 2]])),
        ValueError,
        "token id 17 at [0, 1] is out of range for a vocabulary of 17",
    ),
    "a negative id": (
        forward(sources(), torch.tensor([[1, 2], [-1, 2]])),
        ValueError,
        "token id -1 at [1, 0] is out of range for a vocabulary of 17",
    ),
    "a source that is too long": (
        forward(token_ids(B, 24, vocab_size=19), targets()),
        ValueError,
        "sequence of 24 is longer than max_len 23 (build the model with max_len >= 24)",
    ),
    "a target that is too long": (
        forward(sources(), targets(length=24)),
        ValueError,
        "sequence of 24 is longer than max_len 23 (build the model with max_len >= 24)",
    ),
    "a source mask of numbers": (
        forward(sources(), targets(), padding_mask(sources(), 0).float()),
        TypeError,
        "mask must be boolean (True = may attend), got float32; a padding mask comes from padding_mask(ids, pad_id)",
    ),
    "a target mask of numbers": (
        forward(sources(), targets(), None, torch.ones(T, T)),
        TypeError,
        "mask must be boolean (True = may attend), got float32",
    ),
    "a source mask of rank 2": (
        forward(sources(), targets(), sources() != 0),
        ValueError,
        "mask of shape (2, 5) does not fit scores (batch 2, heads 3, queries 1, keys 5)",
    ),
    "a source mask that depends on the query": (
        forward(sources(), targets(length=S), causal_mask(S)),
        ValueError,
        "mask of shape (5, 5) does not fit scores (batch 2, heads 3, queries 1, keys 5)",
    ),
    "a target mask of another length": (
        forward(sources(), targets(), None, causal_mask(S)),
        ValueError,
        "mask of shape (5, 5) does not fit scores (batch 2, heads 3, queries 7, keys 7)",
    ),
    "a padding mask of the target for the source": (
        forward(sources(), targets(), padding_mask(targets(), 0)),
        ValueError,
        "mask of shape (2, 1, 1, 7) does not fit scores (batch 2, heads 3, queries 1, keys 5)",
    ),
    "decode: a target without a batch axis": (decode(targets()[0]), ValueError, f"tgt {NO_BATCH} (7,)"),
    "decode: one token without a batch axis": (decode(torch.tensor([1])), ValueError, f"tgt {NO_BATCH} (1,)"),
    "decode: another number of targets": (
        decode(targets(3)),
        ValueError,
        "tgt holds batch 3 but memory has batch 2",
    ),
    "decode: a memory without a batch axis": (
        decode(targets(), numbers(S, D)),
        ValueError,
        "memory must be [batch, length, d_model=6], got (5, 6); add the batch axis with memory.unsqueeze(0)",
    ),
    "decode: a memory of another dtype": (
        decode(targets(), numbers(B, S, D).float()),
        TypeError,
        "memory is float32 but the model is float64; encode the source with this model",
    ),
    "decode: a target that is too long": (decode(targets(length=24)), ValueError, "sequence of 24 is longer than"),
    "decode: a source mask of another length": (
        decode(targets(), src_mask=padding_mask(targets(), 0)),
        ValueError,
        "mask of shape (2, 1, 1, 7) does not fit scores (batch 2, heads 3, queries 7, keys 5)",
    ),
    "output: hidden of another width": (
        lambda model: partial(model.output, numbers(B, T, 5)),
        ValueError,
        "hidden must have width d_model=6, got 5",
    ),
    "output: hidden without a batch axis": (
        lambda model: partial(model.output, numbers(T, D)),
        ValueError,
        "hidden must be [batch, length, d_model=6], got (7, 6)",
    ),
    "encode: a mask that does not fit": (
        lambda model: partial(model.encode, sources(), causal_mask(T)),
        ValueError,
        "mask of shape (7, 7) does not fit scores (batch 2, heads 3, queries 5, keys 5)",
    ),
}
FINDING_PADDING = {"ne", "unsqueeze", "all", "slice"}  # looks at the source before anything is computed from it


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_the_documented_words_before_anything_is_computed(name):
    call, error, words = MISUSES[name]
    said, computed = refusal(call(model_of()), error)
    assert words in said
    assert set(computed) <= FINDING_PADDING


def test_without_positions_there_is_no_longest_sequence():
    model = model_of(position="none", max_len=3)
    assert model(sources(), targets(length=40)).shape == (B, 40, V)


@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_a_source_padded_on_the_left_is_refused(position):
    model = model_of(position=position)
    src = sources().clone()
    src[1] = torch.tensor([0, 0, *range(3, 3 + src.shape[1] - 2)])
    for act in (lambda: model.encode(src), lambda: model(src, targets())):
        with pytest.raises(ValueError, match="row 1 of src begins with padding .pad_id 0.*must stand on the right"):
            act()
    mask = padding_mask(src, 0)
    assert model.encode(src, mask).isfinite().all()  # the caller's own mask is the caller's own decision


def test_without_positions_padding_may_stand_on_either_side():
    model = model_of(position="none")
    right = sources().clone()
    right[:, -2:] = 0
    left = right.roll(2, dims=1)
    close(model.encode(left)[:, 2:], model.encode(right)[:, :-2], 1e-12)
