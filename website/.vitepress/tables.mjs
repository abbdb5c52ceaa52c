/**
 * Tables that narrow screens show. Each lies in a box of its own that scrolls sideways, and no
 * column is squeezed to a word a line. `theme/scroll-boxes.mjs` shows where there is more. The
 * style sheet gives each cell the room that stands here.
 */

/** Characters a line: a cell gets room for its text in three lines, within these. */
const NARROWEST = 8
const WIDEST_OF_TWO = 16
const WIDEST = 24

/**
 * A plugin of markdown-it.
 * @param {import('markdown-it')} markdown
 */
export function scrollingTables(markdown) {
  markdown.core.ruler.push('scrolling_tables', ({ tokens }) => {
    let columns = 0
    for (const [at, token] of tokens.entries()) {
      if (token.type === 'table_open') columns = columnsOf(tokens, at)
      if (token.type === 'th_open' || token.type === 'td_open') {
        const width = widthOf(tokens[at + 1], columns > 2 ? WIDEST : WIDEST_OF_TWO)
        if (width > 0) token.attrJoin('style', `--chars:${width}`)
        if (tokens[at + 1].content === '') makePlain(tokens, at)
      }
    }
  })
  markdown.renderer.rules.table_open = () => '<div class="scroll"><div class="scroll-box"><table>\n'
  markdown.renderer.rules.table_close = () => '</table></div></div>\n'
}

/** Makes an empty cell of a head a plain cell: screen readers announce no empty headers. */
function makePlain(tokens, at) {
  if (tokens[at].type !== 'th_open') return
  tokens[at].tag = 'td'
  tokens[at + 2].tag = 'td'
}

function columnsOf(tokens, at) {
  let columns = 0
  for (let next = at; tokens[next].type !== 'tr_close'; next += 1)
    if (tokens[next].type === 'th_open') columns += 1
  return columns
}

/**
 * Returns how many characters wide a cell must at least be. Chinese ones count twice. Text without
 * a place to break needs no width.
 */
function widthOf({ children }, widest) {
  const text = (children ?? [])
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('')
  if (!/[ \p{Script=Han}-]/u.test(text)) return 0
  const length = text.length + (text.match(/\p{Script=Han}/gu)?.length ?? 0)
  return Math.min(widest, Math.max(Math.ceil(length / 3), Math.min(length, NARROWEST)))
}
