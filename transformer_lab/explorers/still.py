"""The playground's still picture, its plain text and the words of its interface.

Floor 6.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from ..element import escape, heat_map, still_card
from .reference import PlaygroundResult


def playground_strings(own: Mapping[str, str] | None) -> dict[str, str]:
    """Gives the words of the interface.

    Args:
        own: those to use instead of the English ones, by the keys of playground.en.json.

    Returns:
        All of them.

    Raises:
        ValueError: a key is unknown.

    Source:
        Ours; chapter 02.
    """
    english = json.loads(files("transformer_lab.explorers").joinpath("playground.en.json").read_text(encoding="utf-8"))
    for key in own or {}:
        if key not in english:
            raise ValueError(
                f"strings has no use for {key!r}; the keys are those of playground.en.json: {', '.join(english)}"
            )
    return english | dict(own or {})


class Still:
    """The playground as it starts, for readers without scripts and for print: one sentence, one map, one row.

    Args:
        words: the S words.
        query: position of the query.
        layer: counted from 1.
        head: counted from 1; None is the mean of the heads.
        result: what the model gives for the words.
        strings: words of the interface.

    Source:
        Ours; chapter 02.
    """

    def __init__(
        self,
        words: Sequence[str],
        query: int,
        layer: int,
        head: int | None,
        result: PlaygroundResult,
        strings: Mapping[str, str],
    ) -> None:
        heads = result.weights[layer - 1]  # [h, S, S]
        self.weights = heads.mean(dim=0) if head is None else heads[head - 1]  # [S, S]
        self.words, self.query, self.result, self.strings = words, query, result, strings
        name = strings["head_mean"] if head is None else strings["head_number"].format(head=head)
        self.where = {"layer": layer, "head": name}

    def text(self) -> str:
        """Writes the plain-text form.

        Returns:
            One line.

        Source:
            Ours; chapter 02.
        """
        return f"{self.strings['still_title'].format(sentence=' '.join(self.words))} {self._summary()}"

    def html(self) -> str:
        """Draws the picture.

        Returns:
            HTML.

        Source:
            Ours; chapter 02.
        """
        strings, words = self.strings, self.words
        expected = ", ".join(f"{word} {chance:.2f}" for word, chance in self.result.expected[:5])
        lines = (
            self._summary(),
            strings["still_expect"].format(word=words[self.query], words=expected),
            strings["still_note"],
        )
        return still_card(
            heat_map(self.weights.tolist(), words, words, strings["still_map"].format(**self.where)),
            *(f"<p>{escape(line)}</p>" for line in lines),
        )

    def _summary(self) -> str:
        row, word = self.weights[self.query], self._name(self.query)  # row: [S]
        if len(row) == 1:
            return self.strings["summary_self"].format(word=word, **self.where)
        others = [i for i in row.argsort(descending=True, stable=True).tolist() if i != self.query]
        keys = (self.strings["key_weight"].format(word=self._name(i), weight=f"{row[i]:.2f}") for i in others[:2])
        values = {"word": word, "keys": self.strings["and"].join(keys), "self": f"{row[self.query]:.2f}"}
        return self.strings["summary"].format(**values, **self.where)

    def _name(self, place: int) -> str:
        word = self.words[place]
        return word if self.words.count(word) == 1 else self.strings["repeated"].format(word=word, place=place + 1)
