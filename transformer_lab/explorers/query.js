// One query word: what it looks at, as bars with numbers and as arcs, and what the model would expect in its place.

const ROW = 40, GUTTER = 36;
const two = (x) => x.toFixed(2);
const strong = (word) => h('bdi', {}, word);
// A bar is as long as its track and slides in from the left: moving it costs no layout.
const slide = (bar, share) => { bar.style.transform = `translateX(${100 * share - 100}%)`; };

function queryPanel(app) {
  const { text, state } = app;
  const title = h('p', { class: 'title' }), legend = h('legend', { class: 'hidden-text' }), arcs = arcsDrawing();
  const rows = h('fieldset', { class: 'rows' });
  let built = null, lines = [];

  function rebuild() {
    built = state.words;
    lines = built.map((word, place) => queryRow(app, word, place));
    rows.replaceChildren(legend, arcs.node, ...lines.map((line) => line.node));
  }

  const node = h('div', { class: 'block' }, title, h('p', { class: 'quiet between' }, h('span', {}, text.query_help), h('span', { 'aria-hidden': 'true' }, text.may_be_seen)), rows);
  return {
    node,
    draw(result) {
      if (built !== state.words) rebuild();
      const word = state.words[app.query];
      refill(title, word, () => phrase(text.query_title, { word: strong(word) }));
      write(legend, title.textContent);
      lines.forEach((line, place) => line.draw(result.row[place], result.odd[place]));
      arcs.draw(result.row, app.query);
    },
  };
}

function queryRow(app, word, place) {
  const { text, state } = app;
  const radio = h('input', { class: 'cover', type: 'radio', name: 'query', onchange: () => app.change({ query: place }) });
  const name = h('label', { class: 'word' }, radio, h('span', { class: 'face' }, strong(word)));
  const bar = h('span', { class: 'bar' }), number = h('span', { class: 'number' });
  const check = h('input', { type: 'checkbox', onchange: () => app.hide(place, !check.checked) });
  const eye = h('label', { class: 'eye' }, check, h('span', { class: 'hidden-text' }, `${word} ${text.may_be_seen}`));
  const node = h('div', { class: 'row' }, name, h('span', { class: 'track' }, bar), number, eye);
  return {
    node,
    draw(weight, isOdd) {
      radio.checked = app.query === place;
      check.checked = !state.hidden.has(place);
      node.classList.toggle('off', !app.allowed[app.query][place]);
      name.classList.toggle('odd', isOdd);
      mark(radio, 'aria-label', word + say(text.word_place, { place: place + 1 }) + (isOdd ? text.odd : ''));
      slide(bar, weight);
      write(number, two(weight));
    },
  };
}

/** Arcs in the margin from the query to every word, as thick as the weight. */
function arcsDrawing() {
  const svg = (name) => document.createElementNS('http://www.w3.org/2000/svg', name);
  const node = svg('svg');
  node.setAttribute('class', 'arcs');
  node.setAttribute('aria-hidden', 'true');
  return {
    node,
    draw(row, query) {
      while (node.childElementCount > row.length) node.lastChild.remove();
      while (node.childElementCount < row.length) node.append(svg('path'));
      node.setAttribute('height', row.length * ROW);
      const middle = (place) => place * ROW + ROW / 2, from = middle(query);
      row.forEach((weight, place) => {
        const to = middle(place), reach = place === query ? 0 : GUTTER - Math.min(GUTTER - 4, 12 + Math.abs(to - from) / 6);
        const path = place === query
          ? `M ${GUTTER} ${from - 6} C ${GUTTER - 14} ${from - 10} ${GUTTER - 14} ${from + 10} ${GUTTER} ${from + 6}`
          : `M ${GUTTER} ${from} C ${reach} ${from} ${reach} ${to} ${GUTTER} ${to}`;
        const line = node.childNodes[place];
        mark(line, 'd', path);
        line.style.strokeWidth = 1 + 7 * weight;
        line.style.opacity = weight < 0.005 ? 0 : 0.2 + 0.8 * Math.sqrt(weight);
      });
    },
  };
}

function expectPanel(app) {
  const { config, text, state } = app;
  const title = h('p', { class: 'title' }), list = h('div', { class: 'expect' });
  const put = (word) => app.setWords(replaced(state.words, app.query, word));
  const lines = Array.from({ length: 5 }, () => {
    const button = h('button', { class: 'button', type: 'button', onclick: () => put(button.textContent) });
    const bar = h('span', { class: 'bar' }), number = h('span', { class: 'number' });
    return { node: h('div', { class: 'row' }, button, h('span', { class: 'track' }, bar), number), button, bar, number };
  });
  list.append(...lines.map((line) => line.node));
  const select = h('select', { class: 'field', onchange: () => put(select.value) }, ...[...app.known.keys()].map((word) => h('option', { value: word }, word)));
  const changed = h('span', {}), fits = h('p', { class: 'quiet' });
  const node = h('div', { class: 'block' }, title, list, h('label', { class: 'inline quiet' }, changed, select), fits);
  return {
    node,
    draw(result) {
      const word = state.words[app.query];
      const isCovered = app.known.get(word) === config.mask_id;
      refill(title, word, () => phrase(isCovered ? text.expect_covered : text.expect_title, { word: strong(word) }));
      result.expected.forEach(({ word: expected, probability }, i) => {
        refill(lines[i].button, expected, () => [strong(expected)]);
        slide(lines[i].bar, probability);
        write(lines[i].number, two(probability));
      });
      refill(changed, word, () => phrase(text.expect_help, { word: strong(word) }));
      if (select.value !== word) select.value = word;
      const probability = two(result.swapped[app.query]);
      refill(fits, `${probability} ${word}`, () => phrase(text.fits, { word: strong(word), probability }));
    },
  };
}
