"""Explorers: self-contained interactive parts of a page that need no kernel and no network.

Floor 6. Each function returns an `Element` (see `transformer_lab.element`).
"""

from .playground import attention_playground as attention_playground
from .reference import PlaygroundResult as PlaygroundResult
from .reference import playground_reference as playground_reference
