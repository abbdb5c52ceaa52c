/** The site: the pages of `docs/`, in English and Chinese. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { homeOf } from './home.mjs'
import { REPOSITORY, repositoryLinks, slugify } from './links.mjs'
import { CHINESE, CHINESE_SEARCH } from './chinese.mjs'
import { ENGLISH } from './navigation.mjs'
import { writeTwins } from './markdown-twins.mjs'
import { unbrokenNumbers } from './numbers.mjs'
import { scrollingPictures } from './pictures.mjs'
import { scrollingTables } from './tables.mjs'
import { tokenize } from './tokenize.mjs'

const PAGES = fileURLToPath(new URL('../../docs', import.meta.url))

export default defineConfig({
  title: 'Holdfast',
  description: 'Distributed locks for Node.js, with leases that report their loss',
  base: process.env.SITE_BASE ?? '/',
  srcDir: '../docs',
  cleanUrls: true,
  lastUpdated: false,
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  head: [['link', { rel: 'icon', href: `${process.env.SITE_BASE ?? '/'}mark.svg` }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify },
    config: (markdown) => {
      markdown.use(repositoryLinks).use(unbrokenNumbers).use(scrollingTables)
      markdown.use(scrollingPictures, PAGES)
    },
    languageAlias: { crontab: 'sh', jsonl: 'json' },
  },
  vite: { publicDir: '../website/public', plugins: [vueOfThisFolder(), languagesOfThisSite()] },
  buildEnd: (site) => writeTwins(site),
  transformPageData: (page) =>
    homeOf(page.relativePath) && { frontmatter: homeOf(page.relativePath) },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: ENGLISH },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      link: '/zh/',
      description: 'Node.js 的分布式锁：租约丢失时及时通知，每次加锁都带 fencing token',
      themeConfig: CHINESE,
    },
  },
  themeConfig: {
    logo: '/mark.svg',
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    search: {
      provider: 'local',
      options: {
        miniSearch: { options: { tokenize }, searchOptions: { tokenize, combineWith: 'AND' } },
        // Pages for contributors, and each name of the API, would drown the others.
        _render: (source, env, markdown) =>
          /^(internals|reference\/api)\//.test(env.relativePath)
            ? ''
            : markdown.render(source, env),
        translations: { button: { buttonText: 'Search', buttonAriaLabel: 'Search' } },
        locales: { zh: { translations: CHINESE_SEARCH } },
      },
    },
  },
})

/** The links to the other language are those of theme/langs.mjs. */
function languagesOfThisSite() {
  return {
    name: 'languages-of-this-site',
    enforce: 'pre',
    resolveId(name) {
      if (!name.endsWith('/composables/langs')) return undefined
      return fileURLToPath(new URL('theme/langs.mjs', import.meta.url))
    },
  }
}

/** The pages lie outside of this folder. Vite finds Vue for them only when it looks here. */
function vueOfThisFolder() {
  const here = fileURLToPath(import.meta.url)
  return {
    name: 'vue-of-this-folder',
    enforce: 'pre',
    resolveId(name, _importer, options) {
      if (!/^vue(\/|$)/.test(name)) return undefined
      // The server's half is loaded by Node, from this folder.
      if (options.ssr) return { id: name, external: true }
      return this.resolve(name, here, { ...options, skipSelf: true })
    },
  }
}
