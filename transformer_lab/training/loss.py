"""The loss of training: cross-entropy with label smoothing, as a sum and a count of tokens.

Floor 4b.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..validation import check_token_ids, dtype_name
from .vocabulary import PAD


def label_smoothed_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float = 0.1, pad_id: int = PAD
) -> tuple[Tensor, Tensor]:
    r"""Sums the cross-entropy between the model's words and the right ones, softened, over all real tokens.

    $$-\sum_{\text{real } t} \Big[(1-\varepsilon)\log p_t(y_t) + \frac{\varepsilon}{V}\sum_{v=1}^{V}\log p_t(v)\Big]$$

    Sum and count come apart, so that several batches, or the shares of several processes, add up to exactly the loss of one
    joined batch: a mean of means would weigh a token by the company it keeps.

    Args:
        logits: scores of the next token [B, T, V]; half precision is raised to float32 first.
        targets: the right next tokens [B, T]; pad_id where there is none.
        smoothing: ε in [0, 1), the share of probability spread evenly over all V words, the right one among them.
        pad_id: id of the padding token; its positions count for nothing.

    Returns:
        The sum [] in nats, and the number of real tokens [] (int64). Nothing but padding gives 0 and 0, and no gradient.

    Raises:
        TypeError: logits are no floating-point numbers, or targets no integers.
        ValueError: the shapes do not fit, smoothing is outside [0, 1), or a target is outside the vocabulary.

    Source:
        Paper 5.4 (ε = 0.1); Szegedy et al. 2016; called `label_smoothing` by `torch.nn.functional.cross_entropy`; chapter 10.
    """
    _check(logits, targets, smoothing)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    real = targets != pad_id  # [B, T]
    return _SmoothedCrossEntropy.apply(logits, targets, real, smoothing), real.sum()


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The sum above, with its gradient by hand: p - q, the model's distribution minus the softened right one.

    Autograd would find the same in five passes over [B, T, V] instead of two, which is a tenth of a training step.
    """

    @staticmethod
    def forward(ctx, logits: Tensor, targets: Tensor, real: Tensor, smoothing: float) -> Tensor:
        log_p = logits.log_softmax(dim=-1)  # [B, T, V]
        right = log_p.gather(-1, targets[..., None]).squeeze(-1)  # [B, T]
        every = log_p.mean(dim=-1)  # [B, T]
        ctx.save_for_backward(log_p, targets, real)
        ctx.smoothing = smoothing
        return -((1 - smoothing) * right + smoothing * every).masked_fill(~real, 0.0).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        log_p, targets, real = ctx.saved_tensors
        gradient = log_p.exp().sub_(ctx.smoothing / log_p.shape[-1])  # [B, T, V]
        gradient.scatter_add_(-1, targets[..., None], log_p.new_full((*targets.shape, 1), ctx.smoothing - 1))
        return gradient.mul_((real * grad)[..., None]), None, None, None


def check_smoothing(smoothing: float) -> None:
    """Refuses a share of probability outside [0, 1).

    Args:
        smoothing: ε of label smoothing.

    Raises:
        ValueError: it is below 0, or 1 and more (nothing would be left for the right word).

    Source:
        Paper 5.4; chapter 10.
    """
    if not 0.0 <= smoothing < 1.0:
        raise ValueError(f"smoothing must be at least 0 and below 1, got {smoothing}")


def _check(logits: Tensor, targets: Tensor, smoothing: float) -> None:
    check_smoothing(smoothing)
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating-point scores, got {dtype_name(logits)}")
    if logits.dim() != 3 or logits.shape[:2] != targets.shape:
        raise ValueError(
            f"logits must be [B, T, V] and targets [B, T] with the same B and T, got {list(logits.shape)} and {list(targets.shape)}"
        )
    check_token_ids("targets", targets, logits.shape[-1])
