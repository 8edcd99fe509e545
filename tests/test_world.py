"""Mini-world: its sentences, its model, its training, and that the shipped file does what its card says."""

import hashlib
import itertools
import json
import random
from collections import Counter

import pytest
import torch

from transformer_lab import Encoder, TransformerConfig
from transformer_lab.checkpoint import CheckpointError, load_model, read_checkpoint, save_model
from transformer_lab.pretrained import load_world, world_card
from transformer_lab.trace import record_attention
from transformer_lab.training import world_training
from transformer_lab.training.figures import differences, flatten, table
from transformer_lab.training.world import WORLD_CONFIG, WorldModel, new_world, read_world, save_world
from transformer_lab.training.world_card import TOLERANCE
from transformer_lab.training.world_corpus import held_out_sentences, make_sentence, preposition_of, training_sentences
from transformer_lab.training.world_games import draw_position, exchange_word
from transformer_lab.training.world_interventions import move, verb_accuracy
from transformer_lab.training.world_measures import held_out, layer_scores, measure, replaced_scores, sink
from transformer_lab.training.world_training import Recipe, batches_of_one_length, learning_rate, train
from transformer_lab.training.world_vocabulary import MASK, PAD_ID, VOCABULARY, to_ids, tokenize
from transformer_lab.training.world_words import (
    HELD_OUT_PAIRS,
    PLACE_CLASS,
    PLACES,
    PREPOSITIONS,
    SUBJECT_CLASS,
    VERBS,
    is_held_out,
    kinds,
    verb_for,
)

BOOK = "the cat sat on the mat"


def some(sentences, count):
    return list(itertools.islice(sentences, count))


@pytest.fixture(scope="module")
def corpus():
    return some(training_sentences(0), 20_000)


@pytest.fixture(scope="module")
def world():
    return load_world()


@pytest.fixture(scope="module")
def control():
    return load_world(trained=False)


@pytest.fixture(scope="module")
def figures(world):
    return measure(world)


@pytest.fixture(scope="module")
def control_figures(control):
    return measure(control)


# The sentences


def test_every_word_is_of_one_kind_and_in_the_vocabulary_once():
    words = [word for group in kinds().values() for word in group]
    assert len(words) == len(set(words)) == 118
    assert VOCABULARY == ("<pad>", MASK, *words)
    assert all(word == word.lower() and word.isalpha() for word in words)


def test_the_verb_is_a_function_of_the_two_classes():
    for (who, where), verb in VERBS.items():
        nouns = [n for n, c in SUBJECT_CLASS.items() if c == who], [n for n, c in PLACE_CLASS.items() if c == where]
        assert {verb_for(subject, place) for subject, place in itertools.product(*nouns)} == {verb}
    assert len(VERBS) == 8 * 7
    for expected, subject, place in [
        ("sat", "cat", "mat"),
        ("slept", "cat", "bed"),
        ("swam", "cat", "river"),
        ("lay", "book", "mat"),
        ("flew", "bird", "sky"),
    ]:
        assert verb_for(subject, place) == expected


def test_neither_noun_alone_tells_the_verb():
    for who in SUBJECT_CLASS.values():
        assert len({verb for (subject, _), verb in VERBS.items() if subject == who}) >= 4
    for where in PLACE_CLASS.values():
        assert len({verb for (_, place), verb in VERBS.items() if place == where}) >= 5
    for word in {word for words in PREPOSITIONS.values() for word in words}:
        assert sum(word in words for words in PREPOSITIONS.values()) >= 2


def test_gold_positions_are_right(corpus):
    for sentence in [*corpus, *held_out()]:
        subject, verb, place = (sentence.words[i] for i in (sentence.subject, sentence.verb, sentence.place))
        assert verb == verb_for(subject, place)
        assert sentence.words[preposition_of(sentence)] in PREPOSITIONS[PLACE_CLASS[place]]
        assert sum(word in kinds()["verb"] for word in sentence.words) == 1


def test_positions_and_the_mere_presence_of_nouns_do_not_tell(corpus):
    subject_first = Counter(s.verb - s.subject for s in corpus)
    place_after = Counter(s.place - s.verb for s in corpus)
    assert max(subject_first.values()) < 0.5 * len(corpus) and min(subject_first) < 0 < max(subject_first)
    assert max(place_after.values()) < 0.5 * len(corpus) and min(place_after) < 0 < max(place_after)
    others = [s for s in corpus if sum(word in SUBJECT_CLASS or word in PLACE_CLASS for word in s.words) > 2]
    assert 0.3 < len(others) / len(corpus) < 0.6  # subject and place are not its only nouns


def test_sentences_of_the_books_form_occur(corpus):
    plain = {s.words for s in corpus if len(s.words) == 6 and s.words[0] == s.words[4] == "the" and s.words[3] == "on"}
    assert ("the", "kitten", "sat", "on", "the", "mat") in plain and len(plain) > 100
    assert all(3 < len(s.words) <= WORLD_CONFIG.max_len - 8 for s in corpus)


def test_held_out_pairs_never_meet_in_training_not_even_in_other_roles(corpus):
    assert len(HELD_OUT_PAIRS) == 8 and ("cat", "mat") in HELD_OUT_PAIRS
    assert len({SUBJECT_CLASS[subject] for subject, _ in HELD_OUT_PAIRS}) == 8
    for subject, place in HELD_OUT_PAIRS:
        assert not any(subject in s.words and place in s.words for s in corpus)
        assert any(subject in s.words for s in corpus) and any(place in s.words for s in corpus)


def test_corrupted_sentences_never_join_a_held_out_pair_either(corpus):
    rng = random.Random(0)
    assert not any(is_held_out(exchange_word(rng, sentence)) for sentence in corpus)
    assert any(is_held_out(exchange_word(rng, sentence, spare_held_out=False)) for sentence in corpus)


def test_held_out_sentences_use_every_pair_equally():
    pairs = Counter((s.words[s.subject], s.words[s.place]) for s in some(held_out_sentences(5), 8 * 13))
    assert pairs == dict.fromkeys(HELD_OUT_PAIRS, 13)


def test_a_seed_gives_the_same_sentences_on_every_machine():
    text = "\n".join(map(str, some(training_sentences(0), 1000)))
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "12963695e443c3e697b441f426697bbe6f4fbc59dd9e4e5cfa7d5158fb7c86a7"
    )
    text = "\n".join(map(str, some(held_out_sentences(1), 1000)))
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "bb5ae08351f3ba9a986f2a924d5d53cc4f78bfddd0d035cdd0f5760025988bc4"
    )
    assert some(training_sentences(1), 9) != some(training_sentences(0), 9)


def test_moving_changes_the_place_alone_and_asks_for_another_verb():
    moved = [(s, move(s)) for s in held_out()]
    assert sum(words is not None for _, words in moved) > 200
    for sentence, words in moved:
        if words is not None:
            changed = [i for i, (old, new) in enumerate(zip(sentence.words, words, strict=True)) if old != new]
            assert changed == [sentence.place]
            subject, verb, place = words[sentence.subject], words[sentence.verb], words[sentence.place]
            assert verb_for(subject, place) != verb
            assert words[preposition_of(sentence)] in PREPOSITIONS[PLACE_CLASS[place]]
            assert (subject, place) not in HELD_OUT_PAIRS


# Words and ids


def test_tokenize_lowers_and_drops_punctuation():
    assert tokenize("  The cat sat, quietly; on the MAT. ") == ["the", "cat", "sat", "quietly", "on", "the", "mat"]
    assert tokenize("the cat <mask> on the mat") == ["the", "cat", MASK, "on", "the", "mat"]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("the cats sat on the mat", "does not know 'cats'; did you mean cat"),
        ("the cat sat on the zeppelin", r"does not know 'zeppelin'; its words are subjects: cat, kitten"),
        ("the cat <pad> on the mat", "does not know '<pad>'"),
        ("<script>alert(1)</script>", "does not know '<script>'"),
        (" . ", "has no word"),
        ("", "has no word"),
    ],
)
def test_unknown_words_are_named_with_near_ones(world, sentence, message):
    with pytest.raises(ValueError, match=message):
        world.encode(sentence)


def test_encode_pads_at_the_end(world):
    ids = world.encode(["the cat sat on the mat", "on the mat the cat quietly sat"])
    assert ids.shape == (2, 7)
    assert ids[0, 6] == PAD_ID and PAD_ID not in ids[1]
    assert [world.vocabulary[i] for i in ids[1]] == "on the mat the cat quietly sat".split()
    assert torch.equal(world.encode(BOOK), ids[:1, :6])
    with pytest.raises(ValueError, match="at least one sentence"):
        world.encode([])
    with pytest.raises(ValueError, match="longer than max_len 32"):
        world(world.encode("the " * 33))


# The model


def test_encode_refuses_what_the_model_cannot_place(world):
    assert world.encode("the " * WORLD_CONFIG.max_len).shape == (1, 32)
    with pytest.raises(ValueError, match="sequence of 33 is longer than max_len 32"):
        world.encode("the " * 33)


@pytest.mark.parametrize("trained", ["untrained", 0, None])
def test_a_wish_that_is_neither_true_nor_false_is_no_trained_model(trained):
    with pytest.raises(TypeError, match="trained must be True or False"):
        load_world(trained)


def test_sizes_and_state_dict_paths(world):
    names = list(world.state_dict())
    assert names[0] == "encoder.embedding.weight"
    assert names[-4:] == ["word_head.weight", "word_head.bias", "replaced_head.weight", "replaced_head.bias"]
    assert "encoder.layers.1.self_attn.W_q.weight" in names and "encoder.layers.0.add_norm2.norm.bias" in names
    assert sum(weight.numel() for weight in world.parameters()) == 82_489
    assert (world.config.d_model, world.config.num_heads, world.config.num_encoder_layers) == (64, 4, 2)
    assert not world.training and all(weight.dtype == torch.float32 for weight in world.parameters())


def test_a_sentence_in_a_padded_batch_is_as_alone(world):
    short, long = BOOK, "yesterday my small dog near the road slowly ran across this small meadow"
    alone, together = world.encode(short), world.encode([short, long])
    for one, both in zip(world(alone), world(together), strict=True):
        torch.testing.assert_close(both[:1, :6], one, rtol=0, atol=1e-5)
    for one, both in zip(world.attention(alone), world.attention(together), strict=True):
        torch.testing.assert_close(both[:1, :, :6, :6], one, rtol=0, atol=1e-5)
        assert not both[0, :, :, 6:].any()


def test_attention_is_what_the_encoder_really_used(world):
    ids = world.encode([BOOK, "in the sky a bird flew"])
    with record_attention(world) as maps:
        world(ids)
    for i, weights in enumerate(world.attention(ids)):
        assert weights.shape == (2, 4, 6, 6)
        torch.testing.assert_close(weights, maps[f"encoder.layers.{i}.self_attn"][0], rtol=0, atol=1e-6)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 6))


def test_guess_and_suspicion_are_the_heads_probabilities(world):
    ids = world.encode("the cat <mask> on the mat")
    words, _ = world(ids)
    guesses = world.guess("the cat <mask> on the mat", top=len(VOCABULARY))
    assert sum(p for _, p in guesses) == pytest.approx(1, abs=1e-5)
    assert guesses == sorted(guesses, key=lambda pair: -pair[1])
    assert dict(guesses)["sat"] == pytest.approx(words[0, 2].softmax(-1)[VOCABULARY.index("sat")].item())
    pairs = world.suspicion("The cat sat on the mat.")
    assert [word for word, _ in pairs] == BOOK.split()
    assert pairs[2][1] == pytest.approx(world(world.encode(BOOK))[1][0, 2].sigmoid().item())
    for sentence in (BOOK, "the <mask> sat on the <mask>"):
        with pytest.raises(ValueError, match="exactly one <mask>"):
            world.guess(sentence)


def test_loading_is_repeatable_and_draws_no_random_numbers(world, control):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    again, again_control = load_world(), load_world(trained=False)
    assert torch.equal(torch.get_rng_state(), before)
    for model, other in ((world, again), (control, again_control)):
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    start = new_world(world_card()["recipe"]["seed"])
    assert all(torch.equal(a, b) for a, b in zip(control.parameters(), start.parameters(), strict=True))
    assert not control.training
    assert not torch.equal(world.encoder.embedding.weight, control.encoder.embedding.weight)


def test_a_world_file_comes_back_and_other_files_are_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    save_world(path, new_world(7), note="hello")
    loaded = read_world(path)
    for a, b in zip(loaded.parameters(), new_world(7).parameters(), strict=True):
        assert torch.equal(a, b.half().float())
    assert read_checkpoint(path).metadata["note"] == "hello"
    with pytest.raises(CheckpointError, match="holds a 'WorldModel'; load_model builds Decoder, Encoder"):
        load_model(path)
    save_model(path, new_world(7), vocabulary=["<pad>", "other"])
    with pytest.raises(CheckpointError, match="no mini-world model of this vocabulary"):
        read_world(path)
    save_model(
        path,
        Encoder(TransformerConfig(src_vocab_size=3, tgt_vocab_size=3, d_model=4, num_heads=2)),
        vocabulary=VOCABULARY,
    )
    with pytest.raises(CheckpointError, match="but a 'Encoder'"):
        read_world(path)


# What the shipped file can do


def test_the_card_is_about_the_shipped_file_and_small(world):
    from importlib import resources

    card = world_card()
    path = resources.files("transformer_lab.pretrained") / "world.safetensors"
    assert len(path.read_bytes()) == card["bytes"] < 300_000
    assert sum(weight.numel() for weight in world.parameters()) == card["parameters"]
    assert TransformerConfig.from_dict(card["config"]) == WORLD_CONFIG == world.config
    assert card["recipe"] == vars(Recipe(seed=card["recipe"]["seed"]))
    assert card["steps_taken"] == card["recipe"]["steps"]
    assert tuple(card["vocabulary"]) == VOCABULARY
    assert [tuple(pair) for pair in card["held_out"]["pairs"]] == list(HELD_OUT_PAIRS)


def test_the_card_reports_every_seed_and_ships_none_that_is_the_luckiest():
    card = world_card()
    ranked = sorted(card["seeds"], key=lambda seed: card["seeds"][seed]["top_two"])
    assert len(ranked) >= 3
    shipped = str(card["recipe"]["seed"])
    assert shipped != ranked[-1]
    assert card["chosen"].startswith(f"seed {shipped}: rank {ranked.index(shipped) + 1} of {len(ranked)}")
    for name, (low, middle, high) in card["min_median_max"].items():
        values = [figures[name] for figures in card["seeds"].values()]
        assert (low, high) == (min(values), max(values)) and low <= middle <= high


def test_the_card_gives_the_measured_figures(figures, control_figures):
    card = world_card()
    assert differences(card["trained"], figures, TOLERANCE) == []
    assert differences(card["untrained"], control_figures, TOLERANCE) == []
    assert differences(card["trained"], control_figures, TOLERANCE) != []


def test_it_knows_the_verb_of_pairs_it_never_saw(figures, control_figures):
    assert figures["masked_verb_accuracy"] >= 0.98
    assert control_figures["masked_verb_accuracy"] <= 0.1
    assert figures["replaced"]["verb_precision"] >= 0.9 and figures["replaced"]["verb_recall"] >= 0.85
    guesses = dict(figures["guess"].values())
    assert guesses.keys() == {"sat", "slept", "swam", "lay", "flew"} and min(guesses.values()) > 0.95
    assert max(p for _, p in control_figures["guess"].values()) < 0.1
    right, wrong = figures["suspicion"].values()
    assert right < 0.1 and wrong > 0.9


def test_the_verb_looks_at_subject_and_place(figures, control_figures):
    first, last = figures["layers"]
    assert last["top_two"] >= 0.77
    assert (
        last["top_two"] > 10 * control_figures["layers"][1]["top_two"] and last["top_two"] > 10 * last["top_two_chance"]
    )
    for name in ("verb_to_subject", "verb_to_place"):
        assert sum(last[name]) / 4 > 1.5 * last["uniform"]
        assert sum(control_figures["layers"][1][name]) / 4 < 1.5 * last["uniform"]
    assert first["top_two"] < last["top_two"]


def test_in_the_books_sentence_sat_looks_mainly_at_cat_and_mat(figures, control):
    row = figures["book_sentence"]["layers"][1]["mean"]
    the, cat, sat, on, the_again, mat = row
    assert min(cat, mat) > 1.5 * max(the, sat, on, the_again)
    assert cat + mat > 0.7
    before = control.attention(control.encode(BOOK))[1][0, :, 2].mean(0)
    assert before[1] + before[5] < 0.45


def test_the_verb_depends_on_the_place_and_not_only_looks_there(figures):
    place = figures["place"]
    assert place["accuracy_place_hidden"] < figures["masked_verb_accuracy"] - 0.3
    assert place["accuracy_subject_hidden"] < figures["masked_verb_accuracy"] - 0.3
    assert place["accuracy_preposition_hidden"] > 0.9
    assert place["moved_sentences"] > 200 and place["moved_verb_follows"] > 0.95


# The measures themselves


def test_layer_scores_on_maps_made_by_hand():
    sentences = some(held_out_sentences(3), 24)
    deciding = torch.tensor([(s.subject, s.verb, s.place) for s in sentences])
    length = max(len(s.words) for s in sentences)
    ideal, turned = torch.zeros(2, 24, 4, length, length)
    for i, s in enumerate(sentences):
        ideal[i, :, s.verb, [s.subject, s.place, s.verb]] = torch.tensor([0.2, 0.1, 0.7])
        turned[i, :, [s.subject, s.place, s.verb], s.verb] = torch.tensor([0.2, 0.1, 0.7])
    scores = layer_scores(ideal, sentences, deciding)
    assert (scores["top_two"], scores["top_two_plain"]) == (1, 1)
    assert scores["verb_to_subject"] == [0.2] * 4 and scores["verb_to_place"] == [0.1] * 4
    assert layer_scores(turned, sentences, deciding)["verb_to_subject"] == [0] * 4
    everywhere = torch.rand(24, 4, length, length, generator=torch.Generator().manual_seed(0))
    assert layer_scores(everywhere, sentences, deciding)["top_two"] < 0.3


def test_sink_finds_a_column_that_gathers():
    sentences = some(held_out_sentences(3), 24)
    length = max(len(s.words) for s in sentences)
    weights = torch.zeros(24, 4, length, length)
    for i, s in enumerate(sentences):
        weights[i, :, :, s.verb] = 1.0
    found = sink(weights, sentences)
    assert found["kind"] == "verb" and found["share"] == 1 and 0.05 < found["even"] < 0.2


def test_scores_of_a_model_that_knows_and_of_one_that_does_not():
    sentences = some(held_out_sentences(3), 40)
    ids = to_ids([s.words for s in sentences])
    deciding = torch.tensor([(s.subject, s.verb, s.place) for s in sentences])

    class Oracle(torch.nn.Module):
        def forward(self, corrupted, mask=None):
            words = torch.nn.functional.one_hot(ids, len(VOCABULARY)).float()
            return words, (corrupted != ids).float() - 0.5

    perfect = dict.fromkeys(("precision", "recall", "verb_precision", "verb_recall"), 1.0)
    assert replaced_scores(Oracle(), sentences) == perfect
    assert verb_accuracy(Oracle(), ids, deciding) == 1
    assert verb_accuracy(new_world(0), ids, deciding) < 0.2


def test_differences_flatten_and_table():
    tree = {"a": 0.5, "b": [{"c": "x"}, {"c": "y"}], "d": [0.1, 0.2]}
    assert differences(tree, json.loads(json.dumps(tree)), 0.0) == []
    assert differences(tree, {**tree, "a": 0.52}, 0.01) == ["a: expected 0.5, found 0.52"]
    assert differences(tree, {**tree, "a": 0.52}, 0.03) == []
    assert differences(tree, {**tree, "d": [0.1]}, 1.0) and differences(tree, {"a": 0.5}, 1.0)
    assert differences(tree, {**tree, "b": [{"c": "x"}, {"c": "z"}]}, 1.0) == ["b[1].c: expected y, found z"]
    assert flatten(tree) == {"a": 0.5, "b[1].c": "x", "b[2].c": "y", "d": [0.1, 0.2]}
    assert table({"one": tree, "two": {"a": 1}}).splitlines()[1].split() == ["a", "0.500", "1"]


# Training


@pytest.fixture(scope="module")
def sixty():
    return train(Recipe(seed=11, steps=60, batch=32, warmup=10))


def test_sixty_steps_lower_both_losses(sixty):
    _, losses = sixty
    assert len(losses) == 60
    for game in (losses[0::2], losses[1::2]):
        assert sum(game[-8:]) / 8 < 0.9 * sum(game[:4]) / 4


def test_the_same_recipe_gives_the_same_model_bit_for_bit(sixty):
    model, losses = sixty
    torch.manual_seed(99)  # the caller's random numbers play no part
    again, losses_again = train(Recipe(seed=11, steps=60, batch=32, warmup=10))
    assert losses == losses_again
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    _, others = train(Recipe(seed=12, steps=6, batch=32, warmup=10))
    assert others != losses[:6]


def test_training_leaves_the_callers_settings_alone():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        state = torch.get_rng_state()
        model, _ = train(Recipe(steps=2, batch=5))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), state)
    assert not model.training


def test_an_interrupt_keeps_what_was_learned(monkeypatch):
    calls = itertools.count()
    original = world_training.hidden_word_loss

    def interrupted(*args):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(world_training, "hidden_word_loss", interrupted)
    model, losses = train(Recipe(steps=60, batch=17))
    monkeypatch.undo()
    assert len(losses) == 10
    assert not torch.equal(model.word_head.weight, new_world(0).word_head.weight)
    assert not model.training


def test_the_learning_rate_rises_and_falls_in_straight_lines():
    recipe = Recipe(steps=100, warmup=20, learning_rate=0.5)
    rates = [learning_rate(recipe, step) for step in range(100)]
    assert rates[0] == 0.5 / 20 and max(rates) == rates[19] == rates[20] == 0.5
    assert rates[60] == pytest.approx(0.25) and rates[99] == pytest.approx(0.5 / 80)


def test_batches_are_of_one_length():
    for batch in some(batches_of_one_length(training_sentences(2), 13), 40):
        assert len(batch) == 13 and len({len(sentence.words) for sentence in batch}) == 1


def test_a_game_is_most_often_about_the_verb(corpus):
    rng = random.Random(3)
    drawn = Counter()
    for s in corpus:
        position = draw_position(rng, s)
        drawn[{s.verb: "verb", s.subject: "subject", s.place: "place"}.get(position, "none")] += 1 / len(corpus)
    assert drawn == pytest.approx({"verb": 0.5, "subject": 0.15, "place": 0.15, "none": 0.2}, abs=0.015)


def test_an_exchanged_word_is_of_the_same_kind_and_another_class_and_fits_the_preposition(corpus):
    rng = random.Random(1)
    kind = {word: name for name, words in kinds().items() for word in words}
    classes = SUBJECT_CLASS | PLACE_CLASS
    seen = Counter()
    for s in corpus:
        words = exchange_word(rng, s)
        changed = [i for i, (old, new) in enumerate(zip(s.words, words, strict=True)) if old != new]
        assert len(changed) <= 1
        for i in changed:
            old, new = s.words[i], words[i]
            seen[kind[new]] += 1
            assert i in (s.subject, s.verb, s.place) and kind[old] == kind[new]
            assert old not in classes or classes[old] != classes[new]
            if i == s.place:
                assert s.words[preposition_of(s)] in PREPOSITIONS[PLACE_CLASS[new]]
    assert min(seen[name] for name in ("subject", "verb", "place")) > 1000


def test_make_sentence_knows_every_pair():
    rng = random.Random(4)
    for subject, place in itertools.product(SUBJECT_CLASS, PLACE_CLASS):
        sentence = make_sentence(rng, subject, place)
        assert (sentence.words[sentence.subject], sentence.words[sentence.place]) == (subject, place)
    with pytest.raises(KeyError):
        make_sentence(rng, "mat", "cat")
    assert list(PLACES) == list(dict.fromkeys(PLACE_CLASS.values()))


def test_world_model_is_an_encoder_with_two_heads():
    model = WorldModel()
    ids = torch.tensor([[5, 9, 11]])
    words, replaced = model(ids)
    assert words.shape == (1, 3, len(VOCABULARY)) and replaced.shape == (1, 3)
    memory = model.encoder(ids)
    torch.testing.assert_close(words, model.word_head(memory))
    torch.testing.assert_close(replaced, model.replaced_head(memory)[..., 0])
