/**
 * Ends the process after an error that nothing caught. The message of such an error may hold anything, also a secret, so the
 * report names only its class, its code and its place. Nothing is waited for: acknowledged events are stored, and commands
 * belong to the runner.
 */
import { writeSync } from 'node:fs'
import { crashReport } from './crash-report.ts'

/**
 * From now on an uncaught error ends this process with code 1 and one JSON line on standard error, whatever the log level.
 * Reports that Node writes on request contain no environment.
 */
export function endOnCrash(): void {
  if (process.report !== undefined) process.report.excludeEnv = true
  const end = (kind: string) => (thrown: unknown) => {
    try {
      const line = {
        level: 60,
        time: new Date().toISOString(),
        err: crashReport(thrown),
        msg: `server stopped: ${kind}`,
      }
      writeSync(2, `${JSON.stringify(line)}\n`)
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', end('uncaught exception'))
  process.on('unhandledRejection', end('unhandled promise rejection'))
}
