/** How a terminal wants events shown, and writing that waits for a reader that is slow. */
import { wantsColour, type Io } from './io.ts'
import { painter } from './paint.ts'
import type { View } from './render.ts'

/** Lines are cut at the edge of a terminal, and never in a file or a pipe. */
export function viewOf(io: Pick<Io, 'stdout' | 'env'>, workingDir?: string): View {
  const width = io.stdout.isTTY === true ? Math.max(40, io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY
  return { paint: painter(wantsColour(io)), width, maxLines: 12, workingDir }
}

/** Resolves when there is room for more, so that a fast source never piles up before a slow reader. */
export function writeLines({ stdout }: Pick<Io, 'stdout'>, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    stdout.write(`${lines.join('\n')}\n`, (error) => (error == null ? resolve() : reject(error)))
  })
}
