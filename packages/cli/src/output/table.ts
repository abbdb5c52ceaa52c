/**
 * Plain tables: columns padded to their widest cell, no lines drawn, so that they can be read and
 * cut alike.
 */

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => string
  readonly right?: boolean
}

export function renderTable<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const cells = [
    columns.map((column) => column.title),
    ...rows.map((row) => columns.map(({ cell }) => cell(row))),
  ]
  const widths = columns.map((_, i) =>
    Math.max(...cells.map((line) => displayWidth(line[i] ?? ''))),
  )
  return cells.map((line) => `${padLine(line, widths, columns).trimEnd()}\n`).join('')
}

function padLine(
  line: string[],
  widths: number[],
  columns: readonly { right?: boolean }[],
): string {
  return line
    .map((cell, i) => {
      const blanks = ' '.repeat(Math.max(0, (widths[i] ?? 0) - displayWidth(cell)))
      return columns[i]?.right ? blanks + cell : cell + blanks
    })
    .join('  ')
}

/**
 * Marks that stand on the letter before them, and joiners, take no column; wide scripts and emoji
 * take two.
 */
const NO_WIDTH = /\p{Mark}|\u200b|\u200c|\u200d/u
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

export function displayWidth(text: string): number {
  let width = 0
  for (const char of text) width += NO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return width
}

/** As much of a text as fits into so many columns. */
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
