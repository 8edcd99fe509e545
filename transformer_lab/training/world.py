"""The mini-world model: our encoder with two small heads, one that guesses a hidden word and one that smells a wrong one.

Floor 4b. Nothing stands before or after a sentence (no `[CLS]`, no `</s>`), so attention has nowhere to hide.
"""

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..checkpoint import CheckpointError, build, read_checkpoint, save_model
from ..config import TransformerConfig
from ..encoder import Encoder
from ..masks import padding_mask
from ..validation import check_length
from .world_vocabulary import MASK, PAD_ID, VOCABULARY, to_ids, tokenize

WORLD_CONFIG = TransformerConfig(
    src_vocab_size=len(VOCABULARY),
    tgt_vocab_size=len(VOCABULARY),  # encoder only: the target side is not built
    d_model=64,
    num_heads=4,
    num_encoder_layers=2,
    num_decoder_layers=1,
    d_ff=128,
    max_len=32,
    dropout=0.0,
    pad_id=PAD_ID,
)


class WorldModel(nn.Module):
    """Reads a mini-world sentence; predicts each position's word, and whether the word there was replaced.

    memory = Encoder(ids); word logits = word_head(memory); replaced logit = replaced_head(memory).

    Args:
        config: sizes and switches of the encoder.

    Source:
        BERT (Devlin et al. 2018) for hidden words, ELECTRA (Clark et al. 2020) for replaced ones; chapter 02.
    """

    def __init__(self, config: TransformerConfig = WORLD_CONFIG) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.word_head = nn.Linear(config.d_model, config.src_vocab_size)
        self.replaced_head = nn.Linear(config.d_model, 1)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words, by id."""
        return VOCABULARY

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scores every position.

        Args:
            ids: token ids [B, S].
            mask: boolean, True = may attend, broadcastable to [B, h, S, S]; when None, padding is hidden.

        Returns:
            word logits [B, S, vocabulary] and replaced logits [B, S].

        Raises:
            TypeError: ids are not integers, or the mask is not boolean.
            ValueError: an id is out of range, the sentence is too long, or the mask does not fit.

        Source:
            Chapter 02.
        """
        memory = self.encoder(ids, self._mask_for(ids) if mask is None else mask)  # [B, S, d_model]
        return self.word_head(memory), self.replaced_head(memory).squeeze(-1)

    def _mask_for(self, ids: Tensor) -> Tensor | None:
        mask = padding_mask(ids, self.config.pad_id)  # [B, 1, 1, S]
        return None if mask.all() else mask

    def attention(self, ids: Tensor) -> list[Tensor]:
        """Computes every layer's attention weights.

        Args:
            ids: token ids [B, S].

        Returns:
            One [B, h, S, S] per layer; rows are queries.

        Raises:
            TypeError, ValueError: as for `forward`.

        Source:
            Paper 3.2.1; chapter 02.
        """
        mask = self._mask_for(ids)
        x = self.encoder.pos_encoding(self.encoder.embedding(ids))  # [B, S, d_model]
        maps = []
        for layer in self.encoder.layers:
            maps.append(layer.self_attn(layer.add_norm1.enter(x), mask=mask, need_weights=True)[1])
            x = layer(x, mask)
        return maps

    def tokenize(self, sentence: str) -> list[str]:
        """Splits a sentence into words of the vocabulary, as `world_vocabulary.tokenize` does.

        Args:
            sentence: for example "The cat sat on the mat."

        Returns:
            The words.

        Raises:
            ValueError: it has no word, or an unknown one.

        Source:
            Chapter 02.
        """
        return tokenize(sentence)

    def encode(self, sentences: str | Sequence[str]) -> Tensor:
        """Turns sentences into ids, the shorter ones padded at the end.

        Args:
            sentences: one, or several.

        Returns:
            ids [B, S] on the model's device; B is 1 for one sentence.

        Raises:
            ValueError: there is no sentence, one is longer than max_len, or it holds an unknown word.

        Source:
            Chapter 02.
        """
        rows = [tokenize(sentence) for sentence in ([sentences] if isinstance(sentences, str) else sentences)]
        if not rows:
            raise ValueError("sentences must hold at least one sentence, got none")
        check_length(max(map(len, rows)), self.config.max_len)
        return to_ids(rows).to(self.word_head.weight.device)

    @torch.no_grad()
    def guess(self, sentence: str, top: int = 5) -> list[tuple[str, float]]:
        """Says which words fit best where the sentence has its `<mask>`.

        softmax over the vocabulary of the word logits at that position.

        Args:
            sentence: with exactly one `<mask>`: "the cat <mask> on the mat".
            top: how many words.

        Returns:
            (word, probability), the likeliest first.

        Raises:
            ValueError: there is no mask, or more than one, or an unknown word.

        Source:
            Devlin et al. 2018; chapter 02.
        """
        tokens = tokenize(sentence)
        if tokens.count(MASK) != 1:
            raise ValueError(f"the sentence must have exactly one {MASK}, got {tokens.count(MASK)}: {sentence!r}")
        logits, _ = self(self.encode(sentence))
        probabilities, ids = logits[0, tokens.index(MASK)].softmax(-1).topk(top)
        return [(VOCABULARY[i], p) for i, p in zip(ids.tolist(), probabilities.tolist(), strict=True)]

    @torch.no_grad()
    def suspicion(self, sentence: str) -> list[tuple[str, float]]:
        """Says how likely each word is to have been put there in place of another.

        sigmoid of the replaced logits.

        Args:
            sentence: for example "the cat sat in the river".

        Returns:
            (word, probability) in the order of the sentence.

        Raises:
            ValueError: an unknown word, or none.

        Source:
            Clark et al. 2020; chapter 02.
        """
        _, logits = self(self.encode(sentence))
        return list(zip(tokenize(sentence), logits[0].sigmoid().tolist(), strict=True))


def new_world(seed: int = 0) -> WorldModel:
    """Makes a model that has learned nothing yet: the control, and where training starts.

    The output projections W_o of attention start at zero (as in ReZero): no word carries a random copy of its neighbours
    that a later layer could read instead of the word itself.

    Args:
        seed: of the random weights.

    Returns:
        The model, in eval mode. The caller's random numbers are not touched.

    Source:
        Bachlechner et al. 2020 for the zero start; chapter 02.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = WorldModel().eval()
    for layer in model.encoder.layers:
        nn.init.zeros_(layer.self_attn.W_o.weight)
    return model


def save_world(path: str | os.PathLike, model: WorldModel, **metadata: Any) -> None:
    """Writes a mini-world model in float16, with its vocabulary.

    Args:
        path: of the file.
        model: the model.
        metadata: anything JSON can hold.

    Raises:
        CheckpointError: the file cannot be written.

    Source:
        Ours; chapter 10.
    """
    save_model(path, model, dtype=torch.float16, vocabulary=VOCABULARY, **metadata)


def read_world(path: str | os.PathLike, device: torch.device | str = "cpu") -> WorldModel:
    """Reads a file that `save_world` wrote.

    Args:
        path: of the file.
        device: where the model goes.

    Returns:
        The model, in float32 and eval mode.

    Raises:
        CheckpointError: the file is missing, damaged, or of another model or vocabulary.

    Source:
        Ours; chapter 10.
    """
    checkpoint = read_checkpoint(path)
    if checkpoint.model != WorldModel.__name__ or checkpoint.metadata.get("vocabulary") != list(VOCABULARY):
        raise CheckpointError(f"{path}: holds no mini-world model of this vocabulary, but a {checkpoint.model!r}")
    return build(WorldModel, checkpoint, source=path).to(device)
