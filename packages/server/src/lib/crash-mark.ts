/**
 * Marks a data directory when the process crashes: an uncaught error, or memory that is used up. A process that is killed leaves
 * no mark, because its work is not the cause.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const MARK = 'crashed'
/** Node writes it when memory is used up; it contains no environment. */
const REPORT = 'crash-report.json'

/** From now on until disposal, a crash of this process leaves a mark in `directory`. */
export function markCrashes(directory: string): Disposable {
  // After an uncaught error the process exits with 1 while the server is open; an orderly end disposes this first.
  const atExit = (code: number) => {
    if (code === 1) writeFileSync(join(directory, MARK), '', { mode: 0o600 })
  }
  process.on('exit', atExit)
  if (isMainThread && process.report !== undefined)
    Object.assign(process.report, { reportOnFatalError: true, excludeEnv: true, directory, filename: REPORT })
  return {
    [Symbol.dispose]() {
      process.off('exit', atExit)
      if (isMainThread && process.report !== undefined) process.report.reportOnFatalError = false
    },
  }
}

/** True when the previous process on `directory` crashed. */
export const hasCrashed = (directory: string): boolean =>
  existsSync(join(directory, MARK)) || existsSync(join(directory, REPORT))

/** Removes the mark; the report is kept as `last-crash-report.json`. */
export async function clearCrashMark(directory: string): Promise<void> {
  if (existsSync(join(directory, REPORT))) await rename(join(directory, REPORT), join(directory, `last-${REPORT}`))
  await rm(join(directory, MARK), { force: true })
}
