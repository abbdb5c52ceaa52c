/** Writes the thin `.mjs` files through which ES modules import the CommonJS ones. */
import { writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/**
 * Each file with exports of an entry has a wrapper of its own. So a bundler takes only the files
 * from which it needs a name. It cannot leave out a CommonJS file that is named in the same
 * wrapper.
 * @param {string} target the folder of the package
 * @param {readonly string[]} entries the names of the entries
 * @param {Record<string, import('./bundle.mjs').Origin[]>} exported what each entry exports
 */
export function writeWrappers(target, entries, exported) {
  /** The exports of each file: its own names, by the public ones. */
  const files = new Map(entries.map((entry) => [`${entry}.js`, new Map()]))
  /** From which other files each entry exports. */
  const chunks = new Map(entries.map((entry) => [`${entry}.js`, new Map()]))
  for (const entry of entries) {
    for (const { name, file, as } of exported[entry]) {
      add(files, file, name, as)
      if (file !== `${entry}.js`) add(chunks.get(`${entry}.js`), wrapperOf(file), name, name)
    }
  }
  for (const [file, names] of files) {
    const own = names.size === 0 ? [] : [[`./${posix.basename(file)}`, names]]
    const others = [...(chunks.get(file) ?? [])].map(([path, moved]) => [`./${path}`, moved])
    writeFileSync(join(target, wrapperOf(file)), [...own, ...others].map(exportOf).join(''))
  }
}

function add(files, file, name, as) {
  const names = files.get(file) ?? new Map()
  files.set(file, names.set(name, as))
}

function wrapperOf(file) {
  return file.replace(/\.js$/, '.mjs')
}

function exportOf([path, names]) {
  const listed = [...names].map(([name, as]) => (name === as ? name : `${as} as ${name}`))
  return `export { ${listed.join(', ')} } from '${path}'\n`
}
