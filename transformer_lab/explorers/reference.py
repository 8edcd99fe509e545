"""What the playground must show, computed with the package's own modules.

Floor 6. The page's JavaScript is tested against this.
"""

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch import Tensor

from ..masks import causal_mask, combine_masks
from ..trace import record_attention
from .packing import MASK


@dataclass(frozen=True)
class PlaygroundResult:
    """What the playground shows for one sentence and one setting.

    Args:
        weights: attention weights of every layer and head, [N, h, S, S].
        expected: the whole vocabulary with probabilities for the covered query word, likeliest first.
        replaced: for each word, the probability that it was swapped in, [S].

    Source:
        Ours; chapter 02.
    """

    weights: Tensor
    expected: list[tuple[str, float]]
    replaced: Tensor


def playground_reference(
    model: nn.Module,
    words: Sequence[str],
    *,
    query: int,
    temperature: float = 1.0,
    causal: bool = False,
    hidden: Collection[int] = (),
) -> PlaygroundResult:
    r"""Runs the model as the playground does, in float64.

    $$A = \text{softmax}\left(\frac{QK^\top}{t\sqrt{d_k}}\right)$$

    Temperature and mask act in every layer and head: the mask is the one handed to the encoder, and dividing the scores
    by t is dividing W_q by t.

    Args:
        model: a model as `pretrained.load_world` returns it.
        words: the S words of the sentence.
        query: position of the query word; it is covered for `expected`, and only for that.
        temperature: t; 1 is the model as it was trained.
        causal: hide from each word what stands to its right.
        hidden: positions that no word may attend to.

    Returns:
        Weights, expected words and swap probabilities.

    Raises:
        ValueError: a word is not in the vocabulary, the query is not a position, or t is not above 0.

    Source:
        Paper 3.2.1; chapter 02.
    """
    _check(model, words, query, temperature)
    exact = copy.deepcopy(model).double().eval()
    for layer in exact.encoder.layers:
        layer.self_attn.W_q.weight.data /= temperature
        layer.self_attn.W_q.bias.data /= temperature
    ids = torch.tensor([[model.vocabulary.index(word) for word in words]])  # [1, S]
    mask = _mask(len(words), causal, hidden)  # [S, S]
    covered = ids.clone()
    covered[0, query] = model.vocabulary.index(MASK)
    with torch.no_grad():
        with record_attention(exact.encoder) as maps:
            memory = exact.encoder(ids, mask)  # [1, S, d_model]
        weights = torch.stack([calls[0][0] for calls in maps.values()])  # [N, h, S, S]
        chances = exact.word_head(exact.encoder(covered, mask))[0, query].softmax(dim=-1)  # [V]
        replaced = exact.replaced_head(memory)[0, :, 0].sigmoid()  # [S]
    order = chances.argsort(descending=True).tolist()
    return PlaygroundResult(weights, [(model.vocabulary[i], float(chances[i])) for i in order], replaced)


def _mask(S: int, causal: bool, hidden: Collection[int]) -> Tensor:
    visible = torch.ones(1, S, dtype=torch.bool)
    visible[0, list(hidden)] = False  # [1, S]: the same keys for every query
    return combine_masks(visible.expand(S, S), causal_mask(S) if causal else None)


def _check(model: nn.Module, words: Sequence[str], query: int, temperature: float) -> None:
    unknown = [word for word in words if word not in model.vocabulary]
    if unknown:
        raise ValueError(
            f"the model does not know {unknown[0]!r}; it knows {len(model.vocabulary)} words, see model.vocabulary"
        )
    if not 0 <= query < len(words):
        raise ValueError(f"query must be a position in the sentence, 0 to {len(words) - 1}, got {query}")
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
