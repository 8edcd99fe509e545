"""Questions that answer back, on a page with no kernel and no network.

Floor 6. `choice` and `choices` ask and give feedback on every answer; `predict_shape` asks for the shape of a tensor and
says which axis is wrong. Texts may hold `code`, **bold** and a little mathematics, see `quiz.markup`.
"""

from .questions import choice as choice
from .questions import choices as choices
from .shapes import predict_shape as predict_shape
