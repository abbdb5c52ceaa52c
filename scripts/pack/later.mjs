/**
 * Loads the code of a rare call, such as `locks.steal` or `lease.export`, with the first of them.
 *
 * The sources have `await import('./steal.js')`. Published, that takes another form: Jest cannot
 * run `import()` in CommonJS, and a bundler copies what is required into the file that requires it.
 * So it becomes `require('#later').steal()`, and the manifest maps `#later` to one of two files.
 * Both load the same chunks:
 *
 *   chunks/later.mjs   for bundlers, under the condition `module`: imports, so that a bundler that
 *                      splits leaves the chunks in files of their own
 *   chunks/later.js    for Node, Jest, Bun and Deno: requires
 */
import { posix } from 'node:path'

const MARK = 'IMPORT_LATER'
const [REQUIRES, IMPORTS] = ['chunks/later.js', 'chunks/later.mjs']

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

/** `chunks/multi-acquirer-BVbvq6Xa.js` is `multiAcquirer`. */
function identifierOf(file) {
  const [, name] = /^chunks\/(.*)-[\w-]{8}\.js$/.exec(file)
  return name.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase())
}
