/**
 * Plain tables: columns padded to their widest cell, no lines drawn. In a pipe a table is as wide
 * as its cells. In a terminal it fits the width: labels are shortened, and columns are left out. A
 * name that is too long has a line of its own, so that it can be copied whole.
 */
import type { Paint, Style } from './terminal.js'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => string
  readonly right?: boolean
  /** In a narrow terminal columns are left out by this number, the smallest first. */
  readonly optional?: number
  /** The cells may be shortened in a narrow terminal, to no less than this width. */
  readonly shrinksTo?: number
  readonly style?: (row: T) => Style | undefined
}

export interface TableOptions {
  /** Columns of the terminal. Default Infinity. */
  readonly width?: number
  readonly paint?: Paint
}

const GAP = 2
/** A narrower first column makes long names stand on lines of their own. */
const NARROWEST_NAME = 16
const PLAIN: Paint = (_, text) => text

/** The titles of the columns that a terminal of `width` columns has no room for. */
export function leftOutColumns<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  width: number,
): string[] {
  const kept = new Set(choose(rows, columns, width))
  return columns.filter((column) => !kept.has(column)).map(({ title }) => title)
}

export function renderTable<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  { width = Infinity, paint = PLAIN }: TableOptions = {},
): string {
  const shown = choose(rows, columns, width)
  const widths = shown.map((column) => naturalWidth(rows, column))
  shrink(shown, widths, width)
  const room = width - widthOfLine(widths.slice(1)) - GAP
  const [first = 0] = widths
  const ownLine = widthOfLine(widths) > width
  if (ownLine && room < NARROWEST_NAME) return renderBlocks(rows, columns, { width, paint })
  if (ownLine) widths[0] = Math.min(first, room)
  const head = paint('bold', padLine(shown.map(titleOf), widths, shown).trimEnd())
  return [head, ...rows.map((row) => renderRow(row, shown, widths, paint))]
    .map((line) => `${line}\n`)
    .join('')
}

function renderRow<T>(
  row: T,
  columns: readonly Column<T>[],
  widths: readonly number[],
  paint: Paint,
): string {
  const cells = columns.map(({ cell }) => cell(row))
  const [name = '', ...others] = cells
  const isLong = displayWidth(name) > (widths[0] ?? 0)
  const line = padLine(isLong ? ['', ...others] : cells, widths, columns, (index, text) => {
    const style = columns[index]?.style?.(row)
    return style === undefined ? text : paint(style, text)
  }).trimEnd()
  return isLong ? `${name}\n${line}` : line
}

/** One row after the other, with a line for each cell: fits any width, and cuts nothing. */
export function renderBlocks<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  { paint = PLAIN }: TableOptions = {},
): string {
  const titleWidth = Math.max(...columns.map(({ title }) => displayWidth(title)))
  return rows
    .map((row) =>
      columns
        .map(({ title, cell }) => [title, cell(row)] as const)
        .filter(([, text]) => text !== '')
        .map(([title, text]) => `${paint('bold', title.padEnd(titleWidth + GAP))}${text}\n`)
        .join(''),
    )
    .join('\n')
}

/** The columns that fit, once labels are as short as they may be. */
function choose<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  width: number,
): readonly Column<T>[] {
  let shown = columns
  const order = columns
    .filter(({ optional }) => optional !== undefined)
    .toSorted((a, b) => (a.optional ?? 0) - (b.optional ?? 0))
  for (const column of order) {
    if (narrowest(rows, shown) <= width) break
    shown = shown.filter((one) => one !== column)
  }
  return shown
}

function narrowest<T>(rows: readonly T[], columns: readonly Column<T>[]): number {
  return widthOfLine(
    columns.map((column) => {
      const natural = naturalWidth(rows, column)
      return column.shrinksTo === undefined ? natural : Math.min(natural, column.shrinksTo)
    }),
  )
}

function shrink<T>(columns: readonly Column<T>[], widths: number[], width: number): void {
  columns.forEach(({ shrinksTo }, index) => {
    const excess = widthOfLine(widths) - width
    if (shrinksTo === undefined || excess <= 0) return
    widths[index] = Math.max(Math.min(widths[index] ?? 0, shrinksTo), (widths[index] ?? 0) - excess)
  })
}

function naturalWidth<T>(rows: readonly T[], { title, cell }: Column<T>): number {
  return rows.reduce((most, row) => Math.max(most, displayWidth(cell(row))), displayWidth(title))
}

function widthOfLine(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(0, widths.length - 1)
}

function titleOf({ title }: { readonly title: string }): string {
  return title
}

function padLine(
  line: readonly string[],
  widths: readonly number[],
  columns: readonly { readonly right?: boolean }[],
  paintCell: (index: number, text: string) => string = (_, text) => text,
): string {
  return line
    .map((cell, index) => {
      const width = widths[index] ?? 0
      const text = index > 0 && displayWidth(cell) > width ? `${cutTo(width - 1, cell)}…` : cell
      const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)))
      const painted = paintCell(index, text)
      return columns[index]?.right === true ? blanks + painted : painted + blanks
    })
    .join(' '.repeat(GAP))
}

/** Combining marks and joiners take no column; wide scripts and emoji take two. */
const NO_WIDTH = /\p{Mark}|\u200b|\u200c|\u200d/u
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

export function displayWidth(text: string): number {
  let width = 0
  for (const char of text) width += NO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return width
}

/** Returns the beginning of a text that fits into `columns`. */
export function cutTo(columns: number, text: string): string {
  let width = 0
  let cut = ''
  for (const char of text) {
    width += displayWidth(char)
    if (width > columns) break
    cut += char
  }
  return cut
}
