"""Add & Norm: residual, dropout and LayerNorm in the right order."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_lab import AddNorm

from . import reference
from .support import DTYPES, array, close, gradients_of, numbers, parameters_of, randomise, seeds

B, T, D = 2, 3, 7


def add_norm(d_model: int = D, seed: int = 1, **options) -> AddNorm:
    return randomise(AddNorm(d_model, **options).double(), seed)


@given(seed=seeds, sizes=st.tuples(*[st.integers(1, 13)] * 3), eps=st.sampled_from([1e-6, 1e-5, 0.1]))
def test_post_ln_equals_the_reference_in_output_and_gradients(seed, sizes, eps):
    b, t, d_model = sizes
    module = add_norm(d_model, seed % 1000, eps=eps)
    x, y = (numbers(b, t, d_model, seed=seed + i).requires_grad_() for i in range(2))
    output = module(x, y)
    to_output = numbers(*output.shape, seed=seed + 2)
    (to_output * output).sum().backward()
    p = parameters_of(module)
    right, back = reference.layer_norm(array(x + y), p["norm.weight"], p["norm.bias"], eps)
    d_sum, gradients = back(array(to_output))
    atol = 1e-13 / eps**0.5  # where a row is nearly constant LayerNorm magnifies rounding, by up to 1 / sqrt(eps)
    scale = max(1.0, abs(d_sum).max())
    close(output, right, atol)
    close(x.grad / scale, d_sum / scale, atol)
    close(y.grad / scale, d_sum / scale, atol)
    for name, gradient in gradients.items():
        close(torch.from_numpy(gradients_of(module)[f"norm.{name}"]), gradient, atol)


def test_pre_ln_norms_what_enters_and_leaves_the_sum_bare():
    module = add_norm(norm_first=True)
    x, y = numbers(B, T, D), numbers(B, T, D, seed=1)
    norm = parameters_of(module)
    right, _ = reference.layer_norm(array(x), norm["norm.weight"], norm["norm.bias"], 1e-5)
    close(module.enter(x), right)
    assert torch.equal(module(x, y), x + y)


def test_post_ln_gives_the_sublayer_x_itself():
    x = numbers(B, T, D)
    assert torch.equal(add_norm().enter(x), x)


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_line_of_the_docstring(norm_first):
    module = add_norm(norm_first=norm_first)
    x = numbers(B, T, D)

    def double(v):
        return 2 * v

    right = x + double(module.norm(x)) if norm_first else module.norm(x + double(x))
    close(module(x, double(module.enter(x))), right, 1e-14)


def test_eps_stands_inside_the_root_and_variance_is_divided_by_n():
    module = AddNorm(2, eps=0.1).double()  # width 2 and a large eps make either mistake visible
    x = torch.tensor([[[3.0, 1.0]]], dtype=torch.float64)
    right = 1 / math.sqrt(1.1)  # mean 2, variance 1
    close(module(x, torch.zeros_like(x)), torch.tensor([[[right, -right]]], dtype=torch.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_constant_rows_are_finite_and_give_the_shift(dtype):
    module = add_norm().to(dtype)
    x = torch.full((B, T, D), 3.0, dtype=dtype, requires_grad=True)
    output = module(x, x)
    output.sum().backward()
    assert torch.equal(output, module.norm.bias.expand(B, T, D))
    assert x.grad.isfinite().all()


def test_gain_and_shift_are_used():
    module, x = add_norm(), numbers(B, T, D)
    plain = AddNorm(D).double()(x, x)
    close(module(x, x), plain * module.norm.weight + module.norm.bias, 1e-14)
    assert set(parameters_of(module)) == {"norm.weight", "norm.bias"}


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_falls_on_what_the_sublayer_returned_and_not_on_the_residual(norm_first):
    p = 0.25
    module = AddNorm(D, dropout=p, norm_first=norm_first).double()
    x, y = torch.full((997, T, D), 5.0).double(), torch.ones(997, T, D).double()
    module.norm = torch.nn.Identity()
    assert torch.equal(module.eval()(x, y), x + y)
    module.train()
    torch.manual_seed(0)
    output = module(x, y)
    torch.manual_seed(0)
    assert torch.equal(module(x, y), output)
    kept = output != 5.0
    close(output[kept], torch.full_like(output[kept], 5 + 1 / (1 - p)))
    assert abs(kept.double().mean().item() - (1 - p)) < 3 * math.sqrt(p * (1 - p) / kept.numel())
    assert torch.equal(module.enter(x), x)  # nothing is dropped on the way in


@pytest.mark.parametrize("norm_first", [False, True])
def test_compile_strided_and_empty(norm_first):
    module = add_norm(norm_first=norm_first)
    x, y = numbers(T, B, D).transpose(0, 1), numbers(B, T, 2 * D)[..., ::2]
    right = module(x.contiguous(), y.contiguous())
    close(module(x, y), right, 1e-15)
    torch._dynamo.reset()
    close(torch.compile(module, fullgraph=True, backend="aot_eager")(x, y), right, 1e-14)
    assert module(numbers(0, T, D), numbers(0, T, D)).shape == (0, T, D)
