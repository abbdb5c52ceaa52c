/** The samples of a page, and the program that they make together. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

export interface Block {
  readonly language: string
  readonly code: string
}

/** Returns the fenced blocks of a page, or of the docstrings of a source, in their order. */
export function blocksOf(page: string, languages: readonly string[]): Block[] {
  const source = readFileSync(join(ROOT, page), 'utf8')
  const text = page.endsWith('.ts') ? source.replaceAll(/^ *\* ?/gm, '') : source
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```/gm)]
    .map(([, language = '', code = '']) => ({ language, code }))
    .filter(({ language }) => languages.includes(language))
}

const IMPORT = /^import (?:\{\s+([^}]+?),?\s+\}|[^{]+?) from '([^']+)'\n/gm

/**
 * Returns one program of all blocks. A later block sees the declarations of earlier ones, and may
 * declare the same name again. A reader who goes down the page understands it like that.
 */
export function programOf(blocks: readonly Block[], end = ''): string {
  const bodies = blocks.map(({ code }) => code.replaceAll(IMPORT, '').trim())
  const nested = bodies.map((body) => `{\n${body}\n`).join('\n')
  return `${importsOf(blocks)}\n${nested}\n${end}\n${'}'.repeat(bodies.length)}\nexport {}\n`
}

/** Returns the imports of all blocks, each name once. */
function importsOf(blocks: readonly Block[]): string {
  const lines = new Set<string>()
  for (const { code } of blocks) {
    for (const [line, names, module] of code.matchAll(IMPORT)) {
      const parts = names === undefined ? [] : names.split(/,\s+/)
      if (names === undefined) lines.add(line.trim())
      for (const part of parts) lines.add(`import { ${part} } from '${module}'`)
    }
  }
  // Two entries export the same function.
  const seen = new Set<string>()
  return [...lines].filter((line) => !seen.has(nameIn(line)) && seen.add(nameIn(line))).join('\n')
}

function nameIn(line: string): string {
  return line.replace(/ from .*/, '')
}
