/** Help texts, made from the same tables that the parser uses. */
import { EXIT } from '../exit-codes.js'
import { stdout } from '../output/streams.js'
import type { OptionTable } from './options.js'

export interface HelpPage {
  readonly usage: string
  readonly about: string
  readonly options: OptionTable
  readonly notes?: string
}

const WIDEST = 100
const NARROWEST = 40

/** Prints a page, and returns the exit code of that. */
export function printHelp(page: HelpPage): number {
  stdout().write(renderHelp(page))
  return EXIT.ok
}

/** Returns the text of a page for a terminal of this width. Lines that are indented stay whole. */
export function renderHelp(page: HelpPage, columns = process.stdout.columns): string {
  const most = Math.max(NARROWEST, Math.min(WIDEST, columns || WIDEST))
  const rows = Object.entries(page.options).map(([name, spec]): [string, string] => {
    const short = spec.short === undefined ? '    ' : `-${spec.short}, `
    return [`  ${short}--${name}${spec.value === undefined ? '' : ` ${spec.value}`}`, spec.help]
  })
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  const options = rows
    .map(([left, help]) => left.padEnd(width) + wrap(help, most - width, width))
    .join('\n')
  const notes = page.notes === undefined ? '' : `\n${paragraphs(page.notes, most)}\n`
  const about = paragraphs(page.about, most)
  return `Usage: ${page.usage}\n\n${about}\n\nOptions:\n${options}\n${notes}`
}

/** Breaks each paragraph at the width, unless it has an indented line: a list, or commands. */
function paragraphs(text: string, width: number): string {
  return text
    .replace(/^\n+/, '')
    .trimEnd()
    .split(/\n{2,}/)
    .map((part) => (/^ {2}/m.test(part) ? part : wrap(part.replaceAll('\n', ' '), width, 0)))
    .join('\n\n')
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
