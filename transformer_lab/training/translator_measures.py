"""What the translator can do, in figures: on real sentences, on the grammar's, on the book's three, and where it looks.

Floor 4b. Scores are sacreBLEU's, with all references and its signature, so that others can take them again.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ..transformer import Transformer
from .alignment import alignment_scores
from .grammar import HELD_OUT_SENTENCES
from .pairs import AlignedPair, Pair
from .tatoeba import references
from .tokenizers import CharacterTokenizer, WordTokenizer
from .translation import Translator
from .vocabulary import EOS, SPECIALS

BEAMS = 4
LENGTHS = {
    "1 to 5": range(1, 6),
    "6 to 10": range(6, 11),
    "11 or more": range(11, 10_000),
}  # words of a sentence, marks left out


def measure_translator(
    translator: Translator, test: Sequence[Pair], grammar_test: Sequence[AlignedPair]
) -> dict[str, Any]:
    """Takes every figure of the model card.

    Args:
        translator: to measure.
        test: real pairs that it has not seen; none are measured where there are none.
        grammar_test: pairs of the grammar that it has not seen.

    Returns:
        {"tatoeba", "grammar": {"sentences", "greedy", "beam": {"bleu", "chrf", "exact"}}, "article": {English: Chinese},
        "article_right", "alignment": {"predicted", "input"}}; "tatoeba" is None without real pairs.

    Raises:
        ModuleNotFoundError: sacrebleu is not installed.

    Source:
        Papineni et al. 2002, Popović 2015, Post 2018; chapter 11.
    """
    written = [Pair(pair.english, pair.chinese) for pair in grammar_test]
    article = {english: translator(english, num_beams=BEAMS).text for english, _ in HELD_OUT_SENTENCES}
    return {
        "tatoeba": translation_scores(translator, test) if test else None,
        "grammar": translation_scores(translator, written),
        "article": article,
        "article_right": sum(article[english] == chinese for english, chinese in HELD_OUT_SENTENCES),
        "alignment": {rows: measure_alignment(translator, grammar_test, rows=rows) for rows in ("predicted", "input")},
    }


def translation_scores(translator: Translator, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Translates sentences, greedily and with beams, and compares with all their references.

    Args:
        translator: to measure.
        pairs: English and Chinese; an English sentence may come several times.

    Returns:
        {"sentences", "greedy": {"bleu", "chrf", "exact"}, "beam": likewise, "beam_bleu_by_length": {words: {"sentences", "bleu"}},
        "signature"}; exact is the share of translations that equal a reference.

    Raises:
        ModuleNotFoundError: sacrebleu is not installed.

    Source:
        Papineni et al. 2002, Popović 2015, Post 2018; chapter 11.
    """
    bleu, chrf = _metrics()
    found = references(pairs)
    known = [[_unified(chinese) for chinese in several] for several in found.values()]
    streams = [[several[i] if i < len(several) else None for several in known] for i in range(max(map(len, known)))]
    result: dict[str, Any] = {"sentences": len(known)}
    for name, beams in (("greedy", 1), ("beam", BEAMS)):
        texts = [translation.text for translation in translator.translate_all(list(found), num_beams=beams)]
        result[name] = {
            "bleu": round(bleu.corpus_score(texts, streams).score, 2),
            "chrf": round(chrf.corpus_score(texts, streams).score, 2),
            "exact": round(sum(t in several for t, several in zip(texts, known, strict=True)) / len(known), 4),
        }
    result["beam_bleu_by_length"] = {}
    counts = [sum(token[0].isalnum() for token in WordTokenizer.split(english)) for english in found]
    for words, lengths in LENGTHS.items():
        rows = [i for i, count in enumerate(counts) if count in lengths]
        if rows:
            own = [[stream[i] for i in rows] for stream in streams]
            score = bleu.corpus_score([texts[i] for i in rows], own).score
            result["beam_bleu_by_length"][words] = {"sentences": len(rows), "bleu": round(score, 2)}
    return {**result, "signature": {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}}


def measure_alignment(
    translator: Translator, pairs: Sequence[AlignedPair], *, rows: str = "predicted"
) -> dict[str, Any]:
    """Scores where the decoder looks while it writes the reference translations; final marks are left out.

    Args:
        translator: to measure.
        pairs: with alignments.
        rows: "predicted", or "input" for the common plotting mistake.

    Returns:
        As from `alignment_scores`.

    Source:
        Ours; chapter 11.
    """
    maps, gold = [], []
    for pair in pairs:
        characters = CharacterTokenizer.split(pair.chinese)
        maps.append(
            translator.attention([*WordTokenizer.split(pair.english), SPECIALS[EOS]], [*characters, SPECIALS[EOS]])
        )
        gold.append([(t, s) for t, s in pair.alignment if characters[t].isalnum()])
    return alignment_scores(maps, gold, rows=rows)


def untrained_control(translator: Translator, seed: int) -> Translator:
    """Makes the translator that training started from: same sizes, same vocabularies, first weights.

    Args:
        translator: a trained one.
        seed: of the first weights.

    Returns:
        The control, in eval mode.

    Source:
        Ours; chapter 11.
    """
    return Translator(new_model(translator.model.config, seed), translator.source, translator.target)


def new_model(config: Any, seed: int) -> Transformer:
    """Draws a model's first weights from a seed; the caller's random numbers are left as they were.

    Args:
        config: sizes and switches.
        seed: of the draw.

    Returns:
        The model, in eval mode.

    Source:
        Ours; chapter 10.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(config).eval()


def check_scores() -> None:
    """Sees that scores can be taken, so that a long training does not end without.

    Raises:
        ModuleNotFoundError: sacrebleu is not installed.

    Source:
        Ours; chapter 11.
    """
    _metrics()


def _unified(chinese: str) -> str:
    return CharacterTokenizer.join(CharacterTokenizer.split(chinese))


def _metrics() -> tuple[Any, Any]:
    try:
        import sacrebleu
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "scores are taken with sacrebleu, which is not installed: pip install 'transformer-lab[train]'"
        ) from error
    return sacrebleu.BLEU(tokenize="zh"), sacrebleu.CHRF()
