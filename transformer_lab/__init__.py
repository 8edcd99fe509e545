"""Transformer Lab: the Transformer of "Attention Is All You Need", taken apart and proved.

Importing the package loads torch and little else; pictures, widgets and trained models live in submodules:
`trace`, `plots`, `show`, `explorers`, `quiz`, `widgets`, `pretrained`, `training`.
"""

from .config import PAPER_BASE as PAPER_BASE
from .config import TINY as TINY
from .config import TransformerConfig as TransformerConfig
from .masks import causal_mask as causal_mask
from .masks import combine_masks as combine_masks
from .masks import padding_mask as padding_mask
from .attention import MultiHeadAttention as MultiHeadAttention
from .attention import merge_heads as merge_heads
from .attention import scaled_dot_product_attention as scaled_dot_product_attention
from .attention import split_heads as split_heads
from .embedding import TokenEmbedding as TokenEmbedding
from .positional import LearnedPositionalEncoding as LearnedPositionalEncoding
from .positional import NoPositionalEncoding as NoPositionalEncoding
from .positional import PositionalEncoding as PositionalEncoding
from .positional import sinusoidal_encoding as sinusoidal_encoding
from .feed_forward import FeedForward as FeedForward
from .add_norm import AddNorm as AddNorm
from .encoder import Encoder as Encoder
from .encoder import EncoderLayer as EncoderLayer
from .decoder import Decoder as Decoder
from .decoder import DecoderLayer as DecoderLayer
from .cache import DecoderCache as DecoderCache
from .cache import KVCache as KVCache
from .transformer import Transformer as Transformer

__version__ = "0.1.0"
