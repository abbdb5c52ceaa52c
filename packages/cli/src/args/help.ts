/** Help texts, made from the same tables that the parser uses. */
import type { OptionTable } from './options.js'

export interface HelpPage {
  readonly usage: string
  readonly about: string
  readonly options: OptionTable
  readonly notes?: string
}

export function renderHelp(page: HelpPage): string {
  const rows = Object.entries(page.options).map(([name, spec]): [string, string] => {
    const short = spec.short === undefined ? '    ' : `-${spec.short}, `
    return [`  ${short}--${name}${spec.value === undefined ? '' : ` ${spec.value}`}`, spec.help]
  })
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  const options = rows
    .map(([left, help]) => left.padEnd(width) + wrap(help, 100 - width, width))
    .join('\n')
  const notes = page.notes === undefined ? '' : `\n${page.notes.trim()}\n`
  return `Usage: ${page.usage}\n\n${page.about.trim()}\n\nOptions:\n${options}\n${notes}`
}

function wrap(text: string, width: number, indent: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  lines.push(line)
  return lines.join(`\n${' '.repeat(indent)}`)
}
