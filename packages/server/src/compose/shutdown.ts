/**
 * The end of a server, within the ten seconds that supervisors grant, whatever hangs. Where other nodes share the store, they continue the
 * conversations that can move, and the drain precedes.
 *
 * Invariants
 *   E1. Runs are cancelled before requests are waited for, because requests wait for runs.
 *   E2. Each step has a limit, and the next one begins after it. What is left undone is what a killed server leaves undone: the
 *       log on disk is complete, and the next start continues from it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { abortable } from '../lib/index.ts'
import type { Log } from '../observability/index.ts'

/** Milliseconds in which requests end by themselves; a message that is being stored gets its answer. */
const REQUESTS_MS = 1_000
/** Milliseconds for runs, agents and their programs. */
const RUNS_MS = 3_500
/** Milliseconds until the answers of cancelled requests are written. */
const ANSWERS_MS = 500
/** Milliseconds in which a part that depends on other processes closes. */
const PART_MS = 1_500

/** Milliseconds until the store has answered that conversations are given away. */
const RELEASE_MS = 1_500

/** Waits for one step; after `ms` it is logged and left. */
async function inTime(step: string, ms: number, work: PromiseLike<unknown>, log: Pick<Log, 'warn'>): Promise<void> {
  const late = AbortSignal.timeout(ms)
  try {
    await abortable(Promise.resolve(work), late)
  } catch (err) {
    log.warn({ step, ms, ...(late.aborted ? {} : { err }) }, 'shutdown step not finished')
  }
}

/** Closes a part that depends on other processes. */
export const closeInTime = (step: string, part: AsyncDisposable, log: Pick<Log, 'warn'>): Promise<void> =>
  inTime(step, PART_MS, part[Symbol.asyncDispose](), log)

/**
 * Gives the conversations that can move to other nodes, each between two steps, within `ms`. A server without other nodes ends its runs at
 * once, because no other node would continue them meanwhile.
 */
export async function drainWork(
  edge: { drain(): void },
  engine: { drain(late: AbortSignal): Promise<void> },
  { isShared }: { isShared: boolean },
  ms: number,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  edge.drain()
  if (!isShared || ms === 0) return
  // The last part of the time is for the runs that are cancelled.
  await inTime('drain', ms, engine.drain(AbortSignal.timeout(Math.max(0, ms - RUNS_MS))), log)
}

/** Gives away what is left, after all runs have ended. */
export const releaseWork = (coordination: { release(): Promise<void> }, log: Pick<Log, 'warn'>): Promise<void> =>
  inTime('release of conversations', RELEASE_MS, coordination.release(), log)

/** Ends requests and runs: short requests finish, then runs are cancelled, then the remaining connections are closed. */
export async function endWork(
  edge: { close(patience: AbortSignal): Promise<void> },
  engine: { close(): Promise<void> },
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const patience = new AbortController()
  const drained = edge.close(patience.signal)
  await Promise.race([drained.catch(() => undefined), delay(REQUESTS_MS, undefined, { ref: false })])
  await inTime('runs', RUNS_MS, engine.close(), log)
  const cut = setTimeout(() => patience.abort(), ANSWERS_MS)
  await inTime('requests', 2 * ANSWERS_MS, drained, log)
  clearTimeout(cut)
}
