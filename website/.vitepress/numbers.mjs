/**
 * Keeps a number on one line: `10 000`, `5 ms` and `4.8 k/s` get no-break spaces. The pages in the
 * repository have plain spaces.
 *
 * A line may end between any two Chinese characters, so units of two get a word joiner.
 */
const UNIT =
  'ms|s|µs|min|h|%|x|k/s|/s|kB|MB|GB|KiB|MiB|GiB|bytes|seconds|minutes|hours|cores|秒|毫秒|分钟|小时|天|个|次|倍'

const JOINED = /(?<=\d\u00a0(?:毫|分|小))(?=秒|钟|时)/gu

const PARTS = new RegExp(`(?<=\\d) (?=\\d{3}(?!\\d)|(?:${UNIT})(?![\\w/]))`, 'gu')

/** @param {string} text */
export function unbroken(text) {
  return text.replaceAll(PARTS, '\u00a0').replaceAll(JOINED, '\u2060')
}

/**
 * A plugin of markdown-it. Code stays as it is, since readers copy it.
 * @param {import('markdown-it')} markdown
 */
export function unbrokenNumbers(markdown) {
  markdown.core.ruler.push('unbroken_numbers', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'text') token.content = unbroken(token.content)
    }
  })
}
