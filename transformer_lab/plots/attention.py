"""Attention maps and masks.

Floor 5: torch, matplotlib and seaborn.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from torch import Tensor

from .style import BLUE, FAMILIES, INK, label, write_title


def plot_attention(
    weights: Tensor,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str = "",
    vmax: float = 1.0,
    numbers: bool = True,
    colorbar: bool = True,
) -> Axes:
    """Draws one attention map: a row per query, a column per key, the darker the more attention.

    Args:
        weights: [T, S].
        query_tokens: T labels of the rows. In cross-attention label a row with the token being predicted.
        key_tokens: S labels of the columns; the query's when None.
        ax: where to draw; new Axes when None.
        title: above the map.
        vmax: weight of the darkest colour; give maps that are compared the same.
        numbers: write each weight into its cell.
        colorbar: draw the scale beside the map.

    Returns:
        The Axes.

    Raises:
        ValueError: weights are not [T, S], or labels do not match in count.

    Source:
        Article, "Code + heat map"; chapter 02.
    """
    key_tokens = query_tokens if key_tokens is None else key_tokens
    values = _matrix(weights, query_tokens, key_tokens)
    if ax is None:
        width = 0.62 * len(key_tokens) + 1.6 + colorbar + _room(query_tokens)
        height = 0.5 * len(query_tokens) + 1.3 + _room(key_tokens)
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    sns.heatmap(
        values, ax=ax, cmap="Blues", vmin=0, vmax=vmax, square=True, linewidths=0.5, linecolor="white",
        annot=numbers, fmt=".2f", annot_kws={"fontsize": 8}, cbar=colorbar, xticklabels=False, yticklabels=False,
        cbar_kws={"label": "attention weight", "shrink": 0.8},
    )  # fmt: skip
    _label_cells(ax, query_tokens, key_tokens)
    ax.set_xlabel("key (looked at)")
    ax.set_ylabel("query (looking)")
    write_title(ax, title)
    return ax


def plot_heads(
    weights: Tensor,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    columns: int = 2,
    vmax: float = 1.0,
    numbers: bool = True,
) -> list[Axes]:
    """Draws several attention maps of one sentence on one scale: heads, layers, or a model beside its control.

    Args:
        weights: [n, T, S].
        query_tokens: T labels.
        key_tokens: S labels; the query's when None.
        titles: n titles; "head 1", "head 2" … when None.
        columns: maps side by side.
        vmax: weight of the darkest colour.
        numbers: write each weight into its cell.

    Returns:
        The n Axes.

    Raises:
        ValueError: weights are not [n, T, S] with n of at least 1, columns is below 1, or titles or labels do not match.

    Source:
        Article, "Multi-head: motive"; chapters 02 and 03.
    """
    if weights.dim() != 3 or 0 in weights.shape:
        raise ValueError(f"weights must be [maps, queries, keys], got {tuple(weights.shape)}; weights[0] picks one sentence")
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    titles = [f"head {i + 1}" for i in range(len(weights))] if titles is None else titles
    if len(titles) != len(weights):
        raise ValueError(f"{len(weights)} maps need {len(weights)} titles, got {len(titles)}")
    keys = query_tokens if key_tokens is None else key_tokens
    columns = min(columns, len(weights))
    rows = -(-len(weights) // columns)
    width, height = 0.5 * len(keys) + 1.2 + _room(query_tokens), 0.5 * len(query_tokens) + 1.0 + _room(keys)
    size = (columns * width, rows * height)
    _, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    used = list(axes.flat)[: len(weights)]
    for ax, one_map, title in zip(used, weights, titles, strict=True):
        plot_attention(
            one_map, query_tokens=query_tokens, key_tokens=keys, ax=ax, title=title, vmax=vmax, numbers=numbers, colorbar=False
        )
    for ax in list(axes.flat)[len(weights) :]:
        ax.remove()
    return used


def plot_mask(
    mask: Tensor,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str = "",
) -> Axes:
    """Draws a mask: a blue cell with a dot may be attended to, a pale one may not.

    Args:
        mask: boolean [T, S], True = may attend.
        query_tokens: T labels.
        key_tokens: S labels; the query's when None.
        ax: where to draw; new Axes when None.
        title: above the mask.

    Returns:
        The Axes.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: it is not [T, S], or labels do not match in count.

    Source:
        Paper 3.2.3; chapters 02 and 07.
    """
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean (True = may attend), got {str(mask.dtype).removeprefix('torch.')}")
    key_tokens = query_tokens if key_tokens is None else key_tokens
    values = _matrix(mask, query_tokens, key_tokens)
    if ax is None:
        size = (0.45 * len(key_tokens) + 1.4 + _room(query_tokens), 0.45 * len(query_tokens) + 1.2 + _room(key_tokens))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    dots = [["•" if allowed else "" for allowed in row] for row in values.tolist()]
    sns.heatmap(
        values, ax=ax, cmap=ListedColormap(["#eeeeee", BLUE]), vmin=0, vmax=1, square=True, linewidths=0.5,
        linecolor="white", annot=dots, fmt="", cbar=False, xticklabels=False, yticklabels=False,
    )  # fmt: skip
    _label_cells(ax, query_tokens, key_tokens)
    ax.set_xlabel("key")
    ax.set_ylabel("query")
    write_title(ax, title)
    return ax


def _room(tokens: Sequence[str]) -> float:
    """Inches that long labels need beyond what every figure leaves for labels."""
    widths = [sum(2 if ord(c) >= 0x2E80 else 1 for c in label(token)) for token in tokens]  # Chinese is twice as wide
    return 0.09 * max(0, max(widths, default=0) - 8)


def _matrix(values: Tensor, query_tokens: Sequence[str], key_tokens: Sequence[str]) -> np.ndarray:
    expected = (len(query_tokens), len(key_tokens))
    if 0 in expected:
        raise ValueError("query_tokens and key_tokens need at least one token each")
    if tuple(values.shape) != expected:
        raise ValueError(
            f"{expected[0]} query tokens and {expected[1]} key tokens need weights of shape {expected}, "
            f"got {tuple(values.shape)}"
        )
    return values.detach().to("cpu", torch.float32).numpy()


def _label_cells(ax: Axes, query_tokens: Sequence[str], key_tokens: Sequence[str]) -> None:
    """Puts one label at the centre of each row and column; equal words keep their own cells."""
    style = {"parse_math": False, "fontfamily": FAMILIES, "color": INK}
    ax.set_xticks([i + 0.5 for i in range(len(key_tokens))], [label(t) for t in key_tokens], rotation=45, ha="right", **style)
    ax.set_yticks([i + 0.5 for i in range(len(query_tokens))], [label(t) for t in query_tokens], rotation=0, **style)
    for tick in ax.get_xticklabels():
        tick.set_rotation_mode("anchor")
