/** Every relative link of a page leads to a file and to a heading that exist. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const pages = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((page) => page !== '' && existsSync(join(ROOT, page)))

test.each(pages)('%s has no broken link', (page) => {
  const links = withoutCode(read(page)).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)
  const broken = [...links]
    .map(([, link]) => link ?? '')
    .filter((link) => !leadsSomewhere(page, link))
  expect(broken).toEqual([])
})

test('the README for npm links to pages of the repository, by their whole address', () => {
  const text = read('packages/holdfast/README.md')
  const { homepage } = JSON.parse(read('packages/holdfast/package.json')) as { homepage: string }
  const base = `${homepage.replace(/#.*$/, '')}/blob/main/`
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link ?? '')
  expect(links.length).toBeGreaterThan(4)
  expect(links.filter((link) => !link.startsWith(base))).toEqual([])
  expect(links.filter((link) => !existsSync(join(ROOT, link.slice(base.length))))).toEqual([])
})

test.each([
  'docs',
  ...[
    'explain',
    'guide',
    'how-to',
    'integrations',
    'internals',
    'migrate',
    'operate',
    'reference',
    'start',
    'stores',
  ].map((room) => `docs/${room}`),
])('an index links to each page of %s', (room) => {
  const index = read(`${room === 'docs/internals' ? 'docs' : room}/README.md`)
  const own = pages.filter((page) => dirname(page) === room && basename(page) !== 'README.md')
  expect(own.length).toBeGreaterThan(room === 'docs/integrations' ? -1 : 2)
  expect(own.filter((page) => !index.includes(`${basename(page)})`))).toEqual([])
})

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, target))) return false
  return anchor === undefined || anchors(target).has(anchor)
}

/** Returns the anchors of a page: of its headings, as GitHub makes them, and written ones. */
function anchors(page: string): Set<string> {
  const text = withoutCode(read(page))
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading ?? ''))
  const written = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id]) => id ?? '')
  return new Set([...headings, ...written])
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[^]*?^```/gm, '')
}

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}
