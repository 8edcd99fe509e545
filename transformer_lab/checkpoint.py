"""Checkpoints: a model in one safetensors file that is either whole or refused.

Floor 4a. The file is ordinary safetensors. Its metadata holds, as text, the model's class, its config, what the caller
added, and the SHA-256 of the whole file in which the 64 digits of that sum are read as zeros: names, shapes, config and
numbers are all covered, and one flipped bit anywhere is noticed. Nothing in a file is ever run: pickles are refused by
their first bytes, and names in a file never become paths or imports.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from .atomic import write_atomically
from .config import TransformerConfig
from .encoder import Encoder

MODELS = {"Encoder": Encoder}  # the classes that load_model builds
MAX_HEADER = 1 << 19  # bytes; ours are far smaller, and a forged one costs little time and memory
_FIELDS = {"format", "transformer_lab", "model", "dtype", "config", "shared", "metadata", "sha256"}
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
}
_VERSION = "1"
_ZEROS = "0" * 64
_NAME = re.compile(r"\w+(\.\w+)*", re.ASCII)
_PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")  # torch.save's zip, and bare pickles


class CheckpointError(Exception):
    """A checkpoint cannot be read or written; the message names the file and the cause.

    Source:
        Ours; chapter 10.
    """


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint file holds, once its sum has been found right.

    Args:
        tensors: {state-dict path: tensor}, on the CPU, in the dtype of the file.
        config: sizes and switches of the model.
        metadata: what the caller of `save_model` added.
        model: name of the model's class.
        dtype: in which the model was when it was saved; the file may hold less.

    Source:
        Ours; chapter 10.
    """

    tensors: dict[str, Tensor]
    config: TransformerConfig
    metadata: dict[str, Any]
    model: str
    dtype: torch.dtype


def save_model(path: str | os.PathLike, model: nn.Module, *, dtype: torch.dtype | None = None, **metadata: Any) -> None:
    """Writes a model's weights, config and your own notes to one file, or leaves the old file as it was.

    The bytes go to a temporary file in the same folder, to the disk, and only then take the name.

    Args:
        path: of the file; an existing one is replaced.
        model: any module with a `.config`; `load_model` builds those of `MODELS`.
        dtype: of the stored floating-point numbers, for example torch.float16 to halve the file; the model's when None.
        metadata: anything JSON can hold, under names of your choice.

    Raises:
        CheckpointError: the file cannot be written, or a weight does not fit into dtype.
        TypeError: the model has no config, or metadata is not JSON.

    Source:
        Ours; chapter 10.
    """
    config = getattr(model, "config", None)
    if not isinstance(config, TransformerConfig):
        raise TypeError(
            f"model must have a .config (TransformerConfig) so that it can be built again, got {type(model).__name__}"
        )
    state = model.state_dict()
    own = {tensor.dtype for tensor in state.values() if tensor.is_floating_point()}
    if len(own) != 1 or not own <= set(_DTYPES.values()):
        raise TypeError(
            f"the model's weights must be of one dtype out of {', '.join(_DTYPES)}, got {sorted(map(str, own))}"
        )
    try:
        notes = json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"metadata must be what JSON can hold (numbers, texts, lists, dicts): {error}") from error
    first = {}  # a tied table is stored once, under its first name
    shared = {name: first.setdefault((t.data_ptr(), t.shape, t.stride()), name) for name, t in state.items()}
    fields = {
        "format": "pt",
        "transformer_lab": _VERSION,
        "model": type(model).__name__,
        "dtype": str(own.pop()).removeprefix("torch."),
        "config": json.dumps(config.to_dict()),
        "shared": json.dumps({name: origin for name, origin in shared.items() if name != origin}),
        "metadata": notes,
        "sha256": _ZEROS,
    }
    tensors = {name: _stored(path, name, state[name], dtype) for name, origin in shared.items() if name == origin}
    data = _to_bytes(path, tensors, fields)
    try:
        write_atomically(path, data)
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be written: {error.strerror or error}; an older file is left as it was"
        ) from error


def load_model(path: str | os.PathLike, device: torch.device | str = "cpu") -> nn.Module:
    """Builds the model that a checkpoint describes and fills it, in eval mode and the dtype it had.

    Building draws no random numbers that the caller would notice.

    Args:
        path: of a file that `save_model` wrote.
        device: where the model goes.

    Returns:
        The model; `read_checkpoint(path).metadata` has the notes.

    Raises:
        CheckpointError: the file is missing, damaged, foreign, of another kind, or does not fit its own config.

    Source:
        Ours; chapter 10.
    """
    checkpoint = read_checkpoint(path)
    if checkpoint.model not in MODELS:
        raise CheckpointError(f"{path}: holds a {checkpoint.model!r}; load_model builds {', '.join(sorted(MODELS))}")
    with torch.random.fork_rng(devices=[]):
        model = MODELS[checkpoint.model](checkpoint.config).to(checkpoint.dtype)
    load_weights(model, checkpoint.tensors, source=path)
    return model.to(device).eval()


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, source: str | os.PathLike) -> None:
    """Copies weights into a model of exactly the same names and shapes, all or none.

    Args:
        model: filled in place; its device and dtype stay.
        tensors: {state-dict path: tensor}.
        source: the file they came from, for the message.

    Raises:
        CheckpointError: names are missing or unexpected, or shapes differ (the first ten of each are listed); the model
            is then unchanged.

    Source:
        Ours; chapter 10.
    """
    own = model.state_dict()
    shapes = [
        f"{name} {list(tensors[name].shape)} instead of {list(own[name].shape)}"
        for name in own
        if name in tensors and tensors[name].shape != own[name].shape
    ]
    problems = {
        "missing": [name for name in own if name not in tensors],
        "unexpected": [name for name in tensors if name not in own],
        "wrong shape": shapes,
    }
    if any(problems.values()):
        said = [f"{kind}: {_first_ten(names)}" for kind, names in problems.items() if names]
        raise CheckpointError(f"{source}: does not fit {type(model).__name__}; nothing was loaded; {'; '.join(said)}")
    with torch.no_grad():
        for name, tensor in own.items():  # tensors of a state dict share the model's memory
            tensor.copy_(tensors[name])


def read_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Reads a file that `save_model` wrote and proves it whole, without building a model.

    Args:
        path: of the file.

    Returns:
        Tensors, config, metadata and class name.

    Raises:
        CheckpointError: missing, empty, truncated, padded, flipped, foreign, a pickle, or a config that is none.

    Source:
        Ours; chapter 10.
    """
    try:
        with open(path, "rb") as file:  # one open file: a save that replaces it meanwhile does no harm
            head, fields = _read_header(path, file)
            if _sum(file, head, fields["sha256"]) != fields["sha256"]:
                raise CheckpointError(f"{path}: damaged: its SHA-256 is not the one it was saved with")
            file.seek(0)
            tensors = safetensors.torch.load(file.read())
        shared = json.loads(fields["shared"])
        tensors.update({name: tensors[origin] for name, origin in shared.items()})
        config = TransformerConfig.from_dict(json.loads(fields["config"]))
        return Checkpoint(tensors, config, json.loads(fields["metadata"]), fields["model"], _DTYPES[fields["dtype"]])
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path}: damaged or foreign: {error}") from error


def _read_header(path: str | os.PathLike, file: BinaryIO) -> tuple[bytes, dict[str, str]]:
    size = os.fstat(file.fileno()).st_size
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if start.startswith(_PICKLES) and (size < 8 or length > MAX_HEADER):  # a header of 640 bytes begins like a pickle
        raise CheckpointError(
            f"{path}: is a pickle (torch.save); it is refused unread, because loading one can run code"
        )
    if size < 8:
        raise CheckpointError(f"{path}: {f'is cut off after {size} bytes' if size else 'is empty'}")
    if length > MAX_HEADER:
        raise CheckpointError(f"{path}: not a safetensors file of ours: header of {length} bytes, at most {MAX_HEADER}")
    if 8 + length > size:
        raise CheckpointError(f"{path}: is cut off inside its header: {size} bytes, at least {8 + length} expected")
    head = start + file.read(length)
    header = json.loads(head[8:])
    fields = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(fields, dict) or fields.keys() != _FIELDS:
        raise CheckpointError(f"{path}: a foreign file: it lacks the metadata that save_model writes")
    if fields["transformer_lab"] != _VERSION:
        raise CheckpointError(
            f"{path}: format {fields['transformer_lab']!r}; this version of transformer_lab reads {_VERSION!r}"
        )
    strange = [name for name in header if not _NAME.fullmatch(name)]
    if strange:
        raise CheckpointError(
            f"{path}: tensor names must be words joined by dots, got {_first_ten(map(repr, strange))}"
        )
    expected = 8 + length + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if size != expected:
        raise CheckpointError(
            f"{path}: {'is cut off' if size < expected else 'has bytes after its end'}: {size} instead of {expected}"
        )
    return head, fields


def _sum(file: BinaryIO, head: bytes, claimed: str) -> str:
    digest = hashlib.sha256(head.replace(f'"sha256":"{claimed}"'.encode(), f'"sha256":"{_ZEROS}"'.encode(), 1))
    for block in iter(lambda: file.read(1 << 20), b""):
        digest.update(block)
    return digest.hexdigest()


def _stored(path: str | os.PathLike, name: str, tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    if not _NAME.fullmatch(name):
        raise CheckpointError(f"{path}: tensor names must be words joined by dots, got {name!r}")
    plain = tensor.detach().to("cpu", dtype if tensor.is_floating_point() else None).contiguous()
    lost = int((plain.isinf().cpu() & tensor.detach().isfinite().cpu()).sum())
    if lost:
        raise CheckpointError(f"{path}: {lost} numbers of {name} are too large for {dtype}; the file was not written")
    return plain


def _to_bytes(path: str | os.PathLike, tensors: dict[str, Tensor], fields: dict[str, str]) -> bytes:
    data = safetensors.torch.save(tensors)
    length = int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": fields} | json.loads(data[8 : 8 + length]), separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # tensors stay aligned
    if len(header) > MAX_HEADER:
        raise CheckpointError(
            f"{path}: metadata makes a header of {len(header)} bytes, at most {MAX_HEADER}; the file was not written"
        )
    blank = len(header).to_bytes(8, "little") + header + data[8 + length :]
    digest = hashlib.sha256(blank).hexdigest()
    return blank.replace(f'"sha256":"{_ZEROS}"'.encode(), f'"sha256":"{digest}"'.encode(), 1)


def _first_ten(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more
