"""The panel over `MultiHeadAttention`: sizes, mask, dtype and device.

Floor 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..attention import MultiHeadAttention, split_heads
from ..element import escape, heat_map
from ..masks import causal_mask
from .panel import DTYPES, Panel, check_choices, check_sizes, devices, facts

MASKS = ("none", "causal")
MAX_NUMBERS = 50_000_000  # in one tensor: 200 MB in float32
SHOWN = 12  # rows and columns of the heat map


@dataclass(frozen=True)
class AttentionReport:
    """What one run of the module gave.

    Args:
        shapes: (what, shape) of the steps, in order.
        weights: of the first batch row's first head, [S, S], on the CPU in float32.
        difference: largest difference between the outputs of the formula and of the fused kernel.

    Source:
        Ours; chapter 02.
    """

    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    weights: Tensor
    difference: float


def run_attention(
    *,
    batch: int = 1,
    length: int = 6,
    d_model: int = 64,
    num_heads: int = 4,
    mask: str = "none",
    dtype: str = "float32",
    device: str = "cpu",
    seed: int = 0,
) -> AttentionReport:
    """Runs a new `MultiHeadAttention` on random numbers, by the formula and by the fused kernel.

    Args:
        batch: B.
        length: S.
        d_model: width.
        num_heads: h.
        mask: "none" or "causal".
        dtype: "float32", "float64", "bfloat16" or "float16".
        device: such as "cpu" or "cuda".
        seed: same seed, same numbers; the global generator is left as it was.

    Returns:
        Shapes, weights and the difference.

    Raises:
        ValueError: h does not divide d_model, a size is below 1, a tensor would be too large, or a word is unknown.

    Source:
        Paper 3.2; chapter 02.
    """
    check_choices(mask=(mask, MASKS), dtype=(dtype, DTYPES))
    largest = max(batch * num_heads * length**2, batch * length * d_model, d_model**2)
    check_sizes(MAX_NUMBERS, largest, batch=batch, length=length)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)  # the CPU's alone: torch.manual_seed would reset the GPU's too
        attention = MultiHeadAttention(d_model, num_heads).to(device, getattr(torch, dtype)).eval()
        x = torch.randn(batch, length, d_model, dtype=torch.float64).to(device, getattr(torch, dtype))  # [B, S, d_model]
        allowed = causal_mask(length, device=device) if mask == "causal" else None
        by_formula, weights = attention(x, mask=allowed, need_weights=True)
        by_kernel, _ = attention(x, mask=allowed)
        Q = split_heads(attention.W_q(x), num_heads)  # [B, h, S, d_k]
    steps = {"x": x, "query, per head": Q, "weights": weights, "output": by_formula}
    return AttentionReport(
        tuple((name, tuple(tensor.shape)) for name, tensor in steps.items()),
        weights[0, 0].float().cpu(),
        float((by_formula.double() - by_kernel.double()).abs().max()),
    )


def attention_panel(**settings: Any) -> Panel:
    """Makes the panel: sizes, mask, dtype and device of the real module, a Run button, and what came out.

    Args:
        settings: what to start with, as `run_attention` takes it.

    Returns:
        The panel. As the last expression of a cell it shows its controls in a live notebook, and a still elsewhere.

    Raises:
        TypeError: a setting is unknown.
        ValueError: a setting is refused by `run_attention`.

    Source:
        Ours; chapter 02.
    """
    choices = {"mask": MASKS, "dtype": DTYPES, "device": devices()}
    return Panel("Attention", run_attention, _tell, _say, settings, choices)


def _say(settings: Mapping[str, Any], report: AttentionReport) -> str:
    shapes = ", ".join(f"{name} {list(size)}" for name, size in report.shapes)
    return f"mask {settings['mask']}, {settings['dtype']}, {settings['device']}. {shapes}"


def _tell(settings: Mapping[str, Any], report: AttentionReport, live: bool) -> list[str]:
    chosen = ", ".join(f"{name} = {settings[name]}" for name in ("mask", "dtype", "device"))
    S = min(SHOWN, len(report.weights))
    names = [str(i) for i in range(S)]
    whole = "" if S == len(report.weights) else f" (the first {S} of {len(report.weights)} positions)"
    caption = f"Weights of head 1{whole}: a row is a query, a column a key"
    return [
        f"<p><strong>MultiHeadAttention</strong>: {escape(chosen)}</p>",
        facts({name: list(size) for name, size in report.shapes}),
        heat_map(report.weights[:S, :S].tolist(), names, names, caption),
        f"<p>Largest difference between the formula and the fused kernel: {report.difference:.1e}</p>" * live,
    ]
