"""Everything that decides how a training goes, in one frozen dataclass.

Floor 4b.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..validation import check_choice, check_positive
from .loss import check_smoothing

PRECISIONS = ("float32", "bfloat16", "float16")
LIMITS = ("epochs", "steps", "minutes", "patience")  # may change when a training is resumed


@dataclass(frozen=True)
class TrainingOptions:
    """Says how to train; the defaults are the paper's, with the sizes of a small model.

    Args:
        epochs: passes over the examples, at most.
        steps: updates of the weights, at most.
        minutes: of training, at most, those before a resume included. At least one of the three limits is needed.
        max_tokens: padded tokens a batch, at most.
        warmup: steps in which the learning rate rises.
        factor: multiplies the learning rate of the paper's schedule.
        betas: how slowly Adam forgets gradients and their squares.
        eps: keeps Adam's division finite.
        smoothing: share of probability that label smoothing spreads over the vocabulary.
        clip: longest gradient, as one vector of all weights; a longer one is shortened to it. None: as it comes.
        accumulate: batches whose gradients one update sums; as if they were one larger batch.
        precision: float32 is the model's own dtype; bfloat16 and float16 compute products in half precision (autocast), the
            latter with gradients scaled against underflow.
        seed: of the order of batches and of dropout.
        patience: epochs without a better validation loss after which training stops. None: no such stop.
        ema: the averaged weights keep this share of themselves at every step (0.999, for example). They are the ones that are
            validated and returned. 0: none are kept.

    Raises:
        TypeError: a whole number is none.
        ValueError: a number is out of its range, a word is unknown, or there is no limit.

    Source:
        Paper 5; Polyak averaging as in Kingma & Ba 2015, section 7.2; chapter 10.
    """

    epochs: int | None = None
    steps: int | None = None
    minutes: float | None = None
    max_tokens: int = 1536
    warmup: int = 400
    factor: float = 1.0
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    smoothing: float = 0.1
    clip: float | None = 1.0
    accumulate: int = 1
    precision: str = "float32"
    seed: int = 0
    patience: int | None = None
    ema: float = 0.0

    def __post_init__(self) -> None:
        if self.epochs is self.steps is self.minutes is None:
            raise ValueError("training needs an end: give epochs, steps or minutes")
        limits = {name: getattr(self, name) for name in ("epochs", "steps", "patience")}
        check_positive(**{name: value for name, value in limits.items() if value is not None})
        check_positive(max_tokens=self.max_tokens, warmup=self.warmup, accumulate=self.accumulate)
        for name in ("minutes", "factor", "eps", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be above 0, got {value}")
        check_smoothing(self.smoothing)
        check_choice("precision", self.precision, PRECISIONS)
        object.__setattr__(self, "betas", tuple(self.betas))  # a list, as JSON has them, is fine
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1, got {self.betas}")
        if not 0 <= self.ema < 1:
            raise ValueError(f"ema must be at least 0 (off) and below 1, for example 0.999, got {self.ema}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**48:
            raise ValueError(f"seed must be an int of at least 0 and below 2**48, got {self.seed!r}")

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON holds them.

        Returns:
            {name: value} of every field; betas as a list.

        Source:
            Ours; chapter 10.
        """
        return {**asdict(self), "betas": list(self.betas)}
