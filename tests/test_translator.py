"""The translator: its corpus, text in and text out, its training command, and the shipped file beside its card."""

import json
import math
from functools import partial
from pathlib import Path

import pytest
import torch

from transformer_lab import Transformer, TransformerConfig
from transformer_lab.checkpoint import CheckpointError, save_model
from transformer_lab.generation import beam_search, greedy_decode
from transformer_lab.pretrained import load_translator, load_world, translator_card
from transformer_lab.training import translator_card as card_module
from transformer_lab.training import translator_data
from transformer_lab.training.figures import differences
from transformer_lab.training.grammar import HELD_OUT_SENTENCES, is_held_out
from transformer_lab.training.pairs import Pair
from transformer_lab.training.tatoeba import read_tatoeba, sentence_key
from transformer_lab.training.tokenizers import CharacterTokenizer, WordTokenizer
from transformer_lab.training.translation import Translator, read_translator
from transformer_lab.training.translator_card import TranslatorRecipe, evaluate_translator, train_translator
from transformer_lab.training.translator_data import build_tokenizers, examples_of, translator_corpus
from transformer_lab.training.translator_measures import measure_translator, translation_scores
from transformer_lab.training.vocabulary import EOS, UNK, Vocabulary

from .support import close

FIXTURE = Path(__file__).parent / "data" / "cmn.txt"


def tiny(**changes) -> Translator:
    """A translator with random weights that knows a dozen words."""
    source = WordTokenizer(Vocabulary(["i", "love", "you", "cat", ".", "the"]))
    target = CharacterTokenizer(Vocabulary(list("我爱你猫。")))
    config = TransformerConfig(len(source.vocabulary), len(target.vocabulary), 12, 3, 2, 2, 20, max_len=9)
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**{**config.to_dict(), **changes})).double().eval()
    with torch.no_grad():
        model.output_linear.bias[EOS] += 1.0
    return Translator(model, source, target)


# ------------------------------------------------------------------ text in, text out


def test_a_translation_says_how_it_came_about():
    translator = tiny()
    found = translator("I love the zebra.", num_beams=2)
    assert found.source == "I love the zebra." and found.unknown == ("zebra",)
    assert found.source_tokens == ("i", "love", "the", "zebra", ".", "<eos>")
    src = torch.tensor([[*(translator.source.vocabulary.id(word) for word in ("i", "love", "the")), UNK, 8, EOS]])
    assert translator.source.encode("I love the zebra.") == src[0].tolist()
    ids, scores = beam_search(translator.model, src, num_beams=2, max_new_tokens=9)
    right = [translator.target.vocabulary.token(i) for i in ids[0, 0, 1:].tolist()]
    assert list(found.tokens) == (right[: right.index("<eos>") + 1] if "<eos>" in right else right)
    assert found.text == translator.target.decode(ids[0, 0, 1:])
    assert found.score == pytest.approx(scores[0, 0].item(), abs=1e-12) and found.score < 0


def test_one_beam_is_greedy_search():
    translator = tiny()
    for text in ("I love you", "the cat", "cat cat cat."):
        ids = greedy_decode(translator.model, torch.tensor([translator.source.encode(text)]), max_new_tokens=9)
        assert translator(text, num_beams=1).text == translator.target.decode(ids[0, 1:])


def test_many_sentences_are_translated_as_each_alone_and_in_order():
    translator = tiny()
    texts = ["I love you", "the cat.", "you", "the cat love the cat ."] * 40  # more than one batch, padded
    alone = {text: translator(text, num_beams=3, max_new_tokens=7) for text in dict.fromkeys(texts)}
    for text, found in zip(texts, translator.translate_all(texts, num_beams=3, max_new_tokens=7), strict=True):
        assert (found.source, found.text, found.tokens) == (text, alone[text].text, alone[text].tokens)
        assert found.score == pytest.approx(alone[text].score, abs=1e-10)


def test_no_sentences_at_all():
    assert list(tiny().translate_all([])) == []


def test_sentences_may_come_one_by_one():
    texts = ["I love you", "the cat."]
    assert list(tiny().translate_all(text for text in texts)) == list(tiny().translate_all(texts))


def test_a_translation_that_is_cut_off_says_so():
    translator = tiny()
    with torch.no_grad():
        translator.model.output_linear.bias[EOS] = -100.0
    found = translator("I love you", max_new_tokens=3)
    assert not found.complete and len(found.tokens) == 3 and "<eos>" not in found.tokens
    with torch.no_grad():
        translator.model.output_linear.bias[EOS] = 100.0
    assert translator("I love you").complete and translator("I love you").tokens == ("<eos>",)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", ValueError, "nothing to translate: '' holds no word"),
        (" \n\t\u200b", ValueError, "nothing to translate"),
        ("cat " * 9, ValueError, "has 9 words and marks, but this model reads at most 8.*sentence by sentence"),
        (["cat"], TypeError, "one sentence .a string., got list; translate_all takes a list"),
        (None, TypeError, "got NoneType"),
    ],
)
def test_what_cannot_be_translated(text, error, message):
    with pytest.raises(error, match=message):
        tiny()(text)


def test_all_sentences_are_checked_before_the_first_is_translated():
    with pytest.raises(ValueError, match="holds no word"):
        tiny().translate_all(["cat", "the cat", " "])
    with pytest.raises(ValueError, match="num_beams must be at least 1, got 0"):
        tiny().translate_all(["cat"], num_beams=0)


def test_one_text_is_not_taken_for_many_letters():
    translator = tiny()
    with pytest.raises(TypeError, match="texts must be a list of sentences, got one string"):
        translator.translate_all("cat")
    with pytest.raises(
        TypeError, match="source_tokens must be a list of tokens, as in a Translation, got the text 'the cat'"
    ):
        translator.attention("the cat", ("我", "<eos>"))
    with pytest.raises(TypeError, match="tokens must be a list of tokens"):
        translator.attention(("cat", "<eos>"), "我")
    with pytest.raises(ValueError, match="tokens holds no token"):
        translator.attention(("cat", "<eos>"), ())


def test_the_longest_sentence_that_fits():
    assert tiny()("cat " * 8).source_tokens == ("cat",) * 8 + ("<eos>",)


def test_vocabularies_of_another_model_are_refused():
    translator = tiny()
    with pytest.raises(ValueError, match="tables for 10 and 9 tokens, but the vocabularies have 10 and 6"):
        Translator(translator.model, translator.source, CharacterTokenizer(Vocabulary(["我", "你"])))


def test_attention_of_a_translation_row_by_row():
    translator = tiny()
    maps = translator.attention(("i", "love", "zebra", "<eos>"), ("我", "爱", "<eos>"))
    assert [tuple(weights.shape) for weights in maps] == [(3, 3, 4)] * 2
    for weights in maps:
        close(weights.sum(dim=-1), torch.ones(3, 3, dtype=torch.float64), 1e-12)
    # A row depends on the tokens before the predicted one only: the last token's id is never read.
    other = translator.attention(("i", "love", "zebra", "<eos>"), ("我", "爱", "猫"))
    assert all(torch.equal(a, b) for a, b in zip(maps, other, strict=True))
    changed = translator.attention(("i", "love", "zebra", "<eos>"), ("你", "爱", "<eos>"))
    assert torch.equal(maps[1][:, 0], changed[1][:, 0]) and not torch.allclose(maps[1][:, 1], changed[1][:, 1])


# ------------------------------------------------------------------ file


def test_saved_and_read_again(tmp_path):
    translator = tiny()
    translator.save(tmp_path / "t.safetensors", dtype=None, note="ours")
    again = read_translator(tmp_path / "t.safetensors")
    assert (
        again.source.to_json() == translator.source.to_json() and again.target.to_json() == translator.target.to_json()
    )
    assert again("I love you") == translator("I love you") and not again.model.training


def test_half_precision_is_what_a_file_holds_unless_asked(tmp_path):
    translator = tiny()
    translator.save(tmp_path / "half.safetensors")
    again = read_translator(tmp_path / "half.safetensors")
    weight = translator.model.encoder.embedding.weight
    assert torch.equal(
        again.model.encoder.embedding.weight, weight.half().to(again.model.encoder.embedding.weight.dtype)
    )


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"source_tokenizer": {"tokenizer": "characters", "tokens": []}, "target_tokenizer": {}},
        {
            "source_tokenizer": {"tokenizer": "words", "tokens": ["a"]},
            "target_tokenizer": {"tokenizer": "characters", "tokens": ["我"]},
        },
    ],
)
def test_a_model_that_is_no_translator(tmp_path, metadata):
    save_model(tmp_path / "m.safetensors", tiny().model, **metadata)
    with pytest.raises(CheckpointError, match="m.safetensors: holds no translator"):
        read_translator(tmp_path / "m.safetensors")


def test_a_damaged_file(tmp_path):
    tiny().save(tmp_path / "t.safetensors")
    data = bytearray((tmp_path / "t.safetensors").read_bytes())
    data[-5] ^= 4
    (tmp_path / "t.safetensors").write_bytes(data)
    with pytest.raises(CheckpointError, match=r"t\.safetensors"):
        read_translator(tmp_path / "t.safetensors")


# ------------------------------------------------------------------ corpus


@pytest.fixture
def small_parts(monkeypatch):
    """Parts that a few dozen sentences can be cut into."""
    for name, value in {"VALID": 4, "TEST": 6, "GRAMMAR_TEST": 12}.items():
        monkeypatch.setattr(translator_data, name, value)
    monkeypatch.setattr(card_module, "TranslatorRecipe", partial(TranslatorRecipe, grammar=150, epochs=1, warmup=10))


def test_nothing_that_is_tested_is_trained_on(small_parts):
    corpus = translator_corpus(FIXTURE, 900)
    trained = {sentence_key(pair.english) for pair in corpus.train}
    for part in (corpus.valid, corpus.test, corpus.grammar_test):
        assert part and not trained & {sentence_key(pair.english) for pair in part}
    assert not any(is_held_out(pair.english) for pair in [*corpus.train, *corpus.valid])
    real = {pair.english for pair in read_tatoeba(FIXTURE)}
    assert len({pair.english for pair in corpus.train} & real) > 20 and len(corpus.train) > 850
    assert {pair.english for pair in corpus.test} <= real


def test_held_out_sentences_of_tatoeba_are_left_out(small_parts, tmp_path):
    lines = [f"I love you {n} times.\t我爱你{n}次。\tours" for n in range(20)] + [
        f"I see {n} cats.\t我看到{n}只猫。\tours" for n in range(40)
    ]
    (tmp_path / "cmn.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = translator_corpus(tmp_path / "cmn.txt", 100)
    assert corpus.dropped["held out"] > 5
    assert not any("love you" in pair.english for pair in corpus.train)


def test_a_grammar_sentence_that_tatoeba_tests_is_not_learned(small_parts, tmp_path):
    written = translator_corpus(None, 200).train
    lines = [f"{pair.english}\t{pair.chinese}\tours" for pair in written[:60]]
    (tmp_path / "cmn.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = translator_corpus(tmp_path / "cmn.txt", 200)
    assert corpus.dropped["of the grammar, also tested"] >= 10
    tested = {sentence_key(pair.english) for pair in [*corpus.valid, *corpus.test]}
    assert len(tested) == 10 and not tested & {sentence_key(pair.english) for pair in corpus.train}


def test_without_tatoeba_the_grammar_is_all(small_parts):
    corpus = translator_corpus(None, 100)
    assert (len(corpus.train), len(corpus.valid), corpus.test, len(corpus.grammar_test)) == (96, 4, [], 12)
    assert corpus.dropped["of the grammar, also tested"] == 0 and corpus.left_out == []


def test_what_a_corpus_left_out_can_be_left_out_again(small_parts, tmp_path):
    written = translator_corpus(None, 30).grammar_test
    lines = [f"{pair.english}\t{pair.chinese}\tours" for pair in written]
    lines += [f"I see {n} cats.\t我看到{n}只猫。\tours" for n in range(40)]
    (tmp_path / "cmn.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = translator_corpus(tmp_path / "cmn.txt", 30)
    assert len(corpus.left_out) + len(corpus.grammar_test) == 12 and len(corpus.left_out) > 5
    assert translator_corpus(None, 30, left_out=corpus.left_out).grammar_test == corpus.grammar_test


def test_very_long_sentences_are_left_out(small_parts, tmp_path):
    lines = [f"We go to {'a ' * n}house.\t我们去家。\tours" for n in range(70)]
    (tmp_path / "cmn.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = translator_corpus(tmp_path / "cmn.txt", 50)
    assert max(len(WordTokenizer.split(pair.english)) for pair in corpus.train) == 60
    parts = [*corpus.train, *corpus.valid, *corpus.test]
    assert corpus.dropped["longer than 60 tokens"] == 70 - sum("We go to" in pair.english for pair in parts) > 0


def test_examples_are_the_tokenizers_ids():
    pairs = [Pair("Tom runs.", "汤姆跑。"), Pair("Tom runs.", "汤姆跑！"), Pair("Mary sleeps.", "玛丽睡。")]
    source, target = build_tokenizers(pairs)
    assert source.vocabulary.tokens == (".", "runs", "tom")  # twice or more
    example = examples_of(pairs, source, target)[2]
    assert example.src == (UNK, UNK, source.vocabulary.id("."), EOS) and example.tgt[-2:] == (
        target.vocabulary.id("。"),
        EOS,
    )


# ------------------------------------------------------------------ scores


class Echo:
    """Translates what it was told to."""

    def __init__(self, answers):
        self.answers = answers

    def translate_all(self, texts, *, num_beams):
        for text in texts:
            yield type("T", (), {"text": self.answers[text]})


def test_scores_of_right_and_of_wrong_translations():
    pairs = [
        Pair("A cat sat there.", "一只猫坐在那里。"),
        Pair("A cat sat there.", "有只猫坐在那里。"),
        Pair("He runs to the house.", "他跑到房子里去。"),
    ]
    right = translation_scores(
        Echo({"A cat sat there.": "有只猫坐在那里。", "He runs to the house.": "他跑到房子里去。"}), pairs
    )
    assert right["sentences"] == 2 and right["beam"] == right["greedy"] == {"bleu": 100.0, "chrf": 100.0, "exact": 1.0}
    assert "tok:zh" in right["signature"]["bleu"]
    assert right["beam_bleu_by_length"] == {"1 to 5": {"sentences": 2, "bleu": 100.0}}  # the mark is no word
    half = translation_scores(
        Echo({"A cat sat there.": "有只猫坐在那里。", "He runs to the house.": "我不知道你说什么。"}), pairs
    )
    assert half["beam"]["exact"] == 0.5 and 20 < half["beam"]["bleu"] < 80


def test_half_width_marks_in_references_are_no_difference():
    found = translation_scores(
        Echo({"He runs to the house.": "他跑到房子里去。"}), [Pair("He runs to the house.", "他跑到房子里去.")]
    )
    assert found["beam"]["exact"] == 1.0


# ------------------------------------------------------------------ training command


def test_seeds_trained_one_by_one_are_gathered(small_parts, tmp_path, capsys):
    out = tmp_path / "t.safetensors"
    for seed in (0, 1, 2):
        assert train_translator(out, tatoeba=FIXTURE, seeds=[seed]) == 0
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("t.seed*.safetensors")}
    assert len(stamps) == 3
    assert train_translator(out, tatoeba=FIXTURE, seeds=[0, 1, 2], resume=True) == 0
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())  # taken as they are
    card = json.loads(out.with_suffix(".json").read_text("utf-8"))
    assert set(card["seeds"]) == {"0", "1", "2"}
    assert card["command"] == "python -m transformer_lab train translator --tatoeba cmn.txt --seed 0 1 2"
    bleus = sorted(figures["bleu"] for figures in card["seeds"].values())
    assert card["seeds"][str(card["recipe"]["seed"])]["bleu"] == bleus[1] == card["min_median_max"]["bleu"][1]
    assert card["trained"]["tatoeba"]["sentences"] == 6 and card["bytes"] == out.stat().st_size
    assert card["steps"] == math.ceil(card["steps"]) > 0 and card["data"]["tatoeba"] is True
    read_translator(out)
    capsys.readouterr()
    assert evaluate_translator(out, tatoeba=FIXTURE) == 0
    card["trained"]["grammar"]["beam"]["exact"] = 0.5
    card["trained"]["alignment"]["predicted"]["layers"][0]["mean"]["mass"] += 0.1
    out.with_suffix(".json").write_text(json.dumps(card), encoding="utf-8")
    assert evaluate_translator(out, tatoeba=None) == 1
    printed = capsys.readouterr()
    assert "differs: grammar.beam.exact" in printed.out and "layers[0].mean.mass" in printed.out
    assert "without --tatoeba" in printed.err


def test_a_finished_seed_is_not_taken_for_one_of_other_sentences(small_parts, tmp_path):
    out, recipe = tmp_path / "t.safetensors", card_module.TranslatorRecipe
    assert train_translator(out, tatoeba=None, seeds=[7], epochs=2) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match=r"seed7.*other sentences .different: .*tatoeba"):
        train_translator(out, tatoeba=FIXTURE, seeds=[7], epochs=2, resume=True)
    with pytest.raises(CheckpointError, match=r"seed7.*finished training: epochs was 2, is 1"):
        train_translator(out, tatoeba=None, seeds=[7], epochs=1, resume=True)
    card_module.TranslatorRecipe = partial(recipe, warmup=11)  # put back by the fixture
    with pytest.raises(CheckpointError, match=r"finished training: warmup was 10, is 11"):
        train_translator(out, tatoeba=None, seeds=[7], epochs=2, resume=True)
    card_module.TranslatorRecipe = recipe
    with pytest.raises(CheckpointError, match=r"seed7\.s.*holds a training already"):
        train_translator(out, tatoeba=None, seeds=[7], epochs=2)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before  # nothing was touched
    assert train_translator(out, tatoeba=None, seeds=[7], epochs=3, resume=True) == 0  # more epochs go on
    card = json.loads(out.with_suffix(".json").read_text("utf-8"))
    assert card["recipe"]["epochs"] == len(card["loss_by_epoch"]) == 3
    assert card["command"] == "python -m transformer_lab train translator --seed 7 --epochs 3"
    assert not card["data"]["tatoeba"] and card["licence"] == "Weights: MIT." and "Tatoeba" not in str(card["limits"])


def test_fewer_epochs_than_a_stopped_training_has_are_refused(small_parts, tmp_path):
    out = tmp_path / "t.safetensors"
    assert train_translator(out, tatoeba=None, seeds=[7], epochs=2) == 0
    (tmp_path / "t.seed7.safetensors").unlink()  # as if it had been stopped after two epochs of more
    with pytest.raises(CheckpointError, match="has 2 epochs already, more than the 1 asked for"):
        train_translator(out, tatoeba=None, seeds=[7], epochs=1, resume=True)
    assert not (tmp_path / "t.seed7.safetensors").exists()


def test_a_place_that_cannot_be_written_is_found_before_training(small_parts, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(card_module, "check_writable", refuse)
    with pytest.raises(PermissionError, match=r"t\.safetensors"):
        train_translator(tmp_path / "t.safetensors", tatoeba=None)
    assert not list(tmp_path.iterdir())


def test_the_same_seed_gives_the_same_weights(small_parts, tmp_path):
    for name in ("a", "b"):
        assert train_translator(tmp_path / f"{name}.safetensors", tatoeba=None, seeds=[5]) == 0
    a, b = (read_translator(tmp_path / f"{name}.safetensors").model.state_dict() for name in ("a", "b"))
    assert all(torch.equal(a[name], b[name]) for name in a)


# ------------------------------------------------------------------ the shipped file


@pytest.fixture(scope="module")
def shipped():
    return load_translator()


@pytest.mark.parametrize("load", [load_translator, load_world])
def test_a_device_that_is_not_there(load):
    with pytest.raises(ValueError, match="there is no cuda:999 here"):
        load(device="cuda:999")
    with pytest.raises(ValueError, match="device must be a device of torch, such as 'cpu' or 'cuda', got 'gpu'"):
        load(device="gpu")
    with pytest.raises(ValueError, match="got None"):
        load(device=None)


@pytest.mark.parametrize(("english", "chinese"), HELD_OUT_SENTENCES)
@pytest.mark.parametrize("num_beams", [1, 4])
def test_the_sentences_of_the_article(shipped, english, chinese, num_beams):
    assert shipped(english, num_beams=num_beams).text == chinese
    assert is_held_out(english)  # so that translating it is generalisation


def test_the_file_and_its_card():
    card, path = translator_card(), Path(card_module.__file__).parents[1] / "pretrained" / "translator.safetensors"
    assert path.stat().st_size == card["bytes"] <= 4_000_000
    assert len(card["seeds"]) >= 3 and card["trained"]["article_right"] == 3
    assert card["trained"]["tatoeba"]["beam"]["bleu"] > 36.6
    assert card["cpu_seconds"] <= 1800
    low, _, high = card["min_median_max"]["bleu"]
    assert low <= card["trained"]["tatoeba"]["beam"]["bleu"] <= high


def test_attention_is_alignment_in_the_trained_model_only():
    card = translator_card()
    trained, control = (card[name]["alignment"] for name in ("trained", "untrained"))
    last = trained["predicted"]["layers"][-1]["mean"]
    chance = trained["predicted"]["chance"]["argmax"]
    assert last["argmax"] > 0.7 and last["mass"] > 0.5
    assert max(layer["mean"]["argmax"] for layer in control["predicted"]["layers"]) < chance + 0.15
    assert trained["input"]["layers"][-1]["mean"]["argmax"] < last["argmax"] - 0.3  # the plotting mistake


@pytest.mark.slow
def test_figures_of_the_card_are_those_of_the_file(shipped):
    card = translator_card()
    corpus = translator_corpus(None, card["recipe"]["grammar"], left_out=card["data"]["left_out"])
    figures = measure_translator(shipped, [], corpus.grammar_test)
    for name in ("article", "alignment"):
        assert not differences(card["trained"][name], figures[name], 0.005)
