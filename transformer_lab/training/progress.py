"""What a training shows while it runs: a bar in a terminal, now and then a line in a log, curves for TensorBoard.

Floor 4b.
"""

import os
import sys
import time

from tqdm import tqdm

from .history import EpochRecord

BAR_SECONDS, LOG_SECONDS = 0.3, 10.0  # between two looks at the figures


class Progress:
    """Reports updates and epochs on stderr, and to TensorBoard when asked.

    Args:
        shown: False prints nothing.
        log_dir: folder for TensorBoard's files; None writes none.
        stream: where to print; stderr when None.
        every: seconds between two lines where the stream is no terminal.

    Raises:
        ModuleNotFoundError: log_dir is given and TensorBoard is not installed.

    Source:
        Ours; chapter 10.
    """

    def __init__(
        self, shown: bool = True, *, log_dir: str | os.PathLike | None = None, stream=None, every: float = LOG_SECONDS
    ) -> None:
        self.shown, self.stream = shown, stream or sys.stderr
        self.in_terminal = self.stream.isatty()
        self.every = BAR_SECONDS if self.in_terminal else every
        self.writer = None if log_dir is None else _tensorboard(log_dir)
        self.bar: tqdm | None = None
        self._forget()

    def __enter__(self) -> "Progress":
        """Begins; closing is done at the end of the with-block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Takes the bar away and completes TensorBoard's files."""
        self._close_bar()
        if self.writer:
            self.writer.close()

    def begin_epoch(self, epoch: int, done: int, updates: int) -> None:
        """Starts the bar of an epoch.

        Args:
            epoch: counted from 1.
            done: updates of it that an earlier session made.
            updates: all of its updates.

        Source:
            Ours; chapter 10.
        """
        self._close_bar()
        self.epoch, self.done, self.updates = epoch, done, updates
        self._forget()
        if self.shown and self.in_terminal:
            self.bar = tqdm(
                total=updates,
                initial=done,
                desc=f"epoch {epoch}",
                unit="step",
                file=self.stream,
                leave=False,
                dynamic_ncols=True,
                mininterval=0,  # how often is decided here
            )

    def update(self, step: int, loss: float, tokens: int, rate: float) -> None:
        """Takes in one update; shows loss and speed since the last look when it is time.

        Args:
            step: counted from 1, over all epochs.
            loss: sum over the update's real target tokens, in nats.
            tokens: their number.
            rate: the learning rate.

        Source:
            Ours; chapter 10.
        """
        self.done, self.loss, self.tokens = self.done + 1, self.loss + loss, self.tokens + tokens
        if self.writer:
            self.writer.add_scalar("loss/train", loss / max(tokens, 1), step)
            self.writer.add_scalar("rate", rate, step)
        seconds = time.perf_counter() - self.since
        if seconds < self.every or not self.shown:
            return
        said = f"loss {self.loss / max(self.tokens, 1):.3f}, {self.tokens / seconds:,.0f} tokens/s"
        if self.bar is not None:
            self.bar.set_postfix_str(said, refresh=False)
            self.bar.update(self.done - self.bar.n)
        else:
            self.say(f"epoch {self.epoch}, update {self.done}/{self.updates}, step {step}: {said}")
        self._forget()

    def end_epoch(self, record: EpochRecord) -> None:
        """Prints an epoch's figures on a line of their own.

        Args:
            record: of the epoch.

        Source:
            Ours; chapter 10.
        """
        self._close_bar()
        valid = "" if record.valid_loss is None else f", valid {record.valid_loss:.4f}"
        speed = f"{record.tokens / max(record.seconds, 1e-9):,.0f} tokens/s"
        self.say(
            f"epoch {record.epoch}: step {record.step}, train {record.train_loss:.4f}{valid}, {record.seconds:.1f} s, {speed}"
        )
        if self.writer and record.valid_loss is not None:
            self.writer.add_scalar("loss/valid", record.valid_loss, record.step)

    def say(self, line: str) -> None:
        """Prints a line, above the bar where there is one.

        Args:
            line: without its end.

        Source:
            Ours; chapter 10.
        """
        if self.shown and self.bar is not None:
            self.bar.write(line, file=self.stream)
        elif self.shown:
            print(line, file=self.stream, flush=True)

    def _forget(self) -> None:
        self.loss, self.tokens, self.since = 0.0, 0, time.perf_counter()

    def _close_bar(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _tensorboard(log_dir: str | os.PathLike):
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ModuleNotFoundError("log_dir needs TensorBoard: pip install tensorboard, or leave log_dir out") from error
    return SummaryWriter(str(log_dir))
