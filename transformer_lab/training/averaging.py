"""Averaged weights: a running mean that follows the trained weights slowly, and often translates better than they do.

Floor 4b.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class AveragedWeights:
    r"""Keeps an exponential moving average (EMA) of a model's weights.

    $$\bar w \leftarrow d\,\bar w + (1-d)\,w, \qquad d = \min\Big(\text{decay}, \frac{1+\text{step}}{10+\text{step}}\Big)$$

    The second term lets the average forget the random first weights quickly.

    Args:
        model: whose weights are followed; tied ones once.
        decay: share of itself that the average keeps at every step, for example 0.999.

    Source:
        Polyak & Juditsky 1992; the rising decay is TensorFlow's `ExponentialMovingAverage`; chapter 10.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Takes in the model's weights after an update.

        Args:
            step: number of the update, counted from 1.

        Source:
            Ours; chapter 10.
        """
        new = 1 - min(self.decay, (1 + step) / (10 + step))
        for name, weight in self.model.named_parameters():
            self.weights[name].lerp_(weight, new)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Lends the average to the model inside a with-block; after it the model has its own weights again, bit for bit.

        Yields:
            Nothing.

        Source:
            Ours; chapter 10.
        """
        own = copy_weights(self.model)
        set_weights(self.model, self.weights)
        try:
            yield
        finally:
            set_weights(self.model, own)


def copy_weights(model: nn.Module) -> dict[str, Tensor]:
    """Copies a model's weights.

    Args:
        model: any.

    Returns:
        {name: tensor}, tied ones once.

    Source:
        Ours; chapter 10.
    """
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@torch.no_grad()
def set_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Gives a model other weights, in place.

    Args:
        model: any.
        weights: from `copy_weights` of a model of the same shapes.

    Source:
        Ours; chapter 10.
    """
    for name, weight in model.named_parameters():
        weight.copy_(weights[name])
