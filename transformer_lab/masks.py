"""Masks: boolean tensors in which True means "this query may attend to this key".

Floor 0: torch only. One meaning everywhere in the package, the same as `F.scaled_dot_product_attention`'s and the opposite
of `nn.Transformer`'s. A mask broadcasts from the right: rank 2 is [T, S], rank 3 [h, T, S], rank 4 [B, h, T, S].
"""

import torch
from torch import Tensor

from .validation import check_positive, dtype_name

HINT = "a padding mask comes from padding_mask(ids, pad_id), a causal one from causal_mask(T)"


def causal_mask(num_queries: int, num_keys: int | None = None, *, device: torch.device | str | None = None) -> Tensor:
    r"""Lets every position see itself and what came before it.

    $$\text{mask}_{ts} = \big[\, s \le t + (S - T) \,\big]$$

    The mask is aligned at the bottom right: the last query sees every key. So it also fits cached decoding, where the
    T newest queries meet all S keys.

    Args:
        num_queries: number of queries T.
        num_keys: number of keys S; T when None.
        device: where to make the mask.

    Returns:
        Boolean [T, S], True = may attend. With S < T the first T - S queries see nothing.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1.

    Source:
        Paper 3.2.3; article, "Decoder: masked self-attention"; chapter 07.
    """
    num_keys = num_queries if num_keys is None else num_keys
    check_positive(num_queries=num_queries, num_keys=num_keys)
    every_pair = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return every_pair.tril(diagonal=num_keys - num_queries)  # [T, S]


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    r"""Hides padding tokens from every query.

    $$\text{mask}_{b,1,1,s} = \big[\, \text{ids}_{bs} \ne \text{pad} \,\big]$$

    Args:
        ids: token ids [B, S].
        pad_id: the id that stands for padding.

    Returns:
        Boolean [B, 1, 1, S], True = may attend: it repeats over heads and queries.

    Raises:
        TypeError: ids are not integers.
        ValueError: ids are not [B, S].

    Source:
        Article, "Decoder unrolled" (padding of the source); chapters 02 and 07.
    """
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be token ids (integers), got {dtype_name(ids)}")
    if ids.dim() != 2:
        raise ValueError(f"ids must be [batch, length], got {tuple(ids.shape)}")
    return (ids != pad_id)[:, None, None, :]  # [B, 1, 1, S]


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Allows a pair only where every mask allows it.

    mask = mask_1 AND mask_2 AND …, broadcast from the right.

    Args:
        masks: boolean masks or None (None hides nothing).

    Returns:
        The boolean mask of the broadcast shape, or None when every argument is None.

    Raises:
        TypeError: a mask is not boolean.
        ValueError: two masks do not broadcast together.

    Source:
        Paper 3.2.3; chapter 07.
    """
    combined = None
    for mask in masks:
        if mask is None:
            continue
        _check_boolean(mask)
        if combined is not None:
            try:
                torch.broadcast_shapes(combined.shape, mask.shape)
            except RuntimeError:
                shapes = f"{tuple(combined.shape)} and {tuple(mask.shape)}"
                raise ValueError(f"masks of shapes {shapes} do not broadcast together") from None
        combined = mask if combined is None else combined & mask
    return combined


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
    _check_boolean(mask)
    if mask.device != query.device:
        raise ValueError(f"mask is on {mask.device} but query is on {query.device}; move it with mask.to(query.device)")
    fits = 2 <= mask.dim() <= len(scores_shape) and all(
        m in (1, s) for m, s in zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    )
    if not fits:
        names = ("batch", "heads", "queries", "keys")[-len(scores_shape):] if len(scores_shape) <= 4 else ()
        scores = ", ".join(f"{n} {s}" for n, s in zip(names, scores_shape, strict=True)) or str(scores_shape)
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not fit scores ({scores}); "
            f"it must broadcast to them from the right; {HINT}"
        )


def _check_boolean(mask: Tensor) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        came = dtype_name(mask) if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be boolean (True = may attend), got {came}; {HINT}")
