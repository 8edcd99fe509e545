"""Several processes: two of them take the steps that one takes with the joined batch, and only the first one writes."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer_lab.sealed import CheckpointError
from transformer_lab.training.batches import bucketed_batches
from transformer_lab.training.distributed import Processes, process_group
from transformer_lab.training.loop import train

from .training_support import EXACT, VALID, assert_same, new_model, reversals, trained, weights_of, without_seconds

ROOT = Path(__file__).resolve().parent.parent
ODD = [*reversals(23), *reversals(2, seed=5, longest=14, shortest=14)]  # the two long ones are batches of one row
EVEN = reversals(24, longest=5, shortest=5)  # both processes draw equally many numbers: alike only if from one seed
SHARED = replace(EXACT, max_tokens=25, accumulate=2, ema=0.7)
DROPPING = replace(SHARED, epochs=1, max_tokens=40)


def work(folder):
    """What each of the two processes does; they find each other through the environment."""
    torch.set_num_threads(1)
    with process_group() as device:
        rank, state = Processes.now().rank, folder / "state"
        model = new_model(seed=rank).to(device)  # the first one's weights are taken
        history = train(model, ODD, VALID, SHARED, state=state, log_dir=None)
        dropped = new_model(dropout=0.3)
        train(dropped, EVEN, [], DROPPING, progress=False)
        resumed = new_model(dropout=0.3)
        train(resumed, EVEN, [], replace(DROPPING, steps=2), state=folder / "dropped", progress=False)
        resumed = new_model(seed=8, dropout=0.3)
        train(resumed, EVEN, [], DROPPING, state=folder / "dropped", resume=True, progress=False)
    for name, one in {"model": model, "dropped": dropped, "resumed": resumed}.items():
        save_file(weights_of(one), folder / f"{name}{rank}")
    (folder / f"history{rank}.json").write_text(json.dumps(without_seconds(history)))


CODE = "import sys, pathlib; from tests.test_distributed import work; work(pathlib.Path(sys.argv[1]))"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The folder in which two processes have trained, and what they printed."""
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, str(folder)],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    return folder, said


def test_two_processes_take_the_steps_of_one_with_the_joined_batch(two):
    folder, _ = two
    model, history = trained(SHARED, examples=ODD, valid=VALID)
    for rank in range(2):
        assert_same(load_file(folder / f"model{rank}"), weights_of(model), atol=1e-12)
        theirs = json.loads((folder / f"history{rank}.json").read_text())
        for ours, other in zip(without_seconds(history)["records"], theirs["records"], strict=True):
            assert ours == pytest.approx(other, abs=1e-12)
    assert_same(load_file(folder / "model0"), load_file(folder / "model1"))


def test_some_batch_is_too_small_for_two():
    sizes = [len(batch) for batch in bucketed_batches(ODD, SHARED.max_tokens, seed=0, epoch=1)]
    assert 1 in sizes and any(size % 2 and size > 1 for size in sizes)


def test_only_the_first_process_prints(two):
    (_, first), (_, second) = two[1]
    assert "epoch 2: step" in first and "tokens/s" in first
    assert "epoch" not in second


def test_processes_resume_bit_for_bit_each_with_its_own_dropout(two):
    folder, _ = two
    for rank in range(2):
        assert_same(load_file(folder / f"resumed{rank}"), load_file(folder / f"dropped{rank}"))
    state = load_file(folder / "dropped")
    assert not torch.equal(state["rng.cpu.0"], state["rng.cpu.1"])


def test_a_state_of_two_processes_is_not_for_one(two):
    with pytest.raises(CheckpointError, match="processes: number was 2, is 1"):
        trained(SHARED, examples=ODD, valid=VALID, state=two[0] / "state", resume=True)


def test_alone_nothing_is_shared():
    alone, model, device = Processes.now(), new_model(), torch.device("cpu")
    assert (alone, alone.first, Processes(1, 2).first) == (Processes(0, 1), True, False)
    assert alone.wrap(model) is model
    assert alone.total([1.5, 2], device) == [1.5, 2]
    assert [one.tolist() for one in alone.gather(torch.tensor([3]), device)] == [[3]]
    with process_group("cpu") as chosen:
        assert chosen == device and not torch.distributed.is_initialized()


@pytest.mark.slow
def test_torchrun_starts_them(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--no-python"]
    subprocess.run(
        [*command, sys.executable, "-c", CODE, str(tmp_path)],
        cwd=ROOT,
        check=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    model, _ = trained(SHARED, examples=ODD, valid=VALID)
    assert_same(load_file(tmp_path / "model1"), weights_of(model), atol=1e-12)
