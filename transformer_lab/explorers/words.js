// From what the reader typed to words that the model knows, and to friendly suggestions for those that it does not.

/** Cuts a sentence into words, each spelled as the vocabulary spells it where it can be: "Mat." is "mat". */
function readWords(sentence, known) {
  const words = [];
  for (const piece of sentence.split(/\s+/).filter(Boolean)) {
    const lower = piece.toLowerCase(), bare = lower.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
    const spelled = [piece, lower, bare].find((word) => known.has(word));
    if (spelled !== undefined || bare) words.push(spelled ?? bare);
  }
  return words;
}

/** How many letters must be added, dropped, changed or swapped with a neighbour to turn one word into the other. */
function editDistance(a, b) {
  let before = [], last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}

/** At most five words that begin like this one or, where none does, are spelled much like it; the nearest first. */
function nearWords(word, vocabulary) {
  const begun = vocabulary.filter((known) => known.startsWith(word));
  if (begun.length) return begun.sort((a, b) => a.length - b.length).slice(0, 5);
  const reach = Math.max(1, Math.floor(word.length / 2));
  return vocabulary
    .map((known) => ({ known, far: editDistance(word.slice(0, 40), known) }))
    .filter(({ far }) => far <= reach)
    .sort((a, b) => a.far - b.far || a.known.length - b.known.length)
    .slice(0, 5)
    .map(({ known }) => known);
}
