"""The caches of a whole decoder.

Floor 0: torch only.
"""

import weakref

from torch import Tensor

from .key_value import KVCache, check_index


class DecoderCache:
    """Holds, for every decoder layer, the growing cache of self-attention and the fixed one of cross-attention.

    Args:
        layers: a (self, cross) pair of `KVCache` per layer.
        src_mask: the source's mask, boolean, broadcastable to [B, h, T, S], or None; it moves with the rows.
        owner: the model it was made for; another one is refused.

    Source:
        Article, "two caches"; chapter 09.
    """

    def __init__(self, layers: list[tuple[KVCache, KVCache]], *, src_mask: Tensor | None = None, owner: object = None) -> None:
        self.layers = layers
        self.src_mask = src_mask
        self._owner = None if owner is None else weakref.ref(owner)

    @property
    def batch(self) -> int:
        """Number of rows B."""
        return self.layers[0][0].batch

    @property
    def capacity(self) -> int:
        """Most target tokens it can hold."""
        return self.layers[0][0].capacity

    @property
    def length(self) -> int:
        """Target tokens held, the position of the next one.

        Raises:
            ValueError: the layers hold different numbers, as after an exception in the middle of a step.
        """
        lengths = {growing.length for growing, _ in self.layers}
        if len(lengths) > 1:
            raise ValueError(
                f"cache layers hold different numbers of tokens ({sorted(lengths)}): a step broke off midway; "
                f"go back with crop({min(lengths)})"
            )
        return lengths.pop()

    @property
    def nbytes(self) -> int:
        """Bytes taken, 2·N·B·(capacity + S)·d_model·(bytes per number)."""
        return sum(growing.nbytes + fixed.nbytes for growing, fixed in self.layers)

    def check(self, owner: object, memory: Tensor, new_tokens: int) -> None:
        """Refuses, before anything is computed, a cache that is full, out of step, or another model's, batch's or source's.

        Args:
            owner: the model that is about to use it.
            memory: the encoder's result, [B, S, d_model].
            new_tokens: target tokens to be added.

        Raises:
            ValueError: it does not fit.

        Source:
            Chapter 09.
        """
        if self._owner is not None and self._owner() is not owner:
            raise ValueError("cache was made for another model; make one with this model's new_cache(...)")
        _ = self.length  # raises where the layers are out of step
        growing, fixed = self.layers[0]
        B, S, _ = memory.shape
        _, h, _, d_k = growing.shape
        growing.check_fits((B, h, new_tokens, d_k), like=memory)
        if fixed.length != S:
            raise ValueError(f"cache holds a source of {fixed.length} tokens but memory has {S}")

    def reorder(self, index: Tensor, *, same_source: bool = False) -> None:
        """Makes row i a copy of what row index[i] was, in every layer.

        Args:
            index: whole numbers [B'] in [0, B).
            same_source: True promises that row index[i] has the same source sentence as row i (beams of one sentence),
                so that the cross-attention caches can stay as they are.

        Raises:
            TypeError: index is not a tensor of whole numbers.
            ValueError: index is not of rank 1 or points outside the batch, or same_source is promised for another number
                of rows.

        Source:
            Chapter 11.
        """
        check_index(index, self.batch)
        if same_source and index.numel() != self.batch:
            raise ValueError(f"same_source leaves the sources as they are, so index must name {self.batch} rows, got {index.numel()}")
        for growing, fixed in self.layers:
            growing.reorder(index)
            if not same_source:
                fixed.reorder(index)
        if not same_source and self.src_mask is not None and self.src_mask.dim() == 4 and self.src_mask.shape[0] > 1:
            self.src_mask = self.src_mask.index_select(0, index)

    def crop(self, length: int) -> None:
        """Forgets all target tokens but the first ones, in every layer; the source stays.

        Args:
            length: tokens to keep.

        Raises:
            ValueError: length is negative or more than some layer holds.

        Source:
            Chapter 09.
        """
        held = min(growing.length for growing, _ in self.layers)
        if length not in range(held + 1):
            raise ValueError(f"can crop to 0..{held} tokens, got {length}")
        for growing, _ in self.layers:
            growing.crop(length)
