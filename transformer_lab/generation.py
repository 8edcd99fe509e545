"""Writing a target token by token: greedy search, beam search, sampling.

Floor 4a. All work on a batch, on the model's device, with or without a cache through the same forward pass; each row ends at
its own eos and is filled with pad after it; the model comes back in the mode (train or eval) it was in, and no graph is built.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from .cache import DecoderCache
from .transformer import Transformer
from .validation import check_length


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
    return _extend(model, src, max_new_tokens, use_cache, lambda logits: logits.argmax(dim=-1))


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
        kept = _keep_likeliest(logits / temperature, top_k, top_p)
        return torch.multinomial(kept.softmax(dim=-1), 1, generator=generator)[:, 0]  # [B]

    return _extend(model, src, max_new_tokens, True, draw)


def beam_search(
    model: Transformer, src: Tensor, *, num_beams: int, max_new_tokens: int, length_penalty: float = 1.0
) -> tuple[Tensor, Tensor]:
    r"""Follows the num_beams best beginnings at once and returns the best endings found.

    $$\text{score}(y) = \frac{\sum_t \log p(y_t \mid y_{<t}, x)}{\text{length}(y)^{\text{penalty}}}$$

    An ending is a beginning that took eos, or one that reached max_new_tokens. The search stops when no beginning can still
    overtake the endings held.

    Args:
        model: the model.
        src: token ids [B, S].
        num_beams: width of the search K, at most the target vocabulary.
        max_new_tokens: most tokens to write after bos.
        length_penalty: 0 compares bare log-probabilities, which favours short targets; larger favours longer ones.

    Returns:
        ids [B, K, L], best first, first column bos, pad after eos; and scores [B, K], length counting the tokens after bos,
        eos included.

    Raises:
        ValueError: num_beams is below 1 or above the vocabulary, or as for `greedy_decode`.

    Source:
        Paper 6.1; chapter 11.
    """
    V = model.config.tgt_vocab_size
    if not 1 <= num_beams <= V:
        raise ValueError(f"num_beams must be 1..{V} (the target vocabulary), got {num_beams}")
    _check_length(model, max_new_tokens)
    with _generating(model):
        search = _BeamSearch(model, src, num_beams, max_new_tokens, length_penalty)
        for step in range(max_new_tokens):
            search.step(step)
            if search.is_over(step + 1):
                break
        else:
            search.close()
        ids, scores = search.ended_ids, search.ended_scores
    width = max(1, int((ids != model.config.pad_id).any(dim=(0, 1)).nonzero().max()) + 1)
    return ids[..., :width].clone(), scores.clone()


class _Steps:
    """The source, encoded once, and what is needed to go one token further."""

    def __init__(self, model: Transformer, src: Tensor, copies: int, max_new_tokens: int, use_cache: bool) -> None:
        self.model = model
        mask = model.source_mask(src)
        memory = model.encode(src)  # [B, S, d_model]
        self.memory = memory.repeat_interleave(copies, dim=0)  # rows of one sentence stand together
        self.src_mask = mask if mask is None else mask.repeat_interleave(copies, dim=0)
        self.cache: DecoderCache | None = None
        if use_cache and max_new_tokens:
            self.cache = model.new_cache(self.memory, src_mask=self.src_mask, capacity=max_new_tokens)

    def logits(self, ids: Tensor) -> Tensor:
        """Scores the token after ids [rows, t]: [rows, V]. Only the last position goes to the vocabulary."""
        new = ids if self.cache is None else ids[:, self.cache.length :]
        hidden = self.model.decode(new, self.memory, src_mask=self.src_mask, cache=self.cache)
        return self.model.output(hidden[:, -1:])[:, 0]


def _extend(
    model: Transformer, src: Tensor, max_new_tokens: int, use_cache: bool, choose: Callable[[Tensor], Tensor]
) -> Tensor:
    c = model.config
    _check_length(model, max_new_tokens)
    with _generating(model):
        steps = _Steps(model, src, 1, max_new_tokens, use_cache)
        ids = torch.full((src.shape[0], 1 + max_new_tokens), c.pad_id, dtype=torch.long, device=steps.memory.device)
        ids[:, 0] = c.bos_id
        running = torch.ones(src.shape[0], dtype=torch.bool, device=ids.device)
        length = 1
        while length <= max_new_tokens and running.any():
            token = choose(steps.logits(ids[:, :length]))
            ids[:, length] = torch.where(running, token, c.pad_id)
            running &= token != c.eos_id
            length += 1
    return ids[:, :length].clone()  # a clone made outside inference mode, so that it may be trained on


class _BeamSearch:
    """State of a beam search: K running beginnings and the K best endings of each sentence."""

    def __init__(self, model: Transformer, src: Tensor, num_beams: int, max_new_tokens: int, penalty: float) -> None:
        c, B, K = model.config, src.shape[0], num_beams
        self.config, self.K, self.penalty, self.most = c, K, penalty, max_new_tokens
        self.steps = _Steps(model, src, K, max_new_tokens, True)
        device, dtype = self.steps.memory.device, torch.promote_types(self.steps.memory.dtype, torch.float32)
        self.ids = torch.full((B, K, 1 + max_new_tokens), c.pad_id, dtype=torch.long, device=device)
        self.ids[..., 0] = c.bos_id
        self.sums = torch.full((B, K), -torch.inf, dtype=dtype, device=device)
        self.sums[:, 0] = 0.0  # one beginning so far; the other beams are copies of it
        self.ended_ids = self.ids.clone()
        self.ended_scores = torch.full_like(self.sums, -torch.inf) if max_new_tokens else torch.zeros_like(self.sums)

    def step(self, t: int) -> None:
        """Writes token t + 1 of every beginning."""
        B, K, _ = self.ids.shape
        log_p = self.steps.logits(self.ids[:, :, : t + 1].flatten(0, 1)).to(self.sums.dtype).log_softmax(dim=-1)
        V = log_p.shape[-1]
        candidates = (self.sums[..., None] + log_p.view(B, K, V)).flatten(1)  # [B, K·V]
        sums, place = candidates.topk(min(2 * K, K * V), dim=-1)  # enough even if K of them are eos
        beam, token = place // V, place % V
        ids = self.ids.gather(1, beam[..., None].expand(-1, -1, self.ids.shape[2])).clone()
        ids[..., t + 1] = token
        ends = token == self.config.eos_id
        among_best = torch.arange(place.shape[1], device=place.device) < K
        self._keep_endings(ids, torch.where(ends & among_best, sums, -torch.inf), t + 1)
        self.sums, chosen = sums.masked_fill(ends, -torch.inf).topk(K, dim=-1)
        self.ids = ids.gather(1, chosen[..., None].expand(-1, -1, ids.shape[2]))
        rows = (torch.arange(B, device=place.device)[:, None] * K + beam.gather(1, chosen)).flatten()
        self.steps.cache.reorder(rows, same_source=True)

    def is_over(self, t: int) -> bool:
        """Whether no beginning of t tokens can still overtake the worst ending held, in any sentence."""
        longest_root = max((t + 1) ** self.penalty, self.most**self.penalty)
        best_possible = self.sums.amax(dim=-1) / longest_root  # sums only fall from here
        return t < self.most and bool((self.ended_scores.amin(dim=-1) >= best_possible).all())

    def close(self) -> None:
        """Counts the beginnings that reached the limit as endings."""
        if self.most:
            self._keep_endings(self.ids, self.sums, self.most)

    def _keep_endings(self, ids: Tensor, sums: Tensor, length: int) -> None:
        scores = torch.cat([self.ended_scores, sums / length**self.penalty], dim=1)
        everything = torch.cat([self.ended_ids, ids], dim=1)
        self.ended_scores, kept = scores.topk(self.K, dim=-1)
        self.ended_ids = everything.gather(1, kept[..., None].expand(-1, -1, ids.shape[2]))


def _keep_likeliest(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Sets the logits [B, V] of all tokens that may not be drawn to -inf."""
    if top_k is not None and top_k < logits.shape[-1]:
        likeliest = logits.topk(top_k, dim=-1).indices
        logits = torch.full_like(logits, -torch.inf).scatter(-1, likeliest, logits.gather(-1, likeliest))
    if top_p is not None:
        ordered, place = logits.sort(dim=-1, descending=True)
        p = ordered.softmax(dim=-1)
        beyond = p.cumsum(dim=-1) - p >= top_p  # the mass before this token already reaches p
        logits = torch.full_like(logits, -torch.inf).scatter(-1, place, ordered.masked_fill(beyond, -torch.inf))
    return logits


def _check_length(model: Transformer, max_new_tokens: int) -> None:
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be at least 0, got {max_new_tokens}")
    if model.config.position != "none":
        check_length(max(1, max_new_tokens), model.config.max_len)


@contextmanager
def _generating(model: Transformer) -> Iterator[None]:
    """Eval mode and no graph inside; every module back in its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes:
            module.training = training
