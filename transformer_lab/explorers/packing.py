"""Packing a trained mini-world model for the page.

Floor 6. Weights that were stored in half precision stay exactly what they are: 2 bytes each, base64 in the page.
"""

import base64
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor

from ..config import TransformerConfig

PAD, MASK = "<pad>", "<mask>"  # in the vocabulary, and no words
MAX_WEIGHTS = 400_000  # 1.1 MB of page in half precision


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Names the weights that the page needs.

    Args:
        model: has an `encoder` (our `Encoder`), a `word_head` and a `replaced_head` (both `nn.Linear`).

    Returns:
        {name: weights}: the encoder's by their state-dict paths, and the heads' as word_head.* and replaced_head.*.

    Source:
        Ours; chapter 02.
    """
    named = dict(model.encoder.state_dict())
    for head in ("word_head", "replaced_head"):
        named |= {f"{head}.{name}": tensor for name, tensor in getattr(model, head).state_dict().items()}
    return named


def check_supported(config: TransformerConfig) -> None:
    """Refuses an encoder that the page's JavaScript does not compute.

    Args:
        config: the encoder's.

    Raises:
        ValueError: not the paper's form: post-LN, ReLU, scaled embeddings, interleaved sinusoidal positions.

    Source:
        Ours; chapter 02.
    """
    needed = {"norm_first": False, "activation": "relu", "scale_embedding": True, "position": "sinusoidal"}
    for name, value in needed.items():
        if getattr(config, name) != value:
            raise ValueError(
                f"the playground computes encoders with {name}={value!r}, got {name}={getattr(config, name)!r}"
            )


def pack_weights(model: nn.Module, control: nn.Module | None = None) -> dict[str, Any]:
    """Packs a model and, beside it, an untrained one of the same shape.

    Args:
        model: as `tensors_of` wants it; packed without loss, in half precision where that is enough, else in single.
        control: the same; its weights are rounded to half precision, since any random weights will do.

    Returns:
        For JSON: `tensors`, the names and shapes in order, and `models`, one {dtype, data} each, where data is the base64
        of all weights in that order, little-endian.

    Raises:
        ValueError: the two differ in shape, a weight is not finite, or there are too many for a page.

    Source:
        Ours; chapter 02.
    """
    flat = _flat(model)
    is_half = torch.equal(flat.half().float(), flat)
    packed = {"tensors": _index(model), "models": [_pack(flat.half() if is_half else flat)]}
    if control is not None:
        if _index(control) != packed["tensors"]:
            raise ValueError("control must have the shape of the model: same config, same vocabulary, same heads")
        packed["models"].append(_pack(_flat(control).half()))
    return packed


def _index(model: nn.Module) -> list[list[Any]]:
    return [[name, list(tensor.shape)] for name, tensor in tensors_of(model).items()]


def _flat(model: nn.Module) -> Tensor:
    flat = torch.cat([tensor.detach().flatten().cpu().float() for tensor in tensors_of(model).values()])
    if flat.numel() > MAX_WEIGHTS:
        raise ValueError(f"a page can carry up to {MAX_WEIGHTS:,} weights, got a model of {flat.numel():,}")
    if not flat.isfinite().all():
        raise ValueError("the model's weights must be finite to be shown")
    return flat


def _pack(flat: Tensor) -> dict[str, str]:
    numbers = flat.numpy()
    data = numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()
    return {"dtype": numbers.dtype.name, "data": base64.b64encode(data).decode("ascii")}
