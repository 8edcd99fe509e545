"""The command `translate`: what it prints, what it draws, what it reads and writes, and what it refuses."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer_lab import Transformer, TransformerConfig
from transformer_lab.__main__ import main
from transformer_lab.commands import translate as command
from transformer_lab.commands.heat_map import display_width, heat_map
from transformer_lab.training.loop import train
from transformer_lab.training.options import TrainingOptions
from transformer_lab.training.pairs import Pair
from transformer_lab.training.translation import Translator, read_translator
from transformer_lab.training.translator_data import build_tokenizers, examples_of

PAIRS = [
    Pair("I love you", "我爱你"),
    Pair("You love me.", "你爱我。"),
    Pair("Who are you?", "你是谁？"),
    Pair("I am a cat.", "我是猫。"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A translator that has learned four sentences by heart."""
    source, target = build_tokenizers(PAIRS * 2)
    config = TransformerConfig(
        len(source.vocabulary),
        len(target.vocabulary),
        24,
        3,
        1,
        2,
        31,
        max_len=128,
        dropout=0.0,
        tie_embeddings="output",
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(config)
    options = TrainingOptions(steps=150, warmup=30, factor=0.5)
    train(model, examples_of(PAIRS, source, target), [], options, progress=False)
    path = tmp_path_factory.mktemp("translator") / "t.safetensors"
    Translator(model, source, target).save(path)
    return path


@pytest.fixture
def run(file, capsys):
    """Runs the command with that translator: status, what stands on stdout, what on stderr."""

    def call(*arguments):
        status = main(["translate", "--file", str(file), *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


# ------------------------------------------------------------------ sentences


@pytest.mark.parametrize("search", [[], ["--greedy"], ["--beams", "1"], ["--beams", "3"]])
def test_only_the_translation_is_printed(run, search):
    assert run("I love you", *search) == (0, "我爱你\n", "")


def test_several_sentences_one_a_line_in_order(run):
    assert run("Who are you?", "i LOVE you", "Who are you?") == (0, "你是谁？\n我爱你\n你是谁？\n", "")


def test_the_shipped_translator_is_the_default(file, monkeypatch, capsys):
    monkeypatch.setattr("transformer_lab.pretrained.load_translator", lambda *, device: read_translator(file, device))
    assert main(["translate", "I love you"]) == 0
    assert capsys.readouterr().out == "我爱你\n"


@pytest.mark.parametrize(("arguments", "beams"), [([], 4), (["--greedy"], 1), (["--beams", "7"], 7)])
def test_beams_reach_the_search(run, monkeypatch, arguments, beams):
    asked, search = [], command.BEAMS
    real = Translator.translate_all

    def noting(self, texts, *, num_beams):
        asked.append(num_beams)
        return real(self, texts, num_beams=num_beams)

    monkeypatch.setattr(Translator, "translate_all", noting)
    assert run("I love you", *arguments)[0] == 0
    assert set(asked) == {beams} and search == 4


def test_json(run, file):
    status, out, err = run("I love you", "Who are you?", "--json")
    assert (status, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    assert list(first) == ["source", "text", "tokens", "score", "unknown", "complete"]
    assert (first["source"], first["text"], first["tokens"]) == ("I love you", "我爱你", ["我", "爱", "你", "<eos>"])
    assert (first["unknown"], first["complete"], second["text"]) == ([], True, "你是谁？")
    assert first["score"] == pytest.approx(read_translator(file)("I love you").score, abs=6e-5) and first["score"] < 0
    assert "我爱你" in out  # readable as it stands


def test_unknown_words_are_named(run):
    status, out, err = run("I love zebras and zebras")
    assert (status, out.count("\n")) == (0, 1)
    assert err == "note: not in the vocabulary: zebras, and; the model sees <unk>\n"
    status, out, err = run("I love you", "I love zebras", "--json")
    assert err == "note: sentence 2: not in the vocabulary: zebras; the model sees <unk>\n"
    assert [json.loads(line)["unknown"] for line in out.splitlines()] == [[], ["zebras"]]


def test_what_is_cut_off_is_said(run, file, monkeypatch):
    real = Translator.translate_all
    monkeypatch.setattr(
        Translator,
        "translate_all",
        lambda self, texts, *, num_beams: real(self, texts, num_beams=num_beams, max_new_tokens=2),
    )
    assert run("I love you") == (0, "我爱\n", "note: cut off after 2 tokens, before the model ended it\n")


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([""], "error: nothing to translate: '' holds no word"),
        (["I love you", " \t"], r"error: sentence 2: nothing to translate: ' \t' holds no word"),
        (
            ["you " * 128],
            "error: the sentence has 128 words and marks, but this model reads at most 127 (it begins 'you you",
        ),
    ],
)
def test_nothing_and_too_much_are_refused_before_anything_is_translated(run, sentences, message):
    status, out, err = run(*sentences)
    assert (status, out) == (1, "")
    assert err.startswith(message) and err.count("\n") == 1


def test_the_longest_sentence_is_taken(run):
    assert run("you " * 127, "--greedy")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a sentence in quotes, or --input FILE"),
        (["I", "--input", "a.txt"], "give sentences or --input FILE, not both"),
        (["--input", "a.txt", "--output", "./a.txt", "--force"], "--output would replace what --input reads"),
        (["I", "--force"], "--force belongs to --output FILE"),
        (["I", "--layer", "1"], "--layer chooses what --show-attention draws"),
        (["I", "--layer", "1", "--json", "--show-attention"], "--json gives every layer"),
        (["I", "--beams", "0"], "--beams: must be a whole number from 1, got '0'"),
        (["I", "--beams", "2", "--greedy"], "not allowed with argument"),
        (["I", "--output", "nowhere/a.txt"], "its folder does not exist: 'nowhere/a.txt'"),
        (["I", "--output", "."], "is a folder, a file is needed: '.'"),
        (["I", "--device", "tpu"], "must be cpu, cuda, cuda:N or auto, got 'tpu'"),
        (["I", "--device", "cuda:999"], "there is no cuda:999 here"),
    ],
)
def test_wrong_usage(run, capsys, arguments, message):
    with pytest.raises(SystemExit) as left:
        run(*arguments)
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_numbers_that_this_model_does_not_allow(run):
    status, _, err = run("I love you", "--layer", 3, "--show-attention")
    assert status == 1 and "--layer must be from 1 to 2, the decoder layers of this translator; got 3" in err
    status, _, err = run("I love you", "--beams", 10_000)
    assert status == 1 and err.startswith("error: num_beams must be 1..") and err.endswith("got 10000\n")


def test_any_device_that_is_there(run):
    assert run("I love you", "--device", "auto")[1] == "我爱你\n"


def test_a_file_that_is_no_translator(tmp_path, capsys):
    assert main(["translate", "I", "--file", str(tmp_path / "a.safetensors")]) == 1
    assert "a.safetensors" in capsys.readouterr().err


# ------------------------------------------------------------------ files


def test_a_file_line_by_line(run, tmp_path):
    (tmp_path / "in.txt").write_bytes("\ufeffI love you\r\n\r\nWho are you?\r\n".encode())
    assert run("--input", tmp_path / "in.txt") == (0, "我爱你\n\n你是谁？\n", "")


@pytest.mark.parametrize("end", ["", "\n"])
def test_standard_input(run, monkeypatch, end):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"\nYou love me.\n  \nI love you{end}".encode())))
    assert run("--input", "-") == (0, "\n你爱我。\n\n我爱你\n", "")


def test_json_keeps_blank_lines(run, tmp_path):
    (tmp_path / "in.txt").write_text("I love you\n\nI love you\n", "utf-8")
    records = [
        json.loads(line) for line in run("--input", tmp_path / "in.txt", "--json", "--show-attention")[1].splitlines()
    ]
    assert [record["text"] for record in records] == ["我爱你", "", "我爱你"]
    assert records[0].keys() == records[1].keys()


def test_an_output_file_is_whole_and_never_overwritten(run, tmp_path):
    (tmp_path / "in.txt").write_text("I love you\n\nWho are you?", "utf-8")
    out = tmp_path / "out.txt"
    assert run("--input", tmp_path / "in.txt", "--output", out) == (0, "", "")
    assert out.read_bytes() == "我爱你\n\n你是谁？\n".encode()
    status, _, err = run("I love you", "--output", out)
    assert status == 1 and err == f"error: {out} is there already; give another name, or --force to replace it\n"
    assert out.read_bytes() == "我爱你\n\n你是谁？\n".encode()
    assert run("I love you", "--output", out, "--force") == (0, "", "")
    assert out.read_bytes() == "我爱你\n".encode()
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.txt"}


def test_a_failure_on_the_way_leaves_the_old_output(run, tmp_path, monkeypatch):
    out = tmp_path / "out.txt"
    out.write_text("old")
    monkeypatch.setattr(Translator, "_translation", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    status, _, err = run("I love you", "--output", out, "--force")
    assert (status, err, out.read_text()) == (130, "\ninterrupted\n", "old")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"I love you\n\xff\xfeI\n", "line 2: not UTF-8 (invalid start byte); save the file as UTF-8"),
        ("I love you\rWho\r\n\ufeff".encode("utf-16"), "line 1: not UTF-8"),
        (b"I love\r\n\r\nyou\0\n", "line 3: holds a zero byte"),
        (b"", "holds no sentence; write one a line"),
        (b"\xef\xbb\xbf \n\t\n", "holds no sentence; write one a line"),
        (b"I love you\n\n" + b"you " * 128, "line 3: the sentence has 128 words"),
        ("I love you\n\u200b\n".encode(), "line 2: nothing to translate"),
    ],
)
def test_a_bad_line_is_named(run, tmp_path, content, message):
    (tmp_path / "in.txt").write_bytes(content)
    status, out, err = run("--input", tmp_path / "in.txt")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"error: {tmp_path / 'in.txt'}") and message in err


def test_a_missing_input(run, tmp_path):
    assert run("--input", tmp_path / "gone.txt") == (
        1,
        "",
        f"error: {tmp_path / 'gone.txt'}: No such file or directory\n",
    )


def test_notes_on_a_file_name_lines_and_do_not_flood(run, tmp_path):
    (tmp_path / "in.txt").write_text("I love you\n" + "I love zebras\n" * 13, "utf-8")
    status, out, err = run("--input", tmp_path / "in.txt")
    notes = err.splitlines()
    assert (status, out.count("\n"), len(notes)) == (0, 14, 11)
    assert notes[0] == f"note: {tmp_path / 'in.txt'}, line 2: not in the vocabulary: zebras; the model sees <unk>"
    assert notes[-1] == 'note: 3 more lines hold unknown words; --json lists them under "unknown"'


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("I love you. You love me.", True),
        ('"Who are you?" I love you', True),
        ("I love you! (You love me.)", True),
        ("I love you.", False),
        ("I love you... you love me", False),
        ("Mr. I and Dr. You", False),
        ("I am 3.5 Cats", False),
    ],
)
def test_several_sentences_in_one_are_noticed(run, text, several):
    status, out, err = run(text)
    notes = [line for line in err.splitlines() if "several sentences" in line]
    assert status == 0 and out.count("\n") == 1
    assert notes == ["note: several sentences; the model has learned single ones, so give each by itself"] * several


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("to_file", "shown"), [(True, True), (False, False)])
def test_a_bar_in_a_terminal_unless_the_translations_show_there(file, tmp_path, monkeypatch, to_file, shown):
    (tmp_path / "in.txt").write_text("I love you\n" * 3, "utf-8")
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    extra = ["--output", str(tmp_path / "out.txt")] if to_file else []
    assert main(["translate", "--file", str(file), "--input", str(tmp_path / "in.txt"), *extra]) == 0
    assert ("3/3" in err.getvalue() and "sentence" in err.getvalue()) == shown
    assert out.getvalue() == ("" if to_file else "我爱你\n" * 3)


# ------------------------------------------------------------------ attention


def numbers(line):
    """The percentages of a row."""
    return [int(word.strip("█▓▒░")) for word in line.split()[1:] if word.strip("█▓▒░")]


@pytest.mark.parametrize(("extra", "layer"), [([], 2), (["--layer", 1], 1), (["--layer", 2], 2)])
def test_the_map_shows_the_models_own_attention(run, file, extra, layer):
    status, out, err = run("I love you", "--show-attention", *extra)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "我爱你" and f"layer {layer} of 2, mean of 3 heads" in lines[2]
    assert lines[5].split() == ["i", "love", "you", "<eos>"]
    assert [line.split()[0] for line in lines[6:10]] == ["我", "爱", "你", "<eos>"]
    maps = read_translator(file).attention(["i", "love", "you", "<eos>"], ["我", "爱", "你", "<eos>"])
    expected = maps[layer - 1].mean(dim=0)
    for line, row in zip(lines[6:10], expected, strict=True):
        assert numbers(line) == [round(100 * weight) for weight in row.tolist()]
    assert not torch.allclose(maps[0].mean(dim=0), maps[1].mean(dim=0), atol=0.02)
    assert "\x1b" not in out  # no colour, so NO_COLOR has nothing to forbid


def test_json_has_the_attention_of_every_layer(run, file):
    record = json.loads(run("I love you", "--json", "--show-attention")[1])
    maps = read_translator(file).attention(record["source_tokens"], record["tokens"])
    assert record["source_tokens"] == ["i", "love", "you", "<eos>"] and len(record["attention"]) == 2
    for found, expected in zip(record["attention"], maps, strict=True):
        torch.testing.assert_close(torch.tensor(found), expected.mean(dim=0), atol=5.1e-4, rtol=0)


def test_shades_follow_the_percentage():
    drawn = heat_map([[0.04, 0.1, 0.3, 0.55, 0.8, 1.0]], ["我"], list("abcdef"))
    assert drawn.splitlines()[1] == "我      4  ░░ 10  ▒▒ 30  ▓▓ 55  ██ 80  ██100"
    assert heat_map([[0.3, 0.8]], ["a"], ["b", "c"], encoding="ascii").splitlines()[1] == "a  -- 30  ## 80"


def test_columns_stand_under_their_words_beside_wide_and_narrow_labels():
    accented = "re\u0301sume"  # the accent is a character of its own
    words = ["a", "extraordinarily", "猫", accented, "😀"]
    lines = heat_map([[0.5] * 5] * 3, ["我", "a", "<eos>"], words).splitlines()
    assert len({display_width(line) for line in lines}) == 1
    shown = ["a", "extraordin..", "猫", accented, "😀"]
    ends = [display_width(lines[0][: lines[0].index(word) + len(word)]) for word in shown]
    for line in lines[1:]:
        for end in ends:
            cut = next(i for i in range(len(line) + 1) if display_width(line[:i]) == end)
            assert line[:cut].endswith("▒▒ 50")


def test_a_map_that_is_too_wide_continues_below():
    drawn = heat_map([[k / 100 for k in range(20)]] * 2, ["我", "<eos>"], [f"w{k}" for k in range(20)], width=40)
    blocks = [block.splitlines() for block in drawn.split("\n\n")]
    assert len(blocks) == 4 and all(len(block) == 3 for block in blocks)
    assert max(display_width(line) for line in drawn.splitlines()) <= 40
    assert [word for block in blocks for word in block[0].split()] == [f"w{k}" for k in range(20)]
    assert [n for block in blocks for n in numbers(block[1])] == list(range(20))
    assert len(heat_map([[1.0, 0.0]], ["a"], ["b", "c"], width=1).split("\n\n")) == 2


# ------------------------------------------------------------------ as a process


def process(arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "transformer_lab", "translate", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        cwd=Path(__file__).parent.parent,
        timeout=120,
    )


@pytest.mark.slow
def test_a_stream_that_cannot_write_chinese_gets_escapes_and_a_note(file):
    done = process(["--file", file, "I love you", "--show-attention"], PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and done.stdout.startswith(rb"\u6211\u7231\u4f60" + b"\n")
    assert done.stderr.decode() == "note: standard output is ascii, which lacks some characters; set PYTHONUTF8=1\n"
    done = process(["--file", file, "I love you", "--json"], PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["text"] == "我爱你" and done.stderr == b""


@pytest.mark.slow
def test_a_reader_that_leaves_early(file, tmp_path):
    (tmp_path / "in.txt").write_text("I love you\n" * 300, "utf-8")
    call = f"{sys.executable} -m transformer_lab translate --file {file} --greedy --input {tmp_path / 'in.txt'} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", call], capture_output=True, text=True, cwd=Path(__file__).parent.parent, timeout=120
    )
    assert (done.stdout, done.stderr) == ("我爱你\n", "")
