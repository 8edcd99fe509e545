"""The whole model: encoder, decoder, and the output layer over the vocabulary.

Floor 3.
"""

import torch.nn as nn
from torch import Tensor

from .cache import DecoderCache, KVCache, may_become
from .config import TransformerConfig
from .decoder import Decoder
from .encoder import Encoder
from .masks import check_mask, padding_mask
from .validation import check_hidden, check_length, check_positive, check_token_ids, dtype_name, values_are_unknown


class Transformer(nn.Module):
    r"""Maps a source sentence and the target so far to scores for the next target token.

    $$\text{logits} = \text{Decoder}\big(\text{tgt},\, \text{Encoder}(\text{src})\big)\, W^{out} + b$$

    The result is logits; softmax turns them into probabilities, and the loss takes them as they are.

    Args:
        config: sizes and switches.

    Source:
        Paper 3, figure 1; article, "Full model"; chapter 10.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output_linear = nn.Linear(config.d_model, config.tgt_vocab_size, bias=config.output_bias)
        nn.init.xavier_uniform_(self.output_linear.weight)
        if config.output_bias:
            nn.init.zeros_(self.output_linear.bias)
        if config.tie_embeddings in ("output", "all"):
            self.output_linear.weight = self.decoder.embedding.weight
        if config.tie_embeddings == "all":
            self.encoder.embedding.weight = self.decoder.embedding.weight

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """Reads the source once.

        Args:
            src: token ids [B, S].
            src_mask: boolean, True = may attend, broadcastable to [B, h, S, S]; made from pad_id when None.

        Returns:
            memory [B, S, d_model].

        Raises:
            TypeError: ids are not integers, or the mask is not boolean.
            ValueError: an id is out of range, the source is empty or too long, or the mask does not fit.

        Source:
            Paper 3.1; chapter 10.
        """
        return self.encoder(src, self.source_mask(src) if src_mask is None else src_mask)

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        *,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Runs the decoder over the target so far, or over its newest tokens when there is a cache.

        Args:
            tgt: token ids [B, T]; with a cache only the tokens it does not hold yet.
            memory: what `encode` returned, [B, S, d_model].
            src_mask: boolean, True = may attend, broadcastable to [B, h, T, S]; the cache's own when None. Padding of the
                source cannot be seen in memory: pass `padding_mask(src, pad_id)` where there is some.
            tgt_mask: the same for the target, besides the causal mask.
            cache: made by `new_cache`.

        Returns:
            hidden [B, T, d_model].

        Raises:
            TypeError: ids are not integers, a mask is not boolean, or memory has another dtype than the model.
            ValueError: an id is out of range, the target is empty or too long, or a shape or the cache does not fit.

        Source:
            Paper 3.1; article, "Code and loop"; chapters 07 and 09.
        """
        check_token_ids("tgt", tgt)  # their range is checked where they are looked up
        self._check_memory(memory)
        if cache is not None:
            cache.check(self, memory, new_tokens=tgt.shape[1])
            src_mask = cache.src_mask if src_mask is None else src_mask
        return self.decoder(tgt, memory, src_mask, tgt_mask, cache)

    def output(self, hidden: Tensor) -> Tensor:
        """Scores every word of the target vocabulary.

        Args:
            hidden: [B, T, d_model].

        Returns:
            logits [B, T, tgt_vocab_size].

        Raises:
            ValueError: hidden is not [B, T, d_model].

        Source:
            Paper 3.4; chapter 10.
        """
        check_hidden("hidden", hidden, self.config.d_model)
        return self.output_linear(hidden)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None) -> Tensor:
        """Scores the next token at every target position at once, as training does.

        Args:
            src: token ids [B, S].
            tgt: token ids [B, T], beginning with bos (the target shifted right). Position t sees 0..t.
            src_mask: boolean, True = may attend, [B, 1, 1, S]; made from pad_id when None. It serves the encoder and the
                cross-attention, so it must not depend on the query.
            tgt_mask: hides target tokens besides the causal mask; broadcastable to [B, h, T, T].

        Returns:
            logits [B, T, tgt_vocab_size].

        Raises:
            TypeError: ids are not integers, or a mask is not boolean.
            ValueError: an id is out of range, a sequence is empty or too long, or a shape does not fit.

        Source:
            Paper 3; article, "Full model"; chapter 10.
        """
        check_token_ids("tgt", tgt, self.config.tgt_vocab_size)  # all that can be wrong, before the source is encoded
        if self.config.position != "none":
            check_length(tgt.shape[1], self.config.max_len)
        if src.shape[0] != tgt.shape[0]:
            raise ValueError(f"src has batch {src.shape[0]} but tgt has batch {tgt.shape[0]}")
        B, T = tgt.shape
        check_mask(tgt_mask, tgt, (B, self.config.num_heads, T, T))
        src_mask = self.source_mask(src) if src_mask is None else src_mask
        check_mask(src_mask, src, (B, self.config.num_heads, 1, src.shape[1]))
        memory = self.encoder(src, src_mask)  # [B, S, d_model]
        return self.output_linear(self.decoder(tgt, memory, src_mask, tgt_mask))

    def source_mask(self, src: Tensor) -> Tensor | None:
        """Makes the padding mask of a source, or None where nothing is padding.

        Args:
            src: token ids [B, S].

        Returns:
            Boolean [B, 1, 1, S], True = may attend, or None.

        Raises:
            ValueError: a row begins with padding, which would move its tokens to other positions.

        Source:
            Chapter 07.
        """
        mask = padding_mask(src, self.config.pad_id)  # [B, 1, 1, S]
        if values_are_unknown(src):
            return mask
        if mask.all():
            return None
        late = ~mask[..., 0] & mask.any(dim=-1)  # [B, 1, 1]: begins with padding, and is not padding alone
        if self.config.position != "none" and late.any():
            raise ValueError(
                f"row {int(late.flatten().nonzero()[0])} of src begins with padding (pad_id {self.config.pad_id}); positions count "
                "from the left, so padding must stand on the right (give a src_mask of your own if this is what you mean)"
            )
        return mask

    def new_cache(self, memory: Tensor, *, src_mask: Tensor | None = None, capacity: int) -> DecoderCache:
        """Makes an empty cache for decoding one batch; the source's keys and values are computed here, once.

        Args:
            memory: what `encode` returned, [B, S, d_model].
            src_mask: the source's mask, kept with the cache and used where `decode` is given none.
            capacity: most target tokens it will hold, bos included.

        Returns:
            The cache.

        Raises:
            TypeError: the mask is not boolean, or memory has another dtype than the model.
            ValueError: memory or the mask does not fit, or capacity is below 1 or above max_len.

        Source:
            Article, "two caches"; chapter 09.
        """
        c = self.config
        self._check_memory(memory)
        check_positive(capacity=capacity)
        if c.position != "none":
            check_length(capacity, c.max_len)
        B, S, _ = memory.shape
        check_mask(src_mask, memory, (B, c.num_heads, 1, S))
        layers = []
        for layer in self.decoder.layers:
            K, V = layer.cross_attn.project(memory, memory)  # [B, h, S, d_k] each
            cross = KVCache(B, c.num_heads, S, c.d_k, fixed=True, dtype=K.dtype, device=K.device)
            cross.append(K, V)
            own = KVCache(B, c.num_heads, capacity, c.d_k, dtype=K.dtype, device=K.device)
            layers.append((own, cross))
        return DecoderCache(layers, src_mask=src_mask, owner=self)

    def _check_memory(self, memory: Tensor) -> None:
        check_hidden("memory", memory, self.config.d_model)
        own = self.output_linear.weight
        if memory.device != own.device:
            raise ValueError(f"memory is on {memory.device} but the model is on {own.device}; move it with memory.to(...)")
        if not may_become(memory, own.dtype):
            raise TypeError(f"memory is {dtype_name(memory)} but the model is {dtype_name(own)}; encode the source with this model")
