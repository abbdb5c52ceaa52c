/** Tables in plain text, and as Markdown. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)].join('\n')
}

export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}
