"""A panel over the real attention module, for a live kernel.

Floor 6. Importing this needs no ipywidgets: the panel makes its controls only when a live notebook shows it. Where a
notebook is executed for a page or a test, it is a still picture that says so, and no control is ever dead.
"""

import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .attention import MultiHeadAttention, split_heads
from .element import escape, heat_map, still_card
from .masks import causal_mask

DTYPES = ("float32", "float64", "bfloat16", "float16")
MASKS = ("none", "causal")
MAX_NUMBERS = 50_000_000  # in one tensor: 200 MB in float32
STILL = (
    "This is a still picture. The panel needs a live kernel: run this cell in Jupyter or Colab to set sizes, mask, dtype "
    "and device."
)
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
        dtype: one of `DTYPES`.
        device: such as "cpu" or "cuda".
        seed: same seed, same numbers; the global generator is left as it was.

    Returns:
        Shapes, weights and the difference.

    Raises:
        ValueError: h does not divide d_model, a size is below 1, a tensor would be too large, or a word is unknown.

    Source:
        Paper 3.2; chapter 02.
    """
    for name, value, known in (("mask", mask, MASKS), ("dtype", dtype, DTYPES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    for name, size in (("batch", batch), ("length", length)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    largest = max(batch * num_heads * length**2, batch * length * d_model, d_model**2)
    if largest > MAX_NUMBERS:
        raise ValueError(
            f"these sizes need a tensor of {largest:,} numbers; take sizes that need at most {MAX_NUMBERS:,}"
        )
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)  # the CPU's alone: torch.manual_seed would reset the GPU's too
        attention = MultiHeadAttention(d_model, num_heads).to(device, getattr(torch, dtype)).eval()
        x = torch.randn(batch, length, d_model, dtype=torch.float64).to(
            device, getattr(torch, dtype)
        )  # [B, S, d_model]
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


def attention_panel(**settings: Any) -> "AttentionPanel":
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
    return AttentionPanel(settings)


class AttentionPanel:
    """Controls over `MultiHeadAttention` in a live notebook, a still picture elsewhere.

    Args:
        settings: what to start with, as `run_attention` takes it.

    Raises:
        TypeError: a setting is unknown.
        ValueError: a setting is refused.

    Source:
        Ours; chapter 02.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        defaults = run_attention.__kwdefaults__
        self.report = run_attention(**settings)
        self.settings = defaults | settings

    def __repr__(self) -> str:
        s = self.settings
        shapes = ", ".join(f"{name} {list(size)}" for name, size in self.report.shapes)
        return f"Attention panel (needs a live kernel): mask {s['mask']}, {s['dtype']}, {s['device']}. {shapes}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if has_reader() and (view := _view(self)):
            return {"text/plain": repr(self), "application/vnd.jupyter.widget-view+json": view}
        return {
            "text/plain": repr(self),
            "text/html": _report_html(self.settings, self.report, f"<p><em>{STILL}</em></p>"),
        }

    def controls(self) -> Any:
        """Makes the live controls, for a notebook that does not show them by itself.

        Returns:
            An ipywidgets box.

        Raises:
            ModuleNotFoundError: ipywidgets is not installed.

        Source:
            Ours; chapter 02.
        """
        import ipywidgets as ipw

        fields = {name: _field(ipw, name, value) for name, value in self.settings.items()}
        button = ipw.Button(description="Run", button_style="primary")
        result = ipw.HTML(value=_report_html(self.settings, self.report, _difference(self.report)))

        def run(_button: Any) -> None:
            settings = {name: field.value for name, field in fields.items()}
            result.value = _attempt(settings)

        button.on_click(run)
        rows = ipw.Layout(display="flex", flex_flow="row wrap")
        return ipw.VBox([ipw.Box([*fields.values(), button], layout=rows), result])


def has_reader() -> bool:
    """Tells whether someone sits before this kernel.

    JupyterLab, Notebook, Colab and VS Code allow a cell to ask for input; whatever executes notebooks for pages or tests
    (nbclient, nbval, Jupyter Book) does not.

    Returns:
        True when the running cell may ask for input.

    Source:
        Ours; chapter 02.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))


def _report_html(settings: dict[str, Any], report: AttentionReport, note: str) -> str:
    chosen = ", ".join(f"{name} = {settings[name]}" for name in ("mask", "dtype", "device"))
    cell = "padding:3px 10px;text-align:left;font-weight:normal"
    rows = "".join(
        f'<tr style="background:#fff"><th scope="row" style="{cell}">{escape(name)}</th><td style="{cell}">{list(size)}</td></tr>'
        for name, size in report.shapes
    )
    table = (
        f'<table style="border-collapse:collapse;margin:0;background:#fff;color:#18202c"><tbody>{rows}</tbody></table>'
    )
    S = min(SHOWN, len(report.weights))
    names = [str(i) for i in range(S)]
    whole = "" if S == len(report.weights) else f" (the first {S} of {len(report.weights)} positions)"
    picture = heat_map(
        report.weights[:S, :S].tolist(), names, names, f"Weights of head 1{whole}: a row is a query, a column a key"
    )
    return still_card(f"<p><strong>MultiHeadAttention</strong>: {escape(chosen)}</p>", table, picture, note)


def _difference(report: AttentionReport) -> str:
    return f"<p>Largest difference between the formula and the fused kernel: {report.difference:.1e}</p>"


def _attempt(settings: dict[str, Any]) -> str:
    try:
        report = run_attention(**settings)
    except (ValueError, TypeError, RuntimeError) as error:  # the message is the lesson
        return still_card(f"<p><strong>{type(error).__name__}</strong>: {escape(error)}</p>")
    return _report_html(settings, report, _difference(report))


def _field(ipw: Any, name: str, value: Any) -> Any:
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    choices = {"mask": MASKS, "dtype": DTYPES, "device": devices}
    common = {
        "description": name,
        "value": value,
        "style": {"description_width": "6em"},
        "layout": ipw.Layout(width="15em"),
    }
    return ipw.Dropdown(options=choices[name], **common) if name in choices else ipw.IntText(**common)


def _view(panel: AttentionPanel) -> dict[str, Any] | None:
    try:
        box = panel.controls()
    except ModuleNotFoundError:
        return None
    return {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
