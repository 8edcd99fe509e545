"""What may stand on the command line: each function turns a text into a value, or says what was expected.

Floor 7a.
"""

import re
from argparse import ArgumentTypeError
from pathlib import Path

import torch

from ..validation import check_device


def weights_file(text: str) -> Path:
    """Reads the path of a model file.

    Args:
        text: as it was typed.

    Returns:
        The path; the file need not exist, its folder must.

    Raises:
        ArgumentTypeError: it does not end in .safetensors, or its folder is missing.

    Source:
        Ours; chapter 10.
    """
    if Path(text).suffix != ".safetensors":
        raise ArgumentTypeError(f"must end in .safetensors, got {text!r}")
    return new_file(text)


def new_file(text: str) -> Path:
    """Reads the path of a file to write.

    Args:
        text: as it was typed.

    Returns:
        The path.

    Raises:
        ArgumentTypeError: it is a folder, or its folder is missing.

    Source:
        Ours; chapter 11.
    """
    path = Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"is a folder, a file is needed: {text!r}")
    if not path.resolve().parent.is_dir():
        raise ArgumentTypeError(f"its folder does not exist: {text!r}")
    return path


def whole_number(text: str) -> int:
    """Reads a whole number from 0.

    Args:
        text: as it was typed.

    Returns:
        The number.

    Raises:
        ArgumentTypeError: it is none.

    Source:
        Ours; chapter 10.
    """
    if not text.isdecimal():
        raise ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Reads a whole number from 1.

    Args:
        text: as it was typed.

    Returns:
        The number.

    Raises:
        ArgumentTypeError: it is none.

    Source:
        Ours; chapter 10.
    """
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


def device(text: str) -> str:
    """Reads where a model is to compute.

    Args:
        text: as it was typed.

    Returns:
        cpu, cuda or cuda:N; for auto what this machine has.

    Raises:
        ArgumentTypeError: it is something else, or there is no such device.

    Source:
        Ours; chapter 10.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", text):
        raise ArgumentTypeError(f"must be cpu, cuda, cuda:N or auto, got {text!r}")
    if text == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return str(check_device(text))
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
