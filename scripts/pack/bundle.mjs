/** Bundles built ES modules into few CommonJS files. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { transform } from 'esbuild'
import { rollup } from 'rollup'
import { chunksOf, importLater, Later } from './later.mjs'
import { breakLines } from './lines.mjs'

/**
 * @param {object} terms
 * @param {string} terms.target the folder to write to
 * @param {Record<string, string>} terms.input the file of each entry, by its name
 * @param {readonly string[]} terms.external packages that stay imports
 * @param {Record<string, string>} [terms.resolve] the file of a specifier
 * @param {string} [terms.core] a module that goes into one file with all that its start needs
 * @returns {Promise<{ exported: Record<string, Origin[]>, imports: object }>} what each entry
 * exports, and what the manifest maps
 *
 * @typedef {{ name: string, file: string, as: string }} Origin an export, and where it stands
 */
export async function bundle({ target, input, external, resolve = {}, core }) {
  const isExternal = (id) =>
    id.startsWith('node:') || external.some((name) => id === name || id.startsWith(`${name}/`))
  const build = await rollup({
    input,
    external: isExternal,
    onwarn: refuseWarning,
    plugins: [
      { name: 'resolve', resolveId: (id) => resolve[id] ?? null },
      importLater(input.index),
    ],
  })
  const { output } = await build.generate({
    dir: target,
    format: 'cjs',
    entryFileNames: '[name].js',
    // A running program must not load a file of the version that has replaced its own.
    chunkFileNames: 'chunks/[name]-[hash].js',
    exports: 'named',
    externalLiveBindings: false,
    freeze: false,
    generatedCode: 'es2015',
    hoistTransitiveImports: false,
    minifyInternalExports: true,
    ...(core === undefined ? {} : chunksOf(core, input.index)),
  })
  await build.close()
  const later = new Later()
  for (const { fileName, code } of output) {
    write(join(target, fileName), await compact(later.replaceIn(code, fileName)))
  }
  for (const [path, code] of later.files()) write(join(target, path), code)
  const entries = output.filter(({ type, isEntry }) => type === 'chunk' && isEntry)
  return {
    exported: Object.fromEntries(entries.map((chunk) => [chunk.name, originsOf(chunk)])),
    imports: later.imports(),
  }
}

function write(path, code) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, code)
}

/**
 * Comments are two fifths of the code, and the declarations keep those that users read. Built-in
 * modules are not required: bundlers cannot turn that into an import.
 */
async function compact(source) {
  const code = source.replaceAll(/\brequire\('(node:[\w/]+)'\)/g, "process.getBuiltinModule('$1')")
  const options = { minify: true, format: 'cjs', legalComments: 'none' }
  return breakLines((await transform(code, options)).code)
}

/** Returns where the exports of an entry stand: in its own file, or in a chunk. */
function originsOf({ name, fileName, code, exports }) {
  const chunks = new Map(
    [...code.matchAll(/^const (\w+) = require\('(\.[^']+)'\);$/gm)].map(([, variable, path]) => [
      variable,
      posix.join(posix.dirname(fileName), path),
    ]),
  )
  const moved = new Map(
    [...code.matchAll(/^exports\.([\w$]+) = (\w+)\.([\w$]+);$/gm)]
      .filter(([, , variable]) => chunks.has(variable))
      .map(([, exported, variable, as]) => [exported, { file: chunks.get(variable), as }]),
  )
  return exports.toSorted().map((exported) => ({
    name: exported,
    ...(moved.get(exported) ?? { file: `${name}.js`, as: exported }),
  }))
}

function refuseWarning(warning) {
  // Helpers of TypeScript begin with `this &&`, which is meant to be undefined in a module.
  if (warning.code === 'THIS_IS_UNDEFINED') return
  throw new Error(`rollup: ${warning.message}`)
}
