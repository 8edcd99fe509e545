"""Alignment scores of attention, and where gradients go."""

import pytest
import torch

from transformer_lab import Transformer, TransformerConfig
from transformer_lab.trace import record_attention
from transformer_lab.training.alignment import alignment_scores, cross_attention
from transformer_lab.training.batches import Example, collate
from transformer_lab.training.gradient_paths import gradient_norms
from transformer_lab.training.loss import label_smoothed_loss

from .support import close

CONFIG = TransformerConfig(13, 11, 10, 5, 2, 3, 7, max_len=17)


def model_of(**changes) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(**{**CONFIG.to_dict(), **changes})).double()


def batch_of():
    return collate([Example((5, 6, 7, 2), (4, 5, 2)), Example((8, 9, 2), (6, 7, 8, 9, 2))])


# ------------------------------------------------------------------ scores

# Two heads, three characters and <eos>, four source tokens.
HEAD_A = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.2, 0.2, 0.5, 0.1], [0.0, 0.0, 0.1, 0.9]])
HEAD_B = torch.tensor([[0.1, 0.7, 0.1, 0.1], [0.9, 0.0, 0.0, 0.1], [0.0, 0.9, 0.1, 0.0], [0.0, 0.0, 0.8, 0.2]])
GOLD = [(0, 0), (1, 1), (2, 2)]


def scores(**changes):
    return alignment_scores([[torch.stack([HEAD_A, HEAD_B])]], [GOLD], **changes)


def test_scores_by_hand():
    found = scores()
    assert found["characters"] == 3 and found["chance"] == {"mass": 0.25, "argmax": 0.25}
    (layer,) = found["layers"]
    assert layer["heads"][0] == {"mass": 0.6, "argmax": 1.0}
    assert layer["heads"][1] == {"mass": round((0.1 + 0.0 + 0.1) / 3, 4), "argmax": 0.0}
    # Means of the rows: [.4 .4 .1 .1], [.5 .3 .1 .1], [.1 .55 .3 .05]; on their gold words .4, .3, .3.
    assert layer["mean"]["mass"] == pytest.approx(1 / 3, abs=1e-4)
    assert layer["mean"]["argmax"] in (0.0, 0.3333)  # the first row is a tie


def test_rows_labelled_by_the_input_token_are_read_one_too_low():
    (layer,) = scores(rows="input")["layers"]
    assert layer["heads"][0] == {"mass": round((0.1 + 0.2 + 0.1) / 3, 4), "argmax": 0.0}
    assert layer["heads"][1] == {"mass": round((0.9 + 0.9 + 0.8) / 3, 4), "argmax": 1.0}


def test_a_character_of_two_words_is_right_at_either():
    found = alignment_scores([[torch.stack([HEAD_A, HEAD_B])]], [[(0, 1), (0, 0), (2, 3)]])
    assert found["characters"] == 2 and found["chance"]["mass"] == round((2 / 4 + 1 / 4) / 2, 4)
    assert found["layers"][0]["heads"][0] == {"mass": round((0.8 + 0.1) / 2, 4), "argmax": 0.5}
    assert found["layers"][0]["heads"][1] == {"mass": round((0.8 + 0.0) / 2, 4), "argmax": 0.5}


def test_characters_weigh_alike_whatever_the_length_of_their_sentence():
    one, two = torch.stack([HEAD_A, HEAD_A]), torch.stack([HEAD_B, HEAD_B])
    found = alignment_scores([[one], [two]], [GOLD, [(0, 1)]])
    assert found["layers"][0]["mean"] == {"mass": round((0.7 + 0.6 + 0.5 + 0.7) / 4, 4), "argmax": 1.0}


@pytest.mark.parametrize(
    ("arguments", "words", "message"),
    [
        (([[HEAD_A[None]]], [GOLD]), {"rows": "output"}, "'predicted' or 'input', got 'output'"),
        (([[HEAD_A[None]]], [GOLD, GOLD]), {}, "maps of 1 sentences but gold alignments of 2"),
        (([[HEAD_A[None]]], [[]]), {}, "nothing to score"),
    ],
)
def test_what_cannot_be_scored(arguments, words, message):
    with pytest.raises(ValueError, match=message):
        alignment_scores(*arguments, **words)


@pytest.mark.parametrize("norm_first", [False, True])
def test_maps_are_those_that_hooks_record(norm_first):
    model, batch = model_of(norm_first=norm_first).eval(), batch_of()
    with record_attention(model) as maps, torch.no_grad():
        model(batch.src, batch.tgt_in)
    found = cross_attention(model, batch.src, batch.tgt_in)
    assert len(found) == 3
    for i, weights in enumerate(found):
        close(weights, maps[f"decoder.layers.{i}.cross_attn"][0], 1e-15)
    assert (found[0][1, :, :, 3:] == 0).all()  # padding of the source
    assert not any(layer.cross_attn._forward_pre_hooks for layer in model.decoder.layers)


# ------------------------------------------------------------------ gradients


def encoder_weights(norms):
    return {name: norm for name, norm in norms.items() if name.startswith("encoder.")}


@pytest.mark.parametrize("training", [False, True])
def test_norms_are_those_of_a_backward_pass(training):
    model, batch = model_of(dropout=0.5).train(training), batch_of()
    model.decoder.layers[1].eval()
    norms = gradient_norms(model, batch)
    assert model.training is training and model.decoder.layers[0].training is training
    assert not model.decoder.layers[1].training and all(p.grad is None for p in model.parameters())
    model.eval()
    total, tokens = label_smoothed_loss(model(batch.src, batch.tgt_in), batch.tgt_out, smoothing=0.0)
    assert tokens == 8
    (total / tokens).backward()
    assert norms.keys() == dict(model.named_parameters()).keys()
    for name, p in model.named_parameters():
        assert norms[name] == pytest.approx(p.grad.norm().item(), rel=1e-12, abs=1e-15)


def test_gradients_enter_the_encoder_through_keys_and_values_only():
    model, batch = model_of(), batch_of()
    whole = gradient_norms(model, batch)
    without = {
        cut: gradient_norms(model, batch, cut=cut) for cut in (("query",), ("key",), ("value",), ("key", "value"))
    }
    assert all(norm > 0 for name, norm in encoder_weights(whole).items() if not name.endswith("W_k.bias"))
    assert set(encoder_weights(without["key", "value"]).values()) == {0.0}
    for cut in ("query", "key", "value"):
        left = encoder_weights(without[cut,])
        assert left["encoder.embedding.weight"] > 0
        assert left != encoder_weights(whole)
    # The last decoder layer's queries pass nothing to the encoder: what is below them in the decoder is not.
    last = model.config.num_decoder_layers - 1
    assert (
        without["query",][f"decoder.layers.{last}.cross_attn.W_k.weight"]
        == whole[f"decoder.layers.{last}.cross_attn.W_k.weight"]
    )
    assert without["key", "value"]["decoder.embedding.weight"] > 0


def test_gradients_through_keys_and_through_values_add_up_where_queries_are_cut():
    """Of a decoder of one layer: nothing else lies between memory and loss."""
    torch.manual_seed(0)
    model, batch = model_of(num_decoder_layers=1), batch_of()
    weight = model.encoder.layers[1].ffn.linear2.weight

    def gradient(*cut):
        from transformer_lab.training.gradient_paths import _cut

        with _cut(model, cut):
            total, tokens = label_smoothed_loss(model.eval()(batch.src, batch.tgt_in), batch.tgt_out, smoothing=0.0)
            return torch.autograd.grad(total / tokens, weight)[0]

    close(gradient("key") + gradient("value"), gradient(), 1e-14)
    close(gradient("query"), gradient(), 0)  # queries of the only layer come from the target alone


def test_an_unknown_path_is_refused():
    with pytest.raises(ValueError, match="cut must name paths among query, key, value, got 'keys'"):
        gradient_norms(model_of(), batch_of(), cut=("keys",))
