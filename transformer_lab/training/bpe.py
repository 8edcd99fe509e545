"""Byte-pair encoding: rare words as sequences of frequent pieces.

Floor 4b. A word tokenizer has to write `<unk>` for every word that it has not seen. Byte-pair encoding never has to, as long
as it knows the letters: it begins with single letters, and joins again and again the two neighbours that stand beside each
other most often in the corpus. Frequent words grow into one piece, rare ones stay several.

    `l o w e s t </w>`  →  `low est</w>`

The mark `</w>` ends every word, so the pieces say where the words were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .words import check_tokens, join_words, split_words

END = "</w>"
Merge = tuple[str, str]


class BytePairEncoding:
    """Splits words into the pieces that a corpus has taught.

    Merges are applied in the order in which they were learned, each one wherever it fits, from left to right.

    Args:
        merges: pairs of pieces, in the order in which they were learned.

    Raises:
        TypeError, ValueError: a merge is not a pair of texts, or stands there twice.

    Source:
        Sennrich, Haddow and Birch 2016, section 3.2; chapter 11.
    """

    def __init__(self, merges: Iterable[Sequence[str]]) -> None:
        self._rank: dict[Merge, int] = {}
        for i, merge in enumerate(merges):
            pair = merge if isinstance(merge, str) else tuple(merge)
            if len(pair) != 2 or isinstance(pair, str) or not all(isinstance(piece, str) and piece for piece in pair):
                raise TypeError(f"merge {i} must be a pair of texts such as ('e', 's'), got {merge!r}")
            if pair in self._rank:
                raise ValueError(f"merge {pair} stands there twice, at {self._rank[pair]} and at {i}")
            self._rank[pair] = i
        self._known: dict[str, tuple[str, ...]] = {}  # words come again and again

    @classmethod
    def learn(cls, words: Iterable[str] | Mapping[str, int], num_merges: int) -> "BytePairEncoding":
        r"""Learns merges from the words of a corpus.

        $$\text{merge}_i = \arg\max_{(a, b)} \sum_w n_w \cdot \#\{\text{places in } w \text{ where } a\,b \text{ stand side by side}\}$$

        Among equally frequent pairs the one with the older left piece wins, then the one with the older right piece. The
        letters are the oldest pieces, by code point, then comes `</w>`, then what the merges made. (The paper's listing takes
        whichever pair it met first; this order is that of Hugging Face's `tokenizers`, and needs no luck.)

        Args:
            words: the words of the corpus, every occurrence; or {word: number of occurrences n_w}.
            num_merges: how many pieces to make; fewer are made when every word has become one piece.

        Returns:
            The encoding.

        Raises:
            TypeError: words is one string, or num_merges is not an int.
            ValueError: num_merges is negative, or a word is empty.

        Source:
            Sennrich et al. 2016, algorithm 1; chapter 11.
        """
        check_tokens(words)
        _check_merges(num_merges)
        counts = Counter(words)
        if "" in counts:
            raise ValueError("a word is empty; leave it out")
        spelled = {word: (*word, END) for word in counts}
        age = {piece: i for i, piece in enumerate([*sorted(set().union(*counts)), END])}
        frequency: Counter[Merge] = Counter()
        found_in: defaultdict[Merge, set[str]] = defaultdict(set)
        for word, pieces in spelled.items():
            _count(word, pieces, counts[word], frequency, found_in)
        merges = []
        while len(merges) < num_merges and frequency:
            best = min(frequency, key=lambda pair: (-frequency[pair], age[pair[0]], age[pair[1]]))
            merges.append(best)
            age.setdefault(best[0] + best[1], len(age))
            for word in found_in.pop(best):  # only there something changes
                _count(word, spelled[word], -counts[word], frequency, found_in)
                spelled[word] = _merged(spelled[word], best)
                _count(word, spelled[word], counts[word], frequency, found_in)
        return cls(merges)

    @property
    def merges(self) -> tuple[Merge, ...]:
        """The merges in the order in which they were learned."""
        return tuple(self._rank)

    def split_word(self, word: str) -> list[str]:
        """Splits one word into pieces.

        Args:
            word: not empty; it may be new.

        Returns:
            The pieces; joined they are the word and `</w>`. A letter that the corpus did not have is a piece of its own.

        Raises:
            ValueError: word is empty.

        Source:
            Sennrich et al. 2016, section 3.2; chapter 11.
        """
        if not word:
            raise ValueError("word is empty; there is nothing to split")
        if word not in self._known:
            pieces = (*word, END)
            while fitting := [pair for pair in pairwise(pieces) if pair in self._rank]:
                pieces = _merged(pieces, min(fitting, key=self._rank.__getitem__))
            self._known[word] = pieces
        return list(self._known[word])

    def split(self, text: str) -> list[str]:
        """Splits English text into words, as `split_words` does, and those into pieces.

        Args:
            text: any text.

        Returns:
            The pieces.

        Raises:
            TypeError: text is not a string.

        Source:
            Ours; chapter 11.
        """
        return [piece for word in split_words(text) for piece in self.split_word(word)]

    def join(self, pieces: Iterable[str]) -> str:
        """Writes pieces as readable English: the inverse of `split`.

        Args:
            pieces: as `split` gives them.

        Returns:
            The text, in lower case.

        Raises:
            TypeError: pieces is one string.

        Source:
            Ours; chapter 11.
        """
        check_tokens(pieces)
        return join_words("".join(pieces).removesuffix(END).split(END))

    def to_json(self) -> dict[str, Any]:
        """Describes the encoding by what JSON can hold.

        Returns:
            {"tokenizer": "byte pairs", "merges": [[left, right], ...]}.

        Source:
            Ours; chapter 11.
        """
        return {"tokenizer": "byte pairs", "merges": [list(pair) for pair in self._rank]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "BytePairEncoding":
        """Makes the encoding that `to_json` described.

        Args:
            data: from `to_json`.

        Returns:
            An encoding with the same merges.

        Raises:
            TypeError, ValueError: data is something else.

        Source:
            Ours; chapter 11.
        """
        if (
            not isinstance(data, dict)
            or data.get("tokenizer") != "byte pairs"
            or not isinstance(data.get("merges"), list)
        ):
            shown = repr(data)[:80]
            raise ValueError(
                f'data must be {{"tokenizer": "byte pairs", "merges": [...]}} as to_json makes it, got {shown}'
            )
        return cls(data["merges"])


def _count(
    word: str, pieces: Sequence[str], times: int, frequency: Counter[Merge], found_in: dict[Merge, set[str]]
) -> None:
    """Counts the neighbours of one word, or with negative times takes them back."""
    for pair in pairwise(pieces):
        frequency[pair] += times
        found_in[pair].add(word)
        if not frequency[pair]:
            del frequency[pair]


def _merged(pieces: Sequence[str], pair: Merge) -> tuple[str, ...]:
    """Joins the pair wherever it stands, from left to right: a a a with (a, a) is aa a."""
    done: list[str] = []
    i = 0
    while i < len(pieces):
        width = 2 if tuple(pieces[i : i + 2]) == pair else 1
        done.append("".join(pieces[i : i + width]))
        i += width
    return tuple(done)


def _check_merges(num_merges: int) -> None:
    if isinstance(num_merges, bool) or not isinstance(num_merges, int):
        raise TypeError(f"num_merges must be an int, got {type(num_merges).__name__} ({num_merges!r})")
    if num_merges < 0:
        raise ValueError(f"num_merges must be at least 0, got {num_merges}")
