/** Runs programs to their end on another agent server. */
import { randomUUID } from 'node:crypto'
import { ParleyError } from '@parley/protocol'
import type { ExecRequest, ExecResult } from '../workspace.ts'
import { jobOf, MAX_LOOK_BYTES, type Look, type RemoteExecutor } from './remote-executor.ts'
import { programScript } from './job-scripts.ts'
import type { Notes } from './notes.ts'
import { bounded } from './output.ts'
import { RUN_FILE, unknownOutcome } from './remote-terminal.ts'

const DEFAULT_MAX_BYTES = 1024 * 1024
/** Signals by the exit code that a shell reports for them. */
const SIGNALS: Readonly<Record<number, NodeJS.Signals>> = { 130: 'SIGINT', 137: 'SIGKILL', 143: 'SIGTERM' }
/** Milliseconds between two attempts to end a program. */
const ENDING_MS = 1_000
/** Milliseconds to end a program that no caller waits for any more. */
const TIDY_MS = 5_000

export type ProgramDeps = { executor: RemoteExecutor; notes: Notes }

/**
 * Aborting ends a program without call id, because no later request could refer to it; one with a call id continues.
 * @param cwd absolute, on the other server
 */
export async function runProgram(
  { executor, notes }: ProgramDeps,
  request: ExecRequest & { cwd: string },
  signal: AbortSignal,
): Promise<ExecResult> {
  const { callId, argv, cwd, env = {}, stdin, timeoutMs } = request
  const job = jobOf(callId ?? randomUUID())
  const { token } = await executor.greet(signal)
  const known = callId === undefined ? null : await notes.of(callId)
  if (known !== null && known.token !== token) throw unknownOutcome('its folder on the other server is a new one')
  if (callId !== undefined && known === null)
    await notes.add({ call: callId, job, from: 0, kind: 'start', token, at: new Date().toISOString() }, signal)
  const begin = () => executor.start(job, { kind: 'program', script: programScript({ argv, cwd, env }), stdin }, signal)
  try {
    const maxBytes = request.maxBytes ?? DEFAULT_MAX_BYTES
    const found = known === null ? null : (executor.recall(job, 0) ?? (await look(executor, job, 0, signal)))
    if (found?.state === 'exited')
      return { ...(await resultOf(executor, job, found, maxBytes, signal)), timedOut: false }
    if (found === null || found.state === 'absent' || found.state === 'ready') await begin()
    return await toItsEnd(executor, job, { timeoutMs: timeoutMs ?? null, maxBytes }, signal)
  } catch (error) {
    if (signal.aborted && callId === undefined) {
      // The aborted signal would abort this request too.
      await executor.end(job, AbortSignal.timeout(TIDY_MS)).catch(() => undefined)
    }
    throw error
  }
}

const look = (executor: RemoteExecutor, job: string, waitMs: number, signal: AbortSignal): Promise<Look> =>
  executor.look(job, { from: 0, waitMs, isOutputWanted: false }, signal)

type Limits = { timeoutMs: number | null; maxBytes: number }

async function toItsEnd(
  executor: RemoteExecutor,
  job: string,
  limits: Limits,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { timeoutMs, maxBytes } = limits
  const begun = performance.now()
  let timedOut = false
  for (;;) {
    const leftMs = timeoutMs === null ? Infinity : timeoutMs - (performance.now() - begun)
    if (leftMs <= 0) {
      timedOut = true
      await executor.end(job, signal)
    }
    const seen = await look(executor, job, timedOut ? ENDING_MS : leftMs, signal)
    if (timedOut && seen.state === 'gone')
      return { ...(await resultOf(executor, job, seen, maxBytes, signal)), exit_code: null, timedOut }
    if (seen.state === 'exited') return { ...(await resultOf(executor, job, seen, maxBytes, signal)), timedOut }
    if (seen.state === 'gone' || seen.state === 'absent') throw unknownOutcome('its process there is gone')
    if (seen.state === 'ready' && performance.now() - begun > executor.maxWaitMs * 2)
      throw new ParleyError('unavailable', `${executor.link.origin} has said that a program began, but it did not.`)
  }
}

async function resultOf(executor: RemoteExecutor, job: string, seen: Look, maxBytes: number, signal: AbortSignal) {
  const { number, outSize, errSize, shown } = seen
  const folder = await executor.folderOf(job, signal)
  // Usually the answer contains the whole output; a longer one is downloaded as a file.
  const whole = async (name: string, size: number, head: Buffer | undefined): Promise<Buffer> =>
    size <= MAX_LOOK_BYTES && head !== undefined
      ? head
      : Buffer.from(await executor.link.download(`${folder}/${name}`, signal))
  const stdout = bounded(await whole('out', outSize, shown?.head), maxBytes)
  const stderr = bounded(await whole('err', errSize, shown?.errHead), maxBytes)
  const name = SIGNALS[number] ?? null
  return {
    exit_code: name === null ? number : null,
    signal: name,
    stdout: stdout.text,
    stderr: stderr.text.replaceAll(RUN_FILE, 'bash: '),
    dropped: { stdout: stdout.dropped, stderr: stderr.dropped },
  }
}
