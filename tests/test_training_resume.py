"""Stopping and going on: resumed equals uninterrupted bit for bit, Ctrl-C loses nothing, a killed save loses nothing."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from transformer_lab.checkpoint import CheckpointError, save_model
from transformer_lab.training import keeper
from transformer_lab.training.batches import Example
from transformer_lab.training.interrupt import ctrl_c_as_wish
from transformer_lab.training.loop import train

from .training_support import EXACT, TRAIN, VALID, assert_same, differ, new_model, trained, weights_of, without_seconds

ROOT = Path(__file__).resolve().parent.parent
HARD = replace(EXACT, epochs=3, accumulate=2, ema=0.9)  # 7 batches, so 4 updates an epoch, the last of one batch


def dropping(seed=0, dtype=torch.float32):
    return new_model(seed, dtype, dropout=0.3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted training: its weights, history and state."""
    path = tmp_path_factory.mktemp("whole") / "state.safetensors"
    model, history = trained(HARD, model=dropping(), valid=VALID, state=path)
    return weights_of(model), without_seconds(history), state_of(path)


def state_of(path):
    """All tensors of a state file but the place, which holds seconds."""
    return {name: tensor for name, tensor in load_file(path).items() if name != "place"}


@pytest.mark.parametrize("stops", [[1], [3], [4], [5], [11], [2, 3, 8], [12]])
def test_resumed_is_uninterrupted_bit_for_bit(whole, stops, tmp_path):
    path = tmp_path / "state.safetensors"
    for number, steps in enumerate(stops):
        model = dropping(seed=number)  # a new process would have other first weights
        _, history = trained(replace(HARD, steps=steps), model=model, valid=VALID, state=path, resume=number > 0)
        assert history.records[-1].step == steps
        torch.rand(number + 1)  # other random numbers are drawn meanwhile
    model, history = trained(HARD, model=dropping(seed=9), valid=VALID, state=path, resume=True)
    weights, records, state = whole
    assert_same(weights_of(model), weights)
    assert without_seconds(history)["records"] == records["records"]
    assert_same(state_of(path), state)


def test_a_state_holds_all_that_matters(whole):
    groups = {name.rsplit(".encoder", 1)[0] for name in whole[2] if ".encoder.embedding.weight" in name}
    assert groups == {"model", "adam.step", "adam.exp_avg", "adam.exp_avg_sq", "average", "best"}
    assert "rng.cpu.0" in whole[2] and "model.output_linear.weight" not in whole[2]  # the tied table stands there once


def test_limits_may_change_and_a_training_at_its_end_stays_there(whole, tmp_path):
    path = tmp_path / "state.safetensors"
    trained(replace(HARD, epochs=1), model=dropping(), valid=VALID, state=path)
    before = path.read_bytes()
    model, history = trained(replace(HARD, epochs=1), model=dropping(3), valid=VALID, state=path, resume=True)
    assert history.stopped_by == "epochs" and len(history.records) == 1 and path.read_bytes() == before
    assert not model.training
    options = replace(HARD, epochs=3, minutes=50.0, patience=9)
    model, _ = trained(options, model=dropping(3), valid=VALID, state=path, resume=True)
    assert_same(weights_of(model), whole[0])


def test_a_look_in_mid_epoch_leaves_no_trace_in_the_state(tmp_path):
    path = tmp_path / "state.safetensors"
    _, history = trained(replace(HARD, steps=2), model=dropping(), valid=VALID, state=path)
    assert history.best_epoch == 1 and history.records[-1].valid_loss
    assert not [name for name in load_file(path) if name.startswith("best.")]
    assert b'"best_epoch": null' in bytes(load_file(path)["place"].tolist())


def test_minutes_count_those_before_the_resume(tmp_path):
    path = tmp_path / "state.safetensors"
    trained(replace(EXACT, steps=5), state=path)
    _, history = trained(replace(EXACT, epochs=99, minutes=1e-9), state=path, resume=True)
    assert history.stopped_by == "minutes" and history.records[-1].step == 5


def test_float16_keeps_its_scale(tmp_path):
    options, states = replace(EXACT, precision="float16", steps=5), []
    for stops in ([5], [2, 5]):
        path = tmp_path / f"{len(stops)}.safetensors"
        for number, steps in enumerate(stops):
            model = dropping()
            trained(replace(options, steps=steps), model=model, state=path, resume=number > 0)
        header = path.read_bytes()
        length = int.from_bytes(header[:8], "little")
        states.append((json.loads(header[8 : 8 + length])["__metadata__"]["scaler"], state_of(path)))
    assert states[0][0] == states[1][0] and json.loads(states[0][0])["_growth_tracker"] == 5
    assert_same(states[0][1], states[1][1])


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"smoothing": 0.2, "warmup": 8}, {}, "options: warmup was 7, is 8, options: smoothing was 0.1, is 0.2"),
        ({"seed": 4}, {}, "options: seed was 0, is 4"),
        ({"betas": (0.9, 0.99)}, {}, r"options: betas was \[0.9, 0.98\], is \[0.9, 0.99\]"),
        ({}, {"model": new_model(d_ff=12)}, "model: d_ff was 11, is 12"),
        ({}, {"model": new_model(dtype=torch.float32)}, "weights: sha256 of names and shapes"),
        ({}, {"examples": TRAIN[:-1]}, "training examples: number was 31, is 30"),
        ({}, {"examples": TRAIN[::-1]}, "training examples: sha256 was [0-9a-f]{12}…, is [0-9a-f]{12}…"),
        ({}, {"examples": [Example(TRAIN[0].tgt, TRAIN[0].src), *TRAIN[1:]]}, "training examples: sha256 was"),
        ({}, {"valid": VALID[:-1]}, "validation examples: number was 11, is 10"),
    ],
)
def test_another_training_is_refused_by_what_differs(options, change, message, tmp_path):
    path = tmp_path / "state.safetensors"
    trained(replace(EXACT, steps=1), valid=VALID, state=path)
    before = path.read_bytes()
    arguments = {"model": new_model(), "valid": VALID, **change}
    weights = weights_of(arguments["model"])
    with pytest.raises(CheckpointError, match=f"is the state of another training: .*{message}"):
        trained(replace(EXACT, **options), **arguments, state=path, resume=True)
    assert path.read_bytes() == before
    assert_same(weights_of(arguments["model"]), weights)


def test_files_that_cannot_be_used_are_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    with pytest.raises(ValueError, match="resume=True needs state="):
        trained(resume=True)
    with pytest.raises(CheckpointError, match=r"state.safetensors: cannot be read: No such file"):
        trained(state=path, resume=True)
    trained(replace(EXACT, steps=1), state=path)
    with pytest.raises(CheckpointError, match="holds a training already; go on with resume=True, or delete it"):
        trained(state=path)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    (tmp_path / "flipped").write_bytes(data)
    with pytest.raises(CheckpointError, match="is damaged"):
        trained(state=tmp_path / "flipped", resume=True)
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CheckpointError, match="is cut off"):
        trained(state=tmp_path / "cut", resume=True)
    save_model(tmp_path / "model", new_model())
    with pytest.raises(CheckpointError, match="foreign"):
        trained(state=tmp_path / "model", resume=True)
    with pytest.raises(CheckpointError, match="cannot be written: No such file or directory"):
        trained(replace(EXACT, steps=1), state=tmp_path / "nowhere" / "state")


def test_a_long_epoch_is_saved_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(keeper, "SAVE_SECONDS", 0.0)
    path, model, calls = tmp_path / "state.safetensors", new_model(), iter([None] * 3)
    model.register_forward_pre_hook(lambda *_: next(calls))
    with pytest.raises(StopIteration):  # a crash in the fourth update; three are kept
        trained(model=model, state=path)
    assert load_file(path)["adam.step.encoder.embedding.weight"].item() == 3
    model, _ = trained(model=new_model(seed=5), state=path, resume=True)
    assert_same(weights_of(model), weights_of(trained()[0]))


def test_a_save_that_fails_leaves_the_last_good_state(tmp_path, monkeypatch):
    path = tmp_path / "state.safetensors"
    trained(replace(EXACT, steps=3), state=path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CheckpointError, match="No space left on device; an older file"):
        trained(state=path, resume=True)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_an_error_in_training_leaves_the_last_good_state(tmp_path):
    path, model = tmp_path / "state.safetensors", new_model()
    trained(replace(EXACT, epochs=1), state=path)
    before = path.read_bytes()
    model.register_forward_hook(lambda module, inputs, logits: logits * float("nan"))
    with pytest.raises(FloatingPointError, match="at step 8"):
        trained(model=model, state=path, resume=True)
    assert path.read_bytes() == before


@pytest.fixture
def ctrl_c():
    """Ctrl-C as Python has it at first; a shell that started us in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_at(model, step):
    """Presses Ctrl-C in the middle of a forward pass."""
    calls = []

    def press(*_):
        calls.append(1)
        if len(calls) == step:
            signal.raise_signal(signal.SIGINT)

    model.register_forward_pre_hook(press)
    return model


@pytest.mark.parametrize("call", [3, 8, 19])
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_finishes_the_step_and_loses_nothing(whole, call, tmp_path):
    path, before = tmp_path / "state.safetensors", signal.getsignal(signal.SIGINT)
    try:
        model, history = trained(HARD, model=interrupt_at(dropping(), call), valid=VALID, state=path)
    except KeyboardInterrupt:
        pytest.fail("Ctrl-C broke off the step under way")
    assert history.interrupted and history.to_json()["stopped_by"] == "interrupt"
    assert signal.getsignal(signal.SIGINT) is before
    assert (history.best_epoch is None) == (len(history.records) == 0)
    if history.best_epoch:
        best = {name[5:]: tensor for name, tensor in load_file(path).items() if name.startswith("best.")}
        assert_same(weights_of(model), best)
    model, history = trained(HARD, model=dropping(7), valid=VALID, state=path, resume=True)
    assert not history.interrupted
    assert_same(weights_of(model), whole[0])
    assert_same(state_of(path), whole[2])


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_answered(tmp_path, capsys):
    path = tmp_path / "state.safetensors"
    train(interrupt_at(new_model(), 3), TRAIN, [], EXACT, state=path)
    assert capsys.readouterr().err.splitlines()[-1] == f"interrupted after step 3; {path} holds the state to go on from"


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_ctrl_c_stops_at_once_but_an_echo_does_not():
    with ctrl_c_as_wish() as wish:
        assert not wish.to_stop
        try:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # as torchrun passes it on
        except KeyboardInterrupt:
            pytest.fail("an echo of Ctrl-C stopped the training at once")
        assert wish.to_stop
        wish.since -= 1.1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_is_left_alone_where_it_is_ignored_or_not_ours():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ctrl_c_as_wish():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    results = []
    thread = threading.Thread(target=lambda: results.append(trained(replace(EXACT, steps=1))[1].stopped_by))
    thread.start()
    thread.join()
    assert results == ["steps"] and signal.getsignal(signal.SIGINT) is before


SCRIPT = """
import json, signal, sys, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that started us in the background has it ignored
torch.set_num_threads(1)
from tests.test_training_resume import HARD, VALID, dropping, keeper, replace, trained
keeper.SAVE_SECONDS = float(sys.argv[2])
model = dropping()
model.register_forward_hook(lambda *_: print("step", flush=True))
_, history = trained(replace(HARD, epochs=10_000), model=model, valid=VALID, state=sys.argv[1], resume=sys.argv[3] == "resume")
print(json.dumps(history.to_json()))
"""


def start_training(path, every=60.0, resume=False):
    """A training without end in a process of its own, once it has made a step."""
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(path), str(every), "resume" if resume else "anew"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "step\n", process.stderr.read()
    return process


@pytest.mark.slow
def test_a_real_ctrl_c(tmp_path):
    path = tmp_path / "state.safetensors"
    process = start_training(path)
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=60)
    history = json.loads(said.splitlines()[-1])
    assert (process.returncode, complaint, history["interrupted"]) == (0, "", True)
    done = load_file(path)["adam.step.encoder.embedding.weight"].item()
    assert done >= 1
    resumed, _ = trained(
        replace(HARD, epochs=None, steps=int(done) + 3), model=dropping(1), state=path, resume=True, valid=VALID
    )
    other, _ = trained(replace(HARD, epochs=None, steps=int(done) + 3), model=dropping(), valid=VALID)
    assert_same(weights_of(resumed), weights_of(other))
    assert differ(weights_of(resumed), weights_of(dropping()))


@pytest.mark.slow
def test_killed_while_saving_the_state_is_still_good(tmp_path):
    path, last = tmp_path / "state.safetensors", 0
    for attempt in range(3):
        process = start_training(path, every=0.0, resume=attempt > 0)  # saves after every step
        time.sleep(0.2 + 0.037 * attempt)
        process.kill()
        process.communicate()
        model, history = trained(
            replace(HARD, epochs=None, steps=1), model=dropping(3), valid=VALID, state=path, resume=True
        )
        assert history.stopped_by == "steps" and history.records[-1].step > last
        last = history.records[-1].step
    other, _ = trained(replace(HARD, epochs=None, steps=last), model=dropping(), valid=VALID)
    assert_same(weights_of(model), weights_of(other))
    assert len(list(tmp_path.iterdir())) <= 2  # the state, and what the last kill left behind


def test_training_goes_on_with_train_itself(tmp_path):
    model = new_model()
    history = train(model, TRAIN, [], EXACT, state=str(tmp_path / "state"), progress=False)
    assert history.best_epoch is None and history.records[-1].valid_loss is None
    assert (tmp_path / "state").exists()
