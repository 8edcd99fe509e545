"""The playground's still picture, its plain text and the words of its interface.

Floor 6.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from torch import Tensor

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


def attends_most(words: Sequence[str], query: int, weights: Tensor, where: str) -> str:
    """Says in one sentence what a query attends to.

    Args:
        words: the S words.
        query: position of the query.
        weights: its map, [S, S].
        where: which layer and head, for the sentence.

    Returns:
        Such as "Layer 2, mean of the heads: sat attends most to mat 0.40 and cat 0.26."

    Source:
        Ours; chapter 02.
    """
    row = weights[query]  # [S]
    top = row.argsort(descending=True, stable=True)[:2].tolist()
    named = " and ".join(f"{words[i]} {row[i]:.2f}" for i in top)
    return f"{where[0].upper()}{where[1:]}: {words[query]} attends most to {named}."


def playground_text(words: Sequence[str], query: int, weights: Tensor, where: str) -> str:
    """Writes the plain-text form of the playground.

    Args:
        words: the S words.
        query: position of the query.
        weights: its map, [S, S].
        where: which layer and head.

    Returns:
        One line.

    Source:
        Ours; chapter 02.
    """
    return f"Attention playground, “{' '.join(words)}”. {attends_most(words, query, weights, where)}"


def playground_still(words: Sequence[str], query: int, weights: Tensor, where: str, result: PlaygroundResult) -> str:
    """Draws the playground as it starts, for readers without JavaScript and for print.

    Args:
        words: the S words.
        query: position of the query.
        weights: the map shown, [S, S].
        where: which layer and head.
        result: what the model expects for the covered query.

    Returns:
        HTML.

    Source:
        Ours; chapter 02.
    """
    expected = ", ".join(f"{escape(word)} {chance:.2f}" for word, chance in result.expected[:5])
    return still_card(
        heat_map(weights.tolist(), words, words, f"Attention weights, {where}: each row is one query and sums to 1."),
        f"<p>{escape(attends_most(words, query, weights, where))}</p>",
        f"<p>If {escape(words[query])} were covered, the model would expect: {expected}.</p>",
        "<p>Where scripts run, this picture is a playground: write sentences, pick words, move temperature and mask.</p>",
    )
