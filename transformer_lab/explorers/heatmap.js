// Every word at once: a real table, so that a screen reader can read it cell by cell, coloured as a heat map.

// From these weights on a cell is so strongly coloured that its number must change colour (at least 4.5 : 1 everywhere).
const DEEP_ON_LIGHT = 0.687, DEEP_ON_DARK = 0.514;

function mapPanel(app) {
  const { text, state } = app;
  const table = h('table', { class: 'map' });
  const node = h('div', { class: 'block' }, h('p', { class: 'title' }, text.map_title), table);
  let built = null, lines = [];

  function rebuild() {
    built = state.words;
    table.classList.toggle('many', built.length > 8);
    const heads = built.map((word) => h('th', { scope: 'col' }, strong(word)));
    lines = built.map((word, place) => {
      const cells = built.map(() => h('td', {}, h('span', {})));
      const line = h('tr', { onclick: () => app.change({ query: place }) }, h('th', { scope: 'row' }, strong(word)), ...cells);
      return { line, cells };
    });
    const corner = h('td', { class: 'corner' });
    table.replaceChildren(h('caption', { class: 'quiet' }, text.map_help),
      h('thead', {}, h('tr', {}, corner, ...heads)), h('tbody', {}, ...lines.map(({ line }) => line)));
  }

  return {
    node,
    draw(result) {
      if (built !== state.words) rebuild();
      const S = built.length;
      lines.forEach(({ line, cells }, t) => {
        line.classList.toggle('query', t === app.query);
        cells.forEach((cell, s) => paint(cell, result.map[t * S + s], app.allowed[t][s]));
      });
    },
  };
}

/** Colours a cell and writes its number, when either differs from what is there. */
function paint(cell, weight, isAllowed) {
  const colour = `rgba(var(--heat), ${weight.toFixed(3)})`;
  if (cell.painted === colour && cell.isAllowed === isAllowed) return;
  Object.assign(cell, { painted: colour, isAllowed });
  cell.style.backgroundColor = colour;
  cell.classList.toggle('deep', weight > DEEP_ON_LIGHT);
  cell.classList.toggle('deep-dark', weight > DEEP_ON_DARK);
  cell.classList.toggle('off', !isAllowed);
  write(cell.firstChild, two(weight).replace(/^0/, ''));
}
