/** The search of the built site finds words, Chinese ones too. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { tokenize } from '../.vitepress/tokenize.mjs'

const CHUNKS = join(import.meta.dirname, '../.vitepress/dist/assets/chunks')
/** What readers look for, by language, and a page that has to be among the first eight. */
const SEARCHED = {
  root: {
    'cron job': '/how-to/cron',
    fencing: '/explain/fencing',
    LOCK_TIMEOUT: 'troubleshooting',
  },
  zh: { 执行时间: '/zh/leases', 幂等: '/zh/payment-callback', 超卖: '/zh/oversell' },
}

for (const [language, words] of Object.entries(SEARCHED)) {
  const index = await loadIndex(language)
  for (const [word, page] of Object.entries(words)) {
    const found = index.search(word, { prefix: true, fuzzy: 0.2 }).map(({ id }) => id)
    const first = found.slice(0, 8)
    if (!first.some((id) => id.includes(page)))
      throw new Error(`${word} finds ${first.join(', ') || 'nothing'}, and nothing of ${page}.`)
    console.log(`   ${word}: ${found.length} places, first ${first[0]}`)
  }
}

async function loadIndex(language) {
  const file = readdirSync(CHUNKS).find((name) => name.startsWith(`@localSearchIndex${language}.`))
  const { default: json } = await import(join(CHUNKS, file))
  return MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    tokenize,
    searchOptions: { tokenize, combineWith: 'AND', boost: { title: 4, text: 2, titles: 1 } },
  })
}
