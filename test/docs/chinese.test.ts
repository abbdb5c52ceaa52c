/** The Chinese pages have the programs and commands of the English ones, and lead to the rest. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf, ROOT } from './samples/blocks.js'

/** Pages in both languages. */
const BOTH: Readonly<Record<string, string>> = {
  'first-lock': 'start/first-lock',
  oversell: 'start/oversell',
  'payment-callback': 'how-to/payment-callback',
}

test.each(Object.entries(BOTH))('%s has the blocks of %s', (chinese, english) => {
  const languages = ['js', 'ts', 'sh']
  const blocks = blocksOf(`docs/${english}.md`, languages)
  expect(blocks.length).toBeGreaterThan(3)
  expect(blocksOf(`docs/zh/${chinese}.md`, languages)).toEqual(blocks)
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
