"""Attention: the formula as a pure function, and the multi-head module around it.

Floor 1. Axis letters used in all shapes: B batch, h heads, T queries, S keys, d_k = d_model / h, d_v width of a value.
Batch first, always; scores and weights are [B, h, T, S]. Masks are boolean, True = may attend.

Finite input gives finite output, in every dtype. NaN and infinity are not looked for: a query that may attend to one gets
NaN, as in torch. Where it is blocked, a bad value still spoils the other queries of its own sentence and head (0·NaN is
NaN), and a bad key does so on the fused path; another sentence or head is never touched.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from .cache import KVCache
from .masks import causal_mask, check_mask, combine_masks
from .validation import check_attention_inputs, check_dropout, check_heads, check_hidden, check_source


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    r"""Averages the values, each weighted by how well its key matches the query.

    $$\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V$$

    Args:
        query: [..., T, d_k].
        key: [..., S, d_k].
        value: [..., S, d_v].
        mask: boolean, True = may attend, broadcastable to [..., T, S]; None lets every query see every key.

    Returns:
        output [..., T, d_v] and weights [..., T, S]. Weights are >= 0, exactly 0 where the mask is False, and sum to 1
        over the keys; a query that may attend to nothing gets weights, output and gradient of exactly 0.

    Raises:
        TypeError: the mask is not boolean, or the tensors are not floating point of one dtype.
        ValueError: shapes or devices do not fit.

    Source:
        Paper 3.2.1, equation 1; article, "Four steps"; chapter 02.
    """
    check_attention_inputs(query, key, value)
    check_mask(mask, query, (*query.shape[:-1], key.shape[-2]))
    dtype = query.dtype
    if dtype in (torch.float16, torch.bfloat16):  # q·k may leave fp16's range; fused kernels too sum in float32
        query, key, value = query.float(), key.float(), value.float()
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)  # [..., T, S]
    if mask is None:
        weights = scores.softmax(dim=-1)  # over the keys
    else:
        sees_something = mask.any(dim=-1, keepdim=True)  # [..., T, 1]
        # A row with no key left keeps its scores, so that softmax and its gradient stay finite; it is zeroed below.
        weights = scores.masked_fill(~mask & sees_something, -math.inf).softmax(dim=-1)
        weights = weights.masked_fill(~mask, 0.0)
    return (weights @ value).to(dtype), weights.to(dtype)  # [..., T, d_v], [..., T, S]


def fused_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, *, causal: bool, dropout: float) -> Tensor:
    """Computes the same output by one kernel that never stores the weights.

    PyTorch's causal flag is aligned at the top left and serves only when T = S; one query, the newest, needs no mask.

    Args:
        Q: [B, h, T, d_k].
        K: [B, h, S, d_k].
        V: [B, h, S, d_v].
        mask: boolean, True = may attend, broadcastable to [B, h, T, S], or None.
        causal: hide the future as well.
        dropout: probability of dropping a weight.

    Returns:
        output [B, h, T, d_v].

    Source:
        Paper 3.2.1; chapter 09.
    """
    T, S = Q.shape[-2], K.shape[-2]
    if T == 1:
        causal = False
    elif causal and (mask is not None or T != S):
        mask, causal = combine_masks(mask, causal_mask(T, S, device=Q.device)), False
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, is_causal=causal, dropout_p=dropout)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cuts every token's vector into h slices and gives each head its slice of all tokens.

    head j of token t = x[:, t, j·d_k : (j+1)·d_k].

    Args:
        x: [B, T, d_model].
        num_heads: number of heads h.

    Returns:
        [B, h, T, d_k].

    Raises:
        ValueError: x is not of rank 3, or h does not divide d_model.

    Source:
        Paper 3.2.2; article, "Multi-head: code"; chapter 03.
    """
    if x.dim() != 3:
        raise ValueError(f"x must be [batch, length, d_model], got {tuple(x.shape)}")
    B, T, d_model = x.shape
    check_heads(d_model, num_heads)
    return x.reshape(B, T, num_heads, d_model // num_heads).transpose(1, 2)  # [B, h, T, d_k]


def merge_heads(x: Tensor) -> Tensor:
    """Puts the heads' slices of each token side by side again; undoes `split_heads`.

    Also called concat or combine_heads.

    Args:
        x: [B, h, T, d_v].

    Returns:
        [B, T, h·d_v].

    Raises:
        ValueError: x is not of rank 4.

    Source:
        Paper 3.2.2, Concat; article, "Multi-head: code"; chapter 03.
    """
    if x.dim() != 4:
        raise ValueError(f"x must be [batch, heads, length, d_v], got {tuple(x.shape)}")
    B, h, T, d_v = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_v)


class MultiHeadAttention(nn.Module):
    r"""Runs h attentions side by side, each on its own projection of the input, and mixes their results.

    $$\text{MultiHead}(Q, K, V) = \text{Concat}(\text{head}_1, \dots, \text{head}_h)\,W^O, \quad
    \text{head}_i = \text{Attention}(QW_i^Q, KW_i^K, VW_i^V)$$

    The h small projections of the paper stand side by side in one d_model × d_model matrix each.

    Args:
        d_model: width of input and output.
        num_heads: number of heads h; d_k = d_v = d_model / h.
        bias: whether the four projections have a bias (the paper's have none; torch's have one by default).
        dropout: probability of dropping an attention weight while training. The paper has none here, so 0 is the default.

    Raises:
        ValueError: num_heads does not divide d_model, or dropout is outside [0, 1).

    Source:
        Paper 3.2.2; article, "Multi-head: definition"; chapter 03.
    """

    def __init__(self, d_model: int = 512, num_heads: int = 8, *, bias: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        check_heads(d_model, num_heads)
        check_dropout(dropout)
        self.d_model = d_model
        self.num_heads = num_heads
        self.dropout = dropout
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=bias) for _ in range(4))
        for linear in (self.W_q, self.W_k, self.W_v, self.W_o):
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        need_weights: bool = False,
        cache: KVCache | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attends from every query to the keys it may see.

        Args:
            query: [B, T, d_model].
            key: [B, S, d_model]; the query when None (self-attention).
            value: [B, S, d_model]; the key when None.
            mask: boolean, True = may attend, broadcastable to [B, h, T, S]; S counts cached tokens too.
            need_weights: also return the weights, by the formula; otherwise a fused kernel does the same sum faster.
            cache: a growing one takes the projected keys and values, and all it holds is attended to; a fixed one is filled
                at the first call and used as it is from then on (key and value are not looked at again).
            causal: hide the future too, as `causal_mask(T, S)` does, but without building it where that can be helped.

        Returns:
            output [B, T, d_model], and weights [B, h, T, S] from before dropout, or None.

        Raises:
            TypeError: the mask is not boolean.
            ValueError: a shape, a device or the cache does not fit.

        Source:
            Paper 3.2.2, figure 2; chapters 02, 03 and 09.
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check(query, key, value, mask, cache)
        Q = split_heads(self.W_q(query), self.num_heads)  # [B, h, T, d_k]
        K, V = self._keys_and_values(key, value, cache)  # [B, h, S, d_k] each
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            mask = combine_masks(mask, causal_mask(Q.shape[2], K.shape[2], device=Q.device)) if causal else mask
            heads, weights = scaled_dot_product_attention(Q, K, V, mask)
            if dropout:
                heads = F.dropout(weights, dropout) @ V  # [B, h, T, d_k]
        else:
            heads, weights = fused_attention(Q, K, V, mask, causal=causal, dropout=dropout), None
        return self.W_o(merge_heads(heads)), weights

    def project(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Projects keys and values and splits them into heads, the form in which a cache keeps them.

        Args:
            key: [B, S, d_model].
            value: [B, S, d_model].

        Returns:
            K and V, [B, h, S, d_k] each.

        Source:
            Article, "KV cache: principle"; chapter 09.
        """
        return split_heads(self.W_k(key), self.num_heads), split_heads(self.W_v(value), self.num_heads)

    def _keys_and_values(self, key: Tensor, value: Tensor, cache: KVCache | None) -> tuple[Tensor, Tensor]:
        if cache is not None and cache.fixed and cache.length:
            return cache.keys, cache.values
        K, V = self.project(key, value)
        return (K, V) if cache is None else cache.append(K, V)

    def _check(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, cache: KVCache | None) -> None:
        check_hidden("query", query, self.d_model)
        B, T, _ = query.shape
        filled = cache is not None and cache.fixed and cache.length > 0
        S = 0 if filled else key.shape[1]  # new tokens
        if not filled:
            check_source(query, key, value)
        if cache is not None:
            cache.check_fits((B, self.num_heads, S, self.d_model // self.num_heads), like=query)
            S += cache.length
        if mask is not None:
            check_mask(mask, query, (B, self.num_heads, T, S))
