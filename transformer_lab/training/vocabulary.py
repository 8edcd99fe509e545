"""The tokens that a model knows, each with its number.

Floor 4b. Ids 0 to 3 are the same in every vocabulary: padding, begin of sentence, end of sentence, unknown.
"""

import operator
from collections import Counter
from collections.abc import Iterable, Sequence

from ..validation import check_positive

#: Ids of the tokens that every vocabulary has: padding, begin and end of a sentence, any unknown word.
PAD, BOS, EOS, UNK = 0, 1, 2, 3
#: The same four as they are written, in the order of their ids.
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocabulary:
    """Numbers tokens: the four specials first, then the given ones in their order.

    id("<pad>") = 0, id("<bos>") = 1, id("<eos>") = 2, id("<unk>") = 3, id(tokens[i]) = 4 + i, and 3 for every other token.

    `len`, `in`, `id` and `token` count the specials, since a model has a row for each of them; `tokens` does not hold them,
    so that `Vocabulary(v.tokens) == v`.

    Args:
        tokens: without the specials, in the order of their ids; none empty, none twice.

    Raises:
        TypeError: tokens is one string, or a token is not a string.
        ValueError: a token is empty, stands there twice, or is a special.

    Source:
        Sutskever et al. 2014 for a fixed vocabulary with one token for all other words; chapter 11.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        if isinstance(tokens, str):
            raise TypeError(
                f"tokens must be a sequence of strings, got the one string {tokens[:40]!r}; split it into tokens first"
            )
        self._all = (*SPECIALS, *tokens)  # a special among the tokens is then simply a token that stands there twice
        self._ids: dict[str, int] = {}
        for i, token in enumerate(self._all):
            if not isinstance(token, str):
                raise TypeError(f"token {i - len(SPECIALS)} must be a string, got {type(token).__name__} ({token!r})")
            if not token:
                raise ValueError(
                    f"token {i - len(SPECIALS)} is empty; leave it out, an empty token can never be found in a text"
                )
            if token in self._ids:
                raise ValueError(_twice(token, self._ids[token], i))
            self._ids[token] = i

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], *, min_count: int = 1) -> "Vocabulary":
        """Collects the tokens of a corpus: the most frequent first, equally frequent ones by code point.

        The order depends on what the sentences hold and not on their order, so the same corpus gives the same ids.

        Args:
            sentences: each one a sequence of tokens, as a tokenizer's `split` gives them.
            min_count: tokens seen less often are left out, and become `<unk>`.

        Returns:
            The vocabulary; only the specials when no token is frequent enough.

        Raises:
            TypeError: a sentence is a string (its letters would be taken for tokens), or min_count is not an int.
            ValueError: min_count is below 1, or a token is empty or a special.

        Source:
            Ours; chapter 11.
        """
        check_positive(min_count=min_count)
        counts: Counter[str] = Counter()
        for sentence in [sentences] if isinstance(sentences, str) else sentences:
            if isinstance(sentence, str):
                raise TypeError(
                    f"a sentence must be a sequence of tokens, got the string {sentence[:40]!r}; split it first"
                )
            counts.update(sentence)
        kept = [token for token, count in counts.items() if count >= min_count]
        return cls(sorted(kept, key=lambda token: (-counts[token], token)))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens in the order of their ids, without the specials."""
        return self._all[len(SPECIALS) :]

    def id(self, token: str) -> int:
        """Looks a token up.

        Args:
            token: for example "cat".

        Returns:
            Its id; UNK = 3 when the vocabulary does not have it.

        Raises:
            TypeError: token is not a string.

        Source:
            Ours; chapter 11.
        """
        if not isinstance(token, str):
            raise TypeError(
                f"token must be a string, got {type(token).__name__} ({token!r}); the other way round it is .token(id)"
            )
        return self._ids.get(token, UNK)

    def token(self, id: int) -> str:
        """Says which token an id stands for.

        Args:
            id: 0 <= id < len(vocabulary); an int, or a tensor that holds one.

        Returns:
            The token; `<pad>`, `<bos>`, `<eos>` or `<unk>` for the ids 0 to 3.

        Raises:
            TypeError: id is not a whole number.
            ValueError: there is no such id.

        Source:
            Ours; chapter 11.
        """
        try:
            number = operator.index(id)  # ints, also those of numpy and torch, and nothing that would be rounded
        except TypeError:
            raise TypeError(f"id must be a whole number, got {type(id).__name__} ({id!r})") from None
        if not 0 <= number < len(self._all):
            raise ValueError(
                f"id {number} is out of range for a vocabulary of {len(self._all)} (ids 0 to {len(self._all) - 1})"
            )
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.tokens)} tokens + {len(SPECIALS)} specials)"


def _twice(token: str, first: int, second: int) -> str:
    if first < len(SPECIALS):
        return (
            f"token {second - len(SPECIALS)} is {token!r}, one of the specials {', '.join(SPECIALS)}, "
            "which every vocabulary has already; leave it out"
        )
    return f"token {token!r} stands there twice, at {first - len(SPECIALS)} and at {second - len(SPECIALS)}; each token has one id"
