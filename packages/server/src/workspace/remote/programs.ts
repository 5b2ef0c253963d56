/** Programs that run to their end on another agent server. */
import { randomUUID } from 'node:crypto'
import { ParleyError } from '@parley/protocol'
import type { ExecRequest, ExecResult } from '../workspace.ts'
import { jobOf, MAX_LOOK_BYTES, type Look, type RemoteHands } from './hands.ts'
import { programScript } from './job-scripts.ts'
import type { Notes } from './notes.ts'
import { bounded } from './output.ts'
import { RUN_FILE, unknownOutcome } from './remote-terminal.ts'

const DEFAULT_MAX_BYTES = 1024 * 1024
/** A signal that ended a program, as a shell counts it. */
const SIGNALS: Readonly<Record<number, NodeJS.Signals>> = { 130: 'SIGINT', 137: 'SIGKILL', 143: 'SIGTERM' }
/** Milliseconds that a program which was told to end gets, until it is told again. */
const ENDING_MS = 1_000
/** Milliseconds for ending what nobody waits for any more. */
const TIDY_MS = 5_000

export type ProgramDeps = { hands: RemoteHands; notes: Notes }

/**
 * An abort ends a program without call id, because nobody else could ask for it; one with a call id goes on.
 * @param cwd absolute, on the other side
 */
export async function runProgram(
  { hands, notes }: ProgramDeps,
  request: ExecRequest & { cwd: string },
  signal: AbortSignal,
): Promise<ExecResult> {
  const { callId, argv, cwd, env = {}, stdin, timeoutMs } = request
  const job = jobOf(callId ?? randomUUID())
  const { token } = await hands.greet(signal)
  const known = callId === undefined ? null : await notes.of(callId)
  if (known !== null && known.token !== token) throw unknownOutcome('its folder on the other server is a new one')
  if (callId !== undefined && known === null)
    await notes.add({ call: callId, job, from: 0, kind: 'start', token, at: new Date().toISOString() })
  const begin = () => hands.start(job, { kind: 'program', script: programScript({ argv, cwd, env }), stdin }, signal)
  try {
    const found = known === null ? null : await look(hands, job, 0, signal)
    if (found === null || found.state === 'absent' || found.state === 'ready') await begin()
    return await toItsEnd(
      hands,
      job,
      { timeoutMs: timeoutMs ?? null, maxBytes: request.maxBytes ?? DEFAULT_MAX_BYTES },
      signal,
    )
  } catch (error) {
    if (signal.aborted && callId === undefined) {
      // The signal that aborted would call this off too.
      await hands.end(job, AbortSignal.timeout(TIDY_MS)).catch(() => undefined)
    }
    throw error
  }
}

const look = (hands: RemoteHands, job: string, waitMs: number, signal: AbortSignal): Promise<Look> =>
  hands.look(job, { from: 0, waitMs, isOutputWanted: false }, signal)

type Limits = { timeoutMs: number | null; maxBytes: number }

async function toItsEnd(hands: RemoteHands, job: string, limits: Limits, signal: AbortSignal): Promise<ExecResult> {
  const { timeoutMs, maxBytes } = limits
  const begun = performance.now()
  let timedOut = false
  for (;;) {
    const leftMs = timeoutMs === null ? Infinity : timeoutMs - (performance.now() - begun)
    if (leftMs <= 0) {
      timedOut = true
      await hands.end(job, signal)
    }
    const seen = await look(hands, job, timedOut ? ENDING_MS : leftMs, signal)
    if (timedOut && seen.state === 'gone')
      return { ...(await resultOf(hands, job, seen, maxBytes, signal)), exit_code: null, timedOut }
    if (seen.state === 'exited') return { ...(await resultOf(hands, job, seen, maxBytes, signal)), timedOut }
    if (seen.state === 'gone' || seen.state === 'absent') throw unknownOutcome('its process there is gone')
    if (seen.state === 'ready' && performance.now() - begun > hands.maxWaitMs * 2)
      throw new ParleyError('unavailable', `${hands.link.origin} has said that a program began, but it did not.`)
  }
}

async function resultOf(hands: RemoteHands, job: string, seen: Look, maxBytes: number, signal: AbortSignal) {
  const { number, outSize, errSize, shown } = seen
  const folder = await hands.folderOf(job, signal)
  // What an answer holds is enough most of the time; the rest is fetched as a file.
  const whole = async (name: string, size: number, head: Buffer | undefined): Promise<Buffer> =>
    size <= MAX_LOOK_BYTES && head !== undefined
      ? head
      : Buffer.from(await hands.link.download(`${folder}/${name}`, signal))
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
