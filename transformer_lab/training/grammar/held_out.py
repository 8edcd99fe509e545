"""The three combinations that no training sentence holds, so that translating them is generalisation.

Floor 4b. Each word of them occurs in many other sentences: the dog sat on the mat, she loves you, I gave him a book.
"""

import re

#: The three sentences whose combination is kept out of training (see `is_held_out`), each with its translation.
HELD_OUT_SENTENCES = (
    ("I love you", "我爱你"),
    ("The cat sat on the mat", "猫坐在垫子上"),
    ("I gave her a book", "我给了她一本书"),
)
HELD_OUT_WORDS = {  # the pattern that writes the combination: its words
    "feeling": frozenset({"I", "love", "you"}),
    "posture": frozenset({"cat", "sit", "mat"}),
    "ditransitive": frozenset({"I", "give", "she", "book"}),
}
# What may stand between "I" and its verb: auxiliaries, wishes, adverbs, and the halves of contractions. Not "and", nor a pronoun.
_BETWEEN = (
    "no longer do did don didn t will ll would d won have ve haven had hadn am m was not never ever always really truly "
    "still also just only so too very much once already must can cannot could couldn should shall may might going gonna "
    "want wanted to like need have has be been often sometimes yesterday all both simply surely certainly definitely "
    "probably actually honestly deeply dearly then now even hope"
)
_BETWEEN_SET = frozenset(_BETWEEN.split())
_CAT, _SIT, _MAT = frozenset(("cat", "cats")), frozenset(("sit", "sits", "sat", "sitting")), frozenset(("mat", "mats"))
_LOVE = frozenset(("love", "loved", "loving"))
_GIVE = frozenset(("give", "gave", "given", "giving"))
_BOOK = frozenset(("book", "books"))


def _says_i(words: list[str], verb: int) -> bool:
    """Says whether the subject of the verb at an index is I, alone or with others."""
    while verb > 0 and (
        words[verb - 1] in _BETWEEN_SET or (words[verb - 1] == "." and words[verb - 2] in _BETWEEN_SET)
    ):
        verb -= 1
    return verb > 0 and words[verb - 1] == "i"


def _gives_her_a_book(words: list[str], verb: int) -> bool:
    clause = words[verb + 1 : verb + 9]
    if "." in clause:
        clause = clause[: clause.index(".")]
    if clause[:1] == ["her"]:  # give her (a very old) book
        return not _BOOK.isdisjoint(clause[1:7])
    to_her = next((i for i in range(len(clause) - 1) if clause[i : i + 2] == ["to", "her"]), 0)  # give the book to her
    return not _BOOK.isdisjoint(clause[:to_her])


def is_held_out(english: str) -> bool:
    """Says whether an English sentence holds one of the three combinations, anywhere, in any tense and number.

    * a cat, sitting and a mat in one sentence;
    * I (alone or in "she and I") as subject, the verb love, and you as object, also inside a longer sentence;
    * I as subject, the verb give, her and a book, also as "the book to her".

    Args:
        english: a sentence in any case, with or without contractions.

    Returns:
        Whether it is to be kept out of training.

    Source:
        Ours; chapter 10.
    """
    words = re.findall(r"[a-z]+|[.,;:!?]", re.sub(r"['’]", " ", english.lower()))
    words = ["." if word in ",;:!?" else word for word in words]
    present = set(words)
    if present & _CAT and present & _SIT and present & _MAT:
        return True
    for i, word in enumerate(words):
        if word in _LOVE and _says_i(words, i):
            following = [w for w in words[i + 1 : i + 3] if w not in ("both", "all", "only", "just")]
            if following[:1] == ["you"]:
                return True
        if word in _GIVE and _says_i(words, i) and _gives_her_a_book(words, i):
            return True
    return False
