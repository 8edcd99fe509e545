// "What shape comes out?": the reader types it and is told which axis is wrong.
const STYLE = QUIZ_CSS;

/** Reads 1, 6, 64 / [1,6,64] / (1, 6, 64) / torch.Size([1, 6, 64]) / 1×6×64; null when it is none of these. */
function readShape(typed) {
  const plain = typed.normalize('NFKC').replace(/torch\.Size/i, '').replace(/[、×x*;]/gi, ',').replace(/[()[\]{}【】]/g, ' ').trim();
  if (plain === '') return typed.trim() === '' ? null : [];
  const pieces = plain.replace(/,\s*$/, '').split(/\s*,\s*|\s+/);
  return pieces.every((piece) => /^\d{1,9}$/.test(piece)) ? pieces.map(Number) : null;
}

const writeShape = (shape) => `[${shape.join(', ')}]`;

function build(card, config) {
  const { expected, axes, strings: text } = config;
  const example = writeShape(expected.map((_, i) => i + 2));
  const named = (axis) => (axes ? `${axis} (${axes[axis]})` : String(axis));
  const input = h('input', { class: 'field', type: 'text', autocomplete: 'off', spellcheck: 'false', inputmode: 'text',
    onkeydown: (event) => { if (event.key === 'Enter') check(); } });
  const verdict = h('p', { class: 'verdict', role: 'status' });
  const list = h('ul', { class: 'axes', 'aria-label': text.answer_title, hidden: true }), why = h('p', { hidden: true }, ...inline(config.why));

  function tell(sentence, marks = []) {
    verdict.textContent = sentence;
    list.hidden = marks.length === 0;
    list.replaceChildren(...marks.map(({ size, isRight }, axis) => h('li', { class: isRight ? 'right' : 'wrong' },
      `${say(text.axis, { axis: named(axis) })}: ${size} ${isRight ? '✓' : '✗'}`,
      h('span', { class: 'hidden-text' }, isRight ? text.axis_right : text.axis_wrong))));
  }

  function check() {
    const given = readShape(input.value);
    if (!given) return tell(say(text.unreadable, { example }));
    if (given.length !== expected.length) return tell(say(text.count, { given: given.length, count: expected.length }));
    const marks = given.map((size, axis) => ({ size, isRight: size === expected[axis] }));
    const wrong = marks.flatMap(({ isRight }, axis) => (isRight ? [] : [named(axis)]));
    if (!wrong.length) { why.hidden = false; return tell(say(text.correct, { shape: writeShape(expected) }), marks); }
    const line = wrong.length === 1 ? text.one_wrong : wrong.length === expected.length ? text.all_wrong : text.some_wrong;
    return tell(say(line, { axis: wrong[0], axes: wrong.join(', ') }), marks);
  }

  function reveal() {
    why.hidden = false;
    tell(say(text.answer, { shape: writeShape(expected) }), expected.map((size) => ({ size, isRight: true })));
  }

  const label = h('label', {}, h('span', { class: 'quiet' }, `${text.your_shape} (${say(text.example, { example })})`), input);
  card.append(h('fieldset', { class: 'question' }, h('legend', { class: 'prompt' }, ...inline(config.prompt)),
    h('div', { class: 'ask' }, label,
      h('button', { class: 'button main', type: 'button', onclick: check }, text.check),
      h('button', { class: 'button', type: 'button', onclick: reveal }, text.show)),
    h('div', { class: 'answer' }, verdict, list, why)));
}
