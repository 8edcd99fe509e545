"""Greedy search: the likeliest token, every time.

Floor 4a.
"""

from torch import Tensor

from ..transformer import Transformer
from .steps import extend


def greedy_decode(model: Transformer, src: Tensor, *, max_new_tokens: int, use_cache: bool = True) -> Tensor:
    r"""Takes the likeliest next token at every step.

    $$y_t = \arg\max_v \; \text{logits}_{t,v}$$

    Args:
        model: the model.
        src: token ids [B, S], padded on the right with pad_id where rows differ in length.
        max_new_tokens: most tokens to write after bos; 0 returns bos alone.
        use_cache: keep keys and values between steps; the result is the same either way.

    Returns:
        ids [B, 1 + T], T <= max_new_tokens; the first column is bos, pad follows eos.

    Raises:
        TypeError: ids are not integers.
        ValueError: src is empty or out of range, max_new_tokens is negative, or the target would pass max_len.

    Source:
        Article, "Code and loop"; chapters 07 and 09.
    """
    return extend(model, src, max_new_tokens, use_cache, lambda logits: logits.argmax(dim=-1))
