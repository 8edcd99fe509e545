"""Byte-pair encoding: the paper's example by hand, and merge for merge what Hugging Face's `tokenizers` learns."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_lab.training.bpe import END, BytePairEncoding
from transformer_lab.training.tatoeba import read_tatoeba
from transformer_lab.training.vocabulary import Vocabulary
from transformer_lab.training.words import join_words, split_words

from .support import seeds

TEXTS = [pair.english for pair in read_tatoeba(Path(__file__).parent / "data" / "cmn.txt")]
WORDS = [word for text in TEXTS for word in split_words(text)]
MARK = "\U0010fffd"  # one character that sorts after all others, as our </w> does
PAPER = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
corpora = st.lists(st.text("abcd", min_size=1, max_size=7), min_size=1, max_size=12)


def marked(pieces):
    return [piece.replace(END, MARK) for piece in pieces]


def theirs(words, num_merges):
    """The same thing by `tokenizers`: the trained tokenizer and its merges."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    size = len(set("".join(words))) + 1 + num_merges
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, min_frequency=0, show_progress=False)
    tokenizer.train_from_iterator((word + MARK for word in words), trainer)
    return tokenizer, [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


def recounted(words, num_merges):
    """Algorithm 1 as the paper prints it: count everything again for every merge."""
    spelled = {" ".join([*word, END]): n for word, n in Counter(words).items()}
    age = {piece: i for i, piece in enumerate([*sorted(set("".join(words))), END])}
    merges = []
    for _ in range(num_merges):
        pairs = Counter()
        for word, n in spelled.items():
            pieces = word.split(" ")
            for pair in zip(pieces, pieces[1:], strict=False):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age.setdefault("".join(best), len(age))
        pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
        spelled = {pattern.sub("".join(best), word): n for word, n in spelled.items()}
    return tuple(merges)


def test_the_paper_s_words_by_hand():
    bpe = BytePairEncoding.learn(PAPER, 6)
    # es 9, t</w> 9 and st 9: e is older than s and t; then t</w> 9 and est 9; then est</w> 9; lo 7, low 7; ew 6, ne 6, ...
    assert bpe.merges == (("e", "s"), ("t", END), ("es", "t" + END), ("l", "o"), ("lo", "w"), ("e", "w"))
    assert bpe.split_word("lowest") == ["low", "est</w>"], "a word that the corpus does not have"
    assert bpe.split_word("low") == ["low", END] and bpe.split_word("newer") == ["n", "ew", "e", "r", END]


@given(seed=seeds)
def test_neither_the_order_of_the_words_nor_how_they_are_counted_matters(seed):
    occurrences = [word for word, n in PAPER.items() for _ in range(n)]
    random.Random(seed).shuffle(occurrences)
    assert BytePairEncoding.learn(iter(occurrences), 9).merges == BytePairEncoding.learn(PAPER, 9).merges


@given(words=corpora, num_merges=st.integers(0, 15))
@example(words=["aaaa", "aaa", "aa"], num_merges=5)
@example(words=["abab", "ababa", "bababa"], num_merges=7)
def test_the_same_merges_and_pieces_as_the_reference_library(words, num_merges):
    bpe, (other, merges) = BytePairEncoding.learn(words, num_merges), theirs(words, num_merges)
    assert [tuple(marked(merge)) for merge in bpe.merges] == merges
    letters = set("".join(words))
    for word in [*words, "aaaaa", "abcd", "abab", "dcba"]:
        if set(word) <= letters:
            assert marked(bpe.split_word(word)) == other.encode(word + MARK).tokens


@pytest.mark.parametrize("num_merges", [0, 1, 50, 200])
def test_the_same_merges_and_pieces_on_real_sentences(num_merges):
    bpe, (other, merges) = BytePairEncoding.learn(WORDS, num_merges), theirs(WORDS, num_merges)
    assert len(merges) == num_merges and [tuple(marked(merge)) for merge in bpe.merges] == merges
    for word in {*WORDS, "tomatoless", "unbroken", "snowbridge"}:
        assert marked(bpe.split_word(word)) == other.encode(word + MARK).tokens


@given(words=corpora, num_merges=st.integers(0, 15))
def test_counting_only_what_changed_is_counting_everything(words, num_merges):
    merges = BytePairEncoding.learn(words, num_merges).merges
    assert merges == recounted(words, num_merges)
    assert merges == BytePairEncoding.learn(words, 15).merges[:num_merges], "more merges only add to the list"


@given(word=st.text("abcdefå猫", min_size=1, max_size=9), num_merges=st.integers(0, 30))
def test_a_new_word_is_never_lost(word, num_merges):
    bpe = BytePairEncoding.learn(WORDS, num_merges)
    assert "".join(bpe.split_word(word)) == word + END
    bpe.split_word(word).append("changed by the caller")
    assert "".join(bpe.split_word(word)) == word + END


def test_merging_ends_when_every_word_is_one_piece():
    bpe = BytePairEncoding.learn(["cat", "cat", "mat"], 1000)
    assert len(bpe.merges) == 4 and bpe.split_word("mat") == ["mat" + END]
    assert BytePairEncoding.learn([], 5).merges == ()


def test_frequent_words_become_one_piece_and_rare_ones_several():
    bpe = BytePairEncoding.learn(WORDS, 150)
    pieces = [len(bpe.split_word(word)) for word, _ in Counter(WORDS).most_common()]
    assert pieces[:5] == [1] * 5 and sum(pieces[-50:]) / 50 > 2
    vocabulary = Vocabulary.build(map(bpe.split, TEXTS))
    assert len(vocabulary.tokens) <= len(set("".join(WORDS))) + 1 + 150


@pytest.mark.parametrize(
    "text", ["He can't find his umbrella.", "The LIFT, again!", "<eos> </w> a", "", "xylophone 猫 42"]
)
def test_join_gives_the_words_back(text):
    bpe = BytePairEncoding.learn(WORDS, 100)
    assert bpe.join(bpe.split(text)) == join_words(split_words(text))


def test_json_gives_the_same_encoding():
    bpe = BytePairEncoding.learn(WORDS, 40)
    again = BytePairEncoding.from_json(json.loads(json.dumps(bpe.to_json())))
    assert again.merges == bpe.merges and [*map(again.split, TEXTS)] == [*map(bpe.split, TEXTS)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: BytePairEncoding.learn("low lower", 3), TypeError, "got the one string 'low lower'"),
        (lambda: BytePairEncoding.learn(["low", ""], 3), ValueError, "a word is empty"),
        (lambda: BytePairEncoding.learn(["low"], -1), ValueError, "num_merges must be at least 0, got -1"),
        (lambda: BytePairEncoding.learn(["low"], 2.0), TypeError, "num_merges must be an int, got float"),
        (
            lambda: BytePairEncoding([("a", "b", "c")]),
            TypeError,
            r"merge 0 must be a pair of texts such as \('e', 's'\)",
        ),
        (lambda: BytePairEncoding(["ab"]), TypeError, "merge 0 must be a pair"),
        (lambda: BytePairEncoding([("a", "b"), ("a", "b")]), ValueError, "twice, at 0 and at 1"),
        (lambda: BytePairEncoding([("a", "")]), TypeError, "merge 0 must be a pair"),
        (lambda: BytePairEncoding([]).split_word(""), ValueError, "word is empty"),
        (lambda: BytePairEncoding([]).split(None), TypeError, "text must be a string, got NoneType"),
        (lambda: BytePairEncoding([]).join("abc"), TypeError, "got the one string 'abc'"),
        (lambda: BytePairEncoding.from_json({"tokenizer": "words", "tokens": []}), ValueError, "as to_json makes it"),
        (lambda: BytePairEncoding.from_json(None), ValueError, "as to_json makes it, got None"),
    ],
)
def test_what_makes_no_sense_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
