"""Beam search: several beginnings at once.

Floor 4a.
"""

import math

import torch
from torch import Tensor

from ..transformer import Transformer
from ..validation import check_positive
from .steps import Steps, check_new_tokens, generating


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
        TypeError: num_beams is not an int, or as for `greedy_decode`.
        ValueError: num_beams is below 1 or above the vocabulary, length_penalty is not finite, or as for `greedy_decode`.

    Source:
        Paper 6.1; chapter 11.
    """
    V = model.config.tgt_vocab_size
    check_positive(num_beams=num_beams)
    if num_beams > V:
        raise ValueError(f"num_beams must be 1..{V} (the target vocabulary), got {num_beams}")
    if not math.isfinite(length_penalty):
        raise ValueError(f"length_penalty must be a finite number, got {length_penalty}")
    check_new_tokens(model, max_new_tokens)
    with generating(model):
        search = _BeamSearch(model, src, num_beams, max_new_tokens, length_penalty)
        for step in range(max_new_tokens):
            search.step(step)
            if search.is_over(step + 1):
                break
        else:
            search.close()
    width = 1 + int(search.ended_lengths.max())
    return search.ended_ids[..., :width].clone(), search.ended_scores.clone()


class _BeamSearch:
    """State of a beam search: K running beginnings and the K best endings of each sentence."""

    def __init__(self, model: Transformer, src: Tensor, num_beams: int, max_new_tokens: int, penalty: float) -> None:
        c, B, K = model.config, src.shape[0], num_beams
        self.config, self.K, self.penalty, self.most = c, K, penalty, max_new_tokens
        self.steps = Steps(model, src, K, max_new_tokens, True)
        device, dtype = self.steps.memory.device, torch.promote_types(self.steps.memory.dtype, torch.float32)
        self.ids = torch.full((B, K, 1 + max_new_tokens), c.pad_id, dtype=torch.long, device=device)
        self.ids[..., 0] = c.bos_id
        self.sums = torch.full((B, K), -torch.inf, dtype=dtype, device=device)
        self.sums[:, 0] = 0.0  # one beginning so far; the other beams are copies of it
        self.ended_ids = self.ids.clone()
        self.ended_scores = torch.full_like(self.sums, -torch.inf) if max_new_tokens else torch.zeros_like(self.sums)
        self.ended_lengths = torch.zeros((B, K), dtype=torch.long, device=device)

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
        lengths = torch.cat([self.ended_lengths, self.ended_lengths.new_full(sums.shape, length)], dim=1)
        self.ended_scores, kept = scores.topk(self.K, dim=-1)
        self.ended_lengths = lengths.gather(1, kept)
        self.ended_ids = everything.gather(1, kept[..., None].expand(-1, -1, ids.shape[2]))
