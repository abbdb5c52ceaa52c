/** Copies the type declarations that the entries of a package reach. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * @param {string} source the package, with its dist folder
 * @param {readonly string[]} entries the built files that users import
 * @param {string} target the folder of the copies
 */
export function copyDeclarations(source, entries, target) {
  const [shown, reached] = [new Set(), new Set()]
  const visit = (file, isShown) => {
    if (reached.has(file) && (!isShown || shown.has(file))) return
    reached.add(file)
    if (isShown) shown.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, statement, path] of text.matchAll(PATHS)) {
      const next = join(dirname(file), path.replace(/\.js$/, '.d.ts'))
      visit(next, isShown && statement.startsWith('export'))
    }
  }
  for (const file of entries) visit(file.replace(/\.js$/, '.d.ts'), true)
  for (const file of reached) {
    const copy = join(target, relative(join(source, 'dist'), file))
    const text = readFileSync(file, 'utf8')
      .replace(/^\/\/# sourceMappingURL=.*\n?/m, '')
      // Imports of code alone.
      .replaceAll(/^import '.*\n/gm, '')
      // As in the sources.
      .replaceAll(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
    mkdirSync(dirname(copy), { recursive: true })
    // An editor shows the comments of what users can name.
    writeFileSync(copy, shown.has(file) ? text : text.replace(COMMENTS, ''))
  }
}

/** Statements that name another file, and types that do. */
const PATHS = /((?:import|export)\b[^'";]*?(?:from|\()\s*)['"](\.[^'"]+)['"]/g
const COMMENTS = /^[ \t]*\/\*\*[\s\S]*?\*\/[ \t]*\n/gm
