"""Text in, text out: a model with its two tokenizers.

Floor 4b. One file holds all three, so that a vocabulary can never stand beside weights it was not trained with.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..checkpoint import CheckpointError, load_model, read_checkpoint, save_model
from ..generation import beam_search
from ..transformer import Transformer
from ..validation import check_positive
from .alignment import cross_attention
from .batches import pad_rows
from .tokenizers import CharacterTokenizer, WordTokenizer
from .vocabulary import EOS, SPECIALS

ROWS = 64  # sentences decoded at a time


@dataclass(frozen=True)
class Translation:
    """A sentence, its translation, and how it came about.

    Args:
        source: the sentence as it was given.
        text: the translation.
        source_tokens: what the encoder read, `<eos>` last.
        tokens: what the decoder wrote, `<eos>` last unless it was cut off.
        score: mean log-probability of these tokens, in nats; 0 is certain.
        unknown: words of the source that the vocabulary does not have; the model saw `<unk>` in their place.
        complete: False when the translation was cut off before the model ended it.

    Source:
        Ours; chapter 11.
    """

    source: str
    text: str
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    score: float
    unknown: tuple[str, ...]
    complete: bool


class Translator:
    """Translates English to Chinese with a Transformer.

    Args:
        model: trained on ids of the two tokenizers.
        source: the encoder's tokenizer.
        target: the decoder's tokenizer.

    Raises:
        ValueError: a vocabulary has another size than the model's table.

    Source:
        Paper 3 and 6.1; chapter 11.
    """

    def __init__(self, model: Transformer, source: WordTokenizer, target: CharacterTokenizer) -> None:
        sizes = (model.config.src_vocab_size, model.config.tgt_vocab_size)
        if sizes != (len(source.vocabulary), len(target.vocabulary)):
            raise ValueError(
                f"the model has tables for {sizes[0]} and {sizes[1]} tokens, but the vocabularies have "
                f"{len(source.vocabulary)} and {len(target.vocabulary)}"
            )
        self.model, self.source, self.target = model, source, target

    @property
    def longest(self) -> int:
        """Most tokens a sentence may have, `<eos>` included."""
        return self.model.config.max_len

    def __call__(self, text: str, *, num_beams: int = 4, max_new_tokens: int | None = None) -> Translation:
        """Translates one sentence.

        Args:
            text: an English sentence.
            num_beams: beams followed; 1 takes the likeliest token at every step.
            max_new_tokens: most tokens to write; twice the source's and ten more when None.

        Returns:
            The translation.

        Raises:
            TypeError: text is not a string.
            ValueError: there is nothing to translate, it is too long, or num_beams does not fit.

        Source:
            Paper 6.1; chapter 11.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be one sentence (a string), got {type(text).__name__}; translate_all takes a list")
        return next(self.translate_all([text], num_beams=num_beams, max_new_tokens=max_new_tokens))

    def translate_all(
        self, texts: Sequence[str], *, num_beams: int = 4, max_new_tokens: int | None = None
    ) -> Iterator[Translation]:
        """Translates sentences, a batch at a time; all are checked before the first one is translated.

        Args:
            texts: English sentences.
            num_beams: beams followed; 1 takes the likeliest token at every step.
            max_new_tokens: most tokens to write for each; twice those of the longest sentence in its batch and ten more when None.

        Returns:
            An iterator of translations, in the order of the texts.

        Raises:
            TypeError: texts is one string, or a text is not a string.
            ValueError: one is empty or too long (it is named), or num_beams does not fit.

        Source:
            Paper 6.1; chapter 11.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a list of sentences, got one string; for one sentence call the translator itself")
        check_positive(num_beams=num_beams)
        texts = list(texts)
        rows = [self._checked(text) for text in texts]
        return self._translated(texts, rows, num_beams, max_new_tokens)

    def _translated(
        self, texts: Sequence[str], rows: list[list[int]], num_beams: int, most: int | None
    ) -> Iterator[Translation]:
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            src = pad_rows(part, self.model.config.pad_id).to(self.model.output_linear.weight.device)  # [B, S]
            limit = 2 * src.shape[1] + 10 if most is None else most
            ids, scores = beam_search(
                self.model, src, num_beams=num_beams, max_new_tokens=min(limit, self.longest), length_penalty=1.0
            )
            for text, out, score in zip(texts[start : start + ROWS], ids[:, 0], scores[:, 0], strict=True):
                yield self._translation(text, out[1:].tolist(), score.item())

    def _checked(self, text: str) -> list[int]:
        ids = self.source.encode(text)
        if len(ids) == 1:
            raise ValueError(f"nothing to translate: {text!r} holds no word")
        if len(ids) > self.longest:
            raise ValueError(
                f"the sentence has {len(ids) - 1} words and marks, but this model reads at most {self.longest - 1} "
                f"(it begins {text[:40]!r}); translate it sentence by sentence"
            )
        return ids

    def _translation(self, text: str, out: list[int], score: float) -> Translation:
        complete = EOS in out
        out = out[: out.index(EOS) + 1] if complete else out
        return Translation(
            source=text,
            text=self.target.decode(out),
            source_tokens=(*self.source.split(text), SPECIALS[EOS]),
            tokens=tuple(map(self.target.vocabulary.token, out)),
            score=score,
            unknown=tuple(self.source.unknown(text)),
            complete=complete,
        )

    def attention(self, source_tokens: Sequence[str], tokens: Sequence[str]) -> list[Tensor]:
        """Computes where the decoder looked in the source while it predicted each token.

        Row t belongs to the token that was *predicted* there, tokens[t], not to the one the decoder had just read.

        Args:
            source_tokens: S tokens of the source, `<eos>` last.
            tokens: T tokens of the target, `<eos>` last.

        Returns:
            Cross-attention weights [h, T, S] of each decoder layer.

        Raises:
            TypeError: a sequence is a string: tokens are expected, such as those of a `Translation`.
            ValueError: a sequence is empty or too long.

        Source:
            Paper 3.2.3; article, "Code + heat map"; chapter 11.
        """
        for name, sequence in (("source_tokens", source_tokens), ("tokens", tokens)):
            if isinstance(sequence, str):
                raise TypeError(f"{name} must be a list of tokens, as in a Translation, got the text {sequence[:40]!r}")
            if not sequence:
                raise ValueError(f"{name} holds no token")
        src = torch.tensor([[self.source.vocabulary.id(token) for token in source_tokens]])  # [1, S]
        out = [self.target.vocabulary.id(token) for token in tokens]
        tgt = torch.tensor([[self.model.config.bos_id, *out[:-1]]])  # [1, T], shifted right
        device = self.model.output_linear.weight.device
        return [weights[0] for weights in cross_attention(self.model, src.to(device), tgt.to(device))]

    def save(self, path: str | os.PathLike, *, dtype: torch.dtype | None = torch.float16, **metadata: Any) -> None:
        """Writes weights and vocabularies to one file.

        Args:
            path: of the file.
            dtype: of the stored weights; the model's when None.
            metadata: anything JSON can hold.

        Raises:
            CheckpointError: the file cannot be written.

        Source:
            Ours; chapter 11.
        """
        tokenizers = {"source_tokenizer": self.source.to_json(), "target_tokenizer": self.target.to_json()}
        save_model(path, self.model, dtype=dtype, **tokenizers, **metadata)


def read_translator(path: str | os.PathLike, device: torch.device | str = "cpu") -> Translator:
    """Reads what `Translator.save` wrote.

    Args:
        path: of the file.
        device: where the model goes.

    Returns:
        The translator, its model in eval mode.

    Raises:
        CheckpointError: the file is damaged, or holds no translator.

    Source:
        Ours; chapter 11.
    """
    metadata = read_checkpoint(path).metadata
    try:
        source = WordTokenizer.from_json(metadata["source_tokenizer"])
        target = CharacterTokenizer.from_json(metadata["target_tokenizer"])
        return Translator(load_model(path, device).eval(), source, target)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{os.fspath(path)}: holds no translator ({error})") from error
