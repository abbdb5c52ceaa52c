/** The site shows every page of `docs/`, and its search splits Chinese texts into words. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onSite, REPOSITORY } from '../../website/.vitepress/links.mjs'
import { listOf, twinOf } from '../../website/.vitepress/markdown-twins.mjs'
import { CHINESE } from '../../website/.vitepress/chinese.mjs'
import { inOtherLanguage } from '../../website/.vitepress/languages.mjs'
import { ENGLISH } from '../../website/.vitepress/navigation.mjs'
import { unbroken } from '../../website/.vitepress/numbers.mjs'
import { measure } from '../../website/.vitepress/pictures.mjs'
import { tokenize } from '../../website/.vitepress/tokenize.mjs'
import { ROOT } from './samples/blocks.js'

interface Item {
  readonly link?: string
  readonly items?: readonly Item[]
}

const tracked = execFileSync('git', ['ls-files', '-z', 'docs/*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
const pages = tracked
  .split('\0')
  .filter((page) => page !== '' && existsSync(join(ROOT, page)))
  .map((page) =>
    page
      .replace(/^docs/, '')
      .replace(/\.md$/, '')
      .replace(/README$/, ''),
  )
const home = ['/', '/zh/']
const sidebars = [ENGLISH, CHINESE].flatMap(({ sidebar }) => Object.values(sidebar).flat())

test('the list at the side has every page once', () => {
  const shown = linksOf(sidebars)
  expect(shown.length).toBeGreaterThan(30)
  const missing = pages.filter((page) => !shown.includes(page) && !home.includes(page))
  expect(missing).toEqual([])
  expect(shown.filter((link, index) => shown.indexOf(link) !== index)).toEqual([])
})

test('the bar and the list lead to pages that exist', () => {
  const links = linksOf([...sidebars, ...ENGLISH.nav, ...CHINESE.nav])
  expect(links.filter((link) => !pages.includes(link))).toEqual([])
})

test('a page leads to the same page in the other language', () => {
  expect(inOtherLanguage('explain/fencing.md')).toBe('/zh/fencing')
  expect(inOtherLanguage('zh/fencing.md')).toBe('/explain/fencing')
  expect(inOtherLanguage('how-to/index.md')).toBe('/zh/how-to')
  expect(inOtherLanguage('zh/index.md')).toBe('/')
  expect(inOtherLanguage('guarantees.md')).toBeUndefined()
})

test('a search for a Chinese word finds it inside of a sentence', () => {
  const words = tokenize('业务执行时间超过 TTL 时，回调必须幂等。')
  expect(tokenize('执行时间').filter((word) => !words.includes(word))).toEqual([])
  expect(tokenize('幂等').filter((word) => !words.includes(word))).toEqual([])
  expect(words).toContain('TTL')
  expect(words.length).toBeGreaterThan(7)
})

test('a search splits English at spaces and punctuation, and not inside of error codes', () => {
  expect(tokenize('holdfast/redis: `lease.signal`, LOCK_TIMEOUT')).toEqual(
    expect.arrayContaining(['holdfast', 'redis', 'lease', 'signal', 'LOCK_TIMEOUT']),
  )
})

test('links of the pages lead to the site where it has the page, or else to the repository', () => {
  expect(onSite('../README.md#limits', 'stores/redis.md')).toBe('../index.md#limits')
  expect(onSite('README.md', 'stores/redis.md')).toBe('index.md')
  expect(onSite('../../CHANGELOG.md', 'stores/redis.md')).toBe(
    `${REPOSITORY}/blob/main/CHANGELOG.md`,
  )
  expect(onSite('https://a.b/README.md', 'processes.md')).toBe('https://a.b/README.md')
})

test('links to the declarations of an entry lead to the page of the API', () => {
  const api = '../../packages/holdfast/api'
  expect(onSite(`${api}/redis.api.md`, 'reference/README.md')).toBe('/reference/api/holdfast/redis')
  expect(onSite(`${api}/index.api.md`, 'reference/README.md')).toBe('/reference/api/holdfast')
})

test('a Markdown twin has links that lead to other twins, and to the repository', () => {
  expect(twinOf('[a](../faq.md#x) [b](../README.md) ![c](../pictures/d.svg)', 'zh/faq.md')).toBe(
    `[a](../faq.md#x) [b](../index.md) ![c](${REPOSITORY}/raw/main/docs/pictures/d.svg)`,
  )
})

test('llms.txt lists every page of the site once', () => {
  const files = pages.map((page) => `${page.slice(1)}${page.endsWith('/') ? 'index' : ''}.md`)
  files.push('reference/api/holdfast/redis.md')
  const listed = Array.from(
    listOf('/base/', files).matchAll(/\(\/base\/([^)]+)\)/g),
    ([, file]) => file,
  )
  expect(files.length).toBeGreaterThan(30)
  expect(listed.toSorted()).toEqual(files.toSorted())
})

test('a number and its unit stay on one line, and so do the thousands', () => {
  expect(unbroken('10 000 leases in 5 ms, 4.8 k/s, 20 000 000')).toBe(
    '10\u00a0000 leases in 5\u00a0ms, 4.8\u00a0k/s, 20\u00a0000\u00a0000',
  )
  expect(unbroken('等 5 秒，共 1 000 次')).toBe('等 5\u00a0秒，共 1\u00a0000\u00a0次')
  expect(unbroken('10 毫秒')).toBe('10\u00a0毫\u2060秒')
  expect(tokenize('10\u00a0毫\u2060秒')).toEqual(['10', '毫秒'])
  expect(unbroken('in 2026 1000 times, Node 20 servers, 3 slots')).toBe(
    'in 2026 1000 times, Node 20 servers, 3 slots',
  )
})

test('a picture is never so narrow that its smallest text is unreadable', () => {
  expect(measure('<svg viewBox="0 0 720 300" font-size="14"><text font-size="12">')).toEqual({
    width: 720,
    height: 300,
    text: 12,
  })
})

const pictures = execFileSync('git', ['ls-files', 'docs/*.svg', 'website/public/*.svg'], {
  cwd: ROOT,
  encoding: 'utf8',
})
test.each(pictures.trim().split('\n'))('%s has a title and a ground of its own', (picture) => {
  const text = readFileSync(join(ROOT, picture), 'utf8')
  if (picture.endsWith('mark.svg')) return
  expect(text).toContain('role="img" aria-labelledby="title desc"')
  expect(text).toMatch(/<title id="title">[^<]+<\/title>\n *<desc id="desc">[^<]+<\/desc>/)
  // The same colours are readable on a light and on a dark page.
  expect(text).toContain('rx="14" fill="#f8fafc"')
})

function linksOf(items: readonly Item[]): string[] {
  return items.flatMap(({ link, items: below = [] }) => [
    ...(link === undefined ? [] : [link]),
    ...linksOf(below),
  ])
}
