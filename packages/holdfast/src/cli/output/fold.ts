/** Breaks prose into lines that fit a terminal, in English and in Chinese. */
import { cutTo, displayWidth } from './table.js'

/** No line begins with one of these, */
const CLOSING = '，。、；：！？）”’》」…'
/** and none ends with one of these. */
const OPENING = '（“‘《「'
const HAN = '\\u2e80-\\u9fff'
/** What is not broken: a word or a Chinese character, with the punctuation that belongs to it. */
const UNIT = new RegExp(
  `[${OPENING}]*(?:[${HAN}]|[^\\s${HAN}${OPENING}${CLOSING}]+)[${CLOSING}]*|[${OPENING}${CLOSING}]+|\\s+`,
  'gu',
)
const START = /^\s*(?:[-✗✓] )?/

/**
 * Returns the lines of a paragraph, none wider than `columns`. Further lines stand below the first
 * word, behind its indentation or mark.
 */
export function fold(text: string, columns: number): string[] {
  if (displayWidth(text) <= columns) return [text]
  const start = START.exec(text)?.[0] ?? ''
  const indent = ' '.repeat(displayWidth(start))
  const room = Math.max(1, columns - indent.length)
  return linesOf(text.slice(start.length), room).map(
    (line, index) => `${index === 0 ? start : indent}${line}`,
  )
}

function linesOf(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  let blank = ''
  for (const unit of text.match(UNIT) ?? []) {
    if (unit.trim() === '') {
      blank = unit
      continue
    }
    const longer = line === '' ? unit : `${line}${blank}${unit}`
    blank = ''
    if (displayWidth(longer) <= columns) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = unit
    while (displayWidth(line) > columns) {
      const part = cutTo(columns, line) || (Array.from(line)[0] ?? '')
      lines.push(part)
      line = line.slice(part.length)
    }
  }
  return line === '' ? lines : [...lines, line]
}
