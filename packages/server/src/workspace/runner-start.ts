/** Starting the runner of a data directory. Several servers may do so at once; one runner comes of it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ParleyError } from '@parley/protocol'
import { allowListed, MARK } from './runner/environment.ts'
import type { Place } from './runner/place.ts'

export type RunnerStart = {
  dataDir: string
  /** The program to run; default: the sources beside this file. */
  runnerEntry?: string
  /** Milliseconds without anything to keep, after which the runner ends. */
  idleExitMs: number
  /** Milliseconds without any server, after which it ends its processes and itself. */
  orphanExitMs: number
}

const fromSources = () => fileURLToPath(new URL('./runner/main.ts', import.meta.url))

/**
 * Starts a runner, detached, and resolves when it, or one that was faster, can be connected to.
 * @throws ParleyError `unavailable` when the process ends without saying so; its reason is in `runner/runner.log`.
 */
export async function startRunner(
  place: Place,
  { dataDir, runnerEntry, idleExitMs, orphanExitMs }: RunnerStart,
): Promise<void> {
  const logPath = join(place.home, 'runner.log')
  const cache = join(place.home, 'cache')
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  const log = openSync(logPath, 'a', 0o600)
  // The runner gets no more of our environment than its children may: what it does not have, it cannot leak (W4).
  const env: NodeJS.ProcessEnv = { ...allowListed(process.env), NODE_COMPILE_CACHE: cache }
  const outerMark = process.env[MARK]
  if (outerMark !== undefined) env[MARK] = outerMark
  const entry = runnerEntry ?? fromSources()
  const child: ChildProcess = spawn(process.execPath, [entry, dataDir, String(idleExitMs), String(orphanExitMs)], {
    cwd: '/',
    detached: true,
    env,
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  child.unref()
  const failed = Promise.withResolvers<never>()
  child.once('error', (cause) =>
    failed.reject(new ParleyError('unavailable', 'the runner could not be started', { cause })),
  )
  const said = await Promise.race([child.stdout === null ? '' : text(child.stdout), failed.promise])
  if (!said.includes('"runner"')) {
    throw new ParleyError(
      'unavailable',
      `the runner of commands ended before it was ready; its reason is in ${logPath}`,
    )
  }
}
