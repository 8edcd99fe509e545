"""Vocabulary and tokenizers: text to ids and back, with no surprise for odd text."""

import json
import random
import unicodedata

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_lab.training.tokenizers import CharacterTokenizer, WordTokenizer
from transformer_lab.training.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from transformer_lab.training.words import clean

from .support import seeds

words, characters = WordTokenizer.split, CharacterTokenizer.split
BOTH = (WordTokenizer, CharacterTokenizer)
HOSTILE = (
    "\u202e\u200b\ufeff\x00\x07\x1b\ud800\ue000\U000e0041"  # direction, zero width, controls, half a pair, private, tag
)
NO_TOKENS = st.sampled_from([*HOSTILE, " ", "\t", "\n", "\u3000", "\u2028"])
ODD = st.text(st.one_of(st.characters(), st.sampled_from("aAtsnd'’\"“ -.,:;?!$5９，。…「」猫垫ｱﾞ\u0301_") | NO_TOKENS))
tokens = st.lists(st.text(min_size=1, max_size=3).filter(lambda t: t not in SPECIALS), unique=True, max_size=20)


class TestVocabulary:
    def test_specials_come_first_and_the_tokens_keep_their_order(self):
        v = Vocabulary(["cat", "a", "mat"])
        assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
        assert [v.token(i) for i in range(7)] == ["<pad>", "<bos>", "<eos>", "<unk>", "cat", "a", "mat"]
        assert [v.id(t) for t in ("cat", "a", "mat", "dog", "<eos>", "Cat")] == [4, 5, 6, UNK, EOS, UNK]

    @given(tokens=tokens)
    def test_len_in_id_and_token_agree(self, tokens):
        v = Vocabulary(tokens)
        assert len(v) == 4 + len(tokens) and v.tokens == tuple(tokens)
        for i in range(len(v)):
            assert v.token(i) in v and v.id(v.token(i)) == i
        assert Vocabulary(v.tokens) == v and hash(Vocabulary(v.tokens)) == hash(v)
        assert json.loads(json.dumps(v.tokens)) == list(tokens)

    def test_what_is_not_a_token_is_not_in_it(self):
        v = Vocabulary(["4", "cat"])
        assert 4 not in v and None not in v and "" not in v and "dog" not in v
        assert v != Vocabulary(["cat", "4"]) and v != ["4", "cat"]
        assert repr(v) == "Vocabulary(2 tokens + 4 specials)"

    def test_an_iterator_is_read_once_and_the_caller_s_list_is_copied(self):
        given_tokens = ["a", "b"]
        v = Vocabulary(given_tokens)
        given_tokens.append("c")
        assert v.tokens == ("a", "b") and Vocabulary(iter("ab")) == v and len(Vocabulary([])) == 4

    def test_build_orders_by_count_then_alphabet(self):
        sentences = [["b", "a", "猫"], ["b", "c"], ["a", "d"], ("d",)]
        assert Vocabulary.build(sentences).tokens == ("a", "b", "d", "c", "猫")
        assert Vocabulary.build(iter(sentences), min_count=2).tokens == ("a", "b", "d")
        assert Vocabulary.build(sentences, min_count=3).tokens == ()

    @given(sentences=st.lists(st.lists(st.sampled_from("abcdefg"))), seed=seeds, min_count=st.integers(1, 3))
    def test_build_does_not_depend_on_the_order_of_the_corpus(self, sentences, seed, min_count):
        v = Vocabulary.build(sentences, min_count=min_count)
        shuffled = [
            random.Random(seed).sample(s, len(s)) for s in random.Random(seed).sample(sentences, len(sentences))
        ]
        assert Vocabulary.build(shuffled, min_count=min_count) == v
        counts = [sum(s.count(t) for s in sentences) for t in v.tokens]
        assert counts == sorted(counts, reverse=True) and all(c >= min_count for c in counts)

    @pytest.mark.parametrize(
        ("tokens", "error", "message"),
        [
            (["a", "b", "a"], ValueError, "'a' stands there twice, at 0 and at 2"),
            (["a", ""], ValueError, "token 1 is empty"),
            (["a", "<eos>"], ValueError, "token 1 is '<eos>', one of the specials <pad>, <bos>, <eos>, <unk>"),
            (["a", None], TypeError, "token 1 must be a string, got NoneType"),
            ("abc", TypeError, "got the one string 'abc'"),
        ],
    )
    def test_wrong_tokens_are_refused(self, tokens, error, message):
        with pytest.raises(error, match=message):
            Vocabulary(tokens)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"sentences": ["the cat"]}, TypeError, "must be a sequence of tokens, got the string 'the cat'; split it"),
            ({"sentences": "the cat"}, TypeError, "got the string 'the cat'"),
            ({"sentences": [["<pad>"]]}, ValueError, "specials"),
            ({"sentences": [], "min_count": 0}, ValueError, "min_count must be at least 1, got 0"),
            ({"sentences": [], "min_count": 1.5}, TypeError, "min_count must be an int"),
        ],
    )
    def test_build_refuses_what_is_no_corpus(self, arguments, error, message):
        with pytest.raises(error, match=message):
            Vocabulary.build(**arguments)

    @pytest.mark.parametrize("id", [-1, 6, 10**9])
    def test_an_id_out_of_range_is_refused(self, id):
        with pytest.raises(ValueError, match=rf"id {id} is out of range for a vocabulary of 6 \(ids 0 to 5\)"):
            Vocabulary(["a", "b"]).token(id)

    @pytest.mark.parametrize("id", [1.0, "a", None, torch.tensor(1.0), torch.tensor([4, 5])])
    def test_what_is_no_whole_number_is_no_id(self, id):
        with pytest.raises(TypeError, match="id must be a whole number"):
            Vocabulary(["a", "b"]).token(id)

    def test_ids_of_other_libraries_are_ids(self):
        assert Vocabulary(["a", "b"]).token(torch.tensor(5)) == "b" == Vocabulary(["a", "b"]).token(np.int32(5))

    def test_id_wants_a_token(self):
        with pytest.raises(TypeError, match=r"token must be a string, got int \(5\)"):
            Vocabulary(["a", "b"]).id(5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat on the mat.", "the cat sat on the mat ."),
        ("I DON'T know!", "i do n't know !"),
        ("I can't, won't, shan't; ain't", "i ca n't , wo n't , sha n't ; ai n't"),
        ("It's Tom's. I'm sure they've left, we'll see, you're right, he'd go",
         "it 's tom 's . i 'm sure they 've left , we 'll see , you 're right , he 'd go"),
        ("She shouldn't've", "she should n't 've"),
        ("five o'clock, ma'am", "five o'clock , ma'am"),
        ("the girls' room in the 1930's", "the girls ' room in the 1 9 3 0 's"),
        ("‘Don’t’ “quote” «me» `now`", "' do n't ' \" quote \" \" me \" ' now '"),
        ("part-time ‑ wi–fi — yes", "part - time - wi - fi — yes"),
        ("At 2:30 p.m. 10% of $1,000", "at 2 : 3 0 p.m. 1 0 % of $ 1 , 0 0 0"),
        ("a U.S. visa. O.K", "a u.s. visa . o . k"),
        ("MP3 and the 21st", "mp 3 and the 2 1 st"),
        ("snake_case C++", "snake _ case c + +"),
        ("I love 猫咪 very much", "i love 猫 咪 very much"),
        ("love猫love", "love 猫 love"),
        ("Ｈｅｌｌｏ，　ﬁve　１２", "hello , five 1 2"),
        ("café cafe\u0301", "café café"),
        ("😀👍🏽 ok", "😀 👍 🏽 ok"),
        ("wait… what", "wait . . . what"),
        ("<eos> <unk>", "< eos > < unk >"),
        ("Straße İ", "straße i \u0307"),
        ("n't 's", "n't ' s"),
        ("", ""),
        (" \t\n ", ""),
    ],
)  # fmt: skip
def test_words(text, expected):
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    "text",
    [
        "i don't know, it's tom's!",
        "i can't and won't.",
        "she shouldn't've; they'll see.",
        "it's 2:30 p.m., 10% of $1,000.50 (or 3, 4 or 5)",
        'he said "i am here." and "go!"',
        "the girls' room",
        "say 'hello, you', please",
        "a part-time job in the 1930's",
        "the 21st, 22nd, 23rd and 4th",
        "on may 3, 2024",
        "i love 猫咪.",
        "five o'clock",
        "",
    ],
)
def test_words_joined_are_the_text_again(text):
    assert WordTokenizer.join(words(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我爱你!", "我爱你！"),
        ("我 爱　你 。", "我爱你。"),
        ("你好,你好吗?", "你好，你好吗？"),
        ("他有1,000.5元.", "他有1,000.5元。"),
        ("７：３０ 7:30", "7：307:30"),
        ('他说:"好"。"不", (是)', "他说：“好”。“不”，（是）"),
        ("「好」『是』＂好＂", "“好”‘是’“好”"),
        ("等等...好。。。……", "等等…好…"),
        ("Tom穿Ｔ恤, 100％", "Tom穿T恤，100%"),
        ("约翰·史密斯・史密斯•史", "约翰·史密斯·史密斯·史"),
        ("那——好", "那——好"),
        ("一、二；三;", "一、二；三；"),
        ("𠮷😀", "𠮷😀"),
        ("<eos>", "<eos>"),
        ("", ""),
    ],
)
def test_characters(text, expected):
    assert characters(text) == list(expected)
    assert CharacterTokenizer.join(characters(text)) == expected


@given(text=ODD)
@example(text="′s n't " + HOSTILE)
@example(text="‥.\u2026 ︙。 1. .5 \u00b4a")
@pytest.mark.parametrize("tokenizer", BOTH)
def test_any_text_gives_sane_tokens_that_survive_the_way_back(tokenizer, text):
    split = tokenizer.split(text)
    assert all(split) and not any(c.isspace() or unicodedata.category(c)[0] == "C" for t in split for c in t)
    assert not set(split) & set(SPECIALS)
    assert tokenizer.split(tokenizer.join(split)) == split
    t = tokenizer(Vocabulary.build([split]))
    ids = t.encode(text)
    assert len(ids) == len(split) + 1 and ids[-1] == EOS and min(ids, default=4) >= EOS
    assert t.unknown(text) == [] and t.decode(ids) == tokenizer.join(split)
    if tokenizer is CharacterTokenizer:
        assert all(len(token) == 1 for token in split)


@pytest.mark.parametrize("tokenizer", BOTH)
def test_what_nobody_sees_changes_nothing(tokenizer):
    for hidden in HOSTILE:
        assert tokenizer.split(f"ca{hidden}t 我{hidden}爱") == tokenizer.split("cat 我爱"), ascii(hidden)


@pytest.mark.parametrize("tokenizer", BOTH)
def test_long_text_is_linear(tokenizer):
    assert len(tokenizer.split("我" * 10_000)) == 10_000
    assert len(tokenizer.split("a'" * 10_000)) <= 20_000
    assert len(words("it's " * 10_000)) == 20_000
    assert words("x" * 10_000) == ["x" * 10_000]
    assert len(tokenizer.split("." * 10_001)) in (1, 10_001)
    assert len(tokenizer.join(tokenizer.split("' \" - " * 3_000))) > 3_000


def test_clean_keeps_what_it_is_told():
    assert clean("１，２？", keep="，") == "1，2?" and clean("a\u00a0b\tc") == "a b c"


@pytest.mark.parametrize("tokenizer", BOTH)
@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "got NoneType"), (b"cat", "got bytes; decode it as UTF-8 first"), (["cat"], "got list"), (7, "got int")],
)
def test_what_is_not_text_is_refused(tokenizer, text, message):
    for method in (tokenizer.split, tokenizer(Vocabulary([])).encode, tokenizer(Vocabulary([])).unknown):
        with pytest.raises(TypeError, match=f"text must be a string, {message}"):
            method(text)


@pytest.mark.parametrize("tokenizer", BOTH)
def test_one_string_is_not_a_list_of_tokens(tokenizer):
    with pytest.raises(TypeError, match="got the one string 'abc'"):
        tokenizer.join("abc")


WORDS = WordTokenizer(Vocabulary(["cat", "the", "do", "n't", "."]))
CHARACTERS = CharacterTokenizer(Vocabulary(list("我爱你。")))


def test_encode_ends_with_eos_and_marks_the_unknown():
    assert WORDS.encode("The cat don't bark.") == [5, 4, 6, 7, UNK, 8, EOS]
    assert CHARACTERS.encode("我爱猫.") == [4, 5, UNK, 7, EOS]
    assert WORDS.encode("") == CHARACTERS.encode(" ") == [EOS]
    assert WORDS.unknown("Dogs bark, dogs bite the cat.") == ["dogs", "bark", ",", "bite"]
    assert CHARACTERS.unknown("你爱猫猫") == ["猫"]


def test_decode_stops_at_eos_drops_padding_and_shows_the_unknown():
    assert WORDS.decode([BOS, 5, 4, UNK, 6, 7, 8, EOS, 4, 4]) == "the cat <unk> don't."
    assert CHARACTERS.decode(torch.tensor([BOS, 4, UNK, 6, PAD, 7, EOS, PAD, PAD])) == "我<unk>你。"
    assert CHARACTERS.decode(torch.tensor([EOS, 4])) == CHARACTERS.decode([]) == ""


def test_decode_refuses_what_is_not_one_sentence():
    with pytest.raises(ValueError, match=r"one sentence, \[length\], got \(1, 2\); decode row by row"):
        WORDS.decode(torch.tensor([[4, 5]]))
    with pytest.raises(ValueError, match="id 9 is out of range for a vocabulary of 9"):
        WORDS.decode([9])
    with pytest.raises(TypeError, match="whole number"):
        CHARACTERS.decode(["我"])


@given(tokens=tokens)
@pytest.mark.parametrize("tokenizer", BOTH)
def test_json_gives_the_same_tokenizer(tokenizer, tokens):
    again = tokenizer.from_json(json.loads(json.dumps(tokenizer(Vocabulary(tokens)).to_json())))
    assert type(again) is tokenizer and again.vocabulary == Vocabulary(tokens)


@pytest.mark.parametrize("data", [None, {}, [], {"tokenizer": "words"}, {"tokenizer": "words", "tokens": "abc"}])
def test_other_json_is_refused(data):
    with pytest.raises(ValueError, match=r"""data must be {"tokenizer": 'words', "tokens": \[...\]} as to_json"""):
        WordTokenizer.from_json(data)


def test_the_two_kinds_are_not_confused():
    with pytest.raises(ValueError, match="'characters'"):
        CharacterTokenizer.from_json(WORDS.to_json())
    with pytest.raises(ValueError, match="stands there twice"):
        WordTokenizer.from_json({"tokenizer": "words", "tokens": ["a", "a"]})
    with pytest.raises(TypeError, match="vocabulary must be a Vocabulary, got list"):
        WordTokenizer(["a"])
