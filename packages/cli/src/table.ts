/** Lines of a table whose columns are as wide as their longest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
