"""The training loop, in one screen.

Floor 4b. What surrounds it stands elsewhere: `run` counts, validates, saves and resumes, `distributed` shares batches among
processes, `interrupt` turns Ctrl-C into a wish, `progress` reports.
"""

import os
from collections.abc import Sequence

import torch
from torch import nn

from .batches import Example
from .distributed import Processes
from .history import History
from .interrupt import ctrl_c_as_wish
from .loss import label_smoothed_loss
from .options import TrainingOptions
from .progress import Progress
from .run import Run
from .schedule import warmup_rate


def train(
    model: nn.Module,
    train_examples: Sequence[Example],
    valid_examples: Sequence[Example],
    options: TrainingOptions,
    *,
    state: str | os.PathLike | None = None,
    resume: bool = False,
    progress: bool = True,
    log_dir: str | os.PathLike | None = None,
) -> History:
    """Trains a model on sentence pairs: predict every next target token, and be corrected.

    On one CPU thread (`torch.set_num_threads(1)`, which is also the fastest for small models) the same model, examples and
    options give the same weights, bit for bit, whether or not the training was stopped and resumed on the way. Random numbers
    are drawn from the options' seed, and the caller's own are left as they were.

    Ctrl-C ends the training after the step under way: the state is saved, and nothing is lost. A second one, a second later,
    stops at once. A loss that is not finite ends it with an error before the step: the weights are those before that step.

    Args:
        model: `model(src [B, S], tgt_in [B, T])` gives logits [B, T, V], and its `config` says d_model; trained in place, on
            the device where it is. It is left in eval mode, with the weights of the epoch whose validation loss was lowest;
            without validation examples with the last ones. With `ema` they are averaged weights.
        train_examples: to learn from.
        valid_examples: to choose by; none are needed.
        options: how to train, and for how long.
        state: file that keeps the state of the training: every epoch, every minute, at Ctrl-C and at the end. Several processes
            read it all, and the first writes it. None: nothing is kept.
        resume: go on from that file. Model, examples, options and number of processes must be as before; only epochs, steps,
            minutes and patience may have changed.
        progress: show loss and speed on stderr, as a bar in a terminal and now and then as a line elsewhere.
        log_dir: folder for curves that TensorBoard shows; it must be installed.

    Returns:
        Losses and speed of every epoch, and what ended the training.

    Raises:
        CheckpointError: the state file belongs to another training, is damaged or cannot be written, or is there and resume
            is False.
        FloatingPointError: the loss or the gradient is not finite; the message says at which step, and what to try.
        ModuleNotFoundError: log_dir is given and TensorBoard is not installed.
        ValueError: there are no examples, one is too long, or patience has nothing to look at.

    Source:
        Paper 5; article, "Training"; chapter 10.
    """
    processes = Processes.now()
    device = next(model.parameters()).device
    with (
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
        ctrl_c_as_wish() as wish,
        Progress(progress and processes.first, log_dir=log_dir if processes.first else None) as report,
    ):
        run = Run(model, train_examples, valid_examples, options, processes, report, wish)
        run.begin(state, resume)
        learn(run, options)
        return run.finish()


def learn(run: Run, options: TrainingOptions) -> None:
    """Turns examples into weights: epoch by epoch, update by update.

    Args:
        run: the model, its optimizer, and all that is counted and kept.
        options: how to train.

    Raises:
        FloatingPointError: the loss or the gradient is not finite.

    Source:
        Paper 5; chapter 10.
    """
    for epoch in run.epochs():
        for batches, tokens in run.updates(epoch):  # tokens to predict, in all batches of all processes
            run.optimizer.zero_grad(set_to_none=True)
            share = run.processes.count / tokens  # DistributedDataParallel divides by the count what is to be summed
            total = 0.0
            for batch in run.processes.each(batches, run.network):
                with run.half_precision():
                    logits = run.network(batch.src, batch.tgt_in)  # [B, T, V]
                    loss, _ = label_smoothed_loss(logits, batch.tgt_out, smoothing=options.smoothing, pad_id=run.pad_id)
                run.scaler.scale(loss * share).backward()
                total = total + loss.detach()
            run.scaler.unscale_(run.optimizer)
            length = nn.utils.clip_grad_norm_(run.weights, options.clip or float("inf"))
            run.check_finite(total, length, tokens)
            rate = warmup_rate(run.place.step + 1, d_model=run.d_model, warmup=options.warmup, factor=options.factor)
            for group in run.optimizer.param_groups:
                group["lr"] = rate
            run.scaler.step(run.optimizer)
            run.scaler.update()
            run.after_update()
