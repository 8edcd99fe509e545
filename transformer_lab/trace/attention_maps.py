"""Collecting attention weights by hooks.

Floor 5: torch only.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn as nn
from torch import Tensor


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collects the weights of every attention that runs inside the `with` block.

    Args:
        model: any module that holds attention modules (those whose forward takes need_weights).

    Returns:
        A context manager; its value is {module path: [weights [B, h, T, S] of each call, in order]}, detached.

    Raises:
        ValueError: the model holds no attention module.

    Source:
        Article, "Code + heat map"; chapters 02 and 03.
    """
    maps: dict[str, list[Tensor]] = {}
    handles = []
    for path, module in model.named_modules():
        if not takes_need_weights(module):
            continue
        asked = []  # what the caller asked for, so that the result can be given back in that form
        default = inspect.signature(module.forward).parameters["need_weights"].default

        def ask(
            _module: nn.Module, args: tuple, kwargs: dict, asked: list = asked, default: bool = default
        ) -> tuple[tuple, dict]:
            asked.append(kwargs.get("need_weights", default))
            return args, {**kwargs, "need_weights": True}

        def keep(_module: nn.Module, _args: tuple, result: tuple, path: str = path, asked: list = asked) -> tuple:
            output, weights = result
            maps.setdefault(path, []).append(weights.detach())
            return output, weights if asked.pop() else None

        handles.append(module.register_forward_pre_hook(ask, with_kwargs=True))
        handles.append(module.register_forward_hook(keep, prepend=True))  # recordings inside recordings close in order
    if not handles:
        raise ValueError(f"{type(model).__name__} holds no attention module (none whose forward takes need_weights)")
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()


def takes_need_weights(module: nn.Module) -> bool:
    """Tells an attention module by its signature.

    Args:
        module: any module.

    Returns:
        Whether its forward takes need_weights.

    Source:
        Ours; chapter 02.
    """
    return "need_weights" in inspect.signature(module.forward).parameters
