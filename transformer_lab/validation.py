"""Argument checks that raise before any kernel runs.

Floor 0: torch and the standard library only. Every message names the argument, what was expected and what came. The checks
read shapes and dtypes; only those of token ids and positions look at values.
"""

import difflib

import torch
from torch import Tensor


def check_heads(d_model: int, num_heads: int) -> None:
    """Refuses a width that the heads cannot share equally.

    Args:
        d_model: width of the model.
        num_heads: number of heads h; d_k = d_model / h must be a whole number.

    Raises:
        ValueError: either is below 1, or num_heads does not divide d_model (those that would are listed).

    Source:
        Paper 3.2.2; article, "Multi-head: definition"; chapter 03.
    """
    check_positive(d_model=d_model, num_heads=num_heads)
    if d_model % num_heads:
        works = ", ".join(str(n) for n in range(1, min(d_model, 64) + 1) if d_model % n == 0)
        raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads}); num_heads that work: {works}")


def check_positive(**sizes: int) -> None:
    """Refuses sizes that are not whole numbers of at least 1.

    Args:
        sizes: name=value pairs.

    Raises:
        TypeError: a value is not an int.
        ValueError: a value is below 1.

    Source:
        Ours; chapter 02.
    """
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, got {type(value).__name__} ({value!r})")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def check_dropout(dropout: float) -> None:
    """Refuses a dropout probability outside [0, 1).

    Args:
        dropout: probability that one number is dropped while training.

    Raises:
        ValueError: dropout < 0 or >= 1 (at 1 nothing would be left).

    Source:
        Paper 5.4; chapter 06.
    """
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a word that is not one of the choices, and suggests the nearest.

    Args:
        name: the argument's name.
        value: what was given.
        choices: what is possible.

    Raises:
        ValueError: value is not among choices.

    Source:
        Ours; chapter 02.
    """
    if value not in choices:
        hint = "".join(f"; did you mean {near!r}?" for near in difflib.get_close_matches(str(value), choices, n=1))
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}{hint}")


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
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not x.is_floating_point():
            raise TypeError(f"{name} must be floating point, got {dtype_name(x)}; look ids up in an embedding first")
        if x.dtype != query.dtype:
            raise TypeError("query, key and value must have one dtype, got " + ", ".join(map(dtype_name, (query, key, value))))
        if x.device != query.device:
            raise ValueError(f"{name} is on {x.device} but query is on {query.device}; move both with .to(device)")
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
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same width, got {query.shape[-1]} and {key.shape[-1]}")


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
    if x.dim() != 3:
        fix = "a mask is given by name: mask=..." if x.dtype == torch.bool else f"add the batch axis with {name}.unsqueeze(0)"
        raise ValueError(f"{name} must be [batch, length, d_model={d_model}], got {tuple(x.shape)}{f'; {fix}' * (x.dim() == 2)}")
    if x.shape[-1] != d_model:
        raise ValueError(f"{name} must have width d_model={d_model}, got {x.shape[-1]} (shape {tuple(x.shape)})")


def check_length(length: int, max_len: int) -> None:
    """Refuses a sequence for which there are not enough positions.

    Args:
        length: number of tokens, those before the first one given included.
        max_len: number of positions.

    Raises:
        ValueError: length > max_len.

    Source:
        Paper 3.5; chapter 04.
    """
    if length > max_len:
        raise ValueError(f"sequence of {length} is longer than max_len {max_len} (build the model with max_len >= {length})")


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
    wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", lambda _: False)  # vmap, jacrev
    return torch.compiler.is_compiling() or x.is_meta or wrapped(x)


def _first_outside(x: Tensor, limit: int) -> tuple[int, ...]:
    """The place of the first entry outside [0, limit); () when there is none, or when values are not known."""
    if values_are_unknown(x) or x.numel() == 0:
        return ()
    lowest, highest = x.aminmax()
    inside = lowest >= 0 and highest < limit
    return () if inside else tuple(((x < 0) | (x >= limit)).nonzero()[0].tolist())
