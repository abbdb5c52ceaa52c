/**
 * Measures `import { createLocks } from 'holdfast'` in a bundle, minified and gzipped.
 *
 * A bundler that splits makes one file that the program loads at its start, and files that it loads
 * with the first rare call. `start` counts the former. Without splitting all stand in one file:
 * `whole` counts that.
 */
import { basename } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { ROOT } from './files.mjs'

/**
 * @param {string} entry the file that is imported as `holdfast`
 * @param {import('esbuild').BuildOptions} [options] of the bundler
 * @returns {Promise<{ start: number, whole: number }>} in bytes
 */
export async function coreSize(entry, options = {}) {
  const whole = await bundled(entry, options)
  const { metafile, outputFiles } = await bundled(entry, { ...options, splitting: true })
  const files = filesAtStart(metafile)
  return {
    start: gzipped(outputFiles.filter(({ path }) => files.has(basename(path)))),
    whole: gzipped(whole.outputFiles),
  }
}

/** Bundles `createLocks` alone. Writes nothing. */
export function bundled(entry, options) {
  return build({
    stdin: { contents: `export { createLocks } from ${JSON.stringify(entry)}`, resolveDir: ROOT },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    outdir: ROOT,
    write: false,
    metafile: true,
    logLevel: 'error',
    ...options,
  })
}

/** Returns the names of the entry and of the files that it imports before it runs. */
function filesAtStart({ outputs }) {
  const imports = new Map(
    Object.entries(outputs).map(([path, output]) => [basename(path), output.imports]),
  )
  const found = new Set(['stdin.js'])
  for (const file of found) {
    for (const { path, kind, external } of imports.get(file))
      if (kind === 'import-statement' && external !== true) found.add(basename(path))
  }
  return found
}

/** Each file is sent by itself. */
function gzipped(files) {
  return files.reduce((bytes, { contents }) => bytes + gzipSync(contents, { level: 9 }).length, 0)
}
