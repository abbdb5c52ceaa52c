/** The Chinese README has what the English one has, and that of the package has its entries. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CHINESE_PAGES, withoutComments } from './languages.js'
import { blocksOf } from './samples/blocks.js'

const LANGUAGES = ['js', 'sh']

const read = (name: string): string =>
  readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
const [english, chinese] = [read('README.md'), read('README.zh-CN.md')]

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([whole]) => whole)
}

test('both have the same commands and the same programs', () => {
  const blocks = blocksOf('README.md', LANGUAGES).map(withoutComments)
  expect(blocks.length).toBeGreaterThan(2)
  expect(blocksOf('README.zh-CN.md', LANGUAGES).map(withoutComments)).toEqual(blocks)
})

test('both have the same points and links, and the Chinese one leads to the Chinese pages', () => {
  expect(all(chinese, /^(- \*\*|\| )/gm)).toHaveLength(all(english, /^(- \*\*|\| )/gm).length)
  expect(chinese).toContain('](docs/zh/README.md)')
  const links = (text: string): string[] =>
    [...new Set(all(text, /\]\((?!README|docs\/zh\/README)[^)]+\)/g).map(inEnglish))].toSorted()
  expect(links(chinese)).toEqual(links(english))
})

test('the package shows all its entries', () => {
  const { exports } = JSON.parse(read('packages/holdfast/package.json')) as { exports: object }
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json')
  const shown = all(read('packages/holdfast/README.md'), /(?<=^\| `)holdfast[^`]*/gm)
  expect(shown.toSorted()).toEqual(
    entries.map((entry) => entry.replace('.', 'holdfast')).toSorted(),
  )
})

/** Returns a link to a Chinese page as the link to its English one. */
function inEnglish(link: string): string {
  return link.replace(/docs\/zh\/([\w-]+)/, (_, name) => `docs/${CHINESE_PAGES[name]}`)
}
