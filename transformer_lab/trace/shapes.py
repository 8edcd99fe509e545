"""Tracing the shape of every step.

Floor 5: torch only.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .attention_maps import takes_need_weights
from .sizes import flat, name_shape, named_sizes, traced_module
from .table import ShapeTrace, TraceRow

# What a reader wants to see as a step; everything else (sizes, dtypes, masks' bookkeeping) is passed over.
STEPS = {
    "matmul": "matmul", "__matmul__": "matmul", "bmm": "matmul", "linear": "linear", "softmax": "softmax",
    "masked_fill": "masked_fill", "reshape": "reshape", "view": "reshape", "transpose": "transpose", "permute": "transpose",
    "cat": "concat", "add": "add", "__add__": "add", "mul": "multiply", "__mul__": "multiply", "div": "divide",
    "__truediv__": "divide", "relu": "relu", "gelu": "gelu", "silu": "silu", "layer_norm": "layer_norm",
    "scaled_dot_product_attention": "fused attention", "copy_": "write",
}  # fmt: skip
TORCH = Path(torch.__file__).parent


def trace_shapes(
    model: nn.Module | Callable[..., Any], *inputs: Any, symbols: dict[str, int] | None = None, **options: Any
) -> ShapeTrace:
    """Runs the model once and notes the shape of every step.

    The model runs as it is, in eval mode and without a graph; attention takes the formula path, so that splitting,
    scores and softmax are steps too. For a cached step: ``trace_shapes(model.decode, tgt, memory, cache=cache)``; the step
    is really taken, so the cache grows.

    Args:
        model: a module, a method of one such as `model.decode`, or a function of tensors. The steps of a module that is
            given to a function are watched too.
        inputs: what to call it with: ids [B, S], vectors [B, S, …], heads [B, h, S, …] or one sentence's vectors [S, …].
            Where a target meets a source (src or memory), or first and last input differ in length, the first has T.
        symbols: {name: size} to use as well as, or instead of, those found in the model.
        options: what to call it with by name. With a cache that holds tokens, L counts them and the new ones.

    Returns:
        The table of steps.

    Raises:
        ValueError: two names have the same size, so that a size could not be named; choose inputs of other sizes.

    Source:
        Article, "Dimension map"; chapters 02, 08 and 09.
    """
    sizes = named_sizes(model, inputs, options, symbols or {})
    watcher = _Watcher(sizes)
    root = traced_module(model, inputs)
    modules = [] if root is None else list(root.modules())
    was_training = [module.training for module in modules]
    handles = [] if root is None else _hook_modules(root, watcher)
    try:
        for module in modules:
            module.training = False
        with torch.no_grad(), watcher:
            model(*inputs, **options)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in zip(modules, was_training, strict=True):
            module.training = training
    return ShapeTrace(watcher.rows, sizes, watcher.outline)


@dataclass
class _Call:
    """A module that is running: where its rows begin, and whether it has computed something itself."""

    path: str
    leaf: bool
    own: list[nn.Parameter]  # what it holds itself; counted at its first step
    first_row: int
    first_line: int
    computes: bool = False


class _Watcher(TorchFunctionMode):
    """Notes every step that happens outside a leaf module, and every leaf module as one step."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.sizes = sizes
        self.rows: list[TraceRow] = []
        self.outline: list[TraceRow] = []  # the outermost modules that compute something themselves
        self.calls: list[_Call] = []
        self.counted: dict[int, str] = {}  # {id of a parameter: path of the step it was counted in}

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        call = self.calls[-1] if self.calls else None
        step = STEPS.get(getattr(func, "__name__", ""))
        if step and not (call and call.leaf) and isinstance(result, Tensor) and result.is_floating_point():
            caller = _caller()
            parameters, _ = self.count(call.path, call.own) if call else (0, "")
            row = self.row(call.path if call else "", f"{caller}: {step}" if caller else step, args, result, parameters)
            self.rows.append(row)
            if call:
                call.computes = True
            else:
                self.outline.append(row)
        return result

    def enter(self, module: nn.Module, path: str, leaf: bool) -> None:
        own = list(module.parameters(recurse=False))
        self.calls.append(_Call(path, leaf, own, len(self.rows), len(self.outline)))

    def leave(self, module: nn.Module, args: tuple, result: Any) -> None:
        call, name = self.calls.pop(), type(module).__name__
        result = next((x for x in flat([result]) if isinstance(x, Tensor)), None)
        if result is None:
            return
        if call.leaf:
            parameters, tied = self.count(call.path, module.parameters())
            self.rows.append(self.row(call.path, f"{name} (tied to {tied})" if tied else name, args, result, parameters))
            self.outline.append(self.rows[-1])
        elif call.computes:
            del self.outline[call.first_line :]
            parameters = sum(row.parameters for row in self.rows[call.first_row :])
            self.outline.append(self.row(call.path, name, args, result, parameters))

    def count(self, path: str, parameters: Iterable[nn.Parameter]) -> tuple[int, str]:
        """Number of parameters that no step has counted yet, and the path of another module that shares some."""
        parameters = list(parameters)
        owners = [self.counted.get(id(p), path) for p in parameters]
        new = sum(p.numel() for p in parameters if id(p) not in self.counted)
        self.counted |= {id(p): owner for p, owner in zip(parameters, owners, strict=True)}
        return new, next((owner for owner in owners if owner != path), "")

    def row(self, path: str, operation: str, args: tuple, result: Tensor, parameters: int) -> TraceRow:
        shapes = tuple(tuple(a.shape) for a in flat(args) if isinstance(a, Tensor))
        output = tuple(result.shape)
        return TraceRow(path, operation, shapes, output, name_shape(output, self.sizes), parameters)


def _hook_modules(model: nn.Module, watcher: _Watcher) -> list:
    handles = []
    for path, module in model.named_modules():
        if isinstance(module, nn.Dropout | nn.Identity):
            continue
        leaf = next(module.children(), None) is None and path != ""

        def enter(module: nn.Module, args: tuple, kwargs: dict, path: str = path, leaf: bool = leaf) -> tuple[tuple, dict]:
            watcher.enter(module, path, leaf)
            return args, {**kwargs, "need_weights": True} if takes_need_weights(module) else kwargs

        handles += [module.register_forward_pre_hook(enter, with_kwargs=True), module.register_forward_hook(watcher.leave)]
    return handles


def _caller() -> str:
    """Name of the function outside torch that asked for the step; "" for a forward or a notebook cell."""
    frame = sys._getframe(2)
    while frame and Path(frame.f_code.co_filename).is_relative_to(TORCH):
        frame = frame.f_back
    name = frame.f_code.co_name if frame else ""
    return "" if name in ("forward", "trace_shapes", "<module>", "<lambda>") or name.startswith("_") else name
