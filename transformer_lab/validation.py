"""Argument checks that raise before any kernel runs.

Floor 0: torch and the standard library only. Every message names the argument, what was expected, what came, and how to
mend it. The checks read shapes and dtypes; only `check_token_ids` looks at values.
"""

import difflib

import torch
from torch import Tensor

MASK_HINT = "a padding mask comes from padding_mask(ids, pad_id), a causal one from causal_mask(T)"


def check_heads(d_model: int, num_heads: int) -> None:
    """Refuses a width that the heads cannot share equally.

    Args:
        d_model: width of the model.
        num_heads: number of heads h; d_k = d_model / h must be a whole number.

    Raises:
        ValueError: either is below 1, or num_heads does not divide d_model (the divisors that would work are listed).

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
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
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
            raise TypeError(f"{name} must be floating point, got {_dtype(x)}; look ids up in an embedding first")
        if x.dtype != query.dtype:
            raise TypeError(f"query, key and value must have one dtype, got {_dtype(query)}, {_dtype(key)}, {_dtype(value)}")
        if x.device != query.device:
            raise ValueError(f"{name} is on {x.device} but query is on {query.device}; move both with .to(device)")
        if x.dim() < 2 or x.dim() != query.dim():
            raise ValueError(
                "query, key and value must have the same rank of at least 2 ([..., length, width]), "
                f"got {shape(query)}, {shape(key)}, {shape(value)}"
            )
        if x.shape[:-2] != query.shape[:-2]:
            raise ValueError(
                f"query, key and value must agree in every axis before length and width, got {name} {shape(x)} "
                f"beside query {shape(query)}; expand the smaller one yourself if that is what you mean"
            )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same width, got {query.shape[-1]} and {key.shape[-1]}")


def check_mask(mask: Tensor | None, query: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Refuses a mask that is not boolean or does not broadcast to the scores.

    Args:
        mask: boolean, True = may attend, rank 2 [T, S], rank 3 [h, T, S] or rank 4 [B, h, T, S], 1 where it repeats; or None.
        query: the tensor whose device the mask must share.
        scores_shape: (..., T, S) that the mask must broadcast to.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: its shape or device does not fit.

    Source:
        Paper 3.2.3; chapter 02.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        came = _dtype(mask) if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be boolean (True = may attend), got {came}; {MASK_HINT}")
    if mask.device != query.device:
        raise ValueError(f"mask is on {mask.device} but query is on {query.device}; move it with mask.to(query.device)")
    fits = 2 <= mask.dim() <= len(scores_shape) and all(
        m in (1, s) for m, s in zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    )
    if not fits:
        names = ("batch", "heads", "queries", "keys")[-len(scores_shape):] if len(scores_shape) <= 4 else ()
        scores = ", ".join(f"{n} {s}" for n, s in zip(names, scores_shape, strict=True)) or str(scores_shape)
        raise ValueError(
            f"mask of shape {shape(mask)} does not fit scores ({scores}); "
            f"it must broadcast to them from the right; {MASK_HINT}"
        )


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
        fix = f"; add the batch axis with {name}.unsqueeze(0)" if x.dim() == 2 else ""
        raise ValueError(f"{name} must be [batch, length, d_model={d_model}], got {shape(x)}{fix}")
    if x.shape[-1] != d_model:
        raise ValueError(f"{name} must have width d_model={d_model}, got {x.shape[-1]} (shape {shape(x)})")


def check_token_ids(name: str, ids: Tensor, vocab_size: int) -> None:
    """Refuses ids that are not a non-empty [B, S] of whole numbers in [0, vocab_size).

    The range is checked by value, which waits for the device; under `torch.compile`, `torch.export` and `vmap`, where
    values are not known, only dtype and shape are checked.

    Args:
        name: the argument's name.
        ids: the token ids given.
        vocab_size: number of rows of the embedding table.

    Raises:
        TypeError: not an integer tensor.
        ValueError: wrong rank, empty, or an id out of range (the first one and its place are named).

    Source:
        Paper 3.4; chapter 08.
    """
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be token ids of dtype int64 or int32, got {_dtype(ids)}; convert with .long()")
    if ids.dim() != 2:
        raise ValueError(f"{name} must be token ids of shape [batch, length], got {shape(ids)}")
    if 0 in ids.shape:
        raise ValueError(f"{name} is empty (shape {shape(ids)}); at least one token is needed")
    if _values_are_unknown(ids):
        return
    outside = (ids < 0) | (ids >= vocab_size)
    if outside.any():
        place = outside.nonzero()[0].tolist()
        raise ValueError(f"token id {int(ids[tuple(place)])} at {place} is out of range for a vocabulary of {vocab_size}")


def shape(x: Tensor) -> tuple[int, ...]:
    """Returns the shape as a plain tuple, for messages.

    Args:
        x: any tensor.

    Returns:
        The sizes of its axes.

    Source:
        Ours; chapter 02.
    """
    return tuple(x.shape)


def _dtype(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def _values_are_unknown(x: Tensor) -> bool:
    wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", lambda _: False)  # vmap, jacrev
    return torch.compiler.is_compiling() or x.is_meta or wrapped(x)
