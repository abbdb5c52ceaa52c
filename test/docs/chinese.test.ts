/** The Chinese pages have the programs and commands of the English ones, and lead to the rest. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { CHINESE_PAGES, withoutComments } from './languages.js'
import { blocksOf, ROOT, type Block } from './samples/blocks.js'
import { LEFT_OUT } from './samples/pages.js'

const LANGUAGES = ['js', 'ts', 'sh', 'crontab']

test('each Chinese page has an English one', () => {
  const pages = readdirSync(join(ROOT, 'docs/zh')).map((name) => name.replace(/\.md$/, ''))
  expect(pages.toSorted()).toEqual(Object.keys(CHINESE_PAGES).toSorted())
})

test.each(Object.entries(CHINESE_PAGES))('%s has the blocks of %s', (chinese, english) => {
  const blocks = codeOf(`docs/zh/${chinese}.md`)
  // A page that shows the programs of its English one shows all of them.
  if (blocks.length > 0) expect(blocks).toEqual(codeOf(`docs/${english}.md`))
})

test('the comments of a block are in the language of its page', () => {
  const english = {
    language: 'js',
    code: "/** Pays. */\nfetch('http://a/#b') // now\n\n// Then:\nx()\n",
  }
  const chinese = { language: 'js', code: "/** 付款 */\nfetch('http://a/#b') // 现在\n\nx()\n" }
  expect(withoutComments(chinese)).toEqual(withoutComments(english))
  expect(withoutComments(chinese).code).toContain('#b')
})

test('the Chinese pages show programs', () => {
  const pages = Object.keys(CHINESE_PAGES).map((name) => `docs/zh/${name}.md`)
  const withBlocks = pages.filter((page) => blocksOf(page, LANGUAGES).length > 0)
  expect(withBlocks.toSorted()).toEqual(pages.filter((page) => page in LEFT_OUT).toSorted())
})

test('the Chinese list of tasks has every task of the English one', () => {
  const english = links('docs/how-to/README.md')
  expect(english.length).toBeGreaterThan(10)
  expect(links('docs/zh/how-to.md').toSorted()).toEqual(english.toSorted())
})

test('the Chinese index says which pages are not translated', () => {
  const index = readFileSync(join(ROOT, 'docs/zh/README.md'), 'utf8')
  expect(index).toContain('没有翻译')
})

function codeOf(page: string): Block[] {
  return blocksOf(page, LANGUAGES).map(withoutComments)
}

/** Returns the pages that the table of a page leads to, by their English names. */
function links(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const found = text.matchAll(/^\| \[[^\]]+\]\(([^)#]+)\.md[^)]*\)/gm)
  return Array.from(found, ([, link = '']) => {
    const name = join(dirname(page), link).replace('docs/', '')
    return CHINESE_PAGES[name.replace('zh/', '')] ?? name
  })
}
