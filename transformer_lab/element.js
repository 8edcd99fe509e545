// What every interactive part shares. Everything runs inside one function for each output: nothing leaks into the page.

/** Makes an element. Strings become text nodes, so that a label is never read as HTML. */
function h(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (typeof value === 'boolean') node[key] = value;
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** Fills "{name}" in a sentence of the interface. */
const say = (sentence, values = {}) => sentence.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? values[key] : whole));

/** Like say, but the values may be nodes; gives a list of nodes and strings. */
const phrase = (sentence, values) =>
  sentence.split(/\{(\w+)\}/g).map((piece, i) => (i % 2 ? values[piece] ?? `{${piece}}` : piece));

/** Changes a text only where it differs: what stays the same need not be laid out anew. */
function write(node, words) {
  if (!node.firstChild) node.append('');
  if (node.firstChild.data !== words) node.firstChild.data = words;
}

/** Sets an attribute only where it differs. */
const mark = (node, name, value) => { if (node.getAttribute(name) !== value) node.setAttribute(name, value); };

/** Puts new content into a node, but only when the words it is made from have changed. */
function refill(node, key, make) {
  if (node.filledWith === key) return;
  node.filledWith = key;
  node.replaceChildren(...make());
}

/** A line for screen readers that speaks once the reader has stopped moving things. */
function announcer() {
  const line = h('p', { class: 'hidden-text', role: 'status', 'aria-live': 'polite' });
  let waiting;
  line.tell = (sentence) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { line.textContent = sentence; }, 500);
  };
  return line;
}

/** Red, green, blue and opacity of a computed colour, each 0 to 1; null when the browser writes it in another way. */
function channels(colour) {
  const numbers = (colour.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
  const scale = colour.startsWith('rgb') ? 255 : colour.startsWith('color(srgb') ? 1 : 0;
  return scale && numbers.length > 2 ? [...numbers.slice(0, 3).map((x) => x / scale), numbers[3] ?? 1] : null;
}

/** Whether what is really behind the element is dark: the nearest opaque background, else what the page says of itself. */
function isOnDark(host) {
  for (let node = host.parentNode; node; node = node.parentNode || node.host) {
    if (!(node instanceof Element)) continue;
    const c = channels(getComputedStyle(node).backgroundColor);
    if (c && c[3] > 0.5) return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] < 0.4;
  }
  const page = [document.documentElement, document.body];
  const words = page.map((n) => `${n.className} ${n.getAttribute('theme')} ${n.dataset.theme} ${n.dataset.vscodeThemeKind}`);
  if (/\bdark\b|vscode-dark|theme-dark/.test(words)) return true;
  const followsSystem = getComputedStyle(document.documentElement).colorScheme.includes('dark');
  return followsSystem && matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Defines the custom element: builds it once, keeps its keys from the page's shortcuts, follows the page's theme. */
function defineElement(tag, styles, build) {
  class Part extends HTMLElement {
    connectedCallback() {
      if (!this.shadowRoot) this.build();
      this.observer = new MutationObserver(() => this.look());
      for (const node of [document.documentElement, document.body]) this.observer.observe(node, { attributes: true });
      this.system = matchMedia('(prefers-color-scheme: dark)');
      this.onsystem = () => this.look();
      this.system.addEventListener('change', this.onsystem);
      this.look();
    }

    disconnectedCallback() {
      this.observer.disconnect();
      this.system.removeEventListener('change', this.onsystem);
      clearTimeout(this.again);
    }

    build() {
      const card = h('div', { class: 'card' });
      build(card, JSON.parse(this.getAttribute('data-config')));  // when it throws, the still picture stays
      card.addEventListener('keydown', (event) => {
        const isPages = event.ctrlKey || event.metaKey || event.altKey || event.key === 'Tab' || event.key === 'Escape';
        if (!isPages) event.stopPropagation();
      });
      const sheet = h('style');
      sheet.textContent = styles;
      this.card = card;
      this.attachShadow({ mode: 'open' }).append(sheet, card);
    }

    look() {
      const apply = () => this.card.classList.toggle('dark', isOnDark(this));
      apply();
      clearTimeout(this.again);
      this.again = setTimeout(apply, 500);  // themes fade in, or load their colours after saying so
    }
  }
  customElements.define(tag, Part);
}
