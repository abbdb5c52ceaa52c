/**
 * Loads the code of rare calls, such as `locks.steal` or `lease.export`, with the first of them.
 *
 * The sources have `await import('./steal.js')`. Published, that takes another form: Jest cannot
 * run `import()` in CommonJS, and a bundler copies what is required into the file that requires it.
 * So it becomes `require('#later').rare()`, and the manifest maps `#later` to one of two files.
 * Both load the same chunks:
 *
 *   chunks/later.mjs   for bundlers, under the condition `module`: imports, so that a bundler that
 *                      splits leaves the chunks in files of their own
 *   chunks/later.js    for Node, Jest, Bun and Deno: requires
 */
import { dirname, join, posix } from 'node:path'

const MARK = 'IMPORT_LATER'
const [REQUIRES, IMPORTS] = ['chunks/later.js', 'chunks/later.mjs']

/**
 * Returns options of rollup that make two chunks of the rooms lease/ and locks/. `createLocks`
 * needs `core` at its start, and `rare` has the code of all rare calls. What the index exports
 * stays outside of `rare`: a bundle with `DeadlockError` does not need the rest of it.
 * @param {string} core the module with `createLocks`
 * @param {string} index the entry
 */
export function chunksOf(core, index) {
  const rooms = [dirname(core), join(dirname(index), 'lease')]
  let start
  return {
    onlyExplicitManualChunks: true,
    manualChunks(id, { getModuleInfo }) {
      start ??= closureOf(core, getModuleInfo)
      if (start.has(id)) return 'core'
      const exported = Object.keys(getModuleInfo(index).exportedBindings)
      const isNamed = exported.some((path) => join(dirname(index), path) === id)
      return isNamed || !rooms.some((room) => id.startsWith(`${room}/`)) ? null : 'rare'
    },
  }
}

/** Returns a module and all that it imports before it runs. */
function closureOf(id, getModuleInfo) {
  const found = new Set([id])
  for (const one of found) {
    for (const next of getModuleInfo(one).importedIds) found.add(next)
  }
  return found
}

/**
 * Returns a plugin of rollup that marks each `import()` in the chunk `core`.
 * @param {string} index the entry that imports the same modules, so that tests have them at hand
 */
export function importLater(index) {
  return {
    name: 'import later',
    renderDynamicImport({ chunk, targetModuleId }) {
      if (chunk.name !== 'core') return null
      const { importedIds } = this.getModuleInfo(index)
      if (!importedIds.includes(targetModuleId))
        this.error(`${targetModuleId} is loaded later: import it in ${index} as well.`)
      return { left: `${MARK}(`, right: ')' }
    },
  }
}

export class Later {
  /** The file of each function of `#later`. */
  #files = new Map()

  /** Replaces the marks in the code of a file. */
  replaceIn(code, fileName) {
    return code.replaceAll(new RegExp(`${MARK}\\('([^']+)'\\)`, 'g'), (_, path) => {
      const file = posix.join(posix.dirname(fileName), path)
      const name = identifierOf(file)
      this.#files.set(name, file)
      return `require('#later').${name}()`
    })
  }

  /** Returns the paths and the code of the two files; none when nothing is loaded later. */
  files() {
    if (this.#files.size === 0) return []
    const found = [...this.#files].map(([name, file]) => [name, `'./${posix.basename(file)}'`])
    const required = found.map(([name, file]) => `exports.${name} = async () => require(${file})\n`)
    const imported = found.map(
      ([name, file]) => `export const ${name} = () => import(${file}).then(whole)\n`,
    )
    return [
      [REQUIRES, `'use strict'\n${required.join('')}`],
      // Some bundlers give a CommonJS module as the default export only.
      [IMPORTS, `const whole = (module) => module.default ?? module\n${imported.join('')}`],
    ]
  }

  /** Returns the `imports` of the manifest. */
  imports() {
    if (this.#files.size === 0) return {}
    return { imports: { '#later': { module: `./${IMPORTS}`, default: `./${REQUIRES}` } } }
  }
}

/** `chunks/some-name-BVbvq6Xa.js` is `someName`. */
function identifierOf(file) {
  const [, name] = /^chunks\/(.*)-[\w-]{8}\.js$/.exec(file)
  return name.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase())
}
