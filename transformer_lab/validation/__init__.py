"""Argument checks that raise before any kernel runs.

Floor 0: torch and the standard library only. Every message names the argument, what was expected and what came. The checks
read shapes and dtypes; only those of token ids and positions look at values.
"""

from .sizes import check_heads as check_heads
from .sizes import check_positive as check_positive
from .sizes import check_dropout as check_dropout
from .sizes import check_choice as check_choice
from .sizes import check_length as check_length
from .devices import check_device as check_device
from .tensors import check_attention_inputs as check_attention_inputs
from .tensors import check_source as check_source
from .tensors import check_hidden as check_hidden
from .tensors import check_token_ids as check_token_ids
from .tensors import check_positions as check_positions
from .tensors import dtype_name as dtype_name
from .tensors import values_are_unknown as values_are_unknown
