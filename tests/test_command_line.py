"""The command line: help, errors, training, evaluating, and Ctrl-C."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources

import pytest

from transformer_lab.__main__ import main
from transformer_lab.training.world import read_world

COMMAND = [sys.executable, "-m", "transformer_lab"]


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["evaluate", "--help"]])
def test_help_says_what_there_is(capsys, arguments):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert "usage: python -m transformer_lab" in said and ("train" in said or "evaluate" in said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["train", "moon"], "invalid choice: 'moon'"),
        (["train", "world", "--steps", "0"], "--steps: must be a whole number from 1, got '0'"),
        (["train", "world", "--seed", "1", "-3"], "--seed"),
        (["train", "world", "--seed", "x"], "--seed: must be a whole number from 0, got 'x'"),
        (["train", "world", "--out", "a.json"], "must end in .safetensors, got 'a.json'"),
        (["train", "world", "--out", "nowhere/a.safetensors"], "its folder does not exist"),
        (["evaluate", "world", "--file", "a.bin"], "must end in .safetensors"),
    ],
)
def test_errors_name_what_was_given(capsys, arguments, message):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_training_writes_weights_and_card_and_evaluating_agrees(tmp_path, capsys):
    out = tmp_path / "w.safetensors"
    assert main(["train", "world", "--seed", "3", "4", "5", "--steps", "4", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert f"wrote {out}" in said.out and "masked_verb_accuracy" in said.out
    assert files_of(tmp_path).keys() == {"w.safetensors", "w.json"}
    card = json.loads((tmp_path / "w.json").read_text("utf-8"))
    assert card["recipe"]["steps"] == card["steps_taken"] == 4 and card["seeds"].keys() == {"3", "4", "5"}
    assert card["recipe"]["seed"] in (3, 4, 5)

    assert main(["evaluate", "world", "--file", str(out)]) == 0
    assert "as in w.json" in capsys.readouterr().out
    card["trained"]["masked_verb_accuracy"] += 0.1
    (tmp_path / "w.json").write_text(json.dumps(card), "utf-8")
    assert main(["evaluate", "world", "--file", str(out)]) == 1
    assert "differs: masked_verb_accuracy" in capsys.readouterr().out


def test_the_shipped_model_is_as_its_card_says(capsys):
    assert main(["evaluate", "world"]) == 0
    assert "as in world.json" in capsys.readouterr().out


def test_broken_files_are_one_line_and_status_1(tmp_path, capsys):
    package = resources.files("transformer_lab.pretrained")
    for name in ("world.safetensors", "world.json"):
        (tmp_path / name).write_bytes((package / name).read_bytes())
    path = tmp_path / "world.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["evaluate", "world", "--file", str(path)]) == 1
    assert "world.safetensors: is cut off" in capsys.readouterr().err
    (tmp_path / "world.json").write_text("{")
    assert main(["evaluate", "world", "--file", str(path)]) == 1
    assert "the model card cannot be read" in capsys.readouterr().err
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    assert main(["evaluate", "world", "--file", str(path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_writes_what_there_is(tmp_path):
    out = tmp_path / "w.safetensors"
    run = subprocess.Popen(
        [*COMMAND, "train", "world", "--out", str(out)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    said = b""
    while b"step/s" not in said and run.poll() is None:  # the bar stands: the loop runs
        said += os.read(run.stderr.fileno(), 1000)
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    printed, rest = run.communicate(timeout=120)
    assert run.returncode == 0, (said + rest).decode()
    assert b"interrupted after" in rest and b"wrote" in printed
    card = json.loads((tmp_path / "w.json").read_text("utf-8"))
    assert 0 <= card["steps_taken"] < card["recipe"]["steps"]
    assert not read_world(out).training
    assert files_of(tmp_path).keys() == {"w.safetensors", "w.json"}


@pytest.mark.slow
def test_a_reader_that_leaves_early_brings_no_traceback():
    run = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m transformer_lab evaluate world | true"],
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in run.stderr
