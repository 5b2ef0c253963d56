/**
 * The lock of a database: one server at a time uses it. The database ends it with the connection of the server, so a killed server blocks
 * no successor. Appends do not depend on it: they are guarded by the epoch.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ParleyError } from '@parley/protocol'
import pg from 'pg'
import { nameOf } from './database.ts'
import { explained, QueryFailure } from './failures.ts'

/** "PRLY" and 0, which is the number of no node. */
const LOCK_SQL = `SELECT pg_try_advisory_lock(${0x50524c59}, 0) AS is_held`
/** The database notices the end of a connection to a machine that is gone within half a minute, and does not end an idle one. */
const KEEPALIVE_SQL = `SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false), set_config('idle_session_timeout', '0', false)`
/** Milliseconds for which a start waits for the end of the connection of a server that was killed. */
const WAIT_MS = 5_000
const RETRY_MS = 100
const RECONNECT_MS = 1_000

export type ServerLockOptions = {
  url: string
  /** Called when the lock was lost with its connection and another server has it. */
  onTaken: (error: ParleyError) => void
}

/**
 * Locks a database for this process until disposal. A connection that is lost is replaced in the background.
 * @throws ParleyError `conflict` when another server has it; `unavailable`
 */
export async function lockDatabase({ url, onTaken }: ServerLockOptions): Promise<AsyncDisposable> {
  const name = nameOf(url)
  const ending = new AbortController()
  const taken = () =>
    new ParleyError(
      'conflict',
      `database ${name} is in use by another Parley server: stop that server, or name another database`,
      {
        details: { store: name },
      },
    )

  /** A connection with the lock; null: another one has it. */
  async function connect(): Promise<pg.Client | null> {
    const client = new pg.Client({ connectionString: url, application_name: 'parley lock', keepAlive: true })
    // What follows from the end of a connection is in `keep`.
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(KEEPALIVE_SQL)
      const { rows } = await client.query<{ is_held: boolean }>(LOCK_SQL)
      if (rows[0]?.is_held === true) return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw explained(new QueryFailure(error), name)
    }
    await client.end()
    return null
  }

  async function keep(first: pg.Client): Promise<void> {
    let client: pg.Client | null = first
    let isReported = false
    for (;;) {
      if (client !== null) {
        isReported = false
        const held: pg.Client = client
        await new Promise<void>((resolve) => {
          held.once('end', () => resolve())
          ending.signal.addEventListener('abort', () => void held.end().catch(() => undefined))
          if (ending.signal.aborted) void held.end().catch(() => undefined)
        })
      }
      if (ending.signal.aborted) return
      await sleep(RECONNECT_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
      if (ending.signal.aborted) return
      try {
        client = await connect()
      } catch {
        // Appends report that the database cannot be reached.
        client = null
        continue
      }
      if (client === null && !isReported) {
        isReported = true
        onTaken(taken())
      }
    }
  }

  const until = performance.now() + WAIT_MS
  let client = await connect()
  while (client === null && performance.now() < until) {
    await sleep(RETRY_MS)
    client = await connect()
  }
  if (client === null) throw taken()
  const keeping = keep(client)
  return {
    async [Symbol.asyncDispose]() {
      ending.abort()
      await keeping
    },
  }
}
