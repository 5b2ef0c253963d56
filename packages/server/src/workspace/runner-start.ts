/** Starts the runner of a data directory. When several servers do so at once, only one runner remains. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ParleyError } from '@parley/protocol'
import type { Account } from './account/account.ts'
import { notRecorded } from './not-recorded.ts'
import { NotBegun } from './runner-link.ts'
import { variablesOf } from './runner/as-account.ts'
import { allowListed, MARK } from './runner/environment.ts'
import type { Place } from './runner/ipc/place.ts'
import { AFTER_LOSS } from './runner/ipc/protocol.ts'

export type RunnerStart = {
  dataDir: string
  /** Program of the runner; default: the sources beside this file. */
  runnerEntry?: string
  /** Milliseconds without anything to keep, after which the runner ends. */
  idleExitMs: number
  /** Milliseconds without a connected server, after which it ends its processes and itself. */
  orphanExitMs: number
  /** The ledger of an earlier runner is lost: whether that one left processes is not on record. Default: false. */
  isAfterLoss?: boolean
  /** The account that programs are started as; null: that of this process. */
  account: Account | null
}

/** Milliseconds for the start; longer than on any machine that works, but a failed disk must not hold a caller for ever. */
const START_MS = 60_000

/** Folder of compiled code: that of the server, whose programs are the same; without one, a folder of the runner. */
function compileCache(home: string): string {
  const shared = getCompileCacheDir()
  // Node keeps the code of each of its versions in a folder below the named one.
  if (shared !== undefined) return dirname(shared)
  const own = join(home, 'cache')
  mkdirSync(own, { recursive: true, mode: 0o700 })
  return own
}

const fromSources = () => fileURLToPath(new URL('./runner/main.ts', import.meta.url))

/**
 * Starts a detached runner. Resolves when it, or another one that was faster, accepts connections.
 * @throws ParleyError `unavailable` when the process ends before that, or takes longer than a minute; its reason is in `runner/runner.log`.
 * With the reason `not_recorded` when the disk is full; NotBegun when a signal ended it.
 */
export async function startRunner(
  place: Place,
  { dataDir, runnerEntry, idleExitMs, orphanExitMs, isAfterLoss = false, account }: RunnerStart,
): Promise<void> {
  const logPath = join(place.home, 'runner.log')
  const cache = compileCache(place.home)
  const log = openSync(logPath, 'a', 0o600)
  // The runner gets only the variables that its children may have, so that it cannot leak others (W4).
  const env: NodeJS.ProcessEnv = { ...allowListed(process.env), ...variablesOf(account), NODE_COMPILE_CACHE: cache }
  const outerMark = process.env[MARK]
  if (outerMark !== undefined) env[MARK] = outerMark
  const entry = runnerEntry ?? fromSources()
  const more = [...(isAfterLoss ? [AFTER_LOSS] : []), ...(account === null ? [] : [JSON.stringify(account)])]
  const args = [dataDir, String(idleExitMs), String(orphanExitMs), ...more]
  const child: ChildProcess = spawn(process.execPath, [entry, ...args], {
    cwd: '/',
    detached: true,
    env,
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  child.unref()
  const failed = Promise.withResolvers<never>()
  const exited = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)))
  child.once('error', (cause) =>
    failed.reject(new ParleyError('unavailable', 'the runner could not be started', { cause })),
  )
  const late = setTimeout(() => {
    child.kill('SIGKILL')
    failed.reject(new ParleyError('unavailable', `the runner of commands was not ready within ${START_MS / 1000} s`))
  }, START_MS)
  let output: string
  try {
    output = await Promise.race([child.stdout === null ? '' : text(child.stdout), failed.promise])
    // A signal may have ended it before it wrote anything.
    if (output === '' && (await Promise.race([exited, failed.promise])) !== null) throw new NotBegun()
  } finally {
    clearTimeout(late)
  }
  if (output.includes('"full"')) throw notRecorded('the runner of commands could not be started: the disk is full')
  if (!output.includes('"runner"')) {
    throw new ParleyError(
      'unavailable',
      `the runner of commands ended before it was ready; its reason is in ${logPath}`,
    )
  }
}
