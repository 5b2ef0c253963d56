/**
 * The end of a process that has met a mistake of its own: what an error says may hold anything, also a secret, so only where
 * it came from is told. What was acknowledged is stored, and commands are the runner's, so nothing is waited for.
 */
import { writeSync } from 'node:fs'
import { crashReport } from '../lib/index.ts'

/**
 * From now on an error that nobody caught ends this process with code 1 and one JSON line on standard error, whatever the
 * log level; reports that Node is asked to write have no environment in them.
 */
export function endOnCrash(): void {
  if (process.report !== undefined) process.report.excludeEnv = true
  const end = (kind: string) => (thrown: unknown) => {
    try {
      const line = {
        level: 60,
        time: new Date().toISOString(),
        err: crashReport(thrown),
        msg: `the server ends: ${kind}`,
      }
      writeSync(2, `${JSON.stringify(line)}\n`)
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', end('an error that nobody caught'))
  process.on('unhandledRejection', end('a promise that nobody waited for'))
}
