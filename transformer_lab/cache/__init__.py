"""Key-value caches: what a decoder has already computed and need not compute again.

Floor 0: torch only. A cache is made by the caller, passed in and seen; no module stores one. Memory is taken once, at
`capacity` tokens; a step writes its slice and reads views, so nothing is copied.
"""

from .decoder_cache import DecoderCache as DecoderCache
from .key_value import KVCache as KVCache
from .key_value import may_become as may_become
