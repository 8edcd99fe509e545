"""What the tests of training share: small tasks, small models, options, and comparisons of weights."""

import random
from dataclasses import replace

import torch

from transformer_lab import Transformer, TransformerConfig
from transformer_lab.training.batches import Example
from transformer_lab.training.loop import train
from transformer_lab.training.options import TrainingOptions
from transformer_lab.training.vocabulary import EOS

CONFIG = TransformerConfig(
    src_vocab_size=17,
    tgt_vocab_size=13,
    d_model=6,
    num_heads=3,
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_ff=11,
    max_len=19,
    dropout=0.0,
    tie_embeddings="output",
)
# A large eps: gradients that are 0 but for rounding (those of key biases) would otherwise become steps of full size.
EXACT = TrainingOptions(epochs=2, max_tokens=30, warmup=7, factor=0.7, eps=1e-3, clip=0.3, smoothing=0.1)


def reversals(count, seed=0, vocab_size=13, longest=7, shortest=1, reverse=True):
    """Sentences of random tokens, with the same tokens in reverse (or the same) order as their translation."""
    rng = random.Random(f"reversals {seed}")
    found = []
    for _ in range(count):
        ids = [rng.randrange(4, vocab_size) for _ in range(rng.randint(shortest, longest))]
        found.append(Example((*ids, EOS), (*(ids[::-1] if reverse else ids), EOS)))
    return found


TRAIN, VALID = reversals(31), reversals(11, seed=1)


def new_model(seed=0, dtype=torch.float64, **changes):
    """A small model with weights drawn from a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Transformer(replace(CONFIG, **changes)).to(dtype)


def trained(options=EXACT, *, model=None, examples=TRAIN, valid=(), **arguments):
    """A model trained in silence, and its history."""
    model = new_model() if model is None else model
    return model, train(model, examples, valid, options, progress=False, **arguments)


def weights_of(model):
    """A copy of all weights, {name: tensor}."""
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def assert_same(weights, others, atol=0.0):
    """Both are {name: tensor} with the same numbers: exactly, or up to atol."""
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(weight, others[name], atol=atol, rtol=0, msg=lambda m, n=name: f"{n}: {m}")


def differ(weights, others):
    """Whether any number of any weight differs."""
    return any(not torch.equal(weight, others[name]) for name, weight in weights.items())


def without_seconds(history):
    """A history as plain data without what a clock decides."""
    data = history.to_json()
    for record in data["records"]:
        del record["seconds"]
    return data
