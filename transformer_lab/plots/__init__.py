"""Pictures of tensors: attention maps, masks, positional encodings.

Floor 5: torch, matplotlib and seaborn. Every function draws on the given Axes and returns them; none shows a figure or
changes a global style. Tokens are drawn as typed: dollar signs are no mathematics, Chinese has its glyphs.
"""

from .attention import plot_attention as plot_attention
from .attention import plot_heads as plot_heads
from .attention import plot_mask as plot_mask
from .positions import plot_encoding_curves as plot_encoding_curves
from .positions import plot_positional_encoding as plot_positional_encoding
from .style import BLUE as BLUE
from .style import GREY as GREY
from .style import INK as INK
from .style import ORANGE as ORANGE
from .style import label as label
