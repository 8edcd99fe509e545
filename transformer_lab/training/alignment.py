"""Is attention alignment? Scores cross-attention against which word became which character.

Floor 4b. The gold alignment comes from the grammar that wrote the sentences, so nothing is guessed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..transformer import Transformer


@torch.no_grad()
def cross_attention(model: Transformer, src: Tensor, tgt: Tensor) -> list[Tensor]:
    """Computes the cross-attention weights of one forward pass, from outside.

    Args:
        model: in eval mode.
        src: token ids [B, S].
        tgt: token ids [B, T], the target shifted right.

    Returns:
        Weights [B, h, T, S] of each decoder layer.

    Raises:
        ValueError: ids do not fit the model.

    Source:
        Paper 3.2.3; chapter 11.
    """
    mask = model.source_mask(src)
    memory = model.encode(src, mask)  # [B, S, d_model]
    attentions = [layer.cross_attn for layer in model.decoder.layers]
    queries: list[Tensor] = []  # what each of them was asked, [B, T, d_model]
    handles = [attention.register_forward_pre_hook(lambda _, args: queries.append(args[0])) for attention in attentions]
    try:
        model.decode(tgt, memory, src_mask=mask)
    finally:
        for handle in handles:
            handle.remove()
    return [
        attention(query, memory, mask=mask, need_weights=True)[1]
        for attention, query in zip(attentions, queries, strict=True)
    ]


def alignment_scores(
    maps: Sequence[Sequence[Tensor]], gold: Sequence[Sequence[tuple[int, int]]], *, rows: str = "predicted"
) -> dict[str, Any]:
    r"""Scores attention maps of many sentences against their gold alignments.

    For every target character t that has gold source words G_t, attention row r:

    $$\text{mass} = \sum_{s \in G_t} a_{rs}, \qquad \text{argmax} = \big[\arg\max_s a_{rs} \in G_t\big]$$

    averaged over all such characters. Row r is the one that *predicted* the character, r = t. Labelling rows by the token the
    decoder had just *read*, r = t + 1, is the common plotting mistake; it is scored with rows="input".

    Args:
        maps: for each sentence the weights [h, T, S] of every layer, T counting `<eos>`.
        gold: for each sentence the pairs (t, s).
        rows: "predicted" or "input".

    Returns:
        {"characters", "chance": {"mass", "argmax"}, "layers": [{"mean": {"mass", "argmax"}, "heads": [{…}, …]}, …]}; "mean" scores the
        mean over the heads, "chance" is even attention.

    Raises:
        ValueError: rows is another word, there are no pairs, or the numbers of sentences differ.

    Source:
        Ours; chapter 11.
    """
    if rows not in ("predicted", "input"):
        raise ValueError(f"rows must be 'predicted' or 'input', got {rows!r}")
    if len(maps) != len(gold):
        raise ValueError(f"there are maps of {len(maps)} sentences but gold alignments of {len(gold)}")
    shift = 1 if rows == "input" else 0
    right, weights, even = [], [], []
    for layers, pairs in zip(maps, gold, strict=True):
        words_of: dict[int, list[int]] = {}
        for t, s in pairs:
            words_of.setdefault(t, []).append(s)
        for t, words in sorted(words_of.items()):
            row = torch.stack([layer[:, t + shift] for layer in layers]).double()  # [layers, h, S]
            row = torch.cat([row, row.mean(dim=1, keepdim=True)], dim=1)  # [layers, h + 1, S], the mean last
            weights.append(row[..., words].sum(dim=-1))
            right.append(torch.isin(row.argmax(dim=-1), torch.tensor(words, device=row.device)).double())
            even.append(len(words) / row.shape[-1])
    if not even:
        raise ValueError("no character has a gold word: there is nothing to score")
    mass, argmax = torch.stack(weights).mean(dim=0), torch.stack(right).mean(dim=0)  # [layers, h + 1] each
    chance = round(sum(even) / len(even), 4)
    scores = [[_score(m, a) for m, a in zip(*layer, strict=True)] for layer in zip(mass, argmax, strict=True)]
    return {
        "characters": len(even),
        "chance": {"mass": chance, "argmax": chance},
        "layers": [{"mean": layer[-1], "heads": layer[:-1]} for layer in scores],
    }


def _score(mass: Tensor, argmax: Tensor) -> dict[str, float]:
    return {"mass": round(mass.item(), 4), "argmax": round(argmax.item(), 4)}
