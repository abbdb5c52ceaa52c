/** Bundles built ES modules into few CommonJS files. */
import { transform } from 'esbuild'
import { rollup } from 'rollup'
import { breakLines } from './lines.mjs'

/**
 * @param {object} terms
 * @param {string} terms.target the folder to write to
 * @param {Record<string, string>} terms.input the file of each entry, by its name
 * @param {readonly string[]} terms.external packages that stay imports
 * @param {Record<string, string>} [terms.resolve] the file of a specifier
 * @param {string} [terms.core] the entry whose modules all go into one file: every program loads it
 * @returns {Promise<Record<string, string[]>>} the names that each entry exports
 */
export async function bundle({ target, input, external, resolve = {}, core }) {
  const isExternal = (id) =>
    id.startsWith('node:') || external.some((name) => id === name || id.startsWith(`${name}/`))
  const build = await rollup({
    input,
    external: isExternal,
    onwarn: refuseWarning,
    plugins: [{ name: 'resolve', resolveId: (id) => resolve[id] ?? null }, compact],
  })
  const { output } = await build.write({
    dir: target,
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    exports: 'named',
    externalLiveBindings: false,
    freeze: false,
    hoistTransitiveImports: false,
    minifyInternalExports: true,
    ...(core === undefined ? {} : { manualChunks: { core: [input[core]] } }),
  })
  await build.close()
  const entries = output.filter(({ type, isEntry }) => type === 'chunk' && isEntry)
  return Object.fromEntries(entries.map(({ name, exports }) => [name, exports.toSorted()]))
}

/**
 * Comments are two fifths of the code, and the declarations keep those that users read. Built-in
 * modules are not required: a bundler that makes ES modules cannot turn that into an import.
 */
const compact = {
  name: 'compact',
  async renderChunk(source) {
    const code = source.replaceAll(
      /\brequire\('(node:[\w/]+)'\)/g,
      "process.getBuiltinModule('$1')",
    )
    const options = { minify: true, format: 'cjs', legalComments: 'none' }
    return breakLines((await transform(code, options)).code)
  },
}

function refuseWarning(warning) {
  // Helpers of TypeScript begin with `this &&`, which is meant to be undefined in a module.
  if (warning.code === 'THIS_IS_UNDEFINED') return
  throw new Error(`rollup: ${warning.message}`)
}
