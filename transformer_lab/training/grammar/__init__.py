"""A grammar that writes English sentences with their Chinese translation and the alignment of the words.

Floor 4b. What is linked, and what has no counterpart:

* Nouns, verbs, adjectives, adverbs, pronouns, numerals, question words and negations are linked with their translation.
* Function words with a counterpart are linked too: 一 with "a", 在 … 上 with "on", 在 of the progressive with "is", 过 with
  "have", 会 with "will", 和 with "and", 比 with "than", the 的 of 我的 with "my", the 的 of 汤姆的 with "'s".
* Without a counterpart: classifiers, 了, 吗, 把, 很 before an adjective and after 真的; "the", "do", "did", "to", "of", "is"
  and "are" where Chinese needs no verb, and "a" where Chinese has no 一.
  (In "a cup of tea" 杯 is "cup"; in "than that one" the classifier is "one".)
* A final mark is linked with the final mark.
"""

from .held_out import HELD_OUT_SENTENCES, is_held_out
from .writing import PATTERNS, grammar_pairs

__all__ = ["HELD_OUT_SENTENCES", "PATTERNS", "grammar_pairs", "is_held_out"]
