/**
 * The runner as a process: `node main.ts <data dir> <idle exit ms> <orphan exit ms>`. Writes one line to standard output
 * once it is known who the runner of the data directory is, this process or an earlier one, and closes it.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { crashReport } from '../../lib/index.ts'
import { openPlace } from './place.ts'
import { Runner } from './runner.ts'

const [dataDir, idleExitMs, orphanExitMs] = process.argv.slice(2)
if (dataDir === undefined) throw new Error('usage: main <data dir> [<idle exit ms> [<orphan exit ms>]]')

const log = (text: string) => writeSync(2, `${new Date().toISOString()} [${process.pid}] ${text}\n`)
const exit = () => setImmediate(() => process.exit(0))
const runner = new Runner({
  place: openPlace(dataDir),
  idleExitMs: Number(idleExitMs ?? 60_000),
  orphanExitMs: Number(orphanExitMs ?? 900_000),
  log,
  onEnd: exit,
})

// A mistake in one request must not take the processes of every conversation with it.
// It holds the environments of commands, so it says where an error came from, and not in which words.
process.on('uncaughtException', (error) => log(`uncaught: ${JSON.stringify(crashReport(error))}`))
process.on('unhandledRejection', (reason) => log(`unhandled: ${JSON.stringify(crashReport(reason))}`))
process.on('SIGHUP', () => undefined)
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => void runner.end())

try {
  const isRunner = await runner.start()
  writeSync(1, `${JSON.stringify({ runner: isRunner ? process.pid : null })}\n`)
  closeSync(1)
  // Descriptor 1 must not become something else.
  openSync('/dev/null', 'w')
  if (!isRunner) process.exit(0)
} catch (error) {
  log(`could not start: ${error instanceof Error ? error.stack : String(error)}`)
  process.exit(1)
}
