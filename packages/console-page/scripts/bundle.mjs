/**
 * Makes one HTML document of the console's page, with its script and style inside. The package
 * `holdfast` takes it in as a module of strings, so nothing is read from disk at run time.
 *
 * The policy beside it names script and style by their hashes: the browser runs nothing else.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const MODULE = join(root, '../holdfast/src/console/page.generated.ts')
const TARGETS = ['chrome116', 'firefox124', 'safari17.4']

// `</script` inside of a string would end the element. In a string, `<\/script` means the same.
const script = (await bundle('src/main.tsx')).replace(/<\/(script)/gi, '<\\/$1')
const style = await bundle('src/style/page.css')
if (/<\/style/i.test(style)) throw new Error('The style would end its element.')

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Holdfast</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>The console needs JavaScript.</noscript>
<script>${script}</script>
</body>
</html>
`
const csp = [
  `default-src 'none'`,
  `script-src ${hashOf(script)}`,
  `style-src ${hashOf(style)}`,
  `connect-src 'self'`,
  `img-src data:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types 'none'`,
].join('; ')
const text = `// Made by packages/console-page/scripts/bundle.mjs. Change the files of that package.

/** The document of the console, and the content security policy under which it runs. */
export const PAGE: { readonly html: string; readonly csp: string } = {
  html: ${JSON.stringify(html)},
  csp: ${JSON.stringify(csp)},
}
`
mkdirSync(dirname(MODULE), { recursive: true })
// Left alone when nothing changed, so that the compiler has nothing to do either.
if (!existsSync(MODULE) || readFileSync(MODULE, 'utf8') !== text) writeFileSync(MODULE, text)

/** @param {string} entry */
async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: TARGETS,
    charset: 'utf8',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  })
  return outputFiles[0].text.trim()
}

/** @param {string} text */
function hashOf(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
