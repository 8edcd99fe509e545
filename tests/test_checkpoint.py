"""Checkpoints: whole or refused, and the old file never lost."""

import errno
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc

import pytest
import safetensors.torch
import torch
from torch import nn

from transformer_lab import Decoder, Encoder, Transformer, TransformerConfig, atomic
from transformer_lab.atomic import check_writable, write_atomically
from transformer_lab.checkpoint import CheckpointError, load_model, load_weights, read_checkpoint, save_model
from transformer_lab.sealed import MAX_HEADER, seal, unseal

SMALL = TransformerConfig(
    src_vocab_size=3,
    tgt_vocab_size=2,
    d_model=2,
    num_heads=1,
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_ff=1,
    max_len=3,
)


def encoder(seed: int = 0, **changes) -> Encoder:
    torch.manual_seed(seed)
    return Encoder(TransformerConfig(**{**SMALL.to_dict(), "dropout": 0.0, **changes}))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "small.safetensors"
    save_model(path, encoder(), note="first")
    return path.read_bytes()


def refused(path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def same_weights(a: nn.Module, b: nn.Module) -> bool:
    one, other = a.state_dict(), b.state_dict()
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and torch.equal(one[name], other[name]) for name in one
    )


# What goes in comes out


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_saved_model_comes_back_bit_for_bit(tmp_path, dtype):
    model = encoder(num_encoder_layers=2, d_model=6, num_heads=3, norm_first=True, position="learned").to(dtype)
    save_model(tmp_path / "m.safetensors", model, steps=7, words=["我爱你", "ab"])
    loaded = load_model(tmp_path / "m.safetensors")
    assert same_weights(model, loaded)
    assert loaded.config == model.config
    assert not loaded.training
    ids = torch.tensor([[1, 2, 1]])
    torch.testing.assert_close(loaded(ids), model.eval()(ids), rtol=0, atol=0)
    checkpoint = read_checkpoint(tmp_path / "m.safetensors")
    assert checkpoint.metadata == {"steps": 7, "words": ["我爱你", "ab"]}
    assert (checkpoint.config, checkpoint.model, checkpoint.dtype) == (model.config, "Encoder", dtype)


def test_float16_halves_the_file_and_loads_into_float32(tmp_path):
    model = encoder(d_model=32, num_heads=4, d_ff=64)
    save_model(tmp_path / "full.safetensors", model)
    save_model(tmp_path / "half.safetensors", model, dtype=torch.float16)
    numbers = sum(weight.numel() for weight in model.parameters())
    full, half = ((tmp_path / f"{name}.safetensors").stat().st_size for name in ("full", "half"))
    assert abs(full - half - 2 * numbers) < 16  # the header is padded
    loaded = load_model(tmp_path / "half.safetensors")
    for name, weight in loaded.state_dict().items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, model.state_dict()[name].half().float())


def test_a_number_too_large_for_float16_is_refused_by_name(tmp_path):
    model = encoder()
    with torch.no_grad():
        model.embedding.weight[1, 0] = 70000.0
    with pytest.raises(
        CheckpointError, match=r"m\.safetensors: 1 numbers of embedding\.weight .* too large for torch\.float16"
    ):
        save_model(tmp_path / "m.safetensors", model, dtype=torch.float16)
    assert list(tmp_path.iterdir()) == []


def test_a_tied_table_is_stored_once_and_comes_back_tied(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = SMALL
            self.table = nn.Embedding(31, 17)
            self.output = nn.Linear(17, 31, bias=False)
            self.output.weight = self.table.weight

    model, other = Tied(), Tied()
    save_model(tmp_path / "tied.safetensors", model)
    assert (tmp_path / "tied.safetensors").stat().st_size < 31 * 17 * 4 + 2000
    checkpoint = read_checkpoint(tmp_path / "tied.safetensors")
    assert checkpoint.tensors.keys() == {"table.weight", "output.weight"}
    load_weights(other, checkpoint.tensors, source="tied")
    assert torch.equal(other.output.weight, model.table.weight)
    assert other.output.weight is other.table.weight


@pytest.mark.parametrize("tie_embeddings", ["none", "output", "all"])
@pytest.mark.parametrize("kind", [Transformer, Decoder])
def test_decoders_and_whole_models_come_back_too(tmp_path, kind, tie_embeddings):
    torch.manual_seed(4)
    model = kind(
        TransformerConfig(**{**SMALL.to_dict(), "tgt_vocab_size": 3, "d_model": 4, "tie_embeddings": tie_embeddings})
    )
    save_model(tmp_path / "m.safetensors", model)
    loaded = load_model(tmp_path / "m.safetensors")
    assert type(loaded) is kind and same_weights(loaded, model)
    if kind is Transformer:
        assert (loaded.output_linear.weight is loaded.decoder.embedding.weight) == (tie_embeddings != "none")


def test_weights_that_are_views_or_transposed_are_stored_as_they_look(tmp_path):
    model = encoder(d_model=6, num_heads=3, d_ff=5)
    model.layers[0].ffn.linear1.weight = nn.Parameter(torch.arange(30.0).reshape(6, 5).T)
    save_model(tmp_path / "m.safetensors", model)
    assert same_weights(load_model(tmp_path / "m.safetensors"), model)


@pytest.mark.slow
def test_the_same_model_gives_the_same_bytes_in_every_process(tmp_path, whole):
    script = "import sys; from tests.test_checkpoint import *; save_model(sys.argv[1], encoder(), note='first')"
    path = tmp_path / "again.safetensors"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, env=os.environ | {"PYTHONHASHSEED": "5"})
    assert path.read_bytes() == whole


def test_loading_draws_no_random_numbers(tmp_path):
    save_model(tmp_path / "m.safetensors", encoder())
    torch.manual_seed(3)
    before = torch.get_rng_state()
    load_model(tmp_path / "m.safetensors")
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_is_loaded_onto_the_device_asked_for(tmp_path):
    save_model(tmp_path / "m.safetensors", encoder())
    assert all(weight.is_meta for weight in load_model(tmp_path / "m.safetensors", device="meta").parameters())


def test_other_safetensors_readers_open_the_file(tmp_path, whole):
    (tmp_path / "m.safetensors").write_bytes(whole)
    with safetensors.safe_open(tmp_path / "m.safetensors", "pt") as file:
        assert json.loads(file.metadata()["config"])["d_model"] == 2
        assert torch.equal(file.get_tensor("embedding.weight"), encoder().embedding.weight)


# What is not whole is refused


@pytest.mark.slow
def test_every_truncation_is_refused(tmp_path, whole):
    for length in range(len(whole)):
        message = refused(tmp_path / "cut.safetensors", whole[:length])
        assert "empty" in message or "cut off" in message


@pytest.mark.slow
def test_every_flipped_bit_is_refused(tmp_path, whole):
    accepted = []
    path = tmp_path / "flipped.safetensors"
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            read_checkpoint(path)
        except CheckpointError:
            continue
        accepted.append(bit)
    assert accepted == []
    path.write_bytes(whole)
    assert read_checkpoint(path).metadata == {"note": "first"}


@pytest.mark.parametrize("extra", [b"\0", b" ", b"x" * 1000])
def test_trailing_bytes_are_refused(tmp_path, whole, extra):
    assert "after its end" in refused(tmp_path / "long.safetensors", whole + extra)


def forge(whole: bytes, change) -> bytes:
    """A file whose header is changed and whose sum is right again: only the other checks can refuse it."""
    import hashlib

    length = int.from_bytes(whole[:8], "little")
    header, body = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    header["__metadata__"]["sha256"] = "0" * 64
    header, body = change(header, body) or (header, body)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    blank = len(text).to_bytes(8, "little") + text + body
    digest = hashlib.sha256(blank).hexdigest()
    return blank.replace(b'"sha256":"' + b"0" * 64, b'"sha256":"' + digest.encode(), 1)


def test_forging_nothing_gives_an_accepted_file(tmp_path, whole):
    (tmp_path / "m.safetensors").write_bytes(forge(whole, lambda header, body: None))
    assert read_checkpoint(tmp_path / "m.safetensors").metadata == {"note": "first"}


def put(*path_and_value):
    *path, key, value = path_and_value

    def change(header, body):
        at = header
        for step in path:
            at = at[step]
        at[key] = value

    return change


NAME = "embedding.weight"
FORGERIES = {
    "overlapping": put(NAME, "data_offsets", [4, 28]),
    "negative": put(NAME, "data_offsets", [-24, 0]),
    "hole": lambda header, body: (header, body + bytes(8)),
    "huge shape": put(NAME, "shape", [10**12, 10**12]),
    "huge offset": put(NAME, "data_offsets", [0, 10**30]),
    "no offsets": put(NAME, {}),
    "not an entry": put(NAME, 5),
    "unknown dtype": put(NAME, "dtype", "F31"),
    "not a list": put(NAME, "data_offsets", "ab"),
    "path for a name": lambda header, body: header.update({"../x": header.pop(NAME)}),
    "absolute path for a name": lambda header, body: header.update({"/etc/passwd": header.pop(NAME)}),
    "empty name": lambda header, body: header.update({"": header.pop(NAME)}),
    "foreign format version": put("__metadata__", "transformer_lab", "2"),
    "additional metadata": put("__metadata__", "more", "x"),
    "config no JSON": put("__metadata__", "config", "{"),
    "config a list": put("__metadata__", "config", "[]"),
    "config misspelt": put("__metadata__", "config", '{"src_vocab_size": 3, "tgt_vocab_size": 2, "dmodel": 4}'),
    "config impossible": put("__metadata__", "config", '{"src_vocab_size": 3, "tgt_vocab_size": 2, "d_model": -4}'),
    "config deep": put("__metadata__", "config", "[" * 100_000),
    "config a path": put("__metadata__", "config", '"../x"'),
    "dtype a path": put("__metadata__", "dtype", "../x"),
    "dtype an attribute": put("__metadata__", "dtype", "load"),
    "shared unknown": put("__metadata__", "shared", '{"a": "b"}'),
    "shared path": put("__metadata__", "shared", '{"../x": "embedding.weight"}'),
    "metadata missing": lambda header, body: header["__metadata__"].pop("model") and None,
    "metadata no text": put("__metadata__", "model", 5),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_header_with_a_right_sum_is_refused(tmp_path, whole, kind):
    refused(tmp_path / "forged.safetensors", forge(whole, FORGERIES[kind]))


@pytest.mark.parametrize("name", ["__import__('os').system", "../x", "Encoder "])
def test_a_class_that_load_model_does_not_build_is_named_and_never_imported(tmp_path, whole, name):
    path = tmp_path / "m.safetensors"
    path.write_bytes(forge(whole, put("__metadata__", "model", name)))
    with pytest.raises(CheckpointError, match="load_model builds Decoder, Encoder, Transformer"):
        load_model(path)


def test_refusing_takes_under_a_second_and_little_memory(tmp_path, whole):
    path = tmp_path / "big.safetensors"
    huge = (1 << 62).to_bytes(8, "little") + whole[8:]
    deep = (MAX_HEADER).to_bytes(8, "little") + b"[" * MAX_HEADER
    wide = (MAX_HEADER).to_bytes(8, "little") + (b"[" + b"[]," * (MAX_HEADER // 3 - 1) + b"[]]").ljust(MAX_HEADER)
    for data in (huge, deep, wide):
        start = time.process_time()
        refused(path, data)
        assert time.process_time() - start < 1
        tracemalloc.start()
        refused(path, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 50e6


def test_a_sparse_giant_is_refused_without_reading_it(tmp_path, whole):
    path = tmp_path / "giant.safetensors"
    path.write_bytes(whole)
    os.truncate(path, 1 << 40)
    start = time.perf_counter()
    with pytest.raises(CheckpointError, match="after its end"):
        read_checkpoint(path)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a..b", "a b"])
def test_a_strange_tensor_name_is_refused_when_saving(tmp_path, name):
    model = encoder()
    model.state_dict = lambda: {name: torch.ones(2)}
    with pytest.raises(CheckpointError, match="words joined by dots"):
        save_model(tmp_path / "m.safetensors", model)


class Payload:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_named_safetensors_is_refused_and_never_run(tmp_path, protocol):
    for content in (Payload(tmp_path / "touched"), {}):
        message = refused(tmp_path / "m.safetensors", pickle.dumps(content, protocol=protocol))
        assert "is a pickle (torch.save)" in message or protocol < 2  # the oldest two say nowhere what they are
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_save_writes_is_called_a_pickle(tmp_path, zipped):
    path = tmp_path / "m.safetensors"
    torch.save(encoder().state_dict(), path, _use_new_zipfile_serialization=zipped)
    assert "is a pickle (torch.save)" in refused(path, path.read_bytes())


@pytest.mark.parametrize("length", [0x0280, 0x0380, 0x0480, 0x0580])
def test_a_header_whose_length_reads_like_a_pickle_is_no_pickle(tmp_path, length):
    path, tensors = tmp_path / "m.safetensors", {"w": torch.arange(3.0)}
    shortest = int.from_bytes(seal(path, tensors, {"note": ""})[:8], "little")
    texts = {"note": "x" * (length - shortest)}
    path.write_bytes(seal(path, tensors, texts))
    assert path.read_bytes().startswith(b"\x80" + bytes([length >> 8]))
    read, said = unseal(path, ["note"])
    assert torch.equal(read["w"], tensors["w"]) and said == texts


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (0, "is empty"),
        (1, "is cut off after 1 bytes"),
        (7, "is cut off after 7 bytes"),
        (8, "cut off inside its header"),
    ],
)
def test_a_stump_is_said_to_be_one(tmp_path, whole, kept, words):
    assert words in refused(tmp_path / "m.safetensors", whole[:kept])


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    for metadata in (None, {"format": "pt"}):
        safetensors.torch.save_file(encoder().state_dict(), path, metadata)
        assert "foreign" in refused(path, path.read_bytes())


@pytest.mark.parametrize(
    "data", [b"{}", b"hello, world", b"\x89PNG\r\n\x1a\n" + bytes(99), (8).to_bytes(8, "little") + b"[1,2,3] "]
)
def test_other_files_are_refused(tmp_path, data):
    refused(tmp_path / "m.safetensors", data)


def test_a_missing_file_and_a_folder_are_checkpoint_errors(tmp_path):
    for path in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(CheckpointError, match=f"{path}: cannot be read"):
            load_model(path)


# What does not fit is refused, and nothing is loaded


def test_a_wrong_config_lists_missing_unexpected_and_wrong_shaped_names(tmp_path, whole):
    path = tmp_path / "m.safetensors"
    config = {**SMALL.to_dict(), "src_vocab_size": 7, "num_encoder_layers": 3, "norm_first": True}
    path.write_bytes(forge(whole, put("__metadata__", "config", json.dumps(config))))
    with pytest.raises(CheckpointError) as caught:
        load_model(path)
    message = str(caught.value)
    assert "missing: layers.1.self_attn.W_q.weight" in message
    assert message.count("layers.1") == 10 and "and 24 more" in message
    assert "wrong shape: embedding.weight [3, 2] instead of [7, 2]" in message
    other = encoder()
    with pytest.raises(CheckpointError, match=r"unexpected: strange\.name"):
        load_weights(other, {**other.state_dict(), "strange.name": torch.ones(1)}, source=path)


@pytest.mark.parametrize(
    "sizes",
    [{"d_model": 10**6}, {"d_model": 10**15}, {"d_ff": 10**30}, {"num_encoder_layers": 10**9}, {"max_len": 10**12}],
)
def test_a_config_of_giant_sizes_is_refused_before_anything_large_is_made(tmp_path, whole, sizes):
    path = tmp_path / "m.safetensors"
    path.write_bytes(forge(whole, put("__metadata__", "config", json.dumps({**SMALL.to_dict(), **sizes}))))
    start = time.process_time()
    with pytest.raises(CheckpointError, match=r"config asks for|does not fit"):
        load_model(path)
    assert time.process_time() - start < 1


def test_nothing_is_loaded_partially(tmp_path):
    model = encoder(1)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    tensors = encoder(2).state_dict()
    last = list(tensors)[-1]
    for wrong in (
        {**tensors, last: torch.ones(5)},
        {name: weight for name, weight in tensors.items() if name != last},
        {**tensors, last: torch.ones(tensors[last].shape, dtype=torch.int64)},
    ):
        with pytest.raises(CheckpointError, match=r"elsewhere: does not fit Encoder; nothing was loaded"):
            load_weights(model, wrong, source="elsewhere")
        assert all(torch.equal(model.state_dict()[name], weight) for name, weight in before.items())


def test_saving_needs_a_config_json_and_one_dtype(tmp_path):
    path = tmp_path / "m.safetensors"
    with pytest.raises(TypeError, match="must have a .config"):
        save_model(path, nn.Linear(2, 3))
    with pytest.raises(TypeError, match="metadata must be what JSON can hold"):
        save_model(path, encoder(), picture=torch.ones(2))
    with pytest.raises(TypeError, match="metadata must be what JSON can hold"):
        save_model(path, encoder(), loss=float("nan"))
    mixed = encoder()
    mixed.layers[0].ffn.double()
    with pytest.raises(TypeError, match="one dtype"):
        save_model(path, mixed)
    with pytest.raises(CheckpointError, match="metadata makes a header of"):
        save_model(path, encoder(), essay="x" * MAX_HEADER)
    assert list(tmp_path.iterdir()) == []


# The old file is never lost


def test_a_full_disk_keeps_the_old_file(tmp_path):
    path = tmp_path / "m.safetensors"
    save_model(path, encoder(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(CheckpointError, match="cannot be written: File too large; an older file is left as it was"):
            save_model(path, encoder(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert same_weights(load_model(path), encoder(1))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_step_keeps_the_old_file_and_leaves_nothing(tmp_path, monkeypatch, step, error):
    path = tmp_path / "m.safetensors"
    save_model(path, encoder(1))

    def fail(*args):
        raise error

    monkeypatch.setattr(atomic.os, step, fail)
    with pytest.raises(CheckpointError if isinstance(error, OSError) else KeyboardInterrupt):
        save_model(path, encoder(2))
    monkeypatch.undo()
    assert same_weights(load_model(path), encoder(1))
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"none/m\.safetensors: cannot be written: No such file or directory"):
        save_model(tmp_path / "none" / "m.safetensors", encoder())


def test_a_link_is_followed_and_rights_are_the_usual_ones(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.safetensors"
    link.symlink_to(tmp_path / "real" / "m.safetensors")
    before = os.umask(0o022)
    try:
        save_model(link, encoder())
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert (tmp_path / "real" / "m.safetensors").stat().st_mode & 0o777 == 0o644


def test_a_place_that_cannot_be_written_is_named_as_it_was_given(tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    check_writable(path)
    assert not list(tmp_path.iterdir())
    path.write_bytes(b"old")
    check_writable(path)
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1
    gone = tmp_path / "gone" / "m.safetensors"
    for write in (check_writable, lambda path: write_atomically(path, b"new")):
        with pytest.raises(FileNotFoundError) as refused:
            write(gone)
        assert refused.value.filename == str(gone)


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe.safetensors"
    os.mkfifo(pipe)
    for write in (check_writable, lambda path: write_atomically(path, b"new")):
        with pytest.raises(OSError, match="is no regular file") as refused:
            write(pipe)
        assert refused.value.filename == str(pipe)
    with pytest.raises(CheckpointError, match=r"pipe\.safetensors.*no regular file"):
        save_model(pipe, encoder())
    assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe.safetensors"]


def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(tmp_path):
    import fcntl

    path = tmp_path / "m.safetensors"
    dead, living = tmp_path / ".m.safetensors.00ff.tmp", tmp_path / ".m.safetensors.11ff.tmp"
    others = [tmp_path / ".other.safetensors.00ff.tmp", tmp_path / "m.safetensors.tmp"]
    for file in (dead, living, *others):
        file.write_bytes(b"half")
    with open(living, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        save_model(path, encoder())
    assert not dead.exists()
    assert all(file.exists() for file in (living, *others))


KILLED_WHILE_SAVING = """
import os, random, signal, sys, time
import torch
from transformer_lab import Encoder, TransformerConfig
from transformer_lab.checkpoint import load_model, save_model

torch.set_num_threads(1)
path, rounds = sys.argv[1], int(sys.argv[2])
config = TransformerConfig(src_vocab_size=2000, tgt_vocab_size=1, d_model=128, num_heads=4, num_encoder_layers=2,
                           num_decoder_layers=1, d_ff=512, max_len=8)
models = [Encoder(config), Encoder(config)]
start = time.perf_counter()
save_model(path, models[0])
once = time.perf_counter() - start
rng, seen, left = random.Random(0), set(), 0
for round in range(rounds):
    child = os.fork()
    if not child:
        while True:
            for model in models:
                save_model(path, model)
    time.sleep(rng.random() * 3 * once)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    left += len(os.listdir(os.path.dirname(path))) > 1
    table = load_model(path).embedding.weight
    which = [i for i, model in enumerate(models) if torch.equal(table, model.embedding.weight)]
    assert len(which) == 1, f"round {round}: neither the old nor the new model"
    seen.add(which[0])
save_model(path, models[0])
assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)], "leftovers were not cleaned"
print(f"{rounds} kills, models {sorted(seen)}, {left} leftovers met")
"""


@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_kill_9_while_saving_leaves_the_old_file_or_the_new_one(tmp_path, rounds):
    script = textwrap.dedent(KILLED_WHILE_SAVING)
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "m.safetensors"), str(rounds)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{rounds} kills")
    if rounds == 50:
        assert "models [0, 1]" in run.stdout and " 0 leftovers" not in run.stdout  # kills did land in the middle
