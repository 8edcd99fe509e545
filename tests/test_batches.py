"""Batches: padded, shifted, of similar lengths, and the same examples on one process as on many."""

import random
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab.training.batches import Batch, Example, bucketed_batches, collate, shard
from transformer_lab.training.vocabulary import BOS, EOS, PAD

from .support import seeds

lengths = st.lists(st.tuples(st.integers(1, 13), st.integers(1, 17)), max_size=60)


def made(lengths):
    """Examples of the given (source, target) lengths, EOS included; every id of an example is 4 + its place."""
    return [Example((4 + i,) * (s - 1) + (EOS,), (4 + i,) * (t - 1) + (EOS,)) for i, (s, t) in enumerate(lengths)]


def translations(count, seed=0):
    """Examples whose lengths are spread like those of everyday sentences."""
    chance = random.Random(seed)
    sources = [2 + min(30, int(chance.gammavariate(4, 1.9))) for _ in range(count)]
    return made([(s, max(2, round(s * chance.uniform(0.8, 1.8)))) for s in sources])


def test_collate_pads_at_the_end_and_shifts_the_target():
    batch = collate([Example((5, 6, EOS), (7, EOS)), Example((8, EOS), (9, 10, 11, EOS))])
    assert batch.src.tolist() == [[5, 6, EOS], [8, EOS, PAD]]
    assert batch.tgt_in.tolist() == [[BOS, 7, PAD, PAD], [BOS, 9, 10, 11]]
    assert batch.tgt_out.tolist() == [[7, EOS, PAD, PAD], [9, 10, 11, EOS]]
    assert batch.src.dtype == batch.tgt_in.dtype == batch.tgt_out.dtype == torch.int64
    assert batch.tokens == 6


def test_another_padding_id():
    batch = collate([Example((5, EOS), (7, EOS)), Example((5, 6, EOS), (EOS,))], pad_id=99)
    assert batch.src.tolist() == [[5, EOS, 99], [5, 6, EOS]] and batch.tgt_out.tolist() == [[7, EOS], [EOS, 99]]
    assert batch.tgt_in.tolist() == [[BOS, 7], [BOS, 99]] and batch.tokens == 3
    assert batch.to("cpu").tokens == 3


@given(lengths=lengths.filter(bool))
def test_every_token_is_predicted_once_and_from_what_stands_before_it(lengths):
    examples = made(lengths)
    batch = collate(examples)
    assert batch.src.shape == (len(examples), max(s for s, _ in lengths))
    assert batch.tgt_in.shape == batch.tgt_out.shape == (len(examples), max(t for _, t in lengths))
    assert batch.tokens == sum(t for _, t in lengths)
    for example, src, tgt_in, tgt_out in zip(examples, batch.src, batch.tgt_in, batch.tgt_out, strict=True):
        assert tuple(src[src != PAD].tolist()) == example.src and tuple(tgt_out[tgt_out != PAD].tolist()) == example.tgt
        n = len(example.tgt)
        assert tgt_in[0] == BOS and torch.equal(tgt_in[1:n], tgt_out[: n - 1]) and (tgt_in[n:] == PAD).all()


def test_no_example_is_a_row_that_counts_for_nothing():
    batch = collate([])
    assert batch.tokens == 0 and batch.src.tolist() == [[EOS]] and batch.tgt_in.tolist() == [[BOS]]
    assert collate([], pad_id=7).tgt_out.tolist() == [[7]] and collate([], pad_id=7).tokens == 0


def test_to_moves_all_three_and_leaves_the_batch_alone():
    batch = collate(made([(3, 2)]))
    moved = batch.to("meta")
    assert isinstance(moved, Batch) and {x.device.type for x in (moved.src, moved.tgt_in, moved.tgt_out)} == {"meta"}
    assert batch.src.device.type == "cpu"


def test_an_example_keeps_its_own_copy():
    ids = [4, 5, EOS]
    example = Example(ids, ids)
    ids.append(6)
    assert example == Example((4, 5, 2), (4, 5, 2)) and example.src == (4, 5, EOS) and hash(example)


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        ((), (4, EOS), "src must end with EOS = 2, got []; a tokenizer's encode adds it"),
        ((4, EOS), (4, 5), "tgt must end with EOS = 2, got [4, 5]"),
        ((4, EOS), (BOS, 4, EOS), "tgt must not hold PAD = 0 or BOS = 1, got [1, 4, 2]; collate adds them"),
        ((4, PAD, EOS), (4, EOS), "src must not hold PAD = 0 or BOS = 1, got [4, 0, 2]"),
        ((4, EOS), tuple(range(4, 40)), "tgt must end with EOS = 2, got [4, 5, 6, …, 39] (36 ids)"),
    ],
)
def test_wrong_examples_are_refused(src, tgt, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Example(src, tgt)


def test_collate_wants_examples():
    with pytest.raises(TypeError, match="must be of class Example, got tuple"):
        collate([((4, EOS), (4, EOS))])


@given(lengths=lengths, max_tokens=st.integers(17, 90), seed=seeds, epoch=st.integers(-1, 5))
def test_batches_hold_every_example_once_and_no_more_tokens_than_allowed(lengths, max_tokens, seed, epoch):
    examples = made(lengths)
    batches = bucketed_batches(examples, max_tokens, seed=seed, epoch=epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(len(examples)))
    for batch in batches:
        padded = collate([examples[i] for i in batch])
        assert batch and max(padded.src.numel(), padded.tgt_in.numel()) <= max_tokens
    assert batches == bucketed_batches(examples, max_tokens, seed=seed, epoch=epoch)


@given(lengths=lengths, max_tokens=st.integers(17, 90))
def test_no_two_batches_would_have_fitted_into_one_without_longer_padding(lengths, max_tokens):
    width = [max(pair) for pair in lengths]
    batches = bucketed_batches(made(lengths), max_tokens, seed=0, epoch=0)
    batches.sort(key=lambda b: (min(width[i] for i in b), max(width[i] for i in b), -len(b)))
    for shorter, longer in zip(batches, batches[1:], strict=False):
        assert max(width[i] for i in shorter) <= min(width[i] for i in longer)
        assert (len(shorter) + 1) * min(width[i] for i in longer) > max_tokens


def test_similar_lengths_stand_together():
    examples = translations(20_000)
    padded = real = 0
    for batch in bucketed_batches(examples, 1_536, seed=3, epoch=1):
        rows = [examples[i] for i in batch]
        padded += len(rows) * (max(len(r.src) for r in rows) + max(len(r.tgt) for r in rows))
        real += sum(len(r.src) + len(r.tgt) for r in rows)
    assert 1 - real / padded < 0.10


def test_the_order_depends_on_seed_and_epoch_and_on_nothing_else():
    examples = translations(500)
    torch.manual_seed(1)
    random.seed(1)
    first, state = bucketed_batches(examples, 200, seed=5, epoch=2), random.getstate()
    torch.manual_seed(2)
    random.seed(2)
    assert bucketed_batches(examples, 200, seed=5, epoch=2) == first
    random.seed(1)
    assert random.getstate() == state, "the caller's random numbers are left alone"
    others = [(5, 3), (6, 2), (52, 0), (2, 5), (-5, 2)]
    assert all(bucketed_batches(examples, 200, seed=s, epoch=e) != first for s, e in others)
    assert {frozenset(b) for b in bucketed_batches(examples, 200, seed=5, epoch=3)} != set(map(frozenset, first))


def test_the_order_is_the_same_on_every_machine():
    examples = made([(2, 3), (5, 2), (4, 4), (3, 3), (2, 2), (5, 5), (3, 1)])
    assert bucketed_batches(examples, 10, seed=0, epoch=0) == [[3, 2], [4, 6, 0], [1, 5]]


def test_short_and_long_batches_come_mixed():
    examples = translations(3_000)
    widths = [len(examples[batch[0]].tgt) for batch in bucketed_batches(examples, 300, seed=0, epoch=0)]
    rising = sum(a <= b for a, b in zip(widths, widths[1:], strict=False)) / (len(widths) - 1)
    assert 0.4 < rising < 0.65


def test_a_sentence_that_is_too_long_is_named():
    examples = made([(3, 3), (4, 12), (3, 3)])
    message = (
        "example 1 has 4 source and 12 target tokens, more than max_tokens=11; leave it out, or allow max_tokens >= 12"
    )
    with pytest.raises(ValueError, match=message):
        bucketed_batches(examples, 11, seed=0, epoch=0)
    assert len(bucketed_batches(examples, 12, seed=0, epoch=0)) == 2
    assert bucketed_batches([], 11, seed=0, epoch=0) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_tokens": 0}, ValueError, "max_tokens must be at least 1"),
        ({"max_tokens": 12.0}, TypeError, "max_tokens must be an int"),
        ({"seed": None}, TypeError, "seed must be an int, got NoneType"),
        ({"epoch": True}, TypeError, "epoch must be an int, got bool"),
    ],
)
def test_wrong_settings_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        bucketed_batches([], **{"max_tokens": 12, "seed": 0, "epoch": 0, **arguments})


@given(lengths=lengths, world=st.integers(1, 5), seed=seeds)
def test_processes_share_every_batch(lengths, world, seed):
    batches = bucketed_batches(made(lengths), 40, seed=seed, epoch=0)
    shares = [shard(batches, rank, world) for rank in range(world)]
    assert {len(share) for share in shares} == {len(batches)}, "every process takes the same number of steps"
    for batch, *parts in zip(batches, *shares, strict=True):
        assert sorted(i for part in parts for i in part) == sorted(batch), "nothing is lost or doubled"
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1
    assert shard(batches, 0, 1) == batches


@given(lengths=lengths.filter(bool), world=st.integers(1, 4))
def test_the_shares_of_a_step_predict_the_tokens_of_the_joined_batch(lengths, world):
    examples = made(lengths)
    batches = bucketed_batches(examples, 40, seed=0, epoch=0)
    for step, batch in enumerate(batches):
        parts = [collate([examples[i] for i in shard(batches, rank, world)[step]]) for rank in range(world)]
        assert sum(part.tokens for part in parts) == collate([examples[i] for i in batch]).tokens


@pytest.mark.parametrize(
    ("rank", "world", "error", "message"),
    [
        (2, 2, ValueError, "rank must be from 0 to world - 1 = 1, got 2"),
        (-1, 2, ValueError, "rank must be from 0 to world - 1 = 1, got -1"),
        (0, 0, ValueError, "world must be at least 1"),
        (0.0, 2, TypeError, "rank must be an int"),
    ],
)
def test_wrong_ranks_are_refused(rank, world, error, message):
    with pytest.raises(error, match=message):
        shard([[0, 1]], rank, world)
