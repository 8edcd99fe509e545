"""The sizes and switches of a model, in one frozen dataclass.

Floor 0: torch and the standard library only. Parts (`MultiHeadAttention`, `FeedForward`, …) take plain sizes; layers and
models take this config.
"""

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from .validation import check_choice, check_dropout, check_heads, check_positive

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
POSITIONS = ("sinusoidal", "sinusoidal_halves", "learned", "none")
TYINGS = ("none", "output", "all")


@dataclass(frozen=True)
class TransformerConfig:
    """Describes a Transformer; the defaults are the paper's base model.

    Args:
        src_vocab_size: number of source tokens, rows of the encoder's embedding table.
        tgt_vocab_size: number of target tokens V, rows of the decoder's table and width of the logits.
        d_model: width of every token's vector.
        num_heads: attention heads h; d_k = d_model / h.
        num_encoder_layers: N on the encoder's side.
        num_decoder_layers: N on the decoder's side.
        d_ff: inner width of the feed-forward network.
        max_len: longest sequence, in tokens, for which positions exist.
        dropout: probability in [0, 1), on sub-layer outputs and on embedding plus position, as in paper 5.4.
        activation: relu (the paper), gelu, gelu_tanh or silu.
        norm_first: False is post-LN, the paper; True is pre-LN with a final norm.
        layer_norm_eps: epsilon inside LayerNorm's square root.
        scale_embedding: multiply embeddings by sqrt(d_model), paper 3.4.
        position: sinusoidal (sin and cos interleaved, the paper), sinusoidal_halves (sin | cos), learned or none.
        tie_embeddings: none, output (target table = output matrix) or all (one table for all three).
        output_bias: whether the output layer has a bias.
        pad_id: id of the padding token.
        bos_id: id that begins a target.
        eos_id: id that ends one.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1, num_heads does not divide d_model, dropout is outside [0, 1), a word is unknown,
            or `tie_embeddings="all"` meets two vocabularies of different size.

    Source:
        Paper 3 and table 3; article, "Dimension map"; chapter 08.
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    d_ff: int = 2048
    max_len: int = 5000
    dropout: float = 0.1
    activation: str = "relu"
    norm_first: bool = False
    layer_norm_eps: float = 1e-5
    scale_embedding: bool = True
    position: str = "sinusoidal"
    tie_embeddings: str = "none"
    output_bias: bool = True
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        sizes = ("src_vocab_size", "tgt_vocab_size", "num_encoder_layers", "num_decoder_layers", "d_ff", "max_len")
        check_positive(**{name: getattr(self, name) for name in sizes})
        check_heads(self.d_model, self.num_heads)
        check_dropout(self.dropout)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("position", self.position, POSITIONS)
        check_choice("tie_embeddings", self.tie_embeddings, TYINGS)
        if not self.layer_norm_eps > 0:
            raise ValueError(f"layer_norm_eps must be above 0, got {self.layer_norm_eps}")
        if self.tie_embeddings == "all" and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                "tie_embeddings='all' shares one table, so src_vocab_size and tgt_vocab_size must be equal, "
                f"got {self.src_vocab_size} and {self.tgt_vocab_size}"
            )

    @property
    def d_k(self) -> int:
        """Width of one head, d_model / num_heads."""
        return self.d_model // self.num_heads

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as a plain dict, as a checkpoint stores them.

        Returns:
            {name: value} of every field.

        Source:
            Ours; chapter 10.
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TransformerConfig":
        """Builds a config from a mapping and names a misspelt key.

        Args:
            values: field names and values; missing ones take their defaults.

        Returns:
            The config.

        Raises:
            ValueError: a key is unknown (the nearest field is suggested) or a required one is missing.

        Source:
            Ours; chapter 10.
        """
        names = [field.name for field in fields(cls)]
        for key in values:
            if key not in names:
                near = difflib.get_close_matches(str(key), names, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known keys: {', '.join(names)}"
                raise ValueError(f"unknown config key {key!r}{hint}")
        missing = [name for name in ("src_vocab_size", "tgt_vocab_size") if name not in values]
        if missing:
            raise ValueError(f"config lacks {' and '.join(missing)}")
        return cls(**values)


#: The base model of the paper (table 3): 37,000 tokens, one table for both embeddings and the output.
PAPER_BASE = TransformerConfig(src_vocab_size=37000, tgt_vocab_size=37000, tie_embeddings="all")
#: A model small enough to print: two heads of four numbers, one layer a side, vocabularies of 11 and 13.
TINY = TransformerConfig(
    src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, d_ff=12, max_len=64
)
