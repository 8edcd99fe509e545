"""The command line: help, errors, training, evaluating, and Ctrl-C."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest
import torch

from transformer_lab.__main__ import _parser, main
from transformer_lab.sealed import CheckpointError
from transformer_lab.training.state import read_state
from transformer_lab.training.world import read_world

COMMAND = [sys.executable, "-m", "transformer_lab"]


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


HELP = [
    [],
    ["translate"],
    ["train"],
    ["train", "world"],
    ["train", "translator"],
    ["evaluate"],
    ["evaluate", "world"],
    ["evaluate", "translator"],
]


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_says_what_there_is_and_gives_an_example_that_is_understood(capsys, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: {' '.join(['python -m transformer_lab', *words])} ")
    (example,) = re.findall(r"^Example: python -m transformer_lab (.+)$", said, re.MULTILINE)
    assert shlex.split(example)[: len(words)] == words
    assert callable(_parser().parse_args(shlex.split(example)).run)


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert {"translate", "train", "evaluate"} <= set(capsys.readouterr().out.split())


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
        (["train"], "required: MODEL"),
        (["evaluate", "moon"], "invalid choice: 'moon'"),
        (["train", "world", "--tatoeba", "cmn.txt"], "unrecognized arguments: --tatoeba cmn.txt"),
        (["train", "translator", "--steps", "3"], "unrecognized arguments: --steps 3"),
        (["train", "translator", "--epochs", "0"], "--epochs: must be a whole number from 1, got '0'"),
        (["train", "translator", "--device", "gpu"], "--device: must be cpu, cuda, cuda:N or auto, got 'gpu'"),
        (["evaluate", "translator", "--file", "a.bin"], "must end in .safetensors"),
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


def test_the_translators_options_reach_the_training(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(
        "transformer_lab.training.translator_card.train_translator", lambda *a, **k: seen.append((a, k)) or 0
    )
    out = tmp_path / "t.safetensors"
    every = ["--seed", "3", "5", "3", "--epochs", "2", "--resume", "--log-dir", "curves", "--out", str(out)]
    assert main(["train", "translator", "--tatoeba", "cmn.txt", *every]) == 0
    assert main(["train", "translator"]) == 0
    cpu = torch.device("cpu")
    assert seen == [
        (
            (out,),
            {
                "tatoeba": Path("cmn.txt"),
                "seeds": [3, 5],
                "epochs": 2,
                "resume": True,
                "log_dir": Path("curves"),
                "device": cpu,
            },
        ),
        (
            (Path("translator.safetensors"),),
            {"tatoeba": None, "seeds": [0], "epochs": None, "resume": False, "log_dir": None, "device": cpu},
        ),
    ]


def test_the_translators_options_reach_the_measuring(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "transformer_lab.training.translator_card.evaluate_translator", lambda *a, **k: seen.append((a, k)) or 1
    )
    assert main(["evaluate", "translator"]) == 1
    assert main(["evaluate", "translator", "--tatoeba", "cmn.txt", "--file", "t.safetensors"]) == 1
    assert seen == [((None,), {"tatoeba": None}), ((Path("t.safetensors"),), {"tatoeba": Path("cmn.txt")})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cmn.txt does not exist; give the path of cmn-eng.zip"),
        (b"A cat.\t\xff\n", "cmn.txt, line 1: not UTF-8"),
        (b"A cat.\n", "cmn.txt, line 1 has 1 columns"),
        ("A cat.\t猫。\n".encode(), "there are 1 distinct English sentences"),
    ],
)
def test_sentences_that_cannot_be_read_are_one_line_and_status_1(tmp_path, capsys, content, message):
    path = tmp_path / "cmn.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["train", "translator", "--tatoeba", str(path), "--out", str(tmp_path / "t.safetensors")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and message in said and said.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"cmn.txt"}


def test_a_training_is_not_begun_anew_by_mistake(tmp_path, capsys):
    (tmp_path / "t.seed1.state").write_bytes(b"")
    assert main(["train", "translator", "--seed", "0", "1", "--out", str(tmp_path / "t.safetensors")]) == 1
    assert "t.seed1.state: holds a training already; go on with --resume" in capsys.readouterr().err
    assert files_of(tmp_path) == {"t.seed1.state": b""}


def test_what_is_not_installed_is_said_before_the_training(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    assert main(["train", "translator", "--out", str(tmp_path / "t.safetensors")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and "pip install" in said and not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("starter", ["alone", "torchrun"])
def test_ctrl_c_during_the_translators_training_loses_nothing(tmp_path, starter):
    arguments = ["-m", "transformer_lab", "train", "translator", "--out", str(tmp_path / "t.safetensors")]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    run = subprocess.Popen(
        [sys.executable, *(torchrun if starter == "torchrun" else []), *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    said = b""
    while b"tokens/s" not in said and run.poll() is None:
        said += os.read(run.stderr.fileno(), 1000)
    run.send_signal(signal.SIGINT)
    printed, rest = run.communicate(timeout=120)
    said += rest
    assert run.returncode == (130 if starter == "alone" else 1), said.decode()
    assert said.count(b"interrupted after step") == said.count(b"the same command with --resume goes on") == 1
    assert said.count(b"translator, seed 0:") == 1 and printed == b""
    assert files_of(tmp_path).keys() == {"t.seed0.state"}
    identity = {
        "options": {},
        "model": {},
        "weights": {},
        "training examples": {},
        "validation examples": {},
        "processes": {},
    }
    with pytest.raises(CheckpointError, match="is the state of another training"):  # whole, and of a training
        read_state(tmp_path / "t.seed0.state", identity)


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
