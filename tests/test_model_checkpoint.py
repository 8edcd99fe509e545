"""Checkpoints of whole models: every tensor comes back, tied tables tied, and what does not fit is refused whole."""

import json
from dataclasses import replace

import pytest
import safetensors
import torch
import torch.nn.functional as F

from transformer_lab import Decoder, Transformer, TransformerConfig
from transformer_lab.checkpoint import CheckpointError, load_model, load_weights, read_checkpoint, save_model
from transformer_lab.generation import beam_search, greedy_decode

from .model_support import CONFIG, POSITIONS, TYINGS, model_of, sources, targets
from .support import DTYPES, close, needs_cuda, numbers, randomise

every_tying = pytest.mark.parametrize("tying", TYINGS)


def tables(model: Transformer) -> list[torch.Tensor]:
    return [model.encoder.embedding.weight, model.decoder.embedding.weight, model.output_linear.weight]


@every_tying
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_model_comes_back_bit_for_bit_and_tied_as_it_was(tmp_path, tying, dtype):
    model = model_of(dtype=dtype, tie_embeddings=tying, norm_first=True, position="learned")
    save_model(tmp_path / "m.safetensors", model, steps=7)
    loaded = load_model(tmp_path / "m.safetensors")
    assert type(loaded) is Transformer and loaded.config == model.config and not loaded.training
    assert list(loaded.state_dict()) == list(model.state_dict())
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor) and loaded.state_dict()[name].dtype == dtype
    assert len({id(t) for t in tables(loaded)}) == len({id(t) for t in tables(model)})
    assert torch.equal(loaded(sources(), targets()), model.eval()(sources(), targets()))
    assert torch.equal(
        greedy_decode(loaded, sources(), max_new_tokens=5), greedy_decode(model, sources(), max_new_tokens=5)
    )
    for ours, theirs in zip(
        *(beam_search(m, sources(), num_beams=2, max_new_tokens=4) for m in (loaded, model)), strict=True
    ):
        assert torch.equal(ours, theirs)


@every_tying
def test_a_tied_table_is_in_the_file_once(tmp_path, tying):
    save_model(tmp_path / "m.safetensors", model_of(tie_embeddings=tying))
    with safetensors.safe_open(tmp_path / "m.safetensors", "pt") as file:
        names, shared = set(file.keys()), json.loads(file.metadata()["shared"])
    everything = set(model_of(tie_embeddings=tying).state_dict())
    assert names | set(shared) == everything and not names & set(shared)
    assert len(shared) == {"none": 0, "output": 1, "all": 2}[tying]
    checkpoint = read_checkpoint(tmp_path / "m.safetensors")
    assert set(checkpoint.tensors) == everything and checkpoint.model == "Transformer"


@every_tying
def test_training_goes_on_after_loading_as_if_nothing_had_been(tmp_path, tying):
    model = model_of(tie_embeddings=tying)
    save_model(tmp_path / "m.safetensors", model)
    results = []
    for one in (model, load_model(tmp_path / "m.safetensors").train()):
        optimizer = torch.optim.Adam(one.parameters(), lr=0.01)
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(one(sources(), targets()).flatten(0, 1), targets(seed=step).flatten()).backward()
            optimizer.step()
        results.append(one)
    for a, b in zip(results[0].parameters(), results[1].parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("position", POSITIONS)
def test_stored_in_half_the_space_and_loaded_in_the_dtype_it_had(tmp_path, position):
    model = model_of(dtype=torch.float32, position=position)
    save_model(tmp_path / "whole.safetensors", model)
    save_model(tmp_path / "half.safetensors", model, dtype=torch.float16)
    loaded = load_model(tmp_path / "half.safetensors")
    assert all(p.dtype == torch.float32 for p in loaded.parameters())
    close(loaded(sources(), targets()), model(sources(), targets()), 0.02)
    sizes = [sum(t.nbytes for t in read_checkpoint(path).tensors.values()) for path in sorted(tmp_path.iterdir())]
    assert sizes[1] == 2 * sizes[0]


def test_a_loaded_model_computes_its_positions_anew_in_float64(tmp_path):
    """The table is not in the file; a model saved in float16 and widened has no rounding of float16 in its positions."""
    model = model_of(dtype=torch.float16)
    save_model(tmp_path / "m.safetensors", model)
    loaded = load_model(tmp_path / "m.safetensors").double()
    fresh = Transformer(CONFIG).double()
    assert torch.equal(loaded.decoder.pos_encoding.table, fresh.decoder.pos_encoding.table)
    assert not any("table" in name for name in read_checkpoint(tmp_path / "m.safetensors").tensors)


def test_a_decoder_alone(tmp_path):
    decoder = randomise(Decoder(CONFIG).double())
    save_model(tmp_path / "d.safetensors", decoder)
    loaded, memory = load_model(tmp_path / "d.safetensors"), numbers(2, 5, 6)
    assert type(loaded) is Decoder and torch.equal(loaded(targets(), memory), decoder.eval()(targets(), memory))


def test_loading_draws_no_random_numbers_and_saving_changes_nothing(tmp_path):
    model = model_of(tie_embeddings="all")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.get_rng_state()
    save_model(tmp_path / "m.safetensors", model)
    load_model(tmp_path / "m.safetensors")
    assert torch.equal(torch.get_rng_state(), state) and model.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


CHANGES = {
    "another width": {"d_model": 9},
    "more layers of the decoder": {"num_decoder_layers": 3},
    "fewer layers of the encoder": {"num_encoder_layers": 2, "num_decoder_layers": 1},
    "pre-LN": {"norm_first": True},
    "no bias at the output": {"output_bias": False},
    "learned positions": {"position": "learned"},
    "another vocabulary": {"tgt_vocab_size": 18},
}


@pytest.mark.parametrize("name", CHANGES)
def test_weights_of_another_config_are_refused_and_nothing_is_loaded(name):
    model, other = model_of(), Transformer(replace(CONFIG, **CHANGES[name])).double()
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    with pytest.raises(
        CheckpointError,
        match=r"other\.safetensors: does not fit Transformer; nothing was loaded; .*(missing|unexpected|shape)",
    ):
        load_weights(model, other.state_dict(), source="other.safetensors")
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())


@pytest.mark.parametrize("tying", ["output", "all"])
def test_two_contents_for_one_table_are_refused(tying):
    """Copied one after the other, the last one would win without a word."""
    model, untied = model_of(tie_embeddings=tying), model_of(1, src_vocab_size=17 if tying == "all" else 19)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    with pytest.raises(CheckpointError, match=r"two tables for one: .*output_linear\.weight and .*embedding\.weight"):
        load_weights(model, untied.state_dict(), source="untied.safetensors")
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())
    equal = untied.state_dict()
    equal |= {
        name: equal["decoder.embedding.weight"]
        for name in ("encoder.embedding.weight", "output_linear.weight")
        if equal[name].shape == (17, 6)
    }
    load_weights(model, equal, source="equal.safetensors")
    assert torch.equal(model.output_linear.weight, untied.decoder.embedding.weight)


def test_every_flipped_byte_of_the_weights_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    small = TransformerConfig(3, 2, 2, 1, 1, 1, 1, max_len=3, tie_embeddings="output")
    save_model(path, Transformer(small))
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match=r"m\.safetensors"):
            load_model(path)
    path.write_bytes(whole)
    assert load_model(path).config == small


@pytest.mark.parametrize(
    "claim", [{"decoder.embedding.weight": "encoder.embedding.weight"}, {"output_linear.weight": "nowhere"}]
)
def test_a_file_that_ties_what_the_config_does_not_is_refused_or_harmless(tmp_path, claim):
    """A list of shared tables that names what is not there is damage; one that fits gives an untied model with equal tables."""
    from transformer_lab.sealed import seal, unseal

    path = tmp_path / "m.safetensors"
    model = model_of(src_vocab_size=17)
    save_model(path, model)
    names = ("format", "transformer_lab", "model", "dtype", "config", "shared", "metadata")
    tensors, texts = unseal(path, names)
    for name in claim:
        del tensors[name]
    path.write_bytes(seal(path, tensors, {**texts, "shared": json.dumps(claim)}))
    if "nowhere" in claim.values():
        with pytest.raises(CheckpointError, match="damaged"):
            load_model(path)
    else:
        loaded = load_model(path)
        assert loaded.decoder.embedding.weight is not loaded.encoder.embedding.weight
        assert torch.equal(loaded.decoder.embedding.weight, loaded.encoder.embedding.weight)


class TestCuda:
    pytestmark = needs_cuda

    @every_tying
    def test_from_and_to_the_gpu(self, tmp_path, tying):
        model = model_of(tie_embeddings=tying)
        save_model(tmp_path / "m.safetensors", model.cuda())
        loaded = load_model(tmp_path / "m.safetensors", device="cuda")
        assert all(x.is_cuda for x in (*loaded.parameters(), *loaded.buffers()))
        assert len({id(t) for t in tables(loaded)}) == len({id(t) for t in tables(model)})
        right = model.eval()(sources().cuda(), targets().cuda())
        assert torch.equal(loaded(sources().cuda(), targets().cuda()), right)
        close(load_model(tmp_path / "m.safetensors")(sources(), targets()), right, 1e-11)
