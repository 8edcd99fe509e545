"""The formulas of the paper in NumPy and float64, written independently of the package, with gradients by hand.

Nothing here imports torch or `transformer_lab`. Each layer returns its result and a function `back` that turns the gradient
of the result into the gradients of what went in. Parameters are dicts of arrays under the package's state-dict names.
Masks are boolean, True = may attend. Heads are cut by slicing, not by reshaping, so that a wrong reshape cannot hide.
"""

import math

import numpy as np

LAYOUT_OF = {"sinusoidal": "interleaved", "sinusoidal_halves": "halves"}


def masked_softmax(scores, mask=None):
    """Softmax over the last axis among the allowed entries; a row that allows nothing is all zeros."""
    mask = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    peak = np.max(scores, axis=-1, keepdims=True, where=mask, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    powers = np.exp(np.where(mask, scores - peak, -np.inf))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1.0, total)


def attention(query, key, value, mask=None):
    """softmax(Q Kᵀ / sqrt(d_k)) V and its weights."""
    weights = masked_softmax(query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1]), mask)
    return weights @ value, weights


def attention_gradients(query, key, value, mask, d_output, d_weights=0.0):
    """Gradients of sum(d_output * output) + sum(d_weights * weights) by query, key and value."""
    _, weights = attention(query, key, value, mask)
    d_all = d_output @ np.swapaxes(value, -1, -2) + d_weights
    d_scores = weights * (d_all - (d_all * weights).sum(axis=-1, keepdims=True)) / math.sqrt(query.shape[-1])
    return d_scores @ key, np.swapaxes(d_scores, -1, -2) @ query, np.swapaxes(weights, -1, -2) @ d_output


def sinusoid(positions, d_model, layout="interleaved"):
    """PE at whole-number positions of any shape [...] -> [..., d_model]; the two columns of a pair share one frequency."""
    positions = np.asarray(positions, dtype=np.float64)
    columns = []
    for column in range(d_model):
        if layout == "interleaved":
            pair, is_cosine = column // 2, column % 2 == 1
        else:
            sines = math.ceil(d_model / 2)
            pair, is_cosine = (column - sines, True) if column >= sines else (column, False)
        angle = positions / 10000.0 ** (2 * pair / d_model)
        columns.append(np.cos(angle) if is_cosine else np.sin(angle))
    return np.stack(columns, axis=-1)


def layer_norm(x, gain, shift, eps):
    """(x - mean) / sqrt(variance + eps) * gain + shift, variance divided by n; and its back."""
    deviation = x - x.mean(axis=-1, keepdims=True)
    root = np.sqrt((deviation**2).mean(axis=-1, keepdims=True) + eps)
    normal = deviation / root

    def back(d):
        d_normal = d * gain
        d_x = d_normal - d_normal.mean(-1, keepdims=True) - normal * (d_normal * normal).mean(-1, keepdims=True)
        return d_x / root, {"weight": _over_tokens(d * normal), "bias": _over_tokens(d)}

    return normal * gain + shift, back


def linear(x, weight, bias=None):
    """x Wᵀ + b and its back."""

    def back(d):
        grads = {"weight": _rows(d).T @ _rows(x)}
        if bias is not None:
            grads["bias"] = _over_tokens(d)
        return d @ weight, grads

    return x @ weight.T + (0.0 if bias is None else bias), back


def activation(x, name):
    """relu, gelu, gelu_tanh or silu and its back."""
    if name == "relu":
        return np.maximum(x, 0.0), lambda d: d * (x > 0)
    if name == "gelu":
        below = 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))
        return x * below, lambda d: d * (below + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi))
    if name == "gelu_tanh":
        factor = math.sqrt(2 / math.pi)
        tanh = np.tanh(factor * (x + 0.044715 * x**3))
        slope = (1 - tanh**2) * factor * (1 + 3 * 0.044715 * x**2)
        return 0.5 * x * (1 + tanh), lambda d: d * (0.5 * (1 + tanh) + 0.5 * x * slope)
    sigmoid = 1 / (1 + np.exp(-x))
    return x * sigmoid, lambda d: d * sigmoid * (1 + x * (1 - sigmoid))


def feed_forward(p, x, name="relu"):
    """act(x W1ᵀ + b1) W2ᵀ + b2 and its back."""
    wide, back1 = linear(x, p["linear1.weight"], p["linear1.bias"])
    bent, back_bend = activation(wide, name)
    out, back2 = linear(bent, p["linear2.weight"], p["linear2.bias"])

    def back(d):
        d_bent, grads2 = back2(d)
        d_x, grads1 = back1(back_bend(d_bent))
        return d_x, named(linear1=grads1, linear2=grads2)

    return out, back


def multi_head(p, query, key, value, num_heads, mask=None):
    """Concat(head_1 … head_h) W_oᵀ + b_o, the weights [B, h, T, S], and back -> (d_query, d_key, d_value, grads)."""
    Q, back_q = linear(query, p["W_q.weight"], p.get("W_q.bias"))
    K, back_k = linear(key, p["W_k.weight"], p.get("W_k.bias"))
    V, back_v = linear(value, p["W_v.weight"], p.get("W_v.bias"))
    width = Q.shape[-1] // num_heads
    cut = [slice(j * width, (j + 1) * width) for j in range(num_heads)]
    masks = [_mask_of_head(mask, j) for j in range(num_heads)]
    heads = [attention(Q[..., c], K[..., c], V[..., c], m) for c, m in zip(cut, masks, strict=True)]
    out, back_o = linear(np.concatenate([o for o, _ in heads], axis=-1), p["W_o.weight"], p.get("W_o.bias"))

    def back(d):
        d_joined, grads_o = back_o(d)
        per_head = [
            attention_gradients(Q[..., c], K[..., c], V[..., c], m, d_joined[..., c])
            for c, m in zip(cut, masks, strict=True)
        ]
        d_Q, d_K, d_V = (np.concatenate(parts, axis=-1) for parts in zip(*per_head, strict=True))
        (d_query, grads_q), (d_key, grads_k), (d_value, grads_v) = back_q(d_Q), back_k(d_K), back_v(d_V)
        return d_query, d_key, d_value, named(W_q=grads_q, W_k=grads_k, W_v=grads_v, W_o=grads_o)

    return out, np.stack([w for _, w in heads], axis=1), back


def encoder_layer(p, x, config, mask=None):
    """Self-attention and feed-forward, each with residual and LayerNorm after (post-LN) or before (pre-LN); and back."""

    def attend(y):
        out, _, back = multi_head(inside(p, "self_attn"), y, y, y, config.num_heads, mask)

        def back_all(d):
            d_query, d_key, d_value, grads = back(d)
            return d_query + d_key + d_value, named(self_attn=grads)

        return out, back_all

    def widen(y):
        out, back = feed_forward(inside(p, "ffn"), y, config.activation)

        def back_all(d):
            d_y, grads = back(d)
            return d_y, named(ffn=grads)

        return out, back_all

    x, back1 = sublayer(p, "add_norm1.norm", x, attend, config)
    x, back2 = sublayer(p, "add_norm2.norm", x, widen, config)

    def back(d):
        d, grads2 = back2(d)
        d, grads1 = back1(d)
        return d, grads1 | grads2

    return x, back


def embed(p, ids, config):
    """Rows of the table, scaled, plus positions 0, 1, …; back(d) -> gradients of the table and of learned positions."""
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    x = p["embedding.weight"][ids] * scale
    length = ids.shape[1]
    if config.position == "learned":
        x = x + p["pos_encoding.weight"][:length]
    elif config.position != "none":
        x = x + sinusoid(np.arange(length), config.d_model, LAYOUT_OF[config.position])

    def back(d):
        grads = {"embedding.weight": np.zeros_like(p["embedding.weight"])}
        np.add.at(grads["embedding.weight"], ids, d * scale)
        if config.position == "learned":
            grads["pos_encoding.weight"] = np.zeros_like(p["pos_encoding.weight"])
            grads["pos_encoding.weight"][:length] = d.sum(axis=0)
        return grads

    return x, back


def encoder(p, ids, config, mask=None):
    """Embedding, positions, layers, final norm in pre-LN; back(d_memory) -> gradients of every parameter."""
    x, back_embedding = embed(p, ids, config)
    backs = []
    for i in range(config.num_encoder_layers):
        x, back_layer = encoder_layer(inside(p, f"layers.{i}"), x, config, mask)
        backs.append((f"layers.{i}", back_layer))
    if config.norm_first:
        x, back_norm = layer_norm(x, p["final_norm.weight"], p["final_norm.bias"], config.layer_norm_eps)
        backs.append(("final_norm", back_norm))

    def back(d):
        grads = {}
        for name, back_part in reversed(backs):
            d, part = back_part(d)
            grads |= {f"{name}.{key}": g for key, g in part.items()}
        return grads | back_embedding(d)

    return x, back


def sublayer(p, name, x, function, config):
    """Residual and LayerNorm around function(x) -> (y, back of y); and back(d) -> (d_x, gradients)."""
    norm = inside(p, name)
    if not config.norm_first:
        y, back_y = function(x)
        out, back_norm = layer_norm(x + y, norm["weight"], norm["bias"], config.layer_norm_eps)

        def back_post(d):
            d, grads = back_norm(d)
            d_x, inner = back_y(d)
            return d + d_x, inner | {f"{name}.{key}": g for key, g in grads.items()}

        return out, back_post
    normal, back_norm = layer_norm(x, norm["weight"], norm["bias"], config.layer_norm_eps)
    y, back_y = function(normal)

    def back_pre(d):
        d_normal, inner = back_y(d)
        d_x, grads = back_norm(d_normal)
        return d + d_x, inner | {f"{name}.{key}": g for key, g in grads.items()}

    return x + y, back_pre


def _mask_of_head(mask, j):
    """The mask of head j, to broadcast over [B, T, S], from rank 2 [T, S], 3 [h, T, S] or 4 [B, h, T, S]."""
    if mask is None or mask.ndim == 2:
        return mask
    axis = mask.ndim - 3
    return np.take(mask, j if mask.shape[axis] > 1 else 0, axis=axis)


def inside(p, name):
    """The parameters below a name, without it."""
    return {key[len(name) + 1 :]: value for key, value in p.items() if key.startswith(name + ".")}


def named(**groups):
    """Groups of parameters, each under its name."""
    return {f"{name}.{key}": value for name, group in groups.items() for key, value in group.items()}


def _rows(x):
    return x.reshape(-1, x.shape[-1])


def _over_tokens(x):
    return _rows(x).sum(axis=0)
