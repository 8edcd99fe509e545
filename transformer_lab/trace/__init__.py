"""Watching a forward pass from outside: every shape on the way, and every attention map.

Floor 5: torch only; takes any module or function. Nothing in the traced code knows of it: module hooks and a
`TorchFunctionMode` do the watching.
"""

from .attention_maps import record_attention as record_attention
from .shapes import trace_shapes as trace_shapes
from .table import ShapeTrace as ShapeTrace
from .table import TraceRow as TraceRow
