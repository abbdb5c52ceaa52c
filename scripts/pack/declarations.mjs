/** Copies the type declarations that the entries of a package reach. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * @param {string} source the package, with its dist folder
 * @param {readonly string[]} entries the built files that users import
 * @param {string} target the folder of the copies
 */
export function copyDeclarations(source, entries, target) {
  const reached = new Set()
  const visit = (file) => {
    if (reached.has(file)) return
    reached.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, path] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]/g)) {
      visit(join(dirname(file), path.replace(/\.js$/, '.d.ts')))
    }
    const copy = join(target, relative(join(source, 'dist'), file))
    mkdirSync(dirname(copy), { recursive: true })
    writeFileSync(copy, text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
  }
  for (const file of entries) visit(file.replace(/\.js$/, '.d.ts'))
}
