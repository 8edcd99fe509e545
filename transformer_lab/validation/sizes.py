"""Checks of sizes, probabilities and choices.

Floor 0: standard library only.
"""

import difflib


def check_heads(d_model: int, num_heads: int) -> None:
    """Refuses a width that the heads cannot share equally.

    Args:
        d_model: width of the model.
        num_heads: number of heads h; d_k = d_model / h must be a whole number.

    Raises:
        ValueError: either is below 1, or num_heads does not divide d_model (those that would are listed).

    Source:
        Paper 3.2.2; article, "Multi-head: definition"; chapter 03.
    """
    check_positive(d_model=d_model, num_heads=num_heads)
    if d_model % num_heads:
        works = ", ".join(str(n) for n in range(1, min(d_model, 64) + 1) if d_model % n == 0)
        raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads}); num_heads that work: {works}")


def check_positive(**sizes: int) -> None:
    """Refuses sizes that are not whole numbers of at least 1.

    Args:
        sizes: name=value pairs.

    Raises:
        TypeError: a value is not an int.
        ValueError: a value is below 1.

    Source:
        Ours; chapter 02.
    """
    for name, value in sizes.items():
        if type(value) is not int and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{name} must be an int, got {type(value).__name__} ({value!r})")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def check_dropout(dropout: float) -> None:
    """Refuses a dropout probability outside [0, 1).

    Args:
        dropout: probability that one number is dropped while training.

    Raises:
        ValueError: dropout < 0 or >= 1 (at 1 nothing would be left).

    Source:
        Paper 5.4; chapter 06.
    """
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a word that is not one of the choices, and suggests the nearest.

    Args:
        name: the argument's name.
        value: what was given.
        choices: what is possible.

    Raises:
        ValueError: value is not among choices.

    Source:
        Ours; chapter 02.
    """
    if value not in choices:
        hint = "".join(f"; did you mean {near!r}?" for near in difflib.get_close_matches(str(value), choices, n=1))
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}{hint}")


def check_length(length: int, max_len: int) -> None:
    """Refuses a sequence for which there are not enough positions.

    Args:
        length: number of tokens, those before the first one given included.
        max_len: number of positions.

    Raises:
        ValueError: length > max_len.

    Source:
        Paper 3.5; chapter 04.
    """
    if length > max_len:
        raise ValueError(f"sequence of {length} is longer than max_len {max_len} (build the model with max_len >= {length})")
