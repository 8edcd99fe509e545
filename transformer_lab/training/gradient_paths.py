"""Where gradients go: how much of the loss's gradient reaches each weight, and by which path it enters the encoder.

Floor 4b. The encoder's output reaches the decoder only through the keys and values of cross-attention, so that is where its
gradient comes back. Queries come from the decoder's side: they pass a gradient down the decoder, never to the encoder.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ..transformer import Transformer
from .batches import Batch
from .loss import label_smoothed_loss

PATHS = ("query", "key", "value")


def gradient_norms(model: Transformer, batch: Batch, *, cut: tuple[str, ...] = ()) -> dict[str, float]:
    r"""Computes the length of the loss's gradient with respect to each weight.

    $$g_W = \left\lVert \frac{\partial L}{\partial W} \right\rVert_2$$

    L is the mean cross-entropy per target token, without label smoothing; the model is in eval mode meanwhile, and neither its
    weights nor their `.grad` are changed.

    Args:
        model: any encoder–decoder.
        batch: sentences with their targets.
        cut: paths through cross-attention along which no gradient flows back, in every decoder layer: "query", "key" or "value".
            The forward pass, and so the loss, stays the same.

    Returns:
        {weight's path: norm}; 0.0 where no path is left.

    Raises:
        ValueError: a path is unknown.

    Source:
        Article, "Joint training"; chapter 10.
    """
    wrong = [path for path in cut if path not in PATHS]
    if wrong:
        raise ValueError(f"cut must name paths among {', '.join(PATHS)}, got {', '.join(map(repr, wrong))}")
    names, weights = zip(*model.named_parameters(), strict=True)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with _cut(model, cut), torch.enable_grad():
            total, tokens = label_smoothed_loss(model(batch.src, batch.tgt_in), batch.tgt_out, smoothing=0.0, pad_id=batch.pad_id)
            gradients = torch.autograd.grad(total / tokens, weights, allow_unused=True)
    finally:
        for module, training in modes:
            module.training = training
    return {name: 0.0 if g is None else g.norm().item() for name, g in zip(names, gradients, strict=True)}


@contextmanager
def _cut(model: Transformer, paths: tuple[str, ...]) -> Iterator[None]:
    """Detaches what the projections of cross-attention are given, so that nothing flows back beyond them."""
    projections = {"query": "W_q", "key": "W_k", "value": "W_v"}

    def detach(_module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0].detach(), *inputs[1:])

    handles = [
        getattr(layer.cross_attn, projections[path]).register_forward_pre_hook(detach)
        for layer in model.decoder.layers
        for path in paths
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
