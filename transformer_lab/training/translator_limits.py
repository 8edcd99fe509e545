"""What a translator is not good at, in sentences whose numbers come from its own figures.

Floor 4b.
"""

from collections.abc import Mapping
from typing import Any


def limits(data: Mapping[str, Any], figures: Mapping[str, Any], longest: int) -> list[str]:
    """Writes the limits that a model card states.

    Args:
        data: from `TranslatorCorpus.describe`.
        figures: from `measure_translator`.
        longest: most tokens of a sentence that the model takes.

    Returns:
        Sentences; those about Tatoeba only where the model has learned from it.

    Source:
        Model cards (Mitchell et al. 2019); chapter 11.
    """
    pairs, written = data["pairs"]["train"], data["of_grammar"]
    origin = (
        f"{pairs - written:,} of volunteers and {written:,} of the grammar" if data["tatoeba"] else "all of the grammar"
    )
    said = [
        f"It is small and has read {pairs:,} pairs of short sentences ({origin}): it repeats itself, leaves words out, and makes up "
        "proverbs and names.",
        "English words it has seen once or never are <unk> to it, and characters it has seen once or never it cannot write.",
        f"It has read single sentences only; none over {longest} tokens is taken.",
        "The sentences of the book are held out as combinations; their words, and sentences that differ in one of them, it has seen.",
        "Figures on the grammar's sentences say that it has learned the grammar, not that it knows Chinese.",
        "Attention is scored where the grammar knows the alignment. It is evidence of where the model looks, not of why it decides.",
    ]
    if not data["tatoeba"]:
        return [*said, "It knows the sentences of a grammar, and no other English."]
    lengths = figures["tatoeba"]["beam_bleu_by_length"]
    spread = ", ".join(
        f"{row['bleu']:.1f} for {words} words ({row['sentences']} sentences)" for words, row in lengths.items()
    )
    return [
        *said,
        f"It does worse the longer the sentence; BLEU with beams on Tatoeba by length: {spread}.",
        "Figures on Tatoeba are the ones to compare with other systems. Its sentences are by volunteers and not all are right.",
    ]
