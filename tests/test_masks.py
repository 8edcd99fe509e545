"""Masks: True means "may attend", everywhere, and the last query sees every key."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab import MultiHeadAttention, causal_mask, combine_masks, padding_mask, scaled_dot_product_attention

from .support import close, needs_cuda, numbers, seeds, some_mask


@given(num_queries=st.integers(1, 23), num_keys=st.integers(1, 23))
def test_causal_mask_allows_exactly_the_past_aligned_at_the_bottom_right(num_queries, num_keys):
    mask = causal_mask(num_queries, num_keys)
    assert mask.dtype == torch.bool and mask.shape == (num_queries, num_keys)
    assert mask.tolist() == [[s <= t + num_keys - num_queries for s in range(num_keys)] for t in range(num_queries)]


def test_causal_mask_of_one_number_is_square():
    assert torch.equal(causal_mask(3), torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool())
    assert torch.equal(causal_mask(2, 5), torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]).bool())
    assert torch.equal(causal_mask(3, 2), torch.tensor([[0, 0], [1, 0], [1, 1]]).bool())


def test_the_newest_rows_of_a_causal_mask_are_the_mask_of_a_cached_step():
    whole = causal_mask(7)
    for new in range(1, 8):
        assert torch.equal(whole[7 - new :], causal_mask(new, 7))


@given(seed=seeds, batch=st.integers(1, 5), length=st.integers(1, 11), pad_id=st.integers(-2, 3))
def test_padding_mask_hides_exactly_the_padding(seed, batch, length, pad_id):
    ids = torch.randint(-2, 4, (batch, length), generator=torch.Generator().manual_seed(seed))
    mask = padding_mask(ids, pad_id)
    assert mask.dtype == torch.bool and mask.shape == (batch, 1, 1, length)
    assert mask[:, 0, 0].tolist() == [[i != pad_id for i in row] for row in ids.tolist()]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.uint8])
def test_padding_mask_takes_every_kind_of_whole_number(dtype):
    assert padding_mask(torch.tensor([[3, 0, 5]], dtype=dtype), 0).tolist() == [[[[True, False, True]]]]


@given(seed=seeds, ranks=st.lists(st.integers(2, 4), min_size=1, max_size=4))
def test_combine_masks_is_and_over_the_broadcast_shape(seed, ranks):
    shapes = [(2, 3, 5, 7)[4 - rank :] for rank in ranks]
    masks = [
        some_mask(*(1 if (seed >> i) % 5 == 0 else n for i, n in enumerate(s)), seed=seed + len(s)) for s in shapes
    ]
    expected = torch.stack([m.expand(2, 3, 5, 7) for m in masks]).all(0)
    found = combine_masks(None, *masks, None)
    assert found.dtype == torch.bool
    assert torch.equal(found.expand(2, 3, 5, 7), expected)


def test_combine_masks_of_nothing():
    only = causal_mask(3)
    assert combine_masks() is None and combine_masks(None, None) is None
    assert torch.equal(combine_masks(None, only), only)


def test_combine_masks_changes_no_argument():
    causal, padding = causal_mask(3), padding_mask(torch.tensor([[4, 5, 0]]), 0)
    combined = combine_masks(causal, padding)
    assert combined.shape == (1, 1, 3, 3)
    assert torch.equal(causal, causal_mask(3)) and padding.tolist() == [[[[True, True, False]]]]


def test_every_mask_maker_means_the_same_to_every_attention():
    """What a maker calls True has weight, what it calls False has none, in the function and in both paths of the module."""
    ids = torch.tensor([[4, 7, 9, 0, 0], [3, 5, 6, 8, 2]])
    x = numbers(2, 5, 6)
    module = MultiHeadAttention(6, 2).double()
    for mask in (causal_mask(5), padding_mask(ids, 0), combine_masks(causal_mask(5), padding_mask(ids, 0))):
        allowed = mask.expand(2, 2, 5, 5)
        _, weights = scaled_dot_product_attention(*[numbers(2, 2, 5, 3, seed=i) for i in range(3)], mask)
        assert torch.equal(weights > 0, allowed)
        output, weights = module(x, mask=mask, need_weights=True)
        assert torch.equal(weights > 0, allowed)
        close(module(x, mask=mask)[0], output)


def test_default_device_is_followed():
    with torch.device("meta"):
        assert causal_mask(3).is_meta
    assert causal_mask(3, device="meta").is_meta
    assert padding_mask(torch.zeros(2, 3, dtype=torch.long, device="meta"), 0).is_meta


class TestCuda:
    pytestmark = needs_cuda

    def test_masks_live_where_they_are_asked_for(self):
        ids = torch.tensor([[4, 0]], device="cuda")
        combined = combine_masks(causal_mask(2, device="cuda"), padding_mask(ids, 0))
        assert combined.is_cuda and combined.tolist() == [[[[True, False], [True, False]]]]
