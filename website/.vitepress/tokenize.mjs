/**
 * Returns the words of a text for the search. The default of the search splits at spaces, so it
 * finds no word of a Chinese text.
 *
 * The function runs in browsers too: the site sends its source there. So it uses nothing outside
 * of itself, not even an import.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function tokenize(text) {
  // An error code such as LOCK_TIMEOUT is one word. Word joiners keep a unit on one line.
  const parts = text
    .replaceAll('\u2060', '')
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((part) => part !== '')
  return parts.flatMap((part) => {
    if (!/\p{Script=Han}/u.test(part)) return [part]
    const words = new Intl.Segmenter('zh', { granularity: 'word' }).segment(part)
    return Array.from(words, ({ segment }) => segment)
  })
}
