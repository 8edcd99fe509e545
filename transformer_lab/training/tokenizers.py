"""Text to ids and back: words for English, characters for Chinese.

Floor 4b. Both tokenizers have the same methods, so that a model's two sides are handled alike. How text is split stands in
`words` and `characters`; a tokenizer adds a vocabulary to it.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from .characters import join_characters, split_characters
from .vocabulary import BOS, EOS, PAD, Vocabulary
from .words import join_words, split_words


class WordTokenizer:
    """English: lower-case words, digits and punctuation marks, as `split_words` finds them.

    "I don't know." → i do n't know . → their ids and that of `<eos>`.

    `split` needs no vocabulary, so the vocabulary can be made with it:
    `WordTokenizer(Vocabulary.build(map(WordTokenizer.split, texts)))`.

    Args:
        vocabulary: of words.

    Source:
        Ours; chapter 11.
    """

    split = staticmethod(split_words)
    join = staticmethod(join_words)

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = _checked(vocabulary)

    def encode(self, text: str) -> list[int]:
        """Turns text into ids; there is no begin of sentence, and the last id is the end of sentence.

        Args:
            text: one sentence.

        Returns:
            Its ids; [EOS] for empty text. Words that the vocabulary does not have become UNK.

        Raises:
            TypeError: text is not a string.

        Source:
            Paper 3.4; chapter 11.
        """
        return [*map(self.vocabulary.id, self.split(text)), EOS]

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """Turns ids into readable text, up to the first end of sentence.

        Args:
            ids: of one sentence; padding and begin of sentence are left out, UNK shows as `<unk>`.

        Returns:
            The text, in lower case.

        Raises:
            TypeError: an id is not a whole number.
            ValueError: an id is out of range, or ids is a tensor of more than one axis.

        Source:
            Ours; chapter 11.
        """
        return self.join(_tokens(self.vocabulary, ids))

    def unknown(self, text: str) -> list[str]:
        """Lists the words of a text that the vocabulary does not have.

        Args:
            text: any text.

        Returns:
            Each of them once, in the order of the text.

        Raises:
            TypeError: text is not a string.

        Source:
            Ours; chapter 11.
        """
        return list(dict.fromkeys(token for token in self.split(text) if token not in self.vocabulary))

    def to_json(self) -> dict[str, Any]:
        """Describes the tokenizer by what JSON can hold.

        Returns:
            {"tokenizer": "words", "tokens": [...]}.

        Source:
            Ours; chapter 11.
        """
        return {"tokenizer": "words", "tokens": list(self.vocabulary.tokens)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "WordTokenizer":
        """Makes the tokenizer that `to_json` described.

        Args:
            data: from `to_json`.

        Returns:
            A tokenizer with the same vocabulary.

        Raises:
            TypeError, ValueError: data is something else, or its tokens make no vocabulary.

        Source:
            Ours; chapter 11.
        """
        return cls(_vocabulary_of(data, "words"))


class CharacterTokenizer:
    """Chinese: one character a token, no spaces, one form for every punctuation mark, as `split_characters` finds them.

    "我爱你!" → 我 爱 你 ！ → their ids and that of `<eos>`.

    Args:
        vocabulary: of characters.

    Source:
        Ours; chapter 11.
    """

    split = staticmethod(split_characters)
    join = staticmethod(join_characters)

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = _checked(vocabulary)

    def encode(self, text: str) -> list[int]:
        """Turns text into ids; there is no begin of sentence, and the last id is the end of sentence.

        Args:
            text: one sentence.

        Returns:
            Its ids; [EOS] for empty text. Characters that the vocabulary does not have become UNK.

        Raises:
            TypeError: text is not a string.

        Source:
            Paper 3.4; chapter 11.
        """
        return [*map(self.vocabulary.id, self.split(text)), EOS]

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """Turns ids into text, up to the first end of sentence.

        Args:
            ids: of one sentence; padding and begin of sentence are left out, UNK shows as `<unk>`.

        Returns:
            The text.

        Raises:
            TypeError: an id is not a whole number.
            ValueError: an id is out of range, or ids is a tensor of more than one axis.

        Source:
            Ours; chapter 11.
        """
        return self.join(_tokens(self.vocabulary, ids))

    def unknown(self, text: str) -> list[str]:
        """Lists the characters of a text that the vocabulary does not have.

        Args:
            text: any text.

        Returns:
            Each of them once, in the order of the text.

        Raises:
            TypeError: text is not a string.

        Source:
            Ours; chapter 11.
        """
        return list(dict.fromkeys(token for token in self.split(text) if token not in self.vocabulary))

    def to_json(self) -> dict[str, Any]:
        """Describes the tokenizer by what JSON can hold.

        Returns:
            {"tokenizer": "characters", "tokens": [...]}.

        Source:
            Ours; chapter 11.
        """
        return {"tokenizer": "characters", "tokens": list(self.vocabulary.tokens)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "CharacterTokenizer":
        """Makes the tokenizer that `to_json` described.

        Args:
            data: from `to_json`.

        Returns:
            A tokenizer with the same vocabulary.

        Raises:
            TypeError, ValueError: data is something else, or its tokens make no vocabulary.

        Source:
            Ours; chapter 11.
        """
        return cls(_vocabulary_of(data, "characters"))


def _checked(vocabulary: Vocabulary) -> Vocabulary:
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be a Vocabulary, got {type(vocabulary).__name__}; see Vocabulary.build")
    return vocabulary


def _tokens(vocabulary: Vocabulary, ids: Iterable[int] | Tensor) -> list[str]:
    if isinstance(ids, Tensor):
        if ids.dim() != 1:
            raise ValueError(f"ids must be of one sentence, [length], got {tuple(ids.shape)}; decode row by row")
        ids = ids.tolist()
    tokens = []
    for id in ids:
        token = vocabulary.token(id)
        if id == EOS:
            break
        if id not in (PAD, BOS):
            tokens.append(token)
    return tokens


def _vocabulary_of(data: dict[str, Any], kind: str) -> Vocabulary:
    if not isinstance(data, dict) or data.get("tokenizer") != kind or not isinstance(data.get("tokens"), list):
        shown = repr(data)[:80]
        raise ValueError(f'data must be {{"tokenizer": {kind!r}, "tokens": [...]}} as to_json makes it, got {shown}')
    return Vocabulary(data["tokens"])
