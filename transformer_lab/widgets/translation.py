"""The panel over the shipped translator: a sentence of the reader's own, its translation, and where the decoder looked.

Floor 6.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..element import escape, heat_map
from ..pretrained import load_translator
from ..training.translation import Translation
from .panel import Panel, check_sizes, devices, facts

MAX_BEAMS = 16


@dataclass(frozen=True)
class TranslationReport:
    """What the translator gave.

    Args:
        translation: the text, its tokens, its score, and what was unknown.
        weights: of one decoder layer's cross-attention, mean of the heads, [T, S], on the CPU.

    Source:
        Ours; chapter 11.
    """

    translation: Translation
    weights: Tensor


def run_translation(
    *, sentence: str = "I love you", num_beams: int = 4, layer: int = 2, device: str = "cpu"
) -> TranslationReport:
    """Translates a sentence with the shipped model.

    Args:
        sentence: in English.
        num_beams: beams followed; 1 takes the likeliest token at every step.
        layer: the decoder layer whose attention is shown, from 1.
        device: such as "cpu" or "cuda".

    Returns:
        The translation and the attention.

    Raises:
        ValueError: there is nothing to translate, it is too long, or there is no such layer or device.

    Source:
        Paper 3.2.3; chapter 11.
    """
    check_sizes(MAX_BEAMS, num_beams, num_beams=num_beams)
    translator = load_translator(device=device)
    layers = len(translator.model.decoder.layers)
    if layer not in range(1, layers + 1):
        raise ValueError(f"layer must be from 1 to {layers}, got {layer}")
    found = translator(sentence, num_beams=num_beams)
    maps = translator.attention(found.source_tokens, found.tokens)  # [h, T, S] of each layer
    return TranslationReport(found, maps[layer - 1].mean(dim=0).cpu())


def translation_panel(**settings: Any) -> Panel:
    """Makes the panel: a sentence, beams, layer and device, the translation, and where the decoder looked.

    Args:
        settings: what to start with, as `run_translation` takes it.

    Returns:
        The panel. As the last expression of a cell it shows its controls in a live notebook, and a still elsewhere.

    Raises:
        TypeError: a setting is unknown.
        ValueError: a setting is refused by `run_translation`.

    Source:
        Ours; chapter 11.
    """
    return Panel("Translation", run_translation, _tell, _say, settings, {"device": devices()})


def _say(settings: Mapping[str, Any], report: TranslationReport) -> str:
    return f"{report.translation.source} → {report.translation.text}"


def _tell(settings: Mapping[str, Any], report: TranslationReport, live: bool) -> list[str]:
    found = report.translation
    rows = {
        "translation": found.text,
        "probability of a token, geometric mean": f"{math.exp(found.score):.2f}",
        "not in the vocabulary": ", ".join(found.unknown) or "nothing",
    }
    caption = f"Cross-attention of decoder layer {settings['layer']}, mean of the heads: a row is a predicted character"
    return [
        f"<p><strong>Translator</strong>: {escape(found.source)}</p>",
        facts(rows),
        heat_map(report.weights.tolist(), found.tokens, found.source_tokens, caption),
    ]
