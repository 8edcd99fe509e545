"""The config: frozen, complete, and strict about what it is told."""

import dataclasses

import pytest

from transformer_lab import (
    PAPER_BASE,
    TINY,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    TransformerConfig,
)

SIZES = {"src_vocab_size": 11, "tgt_vocab_size": 13}
DEFAULTS = {
    "d_model": 512,
    "num_heads": 8,
    "num_encoder_layers": 6,
    "num_decoder_layers": 6,
    "d_ff": 2048,
    "max_len": 5000,
    "dropout": 0.1,
    "activation": "relu",
    "norm_first": False,
    "layer_norm_eps": 1e-5,
    "scale_embedding": True,
    "position": "sinusoidal",
    "tie_embeddings": "none",
    "output_bias": True,
    "pad_id": 0,
    "bos_id": 1,
    "eos_id": 2,
}


def test_defaults_are_the_papers_base_model():
    config = TransformerConfig(11, 13)
    assert config.to_dict() == SIZES | DEFAULTS
    assert config.d_k == 64
    assert PAPER_BASE.to_dict() == DEFAULTS | {
        "src_vocab_size": 37000,
        "tgt_vocab_size": 37000,
        "tie_embeddings": "all",
    }


def test_modules_built_without_sizes_have_those_of_the_papers_base_model():
    attention, ffn = MultiHeadAttention(), FeedForward()
    assert (attention.d_model, attention.num_heads) == (DEFAULTS["d_model"], DEFAULTS["num_heads"])
    assert (ffn.linear1.in_features, ffn.linear1.out_features) == (DEFAULTS["d_model"], DEFAULTS["d_ff"])
    for table in (PositionalEncoding().table, LearnedPositionalEncoding().weight):
        assert table.shape == (DEFAULTS["max_len"], DEFAULTS["d_model"])


def test_tiny_is_tiny():
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    tiny = {"d_model": 8, "num_heads": 2, "d_ff": 12, "max_len": 64, **layers}
    assert TINY.to_dict() == SIZES | DEFAULTS | tiny and TINY.d_k == 4


def test_a_config_cannot_be_changed_and_equal_ones_are_equal():
    config = TransformerConfig(11, 13)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 256
    assert config == TransformerConfig(11, 13) and hash(config) == hash(TransformerConfig(11, 13))
    assert dataclasses.replace(config, d_model=256).d_k == 32


def test_round_trip_through_a_dict():
    config = dataclasses.replace(TINY, norm_first=True, activation="gelu_tanh", position="learned", pad_id=5)
    assert TransformerConfig.from_dict(config.to_dict()) == config
    assert TransformerConfig.from_dict(SIZES) == TransformerConfig(**SIZES)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"d_modle": 8}, r"unknown config key 'd_modle'; did you mean 'd_model'\?"),
        ({"n_heads": 8}, r"unknown config key 'n_heads'; did you mean 'num_heads'\?"),
        ({"zzz": 8}, r"unknown config key 'zzz'; known keys: src_vocab_size, tgt_vocab_size, d_model, .*eos_id"),
        ({3: 8}, r"unknown config key 3; known keys: "),
    ],
)
def test_an_unknown_key_is_named_with_its_nearest_neighbour(values, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig.from_dict(SIZES | values)


@pytest.mark.parametrize("missing", [["src_vocab_size"], ["tgt_vocab_size"], ["src_vocab_size", "tgt_vocab_size"]])
def test_missing_sizes_are_named(missing):
    with pytest.raises(ValueError, match="config lacks " + " and ".join(missing)):
        TransformerConfig.from_dict({name: size for name, size in SIZES.items() if name not in missing})


@pytest.mark.parametrize("name", ["src_vocab_size", "tgt_vocab_size", "d_model", "num_heads", "num_encoder_layers",
                                  "num_decoder_layers", "d_ff", "max_len"])  # fmt: skip
def test_every_size_is_a_whole_number_of_at_least_one(name):
    for wrong in (0, -3):
        with pytest.raises(ValueError, match=rf"{name} must be at least 1, got {wrong}"):
            TransformerConfig(**SIZES | {name: wrong})
    for wrong, kind in ((2.0, "float"), ("8", "str"), (True, "bool"), (None, "NoneType")):
        with pytest.raises(TypeError, match=rf"{name} must be an int, got {kind} \({wrong!r}\)"):
            TransformerConfig(**SIZES | {name: wrong})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"d_model": 10, "num_heads": 3}, r"d_model \(10\) must be divisible by num_heads \(3\); num_heads that work: 1, 2, 5, 10$"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, got 1\.0"),
        ({"dropout": -0.1}, r"dropout must be at least 0 and below 1, got -0\.1"),
        ({"dropout": float("nan")}, r"dropout must be at least 0 and below 1, got nan"),
        ({"activation": "rely"}, r"activation must be one of 'relu', 'gelu', 'gelu_tanh', 'silu', got 'rely'; did you mean 'relu'\?"),
        ({"activation": "step"}, r"activation must be one of .*, got 'step'$"),
        ({"position": "sinusoid"}, r"position must be one of .*, got 'sinusoid'; did you mean 'sinusoidal'\?"),
        ({"tie_embeddings": "al"}, r"tie_embeddings must be one of 'none', 'output', 'all', got 'al'; did you mean 'all'\?"),
        ({"tie_embeddings": "all"}, "shares one table, so src_vocab_size and tgt_vocab_size must be equal, got 11 and 13"),
        ({"layer_norm_eps": 0.0}, r"layer_norm_eps must be above 0, got 0\.0"),
        ({"layer_norm_eps": float("nan")}, r"layer_norm_eps must be above 0, got nan"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_with_a_way_out(values, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**SIZES | values)


@pytest.mark.parametrize(
    "values", [{"dropout": 0.0}, {"dropout": 0.999}, {"d_model": 1, "num_heads": 1}, {"max_len": 1}]
)
def test_values_at_the_edge_are_taken(values):
    assert TransformerConfig(**SIZES | values).to_dict() == SIZES | DEFAULTS | values
