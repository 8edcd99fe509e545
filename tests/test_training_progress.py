"""What a training shows: plain lines in a log, a bar in a terminal, nothing when silent, curves for TensorBoard when asked."""

import io
import re
import sys
from dataclasses import replace

import pytest

from transformer_lab.training.loop import train
from transformer_lab.training.progress import Progress

from .training_support import EXACT, TRAIN, VALID, new_model, trained


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, every=0.0, **arguments):
    """What a progress prints of two epochs of three updates each."""
    with Progress(stream=stream, every=every, **arguments) as progress:
        for epoch in (1, 2):
            progress.begin_epoch(epoch, 0, 3)
            for update in range(3):
                progress.update(3 * epoch + update - 2, 24.0, 8, 0.001)
    return stream.getvalue()


def test_a_log_gets_plain_lines_with_loss_and_speed():
    lines = shown(io.StringIO()).splitlines()
    assert len(lines) == 6 and "\r" not in "".join(lines)
    assert re.fullmatch(r"epoch 2, update 3/3, step 6: loss 3\.000, [\d,]+ tokens/s", lines[-1])


def test_a_log_is_not_flooded():
    assert shown(io.StringIO(), every=60.0) == ""


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setattr("transformer_lab.training.progress.BAR_SECONDS", 0.0)
    text = shown(Terminal())
    assert "\r" in text and "epoch 2" in text
    assert re.search(r"loss 3\.000, [\d,]+ tokens/s", text)


def test_training_ends_every_epoch_with_its_figures(capsys):
    train(new_model(), TRAIN, VALID, EXACT)
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == "" and len(lines) == 2
    expected = r"epoch 2: step 14, train \d\.\d{4}, valid \d\.\d{4}, \d+\.\d s, [\d,]+ tokens/s"
    assert re.fullmatch(expected, lines[-1])


def test_silence(capsys):
    trained(valid=VALID)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_tensorboard_that_is_missing_is_named_before_training(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    model, calls = new_model(), []
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    with pytest.raises(
        ModuleNotFoundError, match="log_dir needs TensorBoard: pip install tensorboard, or leave log_dir out"
    ):
        trained(model=model, log_dir=tmp_path)
    assert not calls
    trained(replace(EXACT, epochs=1))  # not needed unless asked for


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own imports
def test_curves_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, history = trained(valid=VALID, log_dir=tmp_path)
    curves = EventAccumulator(str(tmp_path)).Reload()
    assert set(curves.Tags()["scalars"]) == {"loss/train", "loss/valid", "rate"}
    assert [event.step for event in curves.Scalars("loss/train")] == list(range(1, 15))
    found = [event.value for event in curves.Scalars("loss/valid")]
    assert found == pytest.approx([record.valid_loss for record in history.records], rel=1e-6)
