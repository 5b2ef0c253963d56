/**
 * The runner as a process: `node main.ts <data dir> <idle exit ms> <orphan exit ms> [after-loss] [<account as JSON>]`. Writes one
 * line to standard output once it is decided whether this process or an earlier one is the runner of the data directory, and closes the descriptor.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { crashReport, isDiskFull } from '../../lib/index.ts'
import { accountIn } from './as-account.ts'
import { boundedLog } from './bounded-log.ts'
import { openPlace } from './ipc/place.ts'
import { AFTER_LOSS } from './ipc/protocol.ts'
import { Runner } from './runner.ts'
import { loadTerminals } from './terminal/shell.ts'

const [dataDir, idleExitMs, orphanExitMs, ...more] = process.argv.slice(2)
if (dataDir === undefined) throw new Error('usage: main <data dir> [<idle exit ms> [<orphan exit ms>]]')

/** Bytes of `runner.log`. */
const MAX_LOG_BYTES = 1024 * 1024
const log = boundedLog(2, MAX_LOG_BYTES)
const exit = () => setImmediate(() => process.exit(0))
const account = accountIn(more)
// Programs in a terminal would keep those of this process.
if (account !== null) process.setgroups?.([])
const runner = new Runner({
  place: openPlace(dataDir, account),
  account,
  idleExitMs: Number(idleExitMs ?? 60_000),
  orphanExitMs: Number(orphanExitMs ?? 900_000),
  isAfterLoss: more.includes(AFTER_LOSS),
  log,
  onEnd: exit,
})

// An error in one request must not end the processes of every conversation. Messages of errors may contain values from the
// environments of commands, so only the type and the stack frames are logged.
process.on('uncaughtException', (error) => log(`uncaught: ${JSON.stringify(crashReport(error))}`))
process.on('unhandledRejection', (reason) => log(`unhandled: ${JSON.stringify(crashReport(reason))}`))
process.on('SIGHUP', () => undefined)
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => void runner.end())

try {
  const isRunner = await runner.start()
  writeSync(1, `${JSON.stringify({ runner: isRunner ? process.pid : null })}\n`)
  closeSync(1)
  // Keeps descriptor 1 taken, so that no other file gets it.
  openSync('/dev/null', 'w')
  if (!isRunner) process.exit(0)
  loadTerminals()
  // Node writes its compile cache at an orderly exit only; a runner may be killed instead.
  setTimeout(() => flushCompileCache(), 3000).unref()
} catch (error) {
  // The log may be on the full disk, too.
  if (isDiskFull(error)) writeSync(1, `${JSON.stringify({ full: true })}\n`)
  log(`could not start: ${error instanceof Error ? error.stack : String(error)}`)
  process.exit(1)
}
