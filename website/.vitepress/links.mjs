/**
 * Makes links of the pages, which fit the repository, fit the site. An index is `README.md` there
 * and `index` here. Files outside of `docs/` are on GitHub.
 */
import { posix } from 'node:path'

export const REPOSITORY = 'https://github.com/holdfast-locks/holdfast'

const API = /^\.\.\/packages\/([\w-]+)\/api\/([\w-]+)\.api\.md$/

/**
 * A plugin of markdown-it.
 * @param {import('markdown-it')} markdown
 */
export function repositoryLinks(markdown) {
  markdown.core.ruler.push('repository_links', ({ tokens, env }) => {
    const inline = tokens.flatMap(({ children }) => children ?? [])
    for (const token of inline) {
      const href = token.type === 'link_open' ? token.attrGet('href') : undefined
      if (href) token.attrSet('href', onSite(href, env.relativePath))
    }
  })
}

/** @param {string} href @param {string} page below `docs/` */
export function onSite(href, page) {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href
  const [path, hash] = href.split('#')
  const anchor = hash === undefined ? '' : `#${hash}`
  const target = posix.join(posix.dirname(page), path)
  // The repository has the declarations of an entry, and the site a page that is made of them.
  const [, library = '', entry = ''] = API.exec(target) ?? []
  if (library !== '') return `/reference/api/${apiPage(library, entry)}`
  if (target.startsWith('..')) return `${REPOSITORY}/blob/main/${target.slice(3)}${anchor}`
  return `${path.replace(/(^|\/)README\.md$/, '$1index.md')}${anchor}`
}

/** @param {string} library @param {string} entry as in the name of its file */
function apiPage(library, entry) {
  return entry === 'index' ? library : `${library}/${entry}`
}

/** Returns the anchor of a heading, as GitHub makes it: links work in both places. */
export function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}
