"""The state of a training: all that decides how it goes on, in one sealed file, so that a resume is exact.

Floor 4b. Weights, Adam's moments and steps, averaged and best weights, the states of the random generators, and the place
reached. The file is written atomically and proved whole when it is read (see `atomic` and `sealed`).
"""

import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..atomic import write_atomically
from ..sealed import CheckpointError, first_ten, seal, unseal
from .batches import Example
from .options import LIMITS, TrainingOptions
from .place import Place

VERSION = "1"
_TEXTS = ("format", "transformer_lab_training", "identity", "scaler")


@dataclass(frozen=True)
class SavedState:
    """What a state file holds.

    Args:
        tensors: {group.name: tensor}, on the CPU; the groups are model, adam.*, average, best and rng.
        place: how far the training had come.
        scaler: the state of the gradient scaler; empty where there is none.

    Source:
        Ours; chapter 10.
    """

    tensors: dict[str, Tensor]
    place: Place
    scaler: dict[str, Any]

    def group(self, name: str) -> dict[str, Tensor]:
        """Picks the tensors of one group.

        Args:
            name: such as "model" or "adam.exp_avg".

        Returns:
            {name without the group: tensor}.

        Source:
            Ours; chapter 10.
        """
        return {key[len(name) + 1 :]: value for key, value in self.tensors.items() if key.startswith(f"{name}.")}


def write_state(
    path: str | os.PathLike,
    groups: Mapping[str, Mapping[str, Tensor]],
    place: Place,
    scaler: Mapping[str, Any],
    identity: Mapping[str, Any],
) -> None:
    """Writes a state file, or leaves the old one as it was.

    Args:
        path: of the file.
        groups: {group: {name: tensor}}.
        place: how far the training has come.
        scaler: the state of the gradient scaler.
        identity: from `identify`.

    Raises:
        CheckpointError: the file cannot be written.

    Source:
        Ours; chapter 10.
    """
    tensors = {
        f"{group}.{name}": t.detach().cpu().contiguous() for group, own in groups.items() for name, t in own.items()
    }
    notes = json.dumps(asdict(place), allow_nan=False).encode()  # grows with the epochs, so it is no text in the header
    tensors["place"] = torch.frombuffer(bytearray(notes), dtype=torch.uint8)
    texts = {
        "format": "pt",
        "transformer_lab_training": VERSION,
        "identity": json.dumps(identity),
        "scaler": json.dumps(scaler),
    }
    data = seal(path, tensors, texts)
    try:
        write_atomically(path, data)
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be written: {error.strerror or error}; an older file is left as it was"
        ) from error


def read_state(path: str | os.PathLike, identity: Mapping[str, Any]) -> SavedState:
    """Reads a state file, proves it whole, and proves that it belongs to this training.

    Args:
        path: of the file.
        identity: from `identify`, of the training that wants to go on.

    Returns:
        The state.

    Raises:
        CheckpointError: missing, damaged, foreign, or of another training; the differences are named.

    Source:
        Ours; chapter 10.
    """
    tensors, texts = unseal(path, _TEXTS)
    if texts["transformer_lab_training"] != VERSION:
        raise CheckpointError(f"{path}: format {texts['transformer_lab_training']!r}; this version reads {VERSION!r}")
    try:
        saved, scaler = json.loads(texts["identity"]), json.loads(texts["scaler"])
        place = Place.from_dict(json.loads(bytes(tensors.pop("place").tolist())))
        different = list(_differences(saved, json.loads(json.dumps(identity))))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CheckpointError(f"{path}: its notes are damaged: {error}") from error
    if different:
        raise CheckpointError(
            f"{path}: is the state of another training: {first_ten(different)}. Resume with what it was begun with "
            f"(only {', '.join(LIMITS)} may change), or begin anew in another file"
        )
    return SavedState(tensors, place, scaler)


def identify(
    model: nn.Module, options: TrainingOptions, train: Sequence[Example], valid: Sequence[Example], processes: int
) -> dict[str, dict[str, Any]]:
    """Describes all that must be the same when a training is resumed.

    Args:
        model: its class, config, shapes and dtype count, its weights do not.
        options: all but the limits.
        train: examples, in order.
        valid: examples, in order.
        processes: their number.

    Returns:
        {what: {name: value}}, which JSON can hold.

    Source:
        Ours; chapter 10.
    """
    shapes = {name: f"{list(w.shape)} {str(w.dtype).removeprefix('torch.')}" for name, w in model.named_parameters()}
    config = model.config.to_dict() if hasattr(model, "config") else {}
    return {
        "options": {name: value for name, value in options.to_dict().items() if name not in LIMITS},
        "model": {"class": type(model).__name__, **config},
        "weights": {"sha256 of names and shapes": hashlib.sha256(json.dumps(shapes).encode()).hexdigest()},
        "training examples": {"number": len(train), "sha256": digest(train)},
        "validation examples": {"number": len(valid), "sha256": digest(valid)},
        "processes": {"number": processes},
    }


def digest(examples: Iterable[Example]) -> str:
    """Sums examples up in 64 hexadecimal digits.

    Args:
        examples: in order.

    Returns:
        SHA-256 of all lengths and ids.

    Source:
        Ours; chapter 10.
    """
    found = hashlib.sha256()
    for example in examples:
        found.update(array("q", [len(example.src), len(example.tgt), *example.src, *example.tgt]).tobytes())
    return found.hexdigest()


def _differences(saved: Mapping[str, Mapping], now: Mapping[str, Mapping]) -> Iterable[str]:
    for what in now:
        for name in {**saved[what], **now[what]}:
            before, after = saved[what].get(name), now[what].get(name)
            if before != after:
                yield f"{what}: {name} was {_short(before)}, is {_short(after)}"


def _short(value: Any) -> Any:
    return value[:12] + "…" if isinstance(value, str) and len(value) > 24 else value  # of a sum, some digits are enough
