"""Checks of devices.

Floor 0: torch only.
"""

import torch


def check_device(device: torch.device | str) -> torch.device:
    """Refuses a device that is not there, before anything is read or moved.

    Args:
        device: such as "cpu", "cuda" or "cuda:1".

    Returns:
        The device.

    Raises:
        ValueError: it is no device's name, or this machine has no such device.

    Source:
        Ours; chapter 11.
    """
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be a device of torch, such as 'cpu' or 'cuda', got {device!r}") from error
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = found.index or 0  # torch lets a large number turn round to a negative one
    if found.type == "cuda" and not 0 <= index < count:
        raise ValueError(f"there is no {device} here (PyTorch sees {count} CUDA devices); use cpu")
    return found
