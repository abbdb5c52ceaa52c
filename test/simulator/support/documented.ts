/**
 * The tables of `docs/internals/simulation.md`, which commands have made: which seed or scenario
 * catches what.
 */
import { readFileSync } from 'node:fs'

const PAGE = new URL('../../../docs/internals/simulation.md', import.meta.url)

/**
 * The rows of a table, by the name in their first cell, for tables whose head begins with `title`.
 */
export function documentedTable(title: string): Map<string, string[]> {
  const lines = readFileSync(PAGE, 'utf8').split('\n')
  const head = lines.findIndex((line) => cellsOf(line)[0] === title)
  if (head < 0)
    throw new Error(`docs/internals/simulation.md has no table that begins with "${title}".`)
  const rows = new Map<string, string[]>()
  for (const line of lines.slice(head + 2)) {
    const [name, ...cells] = cellsOf(line)
    if (name === undefined) break
    rows.set(name.replaceAll('`', ''), cells)
  }
  return rows
}

function cellsOf(line: string): string[] {
  if (!line.startsWith('|')) return []
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}
