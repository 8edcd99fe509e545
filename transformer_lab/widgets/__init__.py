"""Panels over the real modules, for a live kernel.

Floor 6. Importing this needs no ipywidgets: a panel makes its controls only when a live notebook shows it. Where a
notebook is executed for a page or a test, it is a still picture that says so, and no control is ever dead.
"""

from .panel import Panel as Panel
from .panel import has_reader as has_reader
from .attention import attention_panel as attention_panel
from .attention import run_attention as run_attention
from .positions import position_panel as position_panel
from .positions import run_positions as run_positions
from .cache import cache_panel as cache_panel
from .cache import run_cache as run_cache
from .translation import run_translation as run_translation
from .translation import translation_panel as translation_panel
