"""Sampling: the next token is drawn.

Floor 4a.
"""

import torch
from torch import Tensor

from ..transformer import Transformer
from .greedy import greedy_decode
from .steps import extend


def sample(
    model: Transformer,
    src: Tensor,
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Draws every next token at random from the model's distribution.

    $$y_t \sim \text{softmax}(\text{logits}_t / \tau)$$

    Args:
        model: the model.
        src: token ids [B, S].
        max_new_tokens: most tokens to write after bos.
        temperature: tau; below 1 sharper, above 1 flatter, 0 is greedy.
        top_k: draw only from the k likeliest tokens (more than the vocabulary means all).
        top_p: draw only from the smallest set of likeliest tokens whose probability reaches p.
        generator: source of randomness, on the model's device; torch's own when None.

    Returns:
        ids [B, 1 + T], first column bos, pad after eos.

    Raises:
        ValueError: temperature is negative, top_k is below 1, top_p is outside (0, 1], or as for `greedy_decode`.

    Source:
        Ours; chapter 11.
    """
    if not temperature >= 0:
        raise ValueError(f"temperature must be at least 0 (0 is greedy), got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, or None for all tokens, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}")
    if temperature == 0:
        return greedy_decode(model, src, max_new_tokens=max_new_tokens)

    def draw(logits: Tensor) -> Tensor:
        scores = logits.to(torch.promote_types(logits.dtype, torch.float32))
        scores = scores - scores.amax(dim=-1, keepdim=True)  # at most 0, so that dividing by next to nothing gives no NaN
        scores = scores / max(temperature, torch.finfo(scores.dtype).tiny)
        kept = _keep_likeliest(scores, top_k, top_p)
        return torch.multinomial(kept.softmax(dim=-1), 1, generator=generator)[:, 0]  # [B]

    return extend(model, src, max_new_tokens, True, draw)


def _keep_likeliest(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Sets the logits [B, V] of all tokens that may not be drawn to -inf."""
    if top_k is not None and top_k < logits.shape[-1]:
        likeliest = logits.topk(top_k, dim=-1).indices
        logits = torch.full_like(logits, -torch.inf).scatter(-1, likeliest, logits.gather(-1, likeliest))
    if top_p is not None and top_p < 1:
        ordered, place = logits.sort(dim=-1, descending=True)
        p = ordered.softmax(dim=-1)
        beyond = p.cumsum(dim=-1) - p >= top_p  # the mass before this token already reaches p
        logits = torch.full_like(logits, -torch.inf).scatter(-1, place, ordered.masked_fill(beyond, -torch.inf))
    return logits
