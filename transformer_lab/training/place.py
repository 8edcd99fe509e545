"""How far a training has come, and whether it has come to its end.

Floor 4b.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .history import EpochRecord
from .options import TrainingOptions


@dataclass
class Place:
    """How far a training has come.

    Args:
        epoch: under way, counted from 1.
        update: updates of this epoch that are done.
        step: updates done in all epochs.
        loss: sum over this epoch's target tokens so far, in nats.
        tokens: their number.
        epoch_seconds: of this epoch's updates.
        seconds: of everything so far.
        rate: the last learning rate.
        best_loss: the lowest validation loss.
        best_epoch: the epoch it was reached in.
        records: of the complete epochs.

    Source:
        Ours; chapter 10.
    """

    epoch: int = 1
    update: int = 0
    step: int = 0
    loss: float = 0.0
    tokens: int = 0
    epoch_seconds: float = 0.0
    seconds: float = 0.0
    rate: float = 0.0
    best_loss: float | None = None
    best_epoch: int | None = None
    records: list[EpochRecord] = field(default_factory=list)

    def next_epoch(self) -> None:
        """Goes to the beginning of the next epoch.

        Source:
            Ours; chapter 10.
        """
        self.epoch, self.update, self.loss, self.tokens, self.epoch_seconds = self.epoch + 1, 0, 0.0, 0, 0.0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Place":
        """Builds a place from what `dataclasses.asdict` made of one.

        Args:
            values: of every field.

        Returns:
            The place.

        Source:
            Ours; chapter 10.
        """
        return cls(**{**values, "records": [EpochRecord(**record) for record in values["records"]]})

    def limit(self, options: TrainingOptions) -> str:
        """Says which limit is reached.

        Args:
            options: with the limits.

        Returns:
            epochs, steps, minutes or patience; empty while training may go on.

        Source:
            Ours; chapter 10.
        """
        if options.epochs is not None and self.epoch > options.epochs:
            return "epochs"
        if options.steps is not None and self.step >= options.steps:
            return "steps"
        if options.minutes is not None and self.seconds >= 60 * options.minutes:
            return "minutes"
        waited = 0 if self.best_epoch is None else self.epoch - 1 - self.best_epoch
        return "patience" if options.patience is not None and waited >= options.patience else ""

    def is_better(self, loss: float | None) -> bool:
        """Compares a validation loss with the best one.

        Args:
            loss: None where nothing was validated.

        Returns:
            Whether it is lower than all before; an equal one is not.

        Source:
            Ours; chapter 10.
        """
        return loss is not None and (self.best_loss is None or loss < self.best_loss)
