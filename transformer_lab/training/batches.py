"""Sentences of ids to batches: similar lengths together, padded, the target shifted to the right.

Floor 4b.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..validation import check_positive
from .vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Example:
    """A source sentence and its translation, as ids.

    Args:
        src: ends with EOS.
        tgt: ends with EOS and does not begin with BOS, which `collate` adds.

    Raises:
        ValueError: a side does not end with EOS, holds PAD, or holds BOS.

    Source:
        Paper 3.4; chapter 10.
    """

    src: tuple[int, ...]
    tgt: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("src", "tgt"):
            ids = tuple(getattr(self, name))
            object.__setattr__(self, name, ids)
            if not ids or ids[-1] != EOS:
                raise ValueError(f"{name} must end with EOS = {EOS}, got {_shown(ids)}; a tokenizer's encode adds it")
            if PAD in ids or BOS in ids:
                raise ValueError(
                    f"{name} must not hold PAD = {PAD} or BOS = {BOS}, got {_shown(ids)}; collate adds them"
                )


@dataclass
class Batch:
    """Padded sentences, and what the decoder reads and is to write.

    tgt_in = BOS y_1 … y_n, tgt_out = y_1 … y_n EOS: at every position the decoder has read what stands before the token
    that it is to predict.

    Args:
        src: token ids [B, S], padded at the end.
        tgt_in: what the decoder reads [B, T].
        tgt_out: what it is to predict [B, T].
        pad_id: the id that stands for padding.

    Source:
        Paper 3.1, "shifted right"; article, "Training"; chapters 07 and 10.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    pad_id: int = PAD

    @property
    def tokens(self) -> int:
        """The number of target tokens to predict, EOS included and padding not."""
        return int((self.tgt_out != self.pad_id).sum())

    def to(self, device: torch.device | str) -> "Batch":
        """Copies the batch to a device.

        Args:
            device: for example "cuda".

        Returns:
            A batch there.

        Source:
            Ours; chapter 10.
        """
        return Batch(self.src.to(device), self.tgt_in.to(device), self.tgt_out.to(device), self.pad_id)


def collate(examples: Sequence[Example], pad_id: int = PAD) -> Batch:
    """Pads examples to the longest of them, and shifts the target to the right.

    No example at all gives one row that has nothing to predict (its source is EOS, its target is padding): what a process
    computes whose share of a batch is empty, so that it takes the step with the others and adds nothing to it.

    Args:
        examples: B of them.
        pad_id: the id that stands for padding.

    Returns:
        src [B, S], tgt_in [B, T] and tgt_out [B, T], of dtype int64.

    Raises:
        TypeError: an example is not an Example.

    Source:
        Paper 3.1, "shifted right"; chapter 10.
    """
    for example in examples:
        if not isinstance(example, Example):
            raise TypeError(
                f"examples must be of class Example, got {type(example).__name__}; make one with Example(src, tgt)"
            )
    if not examples:
        return Batch(torch.tensor([[EOS]]), torch.tensor([[BOS]]), torch.tensor([[pad_id]]), pad_id)
    src = pad_rows([example.src for example in examples], pad_id)
    tgt_in = pad_rows([(BOS, *example.tgt[:-1]) for example in examples], pad_id)
    return Batch(src, tgt_in, pad_rows([example.tgt for example in examples], pad_id), pad_id)


def bucketed_batches(examples: Sequence[Example], max_tokens: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Groups examples of similar lengths, so that little is padding, into batches of similar size.

    rows * max(S, T) <= max_tokens for every batch. Examples are shuffled and then sorted by length, so that those of equal
    length meet others in every epoch; the batches are then shuffled.

    Args:
        examples: all of them.
        max_tokens: most tokens of one side of a batch, padding included.
        seed: of the run.
        epoch: of the run, counted from anywhere; the order is a function of seed and epoch and of nothing else.

    Returns:
        Batches of indices into examples; every index stands in exactly one of them.

    Raises:
        TypeError: max_tokens, seed or epoch is not an int.
        ValueError: max_tokens is below 1, or an example is longer than it.

    Source:
        Paper 5.1, "batched together by approximate sequence length"; chapter 10.
    """
    check_positive(max_tokens=max_tokens)
    _check_whole(seed=seed, epoch=epoch)
    lengths = [(max(len(example.src), len(example.tgt)), len(example.tgt), len(example.src)) for example in examples]
    for i, (longest, target, source) in enumerate(lengths):
        if longest > max_tokens:
            raise ValueError(
                f"example {i} has {source} source and {target} target tokens, more than max_tokens={max_tokens}; "
                f"leave it out, or allow max_tokens >= {longest}"
            )
    chance = random.Random(f"{seed} {epoch}")
    order = list(range(len(lengths)))
    chance.shuffle(order)
    order.sort(key=lengths.__getitem__)  # stable: equal lengths stay shuffled
    batches: list[list[int]] = []
    for i in order:  # ever longer, so the newest one decides the width
        if not batches or (len(batches[-1]) + 1) * lengths[i][0] > max_tokens:
            batches.append([])
        batches[-1].append(i)
    chance.shuffle(batches)
    return batches


def shard(batches: Sequence[Sequence[int]], rank: int, world: int) -> list[list[int]]:
    """Gives one of several processes its rows of every batch.

    share = batch[rank::world]. All processes take the same number of steps, and the shares of a step are together exactly the
    batch that one process alone would take. A batch of fewer rows than processes leaves some of them an empty share, for
    which `collate` makes a row without anything to predict.

    Args:
        batches: from `bucketed_batches`, the same in every process.
        rank: of this process, 0 <= rank < world.
        world: number of processes.

    Returns:
        As many lists as there are batches; some may be empty.

    Raises:
        TypeError: rank or world is not an int.
        ValueError: world is below 1, or rank is not in range.

    Source:
        Data parallelism as in paper 5.2 (8 GPUs); chapter 10.
    """
    check_positive(world=world)
    _check_whole(rank=rank)
    if not 0 <= rank < world:
        raise ValueError(f"rank must be from 0 to world - 1 = {world - 1}, got {rank}")
    return [list(batch[rank::world]) for batch in batches]


def pad_rows(rows: Sequence[Sequence[int]], pad_id: int = PAD) -> Tensor:
    """Pads rows of ids on the right to the longest of them.

    Args:
        rows: B of them, at least one.
        pad_id: the id that stands for padding.

    Returns:
        [B, width], of dtype int64.

    Source:
        Ours; chapter 10.
    """
    width = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (width - len(row))] for row in rows])  # [B, width]


def _check_whole(**values: int) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, got {type(value).__name__} ({value!r})")


def _shown(ids: tuple[int, ...]) -> str:
    return str(list(ids)) if len(ids) <= 8 else f"[{', '.join(map(str, ids[:3]))}, …, {ids[-1]}] ({len(ids)} ids)"
