"""What is kept of a training: averaged weights, the best epoch's weights, and the state file.

Floor 4b.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..sealed import CheckpointError
from .averaging import AveragedWeights, copy_weights, set_weights
from .distributed import Processes
from .place import Place
from .snapshot import restore, snapshot
from .state import read_state, write_state

SAVE_SECONDS = 60.0  # between two saves inside an epoch


class Keeper:
    """Keeps weights aside and writes states.

    Args:
        model: that is trained.
        optimizer: of its weights.
        scaler: of its gradients.
        ema: decay of the averaged weights; 0 keeps none.
        processes: that train together.
        device: on which they train.

    Source:
        Ours; chapter 10.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Adam,
        scaler: torch.amp.GradScaler,
        ema: float,
        processes: Processes,
        device: torch.device,
    ) -> None:
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.processes, self.device = processes, device
        self.average = AveragedWeights(model, ema) if ema else None
        self.best: dict[str, Tensor] = {}
        self.path: str | os.PathLike | None = None

    def open(self, path: str | os.PathLike | None, resume: bool, identity: Mapping[str, Any]) -> Place:
        """Takes up what a state file holds, or sees that a new one harms nothing.

        Args:
            path: of the state file; None keeps none.
            resume: whether to go on from it.
            identity: of this training.

        Returns:
            The place to go on from.

        Raises:
            CheckpointError: see `state.read_state`; or the file is there and resume is False.
            ValueError: resume without a path.

        Source:
            Ours; chapter 10.
        """
        self.path, self.identity, place = path, identity, Place()
        if resume:
            if path is None:
                raise ValueError("resume=True needs state=, the file to go on from")
            saved = read_state(path, identity)
            self.best = restore(saved, self.model, self.optimizer, self.scaler, self.average, self.processes.rank)
            place = saved.place
        elif path is not None and os.path.exists(path):
            raise CheckpointError(
                f"{path}: holds a training already; go on with resume=True, or delete it to begin anew"
            )
        self._kept, self._when = (place.epoch, place.update), time.perf_counter()
        return place

    def after_update(self, step: int) -> None:
        """Lets the average follow the weights.

        Args:
            step: number of the update, counted from 1.

        Source:
            Ours; chapter 10.
        """
        if self.average:
            self.average.update(step)

    def averaged(self) -> contextlib.AbstractContextManager:
        """Gives the model its averaged weights inside a with-block, if there are any.

        Returns:
            A context manager.

        Source:
            Ours; chapter 10.
        """
        return self.average.in_use() if self.average else contextlib.nullcontext()

    def keep_best(self) -> None:
        """Sets aside the weights that have just been validated.

        Source:
            Ours; chapter 10.
        """
        with self.averaged():
            self.best = copy_weights(self.model)

    def is_due(self) -> bool:
        """Tells whether the last save was a minute ago.

        Returns:
            Whether to save inside an epoch.

        Source:
            Ours; chapter 10.
        """
        return self.path is not None and time.perf_counter() - self._when > SAVE_SECONDS

    def save(self, place: Place) -> None:
        """Writes the state file, if there is to be one and it does not hold this very place already.

        Args:
            place: reached.

        Raises:
            CheckpointError: it cannot be written.

        Source:
            Ours; chapter 10.
        """
        if self.path is None or self._kept == (place.epoch, place.update):
            return
        groups = snapshot(self.model, self.optimizer, self.average, self.best, self.processes, self.device)
        if self.processes.first:
            write_state(self.path, groups, place, self.scaler.state_dict(), self.identity)
        self._kept, self._when = (place.epoch, place.update), time.perf_counter()

    def hand_over(self) -> None:
        """Leaves in the model the weights that are to be used: the best, else the averaged, else its own.

        Source:
            Ours; chapter 10.
        """
        if self.best or self.average:
            set_weights(self.model, self.best or self.average.weights)
        self.model.eval()
