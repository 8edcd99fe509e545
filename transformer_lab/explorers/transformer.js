// The encoder in plain JavaScript: the arithmetic of transformer_lab's Encoder (post-LN, ReLU, sinusoidal positions) in
// double precision. Matrices are row after row in one Float64Array; S words, d = d_model, h heads, d_k = d / h.

/** A number from its 16 half-precision bits; the packing refuses infinities and NaN. */
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}

/** One of the models of the page: the sizes, and tensors { name: { data, shape } } from base64 of little-endian numbers. */
function unpack(config, packed) {
  const binary = atob(packed.data), bytes = new DataView(new ArrayBuffer(binary.length));
  for (let i = 0; i < binary.length; i++) bytes.setUint8(i, binary.charCodeAt(i));
  const half = packed.dtype === 'float16', width = half ? 2 : 4, tensors = {};
  let at = 0;
  for (const [name, shape] of config.tensors) {
    const data = new Float64Array(shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < data.length; i++, at += width) data[i] = half ? fromHalf(bytes.getUint16(at, true)) : bytes.getFloat32(at, true);
    tensors[name] = { data, shape };
  }
  return { ...config, tensors };
}

/** x W^T + b for every row of x: [rows, in] -> [rows, out]. */
function linear(model, name, x) {
  const { data: W, shape: [out, width] } = model.tensors[`${name}.weight`], b = model.tensors[`${name}.bias`].data;
  const rows = x.length / width, y = new Float64Array(rows * out);
  for (let r = 0; r < rows; r++) {
    for (let o = 0; o < out; o++) {
      let sum = b[o];
      for (let i = 0, w = o * width, p = r * width; i < width; i++) sum += x[p + i] * W[w + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

/** LayerNorm(x + y), row by row. */
function addNorm(model, name, x, y) {
  const gain = model.tensors[`${name}.norm.weight`].data, shift = model.tensors[`${name}.norm.bias`].data;
  const d = model.d_model, out = new Float64Array(x.length);
  for (let r = 0; r < x.length; r += d) {
    let mean = 0, variance = 0;
    for (let i = 0; i < d; i++) mean += (out[r + i] = x[r + i] + y[r + i]);
    mean /= d;
    for (let i = 0; i < d; i++) variance += (out[r + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / d + model.layer_norm_eps);
    for (let i = 0; i < d; i++) out[r + i] = (out[r + i] - mean) * scale * gain[i] + shift[i];
  }
  return out;
}

/** sqrt(d) times the embedding, plus the sinusoidal position: [S, d]. */
function embed(model, ids) {
  const table = model.tensors['embedding.weight'].data, d = model.d_model, x = new Float64Array(ids.length * d);
  ids.forEach((id, position) => {
    for (let i = 0; i < d; i++) {
      const angle = position / 10000 ** ((i - (i % 2)) / d);
      x[position * d + i] = table[id * d + i] * Math.sqrt(d) + (i % 2 ? Math.cos(angle) : Math.sin(angle));
    }
  });
  return x;
}

/** The softmax of one row of scores over the allowed keys; a row with nothing allowed is exactly 0. */
function maskedSoftmax(scores, allowed) {
  let top = -Infinity, sum = 0;
  scores.forEach((s, i) => { if (allowed[i] && s > top) top = s; });
  const weights = scores.map((s, i) => (allowed[i] ? Math.exp(s - top) : 0));
  for (const w of weights) sum += w;
  return sum ? weights.map((w) => w / sum) : weights;
}

/** One multi-head attention: the output [S, d] and each head's weights [S, S]. allowed[t][s]: may t attend to s? */
function attend(model, name, x, temperature, allowed) {
  const [Q, K, V] = ['W_q', 'W_k', 'W_v'].map((matrix) => linear(model, `${name}.${matrix}`, x));
  const d = model.d_model, S = x.length / d, width = d / model.num_heads;
  const scale = 1 / (temperature * Math.sqrt(width)), joined = new Float64Array(x.length), heads = [];
  for (let head = 0; head < model.num_heads; head++) {
    const weights = new Float64Array(S * S), first = head * width;
    for (let t = 0; t < S; t++) {
      const scores = new Float64Array(S);
      for (let s = 0; s < S; s++) {
        for (let i = first; i < first + width; i++) scores[s] += Q[t * d + i] * K[s * d + i];
        scores[s] *= scale;
      }
      weights.set(maskedSoftmax(scores, allowed[t]), t * S);
      for (let s = 0; s < S; s++) {
        for (let i = first; i < first + width; i++) joined[t * d + i] += weights[t * S + s] * V[s * d + i];
      }
    }
    heads.push(weights);
  }
  return { output: linear(model, `${name}.W_o`, joined), heads };
}

/** The whole encoder: the last hidden state [S, d] and maps[layer][head], each [S, S]. */
function encode(model, ids, temperature, allowed) {
  let x = embed(model, ids);
  const maps = [];
  for (let layer = 0; layer < model.num_layers; layer++) {
    const at = `layers.${layer}`, { output, heads } = attend(model, `${at}.self_attn`, x, temperature, allowed);
    x = addNorm(model, `${at}.add_norm1`, x, output);
    const inner = linear(model, `${at}.ffn.linear1`, x).map((v) => Math.max(v, 0));
    x = addNorm(model, `${at}.add_norm2`, x, linear(model, `${at}.ffn.linear2`, inner));
    maps.push(heads);
  }
  return { hidden: x, maps };
}

/** Which word may attend to which: nothing hidden is attended to and, when causal, nothing to the right. */
const allowedPairs = (S, causal, hidden) =>
  Array.from({ length: S }, (_, t) => Array.from({ length: S }, (_, s) => !hidden.has(s) && !(causal && s > t)));

/** Mean of some maps. */
function meanMap(maps) {
  const mean = new Float64Array(maps[0].length);
  for (const map of maps) map.forEach((w, i) => { mean[i] += w / maps.length; });
  return mean;
}
