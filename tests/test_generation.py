"""Greedy search, beam search and sampling against brute force in float64, row by row and batch by batch."""

import gc
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer_lab import KVCache, Transformer
from transformer_lab.generation import beam_search, greedy_decode, sample

from . import model_reference
from .model_support import CONFIG, POSITIONS, TYINGS, breaks_off, model_of, refusal, sources
from .support import HALF_DTYPES, KernelRecorder, array, close, needs_cuda, numbers, parameters_of, seeds, token_ids

V, PAD, BOS, EOS = CONFIG.tgt_vocab_size, CONFIG.pad_id, CONFIG.bos_id, CONFIG.eos_id
MARGIN = 1e-6  # below this two tokens are as good as equal
both_norms = pytest.mark.parametrize("norm_first", [False, True])
PENALTIES = (0.0, 0.6, 1.0, 2.0, -0.5)


def lively(seed: int = 0, eos: float = 1.0, dtype: torch.dtype = torch.float64, **changes) -> Transformer:
    """A model whose rows write different tokens and end at different steps, and that never writes pad."""
    if changes.get("tie_embeddings") == "all":
        changes.setdefault("src_vocab_size", V)
    torch.manual_seed(seed)
    model = Transformer(replace(CONFIG, **changes)).to(dtype)
    with torch.no_grad():
        for i, (name, p) in enumerate(model.named_parameters()):
            if p.dim() == 1:
                p.add_(numbers(*p.shape, seed=1000 * seed + i, dtype=dtype, scale=0.1))
            elif "attn" in name:
                p.mul_(2.0)
        if model.config.tie_embeddings == "none":
            model.output_linear.weight.mul_(3.0)
        model.output_linear.bias[EOS] += eos
        model.output_linear.bias[PAD] -= 30.0
    return model


def batch_of(seed: int = 0, rows: int = 4) -> Tensor:
    """Sources [rows, 5] of different lengths."""
    src = token_ids(rows, 5, vocab_size=CONFIG.src_vocab_size, seed=seed)
    for b in range(rows):
        src[b, 5 - b % 4 :] = PAD
    return src


class Scripted(Transformer):
    """Says what `script(source, beginning)` says, a list of V logits, instead of computing; its cache stays empty."""

    def __init__(self, script: Callable[[list[int], list[int]], Tensor], config=CONFIG) -> None:
        super().__init__(config)
        self.script = script
        self.calls = 0

    def encode(self, src, src_mask=None):
        self.sources = src
        return src[..., None].double().expand(-1, -1, self.config.d_model)

    def new_cache(self, memory, *, src_mask=None, capacity):
        self.double()
        return super().new_cache(memory, src_mask=src_mask, capacity=capacity)

    def decode(self, tgt, memory, *, src_mask=None, tgt_mask=None, cache=None):
        self.calls += 1
        rows = zip(memory[..., 0].long().tolist(), tgt.tolist(), strict=True)
        return torch.stack([self.script(source, beginning) for source, beginning in rows])[:, None]

    def output(self, hidden):
        return hidden


def says(token: int, strength: float = 20.0) -> Tensor:
    """Logits that make one token nearly certain."""
    return strength * F.one_hot(torch.tensor(token), V).double()


def ends(ids: Tensor) -> bool:
    """Whether every row begins with bos and holds nothing but pad after its first eos."""
    rows = ids.reshape(-1, ids.shape[-1])
    after = (rows == EOS).cumsum(-1).roll(1, -1)
    after[:, 0] = 0
    return bool((rows[:, 0] == BOS).all() and (rows[after > 0] == PAD).all())


# ------------------------------------------------------------------ greedy


@both_norms
@pytest.mark.parametrize("use_cache", [False, True])
def test_greedy_writes_what_brute_force_writes(norm_first, use_cache):
    ended, compared = set(), 0
    for seed in range(8):
        model = lively(seed, norm_first=norm_first, position=POSITIONS[seed % 4], tie_embeddings=TYINGS[seed % 3])
        src = batch_of(seed).clamp(max=16)
        found = greedy_decode(model, src, max_new_tokens=7, use_cache=use_cache)
        assert ends(found)
        for row, ids in zip(src, found, strict=True):
            right, margins = model_reference.greedy(parameters_of(model), array(row), model.config, 7)
            certain = next((i for i, margin in enumerate(margins) if margin < MARGIN), len(margins))
            assert ids.tolist()[: certain + 1] == right[: certain + 1]
            if certain == len(margins):
                assert ids.tolist() == right + [PAD] * (len(ids) - len(right))
                ended.add(len(right) if right[-1] == EOS else "limit")
                compared += 1
    assert compared >= 24 and len(ended) >= 3  # rows of several lengths, and rows that never ended


@settings(max_examples=30)
@given(seed=seeds, rows=st.integers(1, 5), most=st.integers(0, 9), norm_first=st.booleans())
def test_with_and_without_a_cache_the_same_ids(seed, rows, most, norm_first):
    model, src = lively(seed % 100, norm_first=norm_first), batch_of(seed, rows)
    cached = greedy_decode(model, src, max_new_tokens=most)
    assert torch.equal(cached, greedy_decode(model, src, max_new_tokens=most, use_cache=False))
    assert cached.shape[0] == rows and cached.shape[1] <= 1 + most and ends(cached)
    for b in range(rows):
        alone = greedy_decode(model, src[b : b + 1], max_new_tokens=most)[0]
        assert torch.equal(cached[b, : len(alone)], alone) and (cached[b, len(alone) :] == PAD).all()


@pytest.mark.parametrize("use_cache", [False, True])
def test_padding_of_the_source_changes_no_id(use_cache):
    model, src = lively(), batch_of()
    right = greedy_decode(model, src, max_new_tokens=7, use_cache=use_cache)
    for extra in (1, 4, 15):
        padded = F.pad(src, (0, extra), value=PAD)
        assert torch.equal(greedy_decode(model, padded, max_new_tokens=7, use_cache=use_cache), right)


def test_more_tokens_begin_as_fewer_do():
    model, src = lively(eos=0.0), batch_of()
    long = greedy_decode(model, src, max_new_tokens=9)
    for most in range(9):
        assert torch.equal(greedy_decode(model, src, max_new_tokens=most), long[:, : most + 1])


@pytest.mark.parametrize("use_cache", [False, True])
def test_no_new_tokens_is_bos_alone(use_cache):
    src = batch_of()
    assert greedy_decode(lively(), src, max_new_tokens=0, use_cache=use_cache).tolist() == [[BOS]] * 4
    ids, scores = beam_search(lively(), src, num_beams=3, max_new_tokens=0)
    assert ids.tolist() == [[[BOS]] * 3] * 4 and scores.tolist() == [[0.0] * 3] * 4
    assert sample(lively(), src, max_new_tokens=0).tolist() == [[BOS]] * 4


def test_ids_of_its_own_choice_may_be_anything():
    model = lively(pad_id=3, bos_id=5, eos_id=7)
    with torch.no_grad():
        model.output_linear.bias[7] += 1.5
        model.output_linear.bias[3] -= 30
    src = batch_of().masked_fill(batch_of() == 3, 9)
    src[1, 3:] = 3
    ids = greedy_decode(model, src, max_new_tokens=7)
    assert (ids[:, 0] == 5).all()
    for row, found in zip(src, ids, strict=True):
        right, _ = model_reference.greedy(parameters_of(model), array(row), model.config, 7)
        assert found.tolist() == right + [3] * (len(found) - len(right))


def test_the_longest_target_that_has_positions():
    model = lively(eos=-20.0, max_len=6)
    assert greedy_decode(model, sources(), max_new_tokens=6).shape == (2, 7)
    assert greedy_decode(model, sources(), max_new_tokens=6, use_cache=False).shape == (2, 7)
    assert beam_search(model, sources(), num_beams=2, max_new_tokens=6)[0].shape == (2, 2, 7)
    unbounded = lively(eos=-20.0, max_len=3, position="none")
    assert greedy_decode(unbounded, sources(), max_new_tokens=40).shape == (2, 41)


# ------------------------------------------------------------------ beam search


def sequences(ids: Tensor) -> list[tuple[int, ...]]:
    """Each beam's ids without the padding after eos."""
    rows = [row.tolist() for row in ids.reshape(-1, ids.shape[-1])]
    return [tuple(row[: row.index(EOS) + 1] if EOS in row else row) for row in rows]


@both_norms
def test_one_beam_without_penalty_is_greedy(norm_first):
    for seed in range(12):
        model, src = lively(seed, norm_first=norm_first), batch_of(seed)
        ids, scores = beam_search(model, src, num_beams=1, max_new_tokens=6, length_penalty=0.0)
        assert ids.shape[1] == 1 and scores.shape == (4, 1)
        assert torch.equal(ids[:, 0], greedy_decode(model, src, max_new_tokens=6))


def compare_with_brute_force(model: Transformer, src: Tensor, num_beams: int, penalty: float) -> set[int]:
    """Asserts ids and scores equal to those of a search that never stops early; returns the lengths it found."""
    lengths = set()
    ids, scores = beam_search(model, src, num_beams=num_beams, max_new_tokens=5, length_penalty=penalty)
    assert ends(ids)
    for b, row in enumerate(src):
        right = model_reference.beam(parameters_of(model), array(row), model.config, num_beams, 5, penalty)
        assert sequences(ids[b]) == [beginning for _, beginning in right]
        close(scores[b], torch.tensor([score for score, _ in right], dtype=torch.float64), 1e-9)
        lengths |= {len(beginning) for _, beginning in right}
    return lengths


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("num_beams", [2, 3, 7])
def test_beams_are_those_of_brute_force_without_early_stopping(num_beams, penalty):
    lengths = set()
    for seed in range(3):
        model = lively(seed, norm_first=bool(seed % 2))
        lengths |= compare_with_brute_force(model, batch_of(seed, rows=3), num_beams, penalty)
    assert len(lengths) >= 3 or penalty > 1


@pytest.mark.parametrize(("num_beams", "eos", "penalty"), [(3, 2.0, 0.6), (3, 2.0, 1.0), (2, 4.0, 2.0)])
def test_beams_of_one_model_are_those_of_brute_force(num_beams, eos, penalty):
    assert len(compare_with_brute_force(lively(0, eos=eos), batch_of(0, rows=3), num_beams, penalty)) >= 2


@pytest.mark.parametrize("penalty", PENALTIES)
def test_as_many_beams_as_words_find_the_best_of_all_targets_of_two_tokens(penalty):
    model, src = lively(3), sources()
    ids, scores = beam_search(model, src, num_beams=V, max_new_tokens=2, length_penalty=penalty)
    for b, row in enumerate(src):
        right = model_reference.best_endings(parameters_of(model), array(row), model.config, 2, penalty)
        assert sequences(ids[b])[0] == right[0][1]
        close(scores[b, 0], torch.tensor(right[0][0], dtype=torch.float64), 1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_wide_beam_finds_the_best_of_all_targets(penalty):
    """Only three words and eos are likely, so that 29 beams hold all 27 beginnings of three tokens."""
    model = lively(2, eos=0.5, tgt_vocab_size=29)
    words, src = (EOS, 5, 6, 7), batch_of(2, rows=3)
    with torch.no_grad():
        model.output_linear.bias[[v for v in range(29) if v not in words]] -= 60.0
    ids, scores = beam_search(model, src, num_beams=29, max_new_tokens=4, length_penalty=penalty)
    for b, row in enumerate(src):
        right = model_reference.best_endings(parameters_of(model), array(row), model.config, 4, penalty, words)
        assert len(right) == 1 + 3 + 9 + 27 + 81
        assert sequences(ids[b])[:3] == [ids for _, ids in right[:3]]
        close(scores[b, :3], torch.tensor([score for score, _ in right[:3]], dtype=torch.float64), 1e-9)


@settings(max_examples=25)
@given(
    seed=seeds,
    num_beams=st.integers(1, V),
    most=st.integers(1, 7),
    penalty=st.sampled_from(PENALTIES),
    norm_first=st.booleans(),
)
def test_every_score_is_that_of_its_ids_and_the_best_comes_first(seed, num_beams, most, penalty, norm_first):
    """The one check that sees a cache that did not follow its beams."""
    model, src = lively(seed % 100, norm_first=norm_first), batch_of(seed, rows=2)
    ids, scores = beam_search(model, src, num_beams=num_beams, max_new_tokens=most, length_penalty=penalty)
    assert ids.shape[:2] == scores.shape == (2, num_beams) and ids.shape[2] <= 1 + most
    assert ends(ids) and scores.isfinite().all()
    assert (scores[:, :-1] >= scores[:, 1:]).all()
    for b in range(2):
        assert len(set(sequences(ids[b]))) == num_beams
        for k in (0, num_beams // 2, num_beams - 1):
            log_p, length = model_reference.log_probability(
                parameters_of(model), array(src[b]), array(ids[b, k]), model.config
            )
            assert abs(scores[b, k].item() - log_p / length**penalty) < 1e-9


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_sentence_alone_has_the_beams_it_has_in_a_batch(penalty):
    model, src = lively(5), batch_of(5)
    ids, scores = beam_search(model, src, num_beams=4, max_new_tokens=6, length_penalty=penalty)
    for b in range(4):
        alone, alone_scores = beam_search(model, src[b : b + 1], num_beams=4, max_new_tokens=6, length_penalty=penalty)
        assert sequences(alone) == sequences(ids[b])
        close(alone_scores[0], scores[b], 1e-10)


def test_scores_in_float32():
    right = beam_search(lively(1), batch_of(), num_beams=3, max_new_tokens=6)
    ids, scores = beam_search(lively(1, dtype=torch.float32), batch_of(), num_beams=3, max_new_tokens=6)
    assert torch.equal(ids, right[0]) and scores.dtype == torch.float32
    close(scores, right[1], 1e-5)


@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_half_precision_scores_are_summed_in_float32(dtype):
    model, src = lively(1, dtype=dtype), batch_of()
    ids, scores = beam_search(model, src, num_beams=3, max_new_tokens=6)
    assert scores.dtype == torch.float32 and ends(ids) and scores.isfinite().all()
    assert ends(sample(model, src, max_new_tokens=6, top_k=5, top_p=0.9))
    assert ends(greedy_decode(model, src, max_new_tokens=6))


def test_a_larger_penalty_prefers_longer_targets():
    def mean_length(penalty):
        model = lively(4, eos=2.0)
        best = beam_search(model, batch_of(4), num_beams=6, max_new_tokens=8, length_penalty=penalty)[0][:, 0]
        return (best != PAD).sum(-1).double().mean().item()

    found = [mean_length(penalty) for penalty in (-1.0, 0.0, 1.0, 3.0)]
    assert found == sorted(found) and found[0] < found[-1]


def test_a_target_that_holds_the_pad_token_keeps_its_length():
    """Nothing forbids a model to write pad; the ids must still be those that were scored."""
    model = model_of()
    with torch.no_grad():
        model.output_linear.bias[PAD] += 20.0
    ids, scores = beam_search(model, sources(), num_beams=1, max_new_tokens=4)
    assert ids.tolist() == [[[BOS, PAD, PAD, PAD, PAD]]] * 2
    for b in range(2):
        log_p, length = model_reference.log_probability(
            parameters_of(model), array(sources()[b]), array(ids[b, 0]), model.config
        )
        assert length == 4 and abs(scores[b, 0].item() - log_p / 4) < 1e-9
    same = model_of(bos_id=PAD)
    assert beam_search(same, sources(), num_beams=2, max_new_tokens=0)[0].tolist() == [[[PAD]] * 2] * 2


def test_beams_stop_when_nothing_can_overtake_the_endings_held():
    """Every sentence ends at once, so that the other beams cannot catch up: one more step is enough."""
    model = Scripted(lambda _, beginning: says(EOS) if len(beginning) == 1 else says(9, 1.0))
    ids, scores = beam_search(model, sources(), num_beams=1, max_new_tokens=8, length_penalty=0.0)
    assert ids.tolist() == [[[BOS, EOS]]] * 2
    assert model.calls == 1
    close(scores, torch.zeros(2, 1), 1e-6)


def test_beams_go_on_while_a_longer_target_may_overtake_the_worst_ending_held():
    """With a penalty of -1 a sum counts times its length: -1.96 · 2 is held, -1.02 · 3 overtakes it, -1.02 · 4 would not."""
    likely = {(BOS,): {EOS: 0.5, 9: 0.5}, (BOS, 9): {8: 0.72, EOS: 0.28}, (BOS, 9, 8): {EOS: 1.0}}

    def script(_, beginning):
        logits = torch.full((V,), -40.0, dtype=torch.float64)
        for token, p in likely.get(tuple(beginning), {9: 1.0}).items():
            logits[token] = math.log(p)
        return logits

    ids, scores = beam_search(Scripted(script), sources(), num_beams=2, max_new_tokens=8, length_penalty=-1.0)
    assert [sequences(beams) for beams in ids] == [[(BOS, EOS), (BOS, 9, 8, EOS)]] * 2
    close(scores, torch.tensor([[math.log(0.5), 3 * math.log(0.36)]] * 2, dtype=torch.float64), 1e-9)


def test_beams_change_places_without_moving_the_keys_of_their_sources(monkeypatch):
    reorder, moved = KVCache.reorder, []
    monkeypatch.setattr(KVCache, "reorder", lambda cache, index: (moved.append(cache.fixed), reorder(cache, index)))
    beam_search(lively(), batch_of(), num_beams=2, max_new_tokens=3)
    assert moved and not any(moved)


# ------------------------------------------------------------------ sampling


def p_value(counts: Tensor, expected: Tensor) -> float:
    """Probability that chance alone is as far from the expected counts (chi-square); rare cells are put together."""
    rare = expected < 10
    if rare.any():
        counts = torch.cat([counts[~rare], counts[rare].sum()[None]])
        expected = torch.cat([expected[~rare], expected[rare].sum()[None]])
    counts, expected = counts[expected > 0], expected[expected > 0]
    statistic = ((counts - expected) ** 2 / expected).sum()
    freedom = torch.tensor((len(expected) - 1) / 2, dtype=torch.float64)
    return torch.special.gammaincc(freedom, statistic / 2).item()


def draws(model: Transformer, count: int, length: int = 1, **options) -> Tensor:
    """The tokens [count, length] of many samples of one source, without bos."""
    src = sources()[:1].expand(count, -1)
    generator = torch.Generator().manual_seed(11)
    return sample(model, src, max_new_tokens=length, generator=generator, **options)[:, 1:]


def probabilities(model: Transformer, temperature: float = 1.0, beginning: tuple[int, ...] = (BOS,)) -> Tensor:
    """softmax(logits / temperature) after a beginning of the first source, by the reference."""
    logits, _ = model_reference.transformer(
        parameters_of(model), array(sources()[:1]), array(torch.tensor([beginning])), model.config
    )
    return torch.from_numpy(logits[0, -1] / temperature).softmax(-1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.slow
def test_50_000_draws_follow_the_softmax(temperature):
    model = lively(1)
    counts = draws(model, 50_000, temperature=temperature).flatten().bincount(minlength=V)
    right = probabilities(model, temperature)
    assert p_value(counts, 50_000 * right) > 1e-4
    assert p_value(counts, 50_000 * probabilities(model, 1.3 * temperature)) < 1e-4  # it can tell


@pytest.mark.slow
def test_pairs_of_tokens_follow_the_softmax_of_each_beginning():
    """The second token is drawn given the first, from the cache."""
    model = lively(1, eos=-30.0)
    pairs = draws(model, 50_000, length=2)
    first = probabilities(model)
    right = torch.stack([first[v] * probabilities(model, 1.0, (BOS, v)) for v in range(V)])
    counts = (V * pairs[:, 0] + pairs[:, 1]).bincount(minlength=V * V)
    assert p_value(counts, 50_000 * right.flatten()) > 1e-4
    assert p_value(counts, 50_000 * (first[:, None] * first).flatten()) < 1e-4


@pytest.mark.parametrize("temperature", [0.7, 2.0])
@pytest.mark.parametrize("top_k", [1, 2, 5, V, V + 3])
@pytest.mark.slow
def test_top_k_draws_from_the_k_likeliest_and_nothing_else(top_k, temperature):
    model = lively(1)
    right = probabilities(model, temperature)
    kept = right.topk(min(top_k, V)).indices
    counts = draws(model, 20_000, top_k=top_k, temperature=temperature).flatten().bincount(minlength=V)
    outside = torch.ones(V, dtype=torch.bool)
    outside[kept] = False
    assert (counts[outside] == 0).all()
    assert p_value(counts[kept], 20_000 * right[kept] / right[kept].sum()) > 1e-4 or top_k == 1


@pytest.mark.parametrize("top_p", [1e-9, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.slow
def test_top_p_draws_from_the_smallest_likeliest_set_and_nothing_else(top_p):
    model = lively(1)
    right = probabilities(model)
    ordered, place = right.sort(descending=True)
    size = next(n for n in range(1, V + 1) if ordered[:n].sum() >= top_p)
    kept = place[:size]
    counts = draws(model, 20_000, top_p=top_p).flatten().bincount(minlength=V)
    outside = torch.ones(V, dtype=torch.bool)
    outside[kept] = False
    assert (counts[outside] == 0).all()
    likely = kept[right[kept] > 1e-3]
    assert (counts[likely] > 0).all()
    assert p_value(counts[kept], 20_000 * right[kept] / right[kept].sum()) > 1e-4 or size == 1


def test_limits_keep_exactly_the_likeliest():
    """The short form of the two tests above: which tokens are drawn, not how often."""
    model = lively(1)
    ordered, place = probabilities(model, 2.0).sort(descending=True)
    for k in (1, 2, 5):
        assert set(draws(model, 2000, top_k=k, temperature=2.0).flatten().tolist()) == set(place[:k].tolist())
    for n in (1, 2, 5):
        top_p = (ordered[: n - 1].sum() + 0.4 * ordered[n - 1]).item()  # less than half of the last one's share is needed
        assert set(draws(model, 2000, top_p=top_p, temperature=2.0).flatten().tolist()) == set(place[:n].tolist())


def test_top_p_counts_within_top_k():
    model = lively(1)
    three = probabilities(model).topk(3)
    share = (three.values[0] / three.values.sum()).item()
    counts = draws(model, 20_000, top_k=3, top_p=share + 1e-6).flatten().bincount(minlength=V)
    assert counts.nonzero().flatten().tolist() == sorted(three.indices[:2].tolist())


def test_limits_that_limit_nothing():
    model, src = lively(1, dtype=torch.float32), batch_of()
    right = sample(model, src, max_new_tokens=6, generator=torch.Generator().manual_seed(3))
    for options in ({"top_k": V}, {"top_k": 10**6}, {"top_p": 1.0}, {"top_p": 1, "top_k": V}):
        assert torch.equal(
            sample(model, src, max_new_tokens=6, generator=torch.Generator().manual_seed(3), **options), right
        )


def test_top_p_of_one_keeps_the_rarest_token():
    """In float32 the probabilities before the last token may add up to more than 1."""
    flat = torch.zeros(V, dtype=torch.float64)
    flat[4:] = -17.0
    model = Scripted(lambda *_: flat.float())
    ids = sample(model, sources()[:1].expand(2000, -1), max_new_tokens=1, top_p=1.0, temperature=20.0)
    assert len(ids[:, 1].unique()) == V


@pytest.mark.parametrize("temperature", [0, 0.0, 1e-6, 1e-30, 1e-300])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_no_temperature_is_greedy_and_next_to_none_too(temperature, dtype):
    model, src = lively(2, dtype=dtype), batch_of(2)
    assert torch.equal(
        sample(model, src, max_new_tokens=6, temperature=temperature), greedy_decode(model, src, max_new_tokens=6)
    )


@pytest.mark.parametrize("temperature", [1e-30, 1e-38, 1e-300])
def test_large_logits_at_next_to_no_temperature(temperature):
    model = Scripted(lambda *_: says(7, 1e4).float() - 5e3)
    assert sample(model, sources(), max_new_tokens=2, temperature=temperature).tolist() == [[BOS, 7, 7]] * 2


def test_an_endless_temperature_makes_all_tokens_equal():
    counts = draws(lively(1), 20_000, temperature=float("inf")).flatten().bincount(minlength=V)
    assert p_value(counts, torch.full((V,), 20_000 / V, dtype=torch.float64)) > 1e-4


def test_a_generator_decides_alone():
    model, src = lively(1, eos=-5.0), batch_of()
    state = torch.get_rng_state()
    first, again, other = (
        sample(model, src, max_new_tokens=8, generator=torch.Generator().manual_seed(n)) for n in (1, 1, 2)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(5)
    first = sample(model, src, max_new_tokens=8)
    torch.manual_seed(5)
    assert torch.equal(sample(model, src, max_new_tokens=8), first)
    assert not torch.equal(sample(model, src, max_new_tokens=8), first)


def test_samples_end_like_other_targets():
    ids = sample(lively(1), batch_of(rows=30), max_new_tokens=8, generator=torch.Generator().manual_seed(0))
    assert ends(ids) and len({len(s) for s in sequences(ids)}) >= 4


# ------------------------------------------------------------------ the model afterwards

SEARCHES = {
    "greedy": partial(greedy_decode, max_new_tokens=6),
    "greedy without cache": partial(greedy_decode, max_new_tokens=6, use_cache=False),
    "beams": lambda model, src: beam_search(model, src, num_beams=3, max_new_tokens=6)[0],
    "sample": lambda model, src: sample(
        model, src, max_new_tokens=6, generator=torch.Generator().manual_seed(0), top_k=7
    ),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


@every_search
@pytest.mark.parametrize("training", [False, True])
def test_dropout_is_off_and_every_mode_comes_back(search, training):
    model, src = lively(dropout=0.5), batch_of()
    right = search(lively(), src)
    model.train(training)
    model.decoder.layers[0].train(not training)
    before = {name: module.training for name, module in model.named_modules()}
    assert torch.equal(search(model, src), right) and torch.equal(search(model, src), right)
    assert {name: module.training for name, module in model.named_modules()} == before


@every_search
def test_modes_come_back_after_an_exception_and_the_next_call_is_not_disturbed(search):
    model, src = lively(dropout=0.5), batch_of()
    right = search(model, src)
    model.encoder.eval()
    before = {name: module.training for name, module in model.named_modules()}
    for part in (model.encoder.layers[0], model.decoder.layers[1].cross_attn, model.output_linear):
        with breaks_off(part), pytest.raises(InterruptedError):
            search(model, src)
        assert {name: module.training for name, module in model.named_modules()} == before
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    assert torch.equal(search(model, src), right)


@every_search
def test_calls_leave_nothing_behind_for_the_next(search):
    model = lively(6)
    first, second = batch_of(1), batch_of(2, rows=3)[:, :4]
    right = search(lively(6), second)
    before = search(model, first)
    assert torch.equal(search(model, second), right)
    assert torch.equal(search(model, first), before)


@every_search
def test_no_graph_is_built_and_the_result_may_be_trained_on(search):
    model, src, seen = lively(), batch_of(), []
    model.decoder.register_forward_hook(lambda _m, _a, out: seen.append(out.is_inference() and not out.requires_grad))
    ids = search(model, src)
    assert seen and all(seen)
    assert not ids.is_inference() and ids.dtype == torch.int64 and ids.is_contiguous()
    ids = ids if ids.dim() == 2 else ids[:, 0]
    F.cross_entropy(model(src, ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    ids[:, 0] = PAD  # it may be written to
    assert all(not p.is_inference() for p in model.parameters())


@pytest.mark.slow
def test_memory_stays_flat_over_200_steps():
    """Every 50th step all tensors alive are weighed; the cache has taken its memory before."""
    model, steps, weights = lively(eos=-30.0, max_len=256), itertools.count(1), []

    def weigh(*_):
        if next(steps) % 50 == 0:
            storages = [x.untyped_storage() for x in gc.get_objects() if type(x) is Tensor]
            weights.append(sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values()))

    model.output_linear.register_forward_hook(weigh)
    assert greedy_decode(model, batch_of(), max_new_tokens=250).shape == (4, 251)
    assert (
        len(weights) == 5 and max(weights) - min(weights) < 4096
    )  # tensors of the moment; a step of the cache has 768


@every_search
def test_the_source_is_encoded_once(search):
    model, calls = lively(), []
    model.encoder.register_forward_hook(lambda *_: calls.append(1))
    search(model, batch_of())
    assert calls == [1]


# ------------------------------------------------------------------ misuse

TOO_LONG = "sequence of 24 is longer than max_len 23 (build the model with max_len >= 24)"
MISUSES = {
    "a negative number of tokens": ({"max_new_tokens": -1}, ValueError, "max_new_tokens must be at least 0, got -1"),
    "half a token": ({"max_new_tokens": 2.5}, TypeError, "max_new_tokens must be an int, got float (2.5)"),
    "yes for a number": ({"max_new_tokens": True}, TypeError, "max_new_tokens must be an int, got bool (True)"),
    "more tokens than positions": ({"max_new_tokens": 24}, ValueError, TOO_LONG),
    "a source that is too long": ({"src": token_ids(2, 24, vocab_size=19)}, ValueError, TOO_LONG),
    "an empty source": (
        {"src": sources()[:, :0]},
        ValueError,
        "src is empty (shape (2, 0)); at least one token is needed",
    ),
    "no source": ({"src": sources()[:0]}, ValueError, "src is empty (shape (0, 5)); at least one token is needed"),
    "a source without a batch axis": ({"src": sources()[0]}, ValueError, "ids must be [batch, length], got (5,)"),
    "a source of numbers": ({"src": sources().float()}, TypeError, "ids must be token ids (integers), got float32"),
    "an id out of range": (
        {"src": torch.tensor([[4, 19]])},
        ValueError,
        "token id 19 at [0, 1] is out of range for a vocabulary of 19",
    ),
    "a negative id": (
        {"src": torch.tensor([[4, 1], [3, -2]])},
        ValueError,
        "token id -2 at [1, 1] is out of range for a vocabulary of 19",
    ),
}
BEAM_MISUSES = {
    "no beam": ({"num_beams": 0}, ValueError, "num_beams must be at least 1, got 0"),
    "more beams than words": ({"num_beams": 18}, ValueError, "num_beams must be 1..17 (the target vocabulary), got 18"),
    "half a beam": ({"num_beams": 2.5}, TypeError, "num_beams must be an int, got float (2.5)"),
    "a penalty that is no number": (
        {"length_penalty": float("nan")},
        ValueError,
        "length_penalty must be a finite number, got nan",
    ),
    "an endless penalty": ({"length_penalty": float("inf")}, ValueError, "must be a finite number, got inf"),
}
SAMPLE_MISUSES = {
    "a negative temperature": (
        {"temperature": -1.0},
        ValueError,
        "temperature must be at least 0 (0 is greedy), got -1.0",
    ),
    "a temperature that is no number": ({"temperature": float("nan")}, ValueError, "temperature must be at least 0"),
    "the 0 likeliest": ({"top_k": 0}, ValueError, "top_k must be at least 1, or None for all tokens, got 0"),
    "no probability": ({"top_p": 0.0}, ValueError, "top_p must be above 0 and at most 1, got 0.0"),
    "more than all": ({"top_p": 1.5}, ValueError, "top_p must be above 0 and at most 1, got 1.5"),
    "a share that is no number": ({"top_p": float("nan")}, ValueError, "top_p must be above 0 and at most 1, got nan"),
}
CALLS = [
    *[(greedy_decode, name, {}, *case) for name, case in MISUSES.items()],
    *[(greedy_decode, name, {"use_cache": False}, *case) for name, case in MISUSES.items()],
    *[(beam_search, name, {"num_beams": 2}, *case) for name, case in (MISUSES | BEAM_MISUSES).items()],
    *[(sample, name, {}, *case) for name, case in (MISUSES | SAMPLE_MISUSES).items()],
]
FINDING_PADDING = {"ne", "unsqueeze", "all", "slice"}  # looks at the source before anything is computed from it


@pytest.mark.parametrize(
    ("search", "name", "fixed", "changes", "error", "words"), CALLS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_misuse_raises_the_documented_words_before_anything_is_computed(search, name, fixed, changes, error, words):
    arguments = {"src": sources(), "max_new_tokens": 3} | fixed | changes
    src, model = arguments.pop("src"), lively()
    said, computed = refusal(partial(search, model, src, **arguments), error)
    assert words in said
    assert set(computed) <= FINDING_PADDING
    assert model.training


# ------------------------------------------------------------------ on a GPU


class TestCuda:
    pytestmark = needs_cuda

    @every_search
    @both_norms
    def test_the_same_ids_as_on_the_cpu(self, search, norm_first):
        if search is SEARCHES["sample"]:
            search = partial(sample, max_new_tokens=6, temperature=0)
        model, src = lively(norm_first=norm_first), batch_of()
        right = search(model, src)
        found = search(model.cuda(), src.cuda())
        assert found.is_cuda and torch.equal(found.cpu(), right)

    def test_a_generator_of_the_gpu(self):
        model, src = lively(1).cuda(), batch_of().cuda()
        first, again = (
            sample(model, src, max_new_tokens=6, generator=torch.Generator("cuda").manual_seed(1)) for _ in range(2)
        )
        assert torch.equal(first, again) and ends(first.cpu())


def test_the_recorder_sees_what_a_search_computes():
    with KernelRecorder() as kernels:
        greedy_decode(lively(), sources(), max_new_tokens=1)
    assert {"embedding", "scaled_dot_product_attention"} <= set(kernels.computed)
