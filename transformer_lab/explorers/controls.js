// The choices: native radio buttons, check boxes, a slider and a list, so that every keyboard and screen reader knows them.

/** A row of radio buttons that looks like one switch. options: [[value, label], …]. */
function segments(legend, name, options, chosen, pick) {
  const inputs = options.map(([value]) => h('input', { class: 'cover', type: 'radio', name, onchange: () => pick(value) }));
  const labels = options.map(([, label], i) => h('label', {}, inputs[i], h('span', { class: 'face' }, label)));
  const node = h('fieldset', { class: 'segments' }, h('legend', {}, legend), h('div', {}, ...labels));
  const draw = () => inputs.forEach((input, i) => { input.checked = options[i][0] === chosen(); });
  return { node, draw };
}

function choicePanel(app) {
  const { config, text, state } = app;
  const numbers = (count) => Array.from({ length: count }, (_, i) => [i, String(i + 1)]);
  const groups = [
    segments(text.layer, 'layer', numbers(config.num_layers), () => state.layer, (layer) => app.change({ layer })),
    segments(text.head, 'head', [['mean', text.mean], ...numbers(config.num_heads)], () => state.head, (head) => app.change({ head })),
  ];
  if (config.models.length > 1) {
    const names = [[0, text.trained], [1, text.control]];
    groups.push(segments(text.weights, 'weights', names, () => state.model, (model) => app.change({ model })));
  }
  return { node: h('div', { class: 'controls' }, ...groups.map((g) => g.node)), draw: () => groups.forEach((g) => g.draw()) };
}

function maskPanel(app, start) {
  const { text, state } = app;
  const options = [[false, text.mask_none], [true, text.mask_causal]];
  const mask = segments(text.mask, 'mask', options, () => state.causal, (causal) => app.change({ causal }));
  const every = () => new Set(state.words.keys());
  const hide = h('button', { class: 'button', type: 'button', onclick: () => app.change({ hidden: every() }) }, text.hide_all);
  const show = h('button', { class: 'button', type: 'button', onclick: () => app.change({ hidden: new Set() }) }, text.show_all);
  const reset = h('button', { class: 'button', type: 'button', onclick: () => app.change(start()) }, text.reset);
  return { node: h('div', { class: 'controls' }, mask.node, h('div', { class: 'strip' }, hide, show, reset)), draw: mask.draw };
}

/** The temperature runs from 1/5 to 5 in equal ratios: t = 5^(step / 20). */
function temperaturePanel(app) {
  const { config, text, state } = app;
  const width = config.d_model / config.num_heads;
  const input = h('input', { type: 'range', min: -20, max: 20, step: 1, oninput: () => app.change({ temperature: 5 ** (input.value / 20) }) });
  const value = h('strong', { 'aria-hidden': 'true' }), name = h('span', { class: 'name', 'aria-hidden': 'true' }), scale = h('p', { class: 'quiet' });
  const node = h('div', {}, h('div', { class: 'slider' }, name, value, input), scale);
  const draw = () => {
    const t = state.temperature, words = t === 1 ? text.as_trained : t > 1 ? text.flatter : text.sharper;
    const shown = t.toFixed(2);
    input.value = Math.round(20 * Math.log(t) / Math.log(5));
    mark(input, 'aria-label', `${text.temperature} (${words})`);
    mark(input, 'aria-valuetext', shown);
    write(value, shown);
    write(name, `${text.temperature} (${words})`);
    write(scale, say(text.scale, { t: shown, width, scale: (1 / (t * Math.sqrt(width))).toFixed(3) }));
  };
  return { node, draw };
}
