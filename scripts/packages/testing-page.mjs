/** The files of docs/guide/testing.md, for each test runner. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'
import { ROOT } from './files.mjs'

const PAGE = join(ROOT, 'docs/guide/testing.md')
const IMPORT_OF_VITEST = /^import .* from 'vitest'\n/m

/** What stands for the functions of Vitest's `vi`, with the timers of sinon. */
const TIMERS_OF_SINON = `
import { useFakeTimers, type SinonFakeTimers } from 'sinon'
let timers: SinonFakeTimers
const vi = {
  useFakeTimers: () => (timers = useFakeTimers()),
  useRealTimers: () => timers.restore(),
  advanceTimersByTimeAsync: (ms: number) => timers.tickAsync(ms),
}
`

/**
 * Returns the files of the page by their names: a program in TypeScript, its tests for Vitest, and
 * one for `node:test`. A block begins with the name of its file, and several may be of one file.
 * @returns {Record<string, string>}
 */
export function filesOfPage() {
  /** @type {Record<string, string>} */
  const files = {}
  const page = readFileSync(PAGE, 'utf8')
  for (const [, name = '', code] of page.matchAll(/^```[jt]s\n\/\/ (\S+)\n([^]*?)^```/gm))
    files[name] = `${files[name] ?? ''}${code}`
  return files
}

/** Writes the program and its tests for Vitest. */
export function writeVitest(folder) {
  const { 'shop.test.mjs': _, ...files } = filesOfPage()
  write(folder, files)
}

/** Writes the program and its tests for Jest, changed as the page says. */
export function writeJest(folder) {
  const { 'shop.test.mjs': _, ...files } = filesOfPage()
  const changed = Object.entries(files).map(([name, text]) => [
    name,
    text.replace(IMPORT_OF_VITEST, '').replaceAll(/\bvi\./g, 'jest.'),
  ])
  write(folder, Object.fromEntries(changed))
}

/** Writes the test with fake timers for Vitest, with the timers of sinon. */
export function writeSinon(folder) {
  const text = filesOfPage()['fake-timers.test.ts'] ?? ''
  const [line = ''] = IMPORT_OF_VITEST.exec(text) ?? []
  const changed = text.replace(line, `${line.replace(', vi ', ' ')}${TIMERS_OF_SINON}`)
  write(folder, { 'sinon.test.ts': changed })
}

/** Writes the program as JavaScript, and its test for `node:test`, whose name it returns. */
export async function writeNodeTest(folder) {
  const files = filesOfPage()
  const { code } = await transform(files['shop.ts'] ?? '', { loader: 'ts', format: 'esm' })
  const name = 'shop.test.mjs'
  write(folder, {
    'shop.mjs': code,
    [name]: files[name] ?? '',
  })
  return name
}

function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}
