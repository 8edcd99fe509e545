"""Sealed files: safetensors in which one flipped bit is noticed.

Floor 3: the standard library, torch and safetensors. Safetensors holds tensors under names, and a few texts. Ours keep among
the texts the SHA-256 of the whole file in which the 64 digits of that sum are read as zeros, so that it covers names,
shapes, texts and numbers alike. A sum guards against damage, not against malice: whatever it says, nothing in a file is ever
run, pickles are refused by their first bytes, and names never become paths.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import BinaryIO

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

MAX_HEADER = 1 << 19  # bytes; ours are far smaller, and a forged one costs little time and memory
_ZEROS = "0" * 64
_NAME = re.compile(r"\w+(\.\w+)*", re.ASCII)
_PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")  # torch.save's zip, and bare pickles


class CheckpointError(Exception):
    """A checkpoint cannot be read or written; the message names the file and the cause.

    Source:
        Ours; chapter 10.
    """


def seal(path: str | os.PathLike, tensors: dict[str, Tensor], texts: Mapping[str, str]) -> bytes:
    """Packs tensors and texts into the bytes of a sealed file; the same input gives the same bytes.

    Args:
        path: where they will go, for messages.
        tensors: contiguous, on the CPU, none sharing memory.
        texts: kept in this order; "sha256" is added.

    Returns:
        The file's content.

    Raises:
        CheckpointError: a tensor's name is not words joined by dots, or the texts are too long.

    Source:
        Ours; chapter 10.
    """
    check_names(path, tensors)
    data = safetensors.torch.save(tensors)
    length = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + length])
    header = json.dumps({"__metadata__": {**texts, "sha256": _ZEROS}, **entries}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # tensors stay aligned
    if len(header) > MAX_HEADER:
        raise CheckpointError(
            f"{path}: metadata makes a header of {len(header)} bytes, at most {MAX_HEADER}; nothing was written"
        )
    blank = len(header).to_bytes(8, "little") + header + data[8 + length :]
    return _with_sum(blank, _ZEROS, hashlib.sha256(blank).hexdigest())


def unseal(path: str | os.PathLike, names: Iterable[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Reads a sealed file and proves it whole.

    Args:
        path: of the file.
        names: of the texts it must have, no fewer and no more.

    Returns:
        {name: tensor}, on the CPU, and {name: text}.

    Raises:
        CheckpointError: missing, empty, truncated, padded, flipped, foreign or a pickle.

    Source:
        Ours; chapter 10.
    """
    try:
        with open(path, "rb") as file:  # one open file: a save that replaces it meanwhile does no harm
            head = _read_head(path, file)
            texts = _check_header(
                path, json.loads(head[8:]), {*names, "sha256"}, len(head), os.fstat(file.fileno()).st_size
            )
            claimed = texts.pop("sha256")
            digest = hashlib.sha256(_with_sum(head, claimed, _ZEROS))
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
            if digest.hexdigest() != claimed:
                raise CheckpointError(f"{path}: is damaged: its SHA-256 is not the one it was saved with")
            file.seek(0)
            return safetensors.torch.load(file.read()), texts
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path}: is damaged, or no file of ours: {error}") from error


def _read_head(path: str | os.PathLike, file: BinaryIO) -> bytes:
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
        raise CheckpointError(f"{path}: is no file of ours: its header would have {length} bytes, at most {MAX_HEADER}")
    if 8 + length > size:
        raise CheckpointError(f"{path}: is cut off inside its header: {size} bytes of at least {8 + length}")
    return start + file.read(length)


def _check_header(path: str | os.PathLike, header: object, names: set[str], start: int, size: int) -> dict[str, str]:
    texts = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(texts, dict) or texts.keys() != names:
        raise CheckpointError(f"{path}: is a foreign file: it lacks the metadata that save_model writes")
    check_names(path, header)
    end = start + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if size != end:
        what = "is cut off" if size < end else "has bytes after its end"
        raise CheckpointError(f"{path}: {what}: {size} bytes instead of {end}")
    return texts


def _with_sum(data: bytes, old: str, new: str) -> bytes:
    return data.replace(f'"sha256":"{old}"'.encode(), f'"sha256":"{new}"'.encode(), 1)


def check_names(path: str | os.PathLike, names: Iterable[str]) -> None:
    """Refuses names that are not words joined by dots, such as `../x`.

    Args:
        path: the file they come from or go to, for the message.
        names: of tensors.

    Raises:
        CheckpointError: one is something else.

    Source:
        Ours; chapter 10.
    """
    strange = [name for name in names if not _NAME.fullmatch(name)]
    if strange:
        raise CheckpointError(f"{path}: tensor names must be words joined by dots, got {first_ten(map(repr, strange))}")


def first_ten(names: Iterable[str]) -> str:
    """Lists names in a message, ten at most.

    Args:
        names: any number.

    Returns:
        "a, b, c", or ten of them "and N more".

    Source:
        Ours.
    """
    names = list(names)
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
