/** The Chinese pages have the programs and commands of the English ones, and lead to the rest. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CHINESE_PAGES } from './languages.js'
import { blocksOf, ROOT } from './samples/blocks.js'
import { LEFT_OUT } from './samples/pages.js'

const LANGUAGES = ['js', 'ts', 'sh', 'crontab']

test('each Chinese page has an English one', () => {
  const pages = readdirSync(join(ROOT, 'docs/zh')).map((name) => name.replace(/\.md$/, ''))
  expect(pages.toSorted()).toEqual(Object.keys(CHINESE_PAGES).toSorted())
})

test.each(Object.entries(CHINESE_PAGES))('%s has the blocks of %s', (chinese, english) => {
  const blocks = blocksOf(`docs/zh/${chinese}.md`, LANGUAGES)
  // A page that shows the programs of its English one shows all of them.
  if (blocks.length > 0) expect(blocks).toEqual(blocksOf(`docs/${english}.md`, LANGUAGES))
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

function links(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const found = text.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)
  return Array.from(found, ([, link = '']) => link.replace(/^\.\.\/how-to\//, ''))
}
