"""Drawings of the book, made by code in one visual language.

Floor 5: standard library only. Each function returns a `Diagram` that a notebook shows as a picture; new drawings are built
with `Canvas`.
"""

from .style import Diagram as Diagram
from .canvas import Canvas as Canvas
from .architecture import architecture as architecture
from .two_readers import two_readers as two_readers
from .self_attention import self_attention as self_attention
from .multi_head import multi_head as multi_head
from .feed_forward import feed_forward as feed_forward
from .encoder_layer import encoder_layer as encoder_layer
from .decoder_layer import decoder_layer as decoder_layer
from .kv_cache import kv_cache as kv_cache
from .gradient_flow import gradient_flow as gradient_flow
