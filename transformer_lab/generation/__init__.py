"""Writing a target token by token: greedy search, beam search, sampling.

Floor 4a. All work on a batch, on the model's device, with or without a cache through the same forward pass; each row ends at
its own eos and is filled with pad after it; the model comes back in the mode (train or eval) it was in, and no graph is built.
"""

from .greedy import greedy_decode as greedy_decode
from .beam import beam_search as beam_search
from .sampling import sample as sample
