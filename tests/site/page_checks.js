// Looks at one loaded page and returns {check name: [what is wrong, ...]}. Runs inside the page.
() => {
  const problems = {};
  const report = (check, text) => (problems[check] ??= []).push(text);
  const article = document.querySelector('article') ?? document.body;
  // The article, and what its interactive parts show: they keep it in a shadow tree.
  const roots = [article];
  for (const root of roots) roots.push(...[...root.querySelectorAll('*')].flatMap((one) => one.shadowRoot ?? []));
  const all = (selector) => roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  const describe = (element) => element.outerHTML.replace(/\s+/g, ' ').slice(0, 140);
  const width = document.documentElement.clientWidth;
  const MEANT_TO_FAIL = '.tag_raises-exception';

  // What a reader would have to open first is checked too.
  all('details').forEach((one) => { one.open = true; });
  document.querySelectorAll('.toggle-hidden').forEach((one) => one.classList.remove('toggle-hidden'));

  // Nothing may come from another host, also where the browser would only prepare a connection.
  for (const one of document.querySelectorAll('[src], link[href]')) {
    const address = one.getAttribute('src') ?? one.getAttribute('href');
    if (/^(https?:)?\/\//.test(address) && one.rel !== 'canonical') report('outside', describe(one));
  }

  // Nothing is wider than the page. What is too wide scrolls in its own box.
  if (document.documentElement.scrollWidth > width) {
    report('overflow', `the page is ${document.documentElement.scrollWidth} px wide in a window of ${width} px`);
  }
  const scrolls = (element) => {
    for (let one = element; one && one !== document.documentElement; one = one.parentElement ?? one.getRootNode().host) {
      if (['auto', 'scroll'].includes(getComputedStyle(one).overflowX)) return true;
    }
    return false;
  };
  const widest = all('*:not(mjx-container *)').filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && box.right > width + 1 && !scrolls(one);
  });
  widest.slice(0, 3).forEach((one) => report('overflow', describe(one)));

  // Every picture has words.
  for (const one of all('img')) {
    const alt = (one.getAttribute('alt') ?? '').trim();
    if (!alt) report('alt', `no alt text: ${describe(one)}`);
    if (/_images\/|\.(png|svg|jpe?g|gif|webp)$/i.test(alt)) report('alt', `a file name as alt text: ${alt}`);
    if (one.complete && one.naturalWidth === 0) report('image', `does not load: ${describe(one)}`);
  }
  for (const one of all('svg, canvas')) {
    const hidden = one.closest('[aria-hidden=true], button, a') || one.checkVisibility?.() === false;
    const named = one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.querySelector('title');
    if (!hidden && !(one.getAttribute('role') === 'img' && named)) report('alt', `a drawing without a name: ${describe(one)}`);
  }

  // All mathematics is typeset.
  for (const one of article.querySelectorAll('.math')) {
    if (!one.querySelector('mjx-container')) report('math', `not typeset: ${describe(one)}`);
  }
  for (const one of article.querySelectorAll('mjx-merror, [data-mjx-error]')) {
    report('math', one.getAttribute('data-mjx-error') ?? describe(one));
  }

  // No mark-up is left in the text.
  const marks = [
    ['math', /\$\$|\\[([]|\\begin\{|\$[^$\n]*[\\^_{][^$\n]*\$/],
    ['markup', /\|\s*:?-{3,}:?\s*\||\*\*|```|:::|\]\(|\{[a-z][a-z:_-]*\}`|<\/[a-z]|(^|[\s("'])\*[^\s*][^*\n]*\*(?![\w*])/],
    ['traceback', /Traceback \(most recent call last\)/],
  ];
  const texts = roots.flatMap((root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    return [...(function* () { while (walker.nextNode()) yield walker.currentNode; })()];
  });
  for (const node of texts.filter((one) => one.getRootNode() !== document)) {
    if (/^\s*(NaN|undefined|null|-?Infinity)\s*$|\[object /.test(node.data)) report('number', `an explorer shows ${node.data.trim()}`);
  }
  for (const node of texts) {
    const inside = node.parentElement ?? node.getRootNode().host;
    if (inside.closest('script, style, noscript, mjx-container, textarea')) continue;
    for (const [check, mark] of marks) {
      if (inside.closest(check === 'traceback' ? MEANT_TO_FAIL : 'pre, code, kbd, dt.sig, .field-list strong')) continue;
      if (mark.test(node.data)) report(check, node.data.trim().slice(0, 140));
    }
  }
  for (const one of article.querySelectorAll('.output.stderr, .output.traceback, .system-message, .problematic')) {
    if (!one.closest(MEANT_TO_FAIL)) report('traceback', describe(one));
  }

  // A control that needs a kernel would be dead here.
  for (const one of document.querySelectorAll('.jupyter-widgets, script[type*="jupyter.widget"]')) {
    report('dead control', describe(one));
  }
  return problems;
}
