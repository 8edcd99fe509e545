"""Token embeddings: the right row, times sqrt(d_model)."""

import copy
import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab import TokenEmbedding

from .support import close, numbers, parameters_of, randomise, seeds, token_ids

V, D = 11, 6


@given(seed=seeds, batch=st.integers(1, 4), length=st.integers(1, 9), d_model=st.integers(1, 17), scale=st.booleans())
def test_rows_of_the_table_times_the_root_of_the_width(seed, batch, length, d_model, scale):
    embedding = randomise(TokenEmbedding(V, d_model, scale=scale).double(), seed % 1000)
    ids = torch.randint(0, V, (batch, length), generator=torch.Generator().manual_seed(seed))
    found = embedding(ids)
    assert found.shape == (batch, length, d_model)
    for b in range(batch):
        for t in range(length):
            close(found[b, t], embedding.weight[ids[b, t]] * (math.sqrt(d_model) if scale else 1.0), 1e-15)


def test_new_rows_have_variance_one_once_scaled():
    torch.manual_seed(0)
    embedding = TokenEmbedding(997, 64)
    values = embedding(torch.arange(997)[None])
    assert abs(values.mean().item()) < 0.02 and abs(values.var().item() - 1) < 0.02


def test_gradient_reaches_used_rows_only_and_counts_repeats():
    embedding = TokenEmbedding(V, D).double()
    embedding(torch.tensor([[3, 5, 3]])).sum().backward()
    expected = torch.zeros(V, D, dtype=torch.float64)
    expected[3], expected[5] = 2 * math.sqrt(D), math.sqrt(D)
    close(embedding.weight.grad, expected)


def test_int32_ids_and_strided_ids():
    embedding = TokenEmbedding(V, D)
    ids = token_ids(5, 3, vocab_size=V)
    assert torch.equal(embedding(ids.int()), embedding(ids))
    assert torch.equal(embedding(ids.T), embedding(ids.T.contiguous()))
    assert torch.equal(embedding(ids[:1].expand(4, 3)), embedding(ids[:1].repeat(4, 1)))


def test_state_dict_copy_and_dtype():
    embedding = randomise(TokenEmbedding(V, D))
    ids = token_ids(2, 3, vocab_size=V)
    assert set(parameters_of(embedding)) == {"weight"}
    assert torch.equal(copy.deepcopy(embedding)(ids), embedding(ids))
    close(embedding.double()(ids), embedding.weight.double()[ids] * math.sqrt(D), 1e-15)
    assert embedding.bfloat16()(ids).dtype == torch.bfloat16
    embedding.load_state_dict({"weight": numbers(V, D, dtype=torch.bfloat16)})
    assert torch.equal(embedding.weight, numbers(V, D, dtype=torch.bfloat16))


def test_reset_parameters_draws_anew():
    torch.manual_seed(0)
    embedding = TokenEmbedding(V, D)
    before = embedding.weight.detach().clone()
    embedding.reset_parameters()
    assert not torch.equal(embedding.weight, before)


def test_first_and_last_id_are_in_range():
    assert TokenEmbedding(V, D)(torch.tensor([[0, V - 1]])).shape == (1, 2, D)


def test_range_check_is_skipped_where_values_are_unknown():
    embedding = TokenEmbedding(V, D).double()
    ids = token_ids(3, 5, vocab_size=V)
    torch._dynamo.reset()
    close(torch.compile(embedding, fullgraph=True, backend="aot_eager")(ids), embedding(ids), 1e-15)
    close(torch.export.export(embedding, (ids,)).module()(ids), embedding(ids), 1e-15)
    close(torch.vmap(lambda row: embedding(row[None])[0])(ids), embedding(ids), 1e-15)
    assert embedding.to("meta")(ids.to("meta")).shape == (3, 5, D)
