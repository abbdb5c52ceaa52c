/**
 * Writes the page of the console as a module, so that nothing is read from disk at run time. The
 * module is `src/console/page.generated.ts`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const path = join(import.meta.dirname, '../src/console/page.generated.ts')
const html = '<!doctype html><meta charset="utf-8"><title>Holdfast</title><p>Holdfast</p>'
const csp = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const text = `// Made by packages/holdfast/scripts/console-page.mjs.
export const PAGE: { readonly html: string; readonly csp: string } = ${JSON.stringify({ html, csp })}
`
// Left alone when nothing changed, so that the compiler has nothing to do either.
if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text)
