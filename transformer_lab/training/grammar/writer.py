"""The one place where a sentence's choices are made.

Floor 4b.
"""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from .phrase import Phrase, word

T = TypeVar("T")


class Writer:
    """Makes every choice of a sentence.

    Args:
        rng: where the choices come from.
        favourites: words to take whenever they are among the choices.

    Source:
        Ours; chapter 10.
    """

    def __init__(self, rng: random.Random, favourites: frozenset[str] = frozenset()) -> None:
        self._rng = rng
        self._favourites = favourites

    def pick(self, options: Sequence[T]) -> T:
        """Picks one of several.

        Args:
            options: at least one.

        Returns:
            One of them.

        Source:
            Ours; chapter 10.
        """
        liked = [o for o in options if _english(o) in self._favourites] if self._favourites else None
        return self._rng.choice(liked or options)

    def entry(self, table: dict[str, str]) -> Phrase:
        """Picks a row of a small table.

        Args:
            table: {English: Chinese}.

        Returns:
            The row as a phrase.

        Source:
            Ours; chapter 10.
        """
        return word(*self.pick(tuple(table.items())))

    def chance(self, probability: float) -> bool:
        """Tosses a coin.

        Args:
            probability: of True.

        Returns:
            Heads or tails.

        Source:
            Ours; chapter 10.
        """
        return self._rng.random() < probability


def _english(option: Any) -> Any:
    """Gives the English of an entry of the lexicon or of a row of a table; of a text, the text."""
    first = option[0] if isinstance(option, tuple) and option else option
    return getattr(first, "english", first)
