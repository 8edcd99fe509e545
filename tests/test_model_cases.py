"""Small inputs on which public code for whole models, caches and generation went wrong, with the right answer written out.

Each test names the mistake and where it was reported. Where the usual wrong value is known, the test also shows that it is
far from the right one. `tests.test_cases` does the same for the parts.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import transformer_lab
from transformer_lab import TINY, DecoderCache, KVCache, Transformer, padding_mask, scaled_dot_product_attention
from transformer_lab.generation import beam_search, greedy_decode, sample

from . import model_reference
from .model_support import breaks_off, cache_of, step_by_step
from .support import array, close, parameters_of, torch_func_is_slow
from .test_cases import wave
from .test_generation import Scripted, lively, says

SRC = torch.tensor([[4, 7, 9, 0, 0], [3, 5, 6, 8, 10]])  # pad is 0
TGT = torch.tensor([[1, 6, 4, 9, 12, 3]])
T = 6
CHUNKS = [(6,), (1,) * 6, (2, 4), (2, 1, 3), (5, 1)]

# Logits of the second source at each position of TGT, from the formulas in float64, by another program.
LOGITS = torch.tensor(
    [
        [-0.3040109055, -0.5890330687, -0.3544271347, 0.0354729628, 0.4275110762, 0.2975991415, -0.1017143577]
        + [-0.5274082101, -0.5363545197, -0.0855419251, 0.5636065404, 0.3092549912, -0.2367835979],
        [-0.1765622726, 0.2010296689, 0.55331539, 0.30371432, -0.0424488539, -0.1677200197, -0.0020132852]
        + [0.2078045749, 0.4030866648, 0.2527003515, 0.1440118216, -0.2077464619, -0.1736240491],
        [-0.5411901434, -2.1843800918, -1.6872258089, 0.2199565866, 1.7954183602, 1.7372983396, -0.1842062996]
        + [-2.0573113192, -1.9811106708, -0.0162447753, 1.8630060061, 1.7954461663, -0.1556858195],
        [0.3545630365, -1.6622273957, -2.2320180221, -0.8859614194, 0.9602285822, 1.7750181143, 0.6722396161]
        + [-1.4538252416, -2.443479796, -1.1256780884, 0.9910781056, 1.7499345783, 0.6532118421],
        [-0.2828236055, -0.2456748811, 0.0739183574, 0.2213471739, 0.285024668, 0.07267715, -0.0966266834]
        + [-0.2099852326, -0.0942684272, 0.1251262171, 0.4482754907, 0.0702652401, -0.2526206108],
        [-0.2372879721, -1.8593531586, -1.7956389178, -0.1512121206, 1.4188976252, 1.5242708615, 0.0699352447]
        + [-1.6983616734, -2.0487341504, -0.3943372577, 1.489974383, 1.565797144, 0.044602505],
    ],
    dtype=torch.float64,
)
# The first source, whose last two tokens are padding, at the first and the last position.
PADDED_LOGITS = torch.tensor(
    [
        [-0.0001556135, -0.3308877086, -0.2695414783, 0.072741689, 0.4839685683, 0.4653241929, 0.2042383166]
        + [-0.2545283488, -0.4323838098, -0.0568272497, 0.6268893115, 0.456774738, 0.0619991007],
        [0.2813669307, 1.753338902, 1.7118387995, 0.2735474377, -1.5827039647, -1.5542974709, 0.3037881459]
        + [1.7550210272, 1.6257594162, 0.3212518781, -1.2663622635, -1.7123143549, -0.0305463926],
    ],
    dtype=torch.float64,
)


def tiny(**changes) -> Transformer:
    """One layer on each side, d_model 8, 2 heads (d_k 4), with weights written as waves."""
    model = Transformer(replace(TINY, dropout=0.0, **changes)).double().eval()
    d, d_ff = 8, 12

    def attention(name, k):
        return {
            f"{name}.W_{part}.{kind}": wave(*size, k=k + i + more, scale=scale)
            for i, part in enumerate("qkvo")
            for kind, size, more, scale in (("weight", (d, d), 0, 0.8), ("bias", (d,), 40, 0.1))
        }

    def norm(name, k):
        return {f"{name}.norm.weight": 1 + wave(d, k=k, scale=0.2), f"{name}.norm.bias": wave(d, k=k + 1, scale=0.2)}

    def feed_forward(name, k):
        return {
            f"{name}.linear1.weight": wave(d_ff, d, k=k),
            f"{name}.linear1.bias": wave(d_ff, k=k + 1, scale=0.1),
            f"{name}.linear2.weight": wave(d, d_ff, k=k + 2),
            f"{name}.linear2.bias": wave(d, k=k + 3, scale=0.1),
        }

    encoder, decoder = "encoder.layers.0", "decoder.layers.0"
    weights = {"encoder.embedding.weight": wave(11, d, k=70), "decoder.embedding.weight": wave(13, d, k=71)}
    weights |= attention(f"{encoder}.self_attn", 1) | norm(f"{encoder}.add_norm1", 20)
    weights |= feed_forward(f"{encoder}.ffn", 22) | norm(f"{encoder}.add_norm2", 26)
    weights |= attention(f"{decoder}.self_attn", 5) | norm(f"{decoder}.add_norm1", 28)
    weights |= attention(f"{decoder}.cross_attn", 9) | norm(f"{decoder}.add_norm2", 30)
    weights |= feed_forward(f"{decoder}.ffn", 32) | norm(f"{decoder}.add_norm3", 36)
    weights |= {"output_linear.weight": wave(13, d, k=80), "output_linear.bias": wave(13, k=81, scale=0.1)}
    model.load_state_dict(weights)
    return model


# ------------------------------------------------------------------ masks


@pytest.mark.parametrize("extra", [0, 1, 4, 40])
def test_m7_cross_attention_does_not_look_at_source_padding(extra):
    """joeynmt/joeynmt#151, andrewpeng02/transformer-translation#1, and the article."""
    model, tgt = tiny(), TGT.expand(2, -1)
    logits = model(F.pad(SRC, (0, extra)), tgt)
    close(logits[0, [0, 5]], PADDED_LOGITS, 1e-9)
    close(logits[1], LOGITS, 1e-9)
    close(logits[:1], model(SRC[:1, :3], TGT), 1e-10)
    memory, mask = model.encode(SRC), padding_mask(SRC, 0)
    leak = model.output(model.decode(tgt, memory)) - model.output(model.decode(tgt, memory, src_mask=mask))
    close(leak[0].abs().max(), torch.tensor(0.7257693166, dtype=torch.float64), 1e-9)


@torch_func_is_slow
@pytest.mark.parametrize("chunks", CHUNKS)
def test_m8_the_decoder_sees_no_future_cached_or_not(chunks):
    """jadore801120/attention-is-all-you-need-pytorch#19."""
    model = tiny()
    memory = model.encode(SRC[1:])
    x = model.decoder.pos_encoding(model.decoder.embedding(TGT)).detach()[0]

    def whole(one):
        return model.decoder.layers[0](one[None], memory)[0]

    jacobian = torch.func.jacrev(whole)(x).abs().amax(dim=(1, 3))
    assert (jacobian.triu(1) == 0).all() and (jacobian.diagonal() > 1e-3).all()
    for changed_from in range(1, T):  # what was cached before a change cannot depend on it
        changed = TGT.clone()
        changed[:, changed_from:] = 11
        memory, cache = cache_of(model, SRC[1:], T)
        out = step_by_step(model, changed, memory, cache, chunks)
        close(out[0, :changed_from], LOGITS[:changed_from], 1e-9)
        assert (out[0, changed_from] - LOGITS[changed_from]).abs().max() > 1e-3


# ------------------------------------------------------------------ cache


@pytest.mark.parametrize("chunks", CHUNKS)
def test_k1_and_k2_every_step_and_every_chunk_has_its_own_positions_and_mask(chunks):
    """mosaicml/examples!244 and the article; meta-llama/llama#899, rasbt/LLMs-from-scratch!697."""
    model = tiny()
    close(model(SRC[1:], TGT)[0], LOGITS, 1e-9)
    memory, cache = cache_of(model, SRC[1:], T)
    found = step_by_step(model, TGT, memory, cache, chunks)
    close(found[0], LOGITS, 1e-9)
    close(found, model(SRC[1:], TGT), 1e-12)


def test_k1_position_zero_at_every_step_agrees_at_the_first_step_only():
    """With the article's loop the steps differ by 0.06 to 0.58 and two of six tokens change."""
    model = tiny()
    memory, cache = cache_of(model, SRC[1:], T)
    model.decoder.pos_encoding.register_forward_pre_hook(lambda _m, args, _k: (args, {"start": 0}), with_kwargs=True)
    wrong = step_by_step(model, TGT, memory, cache, (1,) * T)[0]
    off = (wrong - LOGITS).abs().amax(-1)
    expected = [0.0, 0.061680485, 0.270457108, 0.260232659, 0.498381876, 0.576883624]
    close(off, torch.tensor(expected, dtype=torch.float64), 1e-8)
    assert wrong.argmax(-1).tolist() == [10, 2, 11, 5, 2, 11] and LOGITS.argmax(-1).tolist() == [10, 2, 10, 5, 10, 11]


def test_k3_the_cross_cache_stays_and_its_keys_are_projected_once():
    """lucidrains/x-transformers#311, #219."""
    model, calls = tiny(), []
    model.decoder.layers[0].cross_attn.W_k.register_forward_hook(lambda *_: calls.append(1))
    memory, cache = cache_of(model, SRC[1:], T)
    lengths = []
    for t in range(T):
        model.decode(TGT[:, t : t + 1], memory, cache=cache)
        lengths.append([one.length for one in cache.layers[0]])
    assert lengths == [[t, 5] for t in range(1, 7)]
    assert calls == [1]


@pytest.mark.parametrize("use_cache", [False, True])
def test_k4_a_second_call_carries_nothing_of_the_first(use_cache):
    """Lightning-AI/litgpt!1596, casper-hansen/AutoAWQ#170; also after a call that broke off."""
    model, first, second = lively(), torch.tensor([[4, 7, 9, 11, 2, 8, 3]]), torch.tensor([[5, 6, 3]])

    def write(own, src):
        return greedy_decode(own, src, max_new_tokens=7, use_cache=use_cache)

    before, fresh = write(model, first), write(lively(), second)
    assert torch.equal(write(model, second), fresh)
    with breaks_off(model.decoder.layers[1].ffn), pytest.raises(InterruptedError):
        write(model, first)
    assert torch.equal(write(model, second), fresh)
    assert torch.equal(write(model, first), before)


def test_k5_rows_of_the_cache_move_with_the_beams():
    """huggingface/transformers#46612, #28357: kept beams 2, 0, 0 of three."""
    keys, values, query = wave(3, 1, 2, 2, k=1), wave(3, 1, 2, 2, k=2), wave(3, 1, 1, 2, k=3)
    right = [0.14714569330029661, -0.052966087174467186, -0.026569011662441577]
    right += [-0.0371709850378535, -0.07718498011192282, -0.015193618197501382]
    cache = KVCache(3, 1, 2, 2, dtype=torch.float64)
    cache.append(keys, values)
    left_in_place, _ = scaled_dot_product_attention(query, cache.keys, cache.values)
    whole = DecoderCache([(cache, cache)])
    whole.reorder(torch.tensor([2, 0, 0]), same_source=True)
    found, _ = scaled_dot_product_attention(query, cache.keys, cache.values)
    close(found.flatten(), torch.tensor(right, dtype=torch.float64), 1e-14)
    assert (left_in_place - found).abs().max() > 0.1 and cache.length == 2


# ------------------------------------------------------------------ generation


@pytest.mark.parametrize("use_cache", [False, True])
def test_g1_rows_end_at_different_steps(use_cache):
    """huggingface/transformers#31261, lucidrains/h-transformer-1d#9: an ended row stays silent, the others go on."""
    config = replace(TINY, eos_id=3, tgt_vocab_size=17)
    script = {4: [5, 3, 9, 9, 9, 9], 6: [6, 7, 8, 3, 9, 9]}
    model = Scripted(lambda source, beginning: says(script[source[0]][len(beginning) - 1]), config)
    src = torch.tensor([[4, 5], [6, 5]])
    ids = greedy_decode(model, src, max_new_tokens=6, use_cache=use_cache)
    assert ids[:, 1:].tolist() == [[5, 3, 0, 0], [6, 7, 8, 3]]
    assert model.calls == 4
    for b, right in enumerate(([5, 3], [6, 7, 8, 3])):
        assert greedy_decode(model, src[b : b + 1], max_new_tokens=6)[0, 1:].tolist() == right


@pytest.mark.parametrize("num_beams", [1, 2, 3])
def test_g2_the_rows_of_a_sentence_stand_together(num_beams):
    """jadore801120/attention-is-all-you-need-pytorch#28: sources tiled 0 1 2 0 1 2 beside beams 0 0 1 1 2 2."""
    model = Scripted(lambda source, beginning: says(source[len(beginning) - 1], 5.0))
    src = torch.tensor([[5, 6, 7, 2], [8, 9, 10, 2], [11, 12, 13, 2]])
    ids, scores = beam_search(model, src, num_beams=num_beams, max_new_tokens=4)
    assert ids[:, 0, 1:].tolist() == src.tolist()
    assert torch.equal(ids[:, 0], greedy_decode(model, src, max_new_tokens=4))
    assert scores[:, 0].tolist() == [scores[0, 0].item()] * 3
    real = lively()
    alone = [beam_search(real, row[None], num_beams=num_beams, max_new_tokens=5) for row in src]
    _, together = beam_search(real, src, num_beams=num_beams, max_new_tokens=5)
    close(together, torch.cat([scores for _, scores in alone]), 1e-10)


def test_g3_temperature_zero_draws_the_likeliest():
    """karpathy/nanoGPT#738, google-deepmind/gemma#562: logits 1, 3, 2."""
    model = Scripted(lambda *_: F.pad(torch.tensor([1.0, 3.0, 2.0]), (3, 11), value=-30.0))
    src = torch.tensor([[4, 5]])
    for _ in range(50):
        assert sample(model, src, max_new_tokens=1, temperature=0.0)[0, 1] == 4
    counts = sample(model, src.expand(4000, -1), max_new_tokens=1, generator=torch.Generator().manual_seed(0))[
        :, 1
    ].bincount()
    assert counts.nonzero().flatten().tolist() == [3, 4, 5]
    with pytest.raises(ValueError, match="temperature must be at least 0"):
        sample(model, src, max_new_tokens=1, temperature=-1)
    with pytest.raises(ValueError, match="top_k must be at least 1"):
        sample(model, src, max_new_tokens=1, top_k=0)
    assert sample(model, src, max_new_tokens=1, top_k=1000, temperature=1e-9)[0, 1] == 4


def test_g4_dropout_is_off_while_generating_and_on_again_afterwards():
    """idiap/fast-transformers#131."""
    model, src = lively(dropout=0.5).train(), SRC
    first = greedy_decode(model, src, max_new_tokens=7)
    assert torch.equal(greedy_decode(model, src, max_new_tokens=7), first)
    assert model.training and all(module.training for module in model.modules())
    assert torch.equal(greedy_decode(lively(), src, max_new_tokens=7), first)


# ------------------------------------------------------------------ numerics, shapes, training


def test_n5_no_width_of_a_head_is_written_as_a_number():
    """The article divides cached cross-attention by sqrt(64); here d_k is 4, and 2."""
    for heads in (2, 4):
        model = tiny(num_heads=heads)
        memory, cache = cache_of(model, SRC, T)
        close(step_by_step(model, TGT.expand(2, -1), memory, cache, (1,) * T), model(SRC, TGT.expand(2, -1)), 1e-12)
        right, _ = model_reference.transformer(parameters_of(model), array(SRC), array(TGT.expand(2, -1)), model.config)
        close(model(SRC, TGT.expand(2, -1)), right)
    for path in Path(transformer_lab.__file__).parent.rglob("*.py"):
        assert "sqrt(64)" not in path.read_text("utf-8"), path


def test_s4_the_length_of_the_table_is_a_limit_with_a_name():
    """SamLynnEvans/Transformer#8, CUNY-CL/yoyodyne#40: four tokens work, five are refused by both numbers."""
    model = tiny(max_len=4)
    four, five = SRC[1:, :4], SRC[1:]
    assert model(four, TGT[:, :4]).shape == (1, 4, 13)
    assert greedy_decode(model, four, max_new_tokens=4).shape[1] <= 5
    for call in (
        lambda: model(five, TGT[:, :4]),
        lambda: model(four, TGT[:, :5]),
        lambda: model.encode(five),
        lambda: model.decode(TGT[:, :5], model.encode(four)),
        lambda: model.new_cache(model.encode(four), capacity=5),
        lambda: greedy_decode(model, four, max_new_tokens=5),
        lambda: greedy_decode(model, five, max_new_tokens=4),
    ):
        with pytest.raises(ValueError, match="sequence of 5 is longer than max_len 4"):
            call()


def test_t1_the_caller_shifts_the_target_and_the_model_does_not():
    """jadore801120/attention-is-all-you-need-pytorch#123, pytorch/tutorials#719: not shifted, or shifted twice."""
    sequence = torch.tensor([[1, 5, 6, 2, 0], [1, 7, 8, 9, 2]])
    given, labels = sequence[:, :-1], sequence[:, 1:]
    assert given.tolist() == [[1, 5, 6, 2], [1, 7, 8, 9]] and labels.tolist() == [[5, 6, 2, 0], [7, 8, 9, 2]]
    assert (labels != 0).sum() == 7
    model = tiny()
    log_p = model(SRC, given).log_softmax(-1)
    total = torch.zeros((), dtype=torch.float64)
    for b in range(2):
        for t in range(4):
            memory, cache = cache_of(model, SRC[b : b + 1], 4)
            last = model.output(model.decode(given[b : b + 1, : t + 1], memory, cache=cache))[0, -1]
            close(log_p[b, t], last.log_softmax(-1), 1e-12)  # position t scores what follows tokens 0 … t
            total += last.log_softmax(-1)[labels[b, t]] * (labels[b, t] != 0)
    loss = F.cross_entropy(model(SRC, given).flatten(0, 1), labels.flatten(), ignore_index=0)
    close(loss, -total / 7, 1e-12)
    twice = F.cross_entropy(model(SRC, given).flatten(0, 1)[:-1], labels.flatten()[1:], ignore_index=0)
    assert abs(twice - loss) > 1e-2


@pytest.mark.slow
def test_t1_a_model_that_learnt_to_copy_copies_by_itself():
    """A shift fault shows as a gap between the accuracy under teacher forcing and that of generation."""
    torch.manual_seed(0)
    config = replace(TINY, src_vocab_size=13, d_model=32, num_heads=4, d_ff=64, dropout=0.0)
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    rng = torch.Generator().manual_seed(0)

    def batch(count: int) -> tuple[Tensor, Tensor]:
        src = torch.randint(3, 13, (count, 5), generator=rng)
        edges = [torch.full((count, 1), token) for token in (config.bos_id, config.eos_id)]
        return src, torch.cat([edges[0], src, edges[1]], dim=1)

    for _ in range(500):
        src, tgt = batch(64)
        optimizer.zero_grad()
        F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten()).backward()
        optimizer.step()
    src, tgt = batch(200)
    forced = (model(src, tgt[:, :-1]).argmax(-1) == tgt[:, 1:]).double().mean()
    assert forced > 0.97
    for use_cache in (False, True):
        ids = greedy_decode(model, src, max_new_tokens=6, use_cache=use_cache)
        assert (F.pad(ids, (0, 7 - ids.shape[1])) == tgt).double().mean() > forced - 0.02
    best, _ = beam_search(model, src, num_beams=3, max_new_tokens=6)
    assert (F.pad(best[:, 0], (0, 7 - best.shape[2])) == tgt).double().mean() > forced - 0.02
