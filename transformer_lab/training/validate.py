"""How well a model predicts sentences that it does not learn from.

Floor 4b.
"""

import contextlib
import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from .batches import Example, bucketed_batches, collate
from .distributed import Processes
from .loss import label_smoothed_loss
from .vocabulary import PAD

ALONE = Processes()


@torch.no_grad()
def validation_loss(
    model: nn.Module,
    examples: Sequence[Example],
    max_tokens: int,
    processes: Processes = ALONE,
    precision: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext,
) -> float:
    r"""Measures the cross-entropy of the right next tokens, without smoothing and without dropout.

    $$-\frac{1}{\text{tokens}}\sum_{\text{real } t}\log p_t(y_t)$$

    e to its power is the perplexity.

    Args:
        model: put into eval mode for the time, and then back into the mode it had.
        examples: at least one.
        max_tokens: padded tokens a batch.
        processes: that share the batches; each has a part of them.
        precision: makes the with-block in which products are computed.

    Returns:
        Nats per real target token, the same in every process.

    Source:
        Paper 6.1, perplexity; chapter 10.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    pad_id = getattr(getattr(model, "config", None), "pad_id", PAD)
    batches = bucketed_batches(examples, max_tokens, seed=0, epoch=0)
    sums = []
    for indices in batches[processes.rank :: processes.count]:
        batch = collate([examples[i] for i in indices], pad_id).to(device)
        with precision():
            logits = model(batch.src, batch.tgt_in)  # [B, T, V]
            sums.append(label_smoothed_loss(logits, batch.tgt_out, smoothing=0.0, pad_id=pad_id)[0])
    model.train(was_training)
    mine = math.fsum(torch.stack(sums).tolist()) if sums else 0.0
    (total,) = processes.total([mine], device)
    return total / sum(len(example.tgt) for example in examples)
