"""The feed-forward network: two linear maps with a bend between, at every position alike."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab import FeedForward

from . import reference
from .support import DTYPES, array, close, gradients_of, numbers, parameters_of, randomise, seeds

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
B, T, D, D_FF = 2, 3, 5, 11


@given(seed=seeds, sizes=st.tuples(*[st.integers(1, 13)] * 4), activation=st.sampled_from(ACTIVATIONS))
def test_output_and_gradients_equal_the_reference(seed, sizes, activation):
    b, t, d_model, d_ff = sizes
    module = randomise(FeedForward(d_model, d_ff, activation=activation).double(), seed % 1000)
    x = numbers(b, t, d_model, seed=seed).requires_grad_()
    output = module(x)
    to_output = numbers(*output.shape, seed=seed + 1)
    (to_output * output).sum().backward()
    right, back = reference.feed_forward(parameters_of(module), array(x), activation)
    d_x, gradients = back(array(to_output))
    close(output, right)
    close(x.grad, d_x)
    found = gradients_of(module)
    assert found.keys() == gradients.keys() == {"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"}
    for name, gradient in gradients.items():
        close(torch.from_numpy(found[name]), gradient)


@pytest.mark.parametrize(
    ("activation", "oracle"),
    [
        ("relu", torch.nn.ReLU()),
        ("gelu", torch.nn.GELU()),
        ("gelu_tanh", torch.nn.GELU(approximate="tanh")),
        ("silu", torch.nn.SiLU()),
    ],
)
def test_each_activation_is_torchs(activation, oracle):
    module = randomise(FeedForward(D, D_FF, activation=activation).double(), 1)
    x = numbers(B, T, D)
    close(module(x), torch.nn.Sequential(module.linear1, oracle, module.linear2)(x), 1e-14)


def test_relu_is_the_default_and_really_bends():
    module = randomise(FeedForward(D, D_FF).double())
    assert module.activation == "relu"
    x = numbers(B, T, D)
    assert (module.linear1(x) < 0).any()
    assert not torch.allclose(module(x), module.linear2(module.linear1(x)))


def test_every_position_by_itself():
    module = randomise(FeedForward(D, D_FF).double())
    x = numbers(B, T, D)
    order = torch.tensor([2, 0, 1])
    close(module(x[:, order]), module(x)[:, order], 1e-14)
    for b in range(B):
        for t in range(T):
            close(module(x[b : b + 1, t : t + 1]), module(x)[b : b + 1, t : t + 1], 1e-14)


def test_dropout_on_the_inner_layer_in_training_only():
    p = 0.25
    module = FeedForward(1, 4, dropout=p).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(1.0)
    x = torch.zeros(5000, 1, 1, dtype=torch.float64)
    close(module.eval()(x), torch.full_like(x, 5.0), 1e-15)  # four inner ones and the outer bias
    module.train()
    torch.manual_seed(0)
    output = module(x)
    torch.manual_seed(0)
    assert torch.equal(module(x), output)
    kept = (output - 1) * (1 - p)  # how many of the four inner numbers were kept
    assert ((kept - kept.round()).abs() < 1e-9).all()
    assert abs(kept.mean().item() / 4 - (1 - p)) < 3 * math.sqrt(p * (1 - p) / (4 * x.numel()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_is_kept_and_large_numbers_stay_finite(dtype):
    module = FeedForward(D, D_FF, activation="gelu_tanh").to(dtype)
    output = module(torch.full((B, T, D), 100.0, dtype=dtype))
    assert output.dtype == dtype and output.isfinite().all()


@pytest.mark.slow
def test_strided_input_empty_batch_compile_and_export():
    module = randomise(FeedForward(D, D_FF).double())
    x = numbers(T, B, D).transpose(0, 1)
    close(module(x), module(x.contiguous()), 1e-15)
    assert module(numbers(0, T, D)).shape == (0, T, D)
    torch._dynamo.reset()
    close(torch.compile(module, fullgraph=True, backend="aot_eager")(x), module(x), 1e-14)
    close(torch.export.export(module, (x,)).module()(x), module(x), 1e-14)


def test_new_weights_are_xavier_and_biases_zero():
    torch.manual_seed(0)
    module = FeedForward(64, 256)
    limit = math.sqrt(6 / 320)
    for linear in (module.linear1, module.linear2):
        assert linear.weight.abs().max() <= limit
        assert abs(linear.weight.std().item() - limit / math.sqrt(3)) < 0.003
        assert (linear.bias == 0).all()
