// The sentence field: what is typed stays, unknown words get suggestions, examples are one click away.

function sentencePanel(app) {
  const { config, text } = app;
  const input = h('input', { class: 'field', type: 'text', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
  const helper = h('div', { class: 'helper quiet' });
  let written = null;  // the words that the field stands for
  const hint = () => say(text.hint, { count: config.words.length });
  const spoken = announcer();
  input.addEventListener('input', () => {
    const words = readWords(input.value, app.known), trouble = judge(words);
    help(trouble ? trouble.nodes : [hint()]);
    spoken.tell(trouble ? helper.textContent : '');
    if (!trouble) app.setWords(written = words);
  });

  function help(nodes) {
    helper.replaceChildren(...nodes);
    hints.classList.toggle('offering', nodes.length > 1);  // on a narrow screen suggestions take the examples' place
  }

  function judge(words) {
    if (!words.length) return { nodes: [text.empty] };
    if (words.length > config.max_words) return { nodes: [say(text.too_long, { count: words.length, limit: config.max_words })] };
    const place = words.findIndex((word) => !app.known.has(word));
    if (place < 0) return null;
    const word = words[place], near = nearWords(word, config.words);
    const begins = place === words.length - 1 && near.length && near[0].startsWith(word);
    const line = begins ? text.goes_on : near.length ? text.unknown : text.unknown_alone;
    const chips = near.map((known) => chip(known, () => type(replaced(words, place, known))));
    return { nodes: [h('span', {}, ...phrase(line, { word: strong(word), count: config.words.length })), ...chips] };
  }

  function type(words) {
    input.value = words.join(' ');
    input.dispatchEvent(new Event('input'));
    input.focus();
  }

  const chip = (label, act) => h('button', { class: 'button', type: 'button', onclick: act }, h('bdi', {}, label));
  const examples = h('div', { class: 'strip examples', role: 'group', 'aria-label': text.examples },
    ...config.sentences.map((words) => chip(words.join(' '), () => app.setWords([...words]))));
  const hints = h('div', { class: 'hints' }, helper, examples);
  const node = h('div', { class: 'block' }, h('label', {}, h('span', { class: 'name' }, text.sentence), input), hints, spoken);
  return {
    node,
    draw() {
      // Words that came from elsewhere (an example, a prediction, the list of words) are written into the field; what the
      // reader is typing stays, also while it is not yet a sentence.
      if (written === app.state.words) return;
      written = app.state.words;
      input.value = written.join(' ');
      help([hint()]);
    },
  };
}

/** A copy of the words with one of them replaced. */
const replaced = (words, place, word) => words.map((old, i) => (i === place ? word : old));
