"""Properties that run through several modules and stand in no other file."""

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from transformer_lab import causal_mask, combine_masks, padding_mask, sinusoidal_encoding
from transformer_lab.generation import beam_search, greedy_decode

from . import reference
from .model_support import B, S, T, cache_of, model_of, refusal, sources, targets
from .support import close

both_norms = pytest.mark.parametrize("norm_first", [False, True])


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_the_table_of_positions_in_every_width_to_512(layout):
    whole = [sinusoidal_encoding(5, d, start=97, layout=layout, dtype=torch.float64) for d in range(1, 513)]
    assert [table.shape for table in whole] == [(5, d) for d in range(1, 513)]
    for d, table in enumerate(whole, 1):
        close(table, reference.sinusoid(np.arange(97, 102), d, layout))


# ------------------------------------------------------------------ padding on the left


@both_norms
@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
@pytest.mark.parametrize("pads", [1, 4, 10])
def test_a_target_padded_on_the_left_equals_the_bare_one_once_its_positions_are_given(pads, position, norm_first):
    """What is hidden stays hidden wherever it stands; the one thing that padding on the left shifts are the positions."""
    model, real = model_of(norm_first=norm_first, position=position), targets(1, 6)
    src = sources()[1:]
    memory = model.encode(src)
    padded = F.pad(real, (pads, 0))
    mask = combine_masks(padding_mask(padded, 0), causal_mask(6 + pads))
    decoder = model.decoder
    places = (torch.arange(6 + pads) - pads).clamp(min=0)[None]
    x = decoder.pos_encoding(decoder.embedding(padded), positions=places)
    for layer in decoder.layers:
        x = layer(x, memory, None, mask)
    close(model.output(decoder.final_norm(x))[:, pads:], model(src, real), 1e-12)
    shifted = model(src, padded, None, padding_mask(padded, 0))[:, pads:]
    assert (shifted - model(src, real)).abs().max() > 1e-3  # without them it differs


@both_norms
def test_a_source_padded_on_the_left_is_the_bare_one_where_order_comes_from_no_positions(norm_first):
    model, real = model_of(norm_first=norm_first, position="none"), sources()[:1, :3]
    padded = F.pad(real, (4, 0))
    close(model(padded, targets(1)), model(real, targets(1)), 1e-12)
    for search in (greedy_decode, partial(beam_search, num_beams=3)):
        found, right = (search(model, src, max_new_tokens=5) for src in (padded, real))
        assert torch.equal(found[0], right[0])


# ------------------------------------------------------------------ numbers that are no numbers


@both_norms
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("cached", [False, True])
def test_a_bad_number_in_one_sentences_memory_stays_in_that_sentence(cached, value, norm_first):
    model, tgt = model_of(norm_first=norm_first), targets()
    memory, mask = model.encode(sources()), model.source_mask(sources())
    right = model.output(model.decode(tgt, memory, src_mask=mask))
    for place in (4, 1):  # at padding, and at a real token
        bad = memory.clone()
        bad[0, place] = value
        if cached:
            cache = model.new_cache(bad, src_mask=mask, capacity=T)
            logits = torch.cat(
                [model.output(model.decode(one, bad, cache=cache)) for one in tgt.split(1, dim=1)], dim=1
            )
        else:
            logits = model.output(model.decode(tgt, bad, src_mask=mask))
        close(logits[1], right[1], 1e-12)
    assert logits[0].isnan().all()  # where it may be looked at it spreads, as in torch


@both_norms
def test_a_bad_number_in_one_row_of_the_table_reaches_no_earlier_position_and_no_other_sentence(norm_first):
    model, tgt = model_of(norm_first=norm_first), targets().clamp(max=15)
    tgt[0, 4] = 16  # the only place of this id
    right = model(sources(), tgt)
    with torch.no_grad():
        model.decoder.embedding.weight[16] = torch.nan
    memory, cache = cache_of(model, sources(), T)
    steps = [model.output(model.decode(one, memory, cache=cache)) for one in tgt.split(1, dim=1)]
    logits = torch.cat(steps, dim=1)
    close(logits[1], right[1], 1e-12)
    close(logits[0, :4], right[0, :4], 1e-12)
    assert logits[0, 4:].isnan().all()


# ------------------------------------------------------------------ refused steps leave everything as it was


@pytest.mark.parametrize("ids", [[[17], [3]], [[3], [-1]]])
def test_an_id_out_of_range_in_a_cached_step_is_refused_and_the_cache_goes_on(ids):
    model, tgt = model_of(), targets()
    memory, cache = cache_of(model, sources(), T)
    memory = memory.detach()
    model.decode(tgt[:, :3], memory, cache=cache)
    said, computed = refusal(partial(model.decode, torch.tensor(ids), memory, cache=cache), ValueError)
    assert "is out of range for a vocabulary of 17" in said and computed == []
    assert cache.length == 3
    hidden = model.decode(tgt[:, 3:4], memory, cache=cache)
    whole = model.decode(tgt[:, :4], memory, src_mask=model.source_mask(sources()))
    close(hidden[:, 0], whole[:, 3], 1e-12)


def test_a_target_mask_of_the_new_tokens_alone_is_refused_in_a_cached_step():
    model, tgt = model_of(), targets()
    memory, cache = cache_of(model, sources(), T)
    memory = memory.detach()
    model.decode(tgt[:, :3], memory, cache=cache)
    said, computed = refusal(
        partial(model.decode, tgt[:, 3:5], memory, tgt_mask=causal_mask(2), cache=cache), ValueError
    )
    assert "mask of shape (2, 2) does not fit scores (batch 2, heads 3, queries 2, keys 5)" in said and computed == []
    assert cache.length == 3 and memory.shape == (B, S, model.config.d_model)
