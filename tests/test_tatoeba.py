"""The ManyThings file: read with its attributions, refused with a reason, parted by distinct English sentence."""

import io
import random
import re
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab.training import tatoeba
from transformer_lab.training.pairs import Pair
from transformer_lab.training.tatoeba import read_tatoeba, references, split_pairs
from transformer_lab.training.tokenizers import WordTokenizer

from .support import seeds

FILE = Path(__file__).parent / "data" / "cmn.txt"
PAIRS = read_tatoeba(FILE)


def archive(members, **options):
    """The bytes of a zip file that holds {name: data}."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, **options) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def read(tmp_path, data, name="cmn.txt"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_tatoeba(path)


def test_every_line_is_a_pair_with_its_attribution():
    assert len(PAIRS) == 42
    assert PAIRS[0] == Pair(
        "The kettle is whistling.",
        "水壶在响。",
        "CC-BY 4.0 Attribution: Transformer Lab #1 (English) & #2 (Chinese)",
    )
    assert all(pair.source.startswith("CC-BY 4.0 Attribution: Transformer Lab #") for pair in PAIRS)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: b"\n" + data.rstrip(b"\n"),
        lambda data: data + b"\n \n",
        lambda data: archive({"_about.txt": b"about", "cmn.txt": data}),
        lambda data: archive({"cmn-eng/cmn.txt": b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")}),
    ],
)
@pytest.mark.parametrize("name", ["cmn.txt", "cmn-eng.zip", "download"])
def test_the_same_pairs_from_every_form_of_the_file(tmp_path, change, name):
    assert read(tmp_path, change(FILE.read_bytes()), name) == PAIRS


def test_two_columns_and_odd_line_breaks_inside_a_sentence(tmp_path):
    assert read(tmp_path, "Hi.\t嗨。\nA\u2028b.\t一\x0b。\tme\n") == [
        Pair("Hi.", "嗨。"),
        Pair("A\u2028b.", "一\x0b。", "me"),
    ]
    assert read(tmp_path, " Hi. \t 嗨。\t me ") == [Pair("Hi.", "嗨。", "me")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("Hi.\t嗨。\tme\nHello\n", "cmn.txt, line 2 has 1 columns; expected English TAB Chinese TAB attribution, got 'Hello'"),
        ("\nHi.\t嗨。\tme\tyou\n", "cmn.txt, line 2 has 4 columns"),
        ("Hi.\t\tme\n", "cmn.txt, line 1 has no Chinese sentence: 'Hi.\\t\\tme'"),
        ("Hi.\t嗨。\tme\n \t嗨。\tme\n", "cmn.txt, line 2 has no English sentence"),
        ("", "cmn.txt holds no sentence pair; give the path of cmn-eng.zip from https"),
        ("\n\n", "cmn.txt holds no sentence pair"),
        ("Hi.\t嗨。\n".encode() + b"Caf\xe9\t\n", "cmn.txt, line 2: not UTF-8 (invalid continuation byte); save the file as UTF-8"),
        ("Hi.\t嗨。\n".encode("utf-16"), "cmn.txt is not a text file: byte 3 is zero"),
        (b"\x7fELF\x02\x01\x00", "cmn.txt is not a text file: byte 6 is zero"),
        ("Hi.\t嗨。\n" + "x" * 10_001, "cmn.txt, line 2 has 10,001 characters, more than the 10,000 that are read"),
        (archive({"fra.txt": b"Hi.\tSalut.", "_about.txt": b""}), "must hold cmn.txt once, but it holds fra.txt, _about.txt"),
        (archive({"cmn.txt": b"", "a/cmn.txt": b""}), "must hold cmn.txt once, but it holds cmn.txt, a/cmn.txt"),
        (archive({}), "must hold cmn.txt once, but it holds nothing"),
        (archive({"cmn.txt": b"Hi.\n"}), "cmn.txt, line 1 has 1 columns"),
        (archive({"cmn.txt": FILE.read_bytes()})[:900], "is a damaged or encrypted archive"),
        (archive({"cmn.txt": b"x"}).replace(b"PK\x03\x04\x14\0\0\0", b"PK\x03\x04\x14\0\1\0")
         .replace(b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\1\0"), "is a damaged or encrypted archive"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_file_line_and_cause(tmp_path, data, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read(tmp_path, data)
    assert str(tmp_path / "cmn.txt") in str(caught.value)


def test_a_missing_file_says_where_to_get_it(tmp_path):
    message = "nowhere.zip does not exist; give the path of cmn-eng.zip from https://www.manythings.org/anki/"
    with pytest.raises(FileNotFoundError, match=message):
        read_tatoeba(tmp_path / "nowhere.zip")
    with pytest.raises(FileNotFoundError, match="is a folder"):
        read_tatoeba(str(tmp_path))


def test_files_and_members_over_the_limit_are_not_unpacked(tmp_path, monkeypatch):
    line = "Hi.\t嗨。\tme\n".encode()
    monkeypatch.setattr(tatoeba, "MAX_BYTES", 100 * len(line))
    assert len(read(tmp_path, line * 100)) == len(read(tmp_path, archive({"cmn.txt": line * 100}))) == 100
    with pytest.raises(ValueError, match="has 1,414 bytes, more than the 1,400 that are read"):
        read(tmp_path, line * 101)
    with pytest.raises(ValueError, match="has more than the 1,400 bytes that are read"):
        read(tmp_path, archive({"cmn.txt": line * 101}))


def test_a_zip_bomb_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(tatoeba, "MAX_BYTES", 1_000_000)
    bomb = archive({"cmn.txt": bytes(40_000_000)})
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="has more than the 1,000,000 bytes that are read"):
            read(tmp_path, bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_the_limits_leave_room_for_the_real_file():
    assert tatoeba.MAX_BYTES >= 20_000_000 and tatoeba.MAX_LINE >= 2_000


@given(seed=seeds)
def test_a_damaged_archive_is_refused_or_unharmed(tmp_path_factory, seed):
    chance = random.Random(seed)
    data = bytearray(archive({"cmn.txt": FILE.read_bytes()}))
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(4, len(data))] ^= 1 << chance.randrange(8)
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    path.write_bytes(data[: chance.choice([len(data), chance.randrange(5, len(data))])])
    try:
        found = read_tatoeba(path)
    except ValueError as error:
        found, refused = PAIRS, str(error)
    else:
        refused = str(path)
    assert found == PAIRS and str(path) in refused


def words_of(pairs):
    return {tuple(t for t in WordTokenizer.split(pair.english) if t.isalnum() or "'" in t) for pair in pairs}


@given(seed=seeds, valid=st.integers(0, 15), test=st.integers(0, 15))
def test_no_sentence_of_one_part_stands_in_another(seed, valid, test):
    parts = split_pairs(PAIRS, seed=seed, valid=valid, test=test)
    assert [type(part) for part in parts] == [list] * 3
    assert sorted(sum(parts, []), key=PAIRS.index) == PAIRS, "no pair is lost or doubled"
    assert all(part == sorted(part, key=PAIRS.index) for part in parts), "each part keeps the order of the file"
    sentences = [words_of(part) for part in parts]
    assert sum(map(len, sentences)) == len(set.union(*sentences))
    assert [len(s) for s in sentences[1:]] == [valid, test]


def test_the_draw_depends_on_the_seed_and_not_on_the_order_of_the_file():
    drawn = split_pairs(PAIRS, seed=1, valid=5, test=6)
    assert split_pairs(PAIRS, seed=1, valid=5, test=6) == drawn
    again = split_pairs(random.Random(0).sample(PAIRS, len(PAIRS)), seed=1, valid=5, test=6)
    assert [set(part) for part in again] == [set(part) for part in drawn]
    assert split_pairs(PAIRS, seed=2, valid=5, test=6)[2] != drawn[2]
    state = random.getstate()
    split_pairs(PAIRS, seed=1, valid=5, test=6)
    assert random.getstate() == state, "the caller's random numbers are left alone"


def test_sentences_that_differ_in_punctuation_and_capitals_alone_stay_together():
    alike = [Pair("You're ill.", "你病了。"), Pair("you’re ill?", "你病了吗？"), Pair("YOU'RE ILL!", "你病了！")]
    others = [Pair("You are ill.", "你病了。"), Pair("...", "…"), Pair("!", "！")]
    for seed in range(20):
        parts = split_pairs(alike + others, seed=seed, valid=1, test=2)
        assert sum(alike[0] in part and alike[1] in part and alike[2] in part for part in parts) == 1
        assert [len(references(part)) for part in parts].count(0) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"valid": 20, "test": 18}, ValueError, "leave nothing to train on: there are 38 distinct English sentences"),
        ({"valid": -1}, ValueError, "valid must be at least 0, got -1"),
        ({"test": 0.1}, TypeError, r"test must be an int, got float \(0.1\)"),
        ({"seed": None}, TypeError, "seed must be an int"),
    ],
)
def test_a_draw_that_makes_no_sense_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        split_pairs(PAIRS, **{"seed": 0, "valid": 1, "test": 1, **arguments})


def test_references_are_all_translations_of_a_sentence():
    found = references(
        [
            *PAIRS,
            Pair("whose  umbrella is this?", "这是谁的伞？"),
            Pair("It’s snowing in the mountains.", "山里正在下雪。"),
        ]
    )
    assert found["Whose umbrella is this?"] == ["这是谁的雨伞？", "这把雨伞是谁的？", "这是谁的伞？"]
    assert found["It's snowing in the mountains."] == ["山里正在下雪。"]
    assert found["Is the lift broken again?"] != found["The lift is broken again."]
    assert "She sent her brother a postcard!" in found and "whose  umbrella is this?" not in found
    assert list(found)[0] == PAIRS[0].english and references([]) == {}
    assert sum(map(len, references(PAIRS).values())) == len(PAIRS)
