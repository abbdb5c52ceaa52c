/** The site shows every page of `docs/`, and its search splits Chinese texts into words. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onSite, REPOSITORY } from '../../website/.vitepress/links.mjs'
import { listOf, twinOf } from '../../website/.vitepress/markdown-twins.mjs'
import { CHINESE } from '../../website/.vitepress/chinese.mjs'
import { ENGLISH } from '../../website/.vitepress/navigation.mjs'
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

test('llms.txt lists every page of the site but the homes and those for contributors', () => {
  const list = listOf('/base/')
  const wanted = pages.filter((page) => !home.includes(page) && !page.startsWith('/internals/'))
  expect(wanted.length).toBeGreaterThan(30)
  const missing = wanted.filter(
    (page) => !list.includes(`(/base${page}${page.endsWith('/') ? 'index' : ''}.md)`),
  )
  expect(missing).toEqual([])
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
