// Questions with feedback on every answer. An answer is a button: pressing it says whether it is right, and why.
const STYLE = QUIZ_CSS;

function build(card, config) {
  card.append(...config.questions.map((question) => askOne(question, config.strings)));
}

function askOne({ prompt, options }, text) {
  const count = options.filter((option) => option.correct).length, found = new Set();
  const progress = h('p', { class: 'quiet', role: 'status' }, say(text.pick_all, { count }));
  const list = h('ul', { class: 'options' }, ...options.map((option, i) => {
    const sign = h('span', { class: 'sign', 'aria-hidden': 'true' }, String.fromCharCode(65 + i));
    const feedback = h('p', { class: 'feedback', role: 'status' });  // there from the start, so that it is spoken when filled
    const press = () => {
      item.className = option.correct ? 'right' : 'wrong';
      sign.textContent = option.correct ? '✓' : '✗';
      feedback.replaceChildren(h('strong', {}, option.correct ? text.right : text.wrong), ' ', ...inline(option.feedback));
      if (option.correct) found.add(i);
      progress.textContent = say(text.found, { found: found.size, count });
    };
    const button = h('button', { class: 'option', type: 'button', onclick: press }, sign, h('span', {}, ...inline(option.text)));
    const item = h('li', {}, button, feedback);
    return item;
  }));
  return h('fieldset', { class: 'question' }, h('legend', { class: 'prompt' }, ...inline(prompt)), ...(count > 1 ? [progress] : []), list);
}
