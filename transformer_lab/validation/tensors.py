"""Checks of tensors: dtype, device, shape, and the range of ids.

Floor 0: torch only.
"""

import torch
from torch import Tensor

_is_wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", lambda _: False)  # by vmap or jacrev


def check_attention_inputs(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuses query, key and value that do not belong together, before a kernel could read past their ends.

    Args:
        query: [..., T, d_k].
        key: [..., S, d_k].
        value: [..., S, d_v].

    Raises:
        TypeError: dtypes differ or are not floating point.
        ValueError: ranks, leading axes, lengths, widths or devices do not fit.

    Source:
        Paper 3.2.1; chapter 02.
    """
    _check_one_kind(query, key, value)
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() < 2 or x.dim() != query.dim():
            raise ValueError(
                "query, key and value must have the same rank of at least 2 ([..., length, width]), "
                f"got {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
            )
        if x.shape[:-2] != query.shape[:-2]:
            raise ValueError(
                f"query, key and value must agree in every axis before length and width, got {name} {tuple(x.shape)} "
                f"beside query {tuple(query.shape)}; expand the smaller one yourself if that is what you mean"
            )
    _check_pairs(key, value)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same width, got {query.shape[-1]} and {key.shape[-1]}")


def check_source(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuses keys and values, not projected yet, that do not belong to the queries.

    Args:
        query: [B, T, d_model], already checked by `check_hidden`.
        key: [B, S, d_model].
        value: [B, S, d_model].

    Raises:
        TypeError: dtypes differ or are not floating point.
        ValueError: batch, lengths, widths or devices do not fit.

    Source:
        Paper 3.2.2; chapter 03.
    """
    if key is not query or value is not query:
        B, _, d_model = query.shape
        for name, x in (("key", key), ("value", value)):
            check_hidden(name, x, d_model)
            if x.shape[0] != B:
                raise ValueError(f"{name} holds batch {x.shape[0]} but query has batch {B}")
        _check_pairs(key, value)
    _check_one_kind(query, key, value)


def check_hidden(name: str, x: Tensor, d_model: int) -> None:
    """Refuses a sequence of vectors that is not [B, length, d_model].

    Args:
        name: the argument's name.
        x: the tensor given.
        d_model: the width expected.

    Raises:
        ValueError: wrong rank or width.

    Source:
        Ours; chapter 02.
    """
    shape = x.shape
    if len(shape) != 3:
        fix = "a mask is given by name: mask=..." if x.dtype == torch.bool else f"add the batch axis with {name}.unsqueeze(0)"
        raise ValueError(f"{name} must be [batch, length, d_model={d_model}], got {tuple(shape)}{f'; {fix}' * (len(shape) == 2)}")
    if shape[2] != d_model:
        raise ValueError(f"{name} must have width d_model={d_model}, got {shape[2]} (shape {tuple(shape)})")


def check_token_ids(name: str, ids: Tensor, vocab_size: int | None = None) -> None:
    """Refuses ids that are not a non-empty [B, S] of whole numbers in [0, vocab_size).

    The range is checked by value, which waits for the device; where `values_are_unknown`, only dtype and shape are.

    Args:
        name: the argument's name.
        ids: the token ids given.
        vocab_size: number of rows of the embedding table; None leaves the range to a later check.

    Raises:
        TypeError: not an integer tensor.
        ValueError: wrong rank, empty, or an id out of range (the first one and its place are named).

    Source:
        Paper 3.4; chapter 08.
    """
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be token ids of dtype int64 or int32, got {dtype_name(ids)}; convert with .long()")
    if ids.dim() != 2:
        raise ValueError(f"{name} must be token ids of shape [batch, length], got {tuple(ids.shape)}")
    if ids.numel() == 0:
        raise ValueError(f"{name} is empty (shape {tuple(ids.shape)}); at least one token is needed")
    if vocab_size and (place := _first_outside(ids, vocab_size)):
        raise ValueError(f"token id {int(ids[place])} at {list(place)} is out of range for a vocabulary of {vocab_size}")


def check_positions(positions: Tensor, expected: tuple[int, int], max_len: int) -> None:
    """Refuses positions that are not whole numbers in [0, max_len), one per token; values as in `check_token_ids`.

    Args:
        positions: the positions given.
        expected: the shape they must have, (B, T).
        max_len: number of positions that exist.

    Raises:
        TypeError: not an integer tensor.
        ValueError: wrong shape, or a position out of range (the first one and its place are named).

    Source:
        Paper 3.5; chapter 04.
    """
    if positions.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"positions must be of dtype int64 or int32, got {dtype_name(positions)}; convert with .long()")
    if tuple(positions.shape) != expected:
        raise ValueError(f"positions must be [batch, length] {expected}, got {tuple(positions.shape)}")
    if place := _first_outside(positions, max_len):
        raise ValueError(f"position {int(positions[place])} at {list(place)} is out of range for max_len {max_len}")


def dtype_name(x: Tensor) -> str:
    """Returns the dtype without "torch.", for messages.

    Args:
        x: any tensor.

    Returns:
        "float32", "bool", …

    Source:
        Ours; chapter 02.
    """
    return str(x.dtype).removeprefix("torch.")


def values_are_unknown(x: Tensor) -> bool:
    """Tells whether only shapes are known: while compiling, exporting, under vmap, on the meta device.

    Args:
        x: any tensor.

    Returns:
        True where a value must not be looked at.

    Source:
        Ours; chapter 10.
    """
    return torch.compiler.is_compiling() or x.is_meta or _is_wrapped(x)


def _check_one_kind(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not x.is_floating_point():
            raise TypeError(f"{name} must be floating point, got {dtype_name(x)}; look ids up in an embedding first")
        if x.dtype != query.dtype:
            raise TypeError("query, key and value must have one dtype, got " + ", ".join(map(dtype_name, (query, key, value))))
        if x.device != query.device:
            raise ValueError(f"{name} is on {x.device} but query is on {query.device}; move both with .to(device)")


def _check_pairs(key: Tensor, value: Tensor) -> None:
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")


def _first_outside(x: Tensor, limit: int) -> tuple[int, ...]:
    """The place of the first entry outside [0, limit); () when there is none, or when values are not known."""
    if values_are_unknown(x) or x.numel() == 0:
        return ()
    lowest, highest = (x, x) if x.numel() == 1 else x.aminmax()  # one id, as in a cached step, needs no kernel
    inside = lowest.item() >= 0 and highest.item() < limit
    return () if inside else tuple(((x < 0) | (x >= limit)).nonzero()[0].tolist())
