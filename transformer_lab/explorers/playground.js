// The attention playground: one state, one calculation, and panels that draw what came out.

const STYLE = PLAYGROUND_CSS;

/** The five likeliest words and their probabilities at one position. */
function expectedWords(model, hidden, place, vocabulary) {
  const logits = linear(model, 'word_head', hidden.subarray(place * model.d_model, (place + 1) * model.d_model));
  const probabilities = maskedSoftmax(logits, logits.map(() => 1));
  return Array.from(probabilities, (probability, id) => ({ word: vocabulary[id], probability }))
    .sort((a, b) => b.probability - a.probability).slice(0, 5);
}

/** For every position, the probability that its word was swapped in. */
const swappedIn = (model, hidden) => linear(model, 'replaced_head', hidden).map((logit) => 1 / (1 + Math.exp(-logit)));

/** Everything the panels show. */
function calculate(model, { config, state, query, allowed }, ids) {
  const S = ids.length, { hidden, maps } = encode(model, ids, state.temperature, allowed);
  const heads = maps[state.layer], map = state.head === 'mean' ? meanMap(heads) : heads[state.head];
  const covered = encode(model, replaced(ids, query, config.mask_id), state.temperature, allowed);
  const swapped = swappedIn(model, hidden);
  return {
    map,
    row: Array.from(map.subarray(query * S, (query + 1) * S)),
    swapped,
    odd: Array.from(swapped, (p) => p > 0.5),
    expected: expectedWords(model, covered.hidden, query, config.vocabulary),
  };
}

function build(card, config) {
  const text = config.strings, models = [];
  const start = () => ({
    query: config.query, layer: config.layer, head: config.head, temperature: 1, causal: false, hidden: new Set(), model: 0,
  });
  const state = { ...start(), words: config.sentence };
  const app = {
    config, text, state, allowed: null, query: null,
    known: new Map([...config.words, config.vocabulary[config.mask_id]].map((word) => [word, config.vocabulary.indexOf(word)])),
    change(patch) { Object.assign(state, patch); draw(); },
    setWords(words) { app.change({ words }); },
    hide(place, isHidden) {
      const hidden = new Set(state.hidden);
      if (isHidden) hidden.add(place); else hidden.delete(place);
      app.change({ hidden });
    },
  };
  const sentence = sentencePanel(app), choices = choicePanel(app), query = queryPanel(app), expect = expectPanel(app);
  const mask = maskPanel(app, start), temperature = temperaturePanel(app), map = mapPanel(app);
  const summary = summaryPanel(app);
  const weights = config.weights_count.toLocaleString('en').replace(/,/g, '\u202f');
  card.append(
    sentence.node, choices.node, summary.node,
    h('div', { class: 'columns' },
      h('div', { class: 'block' }, query.node, expect.node),
      h('div', { class: 'block' }, mask.node, temperature.node, map.node, h('p', { class: 'quiet' }, say(text.honest, { count: weights })))),
  );

  function draw() {
    models[state.model] ??= unpack(config, config.models[state.model]);
    const ids = state.words.map((word) => app.known.get(word));
    app.query = Math.min(state.query, ids.length - 1);  // the place chosen is kept while a sentence is being written
    app.allowed = allowedPairs(ids.length, state.causal, state.hidden);
    const result = calculate(models[state.model], app, ids);
    for (const panel of [sentence, choices, summary, query, expect, mask, temperature, map]) panel.draw(result);
  }
  draw();
}

/** What the map says in one sentence: shown at once, and spoken when the reader pauses. */
function summaryPanel(app) {
  const { text, state } = app, line = h('p', {}), spoken = announcer();
  const isRepeated = (word) => state.words.indexOf(word) !== state.words.lastIndexOf(word);
  const named = (place) => h('span', {}, ...(isRepeated(state.words[place])
    ? phrase(text.repeated, { word: strong(state.words[place]), place: place + 1 }) : [strong(state.words[place])]));
  const node = h('div', { class: 'summary' }, line, spoken);
  let drawn = false;
  return {
    node,
    draw({ row }) {
      const isSeen = row.some((weight) => weight > 0), others = [...row.keys()].filter((place) => place !== app.query && row[place] > 0);
      const keys = others.sort((a, b) => row[b] - row[a]).slice(0, 2).flatMap((place, i) => [
        ...(i ? [text.and] : []), ...phrase(text.key_weight, { word: named(place), weight: two(row[place]) }),
      ]);
      const sentence = keys.length ? text.summary : isSeen ? text.summary_self : text.summary_nothing;
      const head = state.head === 'mean' ? text.head_mean : say(text.head_number, { head: state.head + 1 });
      const values = { layer: state.layer + 1, head, word: named(app.query), keys: h('span', {}, ...keys), self: two(row[app.query]) };
      line.replaceChildren(...phrase(sentence, values));
      if (drawn) spoken.tell(line.textContent);  // a page that loads stays silent
      drawn = true;
    },
  };
}
