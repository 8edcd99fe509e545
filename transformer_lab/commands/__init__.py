"""The commands of `python -m transformer_lab`, one file each.

Floor 7a. Every command imports what it needs when it runs, so that help and errors come at once.
"""

from .evaluate import add_evaluate as add_evaluate
from .train import add_train as add_train
from .translate import add_translate as add_translate
