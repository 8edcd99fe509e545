"""Everything around the loop: what is counted, validated, kept, saved and resumed.

Floor 4b.
"""

import contextlib
import math
import os
import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from .batches import Batch, Example, bucketed_batches, collate, shard
from .distributed import Processes
from .history import EpochRecord, History
from .interrupt import Wish
from .keeper import Keeper
from .options import TrainingOptions
from .place import Place
from .progress import Progress
from .state import identify
from .validate import validation_loss
from .vocabulary import PAD

HALF = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Run:
    """One training under way.

    Args:
        model: trained in place.
        train: examples to learn from.
        valid: examples to choose by.
        options: how to train.
        processes: that train together.
        report: shows how it goes.
        wish: whether Ctrl-C was pressed.

    Raises:
        ValueError: there are no examples, or patience has none to look at.

    Source:
        Ours; chapter 10.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Sequence[Example],
        valid: Sequence[Example],
        options: TrainingOptions,
        processes: Processes,
        report: Progress,
        wish: Wish,
    ) -> None:
        _check_examples(train, valid, options)
        self.model, self.train_examples, self.valid_examples = model, train, valid
        self.options, self.processes, self.report, self.wish = options, processes, report, wish
        self.network = processes.wrap(model)  # the same weights
        self.weights = [weight for weight in model.parameters() if weight.requires_grad]
        self.device = self.weights[0].device
        self.d_model, self.pad_id = model.config.d_model, getattr(model.config, "pad_id", PAD)
        fused = self.device.type in ("cpu", "cuda")  # one pass over the weights: 4 times as fast on a CPU
        self.optimizer = torch.optim.Adam(self.weights, betas=options.betas, eps=options.eps, fused=fused)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=options.precision == "float16")
        self.keeper = Keeper(model, self.optimizer, self.scaler, options.ema, processes, self.device)
        self.place, self.stopped_by = Place(), ""
        torch.manual_seed(options.seed + processes.rank)  # of dropout, which differs from process to process

    def begin(self, path: str | os.PathLike | None, resume: bool) -> None:
        """Begins anew, or takes up what a state file holds.

        Args:
            path: of the state file, or None.
            resume: whether to go on from it.

        Raises:
            CheckpointError: the file cannot be read, belongs to another training, or is there and resume is False.
            ValueError: resume without a path.

        Source:
            Ours; chapter 10.
        """
        parts = (self.model, self.options, self.train_examples, self.valid_examples, self.processes.count)
        self.place = self.keeper.open(path, resume, identify(*parts) if path is not None else {})
        self.clock = time.perf_counter()
        self.model.train()
        self.stopped_by = self.place.limit(self.options)

    def epochs(self) -> Iterator[int]:
        """Counts epochs until something ends the training; after each it validates, keeps the best weights and saves.

        Yields:
            The epoch's number, counted from 1; the first may be one that an earlier session began.

        Source:
            Ours; chapter 10.
        """
        while not self.stopped_by:
            yield self.place.epoch
            if self.place.update >= self.updates_of_epoch:
                self._end_epoch()

    def updates(self, epoch: int) -> Iterator[tuple[list[Batch], int]]:
        """Goes through what is left of an epoch, until something ends the training.

        Args:
            epoch: its number; with the seed it decides the order.

        Yields:
            This process's share of an update's batches, and the number of target tokens of all shares of it.

        Source:
            Ours; chapter 10.
        """
        options, processes, examples = self.options, self.processes, self.train_examples
        batches = bucketed_batches(examples, options.max_tokens, seed=options.seed, epoch=epoch)
        groups = [batches[i : i + options.accumulate] for i in range(0, len(batches), options.accumulate)]
        self.updates_of_epoch = len(groups)
        self.report.begin_epoch(epoch, self.place.update, len(groups))
        self.begun = time.perf_counter()
        for group in groups[self.place.update :]:
            tokens = sum(len(examples[i].tgt) for batch in group for i in batch)
            shares = shard(group, processes.rank, processes.count)
            yield [collate([examples[i] for i in share], self.pad_id).to(self.device) for share in shares], tokens
            if self.stopped_by:
                return

    def half_precision(self) -> contextlib.AbstractContextManager:
        """Computes products inside a with-block in the precision of the options.

        Returns:
            Torch's autocast, or for float32 a with-block that changes nothing.

        Source:
            Micikevicius et al. 2018; chapter 10.
        """
        half = HALF.get(self.options.precision)
        return torch.autocast(self.device.type, half) if half else contextlib.nullcontext()

    def check_finite(self, total: Tensor, length: Tensor, tokens: int) -> None:
        """Takes in an update's loss before the step is made, and refuses to step when there is nothing to follow.

        Args:
            total: sum of the loss [] over this process's tokens.
            length: of the whole gradient [], before it was clipped.
            tokens: of all processes.

        Raises:
            FloatingPointError: the loss or the gradient is not finite. A gradient too large for float16 is none: the scaler
                skips that step and scales less.

        Source:
            Ours; chapter 10.
        """
        (loss,) = self.processes.total([total.item()], self.device)
        self.loss, self.tokens = loss, tokens
        too_long = not (self.scaler.is_enabled() or bool(length.isfinite()))
        if not math.isfinite(loss) or too_long:
            what = f"length of the gradient is {length.item()}" if math.isfinite(loss) else f"loss is {loss}"
            raise FloatingPointError(
                f"the {what} at step {self.place.step + 1} (epoch {self.place.epoch}), so the step was not made and the weights "
                f"are those before it. Try a smaller factor (now {self.options.factor}), a longer warmup (now "
                f"{self.options.warmup}), clip=1.0, or another precision than float16"
            )

    def after_update(self) -> None:
        """Counts an update that is done, shows it, saves when a minute has passed, and sees what ends the training.

        Source:
            Ours; chapter 10.
        """
        place, first = self.place, self.processes.first
        place.step, place.update, place.rate = place.step + 1, place.update + 1, self.optimizer.param_groups[0]["lr"]
        place.loss, place.tokens = place.loss + self.loss, place.tokens + self.tokens
        self.keeper.after_update(place.step)
        now = time.perf_counter()
        clock = [now - self.begun, now - self.clock, self.keeper.is_due()] if first else [0, 0, 0]
        seconds, since, due, stop = self.processes.total([*clock, self.wish.to_stop], self.device)
        place.epoch_seconds, place.seconds = place.epoch_seconds + seconds, place.seconds + since
        self.begun = self.clock = now
        self.report.update(place.step, self.loss, self.tokens, place.rate)
        self.stopped_by = "interrupt" if stop else place.limit(self.options)
        if due:
            self.keeper.save(place)

    def finish(self) -> History:
        """Saves, gives the model the weights that are to be used, and sums up.

        Returns:
            The records of all epochs, the last of a part of one where a limit came in the middle of it.

        Source:
            Ours; chapter 10.
        """
        place = self.place
        self.keeper.save(place)
        records, best_epoch = list(place.records), place.best_epoch
        if place.update and self.stopped_by != "interrupt":  # a resume goes on as if this look had never been taken
            records.append(self._record())
            if place.is_better(records[-1].valid_loss):
                best_epoch = place.epoch
                self.keeper.keep_best()
        if self.stopped_by == "interrupt":
            kept = "" if self.keeper.path is None else f"; {self.keeper.path} holds the state to go on from"
            self.report.say(f"interrupted after step {place.step}{kept}")
        self.keeper.hand_over()
        return History(records, self.stopped_by, best_epoch)

    def _end_epoch(self) -> None:
        place, record = self.place, self._record()
        place.records.append(record)
        if place.is_better(record.valid_loss):
            place.best_loss, place.best_epoch = record.valid_loss, place.epoch
            self.keeper.keep_best()
        place.next_epoch()
        self.stopped_by = self.stopped_by or place.limit(self.options)
        self.keeper.save(place)

    def _record(self) -> EpochRecord:
        """Sums up what was trained of this epoch, and looks at the validation examples."""
        place, valid = self.place, None
        if self.valid_examples:
            with self.keeper.averaged():
                valid = validation_loss(
                    self.model, self.valid_examples, self.options.max_tokens, self.processes, self.half_precision
                )
            if not math.isfinite(valid):
                raise FloatingPointError(f"the validation loss is {valid} after step {place.step}")
        loss = place.loss / place.tokens
        record = EpochRecord(place.epoch, place.step, loss, valid, place.tokens, place.epoch_seconds, place.rate)
        self.report.end_epoch(record)
        return record


def _check_examples(train: Sequence[Example], valid: Sequence[Example], options: TrainingOptions) -> None:
    if not train:
        raise ValueError("there is nothing to learn from: train_examples is empty")
    if options.patience is not None and not valid:
        raise ValueError(f"patience={options.patience} waits for a better validation loss, so it needs valid_examples")
