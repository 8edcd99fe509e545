"""The learning rate of the paper: up in a straight line, then down with the root of the step.

Floor 4b.
"""

from ..validation import check_positive


def warmup_rate(step: int, *, d_model: int, warmup: int, factor: float = 1.0) -> float:
    r"""Gives the learning rate of one step.

    $$\text{rate} = \text{factor} \cdot d_{model}^{-0.5} \cdot \min\big(\text{step}^{-0.5},\; \text{step} \cdot \text{warmup}^{-1.5}\big)$$

    It is highest at step = warmup: factor / sqrt(d_model · warmup).

    Args:
        step: number of the update, counted from 1; its rate is used in this very update.
        d_model: width of the model; wider models take smaller steps.
        warmup: number of rising steps.
        factor: multiplies everything (1 in the paper).

    Returns:
        The rate.

    Raises:
        TypeError: step, d_model or warmup is not an int.
        ValueError: one of them is below 1 (step 0 has no rate: 0^-0.5 is infinite), or factor is not above 0.

    Source:
        Paper 5.3, equation 3; called "Noam" elsewhere; chapter 10.
    """
    check_positive(step=step, d_model=d_model, warmup=warmup)
    if not factor > 0:
        raise ValueError(f"factor must be above 0, got {factor}")
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
