"""One attention's keys and values.

Floor 0: torch only.
"""

import torch
from torch import Tensor

from ..validation import check_positive


class KVCache:
    r"""Holds the projected keys and values of one attention.

    Two kinds: a growing one gets the keys and values of each new token appended (self-attention), a fixed one is filled
    once and then only read (cross-attention). It is written in place, so that gradients pass through one `append` only; torch
    refuses to go back through more.

    $$\text{bytes} = 2 \cdot B \cdot h \cdot \text{capacity} \cdot d_k \cdot \text{bytes per number}$$

    Args:
        batch: number of rows B.
        num_heads: heads h.
        capacity: most tokens it can hold.
        d_k: width of a head.
        fixed: True for a cache that is filled once.
        dtype: of the numbers; torch's default when None.
        device: where they are kept.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1.

    Source:
        Article, "KV cache: principle" and "two caches"; chapter 09.
    """

    def __init__(
        self,
        batch: int,
        num_heads: int,
        capacity: int,
        d_k: int,
        *,
        fixed: bool = False,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        check_positive(batch=batch, num_heads=num_heads, capacity=capacity, d_k=d_k)
        self.fixed = fixed
        self.length = 0
        self._keys = torch.zeros(batch, num_heads, capacity, d_k, dtype=dtype, device=device)
        self._values = torch.zeros_like(self._keys)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Its size when full: B, h, capacity, d_k."""
        return tuple(self._keys.shape)

    @property
    def batch(self) -> int:
        """Number of rows B."""
        return self._keys.shape[0]

    @property
    def capacity(self) -> int:
        """Most tokens it can hold."""
        return self._keys.shape[2]

    @property
    def keys(self) -> Tensor:
        """The keys held, [B, h, length, d_k]; in the cache's own memory."""
        return self._keys if self.length == self.capacity else self._keys.narrow(2, 0, self.length)

    @property
    def values(self) -> Tensor:
        """The values held, [B, h, length, d_k]; in the cache's own memory."""
        return self._values if self.length == self.capacity else self._values.narrow(2, 0, self.length)

    @property
    def nbytes(self) -> int:
        """Bytes taken, 2·B·h·capacity·d_k·(bytes per number)."""
        return self._keys.nbytes + self._values.nbytes

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Adds the keys and values of new tokens behind those held.

        Args:
            keys: [B, h, T, d_k].
            values: [B, h, T, d_k].

        Returns:
            All keys and all values held, [B, h, length, d_k] each; views.

        Raises:
            ValueError: they are not of rank 4, batch, heads, width, dtype or device differ from the cache's, the cache is
                full, or it is fixed and already filled.

        Source:
            Article, "Vector or matrix?"; chapter 09.
        """
        if keys.dim() != 4:
            raise ValueError(f"keys and values must be [B, h, T, d_k], got {tuple(keys.shape)}")
        self.check_fits(keys.shape, like=keys, settled=True)
        if values.shape != keys.shape or values.dtype != keys.dtype:
            raise ValueError(f"keys and values must be alike, got {tuple(keys.shape)} and {tuple(values.shape)}")
        start, end = self.length, self.length + keys.shape[2]
        self._keys.narrow(2, start, end - start).copy_(keys)
        self._values.narrow(2, start, end - start).copy_(values)
        self.length = end
        return self.keys, self.values

    def check_fits(self, shape: tuple[int, int, int, int], like: Tensor, *, settled: bool = False) -> None:
        """Refuses, before anything is computed, what `append` could not take.

        Args:
            shape: B, h, tokens to be added and d_k of the input.
            like: a tensor of the input's dtype and device.
            settled: the dtype is final; otherwise autocast may still change it.

        Raises:
            ValueError: another batch, head count, width, dtype or device; a full cache; a fixed one filled already.

        Source:
            Chapter 09.
        """
        batch, num_heads, new_tokens, d_k = shape
        B, h, capacity, width = self._keys.shape
        if batch != B:
            raise ValueError(f"cache holds batch {B} but the input has batch {batch}")
        if num_heads != h or d_k != width:
            raise ValueError(
                f"cache holds {h} heads of width {width} but the input has {num_heads} "
                f"of width {d_k}: it was made for another model"
            )
        same_dtype = like.dtype == self._keys.dtype or (not settled and may_become(like, self._keys.dtype))
        if like.device != self._keys.device or not same_dtype:
            raise ValueError(
                f"cache holds {self._keys.dtype} on {self._keys.device} but the input is {like.dtype} on {like.device}; "
                "make the cache after moving the model, with model.new_cache(...)"
            )
        if self.fixed and self.length and new_tokens:
            raise ValueError("this cache is fixed and already filled; crop(0) empties it")
        if self.length + new_tokens > capacity:
            raise ValueError(
                f"cache is full: it holds {self.length} of {capacity} tokens and {new_tokens} more came "
                f"(make it with capacity >= {self.length + new_tokens})"
            )

    def reorder(self, index: Tensor) -> None:
        """Makes row i a copy of what row index[i] was, as beam search needs when beams change places.

        Args:
            index: whole numbers [B'] in [0, B); B' may differ from B.

        Raises:
            TypeError: index is not a tensor of whole numbers.
            ValueError: index is not of rank 1 or points outside the batch.

        Source:
            Chapter 11.
        """
        check_index(index, self.batch)
        self._keys = self._keys.index_select(0, index)
        self._values = self._values.index_select(0, index)

    def crop(self, length: int) -> None:
        """Forgets all tokens but the first ones.

        Args:
            length: tokens to keep.

        Raises:
            ValueError: length is negative or more than is held.

        Source:
            Chapter 09.
        """
        if length not in range(self.length + 1):
            raise ValueError(f"can crop to 0..{self.length} tokens, got {length}")
        self.length = length


def may_become(x: Tensor, dtype: torch.dtype) -> bool:
    """Tells whether keys and values projected from x may have this dtype, before they are computed.

    Args:
        x: any tensor.
        dtype: the dtype wanted.

    Returns:
        True when x has it, or under autocast, which decides later.

    Source:
        Chapter 09.
    """
    return x.dtype == dtype or (not x.is_meta and torch.is_autocast_enabled(x.device.type))


def check_index(index: Tensor, batch: int) -> None:
    """Refuses an index that does not name rows of the batch.

    Args:
        index: whole numbers [B'].
        batch: rows B there are.

    Raises:
        TypeError: not a tensor of whole numbers.
        ValueError: wrong rank, or a row that does not exist.

    Source:
        Chapter 11.
    """
    if not isinstance(index, Tensor) or index.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"index must be a tensor of whole numbers, got {getattr(index, 'dtype', type(index).__name__)}")
    if index.dim() != 1 or index.numel() == 0:
        raise ValueError(f"index must be [rows], got {tuple(index.shape)}")
    if ((index < 0) | (index >= batch)).any():
        raise ValueError(f"index must name rows 0..{batch - 1}, got {index.tolist()}")
