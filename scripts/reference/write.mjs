/**
 * Writes the pages of `docs/reference/` that come from the sources: `npm run reference`. With
 * `--check` it writes nothing, and fails when a page differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { commandsPage } from './commands-page.mjs'
import { jsonPage } from './json-page.mjs'
import { optionsPage } from './options-page.mjs'

process.chdir(join(import.meta.dirname, '../..'))
const check = process.argv.includes('--check')
for (const [path, text] of Object.entries({
  'docs/reference/options.md': optionsPage(),
  'docs/reference/commands.md': commandsPage(),
  'docs/reference/json.md': jsonPage(),
})) {
  const page = await format(text, { ...(await resolveConfig(path)), parser: 'markdown' })
  if (!check) {
    writeFileSync(path, page)
  } else if (readFileSync(path, 'utf8') !== page) {
    console.error(`${path} differs from the sources. Run npm run reference.`)
    process.exitCode = 1
  }
}
