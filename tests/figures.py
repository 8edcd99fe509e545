"""How exact the package is: worst errors against torch and against the float64 reference, over random cases.

    python -m tests.figures            # a table, about half a minute on one core
    python -m tests.figures --cases 20000

The tests run the same functions with fewer cases and hold them to the bars printed here.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lab import PAPER_BASE, Encoder, MultiHeadAttention, TransformerConfig, scaled_dot_product_attention

from . import reference
from .support import (
    HALF_DTYPES,
    array,
    gradients_of,
    numbers,
    parameters_of,
    randomise,
    some_mask,
    token_ids,
    torch_attention,
    torch_encoder,
    worst,
)

AXES = 64
SMALL_ENOUGH = 30_000


@dataclass(frozen=True)
class Case:
    """Inputs of one attention: query [..., T, d_k], key [..., S, d_k], value [..., S, d_v], a mask or None, and a seed."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    seed: int


def attention_cases(count: int, dtype: torch.dtype = torch.float64) -> Iterator[Case]:
    """Random shapes with every axis from 1 to 64, no, one or two axes in front, masks of every rank, blocked rows."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        B, h, T, S, d_k, d_v = sizes = np.exp(rng.uniform(0, np.log(AXES + 0.99), 6)).astype(int).tolist()
        while B * h * (T * S + (T + S) * (d_k + d_v)) > SMALL_ENOUGH:
            sizes = [
                1 if i == max(range(6), key=sizes.__getitem__) and n > 8 else -(-n // 2) for i, n in enumerate(sizes)
            ]
            B, h, T, S, d_k, d_v = sizes
        lead = [(), (h,), (B, h)][rng.integers(3)]
        mask_shape = [1 if rng.random() < 0.3 else n for n in (*lead, T, S)][rng.integers(len(lead) + 1) :]
        mask = some_mask(*mask_shape, seed=seed) if rng.random() < 0.8 and len(mask_shape) > 1 else None
        query, key, value = (
            numbers(*lead, *size, seed=3 * seed + i, dtype=dtype)
            for i, size in enumerate([(T, d_k), (S, d_k), (S, d_v)])
        )
        yield Case(query, key, value, mask, seed)


def formula_errors(count: int = 2000) -> dict[str, float]:
    """`scaled_dot_product_attention` against the reference: output, weights, gradients by query, key and value."""
    errors = {"output": 0.0, "weights": 0.0, "gradients": 0.0}
    for case in attention_cases(count):
        inputs = [x.clone().requires_grad_() for x in (case.query, case.key, case.value)]
        output, weights = scaled_dot_product_attention(*inputs, case.mask)
        to_output, to_weights = (numbers(*x.shape, seed=case.seed + i) for i, x in enumerate((output, weights)))
        ((to_output * output).sum() + (to_weights * weights).sum()).backward()
        known = [array(x) for x in (case.query, case.key, case.value, case.mask)]
        right, right_weights = reference.attention(*known)
        right_gradients = reference.attention_gradients(*known, array(to_output), array(to_weights))
        _raise(errors, "output", worst(output, right))
        _raise(errors, "weights", worst(weights, right_weights))
        for x, gradient in zip(inputs, right_gradients, strict=True):
            _raise(errors, "gradients", worst(x.grad, gradient))
    return errors


def multi_head_errors(count: int = 300) -> dict[str, float]:
    """`MultiHeadAttention`, both paths, against the reference and torch: output, weights, gradients of inputs and weights.

    Gradients above 1 are compared relative to the largest of their tensor.
    """
    errors = {"output": 0.0, "weights": 0.0, "gradients": 0.0, "fused path": 0.0, "output against torch": 0.0}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        h, d_k, B, T, S = (int(rng.integers(1, top)) for top in (9, 9, 6, 14, 14))
        ours = randomise(MultiHeadAttention(h * d_k, h, bias=bool(seed % 2)).double(), seed, scale=(h * d_k) ** -0.5)
        shapes = [(B, T), (B, S), (B, S)]
        inputs = [numbers(*shape, h * d_k, seed=9 * seed + i).requires_grad_() for i, shape in enumerate(shapes)]
        mask = some_mask(*[(T, S), (h, T, S), (B, 1, 1, S), (B, h, T, S), (B, 1, T, S)][seed % 5], seed=seed)
        right, right_weights, back = reference.multi_head(parameters_of(ours), *map(array, inputs), h, array(mask))
        to_output = numbers(*right.shape, seed=seed)
        *right_gradients, right_of_weights = back(array(to_output))
        for need_weights in (True, False):
            ours.zero_grad()
            for x in inputs:
                x.grad = None
            output, weights = ours(*inputs, mask=mask, need_weights=need_weights)
            (to_output * output).sum().backward()
            _raise(errors, "output" if need_weights else "fused path", worst(output, right))
            if weights is not None:
                _raise(errors, "weights", worst(weights, right_weights))
            for x, gradient in zip(inputs, right_gradients, strict=True):
                _raise(errors, "gradients", _relative(x.grad, gradient))
            for name, gradient in gradients_of(ours).items():
                _raise(errors, "gradients", _relative(torch.from_numpy(gradient), right_of_weights[name]))
        blocked = ~mask.expand(B, h, T, S).reshape(B * h, T, S)
        if not blocked.all(-1).any():  # torch's module gives NaN there
            theirs, _ = torch_attention(ours)(*inputs, attn_mask=blocked)
            _raise(errors, "output against torch", worst(output, theirs))
    return errors


def encoder_errors(count: int = 60, dtype: torch.dtype = torch.float64) -> dict[str, float]:
    """`Encoder` of random configs against the reference and torch: memory, and the gradient of every parameter."""
    errors = {"memory": 0.0, "gradients": 0.0, "memory against torch": 0.0}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        config = _random_config(rng, seed)
        encoder = randomise(Encoder(config).to(dtype), seed)
        ids = token_ids(int(rng.integers(1, 5)), int(rng.integers(1, 12)), vocab_size=config.src_vocab_size, seed=seed)
        mask = some_mask(ids.shape[0], 1, 1, ids.shape[1], seed=seed, blocked_rows=False) if seed % 3 else None
        found = _against_reference(encoder, ids, mask, seed)
        _raise(errors, "memory", found["memory"])
        _raise(errors, "gradients", found["gradients"])
        _raise(errors, "memory against torch", _against_torch(encoder, ids, mask))
    return errors


def paper_size_errors(norm_first: bool = False) -> dict[str, float]:
    """The paper's encoder (512 wide, 8 heads, 6 layers) in float32 against the float64 reference, gradients relative.

    Gradients are those of the same encoder with GELU: where a ReLU's input is 0 up to rounding, float32 and float64 may
    take different sides of its kink, and neither gradient is wrong.
    """
    config = replace(PAPER_BASE, src_vocab_size=997, tgt_vocab_size=997, dropout=0.0, norm_first=norm_first, max_len=64)
    ids = token_ids(2, 23, vocab_size=997)
    mask = torch.arange(23) < torch.tensor([23, 5])[:, None, None, None]
    torch.manual_seed(0)
    encoder = Encoder(config).eval()
    found = _against_reference(encoder, ids, mask, 0) | {"memory against torch": _against_torch(encoder, ids, mask)}
    smooth = Encoder(replace(config, activation="gelu")).eval()
    smooth.load_state_dict(encoder.state_dict())
    return found | {"gradients": _against_reference(smooth, ids, mask, 0)["gradients"]}


def half_precision_ratio(dtype: torch.dtype, count: int = 200) -> dict[str, float]:
    """Our error over that of torch's fused kernel on the same input, both measured against float64; the worst of all cases."""
    ratios = {"ratio": 0.0, "ours": 0.0, "fused": 0.0}
    for case in attention_cases(count, dtype):
        lead = (1,) * (4 - case.query.dim())
        known = [array(x) for x in (case.query, case.key, case.value, case.mask)]
        right, _ = reference.attention(*known)
        mask = None if case.mask is None else case.mask.expand(*case.query.shape[:-1], case.key.shape[-2])
        four = [x.reshape(*lead, *x.shape) for x in (case.query, case.key, case.value)]
        theirs = F.scaled_dot_product_attention(
            *four, attn_mask=None if mask is None else mask.reshape(*lead, *mask.shape)
        )
        our_error = worst(scaled_dot_product_attention(case.query, case.key, case.value, case.mask)[0], right)
        their_error = worst(theirs.reshape(right.shape), right)
        _raise(ratios, "ratio", our_error / their_error if our_error else 0.0)
        _raise(ratios, "ours", our_error)
        _raise(ratios, "fused", their_error)
    return ratios


def _raise(errors: dict[str, float], name: str, error: float) -> None:
    errors[name] = max(errors[name], error)


def _relative(actual: Tensor, expected: np.ndarray) -> float:
    return worst(actual, expected) / max(1.0, np.abs(expected).max(initial=0.0))


def _random_config(rng: np.random.Generator, seed: int) -> TransformerConfig:
    h, d_k = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    return TransformerConfig(
        src_vocab_size=11,
        tgt_vocab_size=13,
        d_model=h * d_k if h * d_k > 1 else 2,  # LayerNorm of one number is always its shift
        num_heads=h,
        num_encoder_layers=int(rng.integers(1, 4)),
        d_ff=int(rng.integers(1, 18)),
        max_len=17,
        dropout=0.0,
        activation=("relu", "gelu", "gelu_tanh", "silu")[seed % 4],
        norm_first=bool(rng.integers(2)),
        layer_norm_eps=float(rng.choice([1e-5, 1e-6, 0.1])),
        scale_embedding=bool(rng.integers(2)),
        position=("sinusoidal", "sinusoidal_halves", "learned", "none")[int(rng.integers(4))],
    )


def _against_reference(encoder: Encoder, ids: Tensor, mask: Tensor | None, seed: int) -> dict[str, float]:
    encoder.zero_grad()
    memory = encoder(ids, mask)
    to_memory = numbers(*memory.shape, seed=seed)
    (to_memory * memory).sum().backward()
    right, back = reference.encoder(parameters_of(encoder), ids.numpy(), encoder.config, array(mask))
    right_gradients = back(array(to_memory))
    found = gradients_of(encoder)
    assert found.keys() == right_gradients.keys()
    biggest = max(1.0, max(np.abs(g).max() for g in right_gradients.values()))
    off = max(np.abs(found[name] - g).max() for name, g in right_gradients.items())
    return {"memory": worst(memory, right), "gradients": float(off / biggest)}


def _against_torch(encoder: Encoder, ids: Tensor, mask: Tensor | None) -> float:
    x = encoder.pos_encoding(encoder.embedding(ids))
    blocked = None if mask is None else ~mask[:, 0, 0]
    theirs = torch_encoder(encoder).train(encoder.training)(x, src_key_padding_mask=blocked)
    return worst(encoder(ids, mask), theirs)


def main() -> None:
    """Measures everything and prints one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cases", type=int, default=4000, help="random shapes and masks for the formula (default 4000)"
    )
    cases = parser.parse_args().cases
    torch.set_num_threads(1)
    rows: list[tuple[str, Callable[[], dict[str, float]], float]] = [
        (f"attention, float64, {cases} cases", lambda: formula_errors(cases), 1e-12),
        (f"multi-head, float64, {cases // 8} cases", lambda: multi_head_errors(cases // 8), 1e-12),
        (f"encoder, float64, {cases // 40} configs", lambda: encoder_errors(cases // 40), 1e-10),
        ("paper-size encoder, float32, post-LN", paper_size_errors, 1e-5),
        ("paper-size encoder, float32, pre-LN", lambda: paper_size_errors(norm_first=True), 1e-5),
    ]
    for title, measure, bar in rows:
        start = time.perf_counter()
        said = "  ".join(f"{name} {error:.1e}" for name, error in measure().items())
        print(f"{title:42} bar {bar:.0e}  {said}  ({time.perf_counter() - start:.1f} s)", flush=True)
    for dtype in HALF_DTYPES:
        found = half_precision_ratio(dtype, cases // 8)
        title = f"attention, {str(dtype).removeprefix('torch.')}, {cases // 8} cases"
        said = f"worst ratio {found['ratio']:.2f}  error {found['ours']:.1e}  error of torch's fused kernel {found['fused']:.1e}"
        print(f"{title:42} bar 2 x    {said}")


if __name__ == "__main__":
    main()
