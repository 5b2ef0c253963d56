/**
 * Notices at once that another node holds its lease no longer. Each node waits for the lock of one other: of the newest that is older than itself,
 * and the oldest node waits for that of the newest. So every node is watched by another one, with one connection each.
 *
 * A wait is short: a waiting statement keeps the server from removing old rows, and one that waits for a second may be written to its log.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeNumber } from '../contract/nodes.ts'
import { LEASE_CLASS, LIVE_SQL } from './liveness.ts'
import { Session } from './session.ts'

export type LeaseWatchOptions = {
  url: string
  node: NodeNumber
  /** Called when the watched node holds its lease no longer. */
  onEnded: () => void
  /** Milliseconds for a node whose connection was broken to take its lease again. Default 100. */
  returnMs?: number
}

const WAIT_MS = 900
const RETURN_MS = 100
const DEADLINE_MS = 5_000
const RECONNECT_AFTER_MS: readonly number[] = [100, 300, 1_000]

const SETTINGS_SQL = `SELECT set_config('idle_session_timeout', '0', false)`
const LIVE_NODES_SQL = `SELECT n FROM (${LIVE_SQL}) live ORDER BY n`
/** The lock ends with the statement. An error that is caught is not written to the log of the server. */
const waitSql = (node: NodeNumber): string => `DO $$ BEGIN
    PERFORM set_config('lock_timeout', '${WAIT_MS}', true);
    PERFORM pg_advisory_xact_lock_shared(${LEASE_CLASS}, ${node});
  EXCEPTION WHEN lock_not_available THEN NULL; END $$`

/** Watches until disposal. A lost connection is opened again. */
export function watchLeases(options: LeaseWatchOptions): AsyncDisposable {
  const ending = new AbortController()
  const { signal } = ending
  let session: Session | null = null
  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  const watching = (async () => {
    for (let losses = 0; !signal.aborted; losses += 1) {
      try {
        session = await Session.open({
          url: options.url,
          name: `parley watch ${options.node}`,
          deadlineMs: DEADLINE_MS,
        })
        await session.query(SETTINGS_SQL)
        for (; !signal.aborted; losses = 0) await watchOne(session, options, pause)
      } catch {
        // Nodes also look for orphans by themselves from time to time.
      }
      session?.destroy()
      session = null
      await pause(RECONNECT_AFTER_MS[Math.min(losses, RECONNECT_AFTER_MS.length - 1)]!)
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      ending.abort()
      session?.destroy()
      await watching
    },
  }
}

async function watchOne(
  session: Session,
  { node, onEnded, returnMs = RETURN_MS }: LeaseWatchOptions,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  const live = async () => (await session.query<{ n: string }>(LIVE_NODES_SQL)).map(({ n }) => Number(n))
  const watched = before(node, await live())
  if (watched === null) return pause(WAIT_MS)
  await session.query(waitSql(watched))
  if ((await live()).includes(watched)) return
  await pause(returnMs)
  if (!(await live()).includes(watched)) onEnded()
}

/** The node that another one watches; null: there is no other. */
function before(node: NodeNumber, live: readonly NodeNumber[]): NodeNumber | null {
  const others = live.filter((n) => n !== node)
  return others.findLast((n) => n < node) ?? others.at(-1) ?? null
}
