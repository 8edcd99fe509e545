// Parsed text (see markup.py) as elements. Only these tags can come out of it, whatever the text was.
const TEXT_TAGS = { code: 'code', strong: 'strong', em: 'em', i: 'i', sub: 'sub', sup: 'sup' };

const inline = (nodes) => nodes.map(([kind, content]) => {
  const inner = typeof content === 'string' ? [content] : inline(content);
  if (kind === 'root') return h('span', {}, '√', h('span', { class: 'root' }, ...inner));
  return h(TEXT_TAGS[kind] ?? 'bdi', {}, ...inner);
});
