/**
 * Writes the pages once more for programs that read. The Markdown of a page lies beside its HTML,
 * with links that fit the site. `llms.txt` lists these files (https://llmstxt.org).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { onSite, REPOSITORY } from './links.mjs'
import { CHINESE } from './chinese.mjs'
import { ENGLISH } from './navigation.mjs'

const ABOUT = `# Holdfast

> Distributed locks for Node.js: mutexes, readers-writer locks, semaphores and elections over Redis,
> PostgreSQL, MySQL, etcd, ZooKeeper or a local file, with fencing tokens, renewal and a loss signal.

Each page below is Markdown. Every program in them runs in the tests of the repository.
`

/**
 * @param {import('vitepress').SiteConfig} site the built site
 */
export function writeTwins({ pages, rewrites, srcDir, outDir, site: { base } }) {
  const files = pages.map((page) => rewrites.map[page] ?? page)
  for (const [at, page] of pages.entries()) {
    const target = join(outDir, files[at])
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, twinOf(readFileSync(join(srcDir, page), 'utf8'), page))
  }
  writeFileSync(join(outDir, 'llms.txt'), listOf(base, files))
}

/**
 * Returns the text of a page with links to the other twins.
 * @param {string} text @param {string} page below `docs/`
 */
export function twinOf(text, page) {
  return text.replaceAll(/(?<=\]\()[^)\s]+(?=\))/g, (href) => {
    if (!/^\.{0,2}\/?[\w./-]+\.svg$/.test(href)) return onSite(href, page)
    // The site gives pictures names of its own.
    return `${REPOSITORY}/raw/main/${posix.join('docs', posix.dirname(page), href)}`
  })
}

/**
 * Returns the list of all twins: first those at the side of the site, then the others.
 * @param {string} base @param {string[]} files all twins
 */
export function listOf(base, files) {
  const sections = [ENGLISH, CHINESE].flatMap(({ sidebar }) => Object.values(sidebar).flat())
  const lists = sections.map(({ text, items }) => {
    const lines = items.map((item) => `- [${item.text}](${base}${fileOf(item.link)})`)
    return `## ${text}\n\n${lines.join('\n')}\n`
  })
  const listed = new Set(sections.flatMap(({ items }) => items.map(({ link }) => fileOf(link))))
  const others = files.filter((file) => !listed.has(file)).toSorted()
  const lines = others.map((file) => `- [${file.replace('.md', '')}](${base}${file})`)
  return [ABOUT, ...lists, `## API, and other pages\n\n${lines.join('\n')}\n`].join('\n')
}

/** @param {string} link as in the list at the side */
function fileOf(link) {
  return `${link.slice(1)}${link.endsWith('/') ? 'index' : ''}.md`
}
