"""What every search shares: the encoded source, one step further, and a model at rest.

Floor 4a.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ..cache import DecoderCache
from ..transformer import Transformer
from ..validation import check_length


class Steps:
    """Holds the source, encoded once, and goes one token further when asked.

    Args:
        model: the model.
        src: token ids [B, S].
        copies: rows per sentence, beams; they stand together.
        max_new_tokens: most tokens to write after bos.
        use_cache: keep keys and values between steps.

    Source:
        Article, "Code and loop"; chapter 09.
    """

    def __init__(self, model: Transformer, src: Tensor, copies: int, max_new_tokens: int, use_cache: bool) -> None:
        self.model = model
        mask = model.source_mask(src)
        memory = model.encode(src, mask)  # [B, S, d_model]
        self.memory = memory.repeat_interleave(copies, dim=0)  # rows of one sentence stand together
        self.src_mask = mask if mask is None else mask.repeat_interleave(copies, dim=0)
        self.cache: DecoderCache | None = None
        if use_cache and max_new_tokens:
            self.cache = model.new_cache(self.memory, src_mask=self.src_mask, capacity=max_new_tokens)

    def logits(self, ids: Tensor) -> Tensor:
        """Scores the next token; only the last position goes to the vocabulary.

        Args:
            ids: all tokens so far [rows, t], bos included.

        Returns:
            logits [rows, V].

        Source:
            Chapter 09.
        """
        new = ids if self.cache is None else ids[:, self.cache.length :]
        hidden = self.model.decode(new, self.memory, src_mask=self.src_mask, cache=self.cache)
        return self.model.output(hidden[:, -1:])[:, 0]


def extend(
    model: Transformer, src: Tensor, max_new_tokens: int, use_cache: bool, choose: Callable[[Tensor], Tensor]
) -> Tensor:
    """Writes one token per step and row until every row has ended.

    Args:
        model: the model.
        src: token ids [B, S].
        max_new_tokens: most tokens to write after bos.
        use_cache: keep keys and values between steps.
        choose: from logits [B, V] to the next tokens [B].

    Returns:
        ids [B, 1 + T], first column bos, pad after eos.

    Raises:
        ValueError: the source or max_new_tokens does not fit the model.

    Source:
        Chapter 09.
    """
    c = model.config
    check_new_tokens(model, max_new_tokens)
    with generating(model):
        steps = Steps(model, src, 1, max_new_tokens, use_cache)
        ids = torch.full((src.shape[0], 1 + max_new_tokens), c.pad_id, dtype=torch.long, device=steps.memory.device)
        ids[:, 0] = c.bos_id
        ended = [False] * src.shape[0]
        length = 1
        while length <= max_new_tokens and not all(ended):
            token = choose(steps.logits(ids[:, :length]))
            if any(ended):
                token = token.masked_fill(torch.tensor(ended, device=ids.device), c.pad_id)
            ids[:, length] = token
            ended = [over or word == c.eos_id for over, word in zip(ended, token.tolist(), strict=True)]
            length += 1
    return ids[:, :length].clone()  # a clone made outside inference mode, so that it may be trained on


def check_new_tokens(model: Transformer, max_new_tokens: int) -> None:
    """Refuses a number of tokens that is negative or that the model has no positions for.

    Args:
        model: the model.
        max_new_tokens: most tokens to write after bos.

    Raises:
        TypeError: it is not an int.
        ValueError: it is negative, or bos and the tokens that are read again pass max_len.

    Source:
        Chapter 09.
    """
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int):
        raise TypeError(f"max_new_tokens must be an int, got {type(max_new_tokens).__name__} ({max_new_tokens!r})")
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be at least 0, got {max_new_tokens}")
    if model.config.position != "none":
        check_length(max(1, max_new_tokens), model.config.max_len)


@contextmanager
def generating(model: Transformer) -> Iterator[None]:
    """Gives eval mode and no graph inside, and every module its own mode back afterwards.

    Args:
        model: the model.

    Returns:
        A context manager.

    Source:
        Chapter 09.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes:
            module.training = training
