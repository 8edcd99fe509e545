"""The whole model in NumPy and float64, built on `tests.reference`: decoder, transformer and the searches, by brute force.

Nothing here imports torch or `transformer_lab`, nothing is cached and nothing is batched that need not be: a search scores
every beginning anew. Parameters are dicts of arrays under the package's state-dict names, ids are integer arrays, masks are
boolean, True = may attend.
"""

import itertools

import numpy as np

from . import reference
from .reference import inside, named


def causal(length):
    """[T, T]: position t sees 0 … t."""
    return np.array([[s <= t for s in range(length)] for t in range(length)])


def padding(ids, pad_id):
    """[B, 1, 1, S]: True where a token is real."""
    return (ids != pad_id)[:, None, None, :]


def decoder_layer(p, x, memory, config, src_mask=None, tgt_mask=None):
    """Causal self-attention, cross-attention, feed-forward; back(d) -> (d_x, d_memory, gradients)."""
    d_memory = []
    seen = causal(x.shape[1]) if tgt_mask is None else causal(x.shape[1]) & tgt_mask

    def look_back(y):
        out, _, back = reference.multi_head(inside(p, "self_attn"), y, y, y, config.num_heads, seen)

        def back_all(d):
            d_query, d_key, d_value, grads = back(d)
            return d_query + d_key + d_value, named(self_attn=grads)

        return out, back_all

    def look_across(y):
        out, _, back = reference.multi_head(inside(p, "cross_attn"), y, memory, memory, config.num_heads, src_mask)

        def back_all(d):
            d_query, d_key, d_value, grads = back(d)
            d_memory.append(d_key + d_value)
            return d_query, named(cross_attn=grads)

        return out, back_all

    def widen(y):
        out, back = reference.feed_forward(inside(p, "ffn"), y, config.activation)

        def back_all(d):
            d_y, grads = back(d)
            return d_y, named(ffn=grads)

        return out, back_all

    backs = []
    for n, function in enumerate((look_back, look_across, widen), start=1):
        x, back_part = reference.sublayer(p, f"add_norm{n}.norm", x, function, config)
        backs.append(back_part)

    def back(d):
        grads = {}
        for back_part in reversed(backs):
            d, part = back_part(d)
            grads |= part
        return d, d_memory.pop(), grads

    return x, back


def decoder(p, ids, memory, config, src_mask=None, tgt_mask=None):
    """Embedding, positions, layers, final norm in pre-LN; back(d_hidden) -> (d_memory, gradients)."""
    x, back_embedding = reference.embed(p, ids, config)
    backs = []
    for i in range(config.num_decoder_layers):
        x, back_layer = decoder_layer(inside(p, f"layers.{i}"), x, memory, config, src_mask, tgt_mask)
        backs.append(back_layer)
    back_norm = None
    if config.norm_first:
        x, back_norm = reference.layer_norm(x, p["final_norm.weight"], p["final_norm.bias"], config.layer_norm_eps)

    def back(d):
        grads, d_memory = {}, np.zeros_like(memory)
        if back_norm is not None:
            d, part = back_norm(d)
            grads |= named(final_norm=part)
        for i in reversed(range(config.num_decoder_layers)):
            d, d_part, part = backs[i](d)
            d_memory = d_memory + d_part
            grads |= {f"layers.{i}.{name}": g for name, g in part.items()}
        return d_memory, grads | back_embedding(d)

    return x, back


def transformer(p, src, tgt, config, src_mask=None, tgt_mask=None):
    """Logits [B, T, V], and back(d_logits) -> gradients under every state-dict name, each use of a tied table by itself."""
    src_mask = padding(src, config.pad_id) if src_mask is None else src_mask
    memory, back_encoder = reference.encoder(inside(p, "encoder"), src, config, src_mask)
    hidden, back_decoder = decoder(inside(p, "decoder"), tgt, memory, config, src_mask, tgt_mask)
    logits, back_output = reference.linear(hidden, p["output_linear.weight"], p.get("output_linear.bias"))

    def back(d):
        d_hidden, of_output = back_output(d)
        d_memory, of_decoder = back_decoder(d_hidden)
        return named(output_linear=of_output, decoder=of_decoder, encoder=back_encoder(d_memory))

    return logits, back


def log_softmax(logits):
    """log(exp(x) / sum(exp(x))) over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def next_log_probabilities(p, src, beginnings, config):
    """log p(next token) after every beginning [n, t] of one source [S]: [n, V]."""
    sources = np.repeat(src[None], len(beginnings), axis=0)
    logits, _ = transformer(p, sources, np.asarray(beginnings), config)
    return log_softmax(logits[:, -1])


def log_probability(p, src, ids, config):
    """Sum of log p(token) over a target that begins with bos, up to and with its first eos; and how many tokens that is."""
    tokens = [int(token) for token in ids[1:]]
    length = tokens.index(config.eos_id) + 1 if config.eos_id in tokens else len(tokens)
    if length == 0:
        return 0.0, 0
    logits, _ = transformer(p, src[None], ids[None, :length], config)
    log_p = log_softmax(logits[0])
    return sum(log_p[t, tokens[t]] for t in range(length)), length


def greedy(p, src, config, max_new_tokens):
    """The ids of one source, bos first, without what follows eos; and the margin of each choice over the second best."""
    ids, margins = [config.bos_id], []
    while len(ids) <= max_new_tokens and (len(ids) == 1 or ids[-1] != config.eos_id):
        log_p = next_log_probabilities(p, src, [ids], config)[0]
        second, best = np.sort(log_p)[-2:]
        ids.append(int(log_p.argmax()))
        margins.append(float(best - second))
    return ids, margins


def every_ending(p, src, config, max_new_tokens, tokens=None):
    """All targets of at most max_new_tokens tokens that end with eos or at the limit, {ids: (log p, length)}.

    Only tokens out of `tokens` are tried, for a model that gives all others next to no probability.
    """
    tokens = range(config.tgt_vocab_size) if tokens is None else tokens
    others = [token for token in tokens if token != config.eos_id]
    endings, sums = {}, {(config.bos_id,): 0.0}
    for length in range(1, max_new_tokens + 1):
        rows = next_log_probabilities(p, src, list(sums), config)
        grown = {}
        for (ids, total), log_p in zip(sums.items(), rows, strict=True):
            if config.eos_id in tokens:
                endings[(*ids, config.eos_id)] = (total + log_p[config.eos_id], length)
            grown |= {(*ids, token): total + log_p[token] for token in others}
        sums = grown
    return endings | {ids: (total, max_new_tokens) for ids, total in sums.items()}


def best_endings(p, src, config, max_new_tokens, length_penalty, tokens=None):
    """[(score, ids)] of `every_ending`, best first."""
    found = every_ending(p, src, config, max_new_tokens, tokens)
    return sorted(((total / n**length_penalty, ids) for ids, (total, n) in found.items()), reverse=True)


def beam(p, src, config, num_beams, max_new_tokens, length_penalty):
    """Beam search of one source that never stops early, [(score, ids)], best first.

    At every step the num_beams best continuations count: those with eos become endings. The num_beams best without eos go on.
    """
    running, endings = [(0.0, (config.bos_id,))], []
    for length in range(1, max_new_tokens + 1):
        rows = next_log_probabilities(p, src, [ids for _, ids in running], config)
        grown = [
            (total + log_p[token], (*ids, token))
            for ((total, ids), log_p), token in itertools.product(
                zip(running, rows, strict=True), range(config.tgt_vocab_size)
            )
        ]
        grown.sort(key=lambda pair: -pair[0])
        endings += [(s / length**length_penalty, ids) for s, ids in grown[:num_beams] if ids[-1] == config.eos_id]
        running = [pair for pair in grown if pair[1][-1] != config.eos_id][:num_beams]
    endings += [(s / max_new_tokens**length_penalty, ids) for s, ids in running]
    return sorted(endings, key=lambda pair: -pair[0])[:num_beams]


def cached_bytes(config, batch, capacity, source_length, bytes_per_number):
    """2·N·B·(capacity + S)·d_model·(bytes per number)."""
    return 2 * config.num_decoder_layers * batch * (capacity + source_length) * config.d_model * bytes_per_number


def step_flops(config, batch):
    """Multiplications and additions with weights in one cached step: 2 per weight and row, the source's not counted again."""
    d = config.d_model
    self_attention, cross_attention, feed_forward = 4 * d * d, 2 * d * d, 2 * d * config.d_ff
    layer = self_attention + cross_attention + feed_forward
    return 2 * batch * (config.num_decoder_layers * layer + d * config.tgt_vocab_size)
