"""The panel over the KV cache: decoding with and without it, for sizes of the reader's own.

Floor 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..config import TransformerConfig
from ..element import escape
from ..transformer import Transformer
from .panel import DTYPES, Panel, check_choices, check_sizes, devices, facts

MAX_NUMBERS = 5_000_000  # in one tensor
MAX_TOKENS = 256
WORDS = 101  # of both vocabularies


@dataclass(frozen=True)
class CacheReport:
    """What decoding the same tokens twice gave.

    Args:
        difference: largest difference of any logit, with the cache against all at once.
        nbytes: bytes that the cache takes.
        formula: the bytes by 2·N·B·(length + source)·d_model·(bytes per number).
        products_with: multiplications and additions of all steps with the cache.
        products_without: the same when every step computes all tokens anew.

    Source:
        Ours; chapter 09.
    """

    difference: float
    nbytes: int
    formula: int
    products_with: int
    products_without: int


def run_cache(
    *,
    batch: int = 1,
    source: int = 6,
    length: int = 8,
    d_model: int = 64,
    num_heads: int = 4,
    num_layers: int = 2,
    dtype: str = "float32",
    device: str = "cpu",
    seed: int = 0,
) -> CacheReport:
    """Decodes random tokens with a new `Transformer`, one at a time with its cache, and compares.

    Args:
        batch: B.
        source: source tokens S.
        length: target tokens.
        d_model: width.
        num_heads: h.
        num_layers: N, of encoder and decoder.
        dtype: "float32", "float64", "bfloat16" or "float16".
        device: such as "cpu" or "cuda".
        seed: same seed, same numbers; the global generator is left as it was.

    Returns:
        The difference, the bytes and the work.

    Raises:
        ValueError: h does not divide d_model, a size is below 1 or too large, or a word is unknown.

    Source:
        Article, "KV cache: principle"; chapter 09.
    """
    check_choices(dtype=(dtype, DTYPES))
    sizes = {"batch": batch, "source": source, "length": length, "d_model": d_model, "num_layers": num_layers}
    check_sizes(MAX_NUMBERS, max(4 * d_model**2, batch * (source + length) * d_model * num_layers), **sizes)
    if max(source, length) > MAX_TOKENS:
        raise ValueError(f"source and length must be at most {MAX_TOKENS}, got {source} and {length}")
    config = TransformerConfig(
        WORDS, WORDS, d_model, num_heads, num_layers, num_layers, 4 * d_model, max_len=MAX_TOKENS, dropout=0.0
    )
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.default_generator.manual_seed(seed)  # the CPU's alone: torch.manual_seed would reset the GPU's too
        model = Transformer(config).to(device, getattr(torch, dtype)).eval()
        src, tgt = (torch.randint(3, WORDS, (batch, n)).to(device) for n in (source, length))  # [B, S], [B, T]
        memory = model.encode(src)  # [B, S, d_model]
        whole = model.output(model.decode(tgt, memory))  # [B, T, V]
        cache = model.new_cache(memory, capacity=length)
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as cached:  # fused kernels are not counted on a CPU
            steps = [model.output(model.decode(tgt[:, t : t + 1], memory, cache=cache)) for t in range(length)]
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as anew:
            for t in range(1, length + 1):
                model.output(model.decode(tgt[:, :t], memory)[:, -1:])
    size = torch.empty((), dtype=getattr(torch, dtype)).element_size()
    return CacheReport(
        float((torch.cat(steps, dim=1).double() - whole.double()).abs().max()),
        cache.nbytes,
        2 * num_layers * batch * (length + source) * d_model * size,
        cached.get_total_flops(),
        anew.get_total_flops(),
    )


def cache_panel(**settings: Any) -> Panel:
    """Makes the panel: sizes, dtype and device of a real model, decoded with and without its cache.

    Args:
        settings: what to start with, as `run_cache` takes it.

    Returns:
        The panel. As the last expression of a cell it shows its controls in a live notebook, and a still elsewhere.

    Raises:
        TypeError: a setting is unknown.
        ValueError: a setting is refused by `run_cache`.

    Source:
        Ours; chapter 09.
    """
    return Panel("Cache", run_cache, _tell, _say, settings, {"dtype": DTYPES, "device": devices()})


def _say(settings: Mapping[str, Any], report: CacheReport) -> str:
    return f"{settings['length']} tokens, {report.nbytes:,} bytes, {report.products_without / report.products_with:.1f} times less work"


def _tell(settings: Mapping[str, Any], report: CacheReport, live: bool) -> list[str]:
    chosen = f"{settings['length']} target tokens after {settings['source']} source tokens, {settings['dtype']}, {settings['device']}"
    rows = {
        "bytes of the cache": f"{report.nbytes:,}",
        "bytes by the formula": f"{report.formula:,}",
        "operations with the cache": f"{report.products_with:,}",
        "operations without": f"{report.products_without:,}",
        "ratio": f"{report.products_without / report.products_with:.2f}",
    }
    exact = f"<p>Largest difference of a logit, step by step against all at once: {report.difference:.1e}</p>"
    return [f"<p><strong>Transformer with its KV cache</strong>: {escape(chosen)}</p>", facts(rows), exact * live]
