"""What a training reports: one record an epoch, and why it ended.

Floor 4b.
"""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class EpochRecord:
    """The figures of one epoch, or of the part of it that was trained.

    Args:
        epoch: counted from 1.
        step: updates of the weights since the training began.
        train_loss: nats per real target token, with label smoothing and dropout, over the epoch.
        valid_loss: nats per real target token of the validation examples, without either; None where there are none.
        tokens: real target tokens trained on in this epoch.
        seconds: of this epoch's updates, without validation and saving.
        rate: the last learning rate.

    Source:
        Ours; chapter 10.
    """

    epoch: int
    step: int
    train_loss: float
    valid_loss: float | None
    tokens: int
    seconds: float
    rate: float


@dataclass
class History:
    """All records of a training, in order.

    Args:
        records: one an epoch; the last is of part of an epoch where a limit came in the middle of it.
        stopped_by: epochs, steps, minutes, patience or interrupt.
        best_epoch: whose weights the model now has; None where nothing was validated.

    Source:
        Ours; chapter 10.
    """

    records: list[EpochRecord] = field(default_factory=list)
    stopped_by: str = ""
    best_epoch: int | None = None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the training."""
        return self.stopped_by == "interrupt"

    def to_json(self) -> dict[str, Any]:
        """Returns everything as plain numbers, texts, lists and dicts.

        Returns:
            {"stopped_by", "best_epoch", "interrupted", "records": [{field: value}]}.

        Source:
            Ours; chapter 10.
        """
        return {
            "stopped_by": self.stopped_by,
            "interrupted": self.interrupted,
            "best_epoch": self.best_epoch,
            "records": [asdict(record) for record in self.records],
        }
