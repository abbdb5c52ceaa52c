/** Prints a table for people. */

export function showTable(
  title: string,
  head: readonly string[],
  lines: readonly (readonly string[])[],
): void {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...lines.map((line) => line[column]?.length ?? 0)),
  )
  const line = (values: readonly string[]): string =>
    values
      .map((value, column) => value.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  console.log(`\n${title}`)
  console.log(line(head))
  console.log(widths.map((width) => '─'.repeat(width)).join('  '))
  for (const cells of lines) console.log(line(cells))
}
