/** Display options of a terminal, and writing with back-pressure. */
import { wantsColour, type Io } from './io.ts'
import { painter } from './paint.ts'
import type { View } from './render.ts'

/** Lines are shortened to the width of a terminal, and never in a file or a pipe. */
export function viewOf(io: Pick<Io, 'stdout' | 'env'>, workingDir?: string): View {
  const width = io.stdout.isTTY === true ? Math.max(40, io.stdout.columns ?? 80) : Number.POSITIVE_INFINITY
  return { paint: painter(wantsColour(io)), width, maxLines: 12, workingDir }
}

/** Writes text and resolves when the stream accepts more, so that output for a slow reader does not accumulate. */
export function writeLines({ stdout }: Pick<Io, 'stdout'>, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    stdout.write(`${lines.join('\n')}\n`, (error) => (error == null ? resolve() : reject(error)))
  })
}
