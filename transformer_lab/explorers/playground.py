"""The attention playground.

Floor 6.
"""

from collections.abc import Sequence
from typing import Any

import torch.nn as nn

from ..element import Element, read_source
from .packing import MASK, PAD, check_supported, pack_weights, tensors_of
from .reference import playground_reference
from .still import Still, playground_strings

SCRIPTS = (
    "transformer.js", "words.js", "sentence.js", "controls.js", "query.js", "heatmap.js", "playground.css", "playground.js",
)  # fmt: skip
SENTENCES = (
    "the cat sat on the mat",
    "the cat sat in the river",
    "the book lay on the mat",
    "my dog slept on the bed",
    "a small bird flew through the sky",
    "the girl with the ball walked in the park",
)


def attention_playground(
    model: nn.Module,
    sentences: Sequence[str | Sequence[str]] = SENTENCES,
    *,
    control: nn.Module | None = None,
    sentence: str | Sequence[str] | None = None,
    query: str | int | None = None,
    layer: int | None = None,
    head: int | None = None,
    max_words: int = 12,
    strings: dict[str, str] | None = None,
) -> Element:
    """Lets the reader write a sentence and see, in the page, what every word attends to and what the model expects.

    The model's real weights are carried by the page and run there, in double precision. The reader picks the query word,
    the layer and the head, moves the temperature and the mask (both act in every layer and head, see
    `playground_reference`), and changes words.

    Args:
        model: a model as `pretrained.load_world` returns it.
        sentences: examples to pick from, each a string or a list of words.
        control: the same architecture with untrained weights, for the switch "trained / untrained" (rounded to half
            precision in the page); None leaves it out.
        sentence: the one to start with; the first example when None.
        query: the query word to start with, or its position; None takes "sat", or the first word where there is no "sat".
        layer: the layer to start with, counted from 1 as the page counts; the last when None.
        head: the head to start with, counted from 1; the mean of the heads when None.
        max_words: the longest sentence accepted.
        strings: words of the interface to use instead of the English ones, by the keys of playground.en.json.

    Returns:
        The element; its still picture shows the starting sentence's map.

    Raises:
        ValueError: a word is not in the vocabulary, a sentence is empty or too long, the encoder is of a kind or size that
            the page does not compute, or a key of `strings` is unknown.

    Source:
        Ours; chapter 02.
    """
    check_supported(model.encoder.config)
    words = _words(model, sentence if sentence is not None else sentences[0], max_words)
    place = _place(words, query)
    layer = _number("layer", layer, len(model.encoder.layers), default=len(model.encoder.layers))
    head = _number("head", head, model.encoder.config.num_heads, default=None)
    config = {
        **_sizes(model),
        **pack_weights(model, control),
        "max_words": max_words,
        "sentences": [_words(model, each, max_words) for each in sentences],
        "sentence": words,
        "query": place,
        "layer": layer - 1,
        "head": "mean" if head is None else head - 1,
        "strings": playground_strings(strings),
    }
    still = Still(words, place, layer, head, playground_reference(model, words, query=place), config["strings"])
    return Element("playground", read_source("transformer_lab.explorers", *SCRIPTS), config, still.text(), still.html())


def _sizes(model: nn.Module) -> dict[str, Any]:
    c = model.encoder.config
    return {
        "d_model": c.d_model,
        "num_heads": c.num_heads,
        "num_layers": c.num_encoder_layers,
        "layer_norm_eps": c.layer_norm_eps,
        "weights_count": sum(tensor.numel() for tensor in tensors_of(model).values()),
        "vocabulary": list(model.vocabulary),
        "words": sorted(word for word in model.vocabulary if word not in (PAD, MASK)),
        "mask_id": model.vocabulary.index(MASK),
    }


def _words(model: nn.Module, sentence: str | Sequence[str], max_words: int) -> list[str]:
    words = model.tokenize(sentence) if isinstance(sentence, str) else list(sentence)
    if not 1 <= len(words) <= max_words:
        raise ValueError(
            f"a sentence must have 1 to max_words={max_words} words, got {len(words)}: {' '.join(words)!r}"
        )
    for word in words:
        if word not in model.vocabulary:
            raise ValueError(f"the model does not know {word!r} of {' '.join(words)!r}; see model.vocabulary")
    return words


def _number(name: str, number: int | None, count: int, *, default: int | None) -> int | None:
    if number is not None and not 1 <= number <= count:
        raise ValueError(f"{name} is counted from 1 to {count}, got {number}")
    return default if number is None else number


def _place(words: list[str], query: str | int | None) -> int:
    if query is None:
        return words.index("sat") if "sat" in words else 0
    if isinstance(query, str) and query in words:
        return words.index(query)
    if isinstance(query, int) and 0 <= query < len(words):
        return query
    raise ValueError(f"query must be one of {words} or a position from 0 to {len(words) - 1}, got {query!r}")
