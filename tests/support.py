"""What the tests share: seeded numbers, comparisons, weights copied into torch's modules, a recorder of kernels."""

import copy
import os
import shutil

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from transformer_lab import Encoder, EncoderLayer, MultiHeadAttention

hypothesis.settings.register_profile(
    "lab",
    deadline=None,  # a first call in a process may take a second, and a busy machine is not a mistake
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
hypothesis.settings.register_profile(
    "lab-mutants",  # for `python -m tests.mutants`: the same examples each time, and none made smaller once one failed
    parent=hypothesis.settings.get_profile("lab"),
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "lab"))

needs_cuda = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: GPU behaviour cannot be checked here"),
]
needs_inductor = pytest.mark.skipif(
    " " in torch.__file__ or not any(map(shutil.which, ("c++", "g++", "clang++"))),
    reason="torch's inductor needs a C++ compiler, and does not quote an installation path that holds a space",
)
seeds = st.integers(0, 2**32 - 1)
LOOKING = {
    "aminmax",
    "lt",
    "ge",
    "bitwise_or",
    "any",
    "nonzero",
    "select",
    "_local_scalar_dense",
    "is_nonzero",
    "promote_types",
    "__or__",  # this and the next three are what some of them are called in inference mode
    "item",
    "resolve_conj",
    "resolve_neg",
}
HALF_DTYPES = (torch.float16, torch.bfloat16)
DTYPES = (torch.float64, torch.float32, *HALF_DTYPES)

# torch itself says these when a fused CPU kernel meets torch.func; the results are right.
torch_func_is_slow = pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64, scale: float = 1.0) -> Tensor:
    """Normal numbers of the given shape, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)


def token_ids(*shape: int, vocab_size: int, seed: int = 0) -> Tensor:
    """Token ids of 1 … vocab_size - 1, so that none is the padding id 0."""
    return torch.randint(1, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def some_mask(*shape: int, seed: int = 0, blocked_rows: bool = True) -> Tensor:
    """A boolean mask that allows two pairs of three; about one query in six may attend to nothing, or none."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=generator) < 2 / 3
    if blocked_rows:
        return mask & (torch.rand(*shape[:-1], 1, generator=generator) < 5 / 6)
    first = torch.zeros(shape[-1], dtype=torch.bool)
    first[0] = True
    return mask | first


def close(actual: Tensor, expected: Tensor | np.ndarray, atol: float = 1e-12) -> None:
    """Asserts equal shape, and equal numbers within atol (NaN equals nothing). Precision may differ, shape may not."""
    actual, expected = actual.detach().cpu().double(), torch.as_tensor(expected).detach().cpu().double()
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol, equal_nan=False)


def worst(actual: Tensor, expected: Tensor | np.ndarray) -> float:
    """The largest absolute difference; infinite when shapes differ or a number is not finite."""
    actual, expected = actual.detach().double(), torch.as_tensor(expected).detach().double()
    if actual.shape != expected.shape or not actual.isfinite().all():
        return float("inf")
    return (actual - expected).abs().max().item() if actual.numel() else 0.0


def array(x: Tensor | None) -> np.ndarray | None:
    """The tensor as a NumPy array, in float64 when it is floating point."""
    if x is None:
        return None
    x = x.detach().cpu()
    return (x.double() if x.is_floating_point() else x).numpy()


def parameters_of(module: nn.Module) -> dict[str, np.ndarray]:
    """The state dict in float64 NumPy, as `tests.reference` takes it."""
    return {name: array(value) for name, value in module.state_dict().items()}


def gradients_of(module: nn.Module) -> dict[str, np.ndarray]:
    """{parameter name: gradient} in float64 NumPy."""
    return {name: array(p.grad) for name, p in module.named_parameters()}


def randomise(module: nn.Module, seed: int = 0, scale: float = 0.5) -> nn.Module:
    """Fills every parameter, biases and LayerNorm included, so that no term of a formula is hidden by a 0 or a 1."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(numbers(*p.shape, seed=1000 * seed + i, scale=scale))
    return module


def torch_attention(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """torch's module with our weights. Its masks mean the opposite: True = blocked."""
    bias = ours.W_q.bias is not None
    theirs = nn.MultiheadAttention(
        ours.d_model, ours.num_heads, bias=bias, batch_first=True, dtype=ours.W_q.weight.dtype
    )
    copy_attention(ours, theirs)
    return theirs


def torch_layer(ours: EncoderLayer, config) -> nn.TransformerEncoderLayer:
    """torch's encoder layer with our weights."""
    activation = {"silu": nn.functional.silu, "gelu_tanh": lambda x: nn.functional.gelu(x, approximate="tanh")}
    theirs = nn.TransformerEncoderLayer(
        config.d_model,
        config.num_heads,
        config.d_ff,
        config.dropout,
        activation=activation.get(config.activation, config.activation),
        layer_norm_eps=config.layer_norm_eps,
        batch_first=True,
        norm_first=config.norm_first,
        dtype=ours.ffn.linear1.weight.dtype,
    )
    copy_layer(ours, theirs)
    return theirs


def torch_encoder(ours: Encoder) -> nn.TransformerEncoder:
    """torch's stack of layers with our weights; it starts after embedding and positions."""
    norm = copy.deepcopy(ours.final_norm) if ours.config.norm_first else None
    one = torch_layer(ours.layers[0], ours.config)
    theirs = nn.TransformerEncoder(one, len(ours.layers), norm=norm, enable_nested_tensor=False)
    for mine, layer in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(mine, layer)
    return theirs


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copies our weights into torch's module."""
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        if ours.W_q.bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([ours.W_q.bias, ours.W_k.bias, ours.W_v.bias]))
            theirs.out_proj.bias.copy_(ours.W_o.bias)


def copy_layer(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> None:
    """Copies self-attention, feed-forward and the first two norms into torch's layer."""
    copy_attention(ours.self_attn, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.ffn.linear1.state_dict())
    theirs.linear2.load_state_dict(ours.ffn.linear2.state_dict())
    theirs.norm1.load_state_dict(ours.add_norm1.norm.state_dict())
    theirs.norm2.load_state_dict(ours.add_norm2.norm.state_dict())


class KernelRecorder(TorchDispatchMode):
    """Writes down the name of every kernel that runs inside `with KernelRecorder() as kernels:`."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))

    @property
    def computed(self) -> list[str]:
        """The kernels that computed something: all but those with which a check looks at ids."""
        return [name for name in self.names if name not in LOOKING]
