/**
 * Measures what `import { createLocks }` is made of, and the least that a bundle of it needs.
 *
 *   node scripts/pack/core-floor.mjs    prints three tables, from a built tree
 *
 * For the least, one mutex of a memory store is made, acquired, renewed, lost, acquired again and
 * released. All functions that this does not enter are cut from the bundle. What remains is a lower
 * bound for the code as it is written: nothing in it waits, nests, fails, closes or checks a
 * misspelt option.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { transform } from 'esbuild'
import { parseAst } from 'rollup/parseAst'
import { memoryStore } from '../../packages/holdfast/dist/stores/memory/index.js'
import { bundled, coreSize } from './core-size.mjs'
import { BUILD, ROOT } from './files.mjs'
import { stageLibrary } from './stage.mjs'

const MODULES = join(ROOT, 'packages/holdfast/dist/locks/create.js')
const TTL_MS = 200
/** Features at the start: the files that one of them consists of. */
const FEATURES = {
  'advice on misspelt options': /unknown-key-advice\.js$/,
  'runs inside of runs': /reentrancy\.js$/,
  semaphores: /locks\/semaphore\.js$/,
  withdrawals: /release\/withdrawals\.js$/,
  'elections, without their candidates': /lock-election\.js$/,
  'striped locks': /striped\.js$/,
  close: /locks\/close\.js$/,
  'locks taken together': /locks\/multi\.js$/,
}

/** Leaves out what is loaded later. */
const withoutLater = {
  name: 'without later code',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\./ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
}

/** Puts an empty class or function in the place of each export of some files. */
function without(files) {
  return {
    name: 'without a feature',
    setup: ({ onLoad }) =>
      onLoad({ filter: files }, ({ path }) => {
        const exported = parseAst(readFileSync(path, 'utf8'))
          .body.filter(({ type }) => type === 'ExportNamedDeclaration')
          .flatMap(({ declaration }) => declaration?.declarations ?? declaration ?? [])
        return { contents: exported.map(({ id }) => `export class ${id.name} {}`).join('\n') }
      }),
  }
}

/** Returns the ranges of the functions that one mutex enters. */
async function enteredRanges(code) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-floor-'))
  const url = pathToFileURL(join(folder, 'bundle.mjs')).href
  writeFileSync(new URL(url), code)
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await useMutex(await import(url))
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const { functions } = result.find((script) => script.url === url)
    return functions.map(({ ranges }) => ranges[0]).filter(({ count }) => count > 0)
  } finally {
    session.disconnect()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function useMutex({ createLocks }) {
  const store = memoryStore()
  const mutex = createLocks(store, { ttlMs: TTL_MS }).mutex('a')
  const lease = await mutex.acquire()
  await lease.renew()
  // Until a regular renewal.
  await pause(TTL_MS / 2)
  await store.steal('a', { now: true })
  const lost = await lease.renew().catch((error) => error)
  if (lost.code !== 'LOCK_LOST') throw lost
  await lease.release()
  if ((await (await mutex.acquire()).release()) !== 'released') throw new Error('Not released.')
}

/** Returns the code without the functions that were not entered. */
function withoutFunctions(code, ranges) {
  const cuts = []
  const visit = (node, start = node?.start) => {
    if (typeof node !== 'object' || node === null) return
    const isFunction = /Function/.test(node.type) && node.body !== null
    const isEntered = ({ startOffset, endOffset }) =>
      endOffset === node.end && startOffset >= start && startOffset <= node.body.start
    if (isFunction && !ranges.some(isEntered)) {
      const { end } = node
      if (node.type === 'ArrowFunctionExpression')
        cuts.push({ start: node.start, end, text: '()=>0' })
      else cuts.push({ start: node.body.start, end, text: '{}' })
      return
    }
    for (const child of Object.values(node)) visit(child, methodStart(node, child))
  }
  visit(parseAst(code))
  return replaced(code, cuts)
}

/** V8 counts the name of a method to its function. */
function methodStart(node, child) {
  const isMethod = node.type === 'MethodDefinition' || (node.type === 'Property' && node.method)
  return isMethod && child === node.value ? node.start : child?.start
}

/** Returns the code with each text that has a space in it emptied: messages to people. */
function withoutTexts(code) {
  const cuts = []
  const visit = (node) => {
    if (typeof node !== 'object' || node === null) return
    if (node.type === 'Literal' && String(node.value).includes(' '))
      cuts.push({ start: node.start, end: node.end, text: "''" })
    if (node.type === 'TemplateElement' && node.value.raw.includes(' '))
      cuts.push({ start: node.start, end: node.end, text: '' })
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(code))
  return replaced(code, cuts)
}

function replaced(code, cuts) {
  let [result, from] = ['', 0]
  for (const { start, end, text } of cuts.sort((one, other) => one.start - other.start)) {
    result += code.slice(from, start) + text
    from = end
  }
  return result + code.slice(from)
}

/** @param {import('esbuild').TransformOptions} [options] */
async function gzipped(code, options) {
  const minified = await transform(code, {
    minify: true,
    format: 'esm',
    treeShaking: true,
    ...options,
  })
  return gzipSync(minified.code, { level: 9 }).length
}

/** Returns the bytes that each folder of the sources has in the start, before compression. */
function bytesOfRooms({ outputs: { 'stdin.js': output } }) {
  const rooms = {}
  for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
    const [, room = 'errors'] = /dist\/(.+)\/[^/]+$/.exec(path) ?? []
    rooms[room] = (rooms[room] ?? 0) + bytesInOutput
  }
  return rooms
}

await stageLibrary()
const { start, whole } = await coreSize(join(BUILD, 'holdfast/index.mjs'))
const { outputFiles } = await bundled(MODULES, { minify: false, plugins: [withoutLater] })
const code = outputFiles[0].text
const all = (await bundled(MODULES, { minify: false })).outputFiles[0].text
const base = await gzipped(code)
const needed = withoutFunctions(code, await enteredRanges(code))
console.table({
  'as published, in one file': whole,
  // Code that no program could run: an illustration.
  'one file without texts, with short names': await gzipped(withoutTexts(all), {
    mangleProps: /^[a-z]\w{3,}$/,
  }),
  'as published, at the start': start,
  'the start as ES modules': base,
  'the start without texts': await gzipped(withoutTexts(code)),
  'the functions of one mutex': await gzipped(needed),
  'these without texts': await gzipped(withoutTexts(needed)),
})
const features = {}
for (const [name, files] of Object.entries(FEATURES)) {
  const rest = await bundled(MODULES, { minify: false, plugins: [withoutLater, without(files)] })
  features[name] = base - (await gzipped(rest.outputFiles[0].text))
}
console.table(features)
const { metafile } = await bundled(MODULES, { plugins: [withoutLater] })
console.table(bytesOfRooms(metafile))
