/** What the Chinese pages share with the English ones. */
import type { Block } from './samples/blocks.js'

export { CHINESE_PAGES } from '../../website/.vitepress/languages.mjs'

/** Returns a block without its comments, which are in the language of the page. */
export function withoutComments({ language, code }: Block): Block {
  const rest = code.replaceAll(/\/\*\*[^]*?\*\/|(?<=^|\s)(?:\/\/|#) .*$/gm, '')
  return { language, code: rest.replaceAll(/[ \t]+$/gm, '').replaceAll(/\n{2,}/g, '\n') }
}
